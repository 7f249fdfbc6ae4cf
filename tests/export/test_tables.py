"""CSV, Parquet and JSON lines, read back by others and by our own reader of sets."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from synsetmine.export import About
from synsetmine.export.tables import COLUMNS, write_csv, write_jsonl, write_parquet
from synsetmine.io.sets import read_sets
from synsetmine.io.tables import escape_formula, row_of, unescape_formula
from synsetmine.runs import MinedSet, MinedTerm
from synsetmine.types import Term
from tests.support.curationentries import (
    NASTY,
    WHEN,
    entries,
    explained_set,
    infarction,
    nasty,
    surfaces,
    term,
)

HEADER = (
    "set_id,preferred,term,sense,count,probability,known,action,kind,relation,nearest,"
    "entity,entity_name,verdict,scope,reviewer,when,evidence,document,sentence"
)


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, strict=True))


def wanted(entry: MinedSet, found: MinedTerm) -> tuple[Any, ...]:
    """What a row says, in Python's own values, None for what is not told."""
    judged = found.judgement
    row: list[Any] = [entry.id, entry.terms[0].text, found.text, found.sense, found.count]
    row += [found.probability, found.known, found.action, found.kind, found.relation]
    row += [found.nearest, entry.entity, entry.name]
    if judged is None:
        row += [None] * 4
    else:
        row += [judged.verdict, judged.scope, judged.reviewer, judged.when]
    best = found.evidence[:1]
    row += [best[0].relation, best[0].document, best[0].text] if best else [None] * 3
    return tuple(None if value == "" else value for value in row)


