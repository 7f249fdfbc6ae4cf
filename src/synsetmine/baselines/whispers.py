"""Chinese whispers: each term takes the label that most of its neighbourhood has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from synsetmine.baselines.base import Choice, Labels, Lesson, Problem, grid
from synsetmine.baselines.graphs import Graph, adjacency, cosine_graphs
from synsetmine.views import View

ALPHAS = (0.85, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95)
PASSES = 100


@dataclass(frozen=True, kw_only=True)
class ChineseWhispers:
    """Chinese whispers (Biemann 2006) where two terms meet if their cosine is above `alpha`.

    An edge weighs as much as its cosine. Nothing is learned.
    """

    view: View = "vectors"
    told: bool = field(default=False, init=False)
    ordered: bool = field(default=True, init=False)
    choices: Sequence[Choice] = field(
        default=grid("alpha", ALPHAS), init=False, repr=False, compare=False
    )

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    def learn(self, lesson: Lesson) -> ChineseWhispers:  # noqa: ARG002
        return self

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        for graph in cosine_graphs(problem, self.view, [c["alpha"] for c in choices]):
            yield whisper(adjacency(len(problem.terms), *graph), seed=problem.seed)


def whisper(graph: Graph, *, seed: int, passes: int = PASSES) -> Labels:
    """Labels when no term would change its own any more, or after so many passes.

    At first each term has its own. A pass walks the terms in random order; each takes the label
    with the largest sum of weights among its neighbours, of equal ones the lowest. So every step
    raises the weight inside of sets, or keeps it and lowers a label: the walk comes to an end.
    """
    random = np.random.default_rng([seed])
    labels = np.arange(graph.shape[0])
    # A term whose neighbours are as they were at its last turn would choose the same again.
    stale = np.diff(graph.indptr) > 0
    for _ in range(passes):
        for term in random.permutation(len(labels)):
            if not stale[term]:
                continue
            stale[term] = False
            row = slice(graph.indptr[term], graph.indptr[term + 1])
            neighbours = graph.indices[row]
            heard, places = np.unique(labels[neighbours], return_inverse=True)
            loudest = heard[np.bincount(places, graph.data[row]).argmax()]
            if loudest != labels[term]:
                labels[term] = loudest
                stale[neighbours] = True
        if not stale.any():
            break
    return labels
