"""A vocabulary as the general model sees it: candidate pairs, and the features of a pair.

A similarity by itself says little: in a dense part of a vocabulary many names are similar. So each
similarity comes with how far it lies above the mean similarity of either name to its nearest
neighbours (CSLS), for neighbourhoods of several sizes.

How likely two near names are one entity depends on the vocabulary too: in some nearly every name
has a synonym, in others few have. What tells them apart is how often nearness is mutual: a name
without a synonym is near to others that are nearer to each other.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz import distance, process

from synsetmine.engines.workers import in_threads
from synsetmine.errors import ModelError
from synsetmine.models.general.neighbours import Floats, nearest_rows, nearest_sparse_rows
from synsetmine.text.tokens import name_words
from synsetmine.text.word_forms import designators
from synsetmine.views.strings import (
    StaticEncoder,
    acronym_numbers,
    add_words,
    ngram_weights,
    row_dots,
    string_counts,
)
from synsetmine.views.vectors import unit_rows

Positions: TypeAlias = npt.NDArray[np.int64]

NEIGHBOURS = 20  # of each name, in each table, that are candidates
NEIGHBOURHOODS = (1, 5, 20)  # sizes for CSLS
MEANINGS = 20  # long forms of an acronym, at most, that are candidates
LETTERS = 2048  # of a name's text that are compared
PAIRS_AT_ONCE = 1 << 14

TABLE_FEATURES = (
    "cosine",
    *(f"cosine above the {side} of the nearest {k}" for k in NEIGHBOURHOODS for side in "ab"),
    "both known",
)
STRING_FEATURES = (
    "cosine of character n-grams",
    "shared words by all words",
    "shared words by those of the shorter name",
    "edit similarity",
    "edit similarity of sorted words",
    "Jaro-Winkler similarity",
    "cosine of the differing words",
    "smaller share of differing words",
    "larger share of differing words",
    "one name has no differing word",
    "both have no differing word",
    "fewer differing words",
    "more differing words",
    "n-grams above the denser neighbourhood",
    "n-grams above the sparser neighbourhood",
    "one is the acronym of the other",
    "same designators",
    "both have designators, others",
    "one alone has designators",
    "letters of the shorter name",
    "difference in length",
    "one name is a single word",
    "same first word",
    "same last word",
    "weights of the words that one name has in addition",
    "weights of the words by which both differ",
    "weight of the two words by which both differ",
)
# Shares of the names of a vocabulary, in a table of neighbours.
MUTUAL_FEATURES = (
    "are the nearest of their nearest",
    "are among the two nearest of their nearest",
    "whose two nearest are near each other",
    "whose two nearest are near each other and to them",
)


@dataclass(frozen=True, eq=False)
class WordWeights:
    """How much a word speaks for one meaning of two names that differ by it.

    "City" and "disorder" can be left out; "left" and "2" cannot. A word has one weight for each of
    `KINDS`. Two words that alone make the difference have a weight as a pair: "kidney" and
    "renal", "left" and "right". All of them are hashed into one table.
    """

    KINDS: ClassVar[tuple[str, ...]] = (
        "one name has it in addition, both end alike",
        "one name has it in addition, the names end differently",
        "both names have other words, and end alike",
        "both names have other words, and end differently",
    )

    values: Floats  # (buckets,)

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or not len(self.values):
            raise ModelError(f"word weights have the shape {self.values.shape}")

    def of(self, words: Sequence[str]) -> Floats:
        """The weights of each word: (words, KINDS)."""
        return self.values[self.buckets(words)]

    def of_pairs(self, codes: Positions, other_codes: Positions) -> Floats:
        """The weights of pairs of words that are given by `word_codes`: (pairs,)."""
        return self.values[self.pair_buckets(codes, other_codes)]

    def buckets(self, words: Sequence[str]) -> Positions:
        """Where the weights of each word stand: (words, KINDS)."""
        kinds = range(len(self.KINDS))
        codes = [[zlib.crc32(f"{kind}{word}".encode()) for kind in kinds] for word in words]
        return np.array(codes, np.int64).reshape(-1, len(kinds)) % len(self.values)

    def pair_buckets(self, codes: Positions, other_codes: Positions) -> Positions:
        """Where the weights of pairs stand; the order of the two makes no difference."""
        return (codes + other_codes) % len(self.values)


def word_codes(words: Sequence[str]) -> Positions:
    """A hash of each word: (words,)."""
    return np.array([zlib.crc32(f"={word}".encode()) for word in words], np.int64)


class NeighbourTable:
    """Unit vectors of a vocabulary with their nearest neighbours; a row of zeros is unknown."""

    def __init__(self, rows: Floats, *, threads: int = 1) -> None:
        self.rows = rows
        self.known = (rows != 0).any(axis=1)
        self.nearest, cosines = nearest_rows(rows, self.known, NEIGHBOURS, threads=threads)
        self.levels = mean_levels(cosines)
        self.mutual = mutual_shares(self.nearest)

    def features(self, left: Positions, right: Positions) -> Floats:
        """`TABLE_FEATURES` of the pairs left[i], right[i]; zeros where one of two is unknown."""
        values = np.zeros((len(left), len(TABLE_FEATURES)), np.float32)
        cosine = np.einsum("ij,ij->i", self.rows[left], self.rows[right])
        values[:, 0] = cosine
        for level in range(len(NEIGHBOURHOODS)):
            one, other = self.levels[left, level], self.levels[right, level]
            values[:, 1 + 2 * level] = cosine - np.maximum(one, other)
            values[:, 2 + 2 * level] = cosine - np.minimum(one, other)
        both = self.known[left] & self.known[right]
        values[~both] = 0
        values[:, -1] = both
        return values


def mean_levels(cosines: Floats) -> Floats:
    """The mean cosine of the nearest neighbours, for each size: (rows, NEIGHBOURHOODS)."""
    known = cosines > -np.inf
    sums = np.where(known, cosines, 0).cumsum(axis=1)
    counts = np.maximum(known.cumsum(axis=1), 1)
    return np.stack([sums[:, k - 1] / counts[:, k - 1] for k in NEIGHBOURHOODS], axis=1)


def mutual_shares(nearest: npt.NDArray[np.int32]) -> Floats:
    """`MUTUAL_FEATURES`, given the nearest neighbours of each name, best first; -1 is none."""
    if not len(nearest):
        return np.zeros(len(MUTUAL_FEATURES), np.float32)
    names = np.arange(len(nearest))[:, None]
    first, second = nearest[:, :1], nearest[:, 1:2]
    near_first, near_second = nearest[first[:, 0], :3], nearest[second[:, 0], :3]
    has_first, has_second = first[:, 0] >= 0, second[:, 0] >= 0
    mutual = has_first & (near_first[:, 0] == names[:, 0])
    nearly = has_first & (near_first[:, :2] == names).any(axis=1)
    three = (near_first == second).any(axis=1) & (near_second == first).any(axis=1) & has_second
    return np.array([share.mean() for share in (mutual, nearly, three, three & nearly)], np.float32)


class NameFeatures:
    """The names of a vocabulary in all views: static vectors, strings, and further tables."""

    def __init__(
        self,
        names: Sequence[str],
        encoder: StaticEncoder,
        word_weights: WordWeights,
        tables: Sequence[Floats] = (),  # unit rows of the names; zeros where unknown
        *,
        threads: int = 1,
    ) -> None:
        self.count = len(names)
        self._threads = threads
        words_of = [name_words(name) for name in names]
        self._texts = [
            " ".join(words)[:LETTERS] or name.casefold()[:LETTERS]
            for words, name in zip(words_of, names, strict=True)
        ]
        self._sorted_texts = [
            " ".join(sorted(words))[:LETTERS] if len(words) > 1 else text
            for words, text in zip(words_of, self._texts, strict=True)
        ]
        bags, distinct = string_counts(words_of)
        self._word_vectors = encoder.encode_words(distinct)
        self._weights = word_weights
        self._word_weights = word_weights.of(distinct)
        self._word_codes = word_codes(distinct)
        static, self._lengths_of_sums = add_words(bags, self._word_vectors)
        self._presence = bags
        self._presence.data[:] = 1
        self._name_weights = np.asarray(self._presence @ self._word_weights, np.float32)
        self._word_counts = np.maximum(np.diff(self._presence.indptr), 1).astype(np.float32)
        self._numbers_of_words = np.arange(len(distinct), dtype=np.float64)
        self._number_sums = self._presence @ self._numbers_of_words
        self._ends = _first_and_last(words_of, distinct)
        self._has_words = np.array([bool(words) for words in words_of], np.bool_)
        self._designators = _designator_numbers(words_of)
        self._acronyms = acronym_numbers(words_of)
        del words_of  # of a million names they take much memory, and the tables more
        rows = [static, *tables]
        if tables:  # the views together, which are nearer to the truth than each alone
            rows.append(unit_rows(np.concatenate(rows, axis=1)))
        self.tables = [NeighbourTable(table, threads=threads) for table in rows]

    @property
    def width(self) -> int:
        """The number of features of a pair."""
        return self.pair_width + len(self._vocabulary)

    @property
    def pair_width(self) -> int:
        """The number of features that differ between pairs; they come first.

        The others are the same for all pairs of the vocabulary.
        """
        return len(TABLE_FEATURES) * len(self.tables) + len(STRING_FEATURES)

    @property
    def string_columns(self) -> slice:
        """Where `STRING_FEATURES` stand among the features."""
        return slice(self.pair_width - len(STRING_FEATURES), self.pair_width)

    def candidates(self) -> tuple[Positions, Positions]:
        """Pairs that are near in some table or by their n-grams, or may be an acronym."""
        nearest = (*(table.nearest for table in self.tables), self._nearest_ngrams[0])
        parts = chain([_acronym_pairs(*self._acronyms)], map(near_pairs, nearest))
        return unique_pairs(parts, self.count)

    def features(self, left: Positions, right: Positions) -> Floats:
        """The features of the pairs left[i], right[i]: (pairs, width)."""
        values = np.empty((len(left), self.width), np.float32)

        def fill(start: int) -> None:
            part = slice(start, start + PAIRS_AT_ONCE)
            tables = [table.features(left[part], right[part]) for table in self.tables]
            strings = self._strings(left[part], right[part])
            np.concatenate([*tables, strings], axis=1, out=values[part, : self.pair_width])
            values[part, self.pair_width :] = self._vocabulary

        threads = self._threads if len(left) > PAIRS_AT_ONCE else 1
        deque(in_threads(fill, range(0, len(left), PAIRS_AT_ONCE), threads), maxlen=0)
        return values

    def _strings(self, left: Positions, right: Positions) -> Floats:
        values = np.zeros((len(left), len(STRING_FEATURES)), np.float32)
        values[:, 0] = row_dots(self._ngrams, left, right)
        shared_words = self._presence[left].multiply(self._presence[right])
        shared = np.asarray(shared_words.sum(axis=1)).ravel()
        fewer = np.minimum(self._word_counts[left], self._word_counts[right])
        values[:, 1] = shared / (self._word_counts[left] + self._word_counts[right] - shared)
        values[:, 2] = shared / fewer
        both = distance.Indel, distance.JaroWinkler
        values[:, 3], values[:, 5] = similarities(self._texts, left, right, *both)
        (values[:, 4],) = similarities(self._sorted_texts, left, right, distance.Indel)
        self._differing_words(left, right, shared_words, shared, values)
        levels = self._nearest_ngrams[1][:, 1]
        values[:, 13] = values[:, 0] - np.maximum(levels[left], levels[right])
        values[:, 14] = values[:, 0] - np.minimum(levels[left], levels[right])
        joined, initials = self._acronyms
        values[:, 15] = np.any(
            [(joined[left] == i[right]) | (joined[right] == i[left]) for i in initials], axis=0
        )
        values[:, 16:19] = compare_designators(self._designators[left], self._designators[right])
        shorter = np.minimum(self._lengths[left], self._lengths[right])
        longer = np.maximum(self._lengths[left], self._lengths[right])
        values[:, 19] = np.minimum(shorter, 40) / 40
        values[:, 20] = (longer - shorter) / np.maximum(longer, 1)
        values[:, 21] = fewer <= 1
        return values

    def _differing_words(
        self, left: Positions, right: Positions, shared_words: Any, shared: Floats, values: Floats
    ) -> None:
        """What the words say that only one of two names has: how much they are, how alike."""
        common = np.asarray(shared_words @ self._word_vectors, np.float32)
        static, scale = self.tables[0].rows, self._lengths_of_sums[:, None]
        rests = [static[side] * scale[side] - common for side in (left, right)]
        counts = [self._word_counts[side] - shared for side in (left, right)]
        none = [count < 0.5 for count in counts]
        lengths = [
            np.where(empty, 0, np.linalg.norm(rest, axis=1))
            for rest, empty in zip(rests, none, strict=True)
        ]
        shares = [
            length / (self._lengths_of_sums[side] + 1e-6)
            for length, side in zip(lengths, (left, right), strict=True)
        ]
        dots = np.einsum("ij,ij->i", *rests)
        values[:, 6] = np.where(
            none[0] | none[1], 0, dots / np.maximum(lengths[0] * lengths[1], 1e-6)
        )
        values[:, 7], values[:, 8] = np.minimum(*shares), np.maximum(*shares)
        values[:, 9], values[:, 10] = none[0] | none[1], none[0] & none[1]
        values[:, 11] = np.minimum(np.minimum(*counts), 4) / 4
        values[:, 12] = np.minimum(np.maximum(*counts), 6) / 6
        same_first, same_last = (ends[left] == ends[right] for ends in self._ends)
        values[:, 22], values[:, 23] = same_first, same_last
        weights = self._name_weights[left] + self._name_weights[right]
        weights -= 2 * np.asarray(shared_words @ self._word_weights, np.float32)
        one_sided = none[0] | none[1]
        kind = np.where(one_sided, 0, 2) + ~same_last
        weight = np.clip(weights[np.arange(len(left)), kind], -8, 8)
        values[:, 24], values[:, 25] = (
            np.where(one_sided, weight, 0),
            np.where(one_sided, 0, weight),
        )
        both = self._has_words[left] & self._has_words[right]
        single = np.flatnonzero(both & (counts[0] == 1) & (counts[1] == 1))
        shared_numbers = (shared_words @ self._numbers_of_words)[single]
        codes = [
            self._word_codes[(self._number_sums[side[single]] - shared_numbers).astype(np.int64)]
            for side in (left, right)
        ]
        values[single, 26] = self._weights.of_pairs(*codes)

    @cached_property
    def _vocabulary(self) -> Floats:
        """The size of the vocabulary, and `MUTUAL_FEATURES` of each table and of n-grams."""
        size = np.array([np.log10(max(self.count, 1)) / 6], np.float32)
        ngrams = mutual_shares(self._nearest_ngrams[0])
        return np.concatenate([size, *(table.mutual for table in self.tables), ngrams])

    @cached_property
    def _ngrams(self) -> Any:
        return ngram_weights(self._texts, dtype=np.float32)

    @cached_property
    def _nearest_ngrams(self) -> tuple[npt.NDArray[np.int32], Floats]:
        nearest, cosines = nearest_sparse_rows(self._ngrams, NEIGHBOURS, threads=self._threads)
        counts = np.array(NEIGHBOURHOODS, np.float32)
        sums = cosines.cumsum(axis=1)[:, [k - 1 for k in NEIGHBOURHOODS]]
        return nearest, (sums / counts).astype(np.float32)

    @cached_property
    def _lengths(self) -> Floats:
        return np.array([len(text) for text in self._texts], np.float32)


def _first_and_last(
    names: Sequence[Sequence[str]], distinct: Sequence[str]
) -> tuple[Positions, Positions]:
    """The numbers of the first and of the last word of each name; of none a number of its own."""
    number_of = {word: number for number, word in enumerate(distinct)}
    first, last = (
        [number_of[words[end]] if words else -1 - number for number, words in enumerate(names)]
        for end in (0, -1)
    )
    return np.array(first, np.int64), np.array(last, np.int64)


def _designator_numbers(names: Iterable[Sequence[str]]) -> Positions:
    """Equal for names that have the same designators; 0 for names without any."""
    number_of: dict[tuple[str, ...], int] = {(): 0}
    forms = map(designators, names)
    return np.array([number_of.setdefault(form, len(number_of)) for form in forms], np.int64)


def near_pairs(nearest: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Each row with each of its nearest ones; -1 is none."""
    known = nearest >= 0
    rows = np.arange(len(nearest), dtype=nearest.dtype)
    left = np.repeat(rows, np.count_nonzero(known, axis=1))
    return left, nearest[known]


