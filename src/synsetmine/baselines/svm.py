"""SVM+Louvain of the paper's comparison: a classifier of pairs, whose yes is an edge of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.baselines.base import Choice, Floats, Labels, Lesson, Problem, grid
from synsetmine.baselines.graphs import louvain
from synsetmine.baselines.pairs import blocks, training_pairs
from synsetmine.errors import DataError
from synsetmine.views import View, unit_rows

# Below 0 too: where vectors are poor, hardly a pair of the many others' side crosses the border.
BARS = (0.0, *(-tenth / 10 for tenth in range(1, 9)), 0.5, 1.0, 1.5, 2.0)
EDGES = 20  # for each term on average at most; a denser graph shows no sets
COMPONENTS = 300  # of the approximate RBF kernel
POSITIVES = {"linear": 10_000, "rbf": 3_000}  # at most; with more it learns for many minutes
VALUES = 1 << 22  # features that are held at a time
BATCH = 256  # rows of the square of all pairs whose edges are kept before the least certain go

Edges: TypeAlias = npt.NDArray[np.int64]  # (edges, 2)


@dataclass(frozen=True, kw_only=True)
class SvmLouvain:
    """A support vector machine says which pairs are synonyms; Louvain finds sets in their graph.

    With a and b the vectors of two terms at length one, a pair's features are |a - b|, a * b
    (both for each dimension) and the cosine, standardised. For each pair of synonyms there are 20
    others, half of them hard. The RBF kernel is Nystroem's approximation with 300 components. A
    pair becomes an edge when its distance from the border, negative on the wrong side, is above
    `bar`. Of more edges than 20 times the terms only the most certain ones stay.
    """

    kernel: Literal["linear", "rbf"] = "linear"
    C: float = 1.0
    needs: frozenset[View] = field(default=frozenset({"vectors"}), init=False)
    told: bool = field(default=False, init=False)
    ordered: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if self.kernel not in ("linear", "rbf"):
            raise DataError("the kernel is linear or rbf", value=self.kernel)
        if not self.C > 0:
            raise DataError("C must be positive", value=self.C)

    @property
    def choices(self) -> Sequence[Choice]:
        return grid("bar", BARS)

    def learn(self, lesson: Lesson) -> LearnedSvm:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import LinearSVC

        unit = unit_rows(lesson.views.table("vectors").select(lesson.training.terms))
        most = POSITIVES[self.kernel]
        pairs = training_pairs(lesson.training, [unit], most=most, seed=lesson.seed)
        features = pair_features(unit[pairs.left], unit[pairs.right])
        scaler = StandardScaler(copy=False).fit(features)
        features = scaler.transform(features)
        svm = LinearSVC(C=self.C, dual=False)
        if self.kernel == "linear":
            svm.fit(features, pairs.same)
            return LearnedSvm.of(scaler, svm.coef_[0], svm.intercept_)
        distinct = np.unique(features, axis=0)  # two equal centres would make it very inexact
        components, gamma = min(COMPONENTS, len(distinct)), 1 / features.shape[1]
        kernel = Nystroem(gamma=gamma, n_components=components, random_state=lesson.seed)
        svm.fit(kernel.fit(distinct).transform(features), pairs.same)
        weights = kernel.normalization_.T @ svm.coef_[0]
        return LearnedSvm.of(scaler, weights, svm.intercept_, kernel.components_, gamma)


@dataclass(frozen=True, eq=False)
class LearnedSvm:
    """The border between synonyms and others, as plain arrays."""

    mean: Floats  # (features,)
    scale: Floats  # (features,)
    weights: Floats  # (features,), of the RBF kernel (centres,)
    bias: np.float32
    centres: Floats | None = None  # (centres, features), standardised; None for the linear kernel
    gamma: float = 0.0

    @classmethod
    def of(
        cls, scaler: Any, weights: Any, bias: Any, centres: Any = None, gamma: float = 0.0
    ) -> LearnedSvm:
        """From what scikit-learn has fitted."""
        return cls(
            mean=scaler.mean_.astype(np.float32),
            scale=scaler.scale_.astype(np.float32),
            weights=weights.astype(np.float32),
            bias=np.float32(bias[0]),
            centres=centres,
            gamma=gamma,
        )

    def distance(self, features: Floats) -> Floats:
        """How far pairs lie from the border, in the SVM's own measure; positive for synonyms."""
        if self.centres is None:
            weights = self.weights / self.scale
            return features @ weights + (self.bias - self.mean @ weights)
        standard = (features - self.mean) / self.scale
        products = standard @ self.centres.T  # (pairs, centres)
        lengths = np.square(standard).sum(axis=1, keepdims=True)
        squares = lengths + np.square(self.centres).sum(axis=1) - 2 * products
        kernel: Floats = np.exp(np.float32(-self.gamma) * np.maximum(squares, 0))
        return kernel @ self.weights + self.bias

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        unit = unit_rows(problem.views.table("vectors").select(problem.terms))
        lowest = min((choice["bar"] for choice in choices), default=0.0)
        edges, margins = self.edges(unit, lowest)
        for choice in choices:
            yield louvain(len(unit), edges[margins > choice["bar"]], seed=problem.seed)

    def edges(self, unit: Floats, bar: float) -> tuple[Edges, Floats]:
        """The most certain pairs i < j above the bar, and how far they lie from the border."""
        edges, margins = np.empty((0, 2), np.int64), np.empty(0, np.float32)
        found: list[tuple[Edges, Floats]] = []
        for first in range(len(unit) - 1):
            for part in blocks(len(unit) - first - 1, 2 * unit.shape[1] + 1, most=VALUES):
                features = pair_features(unit[first], unit[first + 1 :][part])
                distance = self.distance(features)
                above = np.flatnonzero(distance > bar)
                later = above + first + 1 + part.start
                found.append(
                    (np.column_stack([np.full_like(later, first), later]), distance[above])
                )
            if len(found) >= BATCH or first == len(unit) - 2:
                edges = np.concatenate([edges, *(pairs for pairs, _ in found)])
                margins = np.concatenate([margins, *(distances for _, distances in found)])
                edges, margins = _most_certain(edges, margins, EDGES * len(unit))
                found = []
        return edges, margins


def _most_certain(edges: Edges, margins: Floats, most: int) -> tuple[Edges, Floats]:
    if len(edges) <= most:
        return edges, margins
    kept = np.sort(np.argpartition(margins, -most)[-most:])
    return edges[kept], margins[kept]


def pair_features(left: Floats, right: Floats) -> Floats:
    """|a - b|, a * b and the cosine of unit rows a and b: (pairs, 2 x dimension + 1)."""
    product = left * right
    cosine = product.sum(axis=-1, keepdims=True)
    return np.concatenate([np.abs(left - right), product, cosine], axis=-1)
