"""Rows of the first sheet of an .xlsx file."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from synsetmine.errors import DataError, import_extra
from synsetmine.io.files import LONGEST, Source, open_binary

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
