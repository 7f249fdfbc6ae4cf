"""The contents of a report, as plain values that the pipeline collects."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from synsetmine.linking.supervision import Tally
from synsetmine.runs import MinedSet, MinedTerm

_KNOWN, _NEW = "Known names", "New names of known entities"
_GROUPED, _ALONE = "Unknown terms in groups", "Unknown terms that stand alone"


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the run, how long it took, and what came out of it in a few words."""

    name: str
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """A measure on held-out entities, with its standard deviation where there were several runs."""

    name: str
    value: float
    spread: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RehearsalLevel:
    """Names with at least this probability: new ones, and hidden ones that were looked for."""

    probability: float
    new_names: int
    expected_right: float  # of the new names
    precision: float  # of the hidden names that were assigned
    recall: float  # of all hidden names
    without_entity: float  # share of names whose entity was removed that joined another


@dataclass(frozen=True)
class RehearsalFindings:
    """How well known names that were hidden found their entities, the lowest level first."""

    hidden: int
    levels: Sequence[RehearsalLevel]
    reliability: Sequence[tuple[float, float, int]]  # mean probability, share right, names
    calibration_error: float

    @property
    def sentences(self) -> list[str]:
        """Precision and recall at the highest level."""
        best = self.levels[-1]
        return [
            f"In a rehearsal, {self.hidden:,} known names were hidden and looked for.",
            f"At {best.probability:g} and above, it found {percent(best.recall)} of them, and "
            f"{percent(best.precision)} of what it found was right.",
            f"Of names whose entity had been removed, {percent(best.without_entity)} joined "
            "another entity.",
        ]


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
    stages: Sequence[Stage]
    skipped: Sequence[tuple[str, int, str]]  # problem, how often, the first one with file and line
    kept: Tally  # links that passed the filter of supervision
    dropped: Mapping[str, Tally]  # by reason
    entity_names: Mapping[str, str]  # entity -> its preferred name
    training: Epochs | Penalties
    scores: Sequence[Score]
    thresholds: Sequence[tuple[float, float, float, float]]  # θ, ARI, FMI, pair F1; may be empty
    threshold: float  # the one used
    sets: Sequence[MinedSet]
    points: Sequence[tuple[str, float, float, str]]  # term, x, y, set: the map
    notes: Sequence[tuple[str, str]] = ()  # stage, a sentence that readers should know
    summary: Sequence[str] = ()  # sentences on the new names and the groups of unknown terms
    rehearsal: RehearsalFindings | None = None

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
        """The terms that joined a known set, the surest first; among equals those with evidence."""
        names = [
            (mined, term)
            for mined in self.sets
            if mined.is_known
            for term in mined.terms
            if term.action != "seed"
        ]
        return sorted(names, key=lambda name: (-_certainty(name[1]), not name[1].evidence))

    @cached_property
    def gained(self) -> int:
        """How many known sets gained a name."""
        return len({mined.id for mined, _ in self.new_names})

    @cached_property
    def known_in_corpus(self) -> int:
        """How many known names the corpus has."""
        terms = (term for mined in self.sets for term in mined.terms)
        return sum(term.action == "seed" and term.count > 0 for term in terms)

    @cached_property
    def groups(self) -> list[MinedSet]:
        """The groups of unknown terms, the surest first."""
        groups = [mined for mined in self.several if not mined.is_known]
        return sorted(groups, key=lambda mined: -(mined.least or 0))

    @cached_property
    def fates(self) -> dict[str, int]:
        """How many terms are known, new names, or unknown; the sum is the number of terms."""
        counts = Counter({_KNOWN: 0, _NEW: 0, _GROUPED: 0, _ALONE: 0})
        for mined in self.sets:
            unknown = _NEW if mined.is_known else _GROUPED if len(mined.terms) > 1 else _ALONE
            counts.update(_KNOWN if t.action == "seed" else unknown for t in mined.terms)
        return dict(counts) if self.sets else {}

    @cached_property
    def shown_first(self) -> list[MinedSet]:
        """The sets as the page first lists them: two or more terms, most frequent first."""
        return sorted(self.several or self.sets, key=lambda mined: -mined.count)

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


def _certainty(term: MinedTerm) -> float:
    value = term.probability
    return value if value is not None and math.isfinite(value) else 0.0
