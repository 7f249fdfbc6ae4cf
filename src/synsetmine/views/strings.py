"""Terms as strings: character n-grams and similarities, and the static name encoder."""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz import distance, process

from synsetmine.errors import ModelError
from synsetmine.normalization import tokens
from synsetmine.text.tokens import STOP_WORDS, name_words
from synsetmine.views.vectors import unit_rows

LENGTHS = (2, 3, 4)  # of character n-grams
TEXTS_AT_ONCE = 25_000  # in memory with all their weights
PAIRS_AT_ONCE = 1 << 12  # so that the texts of these pairs stay in the cache


def ngram_weights(texts: Sequence[str], dtype: npt.DTypeLike = np.float64) -> Any:
    """tf-idf of the character n-grams within words: a scipy.sparse.csr_array of unit rows.

    weight(n-gram, text) = count · (log((texts + 1) / (texts with the n-gram + 1)) + 1), as in
    scikit-learn's TfidfVectorizer with `char_wb`. A text of whitespace has a row of zeros. Weights
    are computed in float64: in float32 a sum of many would depend on their order.
    """
    return word_ngram_weights(*string_counts(text.split() for text in texts), dtype)


def word_ngram_weights(counts: Any, words: Sequence[str], dtype: npt.DTypeLike = np.float64) -> Any:
    """The same for texts that are given by the counts of their words: (texts, words)."""
    from scipy import sparse

    of_words, ngrams = string_counts(
        chain.from_iterable(map(_ngrams, word.split())) for word in words
    )
    if not of_words.nnz:
        return sparse.csr_array((counts.shape[0], 1), dtype=dtype)
    column_of = np.empty(len(ngrams), np.int32)  # sorted, so that sums have a fixed order
    column_of[sorted(range(len(ngrams)), key=ngrams.__getitem__)] = np.arange(len(ngrams))
    of_words.indices = column_of[of_words.indices]
    of_words.has_sorted_indices = False
    ngram_counts = counts @ of_words  # n-grams do not cross words: (texts, n-grams)
    ngram_counts.sort_indices()
    return _weigh(ngram_counts, dtype)


def string_counts(rows: Iterable[Iterable[str]]) -> tuple[Any, list[str]]:
    """How often each row has each string, a scipy.sparse.csr_array, and the strings."""
    from scipy import sparse

    number_of: dict[str, int] = {}
    columns, ends = array("i"), array("q", [0])
    for row in rows:
        columns.extend([number_of.setdefault(string, len(number_of)) for string in row])
        ends.append(len(columns))
    distinct = list(number_of) or [""]
    ones = np.ones(len(columns), np.float32)
    shape = (len(ends) - 1, len(distinct))
    counts = sparse.csr_array((ones, np.array(columns), np.array(ends)), shape=shape)
    counts.sum_duplicates()
    return counts, distinct


def _ngrams(word: str) -> Iterator[str]:
    """The n-grams of a word between two spaces; a shorter word counts once."""
    padded = f" {word} "
    for length in LENGTHS:
        for start in range(max(1, len(padded) - length + 1)):
            yield padded[start : start + length]
        if len(padded) <= length:
            break


def _weigh(counts: Any, dtype: npt.DTypeLike) -> Any:
    """The weights of n-grams by their counts; see `ngram_weights`."""
    from scipy import sparse

    texts = counts.shape[0]
    shared = np.bincount(counts.indices, minlength=counts.shape[1])  # texts that have an n-gram
    idf = np.log((texts + 1) / (shared + 1)) + 1
    is_same = counts.data.dtype == np.dtype(dtype)
    values = counts.data if is_same else np.empty(len(counts.data), dtype)
    for start in range(0, texts, TEXTS_AT_ONCE):
        ends = counts.indptr[start : start + TEXTS_AT_ONCE + 1]
        part = slice(ends[0], ends[-1])
        weights = counts.data[part] * idf[counts.indices[part]]
        owner = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        lengths = np.sqrt(np.bincount(owner, weights**2, minlength=len(ends) - 1))
        values[part] = weights / lengths[owner]
    return sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)


Floats: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.int64]

# The columns of `StringView.pairs` and `block`, each from 0 (different) to 1:
FEATURES = (
    "ngrams",  # cosine of the tf-idf weights of their character n-grams
    "jaccard",  # of their sets of words: shared by all
    "containment",  # the share of the shorter one's words that the other one has
    "edit",  # 2 x longest common subsequence / both lengths
    "sorted",  # the same, with the words of both in alphabetical order
    "jaro_winkler",
    "acronym",  # 1 where one is the initials of the other, with or without its stop words
    "digits",  # 1 where both hold the same numbers, or none
)


