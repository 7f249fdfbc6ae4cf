"""Names in the representations by which a new name is compared with all names of known sets.

A name is a bag of stems, a bag of character n-grams, and a unit vector in each table. Candidates
for a new name are its nearest names in each of these, and names that it may abbreviate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz import distance, process

from synsetmine.models.general.neighbours import Floats, nearest_of, nearest_sparse_of
from synsetmine.views.ngrams import ngram_weights
from synsetmine.views.strings import STOP_WORDS
from synsetmine.wordforms import designators, spelled_words, stem

Positions: TypeAlias = npt.NDArray[np.int64]

MEANINGS = 20  # long forms of an acronym, at most, that are candidates
PAIR_FEATURES = (
    "cosine of stems, by rarity",
    "cosine of character n-grams",
    "shared stems by all stems",
    "shared stems by those of the new name",
    "shared stems by those of the known name",
    "stems that only the new name has",
    "stems that only the known name has",
    "rarity of the stems that only the new name has",
    "rarity of the stems that only the known name has",
    "same stems",
    "edit similarity",
    "edit similarity of sorted stems",
    "Jaro-Winkler similarity of sorted stems",
    "same designators",
    "both have designators, others",
    "one alone has designators",
    "one is the acronym of the other",
    "letters of the new name",
    "letters of the known name",
    "stems of the new name",
    "stems of the known name",
    "same first stem",
    "same last stem",
    "edit similarity without whitespace",
)


class NameTable:
    """Names with their stems, n-grams and vectors; a name is known by its position."""

    def __init__(
        self,
        names: Sequence[str],
        tables: Sequence[Floats],  # unit rows of the names, zeros where unknown
        *,
        threads: int = 1,
    ) -> None:
        from scipy import sparse

        self.names = names
        self.tables = tables
        self._threads = threads
        self._words = [spelled_words(name) for name in names]
        self.stems = list(_stems(self._words))
        number_of: dict[str, int] = {}
        columns: list[int] = []
        ends = [0]
        for stems in self.stems:
            columns += sorted({number_of.setdefault(stem, len(number_of)) for stem in stems})
            ends.append(len(columns))
        self.stem_numbers = number_of
        ones = np.ones(len(columns), np.float32)
        shape = (len(names), max(len(number_of), 1))
        self.bags: Any = sparse.csr_array((ones, columns, ends), shape=shape)
        frequency = np.asarray(self.bags.sum(axis=0)).ravel()
        self._rarity = np.log((len(names) + 1) / (frequency + 0.5)).astype(np.float32)
        self._texts = [" ".join(words) for words in self._words]
        self._sorted_stems = [" ".join(sorted(stems)) for stems in self.stems]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def stem_keys(self) -> Sequence[str]:
        """Equal for names with the same stems: (names,)"""
        return self._sorted_stems

    def candidates(
        self,
        queries: Positions,
        references: Positions,
        count: int,
        further: Sequence[Floats] = (),
    ) -> tuple[Positions, Positions]:
        """Pairs of a query and a reference, by positions, that are near in some representation.

        `further` are tables of vectors beside those of the names.
        """
        left, right = _acronym_pairs(self._acronyms, queries, references)
        parts = [left * len(self) + right]
        for rows in (self._weighted_bags, self._ngrams):
            nearest = nearest_sparse_of(rows, queries, references, count, threads=self._threads)
            parts.append(_keys(queries, nearest, len(self)))
        for table in (*self.tables, *further):
            nearest = nearest_of(table, queries, references, count, threads=self._threads)
            parts.append(_keys(queries, nearest, len(self)))
        keys = np.unique(np.concatenate(parts))
        return keys // len(self), keys % len(self)

    def features(self, left: Positions, right: Positions) -> Floats:
        """`PAIR_FEATURES`, then the cosine in each table: (pairs, features)"""
        values = np.zeros((len(left), len(PAIR_FEATURES) + len(self.tables)), np.float32)
        values[:, 0] = _row_dots(self._weighted_bags, left, right)
        values[:, 1] = _row_dots(self._ngrams, left, right)
        shared_stems = self.bags[left].multiply(self.bags[right]).tocsr()
        shared = np.asarray(shared_stems.sum(axis=1)).ravel()
        own, other = self._counts[left], self._counts[right]
        values[:, 2] = shared / np.maximum(own + other - shared, 1)
        values[:, 3] = shared / np.maximum(own, 1)
        values[:, 4] = shared / np.maximum(other, 1)
        values[:, 5], values[:, 6] = own - shared, other - shared
        shared_rarity = np.asarray(shared_stems @ self._rarity).ravel()
        values[:, 7] = self._total_rarity[left] - shared_rarity
        values[:, 8] = self._total_rarity[right] - shared_rarity
        values[:, 9] = (own == shared) & (other == shared) & (shared > 0)
        values[:, 10] = _similarity(distance.Indel, self._texts, left, right)
        values[:, 11] = _similarity(distance.Indel, self._sorted_stems, left, right)
        values[:, 12] = _similarity(distance.JaroWinkler, self._sorted_stems, left, right)
        one, two = self._designators[left], self._designators[right]
        values[:, 13] = (one == two) & (one > 0)
        values[:, 14] = (one != two) & (one > 0) & (two > 0)
        values[:, 15] = (one > 0) != (two > 0)
        joined, initials = self._acronyms
        values[:, 16] = (joined[left] == initials[right]) | (joined[right] == initials[left])
        values[:, 17], values[:, 18] = self._lengths[left], self._lengths[right]
        values[:, 19], values[:, 20] = own, other
        for column, ends in zip((21, 22), self._ends, strict=True):
            values[:, column] = (ends[left] == ends[right]) & (ends[left] >= 0)
        values[:, 23] = _similarity(distance.Indel, self._joined, left, right)
        same = np.flatnonzero(values[:, 23] == 1)  # "upregulation" and "up-regulation"
        values[same[:, None], [0, 2, 3, 4, 9, 21, 22]] = 1
        values[same, 5:9] = 0
        for place, table in enumerate(self.tables):
            values[:, len(PAIR_FEATURES) + place] = np.einsum("ij,ij->i", table[left], table[right])
        return values

    @cached_property
    def _joined(self) -> list[str]:
        return ["".join(stems) for stems in self.stems]

    @cached_property
    def _counts(self) -> Floats:
        counts: Floats = np.diff(self.bags.indptr).astype(np.float32)
        return counts

    @cached_property
    def _total_rarity(self) -> Floats:
        return np.asarray(self.bags @ self._rarity, np.float32).ravel()

    @cached_property
    def _weighted_bags(self) -> Any:
        bags = self.bags.copy()
        bags.data = self._rarity[bags.indices]
        lengths = np.sqrt(np.asarray(bags.power(2).sum(axis=1)).ravel())
        bags.data /= np.repeat(np.maximum(lengths, 1e-9), np.diff(bags.indptr)).astype(np.float32)
        return bags

    @cached_property
    def _ngrams(self) -> Any:
        return ngram_weights(self._texts, dtype=np.float32)

    @cached_property
    def _lengths(self) -> Floats:
        return np.array([len(text) for text in self._texts], np.float32)

    @cached_property
    def _designators(self) -> Positions:
        """Equal for names that have the same designators; 0 for names without any."""
        number_of: dict[tuple[str, ...], int] = {(): 0}
        marks = map(designators, self._words)
        return np.array([number_of.setdefault(mark, len(number_of)) for mark in marks], np.int64)

    @cached_property
    def _acronyms(self) -> tuple[Positions, Positions]:
        """Of each name a number of its letters, and of its initials; of one word these are -1."""
        number_of: dict[str, int] = {}
        joined = [number_of.setdefault("".join(w), len(number_of)) for w in self._words]
        initials = [
            number_of.get("".join(word[0] for word in words), -1) if len(words) > 1 else -1
            for words in self._words
        ]
        return np.array(joined, np.int64), np.array(initials, np.int64)

    @cached_property
    def _ends(self) -> tuple[Positions, Positions]:
        """The numbers of the first and of the last stem of each name; -1 for none."""
        first, last = (
            [self.stem_numbers[stems[end]] if stems else -1 for stems in self.stems]
            for end in (0, -1)
        )
        return np.array(first, np.int64), np.array(last, np.int64)


def stem_key(name: str) -> str:
    """The key that `NameTable.stem_keys` has for a name."""
    return " ".join(sorted(next(_stems([spelled_words(name)]))))


def _stems(names: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Snowball stems of the singulars of content words, or of all words if there are no others."""
    import snowballstemmer

    stemmer = snowballstemmer.stemmer("english")
    stem_of: dict[str, str] = {}
    for words in names:
        for word in words:
            if word not in stem_of:
                stem_of[word] = stemmer.stemWord(stem(word))
        content = [stem_of[word] for word in words if word not in STOP_WORDS]
        yield content or [stem_of[word] for word in words]


