"""Sets as plain data in CSV, JSON and Parquet, and the table of new names that patches a KB."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from synsetmine.errors import DataError, Skipped
from synsetmine.export.entries import About, Entry, confidence, new_names
from synsetmine.io.files import atomic_write, numbered_lines, write_text
from synsetmine.io.tables import cell_of, escape_formula, rows_of, unescape_formula
from synsetmine.kb.base import clean_name
from synsetmine.kb.patch import NewName
from synsetmine.kb.tables import tab_rows
from synsetmine.normalization import normal_form
from synsetmine.runs import MinedTerm, Scope, Sentence, Verdict
from synsetmine.runs.results import orcid_of
from synsetmine.types import NameKind

COLUMNS = {
    "set_id": "string",
    "preferred": "string",
    "term": "string",
    "sense": "string",
    "count": "int64",
    "probability": "double",
    "known": "bool",
    "action": "string",
    "kind": "string",
    "relation": "string",
    "nearest": "string",
    "entity": "string",
    "entity_name": "string",
    "verdict": "string",
    "scope": "string",
    "reviewer": "string",
    "when": "string",
    "evidence": "string",
    "document": "string",
    "sentence": "string",
}

_JUDGED = ("verdict", "scope", "reviewer", "when")
_NO_SENTENCE = Sentence("", "", 0, 0)


def write_csv(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (a table has no place for it)
) -> list[Path]:
    """One row a term, the preferred one first; `preferred` has it in every row of its set.

    What looks like a formula has an apostrophe in front, since spreadsheets run formulas.
    """
    rows = ([cell_of(value) for value in row.values()] for row in _rows(entries))
    write_text(path, rows_of((list(COLUMNS), *rows), ","))
    return [path]


def write_parquet(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """The same rows with their types; nothing is guarded, and missing values are null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = {"title": about.title, "tool": about.tool, "created": about.created}
    metadata = {f"synsetmine.{name}": value for name, value in values.items() if value}
    schema = pa.schema(
        [(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()], metadata=metadata
    )
    rows = [
        {name: None if value == "" else value for name, value in row.items()}
        for row in _rows(entries)
    ]
    with atomic_write(path) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), temporary)
    return [path]


def write_jsonl(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (a line is a set, and nothing else)
) -> list[Path]:
    """One set a line as files of sets have it, the preferred term first, and more.

    `details` describes the terms, in the same order.
    """
    lines = (json.dumps(_record(entry), ensure_ascii=False) for entry in entries)
    write_text(path, "".join(f"{line}\n" for line in lines))
    return [path]


