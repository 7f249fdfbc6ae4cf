"""Corpora as plain text, JSON lines, CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from synsetmine.corpus.documents import check_unicode, sound_text
from synsetmine.errors import DataError, Skipped, raise_or_keep, skipping
from synsetmine.io.files import LONGEST, byte_lines, numbered_lines, parquet_error, plain_name
from synsetmine.types import Document

LONGEST_BLOCK = 2**20  # characters: a file without blank lines must not become one document


def read_paragraphs(
    path: Path, *, skipped: Skipped | None = None, on_read: Callable[[int], None] | None = None
) -> Iterator[Document]:
    """Blocks of lines between blank lines, with the ids `name#1`, `name#2`, …

    A whole file as one document would not fit into memory where the file is large, and what is
    mined from a corpus, which words stand together, is settled within a paragraph anyway.
    """
    name = plain_name(path)
    blocks = _blocks(numbered_lines(path, skipped=skipped, on_read=on_read))
    for count, (line, block) in enumerate(blocks, start=1):
        with skipping(path, line, skipped):
            yield Document(f"{name}#{count}", sound_text(block))


def read_lines(
    path: Path, *, skipped: Skipped | None = None, on_read: Callable[[int], None] | None = None
) -> Iterator[Document]:
    """One document a line, with the ids `name:1`, `name:2`, …"""
    name = plain_name(path)
    for number, line in numbered_lines(path, skipped=skipped, on_read=on_read):
        with skipping(path, number, skipped):
            yield Document(f"{name}:{number}", sound_text(line))


def _blocks(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """(Number of the first line, block) of each block."""
    block: list[str] = []
    first = size = 0
    for number, line in lines:
        blank = not line or line.isspace()
        if block and (blank or size + len(line) > LONGEST_BLOCK):
            yield first, "\n".join(block)
            block = []
        if blank:
            continue
        if not block:
            first, size = number, 0
        block.append(line)
        size += len(line) + 1
    if block:
        yield first, "\n".join(block)


BATCH = 4 * 2**20  # bytes of text that are read from a Parquet file at a time


@dataclass(frozen=True)
class Fields:
    """Where records keep the parts of their text and their id."""

    texts: tuple[str, ...]
    id: str

    @classmethod
    def named(cls, text_field: str, id_field: str) -> Fields:
        texts = tuple(name.strip() for name in text_field.split(","))
        if not all(texts):
            raise DataError("expected names of text fields, as in 'title,text'", value=text_field)
        return cls(texts, id_field)


def read_jsonl(
    path: Path,
    fields: Fields,
    *,
    skipped: Skipped | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """One JSON object a line; blank lines are passed over."""
    name = plain_name(path)
    for number, line in numbered_lines(path, skipped=skipped, on_read=on_read):
        if not line or line.isspace():
            continue
        with skipping(path, number, skipped):
            yield _document(_json_object(line), fields, f"{name}:{number}")


def read_table(
    path: Path,
    fields: Fields,
    *,
    quotes: bool = True,
    skipped: Skipped | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """A table with a header: with `quotes` it is CSV, without it is TSV.

    In CSV, a field in quotes may hold commas, line ends and doubled quotes. In TSV, a quote is a
    character like any other, as its standard says.
    """
    name = plain_name(path)
    header: list[str] | None = None
    for number, row in table_rows(path, quotes=quotes, skipped=skipped, on_read=on_read):
        if header is None:
            header = row
            _check_columns(header, fields, path)
            continue
        record = dict(zip(header, row, strict=True))
        with skipping(path, number, skipped):
            yield _document(record, fields, f"{name}:{number}")


def table_rows(
    path: Path,
    *,
    quotes: bool = True,
    skipped: list[DataError] | Skipped | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV or TSV file with their first lines; each is as long as the first.

    A CSV file whose first line has semicolons and no comma is separated by semicolons.
    """
    lines = _TableLines(byte_lines(path, skipped=skipped, on_read=on_read))
    reader: Any = None
    header: list[str] | None = None
    while True:
        lines.start_record()
        try:
            if reader is None:
                first = next(lines, "")
                reader = _table_reader(chain([first], lines), first, quotes=quotes)
            row = _next_row(reader)
            if row is None:
                return
            if not row:
                continue  # a blank line
            _check_row(row, row if header is None else header)
        except DataError as error:
            if header is None:
                raise error.at(path, lines.first) from None  # nothing below it can be read
            raise_or_keep(error.at(path, lines.first), skipped)
            continue
        header = header or row
        yield lines.first, row


