"""Vectors of terms from a table that was trained elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from synsetmine.text import normal_form, tokens
from synsetmine.types import Term
from synsetmine.views.vectors import TermVectors


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
