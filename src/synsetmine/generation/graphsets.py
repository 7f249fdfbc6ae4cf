"""Set generation on a graph of odds: the most certain first, then moves until nothing changes.

The weight of an edge is the odds that two terms are synonyms; pairs without an edge count as
odds 0. How well a term fits a set, or a set another, is the mean of the odds between them, on a
log scale, so that they have to be alike as a whole but need not be alike in every single pair.
Sums are all that is kept, so the work grows with the edges and no faster.

Two sets of several terms each need more to become one than a term needs to join a set: what is
said by many pairs, and is not much, counts against them.

Nothing here hangs on the order of the vocabulary but the choice among equals.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

PASSES = 10  # at most; two or three are usual
RELUCTANCE = 0.5  # how the odds that two sets need grow: with this power of the smaller one's size


class GraphSets:
    """Sets of the terms of a graph, which are its rows; seeds are known sets, the first ones.

    Each term starts as a set of its own. `bar` is the log of the mean odds that two sets need to
    become one, or that a term needs to be in a set. Terms that are to stay `apart` never come
    together, whatever their odds; nor do sets that hold such a pair between them.
    """

    def __init__(
        self,
        graph: Any,  # scipy.sparse.csr_array of odds (terms, terms), symmetric, no diagonal
        order: Sequence[int],
        bar: float,
        *,
        seeds: Sequence[Sequence[int]] = (),
        apart: Sequence[tuple[int, int]] = (),
        max_sets: float = math.inf,
    ) -> None:
        self.bar = bar
        self.max_sets = max_sets
        self.order = order
        self.set_of: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        self._graph = graph
        self._ends = graph.indptr.tolist()
        self._seeds = len(seeds)
        self._apart: dict[int, list[int]] = {}
        for one, other in apart:
            self._apart.setdefault(one, []).append(other)
            self._apart.setdefault(other, []).append(one)
        self._opened = 0
        for terms in (*seeds, *([term] for term in order)):
            self._open(terms)

    def best(self, term: int) -> tuple[int, float]:
        """The set that a term fits best but for itself, and its log mean odds: (-1, -inf): none."""
        home = self.set_of.get(term, -1)
        best, fit = -1, -math.inf
        for number, total in self._sums(term).items():
            size = len(self.members[number]) - (number == home)
            if size == 0 or total <= 0:
                continue
            found = math.log(total / size)
            # The set opened first among equals, but nobody leaves home for an equal.
            if found > fit or (found == fit and (number == home or (best != home < number < best))):
                best, fit = number, found
        return best, fit

    def merge(self) -> int:
        """Join the two sets that fit best, again and again; how many were joined.

        Two seeds never are, nor two that must stay apart. Beyond the largest number of sets, those
        are joined too that do not pass the bar, but never two that have no edge.
        """
        bar = math.exp(min(self.bar, 700.0))
        least = bar if self.max_sets == math.inf else 0.0  # what need not be looked at
        refused = self._refused()
        between = self._between(refused)
        fits = (
            (self._fit_of(a, b, total), a, b)
            for a, others in between.items()
            for b, total in others.items()
            if a < b
        )
        heap = [(-fit, a, b) for fit, a, b in fits if fit > least]
        heapq.heapify(heap)
        merged = 0
        while heap and (-heap[0][0] > bar or len(self.members) > self.max_sets):
            fit, a, b = heapq.heappop(heap)
            if b not in between.get(a, ()) or -self._fit_of(a, b, between[a][b]) != fit:
                continue  # one of them has changed since, and a newer entry tells
            for term in self.members.pop(b):
                self._join(term, a)
            merged += 1
            for other, total in _absorb(between, refused, a, b, seeds=self._seeds).items():
                if (fit := self._fit_of(a, other, total)) > least:
                    heapq.heappush(heap, (-fit, min(a, other), max(a, other)))
        return merged

    def move(self) -> int:
        """Let each term go where it fits better, or be alone; how many have moved."""
        moved = 0
        for term in self.order:
            home = self.set_of[term]
            best, fit = self.best(term)
            if fit > self.bar:
                if best != home:
                    self._leave(term)
                    self._join(term, best)
                    moved += 1
            elif len(self.members[home]) > 1 and len(self.members) < self.max_sets:
                self._leave(term)
                self._open([term])
                moved += 1
        return moved

    def settle(self) -> None:
        """Merge and move until nothing changes."""
        for _ in range(PASSES):
            merged = self.merge()
            if not self.move() and not merged:
                break

    def _fit_of(self, a: int, b: int, total: float) -> float:
        """How well two sets fit: their mean odds, of which `total` is the sum, less reluctance."""
        smaller, larger = sorted((len(self.members[a]), len(self.members[b])))
        return total / (smaller * larger * math.pow(smaller, RELUCTANCE))

    def _refused(self) -> dict[int, set[int]]:
        """The sets that each set must not merge with."""
        found: dict[int, set[int]] = {}
        for term, others in self._apart.items():
            home = self.set_of[term]
            if elsewhere := {self.set_of[other] for other in others} - {home}:  # a seed has both
                found.setdefault(home, set()).update(elsewhere)
        return found

    def _between(self, refused: Mapping[int, Set[int]]) -> dict[int, dict[int, float]]:
        """The sums of odds between sets that may merge: two seeds never do."""
        numbers = np.full(self._graph.shape[0], -1, np.int64)
        for term, number in self.set_of.items():
            numbers[term] = number
        rows = np.repeat(numbers, np.diff(self._graph.indptr))
        columns = numbers[self._graph.indices]
        apart = (rows >= 0) & (columns >= 0) & (rows != columns)
        apart &= (rows >= self._seeds) | (columns >= self._seeds)
        keys = rows[apart] * (self._opened + 1) + columns[apart]
        distinct, position = np.unique(keys, return_inverse=True)
        totals = np.bincount(position, self._graph.data[apart])
        found: dict[int, dict[int, float]] = {number: {} for number in self.members}
        firsts, seconds = np.divmod(distinct, self._opened + 1)
        for a, b, total in zip(firsts.tolist(), seconds.tolist(), totals.tolist(), strict=True):
            found[a][b] = total
        for a, others in refused.items():
            for b in others:
                found[a].pop(b, None)
        return found

    def _sums(self, term: int) -> dict[int, float]:
        """The sum of a term's odds with each set that it has an edge to and may be in."""
        part = slice(self._ends[term], self._ends[term + 1])
        found: dict[int, float] = {}
        others, odds = self._graph.indices[part].tolist(), self._graph.data[part].tolist()
        for other, value in zip(others, odds, strict=True):
            number = self.set_of.get(other)
            if number is not None:
                found[number] = found.get(number, 0.0) + value
        for other in self._apart.get(term, ()):
            found.pop(self.set_of[other], None)
        return found

    def _open(self, terms: Sequence[int]) -> None:
        self.members[self._opened] = list(terms)
        self.set_of.update(dict.fromkeys(terms, self._opened))
        self._opened += 1

    def _join(self, term: int, number: int) -> None:
        self.members[number].append(term)
        self.set_of[term] = number

    def _leave(self, term: int) -> None:
        number = self.set_of.pop(term)
        self.members[number].remove(term)
        if not self.members[number]:
            del self.members[number]


def _absorb(
    between: dict[int, dict[int, float]],
    refused: dict[int, set[int]],
    a: int,
    b: int,
    *,
    seeds: int,
) -> dict[int, float]:
    """Add the sums of set b to those of set a; gives the sums of a."""
    theirs, ours = between.pop(b), between[a]
    del ours[b], theirs[a]
    for other, value in theirs.items():
        del between[other][b]
        if a >= seeds or other >= seeds:
            ours[other] = ours.get(other, 0.0) + value
    if a in refused or b in refused:  # what must not be with one of them now refuses both
        enemies = refused.setdefault(a, set())
        enemies |= refused.pop(b, set())
        for other in enemies:
            refused[other].discard(b)
            refused[other].add(a)
            ours.pop(other, None)
            between[other].pop(a, None)
    for other, value in ours.items():
        between[other][a] = value
    return ours
