"""The map of terms in a report."""

from __future__ import annotations

import math

import numpy as np
import pytest

from synsetmine.errors import DataError
from synsetmine.pipeline.report.findings import term_map
from synsetmine.types import Term
from synsetmine.views import TermVectors
from tests.support.worlds import make_world


def test_synonyms_lie_closer_than_others() -> None:
    sets, vectors = make_world(entities=40, noise=0.1)
    placed = term_map(vectors, vectors.terms, seed=1)
    assert [term for term, _, _ in placed] == list(vectors.terms)
    places = np.array([(x, y) for _, x, y in placed])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)  # (terms, terms)
    np.fill_diagonal(apart, np.inf)
    labels = np.array(sets.labels(vectors.terms))
    hits = labels[apart.argmin(axis=1)] == labels
    assert np.mean(hits) > 0.8


def test_the_map_depends_on_its_seed_alone() -> None:
    _, vectors = make_world(entities=15)
    first = term_map(vectors, vectors.terms, seed=3)
    assert term_map(vectors, vectors.terms, seed=3) == first
    scaled = TermVectors(vectors.terms, vectors.matrix * np.float32(4))
    assert term_map(scaled, vectors.terms, seed=3) == first  # angles count, lengths do not


def test_the_first_terms_with_a_vector_are_placed() -> None:
    _, vectors = make_world(entities=20)
    wanted = [Term("unknown"), *vectors.terms[5:], vectors.terms[5]]
    assert [t for t, _, _ in term_map(vectors, wanted, seed=0, most=8)] == list(vectors.terms[5:13])
    assert term_map(vectors, [Term("unknown")], seed=0) == []
    assert term_map(vectors, vectors.terms, seed=0, most=0) == []


@pytest.mark.parametrize("count", [1, 2, 3, 29, 40])
@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("kind", ["random", "equal", "zero"])
def test_small_and_flat_tables_have_a_map(count: int, dimension: int, kind: str) -> None:
    random = np.random.default_rng(0).normal(size=(count, dimension)).astype(np.float32)
    matrix = {"random": random, "equal": np.ones_like(random), "zero": np.zeros_like(random)}[kind]
    vectors = TermVectors(tuple(Term(f"t{i}") for i in range(count)), matrix)
    placed = term_map(vectors, vectors.terms, seed=0)
    assert len(placed) == count
    assert np.isfinite([place[1:] for place in placed]).all()


def test_few_terms_stand_along_their_main_axes() -> None:
    vectors = np.array([[1, 0, 0.1], [1, 0.2, 0], [0, 1, 0], [0.1, 1, 0.1]], np.float32)
    table = TermVectors(tuple(map(Term, "abcd")), vectors)
    a, b, c, d = ((x, y) for _, x, y in term_map(table, table.terms, seed=0))
    assert math.dist(a, b) < math.dist(a, c)
    assert math.dist(c, d) < math.dist(b, d)


def test_a_broken_vector_is_named() -> None:
    table = TermVectors((Term("a"),), np.array([[math.nan]], np.float32))
    with pytest.raises(DataError, match="not finite: 'a'"):
        term_map(table, table.terms, seed=0)
