"""`synsetmine group` as a user gives it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synsetmine.io.sets import read_sets
from tests.cli.test_cli import synsetmine

NAMES = "heart failure\nHeart Failure\n\nfailure, heart\nlung cancer\nBonn\nBonn\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "names.txt").write_text(NAMES)
    (tmp_path / "names.csv").write_text("id,label\n1,heart failure\n2,failure heart\n3,Bonn\n")
    return tmp_path


def test_a_list_gives_a_table_and_a_summary(place: Path) -> None:
    done = synsetmine("group", "names.txt", cwd=place)
    header, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert header == ["name", "other names", "probability"]
    assert any(row[0].casefold() == "heart failure" for row in rows), rows
    assert done.stderr.splitlines()[-1] == (
        "6 names: 1 set with 3 names; 2 stand alone; 1 duplicate; 1 spelling variant; "
        "1 missing value"
    )
    shown = synsetmine("group", "names.txt", "--all", cwd=place).stdout
    assert "lung cancer\t\t" in shown


@pytest.mark.slow
def test_standard_input(place: Path) -> None:
    command = [sys.executable, "-m", "synsetmine", "group", "-"]
    for more, text in (([], NAMES), (["--input-format", "tsv"], f"name\n{NAMES}")):
        done = subprocess.run(
            [*command, *more], input=text, capture_output=True, text=True, cwd=place, check=True
        )
        assert "6 names: 1 set with 3 names" in done.stderr
    broken = subprocess.run(command, input=b"a\n\xff\n", capture_output=True, check=False)
    assert broken.returncode == 1
    assert broken.stderr.startswith(b"synsetmine: error: /dev/stdin:2: not UTF-8")


def test_a_synonyms_file_has_the_known_sets(place: Path) -> None:
    rules = "# ours\ncardiac failure, heart failure => Heart Failure\n"
    (place / "synonyms.txt").write_text(rules)
    (place / "new.txt").write_text("failure, heart\nCologne\n")
    synsetmine("group", "new.txt", "--known", "synonyms.txt", "-o", "x.jsonl", cwd=place)
    (known,) = (tuple(map(str, one)) for one in read_sets(place / "x.jsonl"))
    assert known[0] == "Heart Failure"
    assert sorted(known[1:]) == ["cardiac failure", "failure, heart", "heart failure"]
    (place / "synonyms.txt").write_text(f"{rules}heart failure, HF\n")
    group = ["group", "new.txt", "--known", "synonyms.txt"]
    assert "synonyms.txt:3: the rule on line 2 already has this term: 'heart failure'" in (
        synsetmine(*group, cwd=place, code=1).stderr
    )
    assert "synonyms.txt:3" in synsetmine(*group, "--skip-bad", cwd=place).stderr
    (place / "synonyms.txt").write_text(f"{rules}HF, heart failure, weak heart\n")
    done = synsetmine(*group, "--skip-bad", cwd=place)
    assert "'heart failure'; only this term is left out, not HF, weak heart" in done.stderr


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "txt"])
def test_files_by_their_ending(place: Path, ending: str) -> None:
    done = synsetmine("group", "names.csv", "-o", f"out/x.{ending}", cwd=place)
    assert not done.stdout
    assert "names from the column 'label'" in done.stderr
    assert done.stderr.endswith(f"1 stands alone; written to out/x.{ending}\n")
    path = place / "out" / f"x.{ending}"
    if ending == "jsonl":
        names = json.loads(path.read_text())["terms"]
    elif ending == "parquet":
        names = pq.read_table(path)["name"].to_pylist()
    elif ending == "csv":
        with path.open(newline="") as stream:
            names = [row["name"] for row in csv.DictReader(stream)]
    else:
        names = path.read_text().splitlines()[1].split(", ")
    assert sorted(names) == ["failure heart", "heart failure"]


def test_known_sets_and_pairs_that_must_not_be_linked(place: Path) -> None:
    (place / "known.jsonl").write_text(
        '{"id": "E1", "terms": ["cardiac failure", "heart failure"]}'
    )
    options = ["--known", "known.jsonl", "--precision", "0", "--all", "-o", "x.jsonl"]
    (place / "never.tsv").write_text("Bonn\theart failure\nBonn\tfailure heart\nBonn\tnobody\n")
    done = synsetmine("group", "names.csv", *options, "--never", "never.tsv", cwd=place)
    assert (
        "warning: 1 pair of --never or --always left out: a name is neither in the list nor in a "
        "known set" in done.stderr
    )
    records = [json.loads(line) for line in (place / "x.jsonl").read_text().splitlines()]
    (known,) = [record for record in records if record["id"] == "E1"]
    assert known["canonical"] == "cardiac failure"
    assert "Bonn" not in known["terms"]


def test_unsure_pairs_are_written_on_request(place: Path) -> None:
    synsetmine("group", "names.txt", "--unsure", "unsure.csv", "-o", "x.csv", cwd=place)
    with (place / "unsure.csv").open(newline="") as stream:
        assert next(csv.reader(stream)) == ["name", "other", "probability"]


def test_an_empty_list_is_an_answer(place: Path) -> None:
    (place / "none.txt").write_text("\n")
    done = synsetmine("group", "none.txt", "-o", "x.jsonl", cwd=place)
    assert "warning: the input has no names" in done.stderr
    assert "0 names: 0 sets" in done.stderr
    assert (place / "x.jsonl").read_text() == ""


def test_levels_of_precision_are_explained() -> None:
    shown = " ".join(synsetmine("group", "--help").stdout.split())
    assert "cautious" in shown
    assert "balanced" in shown


ROWS: list[dict[str, Any]] = [
    {"title": "IBM", "kind": "company", "text": "IBM (I.B.M.) makes computers."},
    {"title": "I.B.M.", "kind": "company", "text": ["Computers.", "It is old."]},
    {"title": "Washington", "kind": "person", "text": None},
    {"title": "Washington", "kind": "city"},
    {"title": None, "kind": None},
]
COLUMNS = ["--name-column", "title", "--context-column", "text", "--type-column", "kind"]


def write_rows(place: Path, ending: str) -> str:
    path = place / f"rows.{ending}"
    if ending == "jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    elif ending == "parquet":
        texts = [
            [text] if isinstance(text, str) else text for text in (row.get("text") for row in ROWS)
        ]
        columns = {name: [row[name] for row in ROWS] for name in ("title", "kind")}
        pq.write_table(pa.table({**columns, "text": texts}), path)
    else:
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream, delimiter="," if ending == "csv" else "\t")
            writer.writerow(["kind", "title", "text"])
            for row in ROWS:
                text = row.get("text") or ""
                text = text if isinstance(text, str) else " ".join(text)
                writer.writerow([row["kind"], row["title"], text])
    return path.name


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_contexts_and_types_are_columns(place: Path, ending: str) -> None:
    name = write_rows(place, ending)
    done = synsetmine("group", name, *COLUMNS, "--all", "-o", "x.parquet", cwd=place)
    assert "5 names" not in done.stderr
    assert "4 names: 1 set with 2 names; 1 stands alone; 1 duplicate; 1 missing" in done.stderr
    rows = pq.read_table(place / "x.parquet").to_pylist()
    assert [(row["name"], row["type"]) for row in rows[2:]] == [
        ("Washington", "city"),
        ("Washington", "person"),
    ]
    assert {row["set_id"] for row in rows[:2]} != {None}
    contexts = {row["name"]: row["contexts"] for row in rows}
    assert contexts["IBM"] == ["IBM (I.B.M.) makes computers."]
    assert contexts["Washington"] == []
    if ending in ("jsonl", "parquet"):
        assert contexts["I.B.M."] == ["Computers.", "It is old."]


@pytest.mark.slow
def test_standard_input_has_contexts(place: Path) -> None:
    text = (place / write_rows(place, "jsonl")).read_text()
    command = [sys.executable, "-m", "synsetmine", "group", "-", "--input-format", "jsonl"]
    done = subprocess.run(
        [*command, *COLUMNS], input=text, capture_output=True, text=True, check=True
    )
    assert "4 names: 1 set" in done.stderr


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_sets_show_types_and_contexts(place: Path, ending: str) -> None:
    name = write_rows(place, "jsonl")
    synsetmine("group", name, *COLUMNS, "--all", "-o", f"x.{ending}", cwd=place)
    if ending == "csv":
        with (place / "x.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [row["type"] for row in rows] == ["company", "company", "city", "person"]
        assert [row["contexts"] for row in rows if row["name"] == "I.B.M."] == [
            "Computers. | It is old."
        ]
    else:
        records = [json.loads(line) for line in (place / "x.jsonl").read_text().splitlines()]
        (ibm,) = (r["details"] for r in records if len(r["terms"]) > 1)
        assert {d["type"] for d in ibm} == {"company"}
        assert read_sets(place / "x.jsonl").ids  # a name of two types has a sense in each set
        assert "contexts" not in records[-1]["details"][0]


def test_without_contexts_the_columns_are_as_before(place: Path) -> None:
    synsetmine("group", "names.csv", "-o", "x.csv", cwd=place)
    header = (place / "x.csv").read_text().splitlines()[0]
    assert header == "set_id,canonical,name,count,probability,known"


@pytest.mark.parametrize(
    ("ending", "option", "message"),
    [
        ("csv", "--context-column", "rows.csv:1: no column has this name; the columns are kind, "),
        (
            "tsv",
            "--type-column",
            "rows.tsv:1: no column has this name; the columns are kind, title",
        ),
        ("jsonl", "--type-column", "no object has this field; the fields are title, kind, text"),
        ("parquet", "--context-column", "rows.parquet: no column has this name; the columns are"),
        ("jsonl", "--column", "no column has this name; the columns are title, kind, text: 'no'"),
    ],
)
def test_a_missing_column_is_named_with_those_there_are(
    place: Path, ending: str, option: str, message: str
) -> None:
    columns = [] if option == "--column" else ["--name-column", "title"]
    name = write_rows(place, ending)
    failed = synsetmine("group", name, *columns, option, "no", cwd=place, code=1)
    assert message in failed.stderr


def test_a_context_must_be_text(place: Path) -> None:
    (place / "x.jsonl").write_text('{"name": "a", "text": "b"}\n{"name": "c", "text": [1]}\n')
    failed = synsetmine("group", "x.jsonl", "--context-column", "text", cwd=place, code=1)
    assert "x.jsonl:2: a context must be a string or a list of strings: 1" in failed.stderr
    done = synsetmine("group", "x.jsonl", "--context-column", "text", "--skip-bad", cwd=place)
    assert "1 name: 0 sets" in done.stderr


def test_must_link_pairs_share_a_set(place: Path) -> None:
    (place / "always.tsv").write_text("Bonn\tlung cancer\nBonn\tnobody\n")
    done = synsetmine("group", "names.txt", "--always", "always.tsv", "-o", "x.jsonl", cwd=place)
    assert "1 pair of --never or --always left out" in done.stderr
    records = [json.loads(line) for line in (place / "x.jsonl").read_text().splitlines()]
    assert {"Bonn", "lung cancer"} in [set(record["terms"]) for record in records]


@pytest.mark.parametrize("ids", [False, True])
def test_a_plan_is_written_on_request(place: Path, ids: bool) -> None:
    name = write_rows(place, "jsonl")
    lines = [json.dumps({"key": n, **row}) for n, row in enumerate(ROWS)]
    (place / name).write_text("".join(f"{line}\n" for line in lines))
    more = ["--id-column", "key"] if ids else []
    done = synsetmine("group", name, *COLUMNS, *more, "--plan", "plan.jsonl", cwd=place)
    assert not done.stdout
    assert "1 merge planned; written to plan.jsonl" in done.stderr
    (merge,) = [json.loads(line) for line in (place / "plan.jsonl").read_text().splitlines()]
    members = {member["name"]: member for member in merge["members"]}
    assert members["IBM"]["why"]["sentence"] == "IBM (I.B.M.) makes computers."
    if ids:
        assert members["I.B.M."]["ids"] == ["1"]
    else:
        assert members["I.B.M."]["rows"] == [1]


def test_a_plan_has_an_ending_of_its_own_and_overwrites_nothing(place: Path) -> None:
    failed = synsetmine("group", "names.txt", "--plan", "plan.csv", cwd=place, code=1)
    assert "unknown file extension for a plan; expected .jsonl" in failed.stderr
    options = ["--plan", "x.jsonl", "-o", "x.jsonl"]
    failed = synsetmine("group", "names.txt", *options, cwd=place, code=1)
    assert "the command already uses this file" in failed.stderr


def test_a_registry_grows_and_keeps_ids(place: Path) -> None:
    (place / "never.tsv").write_text("lung cancer\tBonn\n")
    options = ["--registry", "known.jsonl", "--all"]
    never = ["--never", "never.tsv"]
    done = synsetmine("group", "names.txt", *options, *never, "-o", "x.jsonl", cwd=place)
    assert "known.jsonl: 3 entities, 3 of them new" in done.stderr
    registry = (place / "known.jsonl").read_bytes()
    assert b'{"never": ["lung cancer", "Bonn"]}' in registry
    again = synsetmine("group", "names.txt", *options, "-o", "y.jsonl", cwd=place)
    assert "known.jsonl: 3 entities, 0 of them new" in again.stderr
    assert (place / "known.jsonl").read_bytes() == registry
    records = [
        {
            record["id"]: record["canonical"]
            for record in map(json.loads, (place / name).read_text().splitlines())
        }
        for name in ("x.jsonl", "y.jsonl")
    ]
    assert records[0] == records[1]
    (place / "more.txt").write_text("failures, heart\nLyon\n")
    done = synsetmine("group", "more.txt", *options, "-o", "z.jsonl", cwd=place)
    assert "known.jsonl: 4 entities, 1 of them new" in done.stderr
    more = [json.loads(line) for line in (place / "z.jsonl").read_text().splitlines()]
    assert {r["id"] for r in more if "failures, heart" in r["terms"]} <= records[0].keys()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--registry", "x.jsonl", "--known", "k.jsonl"], "exclude each other"),
        (["--registry", "x.csv"], "unknown file extension for a registry; expected .jsonl"),
        (["--registry", "x.jsonl", "-o", "x.jsonl"], "the command already uses this file"),
    ],
)
def test_a_registry_is_a_file_of_its_own(place: Path, options: list[str], problem: str) -> None:
    assert problem in synsetmine("group", "names.txt", *options, cwd=place, code=1).stderr
