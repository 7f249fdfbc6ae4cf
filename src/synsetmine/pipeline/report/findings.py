"""The contents of a report, and how they are gathered from a run folder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from synsetmine import __version__
from synsetmine.errors import DataError
from synsetmine.io.files import read_json
from synsetmine.io.sets import read_sets, read_trace
from synsetmine.kb import KnowledgeBase
from synsetmine.linking.supervision import Tally
from synsetmine.models import StoredModel, load_model
from synsetmine.pipeline.mining import SURE, RehearsalSummary
from synsetmine.pipeline.settings import ReportSettings
from synsetmine.pipeline.stage_results import KEPT, HeldOutScores, parse_tallies
from synsetmine.runs import MinedSet, MinedTerm, describe_sets, example_sentences, read_counts
from synsetmine.runs.folder import STAGES, Artefacts, RunFolder, StageRecord, no_run
from synsetmine.schema import from_record
from synsetmine.types import Progress, SynonymSets, Term
from synsetmine.views import TermVectors, read_vectors

SCORES = {
    "ari": "ARI",
    "fmi": "FMI",
    "pair_precision": "pair precision",
    "pair_recall": "pair recall",
    "pair_f1": "pair F1",
    "nmi": "NMI",
}
MEANINGS = {
    "ARI": "adjusted Rand index: agreement on pairs of terms beyond chance; 0 for random sets",
    "FMI": "Fowlkes–Mallows index: geometric mean of pair precision and pair recall",
    "pair precision": "share of the pairs in one set that belong together",
    "pair recall": "share of the pairs that belong together that are in one set",
    "pair F1": "harmonic mean of pair precision and pair recall",
    "NMI": "normalised mutual information of found and true sets",
}
_KNOWN, _NEW = "Known names", "New names of known entities"
_GROUPED, _ALONE = "Unknown terms in groups", "Unknown terms that stand alone"


@dataclass(frozen=True, slots=True)
class StageSummary:
    """A step of the run, how long it took, and what came out of it in a few words."""

    name: str
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """A measure on held-out entities, with its standard deviation where there were several runs."""

    name: str
    value: float
    spread: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Epochs:
    """How the paper's model learned, and the epoch that was kept."""

    history: Sequence[tuple[int, float, float | None]]  # epoch, loss, validation score
    best: int
    select_by: str  # the measure that chose the epoch


@dataclass(frozen=True)
class Penalties:
    """The loss on held-out training sets by the penalty of the adaptation."""

    losses: Sequence[tuple[float | None, float]]  # penalty, loss; None: infinite
    chosen: float | None  # None: the general model as it is


