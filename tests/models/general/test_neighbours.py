"""The nearest references of queries against brute force, compared as a whole and by cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from synsetmine.models.general import neighbours
from synsetmine.models.general.neighbours import Floats, Positions, nearest_of, nearest_sparse_of
from tests.support.nameworlds import unit_vectors


def brute_force(
    similarity: Floats, is_near: np.ndarray, references: np.ndarray, count: int
) -> Positions:
    """The references of each query in the order of their similarity: (queries, count)"""
    nearest = np.full((len(similarity), count), -1, np.int32)
    for row, values in enumerate(similarity):
        order = [place for place in np.argsort(-values, kind="stable") if is_near[row, place]]
        chosen = references[order[:count]]
        nearest[row, : len(chosen)] = chosen
    return nearest


def split(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries and references, both in a random order."""
    order = np.random.default_rng(seed).permutation(rows)
    cut = rows // 3
    return order[:cut], order[cut:]


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 200), st.integers(1, 9), st.integers(0, 2**16), st.sampled_from((1, 3)))
def test_nearest_rows_are_those_of_brute_force(
    size: int, count: int, seed: int, threads: int
) -> None:
    rows = unit_vectors(size, 5, seed)
    rows[np.random.default_rng(seed).random(size) < 0.2] = 0  # unknown
    queries, references = split(size, seed)
    known = (rows != 0).any(axis=1)
    expected = brute_force(
        rows[queries] @ rows[references].T,
        np.logical_and.outer(known[queries], known[references]),
        references,
        count,
    )
    nearest = nearest_of(rows, queries, references, count, threads=threads)
    np.testing.assert_array_equal(nearest, expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 120), st.integers(1, 6), st.integers(0, 2**16), st.sampled_from((1, 3)))
def test_nearest_sparse_rows_are_those_of_brute_force(
    size: int, count: int, seed: int, threads: int
) -> None:
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((size, 12)) < 0.2, rng.uniform(0.1, 1, (size, 12)), 0)
    queries, references = split(size, seed)
    similarity = (dense[queries] @ dense[references].T).astype(np.float32)
    nearest = nearest_sparse_of(
        sparse.csr_array(dense), queries, references, count, threads=threads
    )
    np.testing.assert_array_equal(
        nearest, brute_force(similarity, similarity > 0, references, count)
    )


@pytest.fixture
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a few hundred rows take the path of millions."""
    monkeypatch.setattr(neighbours, "QUERY_PAIRS", 1)
    monkeypatch.setattr(neighbours, "EXACT_ROWS", 1)
    monkeypatch.setattr(neighbours, "CELL_ROWS", 16)
    monkeypatch.setattr(neighbours, "SPARSE_ROWS", 7)


def clustered(size: int, seed: int) -> Floats:
    """Unit rows around a tenth as many centres, in a random order."""
    rng = np.random.default_rng(seed)
    centres = unit_vectors(size // 10, 16, seed)
    rows = centres[rng.integers(len(centres), size=size)] + rng.normal(0, 0.1, (size, 16))
    unit: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.mark.usefixtures("small_cells")
def test_cells_find_nearly_all_nearest_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "QUERY_CELLS", 3)
    rows = clustered(900, 3)
    rows[::50] = 0
    queries, references = split(len(rows), 4)
    near = nearest_of(rows, queries, references, 5)
    np.testing.assert_array_equal(near, nearest_of(rows, queries, references, 5, threads=3))
    monkeypatch.setattr(neighbours, "QUERY_PAIRS", 1 << 33)
    exact = nearest_of(rows, queries, references, 5)
    assert ((near == -1) == (exact == -1)).all()
    pairs = zip(near.tolist(), exact.tolist(), strict=True)
    shared = sum(len({*some} & {*others} - {-1}) for some, others in pairs)
    assert 0.9 * (exact >= 0).sum() <= shared < (exact >= 0).sum()  # not all cells were compared


@pytest.mark.usefixtures("small_cells")
def test_all_cells_are_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "QUERY_CELLS", 1000)
    rows = unit_vectors(300, 8, 0)
    queries, references = split(300, 1)
    everyone = np.ones((len(queries), len(references)), np.bool_)
    expected = brute_force(rows[queries] @ rows[references].T, everyone, references, 4)
    np.testing.assert_array_equal(nearest_of(rows, queries, references, 4), expected)


@pytest.mark.usefixtures("small_cells")
def test_rare_columns_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a column that all rows have, each query shares a rare one with its twin alone."""
    size = 60
    matrix = sparse.csr_array(
        (
            np.tile([3.0, 1.0], 2 * size),
            np.stack([np.zeros(2 * size, int), 1 + np.tile(np.arange(size), 2)], axis=1).ravel(),
            np.arange(0, 4 * size + 1, 2),
        ),
        shape=(2 * size, size + 1),
    )
    queries, references = np.arange(size), np.arange(size, 2 * size)
    everything = nearest_sparse_of(matrix, queries, references, 3)
    assert (everything[:, 0] == references).all()
    assert (everything >= 0).all()
    monkeypatch.setattr(neighbours, "QUERY_POSTINGS", 10)
    rare = nearest_sparse_of(matrix, queries, references, 3)
    assert (rare[:, 0] == references).all()
    assert (rare[:, 1:] == -1).all()  # the frequent column is not looked at


def test_without_queries_or_references() -> None:
    rows, none = unit_vectors(4, 3, 0), np.empty(0, np.int64)
    matrix = sparse.csr_array(np.abs(rows))
    some = np.array([1, 2])
    for nearest in (nearest_of(rows, some, none, 2), nearest_sparse_of(matrix, some, none, 2)):
        assert nearest.tolist() == [[-1, -1], [-1, -1]]
    for nearest in (nearest_of(rows, none, some, 2), nearest_sparse_of(matrix, none, some, 2)):
        assert nearest.shape == (0, 2)
