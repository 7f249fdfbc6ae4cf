"""Commands that answer other programs: `synsetmine serve` and `synsetmine mcp`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    Device,
    ModelInputOptions,
    ModelInputs,
    SkipBad,
    Source,
    check_inputs,
    open_source,
)
from synsetmine.cli.options import SettingOptions
from synsetmine.errors import SynsetmineError

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp

    from synsetmine.review.web.answers import Answers
    from synsetmine.review.web.server import AccessPolicy

SHORTEST = 16  # characters of a token
EXTRAS = {
    "web": ("msgspec", "starlette", "uvicorn"),
    "mcp": ("mcp", "msgspec", "starlette", "uvicorn"),
}

SetsOnly = Annotated[
    bool,
    typer.Option(
        "--sets-only", help="Answer from a run's mined sets only, without loading its model."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """Where a server listens, and who may use it."""

    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; 0.0.0.0 is every network of this machine. Clients must "
            "send the token, which is part of the printed address."
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SYNSETMINE_TOKEN",
            help="Require this token. Other users can see command-line options, so prefer "
            "SYNSETMINE_TOKEN. Default: a new one at each start.",
            show_default=False,
        ),
    ] = None
    no_token: Annotated[
        bool,
        typer.Option(
            "--no-token",
            help="Require no token: every user and program of this machine can read, and with "
            "`review` decide. Allowed only if the server listens on 127.0.0.1.",
        ),
    ] = False


def listen_and_serve(
    make_app: Callable[[AccessPolicy], ASGIApp],
    options: ServerOptions,
    *,
    what: str,
    load: Callable[[], None] | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Open the port first, since loading takes longer; then serve until Ctrl-C.

    `load` runs while the server already answers that it is loading.
    """
    from synsetmine.review.web.server import (
        LOOPBACK,
        AccessPolicy,
        address_of,
        listen,
        new_token,
        run_server,
    )

    host, token = options.host, options.token
    if token is not None and len(token) < SHORTEST:
        raise SynsetmineError(f"a token needs {SHORTEST} characters or more")
    if options.no_token and token is not None:
        raise SynsetmineError("give either --no-token or a token (--token, SYNSETMINE_TOKEN)")
    if options.no_token and host not in LOOPBACK:
        raise SynsetmineError(f"--no-token is for 127.0.0.1 only, not for --host {host}")
    if not options.no_token:
        token = token or new_token()
    with listen(host, options.port) as listening:
        policy = AccessPolicy.of(host, token)
        address = address_of(listening, host, policy.token)

        def ready() -> None:
            if load is not None:
                load()
            console.say(f"{what} at {address} (Ctrl-C to stop)")
            if on_ready is not None:
                on_ready(address)

        console.say("reading …")
        run_server(make_app(policy), listening, ready)
    console.say("ended")


def check_packages(extra: str) -> None:
    """Raise an error of one line if a package of the extra is missing."""
    for package in EXTRAS[extra]:
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            problem = f"{error.name} is not installed; pip install 'synsetmine[{extra}]'"
            raise SynsetmineError(problem) from None


def serve(
    source: Source,
    inputs: ModelInputOptions,
    sets_only: SetsOnly = False,
    *,
    server: Annotated[ServerOptions, SettingOptions()],
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Answer queries for synonyms over HTTP, with JSON.

    A run folder answers from its mined sets, without the sets and terms that reviewers rejected,
    with its model, and from its knowledge base for names that the run lacks. A model folder needs
    `--vectors`, and expands a term by ranking.

    The printed address opens a page for people. `/docs` describes the API, `/openapi.json` does so
    for programs. `/readyz` says whether everything is loaded.

    Requests must send the token printed at the start, as `Authorization: Bearer TOKEN`.

    Example: `synsetmine serve run --no-token`, then
    `curl 'http://127.0.0.1:8000/v1/expand?term=aspirin'`
    """
    check_packages("web")
    check_inputs(source, inputs, sets_only=sets_only)

    from synsetmine.review.web.api import SearchPage, ServerState, serving_app
    from synsetmine.runs.folder import is_run

    service = ServerState()

    def load() -> None:
        answers = open_answers(
            source, inputs, sets_only, device, skip_bad=skip_bad, report=service.report_progress
        )
        run = source if is_run(source) else None
        service.ready(answers, SearchPage(answers, run, title=source.resolve().name))

    listen_and_serve(partial(serving_app, service), server, what=f"serving {source}", load=load)


def mcp(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of a run, or of a trained model. Default: the general model alone.",
            show_default=False,
        ),
    ] = None,
    *,
    inputs: ModelInputOptions,
    sets_only: SetsOnly = False,
    http: Annotated[
        bool,
        typer.Option("--http", help="Listen for HTTP at /mcp instead of standard input."),
    ] = False,
    server: Annotated[ServerOptions, SettingOptions()],
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
    check_packages("mcp")
    if source is not None:
        check_inputs(source, inputs, sets_only=sets_only)
    elif inputs != ModelInputs() or sets_only:
        raise SynsetmineError("these options need a run or model folder: synsetmine mcp FOLDER …")
    from synsetmine.pipeline.mcp.server import mcp_app, mcp_server, run_stdio

    def make_server() -> Server:
        if source is None:
            return mcp_server()
        answers = open_answers(source, inputs, sets_only, device, skip_bad=skip_bad)
        return mcp_server(answers, str(source))

    def make_app(policy: AccessPolicy) -> ASGIApp:
        return mcp_app(make_server(), policy)

    if http:
        listen_and_serve(make_app, server, what="MCP tools are served below /mcp")
        return
    tools = make_server()
    if sys.stdin.isatty():
        console.say("waiting for an MCP client on standard input (Ctrl-C to stop)")
    run_stdio(tools)


def open_answers(
    source: Path,
    inputs: ModelInputs,
    sets_only: bool,
    device: str,
    *,
    skip_bad: bool,
    report: Callable[[str, int, int], None] = lambda *_: None,
) -> Answers:
    """The mined sets of a run and its model, or a model with its vocabulary.

    `report` is called with what is read next, and how many of how many steps are done.
    """
    from synsetmine.review.web.answers import Answers, MinedAnswers, ModelAnswers
    from synsetmine.runs.folder import is_run

    steps = (["mined sets"] if is_run(source) else []) + ([] if sets_only else ["model", "terms"])
    reports = (partial(report, what, done, len(steps)) for done, what in enumerate(steps))
    mined = None
    if is_run(source):
        next(reports)()
        mined = MinedAnswers.of_run(source)
    if sets_only:
        return Answers(mined, None)
    next(reports)()
    opened = open_source(source, inputs, skip_bad=skip_bad)
    next(reports)()
    prepared = opened.prepare(device=device)
    if not prepared.terms:
        raise SynsetmineError("no term of the vocabulary has a vector")
    prepared.rank(prepared.terms[:1])  # computes now what the first question would wait for
    kb = None if mined is None else mined.kb
    model = ModelAnswers(prepared, opened.stored.threshold, opened.known, kb)
    if mined is None:
        missing = [term for term in opened.vocabulary if term not in model]
        console.report_missing(missing, len(opened.vocabulary), "are unknown to the model")
    return Answers(mined, model)