@dataclass(frozen=True)
class Findings:
    """The contents of the report of one run."""

    title: str
    version: str
    created: str  # ISO time
    inputs: Sequence[tuple[str, str]]  # what went in: its kind, its name and size in words
    stages: Sequence[StageSummary]
    skipped: Sequence[tuple[str, int, str]]  # problem, how often, the first one with file and line
    kept: Tally  # links that passed the filter of supervision
    dropped: Mapping[str, Tally]  # by reason
    entity_names: Mapping[str, str]  # entity -> its preferred name
    training: Epochs | Penalties
    scores: Sequence[HeldOutScore]
    thresholds: Sequence[tuple[float, float, float, float]]  # θ, ARI, FMI, pair F1; may be empty
    threshold: float  # the one used
    sets: Sequence[MinedSet]
    points: Sequence[tuple[str, float, float, str]]  # term, x, y, set: the map
    notes: Sequence[tuple[str, str]] = ()  # stage, a sentence that readers should know
    summary: Sequence[str] = ()  # sentences on the new names and the groups of unknown terms
    rehearsal: RehearsalSummary | None = None
    document_prefix: str = ""  # of ids of documents that have none, for links to their pages

    @cached_property
    def term_count(self) -> int:
        return sum(len(mined.terms) for mined in self.sets)

    @cached_property
    def several(self) -> list[MinedSet]:
        """The sets of two or more terms."""
        return [mined for mined in self.sets if len(mined.terms) > 1]

    @cached_property
    def of_one(self) -> int:
        """How many sets have a single term."""
        return sum(len(mined.terms) == 1 for mined in self.sets)

    @cached_property
    def new_names(self) -> list[tuple[MinedSet, MinedTerm]]:
        """The terms that joined a known set, by entity: exact names first, then the most probable.

        Among equals those with evidence come first.
        """
        ranked = []
        for mined in self.sets:
            joined = [t for t in mined.terms if mined.is_known and not t.is_seed]
            joined.sort(key=_rank)
            ranked += [(_rank(joined[0]), mined, joined)] if joined else []
        ranked.sort(key=lambda entry: entry[0])
        return [(mined, term) for _, mined, joined in ranked for term in joined]

    @cached_property
    def sets_with_new_names(self) -> int:
        """How many known sets gained a name."""
        return len({mined.id for mined, _ in self.new_names})

    @cached_property
    def known_in_corpus(self) -> int:
        """How many known names the corpus has."""
        terms = (term for mined in self.sets for term in mined.terms)
        return sum(term.is_seed and term.count > 0 for term in terms)

    @cached_property
    def groups(self) -> list[MinedSet]:
        """The groups of unknown terms that are worth seeing, then those that differ in form only.

        Those with evidence come first, then the most probable.
        """
        groups = [mined for mined in self.several if not mined.is_known]
        return sorted(
            groups, key=lambda g: (g.differs_in_form_only, not g.evidence, -(g.least or 0))
        )

    @cached_property
    def outcomes(self) -> dict[str, int]:
        """How many terms are known, new names, or unknown; the sum is the number of terms."""
        counts = Counter({_KNOWN: 0, _NEW: 0, _GROUPED: 0, _ALONE: 0})
        for mined in self.sets:
            unknown = _NEW if mined.is_known else _GROUPED if len(mined.terms) > 1 else _ALONE
            counts.update(_KNOWN if t.is_seed else unknown for t in mined.terms)
        return dict(counts) if self.sets else {}

    @cached_property
    def shown_first(self) -> list[MinedSet]:
        """The sets as the page first lists them: two or more terms, most frequent first."""
        return sorted(self.several or self.sets, key=lambda mined: -mined.count)

    @cached_property
    def expectation(self) -> str:
        """A sentence on how many of the new names should be right."""
        if self.rehearsal is None or not self.new_names:
            return ""
        levels = [level for level in reversed(self.rehearsal.levels) if level.new_names]
        parts = [
            f"of {level.new_names:,} at {level.probability:g} and above, "
            f"about {level.expected_right:,.0f} right"
            for level in levels
        ]
        return f"What to expect: {'; '.join(parts)}."

    @cached_property
    def quality(self) -> str:
        """Two sentences on the rehearsal: what was found, and how far probabilities are right."""
        if self.rehearsal is None:
            return ""
        best, error = self.rehearsal.levels[-1], 100 * self.rehearsal.calibration_error
        rights = [right for mean, right, _ in self.rehearsal.reliability if mean >= SURE]
        of_all = f"{percent(rights[-1])} of what had {SURE} or more was right" if rights else ""
        return (
            f"In a rehearsal, {self.rehearsal.hidden:,} known names were hidden and looked for: "
            f"at {best.probability:g} and above, {percent(best.recall)} of them were found, and "
            f"{percent(best.precision)} of these joined their own entity. "
            "Counting names whose entity had been removed too, of which "
            f"{percent(best.without_entity)} joined another entity, "
            + (f"{of_all}, and " if of_all else "")
            + f"a probability is {error:.1f} percentage points off on average."
        )

    def name_of(self, entity: str) -> str:
        return self.entity_names.get(entity, entity)

    def title_of(self, mined: MinedSet) -> str:
        """What to call a set: its entity, or its first term."""
        if mined.entity is not None:
            return self.name_of(mined.entity)
        return mined.terms[0].text if mined.terms else mined.id


def percent(share: float) -> str:
    """A share in percent, with a digit behind the point where it is near 0 or 1."""
    return f"{100 * share:.{1 if share < 0.1 or share > 0.95 else 0}f} %".replace("100.0", "100")


def _rank(term: MinedTerm) -> tuple[bool, float, bool]:
    value = term.probability
    is_exact = term.relation in (None, "exact")
    return (
        not is_exact,
        -value if value is not None and math.isfinite(value) else 0.0,
        not term.evidence,
    )


def gather_findings(settings: ReportSettings, folder: RunFolder, progress: Progress) -> Findings:
    """What a finished run holds for its report."""
    unfinished = [stage for stage in STAGES[:-1] if stage not in folder.stages]
    if unfinished:
        raise no_run(folder.path, f"all stages done: {unfinished[0]} is missing")
    at = Artefacts(folder.path)
    kb = KnowledgeBase.load(at.knowledge)
    mined = read_sets(at.mined)
    trace = {decision.term: decision for decision in read_trace(at.trace)}
    surfaces = [term.surface for members in mined if len(members) > 1 for term in members]
    examples = example_sentences(at, surfaces, settings.sentences, progress)
    counts = read_counts(at)
    sets = describe_sets(mined, kb=kb, trace=trace, counts=counts, examples=examples)
    model = load_model(at.model)
    with _as_written(at.supervision) as record:
        dropped = parse_tallies(record)
        kept = dropped.pop(KEPT)
    with _as_written(at.scores) as record:
        scores = from_record(HeldOutScores, record)
        shown, threshold = _scores(scores), float(scores.threshold)
        thresholds = [(θ, ari, fmi, f1) for θ, ari, fmi, f1 in scores.curve or ()]
    with _as_written(at.rehearsal) as record:
        rehearsal = RehearsalSummary.from_dict(record)
    return Findings(
        title=settings.title,
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        inputs=[
            ("corpus", _describe_files(folder.stages["read"])),
            ("knowledge base", _describe_files(folder.stages["knowledge"])),
        ],
        stages=[
            StageSummary(name, record.seconds, str(record.result))
            for name, record in folder.stages.items()
        ],
        skipped=[
            (records.problem, records.count, records.examples[0])
            for result in folder.results.values()
            for records in result.skipped
        ],
        kept=kept,
        dropped=dropped,
        entity_names=_entity_names(kb, sets, [kept, *dropped.values()]),
        training=_training_curve(model),
        scores=shown,
        thresholds=thresholds,
        threshold=threshold,
        sets=sets,
        points=_points(at, mined, counts, settings.map_terms, model),
        notes=[(name, note) for name, result in folder.results.items() for note in result.notes],
        summary=folder.summary,
        rehearsal=rehearsal,
        document_prefix=settings.document_prefix,
    )