def _keys(queries: Positions, nearest: npt.NDArray[Any], count: int) -> Positions:
    """Numbers of the pairs of each query and its nearest references; the query comes first."""
    left = np.repeat(queries, nearest.shape[1])
    right = nearest.ravel().astype(np.int64)
    return (left * count + right)[right >= 0]


def _acronym_pairs(
    acronyms: tuple[Positions, Positions], queries: Positions, references: Positions
) -> tuple[Positions, Positions]:
    """Pairs of a query and a reference of which one has the initials of the other."""
    joined, initials = acronyms
    left: list[int] = []
    right: list[int] = []
    for own, theirs in ((joined, initials), (initials, joined)):
        positions_of: dict[int, list[int]] = {}
        for position, number in zip(references.tolist(), theirs[references].tolist(), strict=True):
            if number >= 0:
                positions_of.setdefault(number, []).append(position)
        for position, number in zip(queries.tolist(), own[queries].tolist(), strict=True):
            others = positions_of.get(number, ()) if number >= 0 else ()
            if len(others) <= MEANINGS:
                left += [position] * len(others)
                right += others
    return np.array(left, np.int64), np.array(right, np.int64)


def _row_dots(matrix: Any, left: Positions, right: Positions) -> Any:
    return np.asarray(matrix[left].multiply(matrix[right]).sum(axis=1)).ravel()


def _similarity(scorer: Any, texts: Sequence[str], left: Positions, right: Positions) -> Any:
    sides = [list(map(texts.__getitem__, side.tolist())) for side in (left, right)]
    return process.cpdist(*sides, scorer=scorer.normalized_similarity, dtype=np.float32)
