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


def test_what_the_plan_could_not_do_is_reported(place: Path) -> None:
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


WEEK_1 = """id,title,type,description
a1,IBM,company,makes computers
a2,I.B.M.,company,
a3,Lyon,city,
a4,Mercury,planet,next to the sun
a5,Mercury,metal,is liquid
"""
WEEK_2 = """id,title,type,description
b1,ibm,company,is old
b2,Lyon,city,on the Rhône
b3,Mercury,planet,is small
b4,Grenoble,city,
"""
COLUMNS = ["--name-column", "title", "--type-column", "type", "--id-column", "id"]


@pytest.fixture
def weeks(tmp_path: Path) -> Path:
    (tmp_path / "1.csv").write_text(WEEK_1)
    (tmp_path / "2.csv").write_text(WEEK_2)
    (tmp_path / "links1.csv").write_text("source,target\nI.B.M.,Lyon\nmercury,Lyon\n")
    (tmp_path / "links2.csv").write_text("source,target\nibm,Grenoble\nLyon,Mercury\n")
    return tmp_path


def plan_week(weeks: Path, number: int, *options: str) -> None:
    options = (*COLUMNS, "--registry", "known.jsonl", "--plan", f"{number}.jsonl", *options)
    synsetmine("group", f"{number}.csv", *options, cwd=weeks)


def registered(weeks: Path) -> list[list[str]]:
    records = map(json.loads, (weeks / "known.jsonl").read_text().splitlines())
    return [[name["name"] for name in record["names"]] for record in records]


def test_a_registry_has_the_merges_that_were_reviewed(weeks: Path) -> None:
    plan_week(weeks, 1)
    assert not (weeks / "known.jsonl").exists()
    (weeks / "1.jsonl").write_text("")  # IBM and I.B.M. are two, says the reviewer
    files = ["--entities", "1.csv", "--registry", "known.jsonl", "--out-dir", "g"]
    synsetmine("apply-plan", "1.jsonl", *files, cwd=weeks)
    assert registered(weeks) == [["IBM"], ["I.B.M."], ["Lyon"], ["Mercury"], ["Mercury"]]
    (weeks / "never.csv").write_text("IBM,I.B.M.\n")
    plan_week(weeks, 1, "--never", "never.csv")
    assert (weeks / "1.jsonl").read_text() == ""
    last = (weeks / "known.jsonl").read_text().splitlines()[-1]
    assert json.loads(last) == {"never": ["IBM", "I.B.M."]}


def test_rows_of_a_second_week_join_the_graph(weeks: Path) -> None:
    plan_week(weeks, 1)
    files = ["--entities", "1.csv", "--relations", "links1.csv", "--registry", "known.jsonl"]
    done = synsetmine("apply-plan", "1.jsonl", *files, "--out-dir", "g1", cwd=weeks)
    assert "1 end of relations unchanged" in done.stderr
    assert rows(weeks / "g1/ambiguous-ends.csv") == [
        {"file": "links1.csv", "line": "3", "column": "source", "name": "mercury"}
    ]
    plan_week(weeks, 2)
    plan = [json.loads(line) for line in (weeks / "2.jsonl").read_text().splitlines()]
    assert [[i for m in merge["members"] for i in m.get("ids", [])] for merge in plan] == [
        ["a1", "b1"],
        ["a3", "b2"],
        ["a4", "b3"],
    ]
    both = ["--entities", "g1/1.csv", "--entities", "2.csv"]
    both += ["--relations", "g1/links1.csv", "--relations", "links2.csv"]
    problem = synsetmine("apply-plan", "2.jsonl", *both, "--out-dir", "g2", cwd=weeks, code=1)
    assert "--keep-merges" in problem.stderr
    more = ["--keep-merges", "--registry", "known.jsonl"]
    synsetmine("apply-plan", "2.jsonl", *both, *more, "--out-dir", "g2", cwd=weeks)
    assert [(r["id"], r["title"], r["description"]) for r in rows(weeks / "g2/1.csv")] == [
        ("a1", "IBM", "makes computers | is old"),
        ("a3", "Lyon", "on the Rhône"),
        ("a4", "Mercury", "next to the sun | is small"),
        ("a5", "Mercury", "is liquid"),
        ("b4", "Grenoble", ""),
    ]
    assert [(row["source"], row["target"]) for row in rows(weeks / "g2/links1.csv")] == [
        ("IBM", "Lyon"),
        ("mercury", "Lyon"),
        ("IBM", "Grenoble"),
        ("Lyon", "Mercury"),
    ]
    names = [["IBM", "I.B.M.", "ibm"], ["Lyon"], ["Mercury"], ["Mercury"], ["Grenoble"]]
    assert registered(weeks) == names
    before = (weeks / "known.jsonl").read_text()
    synsetmine("apply-plan", "2.jsonl", *both, *more, "--out-dir", "g2", cwd=weeks)
    assert (weeks / "known.jsonl").read_text() == before
    files = ["--undo", "--entities", "g2/1.csv", "--relations", "g2/links1.csv"]
    synsetmine("apply-plan", "2.jsonl", *files, "--out-dir", "back", cwd=weeks)
    assert [row["id"] for row in rows(weeks / "back/1.csv")][4:] == ["b1", "b2", "b3", "b4"]
    ends = (weeks / "back/links1.csv").read_text()
    assert ends == "source,target\nIBM,Lyon\nmercury,Lyon\nibm,Grenoble\nLyon,Mercury\n"


def test_new_rows_need_ids_of_their_own(weeks: Path) -> None:
    plan_week(weeks, 1)
    files = ["--entities", "1.csv", "--registry", "known.jsonl", "--out-dir", "g1"]
    synsetmine("apply-plan", "1.jsonl", *files, cwd=weeks)
    (weeks / "2.csv").write_text(WEEK_2.replace("b2", "a1"))
    options = ["--registry", "known.jsonl", "--plan", "2.jsonl"]
    done = synsetmine("group", "2.csv", *COLUMNS, *options, cwd=weeks, code=1)
    assert "the registry has this id for another entity: 'a1'" in done.stderr
    both = ["--entities", "g1/1.csv", "--entities", "2.csv", "--keep-merges", "--out-dir", "g2"]
    done = synsetmine("apply-plan", "1.jsonl", *both, cwd=weeks, code=1)
    assert "two rows have this id: 'a1'" in done.stderr


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_ends_of_lines_are_kept(weeks: Path, end: str) -> None:
    (weeks / "1.csv").write_bytes(WEEK_1.replace("\n", end).encode())
    before = (weeks / "1.csv").read_bytes()
    plan_week(weeks, 1)
    synsetmine("apply-plan", "1.jsonl", "--entities", "1.csv", "--out-dir", "g", cwd=weeks)
    merged = (weeks / "g/1.csv").read_bytes()
    assert merged.count(end.encode()) == merged.count(b"\n")
    files = ["--undo", "--entities", "g/1.csv", "--out-dir", "back"]
    synsetmine("apply-plan", "1.jsonl", *files, cwd=weeks)
    assert (weeks / "back/1.csv").read_bytes() == before
