"""Does the probability f(S, t) mean what it says? Its decisions in mining, against the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.models.general import PreparedNames
from synsetmine.types import SynonymSets, Term

Doubles: TypeAlias = npt.NDArray[np.float64]

BINS = 10


@dataclass(frozen=True, eq=False)
class Decisions:
    """The probability of each decision, and whether the decision is right."""

    probabilities: Doubles  # (decisions,)
    right: npt.NDArray[np.bool_]  # (decisions,)

    @classmethod
    def together(cls, parts: Sequence[Decisions]) -> Decisions:
        return cls(
            np.concatenate([part.probabilities for part in parts]),
            np.concatenate([part.right for part in parts]),
        )

    def error(self) -> float:
        """The expected calibration error: the mean gap of the bins, each by its decisions."""
        return sum(
            share * abs(probability - right) for probability, right, share in self.reliability()
        )

    def reliability(self) -> list[tuple[float, float, float]]:
        """Of each bin the mean probability, the share that is right, and its share of all."""
        bins = np.minimum((self.probabilities * BINS).astype(int), BINS - 1)
        return [
            (
                float(self.probabilities[bins == number].mean()),
                float(self.right[bins == number].mean()),
                float((bins == number).mean()),
            )
            for number in np.unique(bins)
        ]


def half_alone(sets: SynonymSets, *, names: int, seeds: int) -> Iterator[SynonymSets]:
    """Vocabularies: sets whose names are half of each, and one name of each of further sets."""
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(sets)).tolist()
        groups: list[list[Term]] = []
        count = 0
        seen: set[str] = set()
        for number in order:
            members = [term for term in sets.sets[number] if term.surface not in seen]
            whole = count < names / 2
            members = members if whole else members[:1]
            if count >= names or len(members) < 1 + whole:
                continue
            seen.update(term.surface for term in members)
            groups.append([Term(term.surface) for term in members])
            count += len(members)
        yield SynonymSets.of(groups)


def mining_decisions(
    prepared: PreparedNames, gold: SynonymSets, *, threshold: float = 0.5
) -> Decisions:
    """A decision is right if most members of the set are synonyms of the term."""
    mined = prepared.generate(threshold=threshold)
    members_of = dict(zip(mined.sets.ids, mined.sets, strict=True))
    probabilities, right = [], []
    for decision in mined.trace:
        if decision.best_set is None:
            continue
        others = [term for term in members_of[decision.best_set] if term != decision.term]
        label = gold.label_of(decision.term)
        probabilities.append(decision.probability)
        right.append(2 * sum(gold.label_of(term) == label for term in others) > len(others))
    return Decisions(np.array(probabilities, np.float64), np.array(right, np.bool_))
