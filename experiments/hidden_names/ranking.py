"""Answers to hidden names, and how good they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from experiments.calibration import Decisions
from experiments.hidden_names.hiding import HiddenName
from synsetmine.models.known import Level


class Answer(NamedTuple):
    """The entity that a method finds for a name, how sure it is, and the known name that it saw."""

    entity: str
    score: float
    nearest: str = ""


Answers = Mapping[str, Answer]  # by normal form; a name without an answer is missing


@dataclass(frozen=True, eq=False)
class Ranking:
    """Hidden names with the answers of a method."""

    names: Sequence[HiddenName]
    answers: Answers

    @cached_property
    def decisions(self) -> Decisions:
        """The score of each name, 0 without an answer, and whether the answer is right."""
        none = Answer("", 0.0)
        answers = [self.answers.get(name.form, none) for name in self.names]
        pairs = zip(answers, self.names, strict=True)
        return Decisions(
            np.array([answer.score for answer in answers], np.float64),
            np.array([answer.entity == name.entity for answer, name in pairs], np.bool_),
        )

    def where(self, condition: Callable[[HiddenName], bool]) -> Ranking:
        return Ranking([name for name in self.names if condition(name)], self.answers)

    def at(self, score: float) -> Level:
        """Precision and recall of the answers with at least this score, which is above 0."""
        scores, right = self.decisions.probabilities, self.decisions.right
        chosen = scores >= score
        return Level(score, int(chosen.sum()), int((chosen & right).sum()), len(scores))

    def with_precision(self, precision: float) -> Level | None:
        """The level of the highest recall with at least this precision; None if none has it.

        The cut is made on this ranking itself, between two scores, as for a precision-recall curve.
        """
        scores = np.unique(self.decisions.probabilities)
        levels = [self.at(float(score)) for score in scores if score > 0]
        good = [level for level in levels if level.assigned and level.precision >= precision]
        return max(good, key=lambda level: (level.recall, level.precision), default=None)

    def wrong_share(self, score: float) -> float:
        """The share of all names that joined another entity at this score."""
        level = self.at(score)
        return (level.assigned - level.right) / level.hidden if level.hidden else 0.0

    def calibration_error(self, least: float = 0.0) -> float:
        """The expected calibration error in ten bins, of names with at least this score."""
        chosen = self.decisions.probabilities >= least
        if not chosen.any():
            return 0.0
        return Decisions(self.decisions.probabilities[chosen], self.decisions.right[chosen]).error()


def joined_share(forms: Sequence[str], answers: Answers, score: float) -> float:
    """The share of terms that have an answer of at least this score."""
    joined = sum(form in answers and answers[form].score >= score for form in forms)
    return joined / len(forms) if forms else 0.0
