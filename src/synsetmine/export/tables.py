"""Sets as plain data: one row a term in CSV and Parquet, one line a set in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from synsetmine.export.entries import About, Entry, confidence
from synsetmine.io.files import atomic_write, write_text
from synsetmine.io.tables import cell_of, rows_of
from synsetmine.runs import MinedTerm

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

    `details` tells of the terms, in the same order.
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
    judged = term.judgement
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
        "verdict": None if judged is None else judged.verdict,
        "scope": None if judged is None else judged.scope,
        "reviewer": None if judged is None else judged.reviewer,
        "when": None if judged is None else judged.when,
    }


def _best_evidence(term: MinedTerm) -> dict[str, str]:
    best = term.evidence[0] if term.evidence else None
    return {
        "evidence": "" if best is None else best.relation,
        "document": "" if best is None else best.document,
        "sentence": "" if best is None else best.text,
    }


def _evidence(term: MinedTerm) -> list[dict[str, str]]:
    return [
        {"relation": one.relation, "document": one.document, "text": one.text}
        for one in term.evidence
    ]
