"""Average linkage over the probabilities of pairs, and the graph of near pairs."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError, ModelError
from synsetmine.io.sets import Action
from synsetmine.models.general.features import Positions, pair_keys
from synsetmine.models.task import Task, log_odds
from synsetmine.types import Progress

Numbers: TypeAlias = npt.NDArray[np.int64]
Totals: TypeAlias = npt.NDArray[np.float64]
Entry: TypeAlias = tuple[float, int, int, int, int]  # -logit, two sets, their sizes

LARGEST = 1e6  # bias and scale of a set function
LEAST, MOST = 1e-3, 1 - 1e-4  # probabilities of pairs, and their means, are kept within these
ROWS = 1 << 17  # of the graph that are looked at, at a time


@dataclass(frozen=True)
class SetFunction:
    """logit f(A, B) = bias + scale · logit(mean probability of the pairs between A and B)."""

    bias: float
    scale: float

    def __post_init__(self) -> None:
        if not (abs(self.bias) <= LARGEST and abs(self.scale) <= LARGEST):  # NaN is no number
            raise ModelError(f"bias and scale of the set function are at most {LARGEST:g}: {self}")

    def logits(self, totals: npt.NDArray[Any], pairs: int | Numbers) -> Totals:
        """From the sums of the probabilities, and the numbers of pairs."""
        means = np.clip(totals / pairs, LEAST, MOST)
        logits: Totals = self.bias + self.scale * np.log(means / (1 - means))
        return logits


class Linkage:
    """Sets that are merged, the two with the highest f first, while f is above a threshold.

    Positions count the rows of `graph`, a symmetric scipy.sparse.csr_array of probabilities. The
    sets of `seeds` are there from the start, and the pairs of `must_link` are in one set. Two sets
    that hold a pair of `cannot_link` are never merged, nor are two seeds, nor two sets of different
    `types`; -1 is an unknown type, and a set takes the type of any of its members.

    A single term needs no sums of its own: they are its row of the graph. A set that was merged
    keeps the sums to its neighbours of that time, each under the position of one member, by which
    the set that it belongs to later is looked up. So merging changes no other set's sums.
    """

    def __init__(
        self,
        graph: Any,
        function: SetFunction,
        *,
        seeds: Sequence[Sequence[int]] = (),
        cannot_link: Sequence[tuple[int, int]] = (),
        must_link: Sequence[tuple[int, int]] = (),
        types: Sequence[int] = (),  # of each position; none: all unknown
    ) -> None:
        self.function = function
        self._graph = graph
        self.set_of = np.full(graph.shape[0], -1, np.int64)
        self.members: list[list[int]] = []
        for seed in seeds:
            self.set_of[list(seed)] = len(self.members)
            self.members.append(list(seed))
        self.seeds = len(self.members)
        single = np.flatnonzero(self.set_of < 0)
        self.set_of[single] = self.seeds + np.arange(len(single))
        self.members += [[position] for position in single.tolist()]
        self._sizes = np.array([len(members) for members in self.members], np.int64)
        self._sums: dict[int, tuple[Numbers, Totals]] = {}  # of sets that were merged
        self._cannot_link: dict[int, set[int]] = {}
        for one, other in cannot_link:
            a, b = int(self.set_of[one]), int(self.set_of[other])
            if a != b:
                self._cannot_link.setdefault(a, set()).add(b)
                self._cannot_link.setdefault(b, set()).add(a)
        self._types = np.full(len(self.members), -1, np.int64)  # of each set
        if len(types):
            np.maximum.at(self._types, self.set_of, np.asarray(types))
        for one, other in must_link:
            a, b = int(self.set_of[one]), int(self.set_of[other])
            if a != b and not self._is_barred(a, b):
                self._join(a, b)

    def merge(self, threshold: float, max_sets: float = math.inf) -> None:
        """Merge while the logit of f is above `threshold`, or while there are too many sets."""
        left = sum(map(bool, self.members))
        lowest = threshold if left <= max_sets else -math.inf
        heap = [*self._pairs_of_terms(lowest), *self._pairs_of_sets(lowest)]
        heapq.heapify(heap)
        while heap:
            negative, one, other, size, other_size = heapq.heappop(heap)
            if len(self.members[one]) != size or len(self.members[other]) != other_size:
                continue  # one of the two has grown or is gone
            if -negative <= threshold and left <= max_sets:
                break
            if self._is_barred(one, other):
                continue
            for entry in self._entries(self._join(one, other), lowest):
                heapq.heappush(heap, entry)
            left -= 1
        if left > max_sets:
            self._merge_far_sets(left, max_sets)

    def _is_barred(self, one: int, other: int) -> bool:
        types = self._types[one], self._types[other]
        return (
            other in self._cannot_link.get(one, ())
            or max(one, other) < self.seeds
            or (types[0] != types[1] and min(types) >= 0)
        )

    def _pairs_of_terms(self, lowest: float) -> Iterator[Entry]:
        """The pairs of single terms whose logit is above `lowest`."""
        indptr, indices, data = self._graph.indptr, self._graph.indices, self._graph.data
        for start in range(0, self._graph.shape[0], ROWS):
            ends = indptr[start : start + ROWS + 1]
            part = slice(ends[0], ends[-1])
            one = self.set_of[np.repeat(np.arange(start, start + len(ends) - 1), np.diff(ends))]
            other = self.set_of[indices[part]]
            logits = self.function.logits(data[part].astype(np.float64), 1)
            single = (self._sizes[one] == 1) & (self._sizes[other] == 1)
            kept = (logits > lowest) & (one < other) & (one >= self.seeds) & single
            yield from zip(
                (-logits[kept]).tolist(),
                one[kept].tolist(),
                other[kept].tolist(),
                repeat(1),
                repeat(1),
            )

    def _pairs_of_sets(self, lowest: float) -> Iterator[Entry]:
        """The pairs of seeds, and of sets that were joined from the start."""
        for number in range(self.seeds):
            if number not in self._sums:
                self._sums[number] = self._sums_of(number)
        for number in list(self._sums):
            yield from self._entries(number, lowest)

    def _entries(self, number: int, lowest: float) -> Iterator[Entry]:
        """A set with each of its neighbours, if the logit is above `lowest`."""
        positions, sums = self._sums[number]
        neighbours = self.set_of[positions]
        pairs = len(self.members[number]) * self._sizes[neighbours]
        logits = self.function.logits(sums, pairs)
        kept = np.flatnonzero(logits > lowest)
        for logit, other in zip(logits[kept].tolist(), neighbours[kept].tolist(), strict=True):
            one, two = (number, other) if number < other else (other, number)
            yield -logit, one, two, len(self.members[one]), len(self.members[two])

    def _join(self, one: int, other: int) -> int:
        """Put the members of both into one set; a seed stays, else the one with more neighbours."""
        parts = self._stored_sums(one), self._stored_sums(other)
        neighbours = [len(set(self.set_of[positions].tolist())) for positions, _ in parts]
        if other < self.seeds or (one >= self.seeds and neighbours[0] < neighbours[1]):
            one, other = other, one
        self.set_of[self.members[other]] = one
        self.members[one] += self.members[other]
        self._sizes[one], self._sizes[other] = len(self.members[one]), 0
        self._types[one] = max(self._types[one], self._types[other])
        self.members[other] = []
        self._sums.pop(other, None)
        self._sums[one] = self._by_set(
            one, *(np.concatenate(columns) for columns in zip(*parts, strict=True))
        )
        barred = self._cannot_link.pop(other, set())
        for number in barred:
            self._cannot_link[number].discard(other)
            self._cannot_link[number].add(one)
        if barred:
            self._cannot_link.setdefault(one, set()).update(barred)
        return one

    def _stored_sums(self, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Positions outside the set, perhaps several of one other set, and the sums to them."""
        if number in self._sums:
            return self._sums[number]
        if number < self.seeds:  # joined before the seeds have sums
            return self._sums_of(number)
        (position,) = self.members[number]
        row = slice(self._graph.indptr[position], self._graph.indptr[position + 1])
        return self._graph.indices[row], self._graph.data[row]

    def _sums_of(self, number: int) -> tuple[Numbers, Totals]:
        rows = self._graph[self.members[number]]
        return self._by_set(number, rows.indices, rows.data)

    def _by_set(
        self, number: int, positions: npt.NDArray[Any], sums: npt.NDArray[Any]
    ) -> tuple[Numbers, Totals]:
        """One position of each other set, and the sum of what its positions have."""
        sets = self.set_of[positions]
        order = sets.argsort(kind="stable")
        sets = sets[order]
        first = np.ones(len(sets), np.bool_)
        first[1:] = sets[1:] != sets[:-1]
        (starts,) = first.nonzero()
        outside = sets[starts] != number
        totals = np.add.reduceat(sums[order].astype(np.float64), starts) if len(sets) else sums
        return positions[order[starts]][outside].astype(np.int64), totals[outside]

    def _merge_far_sets(self, left: int, max_sets: float) -> None:
        """Merge sets that have nothing in common, while there are too many: the last ones first."""
        sets = [number for number, members in enumerate(self.members) if members]
        for one in reversed(sets):
            for other in sets:
                if left <= max_sets or other >= one:
                    break
                if not self._is_barred(one, other):
                    self._join(other, one)
                    left -= 1
                    break


