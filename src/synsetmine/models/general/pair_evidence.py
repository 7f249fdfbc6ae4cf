"""What distinguishes two names, and what a corpus says of both: features beside the strings."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.evidence import Evidence
from synsetmine.models.general.name_table import NameTable, Positions, stem_keys
from synsetmine.models.general.neighbours import Floats
from synsetmine.patterns import OPPOSING
from synsetmine.text import normal_form

Doubles: TypeAlias = npt.NDArray[np.float64]

SMOOTHING = 0.5  # observations for either side, before any are counted
SET_NAMES = 8  # of a set that are compared; large sets would outweigh the others
SETS = 40_000  # whose names are compared, at most
NAMES = 15_000  # whose near names of other sets are compared, at most
NEAREST = 6  # of each representation
DIFFERING = 3  # stems, at most, of a pair that teaches


@dataclass(frozen=True, eq=False)
class StemWeights:
    """How much the stems by which two names differ speak for one meaning, learned from the sets.

    log((same + s) / (different + s)), where `same` counts pairs of names of one set that differ by
    a stem, and `different` near pairs of two sets. Two stems that alone make the difference have a
    weight as a pair.
    """

    weights: Floats  # (stems,)
    pair_keys: Positions  # sorted
    pair_weights: Floats

    @classmethod
    def learn(
        cls, table: NameTable, labels: Positions, references: Positions, seed: int
    ) -> StemWeights:
        """Learn from the reference names, whose sets are `labels`."""
        rng = np.random.default_rng(seed)
        names = rng.permutation(references)[:NAMES]
        left, right = table.candidates(names, references, NEAREST)
        other = labels[left] != labels[right]
        same, same_keys = _count(table, *_pairs_of_sets(labels, references, rng))
        different, different_keys = _count(table, left[other], right[other])
        scale = max(same.sum(), 1) / max(different.sum(), 1)  # both are samples
        keys = np.unique(np.concatenate([same_keys, different_keys]))
        counts = [
            np.bincount(np.searchsorted(keys, some), minlength=len(keys))
            for some in (same_keys, different_keys)
        ]
        return cls(
            _log_ratio(same, scale * different), keys, _log_ratio(counts[0], scale * counts[1])
        )

    def features(self, table: NameTable, left: Positions, right: Positions) -> Floats:
        """Smallest weight and sum of the stems of either side alone, and the pair's weight."""
        own, theirs = _differing(table, left, right)
        values = np.zeros((len(left), 5), np.float32)
        for column, side in zip((0, 2), (own, theirs), strict=True):
            weights = self.weights[side.indices]
            filled = np.flatnonzero(np.diff(side.indptr))
            if len(filled):
                starts = side.indptr[filled]
                values[filled, column] = np.minimum.reduceat(weights, starts)
                values[filled, column + 1] = np.add.reduceat(weights, starts)
        rows, keys = _single_pairs(own, theirs)
        if len(self.pair_keys) and len(keys):
            place = np.minimum(np.searchsorted(self.pair_keys, keys), len(self.pair_keys) - 1)
            known = self.pair_keys[place] == keys
            values[rows[known], 4] = self.pair_weights[place[known]]
        return values


def _log_ratio(same: npt.NDArray[Any], different: npt.NDArray[Any]) -> Floats:
    ratio: Floats = np.log((same + SMOOTHING) / (different + SMOOTHING)).astype(np.float32)
    return ratio


def _count(table: NameTable, left: Positions, right: Positions) -> tuple[Doubles, Positions]:
    """How often names differ by each stem, and the keys of pairs that differ by one stem each.

    Of several differing stems each counts a part. Names without a shared stem teach nothing.
    """
    own, theirs = _differing(table, left, right)
    sizes = np.diff(own.indptr) + np.diff(theirs.indptr)
    shares_stem = np.diff(table.bags.indptr)[left] > np.diff(own.indptr)
    taught = shares_stem & (sizes > 0) & (sizes <= DIFFERING)
    counts = np.zeros(table.bags.shape[1])
    for side in (own, theirs):
        row = np.repeat(np.arange(side.shape[0]), np.diff(side.indptr))
        kept = taught[row]
        np.add.at(counts, side.indices[kept], 1 / sizes[row[kept]])
    rows, keys = _single_pairs(own, theirs)
    return counts, keys[taught[rows]]


def _pairs_of_sets(
    labels: Positions, references: Positions, rng: np.random.Generator
) -> tuple[Positions, Positions]:
    """The pairs of the first names of random sets; the names of a set stand together."""
    own = labels[references]
    starts = np.flatnonzero(np.append(True, own[1:] != own[:-1])[: len(own)])
    sizes = np.minimum(np.diff(np.append(starts, len(own))), SET_NAMES)
    several = rng.permutation(np.flatnonzero(sizes > 1))[:SETS]
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for size in range(2, SET_NAMES + 1):
        begins = starts[several[sizes[several] == size]]
        one, other = np.triu_indices(size, 1)
        left.append((begins[:, None] + one).ravel())
        right.append((begins[:, None] + other).ravel())
    return references[np.concatenate(left)], references[np.concatenate(right)]


def _differing(table: NameTable, left: Positions, right: Positions) -> tuple[Any, Any]:
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


