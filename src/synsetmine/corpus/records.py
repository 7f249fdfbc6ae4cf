"""Corpora as plain text, JSON lines, CSV, TSV and Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synsetmine.corpus.documents import check_unicode, sound_text
from synsetmine.errors import DataError
from synsetmine.io.files import parquet_error, parse_json
from synsetmine.io.source import Source
from synsetmine.io.tables import rows_in
from synsetmine.types import Document

LONGEST_BLOCK = 2**20  # characters: a file without blank lines must not become one document


def read_paragraphs(source: Source) -> Iterator[Document]:
    """Blocks of lines between blank lines, with the ids `name#1`, `name#2`, …

    A large file as one document would not fit into memory, and co-occurrence is counted within
    paragraphs anyway.
    """
    name = source.name
    blocks = _blocks(source.lines())
    for count, (line, block) in enumerate(blocks, start=1):
        with source.skipping(line):
            yield Document(f"{name}#{count}", sound_text(block))


def read_lines(source: Source) -> Iterator[Document]:
    """One document per line, with the ids `name:1`, `name:2`, …"""
    name = source.name
    for number, line in source.lines():
        with source.skipping(number):
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


def read_jsonl(source: Source, fields: Fields) -> Iterator[Document]:
    """One JSON object per line; empty lines are ignored."""
    name = source.name
    for number, line in source.lines():
        if not line or line.isspace():
            continue
        with source.skipping(number):
            yield _document(_json_object(line), fields, f"{name}:{number}")


def read_table(source: Source, fields: Fields, *, quotes: bool = True) -> Iterator[Document]:
    """A table with a header: with `quotes` it is CSV, without it is TSV.

    In CSV, a field in quotes may hold commas, line ends and doubled quotes. In TSV, a quote is a
    character like any other, as its standard says.
    """
    name = source.name
    header: list[str] | None = None
    for number, row in table_rows(source, quotes=quotes):
        if header is None:
            header = row
            _check_columns(header, fields, source.path)
            continue
        record = dict(zip(header, row, strict=True))
        with source.skipping(number):
            yield _document(record, fields, f"{name}:{number}")


def table_rows(source: Source, *, quotes: bool = True) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV or TSV file with their first lines; each is as long as the first.

    A CSV file whose first line has semicolons and no comma is separated by semicolons.
    """
    header: list[str] | None = None
    for number, row in rows_in(source.byte_lines(), quotes=quotes):
        try:
            if isinstance(row, DataError):
                raise row
            if header is not None and len(row) != len(header):
                problem = "number of columns differs from the header"
                raise DataError(problem, value=len(row))
        except DataError as error:
            if header is None:
                raise error.at(source.path, number) from None  # nothing below it can be read
            source.reject(error, number)
            continue
        header = header or row
        yield number, row


def read_parquet(source: Source, fields: Fields) -> Iterator[Document]:
    """The rows of a Parquet file; only the needed columns are read."""
    name = source.name
    number = 0
    batches = parquet_columns(source, lambda names: _check_columns(names, fields, source.path))
    for columns in batches:
        for values in zip(*columns.values(), strict=True):
            number += 1
            with source.skipping(number):
                record = dict(zip(columns, values, strict=True))
                yield _document(record, fields, f"{name}:{number}")


def parquet_columns(
    source: Source, choose: Callable[[list[str]], list[str]]
) -> Iterator[dict[str, list[object]]]:
    """The values of the columns that are chosen by their names, a batch of rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(source.path, buffer_size=2**16, pre_buffer=False) as file:
            columns = choose(file.schema_arrow.names)
            share = source.path.stat().st_size / max(file.metadata.num_rows, 1)
            for batch in file.iter_batches(_batch_rows(file), columns=columns):
                yield dict(zip(batch.schema.names, map(_values, batch.columns), strict=True))
                number += len(batch)
                if source.on_read is not None:
                    source.on_read(int(number * share) - int((number - len(batch)) * share))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise parquet_error(error, source.path) from error


def _document(record: Mapping[str, object], fields: Fields, location: str) -> Document:
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
    return Document(_id(record.get(fields.id), location), sound_text(text))


def _id(value: object, location: str) -> str:
    """The id of a record as a string; its place in the file where it has none."""
    if value is None or value == "":
        return location
    if isinstance(value, str):
        check_unicode(value)
        return value
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"  # tools that know no missing whole numbers write 12 as 12.0
    if isinstance(value, bool | float) or not isinstance(value, int):
        raise DataError("the id is neither a string nor a whole number", value=_start(value))
    return str(value)


def _json_object(line: str) -> Mapping[str, object]:
    record = parse_json(line)
    if not isinstance(record, dict):
        raise DataError("expected a JSON object", value=line)
    return record


def _check_columns(header: list[str], fields: Fields, path: Path) -> list[str]:
    """The columns to read; all text columns must be there."""
    for name in fields.texts:
        if name not in header:
            columns = f"{name} is not among {', '.join(header)}"
            raise DataError("a text column is missing", path=path, value=columns[:1000])
    return [name for name in dict.fromkeys((*fields.texts, fields.id)) if name in header]


def _batch_rows(file: Any) -> int:
    """The number of rows that make a batch of a few megabytes, by the file's metadata."""
    metadata = file.metadata
    # Of whole row groups: pyarrow ends the process if asked for a column of a damaged file.
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    size: int = sum(group.total_byte_size for group in groups)
    rows: int = metadata.num_rows
    return max(1, min(1000, BATCH * rows // max(size, 1)))


def _values(column: Any) -> list[object]:
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
