"""Rows of CSV and TSV files, what spreadsheets make of their cells, and Parquet tables."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synsetmine.errors import DataError
from synsetmine.io.files import LONGEST, atomic_write
from synsetmine.io.parquet import ParquetReader, parquet_errors

if TYPE_CHECKING:
    import pyarrow as pa

# A spreadsheet takes a cell that starts like this for a formula, and runs it. Where it separates
# cells at semicolons, as in half of Europe, one starts behind each of them, quoted or not, and
# behind each line end.
_START = r"(\A|[;\r\n])"
_FORMULA = re.compile(rf"{_START}(?=[=+\-@\t\r\n＝＋－＠])")
_GUARDED = re.compile(rf"{_START}(?=[=+\-@\t\r\n＝＋－＠'])")  # or is taken for a guard of ours
_GUARD = re.compile(rf"{_START}'")


Row = list[str] | DataError


def rows_in(
    lines: Iterable[tuple[int, bytes]], *, quotes: bool = True, longest_field: int = LONGEST
) -> Iterator[tuple[int, Row]]:
    """The rows of a CSV or, without `quotes`, a TSV file, with their first lines.

    A broken row is its error. Empty lines are passed over.
    """
    feed = _TableLines(lines)
    first = ""
    for first in feed:
        if first.strip():
            break
        feed.start_record()
    reader: Any
    if quotes:
        reader = csv.reader(chain([first], feed), delimiter=delimiter_of(first), strict=True)
    else:
        reader = csv.reader(chain([first], feed), delimiter="\t", quoting=csv.QUOTE_NONE)
    while True:
        try:
            row = _next_row(reader, longest_field)
        except DataError as error:
            yield feed.first, error
        else:
            if row is None:
                return
            if row:
                yield feed.first, row
        feed.start_record()


def delimiter_of(header: str) -> str:
    """What some programs call CSV has semicolons, where the comma belongs to numbers."""
    return ";" if ";" in header and "," not in header else ","


class _TableLines:
    """The lines of a table as text, with a bound on what one record may take.

    Without the bound, a quote that is never closed would draw the rest of the file into memory.
    """

    def __init__(self, lines: Iterable[tuple[int, bytes]]) -> None:
        self._lines = iter(lines)
        self._size = 0
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


def _next_row(reader: Any, longest_field: int) -> list[str] | None:
    # Python keeps one limit for the whole process: lend it only while a row is read.
    before = csv.field_size_limit(longest_field)
    try:
        row: list[str] | None = next(reader, None)
    except csv.Error as error:
        raise DataError("malformed row", value=str(error)) from None
    finally:
        csv.field_size_limit(before)
    for cell in row or ():
        try:
            cell.encode()
        except UnicodeEncodeError as error:
            around = cell[max(error.start - 40, 0) : error.start + 40]
            raw = around.encode("utf-8", "surrogateescape")
            raise DataError("not UTF-8", value=raw) from None
    return row


def rows_of(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    """Rows as lines of a file."""
    return "".join(f"{row_of(row, delimiter)}\n" for row in rows)


def row_of(cells: Sequence[str], delimiter: str) -> str:
    """Cells as RFC 4180 quotes them, without the line end.

    Python's own writer leaves a lone carriage return unquoted, and its reader ends a row there.
    """
    return delimiter.join(_quote(cell, delimiter) for cell in cells)


def cell_of(value: object) -> str:
    """A value as the text of a cell: nothing for None, and text that is guarded."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return escape_formula(value)
        case _:
            return str(value)


def escape_formula(text: str) -> str:
    """A text that no spreadsheet runs: an apostrophe in front of what looks like a formula.

    Texts with an apostrophe of their own get another, so that `unescape_formula` is always right.
    """
    return _GUARDED.sub(r"\1'", text)


def formula_starts(text: str) -> list[int]:
    """The places where a formula starts for a spreadsheet."""
    return [match.end() for match in _FORMULA.finditer(text)]


def unescape_formula(text: str) -> str:
    """The inverse of `escape_formula`."""
    return _GUARD.sub(r"\1", text)


def _quote(cell: str, delimiter: str) -> str:
    if any(char in cell for char in (delimiter, '"', "\r", "\n")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def read_table(path: Path, schema: pa.Schema, content: str) -> pa.Table:
    """Read a Parquet file that has these columns; `content` says in errors what its rows are."""
    with parquet_errors(path), ParquetReader(path) as file:
        table = file.table()
    if not table.schema.equals(schema):
        columns = ", ".join(table.schema.names)
        raise DataError(f"not a table of {content}; its columns", path=path, value=columns)
    return table


def write_table(path: Path, table: pa.Table) -> None:
    """Write a Parquet file, whole or not at all."""
    import pyarrow.parquet as pq

    with atomic_write(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")
