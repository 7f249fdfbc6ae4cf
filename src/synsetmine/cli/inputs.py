"""Inputs that several commands share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.options import SettingOptions, option_of
from synsetmine.devices import choose_device
from synsetmine.errors import DataError, SynsetmineError, shorten
from synsetmine.pipeline.settings import EncoderSettings
from synsetmine.schema import settings_in

if TYPE_CHECKING:
    from synsetmine.io.sets import Vocabulary
    from synsetmine.models import PreparedModel, StoredModel
    from synsetmine.models.known import KnownSets
    from synsetmine.types import SynonymSets, Term
    from synsetmine.views import TermVectors, TermViews

_VECTORS = "Term vectors: word2vec text (any extension), word2vec binary (.bin) or .safetensors."
Vectors = Annotated[Path, typer.Option("--vectors", "-v", help=_VECTORS)]
Tables = Annotated[
    list[Path] | None,
    typer.Option(
        "--vectors",
        "-v",
        help=f"{_VECTORS} Repeat it for more tables, in the same order as for training.",
    ),
]
Encoder = Annotated[str | None, option_of(settings_in(EncoderSettings)["model"])]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Skip broken lines; count and report them.")
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    typer.Option(
        "--device",
        help="auto, cpu or cuda, for work that uses torch; auto uses a GPU if there is one.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TrainingSets = Annotated[
    Path, typer.Argument(help="Training sets: .set, .jsonl, or Solr's synonyms.txt.")
]
Model = Annotated[Path, typer.Argument(help="Folder of a trained model.")]
Reviews = Annotated[
    Path | None,
    typer.Option(
        help="Reviewers' decisions on mined sets: a run folder, or a file of `export-reviews`."
    ),
]


def load_sets(path: Path, skip_bad: bool) -> SynonymSets:
    from synsetmine.io.sets import read_sets

    with collect_skipped(skip_bad) as skipped:
        return read_sets(path, skipped=skipped)


def load_vectors(path: Path, skip_bad: bool) -> TermVectors:
    from synsetmine.views import read_vectors

    with collect_skipped(skip_bad) as skipped:
        return read_vectors(path, skipped=skipped)


def load_views(
    tables: Sequence[TermVectors], encoder: str | None, terms: Sequence[Term], *, device: str
) -> TermViews:
    """The views of the terms: tables of vectors, and an encoder's vectors of their strings."""
    from synsetmine.views import TermViews, find_encoder, learned_surfaces

    if encoder is None:
        return TermViews(tuple(tables))
    from synsetmine.pipeline.model_stages import encode

    learned = learned_surfaces(find_encoder(encoder))
    with console.progress_bar("encoding") as bar:
        vectors = encode(encoder, terms, device=choose_device(device), progress=bar.update)
    return TermViews(tuple(tables), vectors, learned)


def load_vocabulary(
    path: Path | None,
    vectors: TermVectors | None,
    skip_bad: bool,
    column: str | None = None,
) -> Vocabulary:
    """The terms to mine: a list, the terms of a file of sets, or all terms that have vectors.

    The terms of sets are walked in the order of the vector file, or in random order, since in the
    order of the sets synonyms stand side by side, and that would give the answer away.
    """
    from synsetmine.corpus.name_lists import read_terms
    from synsetmine.io.sets import Vocabulary, is_set_file
    from synsetmine.types import order_terms

    if path is None:
        if vectors is None:
            raise SynsetmineError("no terms to mine; give --vocabulary or --vectors")
        return Vocabulary(vectors.terms, {})
    if is_set_file(path) and column is None:
        terms = load_sets(path, skip_bad).terms
        if vectors is None:
            return Vocabulary(tuple(order_terms(terms, "random")), {})
        known = sorted((t for t in terms if t in vectors), key=lambda t: vectors.rows([t])[0])
        return Vocabulary((*known, *vectors.missing(terms)), {})
    with collect_skipped(skip_bad) as skipped:
        return read_terms(path, column=column, skipped=skipped)


@contextmanager
def collect_skipped(skip_bad: bool) -> Iterator[list[DataError] | None]:
    """A list for a reader to keep broken lines in, reported at the end; None without the option."""
    skipped: list[DataError] | None = [] if skip_bad else None
    yield skipped
    console.report_skipped(skipped or [])


def read_held_out(reviews: Path | None) -> SynonymSets:
    """The sets that the run of these reviews holds out for its scores; none without a run."""
    from synsetmine.runs.folder import Artefacts
    from synsetmine.types import SynonymSets

    if reviews is None or not reviews.is_dir() or not Artefacts(reviews).test.exists():
        return SynonymSets.of(())
    return load_sets(Artefacts(reviews).test, skip_bad=False)


def add_reviews(sets: SynonymSets, reviews: Path | None, held_out: SynonymSets) -> SynonymSets:
    """Training sets with what reviews add; not on entities that their run holds out for scores."""
    from synsetmine.pipeline.model_stages import read_constraints
    from synsetmine.review.feedback import training_sets

    informed = training_sets(sets, read_constraints(reviews), held_out=held_out)
    console.report_reviews(informed.counts)
    return informed.sets


def choose_encoder(named: str | None, stored: StoredModel) -> str | None:
    """The encoder that a person names, or the one that the model was trained with.

    Models come from anywhere, so what one names is taken from this machine and never fetched.
    """
    from synsetmine.views.encoder import MINILM

    encoder = named or stored.training.get("encoder")
    if named or encoder in (None, MINILM):
        return encoder
    if isinstance(encoder, str) and Path(encoder).is_dir():
        return encoder
    problem = "the model was trained with an encoder that is not a folder on this machine"
    raise SynsetmineError(f"{problem}; if you trust it, give --encoder {shorten(repr(encoder))}")


