"""k-means, and COP-KMeans with constraints."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.rivals.base import Choice, Labels, Task, TrainingData
from synsetmine.types import Term
from synsetmine.views import TermViews, View, unit_rows

STARTS = 10  # k-means ends in another optimum for each start; the tightest of these is kept


@dataclass(frozen=True, kw_only=True)
class KMeans:
    """Lloyd's k-means from k-means++ centres (scikit-learn); it learns nothing from training sets.

    With `unit` the vectors are scaled to length one first: long vectors, which are those of
    frequent words, then don't get clusters of their own.
    """

    unit: bool = False
    needs: ClassVar[frozenset[View]] = frozenset({"vectors"})
    needs_k: ClassVar[bool] = True
    ordered: ClassVar[bool] = True  # on the seed and, by it, the order
    choices: ClassVar[Sequence[Choice]] = ({},)

    def fit(self, data: TrainingData) -> KMeans:  # noqa: ARG002 - there is nothing to learn
        return self

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
        """The same labels for each choice: the number of sets is given, so nothing is chosen."""
        points = _vectors(task.views, task.terms, unit=self.unit)
        labels = _clusters(points, task.required_k, seed=task.seed)
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


Points: TypeAlias = npt.NDArray[np.float64]
Start: TypeAlias = Literal["points", "sets"]

ROUNDS = 100  # at most; a handful is enough where most clusters hold a training set
TIE = 1e-12  # centres whose distances differ less, for points of length one, are equally near
BLOCK = 2**21  # distances held at once: 16 MiB, which is faster than more


@dataclass(frozen=True, kw_only=True)
class CopKMeans:
    """k-means of training and test terms together, with the true number of test sets.

    Two terms of a training set must be in one cluster, terms of two training sets must not; test
    terms are free. The clusters are as many as the training sets and the test sets.

    Where the centres `start`: at random points of all, as Wagstaff's do (`points`), or one at each
    training set and the others at test terms by k-means++ (`sets`). k-means++ over all points
    would cost a pass over them for each of the many centres, and nearly every point is one anyway.

    With `unit` the vectors are scaled to length one first.
    """

    unit: bool = False
    start: Start = "points"
    needs: ClassVar[frozenset[View]] = frozenset({"vectors"})
    needs_k: ClassVar[bool] = True
    ordered: ClassVar[bool] = True  # on the seed and, by it, the order
    choices: ClassVar[Sequence[Choice]] = ({},)

    def fit(self, data: TrainingData) -> TrainingPoints:
        """Keep the mean vector and the size of each training set."""
        vectors = _vectors(data.views, data.training.terms, unit=self.unit)
        sizes = np.array(data.training.sizes, np.int64)  # (sets,)
        starts = np.cumsum(sizes) - sizes
        means = np.add.reduceat(vectors, starts, axis=0) / sizes[:, None]  # (sets, dimension)
        return TrainingPoints(means, sizes, self.unit, self.start)


@dataclass(frozen=True, eq=False)
class TrainingPoints:
    """Training sets as points, ready to be clustered with the terms of a task."""

    means: Points  # (sets, dimension)
    sizes: Labels  # (sets,)
    unit: bool
    start: Start

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
        """The same labels for each choice: the number of sets is given, so nothing is chosen."""
        terms = _vectors(task.views, task.terms, unit=self.unit)
        random = np.random.default_rng([task.seed])
        labels = constrained_kmeans(
            np.concatenate([self.means, terms]),
            np.concatenate([self.sizes, np.ones(len(terms), np.int64)]),
            centres=self._centres(terms, min(task.required_k, len(terms)), random),
            order=random.permutation(len(self.means)),
        )
        for _ in choices:
            yield labels[len(self.means) :]

    def _centres(self, terms: Points, free: int, random: np.random.Generator) -> Points:
        """Where as many centres as there are training sets, and `free` more, start."""
        if self.start == "points":
            points = np.concatenate([self.means, terms])
            return points[random.choice(len(points), len(self.means) + free, replace=False)]
        from sklearn.cluster import kmeans_plusplus

        chosen, _ = kmeans_plusplus(terms, free, random_state=int(random.integers(2**32)))
        return np.concatenate([self.means, chosen])


def constrained_kmeans(
    points: Points,  # (points, dimension)
    weights: npt.NDArray[np.int64],  # (points,) how many terms a point stands for
    *,
    centres: Points,  # (clusters, dimension); at least one cluster a training set
    order: npt.NDArray[np.int64],  # a permutation of the training sets
) -> Labels:
    """The cluster of each point; the first `len(order)` points are training sets.

    A training set is one point, its mean vector: Σ |x - c|² over its terms is its weight times
    |mean - c|² plus what is the same for every centre c, so all its terms together are nearest to
    the centre that the mean is nearest to. That is every must-link at once; that no cluster takes
    two training sets is every cannot-link at once. No pairs are ever written down.

    In each round training sets go one by one, in the given order, to the nearest centre that no
    other one holds yet; other points go to their nearest centre. The order is drawn once:
    Wagstaff's walk follows the data, and the order of a file of sets may mean something. With the
    order fixed, labels depend on the centres alone, so labels that stay once stay for good. There
    is a free centre for everyone, so the walk never fails.

    Centres move to the weighted mean of their points. A cluster without points keeps its centre,
    and may find points again in a later round.
    """
    labels: Labels | None = None
    for _ in range(ROUNDS):
        moved = _assign(points, centres, order)
        if labels is not None and np.array_equal(moved, labels):
            break
        labels = moved
        centres = _means(points, weights, labels, centres)
    assert labels is not None  # noqa: S101 - there is a first round
    return labels


def _assign(points: Points, centres: Points, order: npt.NDArray[np.int64]) -> Labels:
    """One walk: the nearest centre of each point, for training sets the nearest free one."""
    labels = _nearest(points, centres)
    lengths = np.square(centres).sum(axis=1)
    held = np.zeros(len(centres), np.bool_)
    for i in order:
        if held[labels[i]]:
            scores = lengths - 2 * (centres @ points[i])
            scores[held] = np.inf
            labels[i] = _first_least(scores[None], points[i][None], lengths)[0]
        held[labels[i]] = True
    return labels


def _nearest(points: Points, centres: Points) -> Labels:
    """The nearest centre of each point by |c|² - 2 x·c = |x - c|² - |x|², in blocks."""
    labels = np.empty(len(points), np.int64)
    lengths = np.square(centres).sum(axis=1)
    turned = -2 * centres.T
    step = max(1, BLOCK // len(centres))
    for start in range(0, len(points), step):
        block = points[start : start + step]
        scores = block @ turned  # (block, clusters)
        scores += lengths
        labels[start : start + step] = _first_least(scores, block, lengths)
    return labels


def _first_least(scores: Points, points: Points, lengths: Points) -> Labels:
    """The first centre of the least score in each row, whatever the rounding of equal scores.

    Equal points then go to equal centres wherever they stand in a block. The slack lies far above
    the rounding of the scores and about where vectors of float32 numbers cannot differ any more.
    """
    least = scores.argmin(axis=1)
    slack = TIE * (np.square(points).sum(axis=1) + lengths[least])
    bars = scores[np.arange(len(scores)), least] + slack
    first: Labels = (scores <= bars[:, None]).argmax(axis=1)
    return first


def _means(
    points: Points, weights: npt.NDArray[np.int64], labels: Labels, centres: Points
) -> Points:
    """The weighted mean of each cluster; its old centre where it is empty."""
    sums = np.zeros_like(centres)
    np.add.at(sums, labels, points * weights[:, None])
    totals = np.bincount(labels, weights, minlength=len(centres))[:, None]
    return np.where(totals > 0, sums / np.maximum(totals, 1), centres)


def _vectors(views: TermViews, terms: Sequence[Term], *, unit: bool) -> Points:
    vectors = views.table("vectors").select(terms)
    # In float64, since squares of large or tiny float32 numbers are no float32 numbers.
    return (unit_rows(vectors) if unit else vectors).astype(np.float64)
