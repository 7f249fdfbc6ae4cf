"""Entities in CSV and TSV files, with room for further names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from synsetmine.cells import row_of
from synsetmine.errors import DataError
from synsetmine.kb.records import UNSCOPED, NewName, Record, line_end, texts_of
from synsetmine.kb.tables import (
    Fields,
    Layout,
    Row,
    comma_rows,
    delimiter_of,
    tab_rows,
    table_layout,
)

Lines = Iterator[tuple[int, str]]


def comma_records(path: Path) -> Iterator[bytes | Record]:
    return _records(path, comma_rows, delimiter_of)


def tab_records(path: Path) -> Iterator[bytes | Record]:
    return _records(path, tab_rows, lambda _: "\t")


def _records(
    path: Path,
    rows: Callable[[Lines], Iterator[tuple[int, Row]]],
    delimiter: Callable[[str], str],
) -> Iterator[bytes | Record]:
    """The rows of a file; what its reader passes over, such as empty lines, comes as it is."""
    taken: list[tuple[int, bytes]] = []  # the lines that the reader took since the last row

    def lines() -> Lines:
        for number, raw, text in texts_of(path):
            taken.append((number, raw))
            yield number, text

    layout: Layout | None = None
    between = ","
    for number, row in rows(lines()):
        before = b"".join(raw for at, raw in taken if at < number)
        raw = b"".join(raw for at, raw in taken if at >= number)
        taken.clear()
        if before:
            yield before
        try:
            if isinstance(row, DataError):
                raise row
            if layout is None:
                layout, between = table_layout(row, Fields()), delimiter(raw.decode())
                yield raw
            else:
                names, _ = layout.names(row)
                yield _TableRecord(raw, row[layout.id].strip(), names, row, layout, between)
        except DataError as error:
            raise error.at(path, number) from None
    yield b"".join(raw for _, raw in taken)


@dataclass(frozen=True, slots=True)
class _TableRecord:
    raw: bytes
    entity: str
    names: Sequence[str]
    row: Sequence[str]
    layout: Layout
    delimiter: str

    def refuses(self, name: NewName) -> str:
        if name.scope != "exact":
            return UNSCOPED
        if self.layout.more and self.layout.separator in name.name:
            return f"a name with {self.layout.separator!r} in it, which separates names here"
        return ""

    def with_names(self, names: Sequence[NewName]) -> bytes:
        """The row with the names in its last column of names; without one, rows of their own."""
        end = line_end(self.raw)
        body = self.raw.removesuffix(end).decode()
        if self.layout.more:
            cells = list(self.row)
            column = self.layout.more[-1]
            given = [cells[column]] if cells[column].strip() else []
            cells[column] = self.layout.separator.join([*given, *(name.name for name in names)])
            return self._written(cells).encode() + end
        rows = [body, *(self._written(self._row(name.name)) for name in names)]
        return (end.decode() or "\n").join(rows).encode() + end

    def _row(self, name: str) -> list[str]:
        """A row for another name; that it is not preferred is what an empty cell says."""
        cells = [""] * self.layout.width
        cells[self.layout.id], cells[self.layout.name] = self.entity, name
        return cells

    def _written(self, cells: Sequence[str]) -> str:
        return row_of(cells, self.delimiter)
