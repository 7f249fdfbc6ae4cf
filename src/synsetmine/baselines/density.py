"""HDBSCAN: sets are where terms lie densely; terms in thin places stand alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from synsetmine.baselines.base import Choice, Labels, Lesson, Problem
from synsetmine.baselines.linkage import Distances, in_given_order, term_distances
from synsetmine.views import View

SMALLEST = (2, 3)
SELECTIONS = ("eom", "leaf")
EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


@dataclass(frozen=True, kw_only=True)
class Hdbscan:
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
    told: bool = field(default=False, init=False)
    ordered: bool = field(default=False, init=False)

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    @property
    def choices(self) -> Sequence[Choice]:
        return tuple(
            {"min_cluster_size": smallest, "selection": selection, "epsilon": epsilon}
            for smallest, selection, epsilon in product(SMALLEST, SELECTIONS, EPSILONS)
        )

    def learn(self, lesson: Lesson) -> Hdbscan:  # noqa: ARG002
        return self

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        order, condensed = term_distances(problem, self.view)
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
            yield in_given_order(joined(model.labels_, near), order)


def _fit(square: Distances, smallest: int, selection: str) -> Any:
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(
        min_cluster_size=smallest,
        cluster_selection_method=selection,
        metric="precomputed",
        copy=True,  # the next choice needs the distances too
    )
    return model.fit(square)


def joined(*groupings: Labels) -> Labels:
    """One label for all terms that any of the groupings puts together; -1 is in no group.

    HDBSCAN with an epsilon is HDBSCAN, but DBSCAN at epsilon where that gives the larger groups
    (Malzer and Baum, 2020). Both cut one tree, so a group of the one lies within a group of the
    other or apart from it, and joining them keeps the larger. scikit-learn's own parameter for
    it, `cluster_selection_epsilon`, raises a TypeError with numpy 2.4 (its issue 33219).
    """
    count = len(groupings[0])
    terms = [np.flatnonzero(labels >= 0) for labels in groupings]
    # Terms are nodes, and so are groups: those of the i-th grouping stand behind i others.
    nodes = [
        (i + 1) * count + labels[members]
        for i, (labels, members) in enumerate(zip(groupings, terms, strict=True))
    ]
    ends = (np.concatenate(terms), np.concatenate(nodes))
    size = (len(groupings) + 1) * count
    graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    return labels[:count].astype(np.int64)
