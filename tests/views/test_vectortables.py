"""Our own form of vector files, and the table in memory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from synsetmine.errors import DataError
from synsetmine.types import Term
from synsetmine.views import TermVectors, read_vectors, write_vectors
from tests.views.test_vectorfiles import A, B, C, assert_refused, assert_same, stored, table

METADATA = {"format": "synsetmine-vectors 1"}

# --- Our own form -----------------------------------------------------------------------------


def test_our_own_form_is_mapped_and_cannot_be_written_through(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_vectors(path, table(A, B, C, dimension=3))
    before = path.read_bytes()
    matrix = read_vectors(path).matrix
    assert isinstance(matrix, np.memmap)
    assert not matrix.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 7
    chosen = read_vectors(path).select([C])
    chosen[:] = 7  # a copy
    assert path.read_bytes() == before


def test_the_same_table_makes_the_same_file(tmp_path: Path) -> None:
    contents = set()
    for _ in range(5):
        write_vectors(tmp_path / "x.safetensors", table(A, B))
        contents.add((tmp_path / "x.safetensors").read_bytes())
    assert len(contents) == 1


def own_tensors() -> dict[str, np.ndarray]:
    return {
        "matrix": np.ones((2, 3), np.float32),
        "names": np.frombuffer("aé".encode(), np.uint8),
        "name_ends": np.array([1, 3]),
    }


def test_the_tensors_of_our_own_form_are_these(tmp_path: Path) -> None:
    save_file(own_tensors(), tmp_path / "x.safetensors", metadata=METADATA)
    vectors = read_vectors(tmp_path / "x.safetensors")
    assert vectors.terms == (A, Term("é"))
    assert vectors.matrix.tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("matrix", None),
        ("names", None),
        ("name_ends", None),
        ("matrix", np.ones((2, 3), np.float64)),
        ("matrix", np.ones((2, 3), np.float16)),
        ("matrix", np.ones((2, 3), np.int32)),
        ("matrix", np.ones((3, 3), np.float32)),
        ("matrix", np.ones((2, 0), np.float32)),
        ("matrix", np.ones((0, 3), np.float32)),
        ("matrix", np.ones(6, np.float32)),
        ("matrix", np.ones((1, 2, 3), np.float32)),
        ("names", np.frombuffer(b"a\xff\xff", np.uint8)),
        ("names", np.frombuffer(b"aa", np.uint8)),
        ("name_ends", np.array([1, 1])),
        ("name_ends", np.array([2, 3])),
        ("name_ends", np.array([3, 1])),
        ("name_ends", np.array([1.5, 3.0])),
        ("name_ends", np.array([[1, 3]])),
        ("name_ends", np.array(3)),
        ("name_ends", np.array([1, 3, 3])),
    ],
)
def test_tensors_that_do_not_fit_are_refused(
    tmp_path: Path, name: str, tensor: np.ndarray | None
) -> None:
    tensors = own_tensors()
    if tensor is None:
        del tensors[name]
    else:
        tensors[name] = tensor
    path = tmp_path / "x.safetensors"
    save_file(tensors, path, metadata=METADATA)
    assert_refused(path, ": ")


@pytest.mark.parametrize(
    "metadata",
    [None, {}, {"format": "pt"}, {"format": "synsetmine-vectors 2"}, {"version": "1"}],
)
def test_foreign_safetensors_are_refused(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    path = tmp_path / "x.safetensors"
    save_file(own_tensors(), path, metadata=metadata)
    assert_refused(path, ": not a file of the format 'synsetmine-vectors 1'")


def test_damaged_safetensors_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_vectors(path, table(A, B))
    good = path.read_bytes()
    header = json.dumps({"matrix": "none"}).encode()
    for damaged in (
        b"",
        b"text\n",
        good[:4],
        good[:50],
        good[:-1],
        good + b"more",
        b"\xff" * 100,
        len(header).to_bytes(8, "little") + header,
    ):
        assert_refused(stored(tmp_path, damaged, path.name), ": damaged vector file (")


# --- The table --------------------------------------------------------------------------------


def test_rows_missing_and_select_follow_the_terms_asked_for() -> None:
    vectors = table(A, B, C)
    assert len(vectors) == 3
    assert vectors.dimension == 2
    assert A in vectors
    assert Term("new york") not in vectors  # another sense is another term
    assert vectors.missing([Term("x"), B, Term("new york"), A]) == [Term("x"), Term("new york")]
    assert vectors.rows([C, A, C]).tolist() == [2, 0, 2]
    assert vectors.select([C, A, C]).tolist() == [[4, 5], [0, 1], [4, 5]]
    assert vectors.rows([]).tolist() == []
    assert vectors.select([]).shape == (0, 2)


def test_a_term_without_a_vector_is_named() -> None:
    for ask in (table(A).rows, table(A).select):
        with pytest.raises(DataError, match=r"has no vector: 'new york\|\|m\.01'"):
            ask([A, B])


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_cannot_be_selected(number: float) -> None:
    vectors = TermVectors((A, C), np.array([[1, 2], [3, number]], np.float32))
    assert vectors.select([A]).tolist() == [[1, 2]]
    with pytest.raises(DataError, match="not finite: 'c'"):
        vectors.select([A, C])


def test_rows_are_replaced_where_both_tables_know_a_term() -> None:
    ours = table(A, B, C)
    other = TermVectors((Term("x"), C, A), np.array([[7, 7], [8, 8], [9, 9]], np.float32))
    found = ours.with_vectors(other)
    assert found.terms == ours.terms
    assert found.matrix.tolist() == [[9, 9], [2, 3], [8, 8]]
    assert ours.matrix.tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(DataError, match="expected vectors of 2 dimensions; got 3"):
        ours.with_vectors(table(A, dimension=3))


def test_a_mapped_table_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    write_vectors(path, table(A, B))
    found = read_vectors(path).with_vectors(TermVectors((B,), np.full((1, 2), 9, np.float32)))
    assert found.matrix.tolist() == [[0, 1], [9, 9]]
    assert_same(read_vectors(path), table(A, B))


@pytest.mark.parametrize(
    ("terms", "matrix", "problem"),
    [
        ((A, C), np.ones((2, 2)), r"float32 matrix; .* converts: 'float64 \(2, 2\)'"),
        ((A, C), np.ones(2, np.float32), r"float32 matrix; .* converts: 'float32 \(2,\)'"),
        ((A, C), np.ones((3, 2), np.float32), "2 terms but 3 vectors"),
        ((A, C, A), np.ones((3, 2), np.float32), "two vectors: 'a'"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    terms: tuple[Term, ...], matrix: np.ndarray, problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        TermVectors(terms, matrix)
