"""Vectors of terms, their files, and all views of terms together.

Vector files: `.bin` is word2vec's binary format, `.safetensors` our own, anything else word2vec's
text format (`count dimension` on the first line, then `term v1 v2 …`; GloVe's format without that
first line is read too). Our own format holds the matrix and the terms in one file that is
memory-mapped, so that opening a large table costs next to nothing until its rows are used. The
first two may be compressed (.gz, .bz2, .zst).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from synsetmine.errors import DataError, quantity, raise_or_keep, require_type
from synsetmine.io.files import atomic_stream, atomic_write, numbered_lines, open_binary, plain_name
from synsetmine.normalization import normal_form, tokens
from synsetmine.text.evidence import Evidence
from synsetmine.types import Term, TermLike, first_duplicate, holds, terms_of


@dataclass(frozen=True, eq=False, repr=False)
class TermVectors:
    """Vectors of terms, one float32 row per term; the matrix may be memory-mapped."""

    terms: tuple[Term, ...]
    matrix: npt.NDArray[np.float32]  # (terms, dimension)
    source: Path | None = None  # the file that they are from, which errors name

    @classmethod
    def of(cls, terms: Any, matrix: Any) -> TermVectors:
        """Build from terms or strings, and anything that numpy takes for a matrix of numbers."""
        try:
            numbers = np.asarray(matrix, np.float32)
        except (TypeError, ValueError):
            problem = "vectors must be numbers, the same count for each term"
            raise DataError(problem, value=matrix) from None
        return cls(tuple(terms_of(terms)), numbers)

    def __post_init__(self) -> None:
        hint = "; TermVectors.of(terms, matrix) converts"
        if not isinstance(self.matrix, np.ndarray):
            raise DataError(f"vectors must be a matrix of numpy{hint}", value=self.matrix)
        if self.matrix.ndim != 2 or self.matrix.dtype != np.float32:
            shape = f"{self.matrix.dtype} {self.matrix.shape}"
            raise DataError(f"vectors must be a float32 matrix{hint}", value=shape)
        if not all(isinstance(term, Term) for term in self.terms):
            raise DataError(f"expected terms{hint} strings")
        if len(self.terms) != len(self.matrix):
            raise DataError(f"{len(self.terms)} terms but {len(self.matrix)} vectors")
        if len(self._row_of) != len(self.terms):
            raise DataError("a term has two vectors", value=str(first_duplicate(self.terms)))

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    @cached_property
    def _row_of(self) -> Mapping[Term, int]:
        return {term: row for row, term in enumerate(self.terms)}

    def __len__(self) -> int:
        return len(self.terms)

    def __repr__(self) -> str:
        source = "" if self.source is None else f", from {str(self.source)!r}"
        return f"TermVectors({quantity(len(self), 'term')}, {self.dimension} dimensions{source})"

    def __contains__(self, term: object) -> bool:
        return holds(self._row_of, term)

    def missing(self, terms: Iterable[TermLike]) -> list[Term]:
        """The terms without a vector."""
        return [term for term in terms_of(terms) if term not in self._row_of]

    def rows(self, terms: Iterable[TermLike]) -> npt.NDArray[np.int64]:
        """The row of each term; a term without a vector is an error."""
        try:
            return np.fromiter((self._row_of[term] for term in terms_of(terms)), dtype=np.int64)
        except KeyError as error:
            problem = "this term has no vector"
            raise DataError(problem, path=self.source, value=str(error.args[0])) from None

    def select(self, terms: Sequence[TermLike]) -> npt.NDArray[np.float32]:
        """The vectors of these terms, row by row, checked to be finite."""
        chosen = self.matrix[self.rows(terms)]  # (terms, dimension)
        bad = np.flatnonzero(~np.isfinite(chosen).all(axis=1))
        if len(bad):
            problem = "this term's vector is not finite"
            raise DataError(problem, path=self.source, value=str(terms[bad[0]]))
        return chosen

    def only(self, terms: Iterable[TermLike]) -> TermVectors:
        """The rows of these terms, in their order; terms without a vector are left out."""
        known = tuple(dict.fromkeys(term for term in terms_of(terms) if term in self))
        return TermVectors(known, np.array(self.matrix[self.rows(known)]), self.source)

    def with_vectors(self, other: TermVectors) -> TermVectors:
        """This table, with the rows of `other` for the terms that both have."""
        if other.dimension != self.dimension:
            problem = f"expected vectors of {self.dimension} dimensions; got {other.dimension}"
            raise DataError(problem)
        shared = [term for term in other.terms if term in self]
        matrix = np.array(self.matrix)
        matrix[self.rows(shared)] = other.matrix[other.rows(shared)]
        return TermVectors(self.terms, matrix, self.source)


def unit_rows(matrix: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Rows scaled to length one; a row of zeros stays."""
    # In float64, since squares of extreme float32 values overflow or vanish.
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    scaled: npt.NDArray[Any] = matrix / np.where(lengths > 0, lengths, 1)
    return scaled.astype(np.float32)


View: TypeAlias = Literal["vectors", "strings", "encoder"]