def test_a_row_a_term(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert write_csv(path, [infarction(), infarction(None)], About()) == [path]
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == HEADER == ",".join(COLUMNS)
    name = "myocardial infarction"
    assert lines[1] == (
        f"D009203,{name},{name},,90,,true,seed,,,,D009203,Myocardial Infarction" + "," * 7
    )
    assert lines[4] == (
        f"D009203,{name},MI,2,1,0.7,false,joined,,,,D009203,Myocardial Infarction" + "," * 7
    )
    assert lines[6].endswith(f",correct,narrow,Bo | Co,{WHEN},,,")
    assert lines[9] == f"s1,{name},{name},,90,,true,seed" + "," * 12


def test_kinds_relations_and_evidence(tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", [explained_set()], About())
    write_jsonl(tmp_path / "x.jsonl", [explained_set()], About())
    rows = csv_rows(tmp_path / "x.csv")
    assert [(row["kind"], row["relation"], row["scope"]) for row in rows] == [
        ("", "", ""),
        ("abbreviation", "exact", ""),
        ("inflection", "exact", ""),
        ("other-words", "exact", ""),
        ("other-words", "narrow", ""),
        ("other-words", "broad", ""),
        ("other-words", "broad", "related"),
    ]
    evidence = explained_set().terms[1:][0].evidence
    assert rows[1]["nearest"] == "Infarction, Myocardial"
    assert (rows[1]["evidence"], rows[1]["document"]) == ("abbreviation", "399296")
    assert rows[1]["sentence"] == evidence[0].text
    details = json.loads((tmp_path / "x.jsonl").read_text("utf-8"))["details"]
    assert [found["kind"] for found in details] == [row["kind"] or None for row in rows]
    assert details[1]["evidence"] == [
        {"relation": one.relation, "document": one.document, "text": one.text} for one in evidence
    ]
    assert details[2]["evidence"] == []


def test_no_spreadsheet_runs_a_cell(tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", [nasty()], About())
    for row in csv_rows(tmp_path / "x.csv"):
        for name, cell in row.items():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")), (name, cell)
    found = [unescape_formula(row["term"]) for row in csv_rows(tmp_path / "x.csv")]
    assert found == [each.text for each in nasty().terms]


@given(text=surfaces())
def test_a_guard_can_be_taken_away(text: str) -> None:
    assert unescape_formula(escape_formula(text)) == text
    separators = sum(map(text.count, ";\r\n"))
    assert len(escape_formula(text)) <= len(text) + 1 + separators


FORMULA = "=HYPERLINK(1)"


@pytest.mark.parametrize("text", [f"a;{FORMULA}", f";;{FORMULA}", f"a\n{FORMULA}", "a;'b", ";+1"])
def test_no_spreadsheet_with_semicolons_between_cells_runs_one(tmp_path: Path, text: str) -> None:
    entry = MinedSet("s1", (MinedTerm("x", 1, "seed", True), MinedTerm(text, 1, "joined", False)))
    write_csv(tmp_path / "x.csv", [entry], About())
    content = (tmp_path / "x.csv").read_text("utf-8")
    cells = [cell for row in csv.reader(content.splitlines(), delimiter=";") for cell in row]
    assert not [cell for cell in cells if cell.strip('",').startswith(("=", "+", "-", "@"))]
    assert text in [unescape_formula(row["term"]) for row in csv_rows(tmp_path / "x.csv")]
    assert unescape_formula(escape_formula(text)) == text


@given(text=surfaces())
def test_quoted_cells_are_read_by_the_csv_module(text: str) -> None:
    for delimiter in (",", "\t", ";"):
        line = row_of([text, "x", text], delimiter) + "\n"
        assert list(csv.reader([line], delimiter=delimiter, strict=True)) == [[text, "x", text]]


@settings(max_examples=40, deadline=None)
@given(sets=entries())
def test_all_three_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, sets: list[MinedSet]
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    for write, name in (
        (write_csv, "x.csv"),
        (write_parquet, "x.parquet"),
        (write_jsonl, "x.jsonl"),
    ):
        assert write(folder / name, sets, About()) == [folder / name]
    rows = [wanted(entry, found) for entry in sets for found in entry.terms]
    table = pq.read_table(folder / "x.parquet")
    assert table.column_names == list(COLUMNS)
    assert [tuple(row.values()) for row in table.to_pylist()] == rows
    as_text = [
        tuple(
            "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            for value in row
        )
        for row in rows
    ]
    texts = (
        *("set_id", "preferred", "term", "sense", "entity", "entity_name", "reviewer"),
        *("nearest", "document", "sentence"),
    )
    assert [
        tuple(unescape_formula(cell) if name in texts else cell for name, cell in row.items())
        for row in csv_rows(folder / "x.csv")
    ] == as_text
    lines = (folder / "x.jsonl").read_bytes().decode().removesuffix("\n").split("\n")
    for line, entry in zip(lines, sets, strict=True):
        record = json.loads(line)
        assert record["preferred"] == entry.terms[0].text
        for details, found in zip(record["details"], entry.terms, strict=True):
            row = {**details, "set_id": record["id"], "preferred": record["preferred"]}
            row |= {"entity": record["entity"], "entity_name": record["entity_name"]}
            best = row["evidence"][0] if row["evidence"] else dict.fromkeys(("relation", "text"))
            row |= {"evidence": best["relation"], "document": best.get("document")}
            row["sentence"] = best["text"]
            told = tuple(None if row[name] == "" else row[name] for name in COLUMNS)
            assert told == wanted(entry, found)
    read = read_sets(folder / "x.jsonl")
    assert read.ids == tuple(entry.id for entry in sets)
    assert read.sets == tuple(
        tuple(Term(found.text, found.sense) for found in entry.terms) for entry in sets
    )


def test_duckdb_reads_both_tables(tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", [infarction(), nasty()], About())
    write_parquet(tmp_path / "x.parquet", [infarction(), nasty()], About())
    query = "select term, count, probability, known, verdict from '{}' where set_id = 'D009203'"
    for name in ("x.csv", "x.parquet"):
        rows = duckdb.execute(query.format(tmp_path / name)).fetchall()
        assert rows[0] == ("myocardial infarction", 90, None, True, None)
        assert rows[4] == ("infarct", 1, 0.6, False, "correct")
    every = duckdb.execute(f"select term from '{tmp_path / 'x.parquet'}' where set_id = 'D1'")
    assert [text for (text,) in every.fetchall()][1:] == list(NASTY)


def test_a_parquet_file_says_what_it_is(tmp_path: Path) -> None:
    about = About(title="Mine", created="2026-01-31", tool="synsetmine 9")
    write_parquet(tmp_path / "x.parquet", [infarction()], about)
    metadata = pq.read_schema(tmp_path / "x.parquet").metadata
    assert metadata[b"synsetmine.title"] == b"Mine"
    assert metadata[b"synsetmine.created"] == b"2026-01-31"
    assert metadata[b"synsetmine.tool"] == b"synsetmine 9"


def test_a_probability_that_is_no_number_is_not_reported(tmp_path: Path) -> None:
    odd = MinedSet("s1", (term("a"), term("b", float("nan"))))
    write_jsonl(tmp_path / "x.jsonl", [odd], About())
    assert json.loads((tmp_path / "x.jsonl").read_text())["details"][1]["probability"] is None
