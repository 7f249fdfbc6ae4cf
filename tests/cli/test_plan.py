"""`synsetmine apply-plan` as a user gives it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.test_cli import synsetmine

ENTITIES = """title,kind,description,degree
IBM,company,makes computers,2
Lyon,city,,1
I.B.M.,company,is old,3
"""
RELATIONS = "source,target,weight\nI.B.M.,Lyon,1\nIBM,I.B.M.,2\nLyon,IBM,3\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "entities.csv").write_text(ENTITIES)
    (tmp_path / "relations.csv").write_text(RELATIONS)
    columns = ["--name-column", "title", "--context-column", "description", "--type-column", "kind"]
    synsetmine("group", "entities.csv", *columns, "--plan", "plan.jsonl", cwd=tmp_path)
    return tmp_path


def apply(place: Path, *options: str, code: int = 0) -> str:
    done = synsetmine("apply-plan", "plan.jsonl", *options, cwd=place, code=code)
    assert not done.stdout
    return done.stderr


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_tables_are_merged_and_restored(place: Path) -> None:
    tables = ["--entities", "entities.csv", "--relations", "relations.csv"]
    more = ["--type-column", "kind", "--sum", "degree", "--drop-self-relations"]
    report = apply(place, *tables, *more, "--out-dir", "merged")
    assert report.splitlines()[-1] == (
        "3 entities: 2 after merging; 3 relations: 2 changed; 1 self-relation; written to merged"
    )
    ibm, lyon = rows(place / "merged/entities.csv")
    assert (ibm["title"], ibm["description"], ibm["degree"]) == (
        "IBM",
        "makes computers | is old",
        "5",
    )
    assert [row["row"] for row in json.loads(ibm["merged_from"])] == [0, 2]
    assert lyon["merged_from"] == lyon["set_id"] == ""
    ends = [(row["source"], row["target"]) for row in rows(place / "merged/relations.csv")]
    assert ends == [("IBM", "Lyon"), ("Lyon", "IBM")]
    tables = ["--entities", "merged/entities.csv", "--relations", "merged/relations.csv"]
    loops = ["--self-relations", "merged/self-relations.csv"]
    report = apply(place, "--undo", *tables, *loops, "--out-dir", "restored")
    assert "2 entities and 2 relations restored; written to restored" in report
    assert (place / "restored/entities.csv").read_text() == ENTITIES
    assert (place / "restored/relations.csv").read_text() == RELATIONS


def test_what_the_plan_could_not_do_is_told(place: Path) -> None:
    (place / "other.csv").write_text("source,target\nParis,Lyon\n")
    report = apply(place, "--relations", "other.csv", "--out-dir", "out")
    assert "warning: 1 merge of the plan changed nothing" in report


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([], "no table to change; give --entities, --relations or both"),
        (["--entities", "entities.txt"], "unknown file extension; expected .csv, .tsv, .jsonl"),
        (["--entities", "none.csv"], "none.csv: No such file"),
        (["--entities", "relations.csv"], "the columns are source, target, weight: 'name'"),
        (["--entities", "entities.csv", "--sum", "x"], "the columns are title, kind, "),
        (["--entities", "entities.csv", "--sum", "kind"], "values that are not numbers"),
        (["--entities", "entities.csv", "--undo"], "no plan was applied to it: 'set_id'"),
        (["--relations", "entities.csv"], "no column has this name; the columns are title"),
        (["--relations", "relations.csv", "--refer-to", "id"], "need the table of entities"),
        (["--relations", "relations.csv", "--self-relations", "x.csv"], "needs --undo"),
        (
            ["--entities", "a/x.csv", "--relations", "b/x.csv"],
            "two tables have the same file name",
        ),
    ],
)
def test_bad_input_is_a_clear_error(place: Path, options: list[str], problem: str) -> None:
    assert problem in apply(place, *options, "--out-dir", "out", code=1)
    assert not (place / "out").exists() or not [*(place / "out").iterdir()]


def test_tables_are_not_written_over(place: Path) -> None:
    problem = apply(place, "--entities", "entities.csv", "--out-dir", ".", code=1)
    assert "the command already uses this file" in problem
