"""Worlds of sets that stay whole and apart, and COP-Kmeans in them the naive way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from synsetmine.rivals import linkage as copkmeans
from synsetmine.rivals.base import Labels
from synsetmine.rivals.linkage import (
    Points,
    constrained_kmeans,
)

Pair = tuple[int, int]


@dataclass(frozen=True)
class World:
    """Training sets, test terms and where centres start."""

    terms: Points  # (training and test terms, dimension), set by set
    sizes: list[int]  # of the training sets
    order: list[int]  # in which training sets walk
    starts: list[int]  # the points at which centres start

    @property
    def groups(self) -> list[list[int]]:
        """The terms of each point: of the training sets, then test terms one by one."""
        ends = np.cumsum(self.sizes, dtype=np.int64).tolist()
        training = [list(range(e - n, e)) for n, e in zip(self.sizes, ends, strict=True)]
        return training + [[i] for i in range(sum(self.sizes), len(self.terms))]

    @property
    def points(self) -> Points:
        return np.array([self.terms[group].mean(axis=0) for group in self.groups])

    @property
    def weights(self) -> Labels:
        return np.array([len(group) for group in self.groups], np.int64)

    @property
    def must(self) -> list[Pair]:
        return [pair for group in self.groups for pair in combinations(group, 2)]

    @property
    def cannot(self) -> list[Pair]:
        training = self.groups[: len(self.sizes)]
        return [(a, b) for one, other in combinations(training, 2) for a in one for b in other]

    def clusters(self) -> Labels:
        """The cluster of each term, by the fast way."""
        labels = constrained_kmeans(
            self.points,
            self.weights,
            order=np.array(self.order, np.int64),
            centres=self.points[self.starts],
        )
        return np.repeat(labels, self.weights)

    def naive_clusters(self, rounds: int = copkmeans.ROUNDS) -> list[int]:
        """The cluster of each term, by the reference."""
        walk = [self.groups[i][0] for i in [*self.order, *self.free]]
        centres = self.points[self.starts]
        return reference(
            self.terms, self.must, self.cannot, order=walk, centres=centres, rounds=rounds
        )

    @property
    def free(self) -> list[int]:
        return list(range(len(self.sizes), len(self.groups)))


@st.composite
def worlds(draw: st.DrawFn, *, largest: int = 5) -> World:
    """Terms on a small grid, with many ties and equal points, or anywhere."""
    sizes = draw(st.lists(st.integers(1, 3), max_size=largest))
    tests = draw(st.integers(1, largest))
    dimension = draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (sum(sizes) + tests, dimension)
    terms = random.normal(size=shape)
    if draw(st.booleans()):
        terms = random.integers(-1, 2, size=shape).astype(np.float64)
    points = len(sizes) + tests
    k = draw(st.integers(len(sizes) + 1, points))
    starts = draw(st.permutations(range(points)))[:k]
    return World(terms, sizes, draw(st.permutations(range(len(sizes)))), starts)


def reference(
    terms: Points,
    must: Sequence[Pair],
    cannot: Sequence[Pair],
    *,
    order: Sequence[int],
    centres: Points,
    rounds: int,
) -> list[int]:
    """COP-Kmeans with pairs of terms: `order` names one term of each group that must be together.

    As in the paper the must-links are closed first: a whole group goes to the centre to which the
    squares of its terms' distances sum up least, and tries the next one where a link forbids it.
    """
    centres = centres.copy()
    clusters = range(len(centres))
    before: list[int | None] = []
    for _ in range(rounds):
        labels: list[int | None] = [None] * len(terms)
        for first in order:
            group = closure(first, must)
            costs = [sum(distance(terms[i], centre) for i in group) for centre in centres]
            for cluster in nearest_first(costs):
                if not any(violates(i, cluster, labels, group, must, cannot) for i in group):
                    for i in group:
                        labels[i] = cluster
                    break
        if labels == before:
            break
        before = labels
        for cluster in clusters:
            members = [terms[i] for i, label in enumerate(labels) if label == cluster]
            if members:
                centres[cluster] = sum(members) / len(members)
    assert None not in before
    return [label for label in before if label is not None]


def violates(
    term: int,
    cluster: int,
    labels: Sequence[int | None],
    group: Sequence[int],
    must: Sequence[Pair],
    cannot: Sequence[Pair],
) -> bool:
    """Whether a term may not join a cluster, given where the others are already."""
    for one, other in (*must, *[(b, a) for a, b in must]):
        if one == term and other not in group and labels[other] != cluster:
            return True
    for one, other in (*cannot, *[(b, a) for a, b in cannot]):
        if one == term and labels[other] == cluster:
            return True
    return False


def closure(first: int, must: Sequence[Pair]) -> list[int]:
    """All terms that must-links tie to this one."""
    group = [first]
    for term in group:
        tied = [b if a == term else a for a, b in must if term in (a, b)]
        group += [other for other in dict.fromkeys(tied) if other not in group]
    return group


def distance(point: Points, centre: Points) -> float:
    return float(np.square(point - centre).sum())


def nearest_first(costs: Sequence[float]) -> list[int]:
    """Clusters by cost; of costs that differ by rounding only the first cluster comes first."""
    left = list(range(len(costs)))
    ranked: list[int] = []
    while left:
        least = min(costs[cluster] for cluster in left)
        ranked.append(next(c for c in left if costs[c] <= least + 1e-9))
        left.remove(ranked[-1])
    return ranked
