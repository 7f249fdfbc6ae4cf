"""`synsetmine serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Device, Encoder, SkipBad, Tables
from synsetmine.cli.listening import (
    Host,
    NoToken,
    Port,
    Token,
    check_installed,
    listen_and_serve,
)
from synsetmine.cli.sources import Among, Source, open_source
from synsetmine.errors import SynsetmineError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from synsetmine.cli.sources import ModelSource
    from synsetmine.web.answers import ModelAnswers
    from synsetmine.web.guard import Door


def serve(
    source: Source,
    vectors: Tables = None,
    encoder: Encoder = None,
    vocabulary: Among = None,
    sets_only: Annotated[
        bool,
        typer.Option(
            "--sets-only", help="Answer from a run's mined sets only, without loading its model."
        ),
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    no_token: NoToken = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Answer questions about synonyms over HTTP, with JSON.

    A run answers from its mined sets, as far as reviewers let them stand, and with its model. A
    bare model needs `--vectors`, and expands a term by ranking. `/openapi.json` describes it all.

    Requests show the token that is printed at the start, as `Authorization: Bearer TOKEN`.

    Example: `synsetmine serve run --no-token`, then
    `curl 'http://127.0.0.1:8000/v1/expand?term=aspirin'`
    """
    check_installed()
    from synsetmine.runfolder import is_run

    from_run = is_run(source)
    if from_run and (vectors or encoder or vocabulary):
        raise SynsetmineError("a run has its own vectors; give them with a bare model only")
    if sets_only and not from_run:
        raise SynsetmineError(f"{source} is no run; there are no mined sets")

    def make_app(door: Door) -> ASGIApp:
        from synsetmine.web.answers import Answers, MinedAnswers
        from synsetmine.web.serving import serving_app

        model = None
        if not sets_only:
            opened = open_source(source, vectors, encoder, vocabulary, skip_bad=skip_bad)
            model = _answers_of_model(opened, device)
            if not from_run:
                missing = [term for term in opened.vocabulary if term not in model]
                note = "are not known to the model"
                console.report_missing(missing, len(opened.vocabulary), note)
        return serving_app(Answers(MinedAnswers.of_run(source) if from_run else None, model), door)

    listen_and_serve(
        make_app,
        host=host,
        port=port,
        token=token,
        no_token=no_token,
        what=f"{source} is served",
    )


def _answers_of_model(source: ModelSource, device: str) -> ModelAnswers:
    from synsetmine.web.answers import ModelAnswers

    prepared = source.prepare(device=device)
    if not prepared.terms:
        raise SynsetmineError("no term of the vocabulary has a vector")
    prepared.rank(prepared.terms[:1])  # computes now what the first question would wait for
    return ModelAnswers(prepared, source.stored.threshold)
