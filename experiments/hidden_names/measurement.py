"""The figures of one method on the hidden names of one half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.calibration import Decisions
from experiments.hidden_names.hiding import ALTOGETHER, HiddenName
from experiments.hidden_names.ranking import Answers, Ranking, joined_share
from synsetmine.models.known import Level

SHARES = (0.9, 0.95)  # precisions at which recall is given
LEVELS = (0.5, 0.8, 0.9)  # probabilities at which terms join
KINDS = ("spelling", "inflection", "word-order", "abbreviation", "other-words", ALTOGETHER)
PHRASES, DEFINED = "phrases", "abbreviations and their definitions"
PRECISION_OF = dict.fromkeys(KINDS, 0.9) | {ALTOGETHER: 0.8}


@dataclass(frozen=True, eq=False)
class MethodAnswers:
    """A method, its answers, and the terms of one half: hidden names and terms of no entity."""

    method: str
    answers: Answers
    names: Sequence[HiddenName]
    unknown: Mapping[str, Sequence[str]]  # normal forms: PHRASES, and forms that the corpus defines
    # The entities of terms that have the stems of a known name and are none, by normal form
    variants: Mapping[str, frozenset[str]] = field(default_factory=dict)
    is_probability: bool = False  # whether the scores are probabilities
    seeded: Answers | None = None  # of phrases, with `mine --seeds`
    other_meaning: Sequence[HiddenName] = ()  # abbreviations of something else in this corpus

    @property
    def ranking(self) -> Ranking:
        return Ranking(self.names, self.answers)

    @property
    def homeless(self) -> Ranking:
        """Hidden names whose entity has no other name in the corpus."""
        return self.ranking.where(lambda name: not name.home)

    def kind(self, kind: str) -> Ranking:
        return self.ranking.where(lambda name: name.kind == kind)

    def cut(self) -> float:
        """The score at which the ranking of all hidden names has the first of SHARES."""
        level = self.ranking.with_precision(SHARES[0])
        return float("inf") if level is None else level.probability

    def join_share(self, source: str, score: float) -> float:
        return joined_share(self.unknown[source], self.answers, score)

    def variant_share(self, score: float, *, right: bool) -> float:
        """The share of the variants of known names that join an entity with such a name, or not."""
        joined = [
            self.answers[form].entity in entities
            for form, entities in self.variants.items()
            if form in self.answers and self.answers[form].score >= score
        ]
        return joined.count(right) / max(len(self.variants), 1)

    @property
    def mixed_calibration_error(self) -> float:
        """The calibration error of hidden names and phrases together; no answer to a phrase counts.

        Some of the answers to phrases are right, so that this is an upper limit.
        """
        decisions, phrases = self.ranking.decisions, self.unknown[PHRASES]
        scores = [self.answers[form].score if form in self.answers else 0.0 for form in phrases]
        wrong = Decisions(np.array(scores), np.zeros(len(scores), np.bool_))
        return Decisions.together([decisions, wrong]).error()

    @property
    def joined_with_seeds(self) -> float:
        return joined_share(self.unknown[PHRASES], self.seeded or {}, LEVELS[0])

    def to_dict(self) -> dict[str, Any]:
        """All figures, for the JSON file."""
        ranking, cut = self.ranking, self.cut()
        scores = [*(LEVELS if self.is_probability else ()), cut]
        figures: dict[str, Any] = {
            "hidden names": len(self.names),
            "abbreviations of something else": len(self.other_meaning),
            "recall at precision": {
                str(share): level_dict(ranking.with_precision(share)) for share in SHARES
            },
            "at the cut": level_dict(ranking.at(cut)),
            "kinds": {kind: self._kind_dict(kind) for kind in KINDS},
            "no other name in the corpus": {
                "names": len(self.homeless.names),
                "wrong": {f"{score:.4g}": self.homeless.wrong_share(score) for score in scores},
            },
            "terms of no entity that join": {
                source: {"terms": len(forms)}
                | {f"{score:.4g}": self.join_share(source, score) for score in scores}
                for source, forms in self.unknown.items()
            },
            "variants of known names": {"terms": len(self.variants)}
            | {
                f"{score:.4g}": {
                    "right": self.variant_share(score, right=True),
                    "wrong": self.variant_share(score, right=False),
                }
                for score in scores
            },
        }
        if self.is_probability:
            figures["levels"] = [level_dict(ranking.at(score)) for score in LEVELS]
            figures["calibration error"] = {
                "all": ranking.calibration_error(),
                "from 0.5 on": ranking.calibration_error(0.5),
                "with phrases": self.mixed_calibration_error,
            }
            figures["reliability"] = [list(row) for row in ranking.decisions.reliability()]
        if self.seeded is not None:
            figures["phrases that join with mine --seeds"] = self.joined_with_seeds
        return figures

    def _kind_dict(self, kind: str) -> dict[str, Any]:
        ranking = self.kind(kind)
        level = level_dict(ranking.with_precision(PRECISION_OF[kind]))
        figures: dict[str, Any] = {"names": len(ranking.names), "best": level}
        if self.is_probability:
            figures["at 0.5"] = level_dict(ranking.at(LEVELS[0]))
        return figures


def level_dict(level: Level | None) -> dict[str, float] | None:
    if level is None:
        return None
    return {
        "score": level.probability,
        "assigned": level.assigned,
        "right": level.right,
        "precision": level.precision,
        "recall": level.recall,
    }
