"""`synsetmine serve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    Device,
    Encoder,
    SkipBad,
    Tables,
    choose_encoder,
    load_stored_model,
    load_vectors,
    load_views,
    load_vocabulary,
)
from synsetmine.cli.listening import Host, Port, Token, check_installed, listen_and_serve
from synsetmine.errors import SynsetmineError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from synsetmine.model import StoredModel
    from synsetmine.types import Term
    from synsetmine.views import TermViews
    from synsetmine.web.answers import ModelAnswers
    from synsetmine.web.guard import Door


def serve(
    source: Annotated[
        Path, typer.Argument(help="Folder of a run, or of a trained model.", show_default=False)
    ],
    vectors: Tables = None,
    encoder: Encoder = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Terms that a bare model ranks. Default: all that have vectors."),
    ] = None,
    sets_only: Annotated[
        bool,
        typer.Option(
            "--sets-only", help="Answer from a run's mined sets only, without loading its model."
        ),
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Answer questions about synonyms over HTTP, with JSON.

    A run answers from its mined sets, as far as reviewers let them stand, and with its model. A
    bare model needs `--vectors`, and expands a term by ranking. `/openapi.json` describes it all.

    Example: `synsetmine serve run`, then `curl 'http://127.0.0.1:8000/v1/expand?term=aspirin'`
    """
    check_installed()
    from synsetmine.runfolder import MANIFEST

    is_run = (source / MANIFEST).is_file()
    if is_run and (vectors or encoder or vocabulary):
        raise SynsetmineError("a run has its own vectors; give them with a bare model only")
    if sets_only and not is_run:
        raise SynsetmineError(f"{source} is no run; there are no mined sets")

    def make_app(door: Door) -> ASGIApp:
        from synsetmine.web.answers import Answers, MinedAnswers
        from synsetmine.web.serving import serving_app

        if not is_run:
            return serving_app(
                Answers(model=_bare_model(source, vectors, encoder, vocabulary, device, skip_bad)),
                door,
            )
        mined = MinedAnswers.of_run(source)
        model = None if sets_only else _model_of_run(source, device)
        return serving_app(Answers(mined, model), door)

    listen_and_serve(make_app, host=host, port=port, token=token, what=f"{source} is served")


def _model_of_run(run: Path, device: str) -> ModelAnswers:
    from synsetmine.runfolder import Artefacts
    from synsetmine.setfiles import read_sets
    from synsetmine.views import TermViews, read_vectors

    at = Artefacts(run)
    encoded = read_vectors(at.encoded) if at.encoded.exists() else None
    stored = load_stored_model(at.model, device)
    views = TermViews((read_vectors(at.vectors),), encoded)
    return _answers_of_model(stored, views, read_sets(at.mined).terms)


def _bare_model(
    folder: Path,
    vectors: list[Path] | None,
    encoder: str | None,
    vocabulary: Path | None,
    device: str,
    skip_bad: bool,
) -> ModelAnswers:
    stored = load_stored_model(folder, device)
    tables = [load_vectors(path, skip_bad) for path in vectors or ()]
    terms = load_vocabulary(vocabulary, tables[0] if tables else None, skip_bad).terms
    named = choose_encoder(encoder, stored)
    views = load_views(tables, named, terms, device=device)
    answers = _answers_of_model(stored, views, terms)
    missing = [term for term in terms if term not in answers]
    console.report_missing(missing, len(terms), "are not known to the model")
    return answers


def _answers_of_model(
    stored: StoredModel, views: TermViews, terms: tuple[Term, ...]
) -> ModelAnswers:
    from synsetmine.generation import known_terms
    from synsetmine.model import PreparedModel
    from synsetmine.web.answers import ModelAnswers

    seen = stored.see(views)
    known = known_terms(stored.scorer, seen, terms)
    if not known:
        raise SynsetmineError("no term of the vocabulary has a vector")
    return ModelAnswers(PreparedModel(stored.scorer, seen, known), stored.threshold)
