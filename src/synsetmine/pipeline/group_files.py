"""Groups of names as files and tables: JSON lines, CSV, Parquet, `synonyms.txt`, DataFrames."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from synsetmine.corpus.name_lists import PAIR_HEADER
from synsetmine.errors import DataError, Skipped
from synsetmine.io.files import atomic_write, plain_name, write_text
from synsetmine.io.tables import cell_of, escape_formula, rows_of
from synsetmine.normalization import name_key
from synsetmine.types import Term

if TYPE_CHECKING:
    from synsetmine.pipeline.name_sets import Grouping, Member, NameSet, UnsurePair
    from synsetmine.runs import MinedSet


COLUMNS = {
    "set_id": "string",
    "canonical": "string",
    "name": "string",
    "count": "int64",
    "probability": "double",
    "known": "bool",
}
_Row: TypeAlias = list[Any]


def write_grouping(
    path: Path, grouping: Grouping, *, alone: bool = False, skipped: Skipped | None = None
) -> None:
    """Write the sets in the format that the ending says, whole or not at all."""
    write = _WRITERS[check_ending(path, alone=alone)]
    write(path, grouping, alone, Skipped() if skipped is None else skipped)


def check_ending(path: Path, *, alone: bool = False) -> str:
    """The ending of a file that can be written; another is an error."""
    ending = Path(plain_name(path)).suffix.lower()
    if ending not in _WRITERS or (ending == ".parquet" and plain_name(path) != path.name):
        known = f"{', '.join(_WRITERS)}; all but .parquet also with .gz, .bz2 or .zst"
        raise DataError(f"unknown file extension; expected {known}", value=str(path))
    if alone and ending == ".txt":
        raise DataError("a rule needs two names, so sets of one name cannot be written", path=path)
    return ending


def check_pairs_ending(path: Path) -> None:
    """Refuse a file for unsure pairs that `read_pairs` would not read as CSV."""
    if Path(plain_name(path)).suffix.lower() != ".csv":
        raise DataError("unknown file extension for unsure pairs; expected .csv", value=str(path))


def write_pairs(path: Path, pairs: Iterator[UnsurePair] | tuple[UnsurePair, ...]) -> None:
    """Write pairs with their probabilities as CSV, which `read_pairs` reads."""
    header = (*PAIR_HEADER, "probability")
    rows = (
        (escape_formula(one), escape_formula(other), str(round(p, 6))) for one, other, p in pairs
    )
    write_text(path, rows_of((header, *rows), ","))


def as_table(grouping: Grouping, *, alone: bool = True) -> Any:
    """A table of Arrow with a row a name."""
    import pyarrow as pa

    header = _header(grouping)
    kinds = {name: pa.type_for_alias(kind) for name, kind in COLUMNS.items()}
    kinds |= {"type": pa.string(), "contexts": pa.list_(pa.string())}
    columns = list(zip(*_rows(grouping, header, alone=alone), strict=True)) or [()] * len(header)
    schema = pa.schema([(name, kinds[name]) for name in header])
    return pa.table(dict(zip(header, columns, strict=True)), schema=schema)


def _header(grouping: Grouping) -> list[str]:
    """The columns: type and contexts only if the list has any."""
    members = [*grouping.alone, *(m for name_set in grouping.sets for m in name_set.entries)]
    header = [*COLUMNS]
    if any(member.type for member in members):
        header.append("type")
    if any(member.contexts for member in members):
        header.append("contexts")
    return header


def _rows(grouping: Grouping, header: Sequence[str], *, alone: bool) -> Iterator[_Row]:
    for name_set in grouping.sets:
        for member in name_set.entries:
            yield _row(header, name_set.id, name_set.name, member)
    if alone:
        for member in grouping.alone:
            yield _row(header, None, member.name, member)


def _row(header: Sequence[str], set_id: str | None, canonical: str, m: Member) -> _Row:
    row: _Row = [set_id, canonical, m.name, m.count, m.probability, m.known]
    if "type" in header:
        row.append(m.type or None)
    if "contexts" in header:
        row.append(list(m.contexts))
    return row


def _write_csv(path: Path, grouping: Grouping, alone: bool, skipped: Skipped) -> None:
    """What looks like a formula has an apostrophe in front, since spreadsheets run formulas."""
    del skipped  # a cell holds any name
    header = _header(grouping)
    rows = ([*map(_cell, row)] for row in _rows(grouping, header, alone=alone))
    write_text(path, rows_of((header, *rows), ","))


def _cell(value: object) -> str:
    if isinstance(value, list):
        value = " | ".join(value)
    return cell_of(round(value, 6) if isinstance(value, float) else value)


def _write_parquet(path: Path, grouping: Grouping, alone: bool, skipped: Skipped) -> None:
    del skipped
    import pyarrow.parquet as pq

    table = as_table(grouping, alone=alone)
    with atomic_write(path) as temporary:
        pq.write_table(table, temporary)


def _write_jsonl(path: Path, grouping: Grouping, alone: bool, skipped: Skipped) -> None:
    """One set per line, as in files of sets; a single name gets an id like any set."""
    del skipped
    sets = [(s.id, s.entries) for s in grouping.sets]
    if alone:
        single = zip(grouping.ids_alone, grouping.alone, strict=True)
        sets += [(set_id, (member,)) for set_id, member in single]
    counts = Counter(name for _, entries in sets for name in {m.name for m in entries})
    lines = []
    for set_id, entries in sets:
        # A name of several sets has the id of its set as its sense.
        terms = {m.name: Term(m.name, set_id if counts[m.name] > 1 else "") for m in entries}
        record = {
            "id": set_id,
            "terms": [*map(str, terms.values())],
            "canonical": entries[0].name,
            "details": [*map(_details, entries)],
        }
        lines.append(f"{json.dumps(record, ensure_ascii=False)}\n")
    write_text(path, "".join(lines))


def _details(member: Member) -> dict[str, Any]:
    details: dict[str, Any] = {
        "name": member.name,
        "count": member.count,
        "probability": None if member.probability is None else round(member.probability, 6),
        "known": member.known,
    }
    if member.type:
        details["type"] = member.type
    if member.contexts:
        details["contexts"] = list(member.contexts)
    return details


def _write_solr(path: Path, grouping: Grouping, alone: bool, skipped: Skipped) -> None:
    """One rule a set; spellings that a search engine takes for one are written once."""
    del alone
    from synsetmine.export import FORMATS, About

    several = [s for s in grouping.sets if len({name_key(name) for name in s.members}) > 1]
    entries = FORMATS["solr"].writable([_entry(name_set) for name_set in several], skipped)
    FORMATS["solr"].write(path, entries, About(), limit=0)


def _entry(name_set: NameSet) -> MinedSet:
    from synsetmine.runs import MinedSet, MinedTerm

    spelled: dict[str, Member] = {}
    for member in name_set.entries:
        spelled.setdefault(name_key(member.name), member)
    first, *others = (
        MinedTerm(m.name, m.count, "", m.known, m.probability) for m in spelled.values()
    )
    return MinedSet(name_set.id, (first, *others))


_Writer: TypeAlias = Callable[[Path, "Grouping", bool, Skipped], None]
_WRITERS: Mapping[str, _Writer] = {
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".txt": _write_solr,
}
