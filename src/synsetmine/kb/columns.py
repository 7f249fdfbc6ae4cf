"""Columns of a knowledge base: Arrow string tables with an index, and their file."""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from synsetmine.errors import DataError
from synsetmine.io.files import atomic_write


@dataclass(frozen=True, eq=False)
class Strings:
    """Distinct strings, each with its number, and the numbers in the order of their checksums.

    The checksums and their order take 8 bytes a string, and no Python object.
    """

    array: Any  # a pyarrow large_string array without nulls
    hashes: NDArray[np.uint32]  # the CRC-32 of every string, sorted
    order: NDArray[np.int32]  # the number of the string with that checksum

    @classmethod
    def of(cls, array: Any) -> Strings:
        crc = np.fromiter((zlib.crc32(text.encode()) for text in _each(array)), np.uint32)
        order = np.argsort(crc, kind="stable").astype(np.int32)
        return cls(array, crc[order], order)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, number: int) -> str:
        text: str = self.array[number].as_py()
        return text

    def __iter__(self) -> Iterator[str]:
        return _each(self.array)

    def find(self, text: str) -> int | None:
        """The number of a string, or None if it is not here."""
        try:
            checksum = zlib.crc32(text.encode())
        except UnicodeEncodeError:  # half a character, which no stored string holds
            return None
        hashes = self.hashes.data  # gives Python's own numbers; numpy would wrap each of them
        position = bisect_left(hashes, checksum)
        while position < len(hashes) and hashes[position] == checksum:
            number = int(self.order[position])
            if self.array[number].as_py() == text:
                return number
            position += 1
        return None


BLOCK = 1 << 16  # strings that are Python objects at the same time


def _each(array: Any) -> Iterator[str]:
    for start in range(0, len(array), BLOCK):
        yield from array.slice(start, BLOCK).to_pylist()


class Column:
    """Strings on their way into an Arrow array: a block of Python strings at a time."""

    def __init__(self) -> None:
        self._chunks: list[Any] = []
        self._open: list[str] = []
        self._size = 0

    def append(self, text: str) -> None:
        self._open.append(text)
        if len(self._open) >= BLOCK:
            self._close()

    def __len__(self) -> int:
        return self._size + len(self._open)

    def take_all(self) -> Any:
        """All strings so far as one large_string array; the column is empty afterwards."""
        self._close()
        chunks, self._chunks, self._size = self._chunks, [], 0
        return join(chunks)

    def _close(self) -> None:
        self._chunks.append(pa.array(self._open, pa.large_string()))
        self._size += len(self._open)
        self._open = []


def join(arrays: Iterable[Any]) -> Any:
    return pa.concat_arrays([pa.array([], pa.large_string()), *arrays])


MARK = b"synsetmine.kb"
VERSION = b"2"  # 2: normal forms keep accents that follow their letters

_BEGINNING = b"ARROW1\0\0"  # of an Arrow IPC file; a stream of messages follows
_DAMAGES = (
    *(pa.ArrowException, OSError, KeyError, AttributeError, ValueError),
    *(struct.error, StopIteration),
)
_STRINGS = ("ids", "forms", "replaced")
_NUMBERS = ("name_starts", "form_starts", "form_entities", "preferred_forms", "replaced_rows")


@dataclass(frozen=True, eq=False)
class Columns:
    """The arrays of a knowledge base with E entities, N names, F normal forms, R replaced ids."""

    ids: Strings  # (E,)
    name_starts: NDArray[np.int64]  # (E + 1,): the names of entity e are name_starts[e : e + 2]
    names: Any  # (N,): a pyarrow large_string array; the preferred name of an entity comes first
    forms: Strings  # (F,)
    form_starts: NDArray[np.int64]  # (F + 1,)
    form_entities: NDArray[np.int32]  # (N,): those that prefer a name of this form come first
    preferred_forms: NDArray[np.int32]  # (E,): the form of the preferred name
    replaced: Strings  # (R,)
    replaced_rows: NDArray[np.int32]  # (R,): the entity that replaces a replaced id
    defined_rows: NDArray[np.int32]  # (D,): the entities with a definition, in order
    definitions: Any  # (D,): a pyarrow large_string array


def write_columns(path: Path, columns: Columns) -> None:
    """Write one Arrow IPC file, whole or not at all."""
    arrays = dict(_arrays(columns))
    # The columns differ in length, so that each becomes one cell of a table with one row.
    cells = [
        pa.LargeListArray.from_arrays(pa.array([0, len(array)], pa.int64()), array)
        for array in arrays.values()
    ]
    table = pa.table(cells, names=list(arrays))
    notes = {b"form": MARK, b"version": VERSION, b"checksum": b"%d" % _checksum(arrays)}
    schema = table.schema.with_metadata(notes)
    with (
        atomic_write(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, schema) as writer,
    ):
        writer.write_table(table.replace_schema_metadata(notes))