LogOdds: TypeAlias = npt.NDArray[np.float32]
# The log-odds of the pairs left[i], right[i].
Compare: TypeAlias = Callable[[Positions, Positions, Progress | None], LogOdds]

GRAPH_ROWS = 1 << 16  # of the graph that are looked at, at a time
STEPS = 1 << 24  # from name to name to name that are looked at, at a time
# Pairs of names with a likely common partner, at most: in all, or for each name where it has many.
# Each takes 250 bytes; lists of real names have less than one for a name.
LARGEST_GRAPH = 1 << 22
LARGEST_DEGREE = 16


def pair_graph(
    count: int,
    left: Positions,
    right: Positions,
    compare: Compare,
    progress: Progress | None = None,
) -> Any:
    """The probabilities of candidate pairs, and of pairs with a likely common partner.

    The candidates are those of `NameFeatures.candidates`: in order, the smaller position first.
    Those below `LEAST` are left out. The graph is a scipy.sparse.csr_array (count, count).
    """
    from scipy import sparse

    log_odds = compare(left, right, progress)
    new = two_step_pairs(left, right, log_odds > 0, count)
    log_odds = np.concatenate([log_odds, compare(*new, None)])
    values = np.minimum(sigmoid(log_odds), MOST).astype(np.float32)
    near = values >= LEAST
    rows = np.concatenate([left, new[0]])[near].astype(np.int32)
    columns = np.concatenate([right, new[1]])[near].astype(np.int32)
    upper = sparse.csr_array((values[near], (rows, columns)), shape=(count, count))
    return sparse.csr_array(upper + upper.T)