@dataclass(frozen=True, repr=False)
class TermViews:
    """The views of terms besides their surfaces: tables of vectors, and those of an encoder."""

    vectors: tuple[TermVectors, ...] = ()  # corpus vectors, the main table first
    encoder: TermVectors | None = None  # a sentence encoder's vectors of the surfaces
    learned: frozenset[str] = frozenset()  # surfaces that the encoder was tuned on
    strings: bool = True  # whether models may look at the surfaces
    evidence: Evidence | None = None  # what a corpus says of pairs of terms
    contexts: Mapping[Term, Sequence[str]] | None = None  # sentences or descriptions of terms
    in_context: TermVectors | None = None  # a sentence encoder's vectors of terms with contexts

    @classmethod
    def of(cls, views: TermVectors | TermViews) -> TermViews:
        """Views themselves, or those of a single table."""
        return views if isinstance(views, TermViews) else cls((views,))

    def __post_init__(self) -> None:
        if isinstance(self.vectors, TermVectors):
            object.__setattr__(self, "vectors", (self.vectors,))
        for table in self.vectors:
            require_type(
                table, TermVectors, "expected TermVectors; read_vectors(path) reads a file"
            )

    def __repr__(self) -> str:
        parts = [*map(repr, self.vectors)]
        if self.encoder is not None:
            parts.append(f"encoder={self.encoder!r}")
        if self.evidence is not None:
            parts.append("evidence")
        if self.contexts:
            parts.append(f"contexts of {quantity(len(self.contexts), 'term')}")
        return f"TermViews({', '.join([*parts, *(['strings'] if self.strings else [])])})"

    def table(self, view: View) -> TermVectors:
        """The table of a view."""
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
    rows_of = {term: _rows(term, table, row_of) for term in dict.fromkeys(terms)}
    vectors = {term: table.matrix[rows].mean(axis=0) for term, rows in rows_of.items() if rows}
    matrix = np.stack([*vectors.values()]) if vectors else np.zeros((0, table.dimension))
    return TermVectors(tuple(vectors), matrix.astype(np.float32))


def vectors_of_forms(
    terms: Iterable[Term], number_of: Mapping[str, int], matrix: npt.NDArray[np.float32]
) -> TermVectors:
    """The rows of the terms' normal forms; a term without a form, or with zeros, is left out."""
    numbers = {term: number_of.get(normal_form(term.surface), -1) for term in terms}
    rows = {term: row for term, row in numbers.items() if row >= 0 and matrix[row].any()}
    return TermVectors(tuple(rows), matrix[np.array([*rows.values()], np.int64)])


def _rows(term: Term, table: TermVectors, row_of: dict[str, int]) -> list[int]:
    if term in table:
        return [int(table.rows([term])[0])]
    words = tokens(term.surface)
    for form in (normal_form(term.surface), " ".join(words)):
        if form in row_of:
            return [row_of[form]]
    rows = [row_of[word] for word in words if word in row_of]
    return rows if len(rows) == len(words) else []


Row = tuple[Term, npt.NDArray[np.float32]]
FORMAT = "synsetmine-vectors 1"
LONGEST_TERM = 10_000  # bytes; a binary file that goes on longer without a space is not one
LARGEST_DIMENSION = 1_000_000  # a first line that promises more is not a header


def read_vectors(path: str | Path, *, skipped: list[DataError] | None = None) -> TermVectors:
    """Read a vector file of any of the three formats.

    A broken line raises a DataError with file, line (or record) and value. With `skipped`, broken
    lines are skipped and their errors go there.
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
    """Write a vector file completely or not at all, in the format of its extension."""
    path = Path(path)
    # Our own format is not checked when it is read.
    finite = np.isfinite(vectors.matrix).all(axis=1)
    if not finite.all():
        term = vectors.terms[int(np.argmin(finite))]
        raise DataError("this term's vector is not finite", value=str(term))
    if path.suffix == ".safetensors":
        with atomic_write(path) as temporary:
            _write_own(temporary, vectors)
        return
    with atomic_stream(path) as stream:
        stream.write(f"{len(vectors)} {vectors.dimension}\n".encode())
        for term, vector in zip(vectors.terms, vectors.matrix, strict=True):
            _write_word2vec(stream, term, vector, binary=_is_binary(path))


def _is_binary(path: Path) -> bool:
    return plain_name(path).endswith(".bin")


def _take(row: Row, table: dict[Term, npt.NDArray[np.float32]]) -> DataError | None:
    """Put a row into the table, or return why it cannot be."""
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
        # A term may have spaces, but one that ends in a number may be a longer vector instead.
        longer = False
        if len(fields) > dimension + 1:
            with suppress(ValueError):
                float(fields[-dimension - 1])
                longer = True
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
    # From the right, since a term may have spaces.
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
        return TermVectors(tuple(terms), _map_matrix(path), path)
    except FileNotFoundError as error:
        raise DataError("No such file or directory", path=path) from error
    except DataError as error:
        raise DataError(error.problem, path=path, value=error.value) from error
    except (SafetensorError, OSError, TypeError, UnicodeDecodeError) as error:
        raise DataError(f"damaged vector file ({error})", path=path) from error


def _map_matrix(path: Path) -> npt.NDArray[np.float32]:
    """The matrix of a safetensors file as a read-only memory map."""
    with path.open("rb") as stream:
        header_size = int.from_bytes(stream.read(8), "little")
        entry = json.loads(stream.read(header_size))["matrix"]
    start = 8 + header_size + entry["data_offsets"][0]
    return np.memmap(path, dtype="<f4", mode="r", offset=start, shape=tuple(entry["shape"]))
