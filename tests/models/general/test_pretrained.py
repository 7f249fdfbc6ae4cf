"""Vectors from a table that was trained elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from synsetmine.types import Term
from synsetmine.views import TermVectors
from synsetmine.views.vectors import vectors_for

TABLE = TermVectors(
    tuple(map(Term, ["new_york", "heart", "failure", "USA", "us", "The", "u.k."])),
    np.arange(14, dtype=np.float32).reshape(7, 2),
)


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("new_york", [0, 1]),  # as written
        ("New York", [0, 1]),  # the same normal form
        ("heart failure", [3, 4]),  # the mean of its words
        ("Heart-Failure", [3, 4]),
        ("USA", [6, 7]),
        ("usa", [6, 7]),  # better than none
        ("US", [8, 9]),
        ("U.K.", [12, 13]),
    ],
)
def test_known_terms(surface: str, expected: list[float]) -> None:
    assert vectors_for([Term(surface)], TABLE).matrix.tolist() == [expected]


@pytest.mark.parametrize("surface", ["liver failure", "x", "--"])
def test_terms_with_a_word_that_has_no_vector_are_left_out(surface: str) -> None:
    assert len(vectors_for([Term(surface)], TABLE)) == 0


def test_senses_of_a_surface_share_its_vector() -> None:
    found = vectors_for([Term("heart", "a"), Term("liver"), Term("heart", "b")], TABLE)
    assert found.terms == (Term("heart", "a"), Term("heart", "b"))
    assert found.matrix.tolist() == [[2, 3], [2, 3]]
    assert found.dimension == 2
