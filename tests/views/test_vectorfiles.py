"""Vector files against independent readers and writers, and the table they fill."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.types import Term
from synsetmine.views import TermVectors, read_vectors, write_vectors
from tests.support.strategies import term_vectors

quick = settings(max_examples=60, deadline=None)

A, B, C = Term("a"), Term("new york", "m.01"), Term("c")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vectors")


def stored(folder: Path, content: str | bytes, name: str = "x.txt") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def table(*terms: Term, dimension: int = 2) -> TermVectors:
    size = len(terms) * dimension
    return TermVectors(terms, np.arange(size, dtype=np.float32).reshape(-1, dimension))


def assert_same(found: TermVectors, expected: TermVectors) -> None:
    assert found.terms == expected.terms
    assert found.matrix.dtype == np.float32
    assert found.matrix.shape == expected.matrix.shape
    assert found.matrix.tobytes() == expected.matrix.tobytes()  # to the bit: -0.0 is not 0.0


def assert_refused(path: Path, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(f"{path}{problem}")


# --- Round trips ------------------------------------------------------------------------------


@given(term_vectors())
@quick
def test_our_own_form_holds_any_term(folder: Path, vectors: TermVectors) -> None:
    write_vectors(folder / "x.safetensors", vectors)
    assert_same(read_vectors(folder / "x.safetensors"), vectors)


@pytest.mark.parametrize("name", ["x.txt", "x.embed", "x.bin", "x.txt.gz", "x.bin.gz"])
@given(term_vectors(blanks=False))
@quick
def test_word2vec_forms_are_read_back_to_the_bit(
    folder: Path, name: str, vectors: TermVectors
) -> None:
    write_vectors(folder / name, vectors)
    assert_same(read_vectors(folder / name), vectors)


@pytest.mark.parametrize("name", ["x.txt.gz", "x.bin.gz"])
def test_a_name_that_promises_gzip_gets_gzip(tmp_path: Path, name: str) -> None:
    write_vectors(tmp_path / name, table(A))
    write_vectors(tmp_path / name.removesuffix(".gz"), table(A))
    unpacked = gzip.decompress((tmp_path / name).read_bytes())
    assert unpacked == (tmp_path / name.removesuffix(".gz")).read_bytes()


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\u00a0", "\u2028"])
@pytest.mark.parametrize("name", ["x.txt", "x.bin"])
def test_word2vec_forms_refuse_to_write_blanks(tmp_path: Path, name: str, blank: str) -> None:
    path = stored(tmp_path, "old", name)
    with pytest.raises(DataError, match=r"whitespace; write \.safetensors") as caught:
        write_vectors(path, table(A, Term(f"new{blank}york")))
    assert repr(f"new{blank}york") in str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# --- The text form ----------------------------------------------------------------------------


def test_terms_with_blanks_are_read_from_the_right(tmp_path: Path) -> None:
    path = stored(tmp_path, "3 2\nnew york||m.01 1 2\n a  3 4 \n1 2 5 6\n")
    vectors = read_vectors(path)
    assert vectors.terms == (Term("new york", "m.01"), Term(" a "), Term("1 2"))
    assert vectors.matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("end", ["\n", " \n", "\r\n"])
def test_the_form_of_glove_needs_no_header(tmp_path: Path, end: str) -> None:
    path = stored(tmp_path, end.join(["the 0.1 -2e-3 3", "new york 4 5 6", "", "a 7 8 9"]))
    vectors = read_vectors(path)
    assert vectors.terms == (Term("the"), Term("new york"), A)
    expected = np.array([[0.1, -2e-3, 3], [4, 5, 6], [7, 8, 9]], dtype=np.float32)
    assert vectors.matrix.tobytes() == expected.tobytes()


def test_byte_order_mark_and_foreign_line_ends_are_read(tmp_path: Path) -> None:
    path = stored(tmp_path, "\ufeff1 2\r\nnaïve 1 2\r\n\r\n")
    assert read_vectors(path).terms == (Term("naïve"),)


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
@quick
def test_written_text_is_exact_for_other_readers(folder: Path, numbers: list[float]) -> None:
    path = folder / "exact.txt"
    write_vectors(path, TermVectors((A,), np.array([numbers], np.float32)))
    header, row = path.read_text().splitlines()
    assert header == f"1 {len(numbers)}"
    assert [struct.pack("<f", float(text)) for text in row.split(" ")[1:]] == [
        struct.pack("<f", number) for number in numbers
    ]


BROKEN_ROWS = [
    ("b 1", "expected a term and 2 numbers: 'b 1'"),
    ("b", "expected a term and 2 numbers: 'b'"),
    ("1 2", "expected a term and 2 numbers: '1 2'"),
    (" 1 2", "expected a term and 2 numbers: ' 1 2'"),
    ("b 1 x", "expected a term and 2 numbers: 'b 1 x'"),
    ("b\t1\t2", r"expected a term and 2 numbers: 'b\t1\t2'"),
    ("b 1,5 2", "expected a term and 2 numbers: 'b 1,5 2'"),
    ("b 1  2", "expected a term and 2 numbers: 'b 1  2'"),
    ("b nan 1", "not a finite vector: 'b [nan, 1.0]'"),
    ("b 1 -inf", "not a finite vector: 'b [1.0, -inf]'"),
    ("b 1 1e39", "not a finite vector: 'b [1.0, inf]'"),
    ("a 3 4", "this term already has a vector: 'a'"),
    ("||m.01 1 2", "a term needs a surface: '||m.01'"),
    (b"M\xfcnchen 1 2", r"not UTF-8: b'M\xfcnchen 1 2\n'"),
]


@pytest.mark.parametrize("header", [b"", b"3 2\n"], ids=["glove", "word2vec"])
@pytest.mark.parametrize(("row", "problem"), BROKEN_ROWS)
def test_a_broken_row_is_reported_and_can_be_skipped(
    tmp_path: Path, header: bytes, row: str | bytes, problem: str
) -> None:
    broken = row.encode() if isinstance(row, str) else row
    path = stored(tmp_path, header + b"a 1 2\n" + broken + b"\nc 5 6\n")
    line = 3 if header else 2
    assert_refused(path, f":{line}: {problem}")
    skipped: list[DataError] = []
    vectors = read_vectors(path, skipped=skipped)
    assert vectors.terms == (A, C)
    assert vectors.matrix.tolist() == [[1, 2], [5, 6]]
    assert str(skipped[0]).startswith(f"{path}:{line}: {problem}")


def test_a_text_file_that_ends_early_is_noticed(tmp_path: Path) -> None:
    path = stored(tmp_path, "3 2\na 1 2\nc 5 6\n")
    assert_refused(path, ":3: the file ends after 2 of 3 vectors")
    skipped: list[DataError] = []
    assert read_vectors(path, skipped=skipped).terms == (A, C)
    assert len(skipped) == 1


# --- The binary form --------------------------------------------------------------------------


def packed(rows: dict[str, list[float]], *, newline: bool, count: int | None = None) -> bytes:
    """A word2vec binary file, written with struct; Google's news vectors have no newlines."""
    dimension = len(next(iter(rows.values())))
    content = f"{len(rows) if count is None else count} {dimension}\n".encode()
    for name, numbers in rows.items():
        content += name.encode() + b" " + struct.pack(f"<{dimension}f", *numbers)
        content += b"\n" if newline else b""
    return content


