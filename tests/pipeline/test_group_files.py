"""Groups of names in files, read back by others and by our own readers."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from synsetmine.corpus.name_lists import read_pairs
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.export import read_rules
from synsetmine.io.sets import read_sets
from synsetmine.io.tables import unescape_formula
from synsetmine.normalization import name_key
from synsetmine.pipeline.grouping import group
from synsetmine.pipeline.name_sets import COLUMNS, Grouping, write_pairs
from tests.pipeline.test_grouping import names
from tests.support.namemodels import WordModel

HOSTILE = [
    "=1+1 x",
    "x =1+1",
    "a, b",
    "b => a",
    "B a",
    "#c d",
    "d #c",
    'e "f',
    'f e"',
    "'g h",
    "h g",
]


def rows_of(result: Grouping, *, alone: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = result.to_arrow(alone=alone).to_pylist()
    return rows


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(listed=names())
@pytest.mark.parametrize("alone", [False, True])
def test_all_formats_say_the_same(tmp_path: Path, listed: list[str], alone: bool) -> None:
    result = group(listed, model=WordModel())
    for ending in ("csv", "parquet", "jsonl"):
        result.write(tmp_path / f"x.{ending}", alone=alone)
    rows = rows_of(result, alone=alone)
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == rows
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as stream:
        cells = list(csv.DictReader(stream, strict=True))
    assert [unescape_formula(row["name"]) for row in cells] == [row["name"] for row in rows]
    assert [unescape_formula(row["canonical"]) for row in cells] == [
        row["canonical"] for row in rows
    ]
    assert [row["count"] for row in cells] == [str(row["count"]) for row in rows]
    lines = (tmp_path / "x.jsonl").read_bytes().decode().split("\n")[:-1]
    details = [
        (record["canonical"], entry["name"], entry["count"])
        for record in map(json.loads, lines)
        for entry in record["details"]
    ]
    assert details == [(row["canonical"], row["name"], row["count"]) for row in rows]
    if lines:
        sets = read_sets(tmp_path / "x.jsonl")
        assert [[t.surface for t in terms] for terms in sets][: len(result.sets)] == [
            list(s.members) for s in result.sets
        ]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(listed=names())
def test_rules_are_read_as_they_were_meant(tmp_path: Path, listed: list[str]) -> None:
    result = group(listed, model=WordModel())
    skipped = ErrorCounts()
    result.write(tmp_path / "synonyms.txt", skipped=skipped)
    rules = [rule.inputs for rule in read_rules(tmp_path / "synonyms.txt")]
    expected = []
    for name_set in result.sets:
        spelled = {name_key(name): name for name in reversed(name_set.members)}
        kept = [name for name in name_set.members if name in spelled.values() and "\0" not in name]
        if len(kept) > 1:
            expected.append(tuple(kept))
    assert rules == expected or len(skipped)


def test_hostile_names_stay_what_they_are(tmp_path: Path) -> None:
    result = group(HOSTILE, model=WordModel())
    result.write(tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_text("utf-8")
    assert text.splitlines()[0] == ",".join(COLUMNS)
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as stream:
        for row in csv.reader(stream, strict=True):
            assert not any(cell.startswith(("=", "+", "-", "@")) for cell in row)
    result.write(tmp_path / "synonyms.txt")
    rules = {frozenset(rule.inputs) for rule in read_rules(tmp_path / "synonyms.txt")}
    assert frozenset({"a, b", "b => a"}) | frozenset({"B a"}) in rules
    assert frozenset({"#c d", "d #c"}) in rules


def test_rules_have_one_spelling_a_name(tmp_path: Path) -> None:
    listed = ["heart failure", "Heart Failure", "failure, heart", "Lung", "lung"]
    group(listed, model=WordModel()).write(tmp_path / "synonyms.txt")
    lines = (tmp_path / "synonyms.txt").read_text("utf-8").splitlines()
    assert lines[1:] == ["Heart Failure, failure\\, heart"]


def test_names_that_no_rule_can_hold_are_counted(tmp_path: Path) -> None:
    skipped = ErrorCounts()
    result = group(["a\0 b", "b a\0", "c d", "d c"], model=WordModel())
    result.write(tmp_path / "synonyms.txt", skipped=skipped)
    assert skipped.counts["a term with a NUL, which Lucene uses between words"] == 2
    assert len(read_rules(tmp_path / "synonyms.txt")) == 1


def test_files_can_be_compressed(tmp_path: Path) -> None:
    group(["a b", "b a"], model=WordModel()).write(str(tmp_path / "x.csv.gz"))
    assert b"b a" in gzip.decompress((tmp_path / "x.csv.gz").read_bytes())


@pytest.mark.parametrize("name", ["x.xlsx", "x", "x.parquet.gz", "x.json"])
def test_other_endings_are_refused(tmp_path: Path, name: str) -> None:
    known = r"unknown file extension; expected .jsonl, .csv, .parquet, .txt"
    with pytest.raises(DataError, match=known):
        group(["a"]).write(tmp_path / name)
    with pytest.raises(DataError, match="a rule needs two names"):
        group(["a"]).write(tmp_path / "x.txt", alone=True)
    assert not list(tmp_path.iterdir())


def test_unsure_pairs_are_read_as_cannot_link_pairs(tmp_path: Path) -> None:
    result = group(HOSTILE, model=WordModel())
    write_pairs(tmp_path / "unsure.csv", result.unsure)
    assert read_pairs(tmp_path / "unsure.csv") == [(p.name, p.other) for p in result.unsure]