def _rows(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        for term in entry.terms:
            row = {
                "set_id": entry.id,
                "preferred": entry.preferred.text,
                **_details(term),
                **_best_evidence(term),
                "entity": entry.entity,
                "entity_name": entry.name,
            }
            yield {name: row[name] for name in COLUMNS}


def _record(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "terms": [str(term.term) for term in entry.terms],
        "preferred": entry.preferred.text,
        "entity": entry.entity,
        "entity_name": entry.name,
        "details": [_details(term) | {"evidence": _evidence(term)} for term in entry.terms],
    }


def _details(term: MinedTerm) -> dict[str, Any]:
    return {
        "term": term.text,
        "sense": term.sense,
        "count": term.count,
        "probability": confidence(term),
        "known": term.known,
        "action": term.action,
        "kind": term.kind,
        "relation": term.relation,
        "nearest": term.nearest,
        **{name: getattr(term.judgement, name, None) for name in _JUDGED},
    }


def _best_evidence(term: MinedTerm) -> dict[str, str]:
    best = next(iter(term.evidence), _NO_SENTENCE)
    return {"evidence": best.relation, "document": best.document, "sentence": best.text}


def _evidence(term: MinedTerm) -> list[dict[str, str]]:
    return [
        {"relation": one.relation, "document": one.document, "text": one.text}
        for one in term.evidence
    ]


# --- New names for known entities ---

PATCH_COLUMNS = (
    *("entity", "entity_name", "new_name", "kind", "relation", "nearest", "scope"),
    *("probability", "count", "known", "verdict", "reviewer", "when"),
    *("evidence", "document", "sentence"),
)
_NEEDED = frozenset({"entity", "new_name"})


def write_patch(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (a table has no place for it)
) -> list[Path]:
    """New names of entities for a curator: one row a name, the surest of each entity first.

    A patch adds names and leaves the preferred one as it is. Cells are guarded against
    spreadsheets that would run them as formulas.
    """
    if all(entry.entity is None for entry in entries):
        raise DataError(
            "none of these sets has an entity of a knowledge base, so there is nothing to patch"
        )
    write_text(path, rows_of((PATCH_COLUMNS, *_patch_rows(entries)), "\t"))
    return [path]


def read_patch(path: Path, *, refused: Skipped, reviewed: bool = False) -> Iterator[NewName]:
    """The names to add: those called correct and, unless `reviewed`, those that nobody judged.

    The others go to `refused`. Only the columns `entity` and `new_name` must be there.
    """
    header: list[str] | None = None
    for number, row in tab_rows(numbered_lines(path)):
        try:
            if isinstance(row, DataError):
                raise row
            if header is None:
                header = _check_header(row)
                continue
            if len(row) > len(header):
                raise DataError("a row with more cells than the header", value="\t".join(row))
            cells = dict(zip(header, map(unescape_formula, row), strict=False))
            name, verdict = _new_name(cells), _one_of(Verdict, cells.get("verdict", ""), "")
        except DataError as error:
            raise error.at(path, number) from None
        if verdict == "correct" or not (verdict or reviewed):
            yield name
        else:
            who = "a reviewer did not call correct" if verdict else "nobody judged"
            problem = f"a name that {who}"
            refused.append(DataError(problem, path=path, line=number, value=name.name))
    if header is None:
        raise DataError("no header in this file", path=path)


def with_sentences(
    entries: Sequence[Entry], examples: Mapping[str, Sequence[Sentence]]
) -> list[Entry]:
    """The entries with sentences, given by normal form, where they are found."""

    def shown(term: MinedTerm) -> MinedTerm:
        return replace(term, sentences=tuple(examples.get(normal_form(term.text), ())))

    return [
        replace(entry, preferred=shown(entry.preferred), others=tuple(map(shown, entry.others)))
        for entry in entries
    ]


def _patch_rows(entries: Sequence[Entry]) -> Iterator[list[str]]:
    for entry in entries:
        for term in sorted(new_names(entry), key=lambda term: -(confidence(term) or 0)):
            yield [escape_formula(cell) for cell in (entry.entity or "", entry.name, *_cells(term))]


def _cells(term: MinedTerm) -> list[str]:
    sure, judged = confidence(term), term.judgement
    quote = next(iter(term.quotes(term.sentences)), _NO_SENTENCE)
    return [
        clean_name(term.text),
        term.kind or "",
        term.relation or "",
        _one_line(term.nearest),
        term.scope,
        "" if sure is None else f"{sure:.6g}",
        str(term.count),
        "yes" if term.known else "no",
        term.verdict or "",
        "" if judged is None else clean_name(judged.reviewer),
        "" if judged is None else judged.when,
        quote.relation,
        _one_line(quote.document),
        _one_line(quote.text),
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _check_header(header: Sequence[str]) -> list[str]:
    columns = [column.strip().casefold() for column in header]
    if not set(columns) >= _NEEDED:
        problem = f"expected a header with the columns {' and '.join(sorted(_NEEDED))}; found"
        raise DataError(problem, value=", ".join(header))
    return columns


def _new_name(cells: Mapping[str, str]) -> NewName:
    entity, name = cells["entity"].strip(), cells.get("new_name", "")
    if not entity or not name.strip():
        raise DataError("a row needs an entity and a new name", value=f"{entity}\t{name}")
    orcid = orcid_of(cells.get("reviewer", ""))
    return NewName(
        entity=entity,
        name=name,
        scope=_one_of(Scope, cells.get("scope", ""), "exact"),
        kind=_one_of(NameKind, cells.get("kind", ""), ""),
        source=f"orcid:{orcid}" if orcid else "",
    )


def _one_of(allowed: object, cell: str, empty: str) -> str:
    """What a cell says, in small letters, if it is one of a few words."""
    word = cell.strip().casefold() or empty
    if word and word not in get_args(allowed):
        raise DataError(f"expected one of {', '.join(get_args(allowed))}", value=cell)
    return word