def _table_reader(lines: Iterator[str], first: str, *, quotes: bool) -> Any:
    if not quotes:
        return csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    delimiter = ";" if ";" in first and "," not in first else ","
    return csv.reader(lines, delimiter=delimiter, strict=True)


def read_parquet(
    path: Path,
    fields: Fields,
    *,
    skipped: Skipped | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """The rows of a Parquet file; only the columns in question are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = plain_name(path)
    number = 0
    try:
        with pq.ParquetFile(path, buffer_size=2**16, pre_buffer=False) as file:
            columns = _check_columns(file.schema_arrow.names, fields, path)
            share = path.stat().st_size / max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(batch_rows(file), columns=columns):
                for values in zip(*map(values_of, batch.columns), strict=True):
                    number += 1
                    record = dict(zip(batch.schema.names, values, strict=True))
                    with skipping(path, number, skipped):
                        yield _document(record, fields, f"{name}:{number}")
                if on_read is not None:
                    on_read(int(number * share) - int((number - len(batch)) * share))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise parquet_error(error, path) from error


def _document(record: Mapping[str, object], fields: Fields, place: str) -> Document:
    parts: list[str] = []
    for name in fields.texts:
        value = record.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise DataError("the text is not a string", value=_start(value))
        parts.append(value)
    if not parts:
        raise DataError("the record has no text field", value=", ".join(fields.texts))
    text = "\n".join(part for part in parts if part and not part.isspace())
    return Document(_id(record.get(fields.id), place), sound_text(text))


def _id(value: object, place: str) -> str:
    """The id of a record as a string; its place in the file where it has none."""
    if value is None or value == "":
        return place
    if isinstance(value, str):
        check_unicode(value)
        return value
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"  # tools that know no missing whole numbers write 12 as 12.0
    if isinstance(value, bool | float) or not isinstance(value, int):
        raise DataError("the id is neither a string nor a whole number", value=_start(value))
    return str(value)


def _json_object(line: str) -> Mapping[str, object]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("not JSON", value=line[:120]) from None
    if not isinstance(record, dict):
        raise DataError("expected a JSON object", value=line[:120])
    return record


class _TableLines:
    """The lines of a table as text, with a bound on what one record may take.

    Without the bound, a quote that is never closed would draw the rest of the file into memory.
    """

    def __init__(self, lines: Iterator[tuple[int, bytes]]) -> None:
        self._lines = lines
        self._size = 0
        self._number = 0
        self.first = 0  # the first line of the record that is read now

    def start_record(self) -> None:
        self._size = 0

    def __iter__(self) -> _TableLines:
        return self

    def __next__(self) -> str:
        number, raw = next(self._lines)
        if not self._size:
            self.first = number
        self._size += len(raw)
        if self._size > LONGEST:
            raise DataError("a record is longer than 64 MiB", value=raw[:80])
        # A broken byte becomes half a character, which the record is then refused for.
        return raw.decode("utf-8", "surrogateescape")


def _next_row(reader: Any) -> list[str] | None:
    # Python keeps one limit for the whole process: lend it only while a row is read.
    before = csv.field_size_limit(LONGEST)
    try:
        return next(reader, None)
    except csv.Error as error:
        raise DataError("malformed row", value=str(error)) from None
    finally:
        csv.field_size_limit(before)


def _check_row(row: list[str], header: list[str]) -> None:
    if len(row) != len(header):
        raise DataError("number of columns differs from the header", value=len(row))
    for value in row:
        try:
            check_unicode(value)
        except DataError as error:
            raise DataError("not UTF-8", value=error.value) from None


def _check_columns(header: list[str], fields: Fields, path: Path) -> list[str]:
    """The columns to read; all text columns must be there."""
    for name in fields.texts:
        if name not in header:
            found = f"{name} is not among {', '.join(header)}"
            raise DataError("a text column is missing", path=path, value=found[:1000])
    return [name for name in dict.fromkeys((*fields.texts, fields.id)) if name in header]


def batch_rows(file: Any) -> int:
    """So many rows that a batch holds a few megabytes, by the sizes that the file tells."""
    metadata = file.metadata
    # Of whole row groups: pyarrow ends the process if asked for a column of a damaged file.
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    size: int = sum(group.total_byte_size for group in groups)
    rows: int = metadata.num_rows
    return max(1, min(1000, BATCH * rows // max(size, 1)))


def values_of(column: Any) -> list[object]:
    """The values of a column of Arrow; a string that is not UTF-8 has halves of characters."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> object:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return bytes(scalar.as_buffer()).decode("utf-8", "surrogateescape")


def _start(value: object) -> object:
    """Enough of a value to know it by; an error must not hold on to megabytes."""
    return value if isinstance(value, bool | int | float) else str(value)[:80]
