"""`synsetmine group` as a user gives it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

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
        "warning: 1 pair of --never left out: a name is neither listed nor in a known set"
        in done.stderr
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