def unpacked(content: bytes) -> dict[str, tuple[float, ...]]:
    """The rows of a word2vec binary file, read with struct."""
    header, _, rest = content.partition(b"\n")
    count, dimension = map(int, header.split())
    rows = {}
    for _ in range(count):
        name, _, rest = rest.lstrip(b"\n").partition(b" ")
        rows[name.decode()] = struct.unpack_from(f"<{dimension}f", rest)
        rest = rest[4 * dimension :]
    assert rest in (b"", b"\n")
    return rows


@given(term_vectors(blanks=False))
@quick
def test_an_independent_reader_reads_what_we_write(folder: Path, vectors: TermVectors) -> None:
    write_vectors(folder / "ours.bin", vectors)
    rows = unpacked((folder / "ours.bin").read_bytes())
    assert list(rows) == [str(term) for term in vectors.terms]
    assert list(rows.values()) == [tuple(row) for row in vectors.matrix.tolist()]


@given(term_vectors(blanks=False), st.booleans())
@quick
def test_we_read_what_an_independent_writer_writes(
    folder: Path, vectors: TermVectors, newline: bool
) -> None:
    rows = dict(zip(map(str, vectors.terms), vectors.matrix.tolist(), strict=True))
    path = stored(folder, packed(rows, newline=newline), "theirs.bin")
    assert_same(read_vectors(path), vectors)


