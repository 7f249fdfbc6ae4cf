"""Vector files: word2vec's text and binary forms, and a fast form of our own.

`.bin` is word2vec's binary form, `.safetensors` our own, anything else word2vec's text form
(`count dimension` on the first line, then `term v1 v2 …`; GloVe's form without that first line is
read too). Our own form holds the matrix and the terms in one file that is memory-mapped, so that
opening a large table costs next to nothing until its rows are used. The first two may be compressed
(.gz, .bz2, .zst).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from synsetmine.errors import DataError, raise_or_keep
from synsetmine.io.files import atomic_write, numbered_lines, open_binary, plain_name, writing
from synsetmine.types import Term
from synsetmine.views.vectors import TermVectors

Row = tuple[Term, npt.NDArray[np.float32]]
FORMAT = "synsetmine-vectors 1"
LONGEST_TERM = 10_000  # bytes; a binary file that goes on longer without a blank is not one
LARGEST_DIMENSION = 1_000_000  # a first line that promises more is not a header


def read_vectors(path: str | Path, *, skipped: list[DataError] | None = None) -> TermVectors:
    """Read a vector file of any of the three forms.

    A broken line raises a DataError with file, line (or record) and value. With a list
    `skipped`, broken lines are left out and their errors collected there.
    """
    path = Path(path)
    if path.suffix == ".safetensors":
        return _read_own(path)
    rows = _binary_rows(path) if _is_binary(path) else _text_rows(path, skipped)
    table: dict[Term, npt.NDArray[np.float32]] = {}
    for number, row in rows:
        problem = row if isinstance(row, DataError) else _take(row, table)
        if problem is None:
            continue
        raise_or_keep(problem.at(path, number), skipped)
    if not table:
        raise DataError("no vectors in this file", path=path)
    return TermVectors(tuple(table), np.stack(list(table.values())), path)


def write_vectors(path: str | Path, vectors: TermVectors) -> None:
    """Write a vector file, whole or not at all; the ending tells the form."""
    path = Path(path)
    finite = np.isfinite(vectors.matrix).all(axis=1)  # our own form is not checked when it is read
    if not finite.all():
        term = vectors.terms[int(np.argmin(finite))]
        raise DataError("this term's vector is not finite", value=str(term))
    if path.suffix == ".safetensors":
        with atomic_write(path) as temporary:
            _write_own(temporary, vectors)
        return
    with writing(path) as stream:
        stream.write(f"{len(vectors)} {vectors.dimension}\n".encode())
        for term, vector in zip(vectors.terms, vectors.matrix, strict=True):
            _write_word2vec(stream, term, vector, binary=_is_binary(path))


def _is_binary(path: Path) -> bool:
    return plain_name(path).endswith(".bin")


def _take(row: Row, table: dict[Term, npt.NDArray[np.float32]]) -> DataError | None:
    """Put a row into the table, or tell why it cannot be."""
    term, vector = row
    if term in table:
        return DataError("this term already has a vector", value=str(term))
    if not np.isfinite(vector).all():
        return DataError("not a finite vector", value=f"{term} {vector.tolist()}")
    table[term] = vector
    return None


def _text_rows(
    path: Path, skipped: list[DataError] | None
) -> Iterator[tuple[int, Row | DataError]]:
    count = dimension = rows = number = 0
    surplus = True  # whether every term seems to end in a number
    for number, line in numbered_lines(path, skipped=skipped):
        if number == 1 and (header := _header(line, path)):
            count, dimension = header
            continue
        if not line.strip():
            continue
        fields = line.rstrip(" ").split(" ")
        dimension = dimension or len(fields) - 1
        if dimension > LARGEST_DIMENSION:
            problem = f"more than {LARGEST_DIMENSION:,} numbers on a line"
            raise DataError(problem, path=path, line=number, value=line)
        # A term may hold blanks, but one that ends in a number may be a longer vector instead.
        longer = len(fields) > dimension + 1 and _is_number(fields[-dimension - 1])
        surplus = surplus and longer
        rows += 1
        if longer and not count:
            yield number, DataError(f"expected a term and {dimension} numbers", value=line)
            continue
        yield number, _text_row(line, dimension)
    if rows and surplus:
        raise DataError(f"more than {dimension} numbers after a term", path=path, line=number)
    if rows != count > 0:
        yield number, DataError(f"the file ends after {rows} of {count} vectors")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _header(line: str, path: Path) -> tuple[int, int] | None:
    """The count and dimension of a first line, or None where it is no header."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    if max(map(len, parts)) > 18 or not 1 <= int(parts[1]) <= LARGEST_DIMENSION:
        problem = f"expected `count dimension` with a dimension from 1 to {LARGEST_DIMENSION}"
        raise DataError(problem, path=path, line=1, value=line)
    return int(parts[0]), int(parts[1])


