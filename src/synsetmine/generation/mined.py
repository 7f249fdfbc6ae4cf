"""What set generation gives: the sets, and what was decided for each term."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from synsetmine.trace import Action, Decision
from synsetmine.types import SynonymSets, Term

GIANT = 50  # terms


@dataclass(frozen=True)
class Mined:
    """The sets found, what was decided for each term, and the terms that have no vector."""

    sets: SynonymSets
    trace: tuple[Decision, ...]
    without_vector: tuple[Term, ...]

    @property
    def giant(self) -> int:
        """How many terms are in one set, if it is so large that terms are not told apart; or 0."""
        largest = max(self.sets.sizes, default=0)
        return largest if largest >= max(GIANT, len(self.sets.terms) / 10) else 0

    def renamed(self, names: Mapping[str, str]) -> Mined:
        """The same with other ids of sets."""
        sets = SynonymSets(self.sets.sets, tuple(names[set_id] for set_id in self.sets.ids))
        trace = tuple(
            replace(d, best_set=None if d.best_set is None else names[d.best_set])
            for d in self.trace
        )
        return Mined(sets, trace, self.without_vector)


@dataclass(frozen=True)
class Outcome:
    """What a walk gives: terms and sets are numbers, known sets come first."""

    members: Sequence[Sequence[int]]
    decisions: Sequence[tuple[int, float, Action]]  # of each term: best set or -1, logit, action


def log_odds(probability: float) -> float:
    if probability in (0.0, 1.0):
        return math.copysign(math.inf, probability - 0.5)
    return math.log(probability) - math.log1p(-probability)


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0