def unique_pairs(
    parts: Iterable[tuple[npt.NDArray[Any], npt.NDArray[Any]]], count: int
) -> tuple[Positions, Positions]:
    """Each pair of two different positions once, the smaller first, in order."""
    keys = _distinct(np.concatenate([_distinct(pair_keys(*part, count)) for part in parts]))
    left, right = np.divmod(keys, max(count, 1))
    return left, right


def _distinct(keys: Positions) -> Positions:
    """Each value once, in order; `np.unique` takes more memory. The keys are sorted in place."""
    keys.sort()
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    return keys[is_new]


def pair_keys(left: npt.NDArray[Any], right: npt.NDArray[Any], count: int) -> Positions:
    """A number for each pair of two different positions, in any order of the two."""
    other = left != right
    keys: Positions = np.minimum(left, right)[other].astype(np.int64)
    keys *= count
    keys += np.maximum(left, right)[other]
    return keys


def holds_places(matrix: Any, rows: Positions, columns: Positions) -> npt.NDArray[np.bool_]:
    """Whether the sparse matrix has these places."""
    if not len(rows):
        return np.zeros(0, np.bool_)
    values: npt.NDArray[np.bool_] = np.asarray(matrix[rows, columns]).ravel() != 0
    return values


def compare_designators(one: Positions, other: Positions) -> npt.NDArray[np.bool_]:
    """Whether both are the same, both are others, and one alone is there: (pairs, 3)"""
    both = (one > 0) & (other > 0)
    return np.stack([both & (one == other), both & (one != other), (one > 0) != (other > 0)], 1)