def is_trained(out: Path, inputs: Mapping[str, Any]) -> bool:
    """Whether the folder holds the finished model of this very command; another is an error."""
    from synsetmine.models.storage import is_model, load_model

    if not is_model(out):
        return False
    if load_model(out).training.get("inputs") != inputs:
        raise SynsetmineError(f"{out} contains another finished model; --overwrite replaces it")
    console.say(f"{out} already contains this model; --overwrite trains it again")
    return True


def find_terms(texts: Iterable[str], known: Sequence[Term], *, any_string: bool) -> list[Term]:
    """The terms that a person means: as written, or the only known term with that surface.

    With `any_string` one that is not known is meant as it is written.
    """
    from synsetmine.types import Term

    terms = [Term.parse(text) for text in texts]
    vocabulary = set(known)
    surfaces = {term.surface for term in terms if term not in vocabulary}
    by_surface: dict[str, list[Term]] = {}
    for term in vocabulary if surfaces else ():
        if term.surface in surfaces:
            by_surface.setdefault(term.surface, []).append(term)

    def find(term: Term) -> Term:
        senses = sorted(by_surface.get(term.surface, ()))
        if term in vocabulary or (any_string and (term.sense or not senses)):
            return term
        return _single_sense(term, senses, known)

    return [find(term) for term in terms]


def _single_sense(term: Term, senses: Sequence[Term], known: Sequence[Term]) -> Term:
    if len(senses) == 1 and not term.sense:
        return senses[0]
    if senses and not term.sense:
        named = ", ".join(map(str, senses))
        raise DataError(f"several terms have this surface; give one of {named}", value=str(term))
    from synsetmine.normalization import tokens

    words = tokens(term.surface)
    near = [str(other) for other in known if tokens(other.surface) == words]
    hint = f", but there is {' and '.join(near[:3])}" if near and words else ""
    raise DataError(f"this term has no vector{hint}", value=str(term))


Source = Annotated[Path, typer.Argument(help="Folder of a run, or of a trained model.")]


@dataclass(frozen=True, kw_only=True)
class ModelInputs:
    """What a bare model needs besides its folder; a run has its own."""

    vectors: Tables = None
    encoder: Encoder = None
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="For a model folder: the vocabulary, which affects the probabilities; give "
            "the terms that were mined. Default: all terms that have vectors."
        ),
    ] = None


ModelInputOptions = Annotated[ModelInputs, SettingOptions()]


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

    def prepare(self, terms: Sequence[Term] = (), *, device: str) -> PreparedModel:
        """The model over its vocabulary and further terms."""
        from synsetmine.views import TermViews

        everyone = list(dict.fromkeys((*self.vocabulary, *terms)))
        if self.encoded is not None:
            views = TermViews(self.tables, self.encoded)
        else:
            views = load_views(self.tables, self.encoder, everyone, device=device)
        self.stored.check(views)
        chosen = choose_device(device, uses_torch=self.stored.uses_torch)
        # The stored probabilities are of mined terms; the model judges other terms by pairs.
        known = self.known if {*terms} <= {*self.vocabulary} else None
        return self.stored.prepare(everyone, views, known=known, device=chosen)


def check_inputs(source: Path, inputs: ModelInputs, *, sets_only: bool = False) -> None:
    """Refuse options that do not fit the folder, before anything is read."""
    from synsetmine.runs.folder import is_run

    if is_run(source) and (inputs.vectors or inputs.encoder or inputs.vocabulary):
        raise SynsetmineError(
            "--vectors, --encoder and --vocabulary need a model folder; a run has its own"
        )
    if sets_only and not is_run(source):
        raise SynsetmineError(f"--sets-only needs a run folder; {source} is not one")


def open_source(
    source: Path, inputs: ModelInputs, *, skip_bad: bool, needs_vocabulary: bool = True
) -> ModelSource:
    """The model of a run, or a bare one with what the options name."""
    from synsetmine.models import load_model
    from synsetmine.runs.folder import is_run

    check_inputs(source, inputs)
    if is_run(source):
        return _of_run(source)
    stored = load_model(source)
    tables = tuple(load_vectors(path, skip_bad) for path in inputs.vectors or ())
    terms: tuple[Term, ...] = ()
    if tables or inputs.vocabulary or needs_vocabulary:
        first = tables[0] if tables else None
        terms = tuple(load_vocabulary(inputs.vocabulary, first, skip_bad).terms)
    return ModelSource(stored, terms, tables, encoder=choose_encoder(inputs.encoder, stored))


def _of_run(run: Path) -> ModelSource:
    from synsetmine.io.sets import read_sets, read_trace
    from synsetmine.models import load_model
    from synsetmine.models.known import KnownSets, read_candidates
    from synsetmine.runs.folder import Artefacts, no_run
    from synsetmine.views import read_vectors

    at = Artefacts(run)
    if not at.mined.exists():
        raise no_run(run)
    encoded = read_vectors(at.encoded) if at.encoded.exists() else None
    tables = (read_vectors(at.vectors),)
    mined = read_sets(at.mined)
    candidates = read_candidates(at.candidates) if at.candidates.exists() else {}
    known = None
    if candidates:
        new = {step.term for step in read_trace(at.trace) if step.action != "accepted"}
        known = KnownSets(mined.restrict([t for t in mined.terms if t not in new]), candidates)
    return ModelSource(load_model(at.model), mined.terms, tables, encoded, known=known)