def read_columns(path: Path) -> Columns:
    """Map a file into memory; one that is not whole or not a knowledge base is a DataError."""
    try:
        source = pa.memory_map(str(path), "r")
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", path=path) from error
    try:
        source.seek(len(_BEGINNING))
        messages = pa.ipc.MessageReader.open_stream(source)
        schema = pa.ipc.read_schema(messages.read_next_message())
        notes = schema.metadata or {}
        if notes.get(b"form") != MARK:
            raise DataError("not a knowledge base that was saved by this program", path=path)
        if notes.get(b"version") != VERSION:
            problem = "a knowledge base of another version of this program; read it again"
            raise DataError(problem, path=path, value=notes.get(b"version", b"").decode())
        batch = messages.read_next_message()
        if _is_compressed(batch.metadata):
            raise DataError("a compressed knowledge base, which may be of any size", path=path)
        table = pa.ipc.read_record_batch(batch, schema)
        table.validate(full=True)
        arrays = {name: table.column(name).values for name in table.schema.names}
        if b"%d" % _checksum(arrays) != notes.get(b"checksum"):
            raise DataError("a damaged knowledge base: its checksum differs", path=path)
        return _columns(arrays)
    except _DAMAGES as error:
        raise DataError("not a knowledge base, or a damaged one", path=path) from error


def _is_compressed(metadata: bytes) -> bool:
    """Whether the metadata of a record batch names a compression.

    Arrow unpacks all of a batch before it can be asked for its size. The metadata are tables of
    FlatBuffers: the header of a message is its field 2, the compression of a batch its field 3.
    """

    def place(table: int, field: int) -> int:
        """Where a table has the value of a field; the table itself if it has none."""
        fields = table - int(struct.unpack_from("<i", metadata, table)[0])
        entry = fields + 4 + 2 * field
        if entry >= fields + int(struct.unpack_from("<H", metadata, fields)[0]):
            return table
        return table + int(struct.unpack_from("<H", metadata, entry)[0])

    (message,) = struct.unpack_from("<I", metadata, 0)
    header = place(message, 2)
    header += int(struct.unpack_from("<I", metadata, header)[0])
    return place(header, 3) != header


def _arrays(columns: Columns) -> Iterator[tuple[str, Any]]:
    for name in _STRINGS:
        strings: Strings = getattr(columns, name)
        yield name, strings.array
        yield f"{name}_hashes", pa.array(strings.hashes)
        yield f"{name}_order", pa.array(strings.order)
    yield "names", columns.names
    for name in _NUMBERS:
        yield name, pa.array(getattr(columns, name))
    if len(columns.defined_rows):  # a file without definitions has no arrays for them
        yield "defined_rows", pa.array(columns.defined_rows)
        yield "definitions", columns.definitions


def _checksum(arrays: dict[str, Any]) -> int:
    checksum = 0
    for name, array in arrays.items():
        checksum = zlib.crc32(f"{name} {len(array)} {array.type}".encode(), checksum)
        for buffer in _string_buffers(array) if _is_string(array) else [array.to_numpy().data]:
            checksum = zlib.crc32(buffer, checksum)
    return checksum


def _is_string(array: Any) -> bool:
    return bool(pa.types.is_large_string(array.type))


def _string_buffers(array: Any) -> tuple[Any, Any]:
    """Where each string starts (and the last one ends), and the bytes of all."""
    _, offsets, letters = array.buffers()
    if not len(array):  # an empty array may come without buffers
        return bytes(8), b""
    starts = np.frombuffer(offsets, np.int64, len(array) + 1, 8 * array.offset)
    return starts, memoryview(letters or b"")[starts[0] : starts[-1]]


def _columns(arrays: dict[str, Any]) -> Columns:
    columns: dict[str, Any] = {name: arrays[name].to_numpy() for name in _NUMBERS}
    for name in _STRINGS:
        hashes, order = arrays[f"{name}_hashes"].to_numpy(), arrays[f"{name}_order"].to_numpy()
        columns[name] = Strings(arrays[name], hashes, order)
    defined = arrays.get("defined_rows", pa.array([], pa.int32())).to_numpy()
    definitions = arrays.get("definitions", pa.array([], pa.large_string()))
    return Columns(names=arrays["names"], defined_rows=defined, definitions=definitions, **columns)
