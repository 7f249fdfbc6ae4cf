"""A model with its vocabulary, for the commands that ask it: of a run folder, or by options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synsetmine.cli.inputs import (
    choose_encoder,
    find_terms,
    load_vectors,
    load_views,
    load_vocabulary,
)
from synsetmine.devices import choose_device
from synsetmine.errors import SynsetmineError

if TYPE_CHECKING:
    from synsetmine.models import PreparedModel, StoredModel
    from synsetmine.models.known import KnownSets
    from synsetmine.types import Term
    from synsetmine.views import TermVectors, TermViews

Source = Annotated[
    Path, typer.Argument(help="Folder of a run, or of a trained model.", show_default=False)
]
Among = Annotated[
    Path | None,
    typer.Option(
        "--vocabulary",
        help="For a bare model: the terms among which it judges, which f depends on; give those "
        "that were mined. Default: all terms that have vectors.",
    ),
]


@dataclass(frozen=True)
class ModelSource:
    """A stored model, and the vocabulary that it is prepared over.

    A run has both: its vocabulary is all mined terms, so f has the values of mining.
    """

    stored: StoredModel
    vocabulary: tuple[Term, ...]
    tables: tuple[TermVectors, ...]
    encoded: TermVectors | None = None  # of a run
    encoder: str | None = None  # of a bare model
    known: KnownSets | None = None  # of a run

    def find(self, texts: Iterable[str]) -> list[Term]:
        """The terms of these texts; a model that looks at strings knows any."""
        known = [*self.vocabulary, *(term for table in self.tables for term in table.terms)]
        any_string = "strings" in self.stored.views
        if not any_string and not self.tables:
            raise SynsetmineError("this model needs --vectors")
        return find_terms(texts, known, any_string=any_string)

    def views(self, terms: Sequence[Term], device: str) -> TermViews:
        """The views of the vocabulary and of further terms."""
        from synsetmine.views import TermViews

        if self.encoded is not None:
            views = TermViews(self.tables, self.encoded)
        else:
            everyone = [*self.vocabulary, *terms]
            views = load_views(self.tables, self.encoder, everyone, device=device)
        self.stored.check(views)
        return views

    def prepare(self, terms: Sequence[Term] = (), *, device: str) -> PreparedModel:
        """The model over its vocabulary and further terms."""
        everyone = list(dict.fromkeys((*self.vocabulary, *terms)))
        views = self.views(terms, device)
        chosen = choose_device(device, uses_torch=self.stored.uses_torch)
        # The stored probabilities are of mined terms; the model judges other terms by pairs.
        known = self.known if {*terms} <= {*self.vocabulary} else None
        return self.stored.prepare(everyone, views, known=known, device=chosen)


def open_source(
    source: Path,
    vectors: Sequence[Path] | None,
    encoder: str | None,
    vocabulary: Path | None,
    *,
    skip_bad: bool,
    needs_vocabulary: bool = True,
) -> ModelSource:
    """The model of a run, or a bare one with what the options name."""
    from synsetmine.models import load_model
    from synsetmine.runfolder import is_run

    if is_run(source):
        if vectors or encoder or vocabulary:
            raise SynsetmineError("a run has its own vectors; give them with a bare model only")
        return _of_run(source)
    stored = load_model(source)
    tables = tuple(load_vectors(path, skip_bad) for path in vectors or ())
    terms: tuple[Term, ...] = ()
    if tables or vocabulary or needs_vocabulary:
        first = tables[0] if tables else None
        terms = tuple(load_vocabulary(vocabulary, first, skip_bad).terms)
    return ModelSource(stored, terms, tables, encoder=choose_encoder(encoder, stored))


def _of_run(run: Path) -> ModelSource:
    from synsetmine.models import load_model
    from synsetmine.models.known import KnownSets, read_candidates
    from synsetmine.runfolder import Artefacts
    from synsetmine.setfiles import read_sets
    from synsetmine.trace import read_trace
    from synsetmine.views import read_vectors

    at = Artefacts(run)
    if not at.mined.exists():
        raise SynsetmineError(f"{run} is no folder of a run that has mined sets")
    encoded = read_vectors(at.encoded) if at.encoded.exists() else None
    tables = (read_vectors(at.vectors),)
    mined = read_sets(at.mined)
    candidates = read_candidates(at.candidates) if at.candidates.exists() else {}
    known = None
    if candidates:
        new = {decision.term for decision in read_trace(at.trace)}
        known = KnownSets(mined.restrict([t for t in mined.terms if t not in new]), candidates)
    return ModelSource(load_model(at.model), mined.terms, tables, encoded, known=known)
