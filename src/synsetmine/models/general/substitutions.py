"""Words that replace each other in the names of known sets.

If a set has "TGF-beta receptor" and "transforming growth factor beta receptor", then "TGF" may
stand for "transforming growth factor" in other names too, and so "TGF-beta" for another set's
"transforming growth factor beta".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.models.general.name_table import NameTable, Positions, find_all
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.settings import AssignmentSettings

Codes: TypeAlias = npt.NDArray[np.uint64]

MIXER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that the order of two codes counts


class BagCodes:
    """A number for each bag of stems: the sum of random numbers of its stems, modulo 2^64."""

    def __init__(self, table: NameTable, seed: int) -> None:
        rng = np.random.default_rng(seed)
        top = np.iinfo(np.uint64).max
        self.of_stem: Codes = rng.integers(top, size=table.bags.shape[1], dtype=np.uint64)

    def of(self, bags: Any) -> Codes:
        """The codes of the rows of a csr array."""
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(self.of_stem[bags.indices])])
        codes: Codes = sums[bags.indptr[1:]] - sums[bags.indptr[:-1]]
        return codes


@dataclass(frozen=True, eq=False)
class Substitutions:
    """Which stems replace which, both ways: "TGF" for "transforming growth factor".

    weight = log((same + s) / (different + s)), where `same` counts sets with two names that differ
    by these stems, and `different` near pairs of names of two sets.
    """

    codes: BagCodes
    keys: Codes  # of all pairs of stems by which names differ, sorted
    weights: Floats
    counts: Floats  # sets
    replaced: Codes  # in names of one set; sorted, among equals those of most sets first
    replacing: Codes
    settings: AssignmentSettings

    @classmethod
    def learn(
        cls,
        table: NameTable,
        codes: BagCodes,
        same: tuple[Positions, Positions],  # pairs of names of one set
        labels: Positions,  # the set of each pair
        different: tuple[Positions, Positions],  # near pairs of names of two sets
        scale: float,  # how much a pair of `different` counts
        settings: AssignmentSettings,
    ) -> Substitutions:
        one, other, kept = _sides(table, codes, *same, settings.replaced_stems)
        entries = np.stack([*_both_ways(one, other), np.tile(labels[kept].astype(np.uint64), 2)])
        entries = np.unique(entries, axis=1)[:2]  # each set counts once
        pairs, sets = np.unique(entries, axis=1, return_counts=True)
        order = np.lexsort((pairs[1], -sets, pairs[0]))
        own = _pair_code(pairs[0], pairs[1])
        opposed = _pair_code(
            *_both_ways(*_sides(table, codes, *different, settings.replaced_stems)[:2])
        )
        keys = np.unique(np.concatenate([own, opposed]))
        counts = np.zeros(len(keys))
        counts[np.searchsorted(keys, own)] = sets
        against = scale * np.bincount(np.searchsorted(keys, opposed), minlength=len(keys))
        weights = np.log((counts + settings.smoothing) / (against + settings.smoothing))
        replaced, replacing = pairs[:, order]
        columns = weights.astype(np.float32), counts.astype(np.float32)
        return cls(codes, keys, *columns, replaced, replacing, settings)

    def candidates(
        self, table: NameTable, queries: Positions, references: Positions
    ) -> tuple[Positions, Positions]:
        """Pairs of a query and a reference that has the query's stems, some of them replaced."""
        bag_codes = self.codes.of(table.bags[references])
        order = np.argsort(bag_codes, kind="stable")
        known, names = bag_codes[order], references[order]
        left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for rows, part, rest in self._parts(table, queries):
            entries, owner = find_all(self.replaced, part, self.settings.replacements)
            goal = rest[owner] + self.replacing[entries]
            matches, of_goal = find_all(known, goal, self.settings.replaced_names)
            left.append(rows[owner[of_goal]])
            right.append(names[matches])
        return np.concatenate(left), np.concatenate(right)

    def _parts(
        self, table: NameTable, queries: Positions
    ) -> Iterator[tuple[Positions, Codes, Codes]]:
        """Queries with the codes of some of their stems and of the others, for each choice."""
        sizes = np.diff(table.bags.indptr)[queries]
        for size in range(1, self.settings.query_stems + 1):
            rows = queries[sizes == size]
            if len(rows):
                stems = table.bags[rows].indices.reshape(len(rows), size)
                codes = self.codes.of_stem[stems]  # (rows, size)
                whole = codes.sum(axis=1, dtype=np.uint64)
                for chosen in _choices(size, self.settings.replaced_stems):
                    part = codes[:, chosen].sum(axis=1, dtype=np.uint64)
                    yield rows, part, whole - part

    def features(self, table: NameTable, left: Positions, right: Positions) -> Floats:
        """The weight and the number of sets for the stems by which the two names differ."""
        values = np.zeros((len(left), 2), np.float32)
        one, other, kept = _sides(
            table, self.codes, left, right, self.settings.replaced_stems, shared=False
        )
        if len(self.keys):
            codes = _pair_code(one, other)
            position = np.minimum(np.searchsorted(self.keys, codes), len(self.keys) - 1)
            known = self.keys[position] == codes
            rows = np.flatnonzero(kept)[known]
            values[rows, 0] = self.weights[position[known]]
            values[rows, 1] = np.log1p(self.counts[position[known]])
        return values


def differing_stems(table: NameTable, left: Positions, right: Positions) -> tuple[Any, Any]:
    """The stems that only the left, and only the right name of each pair has: csr arrays."""
    one, other = table.bags[left], table.bags[right]
    shared = one.multiply(other)
    sides = []
    for bags in (one, other):
        rest = (bags - shared).tocsr()
        rest.eliminate_zeros()
        rest.sort_indices()
        sides.append(rest)
    return sides[0], sides[1]


def _sides(
    table: NameTable,
    codes: BagCodes,
    left: Positions,
    right: Positions,
    most: int,  # stems on either side
    *,
    shared: bool = True,  # whether the two names must have a stem in common
) -> tuple[Codes, Codes, npt.NDArray[np.bool_]]:
    """The codes of what the names of a pair have alone, and which pairs these are."""
    own, theirs = differing_stems(table, left, right)
    sizes = np.diff(own.indptr), np.diff(theirs.indptr)
    kept = np.minimum(*sizes) > 0
    kept &= np.maximum(*sizes) <= most
    if shared:
        kept &= np.diff(table.bags.indptr)[left] > sizes[0]
    return codes.of(own)[kept], codes.of(theirs)[kept], kept


def _both_ways(one: Codes, other: Codes) -> tuple[Codes, Codes]:
    return np.concatenate([one, other]), np.concatenate([other, one])


def _pair_code(one: Codes, other: Codes) -> Codes:
    code: Codes = one * MIXER + other
    return code


def _choices(size: int, most: int) -> list[list[int]]:
    return [
        list(chosen)
        for count in range(1, min(size, most) + 1)
        for chosen in combinations(range(size), count)
    ]
