"""k-means on term vectors, told the true number of sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from synsetmine.baselines.base import Choice, Labels, Lesson, Problem
from synsetmine.views import View, unit_rows

STARTS = 10  # k-means ends in another optimum for each start; the tightest of these is kept


@dataclass(frozen=True, kw_only=True)
class KMeans:
    """Lloyd's k-means from k-means++ centres (scikit-learn); it learns nothing from training sets.

    With `unit` the vectors are scaled to length one first: long vectors, which are those of
    frequent words, then don't get clusters of their own.
    """

    unit: bool = False
    needs: frozenset[View] = field(default=frozenset({"vectors"}), init=False, repr=False)
    told: bool = field(default=True, init=False, repr=False)
    ordered: bool = field(default=True, init=False, repr=False)  # on the seed and, by it, the order
    choices: tuple[Choice, ...] = field(default=({},), init=False, repr=False, hash=False)

    def learn(self, lesson: Lesson) -> KMeans:  # noqa: ARG002 - there is nothing to learn
        return self

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        """The same labels for each choice: the number of sets is told, nothing is to be chosen."""
        vectors = problem.views.table("vectors").select(problem.terms)
        points = unit_rows(vectors) if self.unit else vectors
        # Squares of large or tiny float32 numbers are no float32 numbers.
        labels = _clusters(points.astype(np.float64), problem.told_sets, seed=problem.seed)
        for _ in choices:
            yield labels


def _clusters(points: npt.NDArray[np.float64], k: int, *, seed: int) -> Labels:
    """Labels of the points in at most k clusters, fewer where fewer points are distinct."""
    from sklearn import cluster
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    distinct = len(np.unique(points, axis=0))
    random_state = int(np.random.default_rng([seed]).integers(2**32))
    model = cluster.KMeans(min(k, distinct), n_init=STARTS, random_state=random_state)
    with threadpool_limits(limits=1), warnings.catch_warnings():  # other sums, other labels
        # Points may differ by less than their distances can show; fewer clusters are right then.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit_predict(points), np.int64)