def _training_curve(model: StoredModel) -> Epochs | Penalties:
    """The curve that the model's training record has: over epochs, or over penalties."""
    record = model.training
    if "history" in record:
        history = [(e["number"], e["loss"], e["score"]) for e in record["history"]]
        return Epochs(history, record["best_epoch"], SCORES[record["settings"]["select_by"]])
    return Penalties([(penalty, loss) for penalty, loss in record["losses"]], record["ridge"])


@contextmanager
def _as_written(path: Path) -> Iterator[Any]:
    """A JSON file of the run, for a block that takes it to pieces."""
    record = read_json(path)
    try:
        yield record
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise DataError("not a valid file of a run; start the run again", path=path) from error


def _describe_files(record: StageRecord) -> str:
    """The files that a stage read, and how much it found in them."""
    names = record.inputs
    more = f" and {len(names) - 3} more files" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}: {record.result}"


def _entity_names(
    kb: KnowledgeBase, sets: Sequence[MinedSet], tallies: Sequence[Tally]
) -> dict[str, str]:
    entities = {mined.entity for mined in sets if mined.entity}
    entities |= {link.entity for tally in tallies for link in tally.examples}
    return {entity: kb.name(entity) for entity in sorted(entities) if entity in kb}


def _scores(scores: HeldOutScores) -> list[HeldOutScore]:
    """The scores to show; none if no entity could be held out."""
    if not scores.among or not scores.alone:
        return []
    strayed = f"{scores.among['strayed_terms']} of {scores.test_terms} terms joined another entity"
    notes = {"pair_precision": f"among all terms: {strayed}"}
    shown = [
        HeldOutScore(label, scores.among[key], None, notes.get(key, "among all terms"))
        for key, label in SCORES.items()
    ]
    for key, label in SCORES.items():
        mean, spread = scores.alone[key]
        shown.append(HeldOutScore(label, mean, spread, "on their own"))
    return shown


def _points(
    at: Artefacts,
    mined: SynonymSets,
    counts: Mapping[Term, int],
    most: int,
    model: StoredModel,
) -> list[tuple[str, float, float, str]]:
    """The positions of the most frequent terms of sets of two or more."""
    vectors = model.apply_to(read_vectors(at.vectors))
    several = [term for members in mined if len(members) > 1 for term in members]
    shown = sorted((t for t in several if t in vectors), key=lambda t: -counts.get(t, 0))[:most]
    set_of = {t: i for i, members in zip(mined.ids, mined, strict=True) for t in members}
    return [(str(t), x, y, set_of[t]) for t, x, y in term_map(vectors, shown, seed=0, most=most)]


FEW = 30  # below this many terms t-SNE has no neighbourhoods to keep
PERPLEXITY = 30.0
STEPS = 500  # after these the neighbourhoods are settled; more only widens the gaps


def term_map(
    vectors: TermVectors, terms: Sequence[Term], *, seed: int, most: int = 1500
) -> list[tuple[Term, float, float]]:
    """Place the first `most` of the terms that have a vector; the rest is left out.

    The same seed gives the same map on any number of cores. Angles count, lengths do not.
    """
    chosen = [term for term in dict.fromkeys(terms) if term in vectors][:most]
    if not chosen:
        return []
    directions = _unit(vectors.select(chosen))  # (terms, dimension)
    if len(chosen) < FEW or vectors.dimension < 2 or _all_equal(directions):
        positions = _principal_axes(directions)
    else:
        positions = _neighbourhoods(directions, seed)
    return [
        (term, float(x), float(y)) for term, (x, y) in zip(chosen, positions.tolist(), strict=True)
    ]


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Vectors of length one; a zero vector stays as it is."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    directions: npt.NDArray[np.float64] = rows / np.where(lengths > 0, lengths, 1)
    return directions


def _all_equal(rows: npt.NDArray[np.float64]) -> bool:
    return bool(np.allclose(rows, rows[0]))


def _principal_axes(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The two directions in which the rows differ most: (terms, 2)."""
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    # The sign of an axis is arbitrary: its largest entry shall be positive.
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])])
    positions = np.zeros((len(rows), 2))
    positions[:, : min(2, len(sizes))] = (left * sizes * signs)[:, :2]
    return positions


def _neighbourhoods(rows: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """t-SNE on cosine distances: (terms, 2)."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    tsne = TSNE(
        metric="cosine",
        init="pca",
        perplexity=perplexity,
        max_iter=STEPS,
        random_state=seed,
        n_jobs=1,
    )
    with threadpool_limits(limits=1):  # sums in another order would give another map
        return np.asarray(tsne.fit_transform(rows), dtype=np.float64)
