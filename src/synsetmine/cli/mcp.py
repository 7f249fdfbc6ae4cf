"""`synsetmine mcp`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Among, Device, Encoder, SkipBad, Tables
from synsetmine.cli.web import (
    Host,
    NoToken,
    Port,
    SetsOnly,
    Token,
    check_source,
    listen_and_serve,
    open_answers,
)
from synsetmine.errors import SynsetmineError

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp

    from synsetmine.review.web.server import AccessPolicy


def mcp(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of a run, or of a trained model. Default: the general model alone.",
            show_default=False,
        ),
    ] = None,
    vectors: Tables = None,
    encoder: Encoder = None,
    vocabulary: Among = None,
    sets_only: SetsOnly = False,
    http: Annotated[
        bool,
        typer.Option("--http", help="Listen for HTTP at /mcp instead of standard input."),
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    no_token: NoToken = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Give language models tools for synonyms, over the Model Context Protocol (MCP).

    The tools are `group` (a list of names to sets), `expand` (the synonyms of a term), `score`
    (does a name belong to a set) and `explain` (why two names are, or are not, one thing). With a
    run folder, `expand` and `score` answer from its sets and its model; lists that the caller
    passes are judged by the general model.

    A client starts the command itself and talks to it over standard input and output. With
    `--http`, requests must send the token printed at the start, as `Authorization: Bearer TOKEN`.

    Example: `synsetmine mcp run`
    """
    _check_installed()
    if source is not None:
        check_source(source, vectors, encoder, vocabulary, sets_only=sets_only)
    elif vectors or encoder or vocabulary or sets_only:
        raise SynsetmineError("these options need a run or model folder: synsetmine mcp FOLDER …")
    from synsetmine.pipeline.mcp.server import mcp_app, mcp_server, run_stdio

    def make_server() -> Server:
        if source is None:
            return mcp_server()
        answers = open_answers(
            source, vectors, encoder, vocabulary, sets_only, device, skip_bad=skip_bad
        )
        return mcp_server(answers, str(source))

    def make_app(policy: AccessPolicy) -> ASGIApp:
        return mcp_app(make_server(), policy)

    if http:
        listen_and_serve(
            make_app,
            host=host,
            port=port,
            token=token,
            no_token=no_token,
            what="MCP tools are served below /mcp",
        )
    else:
        server = make_server()
        if sys.stdin.isatty():
            console.say("waiting for an MCP client on standard input (Ctrl-C to stop)")
        run_stdio(server)


def _check_installed() -> None:
    try:
        import mcp
        import msgspec
        import starlette
        import uvicorn
    except ModuleNotFoundError as error:
        problem = f"{error.name} is not installed; pip install 'synsetmine[mcp]'"
        raise SynsetmineError(problem) from None
    del mcp, msgspec, starlette, uvicorn