def two_step_pairs(
    left: Positions, right: Positions, likely: npt.NDArray[np.bool_], count: int
) -> tuple[Positions, Positions]:
    """The pairs that are no candidates and have a common partner by likely pairs, in order."""
    from scipy import sparse

    ones = np.ones(np.count_nonzero(likely), np.float32)
    links = sparse.csr_array((ones, (left[likely], right[likely])), shape=(count, count))
    links = sparse.csr_array(links + links.T)
    candidates = pair_keys(left, right, count)
    parts = [np.zeros(0, np.int64)]
    ends = np.cumsum(links @ np.diff(links.indptr)) // STEPS  # where so many more steps end
    limits = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), count]
    left_over = max(LARGEST_GRAPH, LARGEST_DEGREE * count)
    for start, stop in pairwise(limits):
        steps = sparse.coo_array(links[start:stop] @ links)
        row, column = steps.row.astype(np.int64) + start, steps.col
        keys = row[row < column] * count + column[row < column]
        keys.sort()
        position = np.searchsorted(candidates, keys)
        known = position < len(candidates)
        known[known] = candidates[position[known]] == keys[known]
        parts.append(keys[~known])
        left_over -= len(parts[-1])
        if left_over < 0:
            problem = "nearly all names are likely synonyms of each other, by this model"
            raise DataError(f"{problem}; remove repeated names, or use another model")
    new = np.concatenate(parts)
    return new // max(count, 1), new % max(count, 1)


