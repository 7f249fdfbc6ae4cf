"""The MCP server: the tools over standard input and output, or over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import mcp_types as mcp
import msgspec
from anyio import CapacityLimiter, to_thread
from mcp import MCPError
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from synsetmine import __version__
from synsetmine.errors import SynsetmineError
from synsetmine.pipeline.mcp.tools import Tool, schema_of, tools_of
from synsetmine.review.web.answers import Answers
from synsetmine.review.web.api import refuse
from synsetmine.review.web.schemas import ApiError
from synsetmine.review.web.server import AccessMiddleware, AccessPolicy

PATH = "/mcp"
MAX_WAITING = 64  # calls; further ones get an error
FOR_ALL = (
    "Finds names that mean the same thing. `group` takes a list of names; the other tools take "
    "one as `among`."
)
FOR_RUN = "Without `among`, expand and score answer from {source}."


def mcp_server(answers: Answers | None = None, source: str = "") -> Server[Any]:
    """The server of the tools; `source` names where the answers come from."""
    tools = tools_of(answers)
    listed = mcp.ListToolsResult(tools=list(map(_describe, tools.values())))
    calls = _CallQueue()

    async def list_tools(_context: Any, _params: Any) -> mcp.ListToolsResult:
        return listed

    async def call_tool(_context: Any, params: mcp.CallToolRequestParams) -> mcp.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            problem = f"no such tool: {params.name!r}; expected one of {', '.join(tools)}"
            raise MCPError(mcp.INVALID_PARAMS, problem)
        return await calls.result(tool, params.arguments or {})

    return Server(
        "synsetmine",
        version=__version__,
        instructions=f"{FOR_ALL} {FOR_RUN.format(source=source)}" if answers else FOR_ALL,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def run_stdio(server: Server[Any]) -> None:
    """Answer over standard input and output until the client closes them.

    Nothing but the protocol is written to standard output: while the server runs, whatever else
    prints goes to standard error.
    """

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)


def mcp_app(server: Server[Any], policy: AccessPolicy) -> ASGIApp:
    """The server as a web application, behind the access checks of `serve`."""
    # Those checks compare names of hosts and origins already.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=unchecked,
    )
    return AccessMiddleware(app, policy, refuse)


class _CallQueue:
    """Runs one call at a time, in a thread: a model uses all cores for one call already."""

    def __init__(self) -> None:
        self._limiter: CapacityLimiter | None = None
        self._pending = 0

    async def result(self, tool: Tool, arguments: Mapping[str, Any]) -> mcp.CallToolResult:
        if self._pending > MAX_WAITING:
            return _failure(f"{MAX_WAITING} calls are waiting; try again in a second")
        self._limiter = self._limiter or CapacityLimiter(1)
        self._pending += 1
        try:
            answer = partial(tool.answer, arguments)
            return _success(await to_thread.run_sync(answer, limiter=self._limiter))
        except (SynsetmineError, ApiError) as error:
            return _failure(str(error))
        except Exception:
            logging.getLogger(__name__).exception("%s failed", tool.name)
            return _failure(f"{tool.name} failed; the log of the server says more")
        finally:
            self._pending -= 1


def _describe(tool: Tool) -> mcp.Tool:
    return mcp.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.call),
        output_schema=schema_of(tool.result),
        annotations=mcp.ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )


def _success(result: msgspec.Struct) -> mcp.CallToolResult:
    text = msgspec.json.encode(result).decode()
    return mcp.CallToolResult(
        content=[mcp.TextContent(type="text", text=text)],
        structured_content=msgspec.json.decode(text),
    )


def _failure(problem: str) -> mcp.CallToolResult:
    return mcp.CallToolResult(content=[mcp.TextContent(type="text", text=problem)], is_error=True)
