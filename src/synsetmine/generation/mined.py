"""What set generation gives: the sets, and what was decided for each term."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from synsetmine.types import SynonymSets, Term

Action = Literal["joined", "opened", "forced", "no vector"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to one term: the best set at that time, its probability, the action.

    `forced` is a term that joined below the threshold because no more sets were allowed.
    """

    term: Term
    best_set: str | None
    probability: float
    action: Action


@dataclass(frozen=True)
class Mined:
    """The sets found, what was decided for each term, and the terms that have no vector."""

    sets: SynonymSets
    trace: tuple[Decision, ...]
    without_vector: tuple[Term, ...]


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
