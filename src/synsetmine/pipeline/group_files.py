"""Groups of names as files and tables: JSON lines, CSV, Parquet, `synonyms.txt`, DataFrames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from synsetmine.corpus.name_lists import PAIR_HEADER
from synsetmine.errors import DataError, Skipped, SynsetmineError
from synsetmine.io.files import atomic_write, plain_name, write_text
from synsetmine.io.tables import cell_of, escape_formula, rows_of
from synsetmine.normalization import name_key
from synsetmine.types import Term

if TYPE_CHECKING:
    from synsetmine.export import Entry
    from synsetmine.pipeline.grouping import Grouping, Member, NameSet, UnsurePair


COLUMNS = {
    "set_id": "string",
    "canonical": "string",
    "name": "string",
    "count": "int64",
    "probability": "double",
    "known": "bool",
}
_Row: TypeAlias = tuple[str | None, str, str, int, float | None, bool]


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

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    columns = list(zip(*_rows(grouping, alone=alone), strict=True)) or [()] * len(COLUMNS)
    return pa.table(dict(zip(COLUMNS, columns, strict=True)), schema=schema)


def as_frame(grouping: Grouping, library: str) -> Any:
    """The same as a DataFrame."""
    table = as_table(grouping)
    try:
        if library == "pandas":
            return table.to_pandas()
        if library == "polars":
            import polars

            return polars.from_arrow(table)
    except ImportError as error:
        problem = (
            f"to_frame needs {library}: pip install {library}; to_arrow needs no extra package"
        )
        raise SynsetmineError(problem) from error
    raise DataError("expected 'pandas' or 'polars'", value=library)


def _rows(grouping: Grouping, *, alone: bool) -> Iterator[_Row]:
    for name_set in grouping.sets:
        for m in name_set.entries:
            yield name_set.id, name_set.name, m.name, m.count, m.probability, m.known
    if alone:
        for m in grouping.alone:
            yield None, m.name, m.name, m.count, m.probability, m.known


def _write_csv(path: Path, grouping: Grouping, alone: bool, skipped: Skipped) -> None:
    """What looks like a formula has an apostrophe in front, since spreadsheets run formulas."""
    del skipped  # a cell holds any name
    rows = (
        [cell_of(round(value, 6) if isinstance(value, float) else value) for value in row]
        for row in _rows(grouping, alone=alone)
    )
    write_text(path, rows_of((list(COLUMNS), *rows), ","))


def _write_parquet(path: Path, grouping: Grouping, alone: bool, skipped: Skipped) -> None:
    del skipped
    import pyarrow.parquet as pq

    table = as_table(grouping, alone=alone)
    with atomic_write(path) as temporary:
        pq.write_table(table, temporary)


def _write_jsonl(path: Path, grouping: Grouping, alone: bool, skipped: Skipped) -> None:
    """One set per line, as in files of sets; a single name gets an id like any set."""
    del skipped
    records = [_record(s.id, s.entries) for s in grouping.sets]
    if alone:
        alone_ids = zip(grouping.ids_alone, grouping.alone, strict=True)
        records += [_record(set_id, (member,)) for set_id, member in alone_ids]
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    write_text(path, "".join(f"{line}\n" for line in lines))


def _record(set_id: str, members: tuple[Member, ...]) -> dict[str, Any]:
    return {
        "id": set_id,
        "terms": [str(Term(member.name)) for member in members],
        "canonical": members[0].name,
        "details": [
            {
                "name": member.name,
                "count": member.count,
                "probability": None if member.probability is None else round(member.probability, 6),
                "known": member.known,
            }
            for member in members
        ],
    }


def _write_solr(path: Path, grouping: Grouping, alone: bool, skipped: Skipped) -> None:
    """One rule a set; spellings that a search engine takes for one are written once."""
    del alone
    from synsetmine.export import FORMATS, About

    several = [s for s in grouping.sets if len({name_key(name) for name in s.members}) > 1]
    entries = FORMATS["solr"].writable([_entry(name_set) for name_set in several], skipped)
    FORMATS["solr"].write(path, entries, About(), limit=0)


def _entry(name_set: NameSet) -> Entry:
    from synsetmine.export import Entry
    from synsetmine.runs import MinedTerm

    spelled: dict[str, Member] = {}
    for member in name_set.entries:
        spelled.setdefault(name_key(member.name), member)
    first, *others = (
        MinedTerm(m.name, m.count, "", m.known, m.probability) for m in spelled.values()
    )
    return Entry(name_set.id, first, tuple(others))


_Writer: TypeAlias = Callable[[Path, "Grouping", bool, Skipped], None]
_WRITERS: Mapping[str, _Writer] = {
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".txt": _write_solr,
}
