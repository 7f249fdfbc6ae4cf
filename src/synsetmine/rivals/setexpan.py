"""SetExpan + Louvain: neighbours by an ensemble of ranks, then communities; a paper's baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError
from synsetmine.rivals.base import Choice, Floats, Labels, Task, TrainingData
from synsetmine.rivals.communities import (
    Neighbours,
    highest,
    louvain,
    mask_diagonal,
    neighbour_pairs,
)
from synsetmine.views import View, unit_rows

DEPTH = 100  # further down a ranking a term counts nothing: 1/rank is small there
BLOCK = 512  # rows at a time: 20 MB of products and 40 MB of scores for 10,000 terms


@dataclass(frozen=True, kw_only=True)
class SetExpanLouvain:
    """Each term names the k others that an ensemble of rankings puts first; Louvain does the rest.

    A pass draws a `share` of the features and ranks the other terms by cosine in these. The score
    of a term is its mean reciprocal rank over all passes. Nothing is learned.
    """

    passes: int = 30
    share: float = 0.6
    needs: ClassVar[frozenset[View]] = frozenset({"vectors"})
    needs_k: ClassVar[bool] = False
    ordered: ClassVar[bool] = True
    choices: ClassVar[Sequence[Choice]] = tuple(
        {"k": k, "kind": kind} for kind, k in product(("mutual", "union"), (2, 1, 3, 4, 5, 8, 10))
    )

    def __post_init__(self) -> None:
        if self.passes < 1:
            raise DataError("the number of passes must be at least 1", value=self.passes)
        if not 0 < self.share <= 1:
            raise DataError("the share of features must lie in (0, 1]", value=self.share)

    def fit(self, data: TrainingData) -> SetExpanLouvain:  # noqa: ARG002
        return self

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
        matrix = task.views.table("vectors").select(task.terms)
        features = random_features(matrix.shape[1], self.passes, self.share, seed=task.seed)
        neighbours = expand(matrix, features, max(choice["k"] for choice in choices))
        for choice in choices:
            edges = neighbour_pairs(neighbours[:, : choice["k"]], choice["kind"])
            yield louvain(len(matrix), edges, seed=task.seed)


def random_features(
    dimension: int, passes: int, share: float, *, seed: int
) -> list[npt.NDArray[np.int64]]:
    """The columns of each pass, at least one."""
    random = np.random.default_rng([seed])
    size = max(round(share * dimension), 1)
    return [np.sort(random.choice(dimension, size, replace=False)) for _ in range(passes)]


def expand(
    matrix: Floats,
    features: Sequence[npt.NDArray[np.int64]],
    k: int,
    *,
    depth: int = DEPTH,
    block: int = BLOCK,
) -> Neighbours:
    """The k others of highest mean reciprocal rank for each term, the best first.

    A place in a ranking counts down to `depth`, and only for a cosine above zero: a term that
    resembles nothing names nobody.
    """
    neighbours = np.full((len(matrix), k), -1)
    for start in range(0, len(matrix), block):
        scores = _scores(matrix, slice(start, start + block), features, depth)
        best = highest(scores, min(k, len(matrix) - 1))
        named = np.take_along_axis(scores, best, axis=1) > 0
        neighbours[start : start + block, : best.shape[1]] = np.where(named, best, -1)
    return neighbours


def _scores(
    matrix: Floats, rows: slice, features: Sequence[npt.NDArray[np.int64]], depth: int
) -> npt.NDArray[np.float64]:
    """Mean of 1/rank over the passes, of every term for some: (rows, terms)."""
    size = min(depth, len(matrix) - 1)
    scores = np.zeros((len(matrix[rows]), len(matrix)))
    own = np.arange(len(scores))[:, None]
    for columns in features:
        # Anew for each block: a copy of the table for each pass would need more memory.
        unit = unit_rows(matrix[:, columns])
        cosines = mask_diagonal(unit[rows] @ unit.T, rows.start)
        best = highest(cosines, size)  # (rows, size)
        alike = np.take_along_axis(cosines, best, axis=1) > 0
        scores[own, best] += alike / np.arange(1, size + 1)
    return scores / len(features)