def _single_pairs(own: Any, theirs: Any) -> tuple[Positions, Positions]:
    """The pairs of names that differ by one stem each: their rows, and a key of both stems."""
    rows = np.flatnonzero((np.diff(own.indptr) == 1) & (np.diff(theirs.indptr) == 1))
    one = own.indices[own.indptr[rows]].astype(np.int64)
    other = theirs.indices[theirs.indptr[rows]].astype(np.int64)
    return rows, np.minimum(one, other) * own.shape[1] + np.maximum(one, other)


def long_forms(names: Sequence[str], evidence: Evidence) -> dict[int, str]:
    """What the corpus says that a name is short for, most often, by the name's position."""
    longest_of: dict[str, tuple[int, str]] = {}
    for abbreviation in evidence.abbreviations():
        key, entry = short_key(abbreviation.short), (abbreviation.count, abbreviation.long)
        longest_of[key] = max(entry, longest_of.get(key, entry))
    return {
        position: longest_of[key][1]
        for position, name in enumerate(names)
        if (key := short_key(name)) in longest_of
    }


def definitions(evidence: Evidence) -> dict[str, dict[str, int]]:
    """How often the corpus defines each short form as a long form with these stems."""
    counts: dict[str, dict[str, int]] = {}
    abbreviations = evidence.abbreviations()
    long_keys = stem_keys(abbreviation.long for abbreviation in abbreviations)
    for abbreviation, long in zip(abbreviations, long_keys, strict=True):
        own = counts.setdefault(short_key(abbreviation.short), {})
        own[long] = own.get(long, 0) + abbreviation.count
    return counts


class TextEvidence:
    """What the corpus says of pairs of names: definitions, aliases, lists."""

    def __init__(self, table: NameTable, evidence: Evidence) -> None:
        self._table = table
        self._long = definitions(evidence)
        self._short: dict[str, dict[str, int]] = {}  # the other way round
        for short, counts in self._long.items():
            for long, count in counts.items():
                self._short.setdefault(long, {})[short] = count
        self._counts: dict[tuple[str, str], list[int]] = {}  # for and against, by normal forms
        for first, second, relation, count in evidence.pairs():
            if relation != "abbreviation":
                for pair in ((first, second), (second, first)):
                    sides = self._counts.setdefault(pair, [0, 0])
                    sides[relation in OPPOSING] += count
        self._partners: dict[str, list[str]] = {}
        for (first, second), (supporting, _) in self._counts.items():
            if supporting:
                self._partners.setdefault(first, []).append(second)
        mentioned = {form for pair in self._counts for form in pair}
        self._keys = _Values(table.stem_keys, self._short)
        self._short_keys = _Values(map(short_key, table.names), self._long)
        self._forms = _Values(map(normal_form, table.names), mentioned)

    def candidates(self, queries: Positions, references: Positions) -> tuple[Positions, Positions]:
        """Pairs that a definition or an alias connects."""
        is_reference = np.zeros(len(self._table), np.bool_)
        is_reference[references] = True
        left: list[int] = []
        right: list[int] = []
        for position in queries.tolist():
            long = self._long.get(self._short_keys.value(position), ())
            short = self._short.get(self._keys.value(position), ())
            partners = self._partners.get(self._forms.value(position), ())
            others = [p for key in long for p in self._keys.positions(key)]
            others += [p for key in short for p in self._short_keys.positions(key)]
            others += [p for form in partners for p in self._forms.positions(form)]
            others = [other for other in others if is_reference[other]]
            left += [position] * len(others)
            right += others
        return np.array(left, np.int64), np.array(right, np.int64)

    def features(self, left: Positions, right: Positions) -> Floats:
        """Definitions of both, their share of the definitions of either, aliases, and lists."""
        values = np.zeros((len(left), 6), np.float32)
        indexes = (self._keys, self._short_keys, self._forms)
        mentioned = np.zeros(len(self._table), np.bool_)
        for index in indexes:
            mentioned[[*index.value_of]] = True
        for row in np.flatnonzero(mentioned[left]).tolist():
            one, other = int(left[row]), int(right[row])
            (key, short, form), (other_key, other_short, other_form) = (
                [index.value(position) for index in indexes] for position in (one, other)
            )
            if long := self._long.get(short):
                count, total = long.get(other_key, 0), sum(long.values())
                values[row, :4] = count, count / total, 0, np.log1p(total)
            if count := self._short.get(key, {}).get(other_short, 0):
                values[row, 0] += count
                values[row, 2] = count / sum(self._short[key].values())
            if counts := self._counts.get((form, other_form)):
                values[row, 4:] = np.log1p(counts)
        values[:, 0] = np.log1p(values[:, 0])
        return values


class _Values:
    """Strings of names, those alone that the corpus has too: few of millions."""

    def __init__(self, values: Iterable[str], kept: Container[str]) -> None:
        self.value_of = {place: value for place, value in enumerate(values) if value in kept}
        self._positions_of: dict[str, list[int]] = {}
        for position, value in self.value_of.items():
            self._positions_of.setdefault(value, []).append(position)

    def value(self, position: int) -> str:
        """The string of a name; empty if the corpus does not have it."""
        return self.value_of.get(position, "")

    def positions(self, value: str) -> Sequence[int]:
        """The positions of the names with this string."""
        return self._positions_of.get(value, ())


def short_key(name: str) -> str:
    """The letters and digits of a short form; their case counts: "pH" is not "Ph"."""
    return "".join(filter(str.isalnum, name))