def _text_row(line: str, dimension: int) -> Row | DataError:
    # From the right, since a term may hold blanks.
    name, *numbers = line.rstrip(" ").rsplit(" ", dimension)
    if len(numbers) != dimension or not name or dimension == 0:
        return DataError(f"expected a term and {dimension} numbers", value=line)
    try:
        with np.errstate(over="ignore"):  # beyond float32 is infinite, which is refused later
            return Term.parse(name), np.array(numbers, dtype=np.float32)
    except ValueError:
        return DataError(f"expected a term and {dimension} numbers", value=line)
    except DataError as error:
        return error


def _binary_rows(path: Path) -> Iterator[tuple[int, Row | DataError]]:
    with open_binary(path) as stream:
        line = stream.readline(100).decode("ascii", "replace").rstrip("\n")
        header = _header(line, path)
        if header is None:
            raise DataError("expected `count dimension`", path=path, line=1, value=line)
        count, dimension = header
        for record in range(1, count + 1):
            name = _binary_term(stream)
            data = stream.read(4 * dimension)
            if name is None or len(data) < 4 * dimension:
                raise DataError(f"the file ends within record {record} of {count}", path=path)
            try:
                yield record, (Term.parse(name.decode()), np.frombuffer(data, dtype="<f4"))
            except UnicodeDecodeError:
                yield record, DataError("not UTF-8", value=name)
            except DataError as error:
                yield record, error


def _binary_term(stream: IO[bytes]) -> bytes | None:
    name = bytearray()
    while (byte := stream.read(1)) != b" ":
        if not byte or len(name) > LONGEST_TERM:
            return None
        name += byte
    return bytes(name.lstrip(b"\n"))


def _write_word2vec(
    stream: IO[bytes], term: Term, vector: npt.NDArray[np.float32], *, binary: bool
) -> None:
    name = str(term)
    if any(c.isspace() for c in name):
        problem = "word2vec files cannot store a term with whitespace; write .safetensors instead"
        raise DataError(problem, value=name)
    numbers = vector.tobytes() if binary else " ".join(map(repr, vector.tolist())).encode()
    stream.write(name.encode() + b" " + numbers + b"\n")


def _write_own(path: Path, vectors: TermVectors) -> None:
    names = [str(term).encode() for term in vectors.terms]
    tensors: dict[str, npt.NDArray[Any]] = {
        "matrix": np.ascontiguousarray(vectors.matrix),
        "names": np.frombuffer(b"".join(names), dtype=np.uint8),
        "name_ends": np.cumsum([len(name) for name in names], dtype=np.int64),
    }
    # One entry only: safetensors writes several in random order, and the file's checksum counts.
    save_file(tensors, path, metadata={"format": FORMAT})


def _read_own(path: Path) -> TermVectors:
    try:
        with safe_open(path, framework="numpy") as stored:
            metadata = stored.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise DataError(f"not a file of the format {FORMAT!r}", value=metadata)
            matrix = stored.get_slice("matrix")
            dtype, shape = matrix.get_dtype(), matrix.get_shape()
            if dtype != "F32" or len(shape) != 2 or 0 in shape:
                problem = "expected a float32 matrix with rows and columns"
                raise DataError(problem, value=f"{dtype} {shape}")
            names = stored.get_tensor("names").tobytes()
            ends = stored.get_tensor("name_ends").tolist()
        terms = [
            Term.parse(names[start:end].decode())
            for start, end in zip([0, *ends], ends, strict=False)
        ]
        return TermVectors(tuple(terms), _mapped(path, "matrix"), path)
    except FileNotFoundError as error:
        raise DataError("No such file or directory", path=path) from error
    except DataError as error:
        raise DataError(error.problem, path=path, value=error.value) from error
    except (SafetensorError, OSError, TypeError, UnicodeDecodeError) as error:
        raise DataError(f"damaged vector file ({error})", path=path) from error


def _mapped(path: Path, name: str) -> npt.NDArray[np.float32]:
    """A tensor of a safetensors file as a read-only memory map."""
    with path.open("rb") as stream:
        header_size = int.from_bytes(stream.read(8), "little")
        entry = json.loads(stream.read(header_size))[name]
    return np.memmap(
        path,
        dtype="<f4",
        mode="r",
        offset=8 + header_size + entry["data_offsets"][0],
        shape=tuple(entry["shape"]),
    )
