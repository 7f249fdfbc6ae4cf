"""Where the bar has to be: vocabularies of held-out training sets are mined at many bars.

Training sets are almost all pairs, while the sets to be found are larger, so half of the weight
is given to the sets of three and more terms, where there are enough of them. Where there are not,
the bar is as low as pairs allow at little loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
import numpy.typing as npt

from synsetmine.model.viewscorer import Bar
from synsetmine.training.contrastive import Numbers

BARS = tuple(step / 4 for step in range(-20, 13))  # -5 to 3
LARGER = 3  # terms
ENOUGH = 10  # larger sets, to be given half of the weight
SLOPE = 2.5  # at most: how far the bar moves with the log of the mean size, less one
EQUAL = 0.01  # scores that differ by less are as good
LOSS = 0.02  # of the score that pairs may lose where there are no larger sets to calibrate on
GAIN = 0.5  # at most: how far a move of the bar may go on by the sizes that it changes itself

Floats = npt.NDArray[np.float64]


@dataclass
class Calibration:
    """Scores and sizes at each bar, gathered vocabulary by vocabulary."""

    larger: bool  # whether larger sets have half of the weight
    scores: dict[float, list[float]] = field(default_factory=lambda: {bar: [] for bar in BARS})
    sizes: dict[float, list[float]] = field(default_factory=lambda: {bar: [] for bar in BARS})

    def add(self, bar: float, found: Numbers, labels: Numbers) -> None:
        """A vocabulary, mined at this bar; its terms are numbered as its labels."""
        weights = term_weights(labels, larger=self.larger)
        self.scores[bar].append(weighted_f1(found, labels, weights))
        self.sizes[bar].append(weighted_size(found, weights))

    def bar(self) -> Bar:
        """The middle of the best bars, smoothed: the scores of few sets jump up and down."""
        means = self.means()
        values = [means[BARS[0]], *(means[bar] for bar in BARS), means[BARS[-1]]]
        smooth = {bar: fmean(values[i : i + 3]) for i, bar in enumerate(BARS)}
        top = max(smooth.values())
        best = fmean(bar for bar in BARS if smooth[bar] >= top - EQUAL)
        if not self.larger:
            best = min(bar for bar in BARS if smooth[bar] >= top - LOSS)
        nearest = min(BARS, key=lambda bar: abs(bar - best))
        return Bar(nearest, fmean(self.sizes[nearest]), self._slope(nearest))

    def means(self) -> dict[float, float]:
        return {bar: fmean(found) for bar, found in self.scores.items()}

    def _slope(self, best: float) -> float:
        """How far the bar should follow the size of sets.

        Where sizes hang strongly on the bar itself they tell little of the vocabulary, and a bar
        that follows them would run away.
        """
        near = [bar for bar in BARS if abs(bar - best) <= 1]
        logs = [math.log(max(fmean(self.sizes[bar]) - 1, 0.05)) for bar in near]
        falls = -float(np.polyfit(near, logs, 1)[0])
        return min(SLOPE, GAIN / falls) if falls > 0 else SLOPE


def enough_larger(sizes: Sequence[int]) -> bool:
    return sum(size >= LARGER for size in sizes) >= ENOUGH


def term_weights(labels: Numbers, *, larger: bool) -> Floats:
    """Equal ones; or half for terms of larger sets and half for the others."""
    _, position, counts = np.unique(labels, return_inverse=True, return_counts=True)
    of_larger = counts[position] >= LARGER
    if not larger or of_larger.all() or not of_larger.any():
        return np.full(len(labels), 1 / max(len(labels), 1))
    share = np.where(of_larger, of_larger.sum(), (~of_larger).sum())
    weights: Floats = 0.5 / share
    return weights


def weighted_f1(found: Numbers, gold: Numbers, weights: Floats) -> float:
    """F1 of pairs of terms, where a pair weighs as much as its two terms do on average."""
    both = _pair_weight(found * (int(gold.max(initial=0)) + 1) + gold, weights)
    total = _pair_weight(found, weights) + _pair_weight(gold, weights)
    return 2 * both / total if total > 0 else 0.0


def weighted_size(found: Numbers, weights: Floats) -> float:
    """Terms divided by sets, where both weigh as the terms do."""
    _, position, counts = np.unique(found, return_inverse=True, return_counts=True)
    return float(weights.sum() / (weights / counts[position]).sum())


def _pair_weight(labels: Numbers, weights: Floats) -> float:
    """The weight of all pairs with equal labels."""
    _, position, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return float((np.bincount(position, weights) * (counts - 1)).sum() / 2)
