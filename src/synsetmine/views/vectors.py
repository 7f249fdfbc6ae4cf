"""A table of term vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError
from synsetmine.types import Term, first_repeated


@dataclass(frozen=True, eq=False)
class TermVectors:
    """One float32 row a term; the matrix may be memory-mapped."""

    terms: tuple[Term, ...]
    matrix: npt.NDArray[np.float32]  # (terms, dimension)
    source: Path | None = None  # the file that they are from, which errors name

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.dtype != np.float32:
            shape = f"{self.matrix.dtype} {self.matrix.shape}"
            raise DataError("vectors must be a float32 matrix", value=shape)
        if len(self.terms) != len(self.matrix):
            raise DataError(f"{len(self.terms)} terms but {len(self.matrix)} vectors")
        if len(self._row_of) != len(self.terms):
            raise DataError("a term has two vectors", value=str(first_repeated(self.terms)))

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def _row_of(self) -> Mapping[Term, int]:
        return {term: row for row, term in enumerate(self.terms)}

    def __len__(self) -> int:
        return len(self.terms)

    def __contains__(self, term: object) -> bool:
        return term in self._row_of

    def missing(self, terms: Iterable[Term]) -> list[Term]:
        """Those of the terms that have no vector."""
        return [term for term in terms if term not in self._row_of]

    def rows(self, terms: Iterable[Term]) -> npt.NDArray[np.int64]:
        """The row of each term; a term without a vector is an error."""
        try:
            return np.fromiter((self._row_of[term] for term in terms), dtype=np.int64)
        except KeyError as error:
            problem = "this term has no vector"
            raise DataError(problem, path=self.source, value=str(error.args[0])) from None

    def select(self, terms: Sequence[Term]) -> npt.NDArray[np.float32]:
        """The vectors of these terms, row by row, checked to be finite."""
        chosen = self.matrix[self.rows(terms)]  # (terms, dimension)
        bad = np.flatnonzero(~np.isfinite(chosen).all(axis=1))
        if len(bad):
            problem = "this term's vector is not finite"
            raise DataError(problem, path=self.source, value=str(terms[bad[0]]))
        return chosen

    def only(self, terms: Iterable[Term]) -> TermVectors:
        """The part of the table that these terms have, in their order."""
        known = tuple(dict.fromkeys(term for term in terms if term in self))
        return TermVectors(known, np.array(self.matrix[self.rows(known)]), self.source)

    def replaced(self, other: TermVectors) -> TermVectors:
        """This table, with the rows of `other` in place of ours where both know a term."""
        if other.dimension != self.dimension:
            raise DataError(f"vectors of {other.dimension} dimensions for {self.dimension}")
        shared = [term for term in other.terms if term in self]
        matrix = np.array(self.matrix)
        matrix[self.rows(shared)] = other.matrix[other.rows(shared)]
        return TermVectors(self.terms, matrix, self.source)


def unit_rows(matrix: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Rows scaled to length one; a row of zeros stays."""
    # In float64, since squares of extreme float32 values overflow or vanish.
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    scaled: npt.NDArray[np.float32] = (matrix / np.where(lengths > 0, lengths, 1)).astype(
        np.float32
    )
    return scaled