@pytest.mark.parametrize("newline", [False, True])
def test_numbers_that_look_like_blanks_and_newlines_stay_numbers(
    tmp_path: Path, newline: bool
) -> None:
    lines, blanks = struct.unpack("<2f", b"\n\n\n\n    ")
    rows = {"a": [blanks, lines], "c": [lines, blanks], "d": [0.0, lines]}
    path = stored(tmp_path, packed(rows, newline=newline), "x.bin")
    assert read_vectors(path).matrix.tolist() == list(rows.values())


ROWS = {"a": [1.0, 2.0], "c": [3.0, 4.0]}
BINARY = packed(ROWS, newline=True)


@pytest.mark.parametrize("cut", range(len("2 2\n"), len(BINARY) - 1))
def test_a_binary_file_cut_anywhere_is_refused(tmp_path: Path, cut: int) -> None:
    path = stored(tmp_path, BINARY[:cut], "x.bin")
    first = len("2 2\n") + len("a ") + 8
    assert_refused(path, f": the file ends within record {1 if cut < first else 2} of 2")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ({"a": [1.0, 2.0], "b": [float("nan"), 0.0]}, ":2: not a finite vector: 'b [nan, 0.0]'"),
        ({"a": [1.0, 2.0], "b": [0.0, float("inf")]}, ":2: not a finite vector: 'b [0.0, inf]'"),
        ({"a": [1.0, 2.0], "": [0.0, 0.0]}, ":2: a term needs a surface: '||'"),
        ({"a": [1.0, 2.0], "a||": [0.0, 0.0]}, ":2: this term already has a vector: 'a'"),
    ],
)
def test_a_broken_record_is_reported_and_can_be_skipped(
    tmp_path: Path, rows: dict[str, list[float]], problem: str
) -> None:
    path = stored(tmp_path, packed(rows | {"c": [3.0, 4.0]}, newline=False), "x.bin")
    assert_refused(path, problem)
    skipped: list[DataError] = []
    vectors = read_vectors(path, skipped=skipped)
    assert vectors.terms == (A, C)
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]
    assert [error.line for error in skipped] == [2]


def test_a_binary_term_that_is_not_utf8_can_be_skipped(tmp_path: Path) -> None:
    path = stored(tmp_path, BINARY.replace(b"a ", b"\xfc "), "x.bin")
    assert_refused(path, r":1: not UTF-8: b'\xfc'")
    assert read_vectors(path, skipped=[]).terms == (C,)


# --- Headers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.txt", "x.bin"])
def test_a_count_without_vectors_fails_at_once(tmp_path: Path, name: str) -> None:
    path = stored(tmp_path, "999999999999 50\n", name)
    with pytest.raises(DataError, match=r"ends (after 0|within record 1) of 999999999999"):
        read_vectors(path)


@pytest.mark.parametrize("name", ["x.txt", "x.bin"])
@pytest.mark.parametrize("header", ["1 0", "1 999999999999", f"1 {10**30}", f"{10**30} 2"])
def test_a_header_beyond_reason_is_quoted(tmp_path: Path, name: str, header: str) -> None:
    path = stored(tmp_path, f"{header}\na 1 2\n", name)
    problem = "expected `count dimension` with a dimension from 1 to 1000000"
    assert_refused(path, f":1: {problem}: '{header}'")


def test_a_header_of_thousands_of_digits_is_cut(tmp_path: Path) -> None:
    assert_refused(stored(tmp_path, "9" * 5000 + " 50\n"), ":1: expected `count dimension`")


@pytest.mark.parametrize("content", [b"", b"x", b"2\n", b"a b\n", b"-1 2\n", b"\xff" * 500])
def test_a_binary_file_needs_a_header(tmp_path: Path, content: bytes) -> None:
    assert_refused(stored(tmp_path, content, "x.bin"), ":1: expected `count dimension`: ")


def test_binary_noise_without_blanks_ends_soon(tmp_path: Path) -> None:
    path = stored(tmp_path, b"5 2\n" + b"\x01" * 20_000 + b" " + bytes(8), "x.bin")
    assert_refused(path, ": the file ends within record 1 of 5")


@pytest.mark.parametrize("content", ["", "\n\n", "0 5\n"])
def test_an_empty_text_file_is_an_error(tmp_path: Path, content: str) -> None:
    assert_refused(stored(tmp_path, content), ": no vectors in this file")


@pytest.mark.parametrize("name", ["x.txt", "x.bin", "x.safetensors", "x.txt.gz"])
def test_files_that_cannot_be_read_are_named(tmp_path: Path, name: str) -> None:
    assert_refused(tmp_path / name, ": No such file or directory")
    (tmp_path / name).mkdir()
    assert_refused(tmp_path / name, ": ")
