"""New names written into the files of a knowledge base, record by record."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from synsetmine.errors import DataError, ErrorCounts, skip_broken
from synsetmine.io.files import atomic_stream, byte_lines, open_binary
from synsetmine.io.tables import Row, delimiter_of, row_of
from synsetmine.kb.base import clean_name, valid_unicode
from synsetmine.kb.dumps import json_fields
from synsetmine.kb.obo import (
    Frame,
    obo_problem,
    parse_frame,
    read_term,
    starts_frame,
    starts_term,
    synonym_clause,
)
from synsetmine.kb.readers import (
    KbFields,
    Layout,
    comma_rows,
    guess_format,
    parse_record,
    tab_rows,
    table_layout,
)
from synsetmine.normalization import normal_form, tokens
from synsetmine.types import KbFormat

UNSCOPED = "a name that is not an exact synonym; this format has no others"


@dataclass(frozen=True, slots=True)
class NewName:
    """A name for an entity; `sources` are ids of documents and authors, for formats with them."""

    entity: str
    name: str
    scope: str = "exact"  # of the name, compared with the entity; or broad, narrow, related
    sources: tuple[str, ...] = ()
    kind: str = ""  # one of `NameKind`, for formats that have types of names


class Record(Protocol):
    """A piece of a file that names an entity; the pieces in their order are the file."""

    @property
    def raw(self) -> bytes: ...

    @property
    def entity(self) -> str: ...

    @property
    def names(self) -> Sequence[str]: ...

    def refuses(self, name: NewName) -> str:
        """Why the record cannot hold a name; empty if it can."""

    def with_names(self, names: Sequence[NewName]) -> bytes:
        """The piece with further names in it."""


def texts_of(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """The lines of a file: number, bytes, and the text without its end."""
    for number, raw in byte_lines(path):
        try:
            yield number, raw, raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise DataError("not UTF-8", path=path, line=number, value=raw[:80]) from None


def line_end(raw: bytes) -> bytes:
    """The line end of a piece; the last one of a file may have none, and `\\r` alone is none."""
    return raw[len(raw.rstrip(b"\r\n")) :] if raw.endswith(b"\n") else b""


def json_records(path: Path, fields: KbFields) -> Iterator[bytes | Record]:
    """The lines of a file, those with entities as records."""
    for number, raw, text in texts_of(path):
        if not text.strip():
            yield raw
            continue
        with skip_broken(path, number, None):
            entity, names, _ = parse_record(text, fields)
            yield _JsonRecord(raw, entity, [valid_unicode(name) for name in names], fields.names)


@dataclass(frozen=True, slots=True)
class _JsonRecord:
    raw: bytes
    entity: str
    names: Sequence[str]
    lists: Sequence[str]  # the fields of further names

    def refuses(self, name: NewName) -> str:
        return "" if name.scope == "exact" else UNSCOPED

    def with_names(self, names: Sequence[NewName]) -> bytes:
        """The line with the names at the end of its last list of names, or in a new one."""
        end = line_end(self.raw)
        text = self.raw.removesuffix(end).decode()
        added = ", ".join(json.dumps(name.name, ensure_ascii=False) for name in names)
        # Of two fields with one name the last counts.
        values = {name: (start, end) for name, _, start, end in json_fields(text)}
        lists = [field for field in self.lists if field in values]
        if not lists:
            closing = text.rindex("}")
            field = self.lists[0]
            text = f'{text[:closing].rstrip()}, "{field}": [{added}]{text[closing:]}'
        else:
            start, stop = max(values[field] for field in lists)
            text = text[:start] + _longer(text[start:stop], added) + text[stop:]
        return text.encode() + end


def _longer(value: str, added: str) -> str:
    """A list of JSON, or null, with further elements."""
    inner = value[1:-1].rstrip() if value != "null" else ""
    return f"[{inner}, {added}]" if inner.strip() else f"[{added}]"


Lines = Iterator[tuple[int, bytes]]


def _tab_rows(lines: Lines) -> Iterator[tuple[int, Row]]:
    return tab_rows((number, raw.decode().rstrip("\r\n")) for number, raw in lines)


def table_records(
    path: Path,
    rows: Callable[[Lines], Iterator[tuple[int, Row]]],
    delimiter: Callable[[str], str],
    fields: KbFields,
) -> Iterator[bytes | Record]:
    """The rows of a file; what its reader passes over, such as empty lines, comes as it is."""
    taken: list[tuple[int, bytes]] = []  # the lines that the reader took since the last row

    def lines() -> Lines:
        for number, raw, _ in texts_of(path):
            taken.append((number, raw))
            yield number, raw

    layout: Layout | None = None
    between = ","
    for number, row in rows(lines()):
        before = b"".join(raw for at, raw in taken if at < number)
        raw = b"".join(raw for at, raw in taken if at >= number)
        taken.clear()
        if before:
            yield before
        with skip_broken(path, number, None):
            if isinstance(row, DataError):
                raise row
            if layout is None:
                layout, between = table_layout(row, fields), delimiter(raw.decode())
                yield raw
            else:
                names, _ = layout.names(row)
                yield _TableRecord(raw, layout.entity(row), names, row, layout, between)
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
        separator = self.layout.separator
        if self.layout.more and separator and separator in name.name:
            return f"a name with {separator!r}, which separates the names here"
        return ""

    def with_names(self, names: Sequence[NewName]) -> bytes:
        """The row with the names in its last column of names; without one, rows of their own."""
        end = line_end(self.raw)
        body = self.raw.removesuffix(end).decode()
        if self.layout.more and self.layout.separator:
            cells = list(self.row)
            column = self.layout.more[-1]
            names_before = [cells[column]] if cells[column].strip() else []
            cells[column] = self.layout.separator.join(
                [*names_before, *(name.name for name in names)]
            )
            return row_of(cells, self.delimiter).encode() + end
        rows = [body, *(row_of(self._row(name.name), self.delimiter) for name in names)]
        return (end.decode() or "\n").join(rows).encode() + end

    def _row(self, name: str) -> list[str]:
        """A row for another name; that it is not preferred is what an empty cell says."""
        cells = [""] * self.layout.width
        cells[self.layout.id], cells[self.layout.name] = self.entity, name
        return cells


# The clauses that the format puts before synonyms, and synonyms themselves.
_EARLIER = re.compile(
    rb"\s*(id|is_anonymous|name|namespace|alt_id|def|comment|subset|(?:\w+_)?synonym)\s*:"
)
# The type that a header declares for abbreviations: ABBREVIATION, or OMO's.
_ABBREVIATION = re.compile(r"synonymtypedef:\s*(abbreviation|OMO:0003000)\s", re.I)


def obo_records(path: Path, fields: KbFields) -> Iterator[bytes | Record]:
    """The frames of a file, terms in use as records."""
    del fields  # the format names its own
    frame: Frame | None = None
    lines: list[bytes] = []
    abbreviation = ""
    for number, raw, text in texts_of(path):
        if declared := _ABBREVIATION.match(text):
            abbreviation = declared[1]
        if starts_frame(text):
            yield _piece(path, frame, lines, abbreviation)
            frame, lines = Frame([number]) if starts_term(text) else None, []
        elif frame is not None:
            frame.take(number, text)
        lines.append(raw)
    yield _piece(path, frame, lines, abbreviation)


def _piece(
    path: Path, frame: Frame | None, lines: list[bytes], abbreviation: str
) -> bytes | Record:
    if frame is None:
        return b"".join(lines)
    try:
        term = read_term(parse_frame(frame), short_ids=True)
    except DataError as error:
        raise error.at(path, error.line or frame.numbers[0]) from None
    if term.obsolete:  # to a knowledge base there is no such entity
        return b"".join(lines)
    names = (*term.names, *(name for _, name in term.synonyms))
    return _OboRecord(tuple(lines), term.id, names, abbreviation)


@dataclass(frozen=True, slots=True)
class _OboRecord:
    lines: tuple[bytes, ...]
    entity: str
    names: Sequence[str]
    abbreviation: str  # the type that the header declares for abbreviations; empty: none

    @property
    def raw(self) -> bytes:
        return b"".join(self.lines)

    def refuses(self, name: NewName) -> str:
        return obo_problem(name.name)

    def with_names(self, names: Sequence[NewName]) -> bytes:
        """The frame with the synonyms after those that it has."""
        position = max(i for i, line in enumerate(self.lines) if i == 0 or _EARLIER.match(line)) + 1
        end = line_end(self.lines[0]) or b"\n"
        before = b"".join(self.lines[:position])
        if not line_end(before):  # the last line of the file
            before += end
        clauses = (
            synonym_clause(
                name.name,
                name.scope,
                name.sources,
                kind=self.abbreviation if name.kind == "abbreviation" else "",
            )
            for name in names
        )
        added = b"".join(clause.encode() + end for clause in clauses)
        return before + added + b"".join(self.lines[position:])


_FORMATS: Mapping[str, Callable[[Path, KbFields], Iterator[bytes | Record]]] = {
    "jsonl": json_records,
    "csv": lambda path, fields: table_records(path, comma_rows, delimiter_of, fields),
    "tsv": lambda path, fields: table_records(path, _tab_rows, lambda _: "\t", fields),
    "obo": obo_records,
}


@dataclass(frozen=True)
class PatchResult:
    """How many names were added, to how many entities."""

    names: int
    entities: int


def apply_names(
    kb: Path,
    out: Path,
    names: Iterable[NewName],
    *,
    refused: ErrorCounts,
    format: KbFormat | None = None,
    fields: KbFields | None = None,
) -> PatchResult:
    """Write a knowledge base with further names; those that cannot be added go to `refused`.

    A name is there already if the entity has one of the same normal form, in whatever scope. The
    file is read twice as a stream: to see what is there, and to copy it.
    """
    format = format or guess_format(kb)
    if format not in _FORMATS:
        problem = (
            f"names can be added to files of the formats {', '.join(_FORMATS)}; this is {format}"
        )
        raise DataError(problem, path=kb)
    fields = fields or KbFields()
    records = _FORMATS[format]
    homes: dict[str, _EntityRecord] = {}
    for name in names:
        homes.setdefault(name.entity, _EntityRecord()).new_names.append(name)
    for number, piece in enumerate(records(kb, fields)):
        if not isinstance(piece, bytes) and piece.entity in homes:
            homes[piece.entity].meet(number, piece)
    chosen = {home.number: home.choose(refused) for home in homes.values()}
    with atomic_stream(out) as stream:
        stream.write(_byte_order_mark(kb))
        for number, piece in enumerate(records(kb, fields)):
            if isinstance(piece, bytes):
                stream.write(piece)
            else:
                added = chosen.get(number)
                stream.write(piece.with_names(added) if added else piece.raw)
    return PatchResult(sum(map(len, chosen.values())), sum(map(bool, chosen.values())))


@dataclass
class _EntityRecord:
    """Where the names of one entity belong."""

    new_names: list[NewName] = field(default_factory=list)
    forms: set[str] = field(default_factory=set)  # normal forms of the names that it has
    number: int | None = None  # of the last piece about it, which takes the new names
    record: Record | None = None

    def meet(self, number: int, record: Record) -> None:
        self.number, self.record = number, record
        self.forms.update(normal_form(clean_name(name)) for name in record.names)

    def choose(self, refused: ErrorCounts) -> list[NewName]:
        """The names that can be added, as they are written."""
        chosen = []
        for new in self.new_names:
            name = replace(new, name=clean_name(new.name))
            if problem := self._problem(name):
                value = name.entity if self.record is None else f"{name.entity}: {name.name}"
                refused.append(DataError(problem, value=value))
            else:
                chosen.append(name)
                self.forms.add(normal_form(name.name))
        return chosen

    def _problem(self, name: NewName) -> str:
        if self.record is None:
            return "a name of an entity that is not in the knowledge base"
        form = normal_form(name.name)
        if not form:
            return "a name without a letter or digit"
        # As in `KnowledgeBase.knows`: a name known as `usa` may be written `USA`.
        if {form, " ".join(tokens(name.name))} & self.forms:
            return "a name that the entity already has"
        return self.record.refuses(name)


def _byte_order_mark(path: Path) -> bytes:
    """What readers of lines pass over at the start of a file."""
    with open_binary(path) as stream:
        start = stream.read(len(codecs.BOM_UTF8))
    return start if start == codecs.BOM_UTF8 else b""
