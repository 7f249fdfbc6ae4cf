"""A vocabulary whose pairs are judged: probabilities, ranks and sets of its terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from synsetmine.errors import quantity
from synsetmine.models.general.linkage import (
    Linkage,
    SetFunction,
    blocks,
    decisions,
    sigmoid,
    within_types,
)
from synsetmine.models.known import KNOWN_THRESHOLD, KnownSets
from synsetmine.models.task import (
    MiningResult,
    Outcome,
    Task,
    TermIndex,
    joins,
    log_odds,
    with_known,
)
from synsetmine.types import (
    Progress,
    SetsLike,
    Term,
    TermLike,
    pairs_of,
    terms_of,
)


class PreparedNames:
    """The general model over a vocabulary: the probabilities of all pairs that are near."""

    def __init__(
        self,
        vocabulary: tuple[Term, ...],
        terms: tuple[Term, ...],  # those that the model can judge, sorted
        graph: Any,
        function: SetFunction,
        known: KnownSets | None = None,
        two_things: Sequence[tuple[Term, Term]] = (),  # pairs that no group holds
    ) -> None:
        self._vocabulary = vocabulary
        self._known = known
        self._two_things = two_things
        self._index = TermIndex(terms)
        self._graph = graph  # probabilities, symmetric
        self._function = function

    def __repr__(self) -> str:
        return f"PreparedNames({quantity(len(self.terms), 'term')})"

    @property
    def terms(self) -> tuple[Term, ...]:
        known = self._known.sets.terms if self._known is not None else ()
        return (*self._index.terms, *known)

    def probabilities(self, members: Iterable[TermLike], terms: Iterable[TermLike]) -> list[float]:
        """f(S, t) of each term t; a term that is itself a member is judged by the others.

        A set that holds names of a known one, or a name that joined one, is judged as that one.
        """
        members, terms = terms_of(members), terms_of(terms)
        if self._known is None:
            return self._among_new(members, terms)
        self._index.positions(t for t in (*members, *terms) if t not in self._known.sets)
        return self._known.probabilities(members, terms, partial(self._among_new, members))

    def _among_new(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]:
        logits = self._logits(self._index.members(members), self._index.positions(terms))
        return [float(value) for value in sigmoid(logits)]

    def rank(self, members: Iterable[TermLike], *, top: int = 10) -> list[tuple[Term, float]]:
        """The best terms without the members; with known sets, none of probability 0."""
        members, known = terms_of(members), self._known
        near = [] if known is None else known.near_terms(members)
        ranked = [*zip(near, self.probabilities(members, near), strict=True)] if near else []
        if known is None or not known.home(members)[0]:
            positions = self._rankable(self._index.members(members), top)
            values = sigmoid(self._logits(self._index.members(members), positions))
            ranked += self._index.best(values, members, top, positions)
        ranked = [pair for pair in ranked if known is None or pair[1] > 0]
        return sorted(ranked, key=lambda pair: -pair[1])[: max(top, 0)]

    def near_pairs(self, threshold: float, *, top: int = 100) -> list[tuple[Term, Term, float]]:
        """The pairs of terms whose probability is nearest to the threshold, nearest first."""
        nearest = []  # of each block of rows
        for start, stop in blocks(len(self._index.terms)):
            part = self._graph[start:stop].tocoo()
            upper = part.row + start < part.col
            rows, columns = part.row[upper] + start, part.col[upper]
            logits = self._function.logits(part.data[upper].astype(np.float64), 1)
            values = sigmoid(logits)
            order = np.lexsort((columns, rows, np.abs(values - threshold)))[: max(top, 0)]
            nearest += [(int(rows[i]), int(columns[i]), float(values[i])) for i in order]
        nearest.sort(key=lambda pair: (abs(pair[2] - threshold), *pair[:2]))
        return [
            (self._index.terms[one], self._index.terms[other], value)
            for one, other, value in nearest[: max(top, 0)]
        ]

    def generate(
        self,
        *,
        threshold: float = 0.5,
        known_threshold: float = KNOWN_THRESHOLD,
        seeds: SetsLike | None = None,
        cannot_link: Iterable[tuple[TermLike, TermLike]] = (),
        max_sets: int | None = None,
        order: Iterable[TermLike] | None = None,
        must_link: Iterable[tuple[TermLike, TermLike]] = (),
        types: Mapping[Term, str] | None = None,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> MiningResult:
        """See `PreparedModel`. Terms of different `types` never share a set."""
        new_task = partial(Task.of, known=self._index, sort=True, threshold=threshold)
        order = self._vocabulary if order is None else terms_of(order)
        cannot_link = pairs_of(cannot_link)
        if self._known is None:
            return self._group(
                new_task(
                    order,
                    seeds=seeds,
                    cannot_link=[*cannot_link, *self._two_things],
                    max_sets=max_sets,
                    must_link=must_link,
                    types=types,
                )
            )
        pairs = {frozenset(pair) for pair in cannot_link}
        joined = joins(self._known, self._vocabulary, pairs, known_threshold)
        known = self._known.sets
        rest = [t for t in order if t not in joined and t not in known]
        apart = [pair for pair in cannot_link if {*pair} <= {*rest}]
        limit = None if max_sets is None else max(max_sets - len(known), 1)
        task = new_task(rest, cannot_link=[*apart, *self._two_things], max_sets=limit)
        return with_known(self._group(task), self._known, joined, order)

    def _group(self, task: Task) -> MiningResult:
        """Merge the terms, and seeds that are in the vocabulary, by the pairs' probabilities."""
        graph = self._graph
        if task.terms != self._index.terms:
            rows = self._index.positions(task.terms)
            graph = graph[rows][:, rows]
        if task.types:
            graph = within_types(graph, np.asarray(task.types))
        linkage = Linkage(
            graph,
            self._function,
            seeds=task.seeds,
            cannot_link=task.cannot_link,
            must_link=task.must_link,
            types=task.types,
        )
        linkage.merge(log_odds(task.threshold), task.max_sets)
        members = [m for number, m in enumerate(linkage.members) if m or number < linkage.seeds]
        return task.collect(Outcome(members, decisions(graph, task, members, self._function)))

    def _rankable(self, members: npt.NDArray[np.int64], top: int) -> npt.NDArray[np.int64]:
        """The terms that may be the best ones: those near a member, and the first of the others.

        The others all have the same probability, so that their order decides.
        """
        near = np.unique(self._graph[members].indices)
        enough = len(near) + len(members) + max(top, 0)
        return np.union1d(near, np.arange(min(enough, len(self._index.terms))))

    def _logits(
        self, members: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """The logit of f(members without t, t) of the terms t at these positions."""
        rows = self._graph[members]
        totals = np.bincount(rows.indices, rows.data, len(self._index.terms))[positions]
        logits = self._function.logits(totals, len(members))
        own = np.isin(positions, members)
        if len(members) == 1:
            logits[own] = -np.inf  # nothing is left to judge it by
        else:
            logits[own] = self._function.logits(totals[own], len(members) - 1)
        return logits
