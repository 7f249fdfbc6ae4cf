"""Linkage and density clustering, k-means, and COP-KMeans with constraints."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz import distance, fuzz, process
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from synsetmine.rivals.base import (
    Choice,
    ClusteringTask,
    Floats,
    Labels,
    TrainingData,
    Unsupervised,
    grid,
)
from synsetmine.types import Term
from synsetmine.views import TermViews, View, unit_rows
from synsetmine.views.strings import plain

Link: TypeAlias = Literal["average", "complete"]
Scorer: TypeAlias = Literal["ratio", "token_sort", "jaro_winkler"]
Distances: TypeAlias = npt.NDArray[np.float64]  # (n · (n - 1) / 2,), in the order of scipy's pdist

DEFAULTS: dict[View, float] = {"vectors": 0.2, "strings": 0.35, "encoder": 0.4}
THRESHOLDS = tuple(round(0.025 * step, 3) for step in range(2, 39))  # 0.05 to 0.95
SCORERS: dict[Scorer, tuple[Any, float]] = {  # how, and what it gives to equal strings
    "ratio": (fuzz.ratio, 100),
    "token_sort": (fuzz.token_sort_ratio, 100),
    "jaro_winkler": (distance.JaroWinkler.normalized_similarity, 1),
}
_ROWS = 512  # terms whose similarities to all others are held at once


@dataclass(frozen=True, kw_only=True)
class Agglomerative(Unsupervised):
    """Terms are as far apart as one minus their cosine, or one minus how alike their strings are.

    It learns nothing: only the distance of the cut is tuned. `scorer` compares strings, each
    case-folded and with spaces for `_`: by edits (`ratio`), by edits after their words are sorted
    (`token_sort`), or by characters in common with a bonus for a common start (`jaro_winkler`).
    """

    view: View
    link: Link = "average"
    scorer: Scorer = "ratio"
    depends_on_order: ClassVar[bool] = False

    @property
    def choices(self) -> Sequence[Choice]:
        return grid("distance", THRESHOLDS, default=DEFAULTS[self.view])

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        order, distances = term_distances(task, self.view, self.scorer)
        thresholds = [choice["distance"] for choice in choices]
        for labels in cut(distances, self.link, thresholds, count=len(order)):
            yield in_given_order(labels, order)


def cut(
    condensed: npt.NDArray[np.floating[Any]],
    link: Link,
    thresholds: Sequence[float],
    *,
    count: int,
) -> Iterator[Labels]:
    """Labels for each threshold, from one tree of `count` terms.

    `condensed` holds the distance of each pair once, in the order of scipy's `pdist`. Groups are
    joined up to and with the threshold.
    """
    if len(condensed) != count * (count - 1) // 2:
        raise ValueError(f"{len(condensed)} distances between {count} terms")
    if count < 2:  # no pair, no tree
        yield from (np.zeros(count, np.int64) for _ in thresholds)
        return
    tree = linkage(condensed, method=link)
    for threshold in thresholds:
        yield fcluster(tree, threshold, criterion="distance").astype(np.int64)


def term_distances(
    task: ClusteringTask, view: View, scorer: Scorer = "ratio"
) -> tuple[npt.NDArray[np.int64], Distances]:
    """An order of the task's terms, and the distances between them in that order.

    The order is that of what the terms look like in the view, then of their surfaces. So equal
    distances are always met in the same order, and the result is the same however the terms are
    given; only what looks the same in both may change places.
    """
    surfaces = [term.surface for term in task.terms]  # a sense is a label to predict
    if view == "strings":
        strings = [plain(surface) for surface in surfaces]
        order = sorted(range(len(strings)), key=lambda i: (strings[i], surfaces[i]))
        ordered = [strings[i] for i in order]
        how, most = SCORERS[scorer]

        def likeness(start: int, stop: int) -> Floats:
            some = ordered[start:stop], ordered[start:]
            scores: Floats = process.cdist(*some, scorer=how, dtype=np.float32, workers=1)
            return scores / np.float32(most)

    else:
        rows = unit_rows(task.views.table(view).select(task.terms))  # (terms, dimension)
        order = sorted(range(len(rows)), key=lambda i: (rows[i].tobytes(), surfaces[i]))
        rows = rows[order]

        def likeness(start: int, stop: int) -> Floats:
            return rows[start:stop] @ rows[start:].T

    starts = range(0, len(order), _ROWS)
    condensed = condensed_distances((likeness(s, s + _ROWS) for s in starts), len(order))
    np.subtract(1, condensed, out=condensed)
    # A cosine may be a little over one.
    return np.array(order, np.int64), np.maximum(condensed, 0, out=condensed)


def condensed_distances(blocks: Iterable[Floats], count: int) -> Distances:
    """The values of all pairs in the order of scipy's `pdist`; the square would take twice that.

    Each block holds the next rows, from the column of its own first row on.
    """
    condensed = np.empty(count * (count - 1) // 2)
    filled = 0
    for block in blocks:
        for row, values in enumerate(block):
            rest = values[row + 1 :]
            condensed[filled : filled + len(rest)] = rest
            filled += len(rest)
    return condensed


def in_given_order(labels: Labels, order: npt.NDArray[np.int64]) -> Labels:
    """Labels of the terms as given, from those in the order of `term_distances`."""
    restored = np.empty_like(labels)
    restored[order] = labels
    return restored


SMALLEST = (2, 3)
SELECTIONS = ("eom", "leaf")
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


@dataclass(frozen=True, kw_only=True)
class Hdbscan(Unsupervised):
    """scikit-learn's HDBSCAN on the distances that agglomerative clustering takes too.

    They are given as a matrix; at 10,000 terms the peak is 2.5 GB. On rows of length one euclidean
    distances would do without n² memory, but in so many dimensions they are no faster, they cannot
    serve strings, and they put a vector of zeros nearer to every term than two unlike terms are.

    A group has at least `min_cluster_size` terms. Of the groups in the method's tree the longest
    lived are taken (`selection` is `eom`) or those at its ends (`leaf`). Terms that a chain of
    steps shorter than `epsilon` connects are not torn apart. What belongs to no group is a set of
    one.
    """

    view: View = "vectors"
    depends_on_order: ClassVar[bool] = False

    @property
    def choices(self) -> Sequence[Choice]:
        return tuple(
            {"min_cluster_size": smallest, "selection": selection, "epsilon": epsilon}
            for smallest, selection, epsilon in product(SMALLEST, SELECTIONS, EPSILONS)
        )

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        from sklearn.cluster import HDBSCAN

        order, condensed = term_distances(task, self.view)
        # squareform takes no distances at all for those of two terms
        square = squareform(condensed) if len(order) > 1 else np.zeros((len(order),) * 2)
        del condensed
        fitted: dict[tuple[int, str], Any] = {}  # the tree does not depend on epsilon
        for choice in choices:
            smallest, selection = choice["min_cluster_size"], choice["selection"]
            if len(order) < smallest:
                yield np.arange(len(order))
                continue
            if (smallest, selection) not in fitted:
                model = HDBSCAN(
                    min_cluster_size=smallest,
                    cluster_selection_method=selection,
                    metric="precomputed",
                    copy=True,  # the next choice needs the distances too
                )
                fitted[smallest, selection] = model.fit(square)
            model = fitted[smallest, selection]
            near = model.dbscan_clustering(choice["epsilon"], min_cluster_size=smallest)
            yield in_given_order(join_groups(model.labels_, near), order)


def join_groups(*groupings: Labels) -> Labels:
    """One label for all terms that any of the groupings joins; -1 is in no group.

    HDBSCAN with an epsilon is HDBSCAN, but DBSCAN at epsilon where that gives the larger groups
    (Malzer and Baum, 2020). Both cut one tree, so a group of the one is within a group of the
    other or apart from it, and joining them keeps the larger. scikit-learn's own parameter for
    it, `cluster_selection_epsilon`, raises a TypeError with numpy 2.4 (its issue 33219).
    """
    count = len(groupings[0])
    terms = [np.flatnonzero(labels >= 0) for labels in groupings]
    # Terms are nodes, and so are groups: those of the i-th grouping come after i others.
    nodes = [
        (i + 1) * count + labels[members]
        for i, (labels, members) in enumerate(zip(groupings, terms, strict=True))
    ]
    ends = (np.concatenate(terms), np.concatenate(nodes))
    size = (len(groupings) + 1) * count
    graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    return labels[:count].astype(np.int64)


STARTS = 10  # k-means ends in another optimum for each start; the tightest of these is kept


@dataclass(frozen=True, kw_only=True)
class KMeans(Unsupervised):
    """Lloyd's k-means from k-means++ centres (scikit-learn); it learns nothing from training sets.

    With `unit` the vectors are scaled to length one first: long vectors, which are those of
    frequent words, then don't get clusters of their own.
    """

    unit: bool = False
    needs_k: ClassVar[bool] = True
    choices: ClassVar[Sequence[Choice]] = ({},)

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
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
    depends_on_order: ClassVar[bool] = True  # on the seed and, by it, the order
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

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
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
