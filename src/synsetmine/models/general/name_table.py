"""Names in the representations by which a new name is compared with all names of known sets.

A name is a bag of stems, a bag of character n-grams, and a unit vector in each table. Candidates
for a new name are its nearest names in each of these, and names that it may abbreviate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz import distance

from synsetmine.models.general.features import compare_designators, similarities
from synsetmine.models.general.neighbours import Floats, nearest_of, nearest_sparse_of
from synsetmine.text.tokens import STOP_WORDS
from synsetmine.text.word_forms import Numbers, SpelledNames, designators, spelled_words, stem
from synsetmine.views.strings import row_dots, word_ngram_weights

Positions: TypeAlias = npt.NDArray[np.int64]

CACHED = 1 << 18  # words and names whose stems are kept: all of MeSH
ROWS = 1 << 16  # names whose words are in memory at a time
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
        compared: Sequence[Floats] = (),  # further tables, in which no candidates are looked for
        *,
        spelled: SpelledNames | None = None,
        threads: int = 1,
    ) -> None:
        self.names = names
        self.tables = tables
        self._compared = [*tables, *compared]
        self._threads = threads
        self._spelled = spelled if spelled is not None else SpelledNames.of(names)
        self._stem_texts, self._stems, self._stem_ends = _stems_of(self._spelled)
        self.bags: Any = _bags(self._stems, self._stem_ends, len(self._stem_texts))
        frequency = np.bincount(self.bags.indices, minlength=self.bags.shape[1]).astype(np.float32)
        self._rarity = np.log((len(names) + 1) / (frequency + 0.5)).astype(np.float32)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def stem_keys(self) -> Sequence[str]:
        """Equal for names with the same stems: (names,)"""
        return self._sorted_stems(np.arange(len(self)))

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
        values = np.zeros((len(left), len(PAIR_FEATURES) + len(self._compared)), np.float32)
        values[:, 0] = row_dots(self._weighted_bags, left, right)
        values[:, 1] = row_dots(self._ngrams, left, right)
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
        distinct, places = np.unique(np.concatenate([left, right]), return_inverse=True)
        sides = places[: len(left)], places[len(left) :]
        texts, stems = self._texts(distinct), self._sorted_stems(distinct)
        both = distance.Indel, distance.JaroWinkler
        (values[:, 10],) = similarities(texts, *sides, distance.Indel)
        values[:, 11], values[:, 12] = similarities(stems, *sides, *both)
        values[:, 13:16] = compare_designators(self._designators[left], self._designators[right])
        joined, initials = self._acronyms
        values[:, 16] = (joined[left] == initials[right]) | (joined[right] == initials[left])
        values[:, 17], values[:, 18] = self._lengths[left], self._lengths[right]
        values[:, 19], values[:, 20] = own, other
        for column, ends in zip((21, 22), self._ends, strict=True):
            values[:, column] = (ends[left] == ends[right]) & (ends[left] >= 0)
        (values[:, 23],) = similarities(self._joined_stems(distinct), *sides, distance.Indel)
        same = np.flatnonzero(values[:, 23] == 1)  # "upregulation" and "up-regulation"
        values[same[:, None], [0, 2, 3, 4, 9, 21, 22]] = 1
        values[same, 5:9] = 0
        for column, table in enumerate(self._compared, start=len(PAIR_FEATURES)):
            values[:, column] = np.einsum("ij,ij->i", table[left], table[right])
        return values

    def _texts(self, positions: Positions) -> list[str]:
        """The spelled words of names: (positions,)"""
        spelled = self._spelled
        rows = _rows(spelled.words, spelled.numbers, spelled.ends, positions)
        return [" ".join(words) for words in rows]

    def _sorted_stems(self, positions: Positions) -> list[str]:
        rows = _rows(self._stem_texts, self._stems, self._stem_ends, positions)
        return [" ".join(sorted(stems)) for stems in rows]

    def _joined_stems(self, positions: Positions) -> list[str]:
        rows = _rows(self._stem_texts, self._stems, self._stem_ends, positions)
        return ["".join(stems) for stems in rows]

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
        from scipy import sparse

        words, numbers = self._spelled.words, self._spelled.numbers
        ones = np.ones(len(numbers), np.float32)
        shape = (len(self), max(len(words), 1))
        counts = sparse.csr_array((ones, numbers, self._spelled.ends), shape=shape, copy=True)
        counts.sum_duplicates()
        return word_ngram_weights(counts, words or [""], dtype=np.float32)

    @cached_property
    def _lengths(self) -> Floats:
        """The letters of each name, and the spaces between its words."""
        letters = np.array([len(word) for word in self._spelled.words] or [0], np.int64)
        total = np.concatenate([[0], np.cumsum(letters[self._spelled.numbers] + 1)])
        lengths: Floats = np.diff(total[self._spelled.ends]).astype(np.float32)
        return np.maximum(lengths - 1, 0)

    @cached_property
    def _designators(self) -> Positions:
        """Equal for names that have the same designators; 0 for names without any."""
        spelled = self._spelled
        is_mark = np.array([bool(designators(("", word))) for word in spelled.words], np.bool_)
        owners = np.repeat(np.arange(len(self)), np.diff(spelled.ends))
        marked = np.unique(owners[is_mark[spelled.numbers]])
        number_of: dict[tuple[str, ...], int] = {(): 0}
        numbers = np.zeros(len(self), np.int64)
        rows = _rows(spelled.words, spelled.numbers, spelled.ends, marked)
        marks = map(designators, rows)
        numbers[marked] = [number_of.setdefault(mark, len(number_of)) for mark in marks]
        return numbers

    @cached_property
    def _acronyms(self) -> tuple[Positions, Positions]:
        """Of each name a number of its letters, and of its initials: the same if these are equal.

        Letters that are the initials of no name have -2, the initials of one word have -1.
        """
        spelled = self._spelled
        first_letters = [word[:1] for word in spelled.words]
        number_of: dict[str, int] = {}
        several = np.flatnonzero(np.diff(spelled.ends) > 1)
        initials, letters = np.full(len(self), -1, np.int64), np.empty(len(self), np.int64)
        rows = _rows(first_letters, spelled.numbers, spelled.ends, several)
        initials[several] = [number_of.setdefault("".join(r), len(number_of)) for r in rows]
        rows = _rows(spelled.words, spelled.numbers, spelled.ends, np.arange(len(self)))
        letters[:] = [number_of.get("".join(words), -2) for words in rows]
        return letters, initials

    @cached_property
    def _ends(self) -> tuple[Positions, Positions]:
        """The numbers of the first and of the last stem of each name; -1 for none."""
        ends = self._stem_ends
        filled = np.flatnonzero(np.diff(ends))
        first, last = np.full((2, len(self)), -1, np.int64)
        first[filled], last[filled] = self._stems[ends[filled]], self._stems[ends[filled + 1] - 1]
        return first, last


@lru_cache(CACHED)
def stem_key(name: str) -> str:
    """The key that `NameTable.stem_keys` has for a name."""
    words = spelled_words(name)
    content = [word for word in words if word not in STOP_WORDS] or words
    return " ".join(sorted(map(_stem, content)))


def stem_keys(names: Iterable[str]) -> list[str]:
    """The keys of many names, of which each distinct word is stemmed once."""
    texts, stems, ends = _stems_of(SpelledNames.of(names))
    return [" ".join(sorted(row)) for row in _rows(texts, stems, ends, np.arange(len(ends) - 1))]


def _stems_of(names: SpelledNames) -> tuple[list[str], Numbers, Positions]:
    """Snowball stems of the singulars of content words, or of all words if there are no others.

    The distinct stems, the numbers of those of all names, and where those of each name end.
    """
    number_of: dict[str, int] = {}
    stem_of = np.array(
        [number_of.setdefault(_stem(word), len(number_of)) for word in names.words], np.int32
    )
    is_content = np.array([word not in STOP_WORDS for word in names.words], np.bool_)
    kept = is_content[names.numbers]
    before = np.concatenate([[0], np.cumsum(kept)])[names.ends]
    without = np.flatnonzero(np.diff(before) == 0)  # names of function words alone
    for name in without.tolist():
        kept[names.ends[name] : names.ends[name + 1]] = True
    ends = np.concatenate([[0], np.cumsum(kept)])[names.ends]
    return list(number_of), stem_of[names.numbers[kept]], ends


@lru_cache(CACHED)
def _stem(word: str) -> str:
    """The Snowball stem of the singular of a word; the stemmer is slow, and knows no cache."""
    import snowballstemmer

    stemmed: str = snowballstemmer.stemmer("english").stemWord(stem(word))
    return stemmed


def _bags(stems: Numbers, ends: Positions, distinct: int) -> Any:
    """Which stems each name has: a scipy.sparse.csr_array of ones."""
    from scipy import sparse

    shape = (len(ends) - 1, max(distinct, 1))
    ones = np.ones(len(stems), np.float32)
    bags = sparse.csr_array((ones, stems, ends), shape=shape, copy=True)
    bags.sum_duplicates()
    bags.data[:] = 1
    return bags


def _rows(
    texts: Sequence[str], numbers: Numbers, ends: Positions, positions: Positions
) -> Iterator[list[str]]:
    """The texts of each of these rows, some rows at a time."""
    for begin in range(0, len(positions), ROWS):
        some = positions[begin : begin + ROWS]
        starts = ends[some]
        sizes = ends[some + 1] - starts
        entries = numbers[_ranges(starts, sizes)].tolist()
        start = 0
        for size in sizes.tolist():
            yield [texts[number] for number in entries[start : start + size]]
            start += size


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
        numbers = theirs[references]
        matching = np.flatnonzero((numbers >= 0) & np.isin(numbers, own[queries]))
        for match in matching.tolist():
            positions_of.setdefault(int(numbers[match]), []).append(int(references[match]))
        for position, number in zip(queries.tolist(), own[queries].tolist(), strict=True):
            others = positions_of.get(number, ()) if number >= 0 else ()
            if len(others) <= MEANINGS:
                left += [position] * len(others)
                right += others
    return np.array(left, np.int64), np.array(right, np.int64)


def changes(values: Positions) -> npt.NDArray[np.bool_]:
    """Where a value differs from the one before it; the first does."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def find_all(
    values: npt.NDArray[Any], keys: npt.NDArray[Any], most: int | None = None
) -> tuple[Positions, Positions]:
    """The places of each key in sorted values, at most `most` of them, and the key of each."""
    first = np.searchsorted(values, keys)
    sizes = np.minimum(np.searchsorted(values, keys, side="right") - first, most or len(values))
    return _ranges(first, sizes), np.repeat(np.arange(len(sizes)), sizes)


def _ranges(starts: Positions, sizes: Positions) -> Positions:
    """The numbers of all ranges of these starts and sizes, one range after the other."""
    return np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
