"""Linkage and density clustering."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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

from synsetmine.rivals.base import Choice, Floats, Labels, Task, Unsupervised, grid
from synsetmine.views import View, unit_rows
from synsetmine.views.strings import plain

Link: TypeAlias = Literal["average", "complete"]
Scorer: TypeAlias = Literal["ratio", "token_sort", "jaro_winkler"]
Distances: TypeAlias = npt.NDArray[np.float64]  # (n · (n - 1) / 2,), in the order of scipy's pdist

DEFAULTS: dict[View, float] = {"vectors": 0.2, "strings": 0.35, "encoder": 0.4}
THRESHOLDS = tuple(round(0.025 * step, 3) for step in range(2, 39))  # 0.05 to 0.95
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
    ordered: ClassVar[bool] = False

    @property
    def choices(self) -> Sequence[Choice]:
        default = DEFAULTS[self.view]
        return grid("distance", [default, *(t for t in THRESHOLDS if t != default)])

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
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
    task: Task, view: View, scorer: Scorer = "ratio"
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
        likeness = _string_likeness([strings[i] for i in order], scorer)
    else:
        rows = unit_rows(task.views.table(view).select(task.terms))  # (terms, dimension)
        order = sorted(range(len(rows)), key=lambda i: (rows[i].tobytes(), surfaces[i]))
        likeness = _cosines(rows[order])
    return np.array(order, np.int64), _distances(likeness, len(order))


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


Likeness: TypeAlias = Callable[[int, int], Floats]  # terms start to stop, with all from start on


def _cosines(rows: Floats) -> Likeness:
    return lambda start, stop: rows[start:stop] @ rows[start:].T


def _string_likeness(strings: Sequence[str], scorer: Scorer) -> Likeness:
    compare: dict[Scorer, tuple[Any, float]] = {  # how, and what it gives to equal strings
        "ratio": (fuzz.ratio, 100),
        "token_sort": (fuzz.token_sort_ratio, 100),
        "jaro_winkler": (distance.JaroWinkler.normalized_similarity, 1),
    }
    how, most = compare[scorer]

    def likeness(start: int, stop: int) -> Floats:
        some, rest = strings[start:stop], strings[start:]
        scores: Floats = process.cdist(some, rest, scorer=how, dtype=np.float32, workers=1)
        return scores / np.float32(most)

    return likeness


def _distances(likeness: Likeness, count: int) -> Distances:
    """One minus the likeness of each pair."""
    starts = range(0, count, _ROWS)
    condensed = condensed_distances((likeness(s, min(s + _ROWS, count)) for s in starts), count)
    np.subtract(1, condensed, out=condensed)
    return np.maximum(condensed, 0, out=condensed)  # a cosine may be a little over one


SMALLEST = (2, 3)
SELECTIONS = ("eom", "leaf")
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


@dataclass(frozen=True, kw_only=True)
class Hdbscan(Unsupervised):
    """scikit-learn's HDBSCAN on the distances that agglomerative clustering takes too.

    They are given as a matrix (one minus the cosine, or one minus how alike strings are). On rows
    of length one, euclidean distances would do without n² memory, but in so many dimensions they
    are no faster, they cannot serve strings, and they put a vector of zeros nearer to every term
    than two unlike terms are to each other. At 10,000 terms the peak is 2.5 GB.

    A group has at least `min_cluster_size` terms. Of the groups in the method's tree the longest
    lived are taken (`selection` is `eom`) or those at its ends (`leaf`). Terms that a chain of
    steps shorter than `epsilon` connects are not torn apart. What belongs to no group is a set of
    one.
    """

    view: View = "vectors"
    ordered: ClassVar[bool] = False

    @property
    def choices(self) -> Sequence[Choice]:
        return tuple(
            {"min_cluster_size": smallest, "selection": selection, "epsilon": epsilon}
            for smallest, selection, epsilon in product(SMALLEST, SELECTIONS, EPSILONS)
        )

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
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
                fitted[smallest, selection] = _fit(square, smallest, selection)
            model = fitted[smallest, selection]
            near = model.dbscan_clustering(choice["epsilon"], min_cluster_size=smallest)
            yield in_given_order(join_groups(model.labels_, near), order)


def _fit(square: Distances, smallest: int, selection: str) -> Any:
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(
        min_cluster_size=smallest,
        cluster_selection_method=selection,
        metric="precomputed",
        copy=True,  # the next choice needs the distances too
    )
    return model.fit(square)


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
