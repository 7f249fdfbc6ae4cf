"""What a report tells: plain values, gathered by whoever made the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from synsetmine.results import MinedSet
from synsetmine.supervision import Tally

_ALONE = "alone"
_FATES = {
    "seed": "Known before, as names of an entity",
    "joined": "Joined a set",
    "forced": "Joined a set below the threshold",
    "opened": "Opened a set that others joined",
    _ALONE: "Stand alone",
    "no vector": "Stand alone, have no vector",
}


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
    """All that the report of one run shows."""

    title: str
    version: str
    created: str  # ISO time
    inputs: Sequence[tuple[str, str]]  # what went in: its kind, its name and size in words
    stages: Sequence[Stage]
    skipped: Sequence[tuple[str, int, str]]  # problem, how often, the first one with its place
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
    def grown(self) -> int:
        """How many entities of the knowledge base gained a name that it lacks."""
        return sum(
            mined.entity is not None and any(not term.known for term in mined.terms)
            for mined in self.several
        )

    @cached_property
    def new_names(self) -> int:
        """Terms in sets of two or more that the knowledge base lacks."""
        return sum(not term.known for mined in self.several for term in mined.terms)

    @cached_property
    def fates(self) -> dict[str, int]:
        """How many terms came into their sets in which way, in words."""
        counts = Counter(
            _ALONE if term.action == "opened" and len(mined.terms) == 1 else term.action
            for mined in self.sets
            for term in mined.terms
        )
        ordered = [*(action for action in _FATES if action in counts), *counts]
        return {_FATES.get(action, action): counts[action] for action in ordered}

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