@dataclass(frozen=True, eq=False)
class StringView:
    """The similarities (`FEATURES`) of any two of some surfaces; case does not count.

    `pairs` compares lists of pairs, `block` all pairs between rows and columns. Words are those
    of `normalization.tokens`; a surface without any is one word. `_` counts as a space.
    """

    surfaces: Sequence[str]

    def pairs(self, left: Numbers, right: Numbers) -> Floats:
        """The similarities of surface left[i] and surface right[i]: (pairs, features)."""
        result = np.empty((len(left), len(FEATURES)), np.float32)
        for start in range(0, len(left), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            dots = [row_dots(m, left[part], right[part]) for m in (self.ngrams, self.words)]
            self._fill(result[part], left[part], right[part], dots, process.cpdist)
        return result

    def block(self, rows: Numbers, columns: Numbers) -> Floats:
        """The similarities of each row with each column: (rows, columns, features).

        A value takes 4 bytes.
        """
        result = np.empty((len(rows), len(columns), len(FEATURES)), np.float32)
        if result.size:  # rapidfuzz asks for something to compare
            dots = [(m[rows] @ m[columns].T).toarray() for m in (self.ngrams, self.words)]
            self._fill(result, rows[:, None], columns, dots, process.cdist)
        return result

    def _fill(
        self, result: Floats, left: Numbers, right: Numbers, dots: Sequence[Any], compare: Any
    ) -> None:
        """All features; `dots` are those of the n-grams and of the words."""
        result[..., 0], shared = dots
        ours, theirs = self.word_counts[left], self.word_counts[right]
        result[..., 1] = shared / (ours + theirs - shared)
        result[..., 2] = shared / np.minimum(ours, theirs)
        edit = distance.Indel.normalized_similarity
        jaro_winkler = distance.JaroWinkler.normalized_similarity
        for feature, texts, scorer in (
            (3, self.texts, edit),
            (4, self.sorted_texts, edit),
            (5, self.texts, jaro_winkler),
        ):
            queries, choices = ([texts[row] for row in side.ravel()] for side in (left, right))
            result[..., feature] = compare(queries, choices, scorer=scorer, dtype=np.float32)
        joined, initials = self.acronyms
        result[..., 6] = np.any(
            [(joined[left] == i[right]) | (i[left] == joined[right]) for i in initials], axis=0
        )
        result[..., 7] = self.digits[left] == self.digits[right]
        np.clip(result, 0, 1, out=result)

    @cached_property
    def ngrams(self) -> Any:
        """The tf-idf weights of the character n-grams, rows of length one: (surfaces, n-grams)."""
        return ngram_weights(self.texts)

    @cached_property
    def texts(self) -> list[str]:
        """The surfaces as they are compared."""
        return [plain(surface) for surface in self.surfaces]

    @cached_property
    def _tokens(self) -> list[tuple[str, ...]]:
        both = zip(self.surfaces, self.texts, strict=True)
        return [tokens(surface) or (text,) for surface, text in both]

    @cached_property
    def sorted_texts(self) -> list[str]:
        """The same with their words in alphabetical order."""
        return [" ".join(sorted(words)) for words in self._tokens]

    @cached_property
    def words(self) -> Any:
        """1 where a surface has a word: (surfaces, words)."""
        return string_counts(map(dict.fromkeys, self._tokens))[0]

    @cached_property
    def word_counts(self) -> Floats:
        """How many different words each surface has: (surfaces,)."""
        return np.array([len(set(words)) for words in self._tokens], np.float32)

    @cached_property
    def acronyms(self) -> tuple[Numbers, tuple[Numbers, Numbers]]:
        return acronym_numbers(self._tokens)

    @cached_property
    def digits(self) -> Numbers:
        """Equal numbers where the surfaces hold the same runs of digits, in any order."""
        number_of: dict[tuple[str, ...], int] = {}
        runs = (tuple(sorted(re.findall(r"\d+", text))) for text in self.texts)
        return np.array([number_of.setdefault(run, len(number_of)) for run in runs], np.int64)


def acronym_numbers(
    names: Sequence[Sequence[str]],
) -> tuple[Numbers, tuple[Numbers, Numbers]]:
    """A number for the letters of each name, and for its initials with and without stop words.

    Names are given by their words. Two numbers are equal where the letters are; the initials of a
    single word, and those that are the letters of no name, have the number -1.
    """
    number_of: dict[str, int] = {}
    joined = [number_of.setdefault("".join(words), len(number_of)) for words in names]

    def initials(words: Sequence[str]) -> int:
        letters = "".join(word[:1] for word in words)
        return number_of.get(letters, -1) if len(words) > 1 else -1

    every = [initials(words) for words in names]
    content = [initials([w for w in words if w not in STOP_WORDS]) for words in names]
    return np.array(joined, np.int64), (np.array(every, np.int64), np.array(content, np.int64))


def row_dots(matrix: Any, left: Numbers, right: Numbers) -> Any:
    """The dot product of row left[i] with row right[i] of a sparse matrix: (pairs,)."""
    return np.asarray(matrix[left].multiply(matrix[right]).sum(axis=1))


def plain(surface: str) -> str:
    """A surface as it is compared: case folded, `_` and runs of whitespace as one space."""
    return " ".join(surface.casefold().replace("_", " ").split())


WIDEST = 1024  # of a vector of a name: a model of strangers cannot ask for more memory
WORD_LENGTHS = (3, 4, 5)  # of character n-grams, within words
_NAMES_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class StaticEncoder:
    """A table of int8 vectors: rows of the word pieces first, then of the hashed n-grams."""

    pieces: tuple[str, ...]  # continuations start with ##, as in BERT's vocabularies
    table: npt.NDArray[np.int8]  # (pieces + buckets, dimension)
    scales: Floats  # (pieces + buckets,); a row's vector is its scale times its int8 values

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or len(self.table) <= len(self.pieces):
            shape = f"{len(self.pieces)} word pieces and a table of {self.table.shape}"
            raise ModelError(f"the static encoder has {shape}, without room for n-grams")
        if self.table.dtype != np.int8 or self.dimension > WIDEST:
            problem = f"the static encoder has {self.dimension} dimensions of {self.table.dtype}"
            raise ModelError(f"{problem}; expected at most {WIDEST} of int8")
        if self.scales.shape != (len(self.table),):
            raise ModelError(f"{len(self.table)} rows but scales of shape {self.scales.shape}")

    @property
    def dimension(self) -> int:
        return int(self.table.shape[1])

    def encode(self, names: Sequence[str]) -> Floats:
        """The unit vector of each name; zeros for a name without words: (names, dim)."""
        counts, words = string_counts(map(name_words, names))
        vectors = self.encode_words(words)
        return add_words(counts, vectors)[0]

    def encode_words(self, words: Sequence[str]) -> Floats:
        """The vector of each word, not scaled: (words, dim)."""
        parts = [np.zeros((0, self.dimension), np.float32)]
        for start in range(0, len(words), _NAMES_AT_ONCE):
            bags = word_rows(words[start : start + _NAMES_AT_ONCE], self._piece_rows, self.buckets)
            bags.data = self.scales[bags.indices]
            parts.append(np.asarray(bags @ self.table.astype(np.float32), np.float32))
        return np.concatenate(parts)

    @property
    def buckets(self) -> int:
        """The number of rows that character n-grams are hashed to."""
        return len(self.table) - len(self.pieces)

    @cached_property
    def _piece_rows(self) -> dict[str, int]:
        return {piece: row for row, piece in enumerate(self.pieces)}


def add_words(counts: Any, vectors: Floats) -> tuple[Floats, Floats]:
    """The sum of the vectors of each name's words, as a unit row and its length.

    `counts` says how often a name has a word: a scipy.sparse.csr_array (names, words).
    """
    rows = np.empty((counts.shape[0], vectors.shape[1]), np.float32)
    lengths = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _NAMES_AT_ONCE):
        part = slice(start, start + _NAMES_AT_ONCE)
        sums = np.asarray(counts[part] @ vectors, np.float32)
        rows[part], lengths[part] = unit_rows(sums), np.linalg.norm(sums, axis=1)
    return rows, lengths


def word_rows(words: Sequence[str], piece_rows: dict[str, int], buckets: int) -> Any:
    """How often each row of the table occurs in each word: a scipy.sparse.csr_array."""
    from scipy import sparse

    columns: list[int] = []
    ends = [0]
    for word in words:
        columns += word_pieces(word, piece_rows)
        columns += [len(piece_rows) + bucket for bucket in ngram_buckets(word, buckets)]
        ends.append(len(columns))
    ones = np.ones(len(columns), np.float32)
    return sparse.csr_array((ones, columns, ends), shape=(len(words), len(piece_rows) + buckets))


def word_pieces(word: str, piece_rows: dict[str, int]) -> list[int]:
    """The longest known pieces from left to right; what no piece begins with is skipped."""
    rows: list[int] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else f"##{word[start:end]}"
            if piece in piece_rows:
                rows.append(piece_rows[piece])
                start = end
                break
        else:
            start += 1
    return rows


def ngram_buckets(word: str, buckets: int) -> Iterable[int]:
    """The buckets of the character n-grams of a word, its ends marked."""
    padded = f"<{word}>"
    for length in WORD_LENGTHS:
        for start in range(len(padded) - length + 1):
            yield zlib.crc32(padded[start : start + length].encode()) % buckets
