"""Knowledge bases as JSON lines and as tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from synsetmine.errors import DataError
from synsetmine.io.files import Source, parse_json
from synsetmine.io.tables import Row, rows_in
from synsetmine.kb.base import KnowledgeBuilder

NAMES_FIELDS = ("synonyms", "names", "aliases")
_LONGEST_FIELD = 2**17  # a quote that is never closed costs no more names than that many hold
_PREFERRED = "preferred"  # the column that marks preferred names
SEPARATOR = "|"  # between the names in a column of further names
_DECODE = json.JSONDecoder().raw_decode
_WHITESPACE = re.compile(r"[ \t\r\n]*")
_TRUE = frozenset({"1", "true", "t", "yes", "y", "preferred"})
_FALSE = frozenset({"", "0", "false", "f", "no", "n"})


@dataclass(frozen=True, slots=True)
class KbFields:
    """What the fields of a record are called."""

    id: str = "id"
    name: str = "name"
    names: tuple[str, ...] = NAMES_FIELDS


def add_jsonl(source: Source, builder: KnowledgeBuilder, fields: KbFields) -> None:
    """Read `{"id": "D1", "name": "…", "synonyms": ["…", …]}`, one entity a line."""
    for number, line in source.lines():
        if not line.strip():
            continue
        with source.skipping(number):
            entity, names = parse_record(line, fields)
            builder.add(entity, names, line=number)


def json_fields(text: str) -> Iterator[tuple[str, object, int, int]]:
    """Name, value, start and end of the fields of a JSON object, each parsed when it is asked for.

    A ValueError or IndexError if the object is broken up to there.
    """
    position = _after(text, 0, "{")
    while text[position] != "}":
        name, position = _DECODE(text, position)
        if not isinstance(name, str):
            raise ValueError("the name of a field must be a string")
        start = _after(text, position, ":")
        value, end = _DECODE(text, start)
        yield name, value, start, end
        position = _skip(text, end)
        if text[position] != "}":
            position = _after(text, position, ",")
            if text[position] == "}":
                raise ValueError("a comma without a field")


def _after(text: str, position: int, mark: str) -> int:
    """The place of what follows a mark, with whitespace on both sides."""
    position = _skip(text, position)
    if text[position] != mark:
        raise ValueError(f"expected {mark!r}")
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    match = _WHITESPACE.match(text, position)
    return position if match is None else match.end()


def parse_record(line: str, fields: KbFields) -> tuple[str, list[str]]:
    """The id and the names of an entity in JSON."""
    record = parse_json(line)
    if not isinstance(record, dict):
        raise DataError("expected a JSON object", value=line)
    entity = record.get(fields.id)
    if isinstance(entity, int) and not isinstance(entity, bool):
        entity = str(entity)
    if not isinstance(entity, str):
        raise DataError(f"expected a string in the field {fields.id!r}", value=line)
    if not isinstance(record.get(fields.name), str):
        raise DataError(f"expected a string in the field {fields.name!r}", value=line)
    names = [record[fields.name]]
    for field in fields.names:
        names += _strings(record, field)
    return entity, names


def _strings(record: Mapping[str, object], field: str) -> list[str]:
    value = record.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DataError(f"expected a list of strings in the field {field!r}", value=value)
    return value


def add_table(source: Source, builder: KnowledgeBuilder, fields: KbFields, *, tabs: bool) -> None:
    """Read a CSV or TSV file with a header.

    There is one row a name, of which the first or those with a true value in the column
    `preferred` are preferred, or one row an entity with a column of further names between `|`.
    """
    rows: Iterator[tuple[int, Row]]
    rows = tab_rows(source.lines()) if tabs else comma_rows(source.byte_lines())
    layout: Layout | None = None
    for number, row in rows:
        try:
            if isinstance(row, DataError):
                raise row
            if layout is None:
                layout = table_layout(row, fields)
                continue
            names, rank = layout.names(row)
            builder.add(row[layout.id].strip(), names, rank=rank, line=number)
        except DataError as error:
            if layout is None:
                raise error.at(source.path, number) from None
            source.reject(error, number)


@dataclass(frozen=True, slots=True)
class Layout:
    """The positions of the columns."""

    width: int
    id: int
    name: int
    more: tuple[int, ...]
    preferred: int | None

    def names(self, row: Sequence[str]) -> tuple[list[str], int]:
        """The names in a row, and the rank of the first."""
        if len(row) != self.width:
            problem = "a row with more or fewer fields than the header"
            raise DataError(problem, value=", ".join(row))
        names = [row[self.name]]
        for column in self.more:
            names += [name for name in row[column].split(SEPARATOR) if name.strip()]
        return names, self._rank(row)

    def _rank(self, row: Sequence[str]) -> int:
        if self.preferred is None:
            return 0
        mark = row[self.preferred].strip().casefold()
        if mark not in _TRUE | _FALSE:
            raise DataError("expected yes or no in the column of preferred names", value=mark)
        return int(mark in _FALSE)


def table_layout(header: Sequence[str], fields: KbFields) -> Layout:
    columns = [column.strip().casefold() for column in header]

    def column_of(field: str) -> int | None:
        return columns.index(field.casefold()) if field.casefold() in columns else None

    entity, name = column_of(fields.id), column_of(fields.name)
    if entity is None or name is None:
        problem = f"expected a header with the columns {fields.id!r} and {fields.name!r}; found"
        raise DataError(problem, value=", ".join(header))
    more = [column for field in fields.names if (column := column_of(field)) is not None]
    return Layout(
        width=len(columns),
        id=entity,
        name=name,
        more=tuple(column for column in more if column not in (entity, name)),
        preferred=column_of(_PREFERRED),
    )


def tab_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Fields between tabs, where a quote is a character unless quotes enclose the whole field."""
    for number, line in lines:
        if line.strip():
            yield number, [_unquote(field) for field in line.split("\t")]


def _unquote(field: str) -> str:
    if len(field) < 2 or field[0] != '"' or field[-1] != '"':
        return field
    inner = field[1:-1]
    return field if '"' in inner.replace('""', "") else inner.replace('""', '"')


def comma_rows(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Row]]:
    """Records of a CSV file with the line on which they start; a field may hold line ends."""
    for number, row in rows_in(lines, longest_field=_LONGEST_FIELD):
        if isinstance(row, DataError) or any(field.strip() for field in row):
            yield number, row
