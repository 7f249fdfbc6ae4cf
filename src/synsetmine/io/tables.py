"""Cells of CSV and TSV files, and what spreadsheets make of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# A spreadsheet takes a cell that starts like this for a formula, and runs it.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_GUARD = "'"


def rows_of(rows: Iterable[Sequence[str]], delimiter: str) -> str:
    """Rows as lines of a file."""
    return "".join(f"{row_of(row, delimiter)}\n" for row in rows)


def row_of(cells: Sequence[str], delimiter: str) -> str:
    """Cells as RFC 4180 quotes them, without the line end.

    Python's own writer leaves a lone carriage return unquoted, and its reader ends a row there.
    """
    return delimiter.join(_quoted(cell, delimiter) for cell in cells)


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
    return f"{_GUARD}{text}" if is_formula(text) or text.startswith(_GUARD) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet takes a cell with this text for a formula."""
    return text.startswith(_FORMULAS)


def unescape_formula(text: str) -> str:
    """The inverse of `escape_formula`."""
    return text.removeprefix(_GUARD)


def _quoted(cell: str, delimiter: str) -> str:
    if any(char in cell for char in (delimiter, '"', "\r", "\n")):
        return '"' + cell.replace('"', '""') + '"'
    return cell
