"""Rows of CSV, TSV and .xlsx files, what spreadsheets make of their cells, and Parquet tables."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synsetmine.errors import DataError, import_extra
from synsetmine.io.files import LONGEST, Source, atomic_write, open_binary
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


MOST_CELLS = 2**24  # a sheet of a million rows and 16 columns
_OLD = bytes.fromhex("d0cf11e0a1b11ae1")  # .xls, and .xlsx with a password
_ERRORS = {"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}
_SMALLER = "save the sheet as CSV"


def sheet_rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The rows of the first sheet with their numbers, without empty ones.

    Rows are as long as the first, which is the header, or longer. A formula is its last value.
    """
    path = source.path
    width = cells = 0
    with _open_sheet(path) as sheet:
        rows = sheet.iter_rows(values_only=True)
        number = 0
        while True:
            with _sheet_errors(path):
                row = next(rows, None)
            if row is None:
                return
            number += 1
            cells += len(row) + 1
            if cells > MOST_CELLS:
                problem = f"the sheet has more than {MOST_CELLS:,} cells"
                raise DataError(problem, path=path, line=number, hint=_SMALLER)
            texts = [_text_of(value) for value in row]
            while texts and not texts[-1].strip():
                del texts[-1]
            if texts:
                width = width or len(texts)
                yield number, texts + [""] * (width - len(texts))


@contextmanager
def _open_sheet(path: Path) -> Iterator[Any]:
    excel = import_extra("openpyxl.reader.excel", "reading .xlsx files", "xlsx")
    with open_binary(path) as stream:  # says what is wrong with the path
        if stream.read(len(_OLD)) == _OLD:
            hint = "save it as .xlsx without a password, or as CSV"
            raise DataError("an old .xls file, or one with a password", path=path, hint=hint)
        stream.seek(0)
        with _sheet_errors(path):
            reader = excel.ExcelReader(stream, read_only=True, data_only=True, keep_links=False)
            parts = [(part.filename.lower(), part.file_size) for part in reader.archive.infolist()]
        _check_sizes(path, parts)
        with _sheet_errors(path):
            reader.read()
            sheet = reader.wb.worksheets[0]
            sheet.reset_dimensions()  # what the file says about its size may be wrong
        yield sheet


def _check_sizes(path: Path, parts: Iterable[tuple[str, int]]) -> None:
    """Refuse what would not fit into memory: only the rows of a sheet are read one at a time."""
    for name, size in parts:
        limit = LONGEST // 8
        if name.startswith("xl/worksheets/"):
            limit = LONGEST * 4
        elif name == "xl/sharedstrings.xml":
            limit = LONGEST
        if size > limit and name.endswith((".xml", ".rels")):
            problem = f"a part of the .xlsx file is longer than {limit // 2**20} MiB"
            raise DataError(problem, path=path, value=name, hint=_SMALLER)


@contextmanager
def _sheet_errors(path: Path) -> Iterator[None]:
    """Turn what openpyxl raises for a broken file, which may be anything, into one error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parts that do not matter here
            yield
    except (DataError, MemoryError):
        raise
    except Exception as error:
        problem, hint = "damaged .xlsx file", "open it and save it again, or save the sheet as CSV"
        raise DataError(problem, path=path, value=str(error), hint=hint) from error


def _text_of(value: object) -> str:
    """A cell as a person sees it: 12.0 is 12, and an error has no text."""
    match value:
        case None:
            return ""
        case str():
            return "" if value in _ERRORS else value
        case float() if value.is_integer():
            return f"{value:.0f}"
        case datetime() if (value.hour, value.minute, value.second) == (0, 0, 0):
            return value.date().isoformat()
        case _:
            return str(value)
