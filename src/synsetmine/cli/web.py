"""Commands on reviews and the HTTP API."""

from __future__ import annotations

import html
import os
import sys
import webbrowser
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Among, Device, Encoder, SkipBad, Source, Tables, open_source
from synsetmine.cli.options import out_file
from synsetmine.errors import SynsetmineError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from synsetmine.cli.inputs import ModelSource
    from synsetmine.review.web.api import Answers, ModelAnswers
    from synsetmine.review.web.server import AccessPolicy

SHORTEST = 16

Run = Annotated[Path, typer.Argument(help="Folder of a run that has mined sets.")]
Host = Annotated[
    str,
    typer.Option(
        help="Address to listen on; 0.0.0.0 is every network of this machine. Clients must send "
        "the token, which is part of the printed address."
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="SYNSETMINE_TOKEN",
        help="Require this token. Other users can see command-line options, so prefer "
        "SYNSETMINE_TOKEN. Default: a new one at each start.",
        show_default=False,
    ),
]
NoToken = Annotated[
    bool,
    typer.Option(
        "--no-token",
        help="Require no token: every user and program of this machine can read, and with "
        "`review` decide. Allowed only if the server listens on 127.0.0.1.",
    ),
]
SetsOnly = Annotated[
    bool,
    typer.Option(
        "--sets-only", help="Answer from a run's mined sets only, without loading its model."
    ),
]


