"""Fast community detection, as sentence-transformers does it: balls around terms, largest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from synsetmine.baselines.base import Choice, Labels, Lesson, Problem, grid
from synsetmine.baselines.graphs import Graph, adjacency, cosine_graphs
from synsetmine.views import View

THRESHOLDS = (0.85, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95)


@dataclass(frozen=True, kw_only=True)
class CommunityDetection:
    """All terms with cosine ≥ `threshold` to a centre are a set. Nothing is learned."""

    view: View = "vectors"
    told: bool = field(default=False, init=False)
    ordered: bool = field(default=True, init=False)  # of balls of one size the earlier comes first
    choices: Sequence[Choice] = field(
        default=grid("threshold", THRESHOLDS), init=False, repr=False, compare=False
    )

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    def learn(self, lesson: Lesson) -> CommunityDetection:  # noqa: ARG002
        return self

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        # Above the next smaller number is "at least".
        least = [np.nextafter(np.float32(c["threshold"]), np.float32(-np.inf)) for c in choices]
        for graph in cosine_graphs(problem, self.view, [float(bar) for bar in least]):
            yield take_balls(adjacency(len(problem.terms), *graph))


def take_balls(graph: Graph) -> Labels:
    """Give the terms to balls, a term with its neighbours, the largest ball first.

    A ball whose centre is taken already is left out; the others keep what is free of them. A set
    has at least two terms in sentence-transformers' words, which is no condition here: a term
    that no ball takes stands alone. A label is the centre of its ball.
    """
    sizes = np.diff(graph.indptr)
    labels = np.arange(len(sizes))
    free = np.ones(len(sizes), dtype=np.bool_)
    for centre in np.argsort(-sizes, kind="stable"):
        if not free[centre]:
            continue
        neighbours = graph.indices[graph.indptr[centre] : graph.indptr[centre + 1]]
        left = neighbours[free[neighbours]]
        labels[left] = centre
        free[left] = free[centre] = False
    return labels
