"""Where commands write: standard output, never over a run, and names that are not UTF-8."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synsetmine.runs.folder import Artefacts, is_artefact
from tests.support.webserver import write_run

NAMES = "café\nCafe\nheart attack\nheart attacks\n東京\n"
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def call(folder: Path, *arguments: str | bytes, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "synsetmine", *arguments],
        cwd=folder,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_minus_is_standard_output(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    code, out, err = call(tmp_path, "export", "run", "--format", "csv", "--out", "-")
    assert (code, out.splitlines()[0].split(",")[0]) == (0, "set_id")
    assert err.endswith("5 sets of 13 terms written to standard output\n")
    call(tmp_path, "export", "run", "--format", "csv", "--out", "x.csv")
    assert out == (tmp_path / "x.csv").read_bytes().decode()
    (tmp_path / "names.txt").write_text(NAMES, "utf-8")
    code, out, err = call(tmp_path, "group", "names.txt", "-o", "-")
    assert {frozenset(json.loads(line)["terms"]) for line in out.splitlines()} == {
        frozenset({"café", "Cafe"}),
        frozenset({"heart attack", "heart attacks"}),
    }
    code, _, err = call(tmp_path, "knowledge", "names.txt", "--out", "-")
    assert code == 2
    assert "this is not written to standard output; name a file" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.txt", "run", "x.csv"]


@pytest.mark.parametrize(
    "name",
    ["mined.jsonl", "reviews.sqlite", "reviews.sqlite-wal", "manifest.json", "model/config.json"],
)
def test_nothing_is_written_over_a_run(tmp_path: Path, name: str) -> None:
    run = write_run(tmp_path / "run")
    before = Artefacts(run).mined.read_bytes()
    code, _, err = call(tmp_path, "export", "run", "--format", "jsonl", "--out", f"run/{name}")
    assert code == 1
    assert err.endswith("a file of the run itself; name another output file\n")
    assert Artefacts(run).mined.read_bytes() == before
    assert not is_artefact(run / "synonyms.txt")
    assert not is_artefact(run / "report.html")
    assert not is_artefact(tmp_path / "mined.jsonl")


@pytest.mark.parametrize("environment", [ASCII, {}], ids=["ascii", "here"])
def test_names_and_files_that_are_not_utf_8(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / os.fsdecode(b"d\xe9")
    folder.mkdir()
    for name in (b"caf\xe9.txt", b"bad.jsonl"):
        (folder / os.fsdecode(name)).write_bytes(NAMES.encode())
    file = b"d\xe9/caf\xe9.txt"
    assert call(tmp_path, "group", file, **environment)[0] == 0
    assert call(tmp_path, "group", file, "--out", b"s\xe9.csv", **environment)[0] == 0
    assert call(tmp_path, "read", file, "--out", "r.parquet", **environment)[0] == 0
    for arguments in (
        ("group", b"d\xe9/bad.jsonl"),
        ("group", b"d\xe9/none.txt"),
        ("group", b"d\xe9"),
        ("init", "--kb", file),
        ("review", b"d\xe9"),
    ):
        code, _, err = call(tmp_path, *arguments, **environment)
        assert code == 1
        assert err.splitlines()[-1].startswith("synsetmine: error: ")
        assert "\\udce9" in err
        assert "Traceback" not in err