def listen_and_serve(
    make_app: Callable[[AccessPolicy], ASGIApp],
    *,
    host: str,
    port: int,
    token: str | None,
    no_token: bool,
    what: str,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Open the port first, since loading takes longer; then serve until Ctrl-C."""
    from synsetmine.review.web.server import (
        LOOPBACK,
        AccessPolicy,
        address_of,
        listen,
        new_token,
        run_server,
    )

    if token is not None and len(token) < SHORTEST:
        raise SynsetmineError(f"a token needs {SHORTEST} characters or more")
    if no_token and token is not None:
        raise SynsetmineError("give either --no-token or a token (--token, SYNSETMINE_TOKEN)")
    if no_token and host not in LOOPBACK:
        raise SynsetmineError(f"--no-token is for 127.0.0.1 only, not for --host {host}")
    if not no_token:
        token = token or new_token()
    with listen(host, port) as listening:
        policy = AccessPolicy.of(host, token)
        address = address_of(listening, host, policy.token)

        def ready() -> None:
            console.say(f"{what} at {address} (Ctrl-C to stop)")
            if on_ready is not None:
                on_ready(address)

        console.say("reading …")
        run_server(make_app(policy), listening, ready)
    console.say("ended")


def check_installed() -> None:
    """Raise an error of one line if the packages of the extra `web` are missing."""
    try:
        import msgspec
        import starlette
        import uvicorn
    except ModuleNotFoundError as error:
        problem = f"{error.name} is not installed; pip install 'synsetmine[web]'"
        raise SynsetmineError(problem) from None
    del msgspec, starlette, uvicorn


def review(
    run: Run,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    token: Token = None,
    no_token: NoToken = False,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Review mined sets in a browser: accept, reject, correct, split and merge them.

    The least certain sets come first. The run's `reviews.sqlite` stores each decision at
    once; several people may review at the same time. Everyone with the printed address can
    decide; each start makes a new token for it.

    Example: `synsetmine review run`
    """
    check_installed()

    def make_app(policy: AccessPolicy) -> ASGIApp:
        from synsetmine.review.web.routes import reviewing_app
        from synsetmine.review.web.session import ReviewSession

        return reviewing_app(ReviewSession(run), policy, title=run.resolve().name)

    with ExitStack() as stack:

        def show(address: str) -> None:
            if open_browser and _has_screen():
                if "?token=" in address:
                    folder = stack.enter_context(TemporaryDirectory(prefix="synsetmine-"))
                    address = _hide_token(address, Path(folder))
                # It may wait for the browser, so it does not belong into the server's own thread.
                Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        listen_and_serve(
            make_app,
            host=host,
            port=port,
            token=token,
            no_token=no_token,
            what=f"reviewing {run}",
            on_ready=show,
        )


def _hide_token(address: str, folder: Path) -> str:
    """The address of a private file that leads on to an address with a token.

    Every user of the machine can see the arguments of the browser's process.
    """
    target = html.escape(address)
    page = (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={target}"><title>synsetmine review</title>'
        f'<p><a href="{target}">To the review page</a></p>\n'
    )
    path = folder / "review.html"
    path.touch(0o600, exist_ok=False)
    path.write_text(page, "utf-8")
    return path.as_uri()


def _has_screen() -> bool:
    """Whether a browser would have a window; in a bare terminal one would take the terminal."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform != "linux" or any(os.environ.get(name) for name in screens)


def export_reviews(
    run: Run,
    out: Annotated[Path, out_file("TSV file for the decisions.")],
) -> None:
    """Write reviewers' decisions to a TSV file, for git and for other runs.

    The same decisions always give the same bytes; new ones are new lines.

    Example: `synsetmine export-reviews run --out reviews.tsv`
    """
    from synsetmine.review.decisions import write_decisions
    from synsetmine.review.feedback import find_decisions

    decisions = find_decisions(run)
    write_decisions(out, decisions)
    console.say(f"{len(decisions)} decisions written to {out}")


def import_reviews(
    run: Run,
    file: Annotated[Path, typer.Argument(help="TSV file of `export-reviews`.")],
) -> None:
    """Import decisions of another run from a TSV file; known decisions are skipped.

    They apply to those sets of this run that have their terms.

    Example: `synsetmine import-reviews run reviews.tsv`
    """
    from synsetmine.review import ReviewState, ReviewStore
    from synsetmine.review.decisions import read_decisions
    from synsetmine.runs import read_results
    from synsetmine.runs.folder import Artefacts

    mined = read_results(run)
    decisions = read_decisions(file)
    with ReviewStore(Artefacts(run).reviews) as store:
        new = store.take_in(decisions)
        state = ReviewState(mined, store.decisions())
    console.say(f"{len(decisions)} decisions in {file}, {new} of them new to {run}")
    extents = Counter(state.extents.values())
    console.say(
        f"{len(state.extents)} in force: {extents['whole']} fully applicable to these sets, "
        f"{extents['part']} in part, {extents['none']} not at all"
    )


def serve(
    source: Source,
    vectors: Tables = None,
    encoder: Encoder = None,
    vocabulary: Among = None,
    sets_only: SetsOnly = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    no_token: NoToken = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Answer queries for synonyms over HTTP, with JSON.

    A run folder answers from its mined sets, without the sets and terms that reviewers rejected,
    and with its model. A model folder needs `--vectors`, and expands a term by ranking.
    `/openapi.json` describes the API.

    Requests must send the token printed at the start, as `Authorization: Bearer TOKEN`.

    Example: `synsetmine serve run --no-token`, then
    `curl 'http://127.0.0.1:8000/v1/expand?term=aspirin'`
    """
    check_installed()
    check_source(source, vectors, encoder, vocabulary, sets_only=sets_only)

    def make_app(policy: AccessPolicy) -> ASGIApp:
        from synsetmine.review.web.api import serving_app

        answers = open_answers(
            source, vectors, encoder, vocabulary, sets_only, device, skip_bad=skip_bad
        )
        return serving_app(answers, policy)

    listen_and_serve(
        make_app,
        host=host,
        port=port,
        token=token,
        no_token=no_token,
        what=f"serving {source}",
    )


def check_source(
    source: Path,
    vectors: Sequence[Path] | None,
    encoder: str | None,
    vocabulary: Path | None,
    *,
    sets_only: bool,
) -> None:
    """Refuse options that do not fit the folder, before anything is read."""
    from synsetmine.runs.folder import is_run

    from_run = is_run(source)
    if from_run and (vectors or encoder or vocabulary):
        raise SynsetmineError(
            "--vectors, --encoder and --vocabulary need a model folder; a run has its own"
        )
    if sets_only and not from_run:
        raise SynsetmineError(f"--sets-only needs a run folder; {source} is not one")


def open_answers(
    source: Path,
    vectors: Sequence[Path] | None,
    encoder: str | None,
    vocabulary: Path | None,
    sets_only: bool,
    device: str,
    *,
    skip_bad: bool,
) -> Answers:
    """The mined sets of a run and its model, or a model with its vocabulary."""
    from synsetmine.review.web.api import Answers, MinedAnswers
    from synsetmine.runs.folder import is_run

    from_run = is_run(source)
    model = None
    if not sets_only:
        opened = open_source(source, vectors, encoder, vocabulary, skip_bad=skip_bad)
        model = _answers_of_model(opened, device)
        if not from_run:
            missing = [term for term in opened.vocabulary if term not in model]
            note = "are unknown to the model"
            console.report_missing(missing, len(opened.vocabulary), note)
    return Answers(MinedAnswers.of_run(source) if from_run else None, model)


def _answers_of_model(source: ModelSource, device: str) -> ModelAnswers:
    from synsetmine.review.web.api import ModelAnswers

    prepared = source.prepare(device=device)
    if not prepared.terms:
        raise SynsetmineError("no term of the vocabulary has a vector")
    prepared.rank(prepared.terms[:1])  # computes now what the first question would wait for
    return ModelAnswers(prepared, source.stored.threshold)
