"""Knowledge bases of all formats, of which JSON lines and tables are read here."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from synsetmine.errors import DataError, ErrorCounts
from synsetmine.io.files import (
    AS_XLSX,
    OTHER_SHEETS,
    Meter,
    Source,
    open_binary,
    parse_json,
    plain_name,
)
from synsetmine.io.sets import read_entities
from synsetmine.io.tables import Row, rows_in, sheet_rows
from synsetmine.kb.base import KnowledgeBase, KnowledgeBuilder
from synsetmine.kb.dumps import add_mediawiki, add_umls, add_wikidata, umls_files
from synsetmine.kb.obo import Scope, add_obo
from synsetmine.kb.rdf import SYNTAXES, add_rdf
from synsetmine.types import KbFormat, Progress

_ENDINGS: dict[str, KbFormat] = {
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "xlsx": "xlsx",
    "xlsm": "xlsx",
    "set": "sets",
    "obo": "obo",
    "rrf": "umls",
    "rdf": "rdf",
    "owl": "rdf",
    "skos": "rdf",
    **dict.fromkeys(SYNTAXES, "rdf"),
}

NAMES_FIELDS = ("synonyms", "names", "aliases")
SEPARATOR = "|"  # between the names in a column of further names

_OF_AN_ITEM = (r'"type"\s*:\s*"(item|property|lexeme)"', r'"labels"\s*:\s*[{\[]', r'"id"\s*:')


def read_kb(
    path: str | Path,
    *,
    format: KbFormat | None = None,
    language: str = "en",
    id_field: str | None = None,
    name_field: str | None = None,
    names_field: str | Sequence[str] = (),
    definition_field: str = "definition",
    separator: str = SEPARATOR,
    scopes: Sequence[Scope] = ("EXACT",),
    short_ids: bool = True,
    sources: Collection[str] = (),
    keep_suppressed: bool = False,
    anchors: int = 0,
    skipped: ErrorCounts | None = None,
    progress: Progress | None = None,
) -> KnowledgeBase:
    """Read a knowledge base; the default format follows from the file extension or the content.

    - `saved`: a file of `KnowledgeBase.save`;
    - `jsonl`: lines `{"id": "D1", "name": "…", "synonyms": ["…"]}`; `names` or `aliases` work
      instead of `synonyms`, and other field names can be set;
    - `csv`, `tsv` and `xlsx` (first sheet; extra `xlsx`): with a header; one row per name (the
      first of an id is preferred, or the one with a true value in the column `preferred`), or
      further names in one or several columns, split at the `separator`; `*_field` name other
      columns, and the column of the name may serve as id and as list of names too;
    - `sets`: a file of synonym sets, such as the `synonyms.txt` of a search engine; a term may be
      in several sets;
    - `obo` and `rdf` (SKOS, SKOS-XL, OWL; Turtle, N-Triples, RDF/XML, JSON-LD, …): synonyms of
      these `scopes`; with `short_ids`, `http://purl.obolibrary.org/obo/DOID_1` is `DOID:1`. In
      RDF, `name_field` and `names_field` may be IRIs of further properties;
    - `umls`: `MRCONSO.RRF`, only names of these `sources` if any are given, suppressed ones only
      with `keep_suppressed`; a `MRCUI.RRF` next to it lists merged concepts;
    - `wikidata`: the JSON dump; items only;
    - `mediawiki`: titles and redirects of a dump, with `anchors` also the words of links.

    Definitions are read where the format has them: `definition` in JSON lines and tables, `def` in
    OBO, `skos:definition` and IAO:0000115 in RDF, descriptions in Wikidata, and a `MRDEF.RRF` next
    to `MRCONSO.RRF`.

    Names must be in `language` (`*` for all) where the format has languages. Names without a
    letter or digit are left out, and so are entities without other names; entities with the same
    id are merged. A broken record raises a DataError; with `skipped` it is skipped and counted, as
    are those names and entities. `progress` gets the bytes read so far and in total.
    """
    path = Path(path)
    format = format or guess_format(path)
    _check_options(format, scopes, anchors)
    if format == "saved":
        return KnowledgeBase.load(path)
    builder = KnowledgeBuilder(path=path, skipped=skipped)
    names = (names_field,) if isinstance(names_field, str) else names_field
    fields = KbFields.of(
        id_field=id_field,
        name_field=name_field,
        names_field=names,
        definition_field=definition_field,
        separator=separator,
    )
    size = path.stat().st_size if path.is_file() else 0
    meter = Meter(size, progress)
    with meter.start_file(size) as on_read:
        source = Source(path, skipped, on_read)
        match format:
            case "jsonl":
                add_jsonl(source, builder, fields)
            case "csv" | "tsv" | "xlsx":
                add_table(table_rows(source, format), source, builder, fields)
            case "sets":
                for entity, terms in read_entities(path, skipped=skipped).items():
                    builder.add(entity, [term.surface for term in terms])
            case "obo":
                add_obo(source, builder, scopes=scopes, short_ids=short_ids)
            case "rdf":
                add_rdf(
                    source,
                    builder,
                    language=language,
                    scopes=scopes,
                    short_ids=short_ids,
                    name_property=name_field,
                    names_properties=names,
                )
            case "umls":
                add_umls(
                    source,
                    builder,
                    language=language,
                    sources=sources,
                    keep_suppressed=keep_suppressed,
                )
            case "wikidata":
                add_wikidata(source, builder, language=language)
            case "mediawiki":
                add_mediawiki(source, builder, anchors=anchors)
    meter.report()
    kb = KnowledgeBase(builder.columns(merge=format == "mediawiki"))
    if not len(kb):
        hint = "" if skipped is None else skipped.hint()
        raise DataError(f"no entities with a usable name in this file{hint}", path=path)
    return kb


def guess_format(path: Path) -> KbFormat:
    """The format of a file, by its ending or else by how it starts."""
    ending = plain_name(path).rpartition(".")[2].lower()
    with open_binary(path) as stream:
        start = stream.read(4096)
    if start.startswith(b"ARROW1"):
        return "saved"
    if f".{ending}" in OTHER_SHEETS:
        problem = f".{ending} is not a format of knowledge bases"
        raise DataError(problem, path=path, hint=AS_XLSX)
    wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = start.decode("utf-16" if wide else "utf-8", errors="replace").lstrip("\ufeff \t\r\n")
    if re.match(r"\[?\s*\{", text) and all(re.search(part, text) for part in _OF_AN_ITEM):
        return "wikidata"
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if "<mediawiki" in text:
        return "mediawiki"
    if re.search(r"<(\w+:)?RDF\b|^\s*@prefix\b|^PREFIX\b|\"@(context|graph|id)\"", text, re.M):
        return "rdf"
    if text.startswith("format-version:") or "\n[Term]" in text:
        return "obo"
    if re.match(r"C\d{7}\|", text):
        return "umls"
    if re.match(r'\{\s*"', text):
        return "jsonl"
    if ending == "txt":
        return "sets"
    problem = f"cannot tell the format of this file; name one of {', '.join(get_args(KbFormat))}"
    raise DataError(problem, path=path, value=text[:40])


def _check_options(format: str, scopes: Collection[str], anchors: int) -> None:
    if format not in get_args(KbFormat):
        raise DataError(f"the format must be one of {', '.join(get_args(KbFormat))}", value=format)
    if isinstance(scopes, str) or not set(scopes) <= set(get_args(Scope)):
        raise DataError(f"scopes must be among {', '.join(get_args(Scope))}", value=scopes)
    if anchors < 0:
        raise DataError("anchors must be 0 or more", value=anchors)


def kb_files(path: Path) -> list[Path]:
    """All files that are read for a knowledge base: its own, and those that belong to it."""
    return [path, *umls_files(path).values()]


_LONGEST_FIELD = 2**17  # a quote that is never closed costs no more names than that many hold
_PREFERRED = "preferred"  # the column that marks preferred names
_TRUE = frozenset({"1", "true", "t", "yes", "y", "preferred"})
_FALSE = frozenset({"", "0", "false", "f", "no", "n"})


@dataclass(frozen=True, slots=True)
class KbFields:
    """What the fields of a record are called."""

    id: str = "id"
    name: str = "name"
    names: Sequence[str] = NAMES_FIELDS
    definition: str = "definition"
    separator: str = SEPARATOR

    @classmethod
    def of(
        cls,
        *,
        id_field: str | None = None,
        name_field: str | None = None,
        names_field: Sequence[str] = (),
        definition_field: str = "definition",
        separator: str = SEPARATOR,
    ) -> KbFields:
        names = tuple(names_field) or NAMES_FIELDS
        return cls(id_field or "id", name_field or "name", names, definition_field, separator)


def add_jsonl(source: Source, builder: KnowledgeBuilder, fields: KbFields) -> None:
    """Read `{"id": "D1", "name": "…", "synonyms": ["…", …]}`, one entity a line."""
    for number, line in source.lines():
        if not line.strip():
            continue
        with source.skip_broken(number):
            entity, names, definition = parse_record(line, fields)
            builder.add(entity, names, line=number)
            builder.define(entity, definition)


def parse_record(line: str, fields: KbFields) -> tuple[str, list[str], str]:
    """The id, the names and the definition of an entity in JSON."""
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
    definition = record.get(fields.definition)
    return entity, names, definition if isinstance(definition, str) else ""


def _strings(record: Mapping[str, object], field: str) -> list[str]:
    value = record.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise DataError(f"expected a list of strings in the field {field!r}", value=value)
    return value


def table_rows(source: Source, format: Literal["csv", "tsv", "xlsx"]) -> Iterator[tuple[int, Row]]:
    """The rows of a table with the lines on which they start."""
    match format:
        case "csv":
            return comma_rows(source.byte_lines())
        case "tsv":
            return tab_rows(source.lines())
        case "xlsx":
            return sheet_rows(source)


def add_table(
    rows: Iterable[tuple[int, Row]], source: Source, builder: KnowledgeBuilder, fields: KbFields
) -> None:
    """Read the rows of a table with a header.

    There is one row a name, of which the first or those with a true value in the column
    `preferred` are preferred, or one row an entity with columns of further names.
    """
    layout: Layout | None = None
    for number, row in rows:
        try:
            if isinstance(row, DataError):
                raise row
            if layout is None:
                layout = table_layout(row, fields)
                continue
            names, rank = layout.names(row)
            entity = layout.entity(row)
            builder.add(entity, names, rank=rank, line=number)
            if layout.definition is not None:
                builder.define(entity, row[layout.definition])
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
    definition: int | None
    separator: str = SEPARATOR

    def entity(self, row: Sequence[str]) -> str:
        """The id of a row: its preferred name where that is the id too."""
        text = row[self.id] if self.id != self.name else next(iter(self.names(row)[0]), "")
        return text.strip()

    def names(self, row: Sequence[str]) -> tuple[list[str], int]:
        """The names in a row, and the rank of the first."""
        if len(row) != self.width:
            problem = "a row with more or fewer fields than the header"
            raise DataError(problem, value=", ".join(row))
        names = [] if self.name in self.more else [row[self.name]]
        for column in self.more:
            names += self._split(row[column])
        return names, self._rank(row)

    def _split(self, cell: str) -> list[str]:
        names = cell.split(self.separator) if self.separator else [cell]
        return [name for name in names if name.strip()]

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
        field = field.strip().casefold()
        return columns.index(field) if field in columns else None

    entity, name = column_of(fields.id), column_of(fields.name)
    missing = (
        [] if fields.names is NAMES_FIELDS else [f for f in fields.names if column_of(f) is None]
    )
    if entity is None or name is None or missing:
        expected = " and ".join(map(repr, dict.fromkeys([fields.id, fields.name, *missing])))
        problem = f"expected a header with the columns {expected}; found"
        hint = "choose columns with --id-field and --name-field, in a project as id_field and "
        hint += "name_field of [kb]; `synsetmine init` proposes them"
        raise DataError(problem, value=", ".join(header), hint=hint)
    more = [column for field in fields.names if (column := column_of(field)) is not None]
    return Layout(
        width=len(columns),
        id=entity,
        name=name,
        more=tuple(dict.fromkeys(column for column in more if column != entity or entity == name)),
        preferred=column_of(_PREFERRED),
        definition=column_of(fields.definition),
        separator=fields.separator,
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
