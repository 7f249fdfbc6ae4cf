"""The static name encoder: a vector for a name without a neural network at run time.

A name is the sum of its words; a word is the sum of one learned vector for each of its word pieces
and hashed character n-grams. Each row of the table carries its own weight in its length. The sum
is scaled to length one, so that a dot product is a cosine.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.errors import ModelError
from synsetmine.text.words import name_words
from synsetmine.views.strings import string_counts
from synsetmine.views.vectors import unit_rows

Floats: TypeAlias = npt.NDArray[np.float32]
Rows: TypeAlias = npt.NDArray[np.int32]

LENGTHS = (3, 4, 5)  # of character n-grams, within words
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
        if self.scales.shape != (len(self.table),):
            raise ModelError(f"{len(self.table)} rows but scales of shape {self.scales.shape}")

    @property
    def dimension(self) -> int:
        return int(self.table.shape[1])

    def encode(self, names: Sequence[str]) -> Floats:
        """The unit vector of each name; zeros for a name without words: (names, dim)."""
        counts, words = string_counts(map(name_words, names))
        vectors = self.encode_words(words)
        rows = np.empty((len(names), self.dimension), np.float32)
        for start in range(0, len(names), _NAMES_AT_ONCE):
            part = slice(start, start + _NAMES_AT_ONCE)
            rows[part] = unit_rows(np.asarray(counts[part] @ vectors, np.float32))
        return rows

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
    for length in LENGTHS:
        for start in range(len(padded) - length + 1):
            yield zlib.crc32(padded[start : start + length].encode()) % buckets
