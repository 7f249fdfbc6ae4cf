"""Vectors of terms, and all views of terms together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError
from synsetmine.normalization import normal_form, tokens
from synsetmine.text.evidence import Evidence
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


View: TypeAlias = Literal["vectors", "strings", "encoder"]


@dataclass(frozen=True)
class TermViews:
    """What is known of terms beside their surfaces."""

    vectors: tuple[TermVectors, ...] = ()  # corpus vectors, the main table first
    encoder: TermVectors | None = None  # a sentence encoder's vectors of the surfaces
    learned: frozenset[str] = frozenset()  # surfaces that the encoder was tuned on
    strings: bool = True  # whether models may look at the surfaces
    evidence: Evidence | None = None  # what a corpus says of pairs of terms

    def table(self, view: View) -> TermVectors:
        """The table of a view that is one."""
        table = self.encoder if view == "encoder" else next(iter(self.vectors), None)
        if table is None or view == "strings":
            raise DataError("no vector table for this view", value=view)
        return table

    def has(self, view: View) -> bool:
        if view == "strings":
            return self.strings
        return bool(self.vectors) if view == "vectors" else self.encoder is not None

    def only(self, views: Collection[View]) -> TermViews:
        """These views and no others."""
        return replace(
            self,
            vectors=self.vectors if "vectors" in views else (),
            encoder=self.encoder if "encoder" in views else None,
            strings="strings" in views,
        )


def vectors_for(terms: Iterable[Term], table: TermVectors) -> TermVectors:
    """The vectors of the terms that the table knows, as written or in the same normal form.

    A term of several words that the table does not hold as one gets the mean of its words'
    vectors, if it has them all. Other terms are left out.
    """
    row_of: dict[str, int] = {}
    for row, known in enumerate(table.terms):
        row_of.setdefault(normal_form(known.surface), row)
        row_of.setdefault(" ".join(tokens(known.surface)), row)  # `USA` also serves for `usa`
    found: dict[Term, npt.NDArray[np.float32]] = {}
    for term in dict.fromkeys(terms):
        rows = _rows(term, table, row_of)
        if rows:
            found[term] = table.matrix[rows].mean(axis=0)
    matrix = np.stack(list(found.values())) if found else np.zeros((0, table.dimension))
    return TermVectors(tuple(found), matrix.astype(np.float32))


def _rows(term: Term, table: TermVectors, row_of: dict[str, int]) -> list[int]:
    if term in table:
        return [int(table.rows([term])[0])]
    words = tokens(term.surface)
    for form in (normal_form(term.surface), " ".join(words)):
        if form in row_of:
            return [row_of[form]]
    rows = [row_of[word] for word in words if word in row_of]
    return rows if len(rows) == len(words) else []
