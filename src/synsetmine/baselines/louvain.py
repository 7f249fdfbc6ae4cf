"""Louvain's communities in the graph of terms that are alike enough, a baseline of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from synsetmine.baselines.base import Choice, Labels, Lesson, Problem, grid
from synsetmine.baselines.graphs import cosine_graphs, louvain
from synsetmine.views import View

ALPHAS = (0.9, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.95)


@dataclass(frozen=True, kw_only=True)
class Louvain:
    """Terms meet where their cosine is above `alpha`; the communities of this graph are the sets.

    All edges weigh the same. Nothing is learned. The walk over the terms is random, by the seed.
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

    def learn(self, lesson: Lesson) -> Louvain:  # noqa: ARG002
        return self

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        for edges, _ in cosine_graphs(problem, self.view, [c["alpha"] for c in choices]):
            yield louvain(len(problem.terms), edges, seed=problem.seed)
