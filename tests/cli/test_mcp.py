"""`synsetmine mcp` as a process: over standard input and output, and over HTTP."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from synsetmine.cli import app
from synsetmine.errors import SynsetmineError
from tests.support.webserver import process_of, write_run

NAMES = ["heart failure", "Heart Failure", "failure, heart", "lung cancer"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run")


async def use(client: Client) -> tuple[list[str], Any, Any, bool]:
    """What an assistant does: list the tools, then call some, one of them wrongly."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    grouped = await client.call_tool("group", {"names": NAMES})
    expanded = await client.call_tool("expand", {"term": "heart attack"})
    wrong = await client.call_tool("group", {"names": "IBM"})
    return tools, grouped.structured_content, expanded.structured_content, wrong.is_error


def check(answers: tuple[list[str], Any, Any, bool]) -> None:
    tools, grouped, expanded, is_error = answers
    assert tools == ["group", "expand", "score", "explain"]
    assert [len(one["positions"]) for one in grouped["sets"]] == [3]
    assert expanded["set"]["id"] == "D009203"
    assert is_error


def test_a_client_starts_the_server_and_talks_to_it(run: Path, tmp_path: Path) -> None:
    """Whatever else is printed goes to standard error, or the client would not understand."""
    log = tmp_path / "stderr.txt"
    command = ["-m", "synsetmine", "mcp", str(run), "--sets-only"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    async def talk() -> tuple[list[str], Any, Any, bool]:
        from mcp import stdio_client

        server = StdioServerParameters(command=sys.executable, args=command, env=environment)
        with log.open("w") as stream:
            async with Client(stdio_client(server, errlog=stream)) as client:
                return await use(client)

    check(anyio.run(talk))
    assert log.read_text() == ""


@pytest.mark.slow
def test_over_http_a_client_sends_the_token(run: Path) -> None:
    with process_of("mcp", str(run), "--sets-only", "--http", token=True) as (address, _):
        plain, _, token = address.partition("?token=")

        async def talk(sent: str) -> tuple[list[str], Any, Any, bool]:
            headers = {"authorization": f"Bearer {sent}"}
            async with (
                httpx2.AsyncClient(headers=headers, trust_env=False) as http,
                Client(streamable_http_client(f"{plain}mcp", http_client=http)) as client,
            ):
                return await use(client)

        check(anyio.run(talk, token))
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for headers in ({}, {"authorization": "Bearer wrong"}):
            refused = httpx2.post(f"{plain}mcp", json=body, headers=headers, trust_env=False)
            assert refused.status_code == 401
            assert refused.json()["error"]["code"] == "no_token"
        other_site = {"authorization": f"Bearer {token}", "origin": "https://evil.example"}
        refused = httpx2.post(f"{plain}mcp", json=body, headers=other_site, trust_env=False)
        assert refused.status_code == 403


@pytest.mark.parametrize("option", ["--vectors", "--vocabulary", "--encoder"])
def test_options_of_a_model_need_its_folder(option: str) -> None:
    done = CliRunner().invoke(app, ["mcp", option, "x"])
    assert isinstance(done.exception, SynsetmineError)
    assert "need a run or model folder" in str(done.exception)


def test_without_its_packages_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = CliRunner().invoke(app, ["mcp"])
    assert str(done.exception) == "mcp is not installed; pip install 'synsetmine[mcp]'"


def test_a_folder_that_is_neither_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["mcp", str(tmp_path / "none")])
    assert isinstance(done.exception, SynsetmineError)
    assert done.stdout == ""