def similarities(
    texts: Sequence[str], left: Positions, right: Positions, *scorers: Any
) -> Iterator[Any]:
    """The normalised similarity of the texts of each pair, by each scorer: (pairs,)"""
    sides = [list(map(texts.__getitem__, side.tolist())) for side in (left, right)]
    for scorer in scorers:
        yield process.cpdist(*sides, scorer=scorer.normalized_similarity, dtype=np.float32)


def _acronym_pairs(
    joined: Positions, initials: tuple[Positions, Positions]
) -> tuple[Positions, Positions]:
    """Pairs of which the first may be the acronym of the second.

    Letters that are the initials of more than `MEANINGS` names say too little.
    """
    names_of: dict[int, list[int]] = {}
    for position, number in enumerate(joined.tolist()):
        names_of.setdefault(number, []).append(position)
    short: list[int] = []
    long: list[int] = []
    for numbers in initials:
        expansions: dict[int, list[int]] = {}
        for position in np.flatnonzero(numbers >= 0).tolist():
            expansions.setdefault(int(numbers[position]), []).append(position)
        for number, positions in expansions.items():
            if len(positions) <= MEANINGS:
                for acronym in names_of.get(number, ()):
                    short += [acronym] * len(positions)
                    long += positions
    return np.array(short, np.int64), np.array(long, np.int64)
