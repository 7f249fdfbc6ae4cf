"""How well a rehearsal found the sets of known names that it had hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Doubles: TypeAlias = npt.NDArray[np.float64]
Truth: TypeAlias = npt.NDArray[np.bool_]

BINS = 10


@dataclass(frozen=True)
class Level:
    """Precision and recall of the names that were assigned with at least this probability."""

    probability: float
    assigned: int
    right: int
    hidden: int

    @property
    def precision(self) -> float:
        return self.right / self.assigned if self.assigned else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.hidden if self.hidden else 0.0


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The names that were looked for: the probability of the best set, and whether it is right.

    `weights` make the shares of names with and without a known set those of the calibration.
    """

    probabilities: Doubles  # (names,); 0 for a name without a candidate
    right: Truth  # (names,)
    hidden: Truth  # (names,); the others belong to sets that were removed
    seen: Truth  # (names,); whether the corpus has the name
    weights: Doubles  # (names,)

    def level(self, probability: float) -> Level:
        """Of the names that the corpus has, or of all if it has too few."""
        names = self._names
        assigned = names & (self.probabilities >= probability)
        return Level(
            probability,
            int((assigned & self.hidden).sum()),
            int((assigned & self.right).sum()),
            int((names & self.hidden).sum()),
        )

    def joined_without_set(self, probability: float) -> float:
        """The share of names of removed sets that were assigned to another set."""
        names = self._names & ~self.hidden
        return float((self.probabilities[names] >= probability).mean()) if names.any() else 0.0

    def calibration_error(self, probability: float = 0.0) -> float:
        """Expected calibration error in ten bins, of names assigned with at least this."""
        chosen = self._names & (self.probabilities >= probability)
        values, right, weights = (
            array[chosen] for array in (self.probabilities, self.right, self.weights)
        )
        if not weights.sum():
            return 0.0
        bins = np.minimum((values * BINS).astype(np.int64), BINS - 1)
        gaps = np.bincount(bins, weights * (values - right), minlength=BINS)
        return float(np.abs(gaps).sum() / weights.sum())

    def reliability(self) -> list[tuple[float, float, int]]:
        """Mean probability, share that is right, and number of names of each bin with names."""
        names = self._names
        values, right, weights = (
            array[names] for array in (self.probabilities, self.right, self.weights)
        )
        bins = np.minimum((values * BINS).astype(np.int64), BINS - 1)
        rows = []
        for number in np.unique(bins).tolist():
            here = bins == number
            total = weights[here].sum()
            mean = float(weights[here] @ values[here] / total)
            rows.append((mean, float(weights[here] @ right[here] / total), int(here.sum())))
        return rows

    @property
    def _names(self) -> Truth:
        return self.seen if (self.seen & self.hidden).sum() >= FEWEST else np.ones_like(self.seen)


FEWEST = 100  # hidden names that the corpus has; with fewer all of them are reported