def within_types(graph: Any, types: Positions) -> Any:
    """The graph without pairs of two known types; -1 is unknown."""
    from scipy import sparse

    coo = graph.tocoo()
    one, other = types[coo.row], types[coo.col]
    kept = (one == other) | (np.minimum(one, other) < 0)
    cells = coo.row[kept], coo.col[kept]
    return sparse.csr_array((coo.data[kept], cells), shape=graph.shape)


def decisions(
    graph: Any, task: Task, members: Sequence[Sequence[int]], function: SetFunction
) -> list[tuple[int, float, Action]]:
    """Of each new term its set and f without itself; of a single one the best other set."""
    from scipy import sparse

    set_of = np.zeros(len(task.terms), np.int64)
    for number, positions in enumerate(members):
        set_of[positions] = number
    sizes = np.bincount(set_of, minlength=1)
    membership = sparse.csr_array(
        (np.ones(len(set_of)), (np.arange(len(set_of)), set_of)), shape=(len(set_of), len(sizes))
    )
    forbidden = np.array(
        [
            one * len(sizes) + set_of[other]
            for pair in task.cannot_link
            for one, other in (pair, pair[::-1])
        ],
        np.int64,
    )
    lowest = log_odds(task.threshold)
    decided: list[tuple[int, float, Action]] = []
    for start, stop in blocks(task.count):
        totals = sparse.csr_array(graph[start:stop].astype(np.float64) @ membership)
        row = np.repeat(np.arange(stop - start), np.diff(totals.indptr))
        home = set_of[start:stop]
        others = sizes[home] - 1  # in the set of each term
        is_home = home[row] == totals.indices
        at_home = np.bincount(row[is_home], totals.data[is_home], minlength=stop - start)
        home_logits = function.logits(at_home, np.maximum(others, 1))
        logits = function.logits(totals.data, sizes[totals.indices])
        keys = (row + start) * len(sizes) + totals.indices
        logits[is_home | np.isin(keys, forbidden)] = -np.inf
        best, highest = _first_largest(logits, totals.indptr)
        for term in range(stop - start):
            if others[term]:
                logit = float(home_logits[term])
                action: Action = "joined" if logit > lowest else "forced"
                decided.append((int(home[term]), logit, action))
            else:
                position = best[term]
                other = int(totals.indices[position]) if position >= 0 else -1
                decided.append((other, float(highest[term]), "opened"))
    return decided


def _first_largest(values: Totals, ends: npt.NDArray[Any]) -> tuple[Numbers, Totals]:
    """The place of the largest value of each row, the first of equal ones, and this value.

    Row i has the values from ends[i] to ends[i + 1]. Without a value above -inf the place is -1.
    """
    counts = np.diff(ends)
    positions = np.full(len(counts), -1, np.int64)
    largest = np.full(len(counts), -np.inf)
    filled = np.flatnonzero(counts)
    if len(filled):
        largest[filled] = np.maximum.reduceat(values, ends[filled])
        row = np.repeat(np.arange(len(counts)), counts)
        hits = np.flatnonzero((values == largest[row]) & (values > -np.inf))
        rows, first = np.unique(row[hits], return_index=True)
        positions[rows] = hits[first]
    return positions, largest


def blocks(count: int) -> Iterator[tuple[int, int]]:
    """The start and the end of each block of rows."""
    for start in range(0, count, GRAPH_ROWS):
        yield start, min(start + GRAPH_ROWS, count)


def sigmoid(logits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):
        values: npt.NDArray[Any] = 1 / (1 + np.exp(-logits))
    return values
