"""`synsetmine compare` as a user gives it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synsetmine.io.sets import read_sets, write_sets
from synsetmine.views import packaged_encoder, read_vectors, write_vectors
from tests.cli.test_cli import synsetmine
from tests.support.worlds import make_world

FEW = ["--seeds", "2", "--orders", "2", "--samples", "1", "--device", "cpu"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    sets, vectors = make_world(entities=50, noise=0.1)
    training, new = sets.split(0.4, seed=0)
    write_sets(folder / "train.set", training)
    write_sets(folder / "test.jsonl", new)
    write_vectors(folder / "vectors.txt", vectors)
    return folder


@pytest.mark.slow
def test_methods_side_by_side_with_a_page_a_plot_and_json(place: Path) -> None:
    command = ["compare", "train.set", "--test", "test.jsonl", "-v", "vectors.txt", *FEW]
    command += ["-m", "louvain,kmeans,average-vectors", "-o", "compared"]
    shown = synsetmine(*command, cwd=place)
    head, *rows = shown.stdout.splitlines()
    assert head.split("\t")[:2] == ["method", "ARI"]
    assert {row.split("\t")[0] for row in rows} == {"Louvain", "Kmeans*", "average link, vectors"}
    scores = [float(row.split("\t")[1].split()[0]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "* is given the true number of sets." in shown.stderr
    assert "left out" not in shown.stderr
    assert {p.name for p in (place / "compared").iterdir()} == {
        "comparison.json",
        "comparison.md",
        "comparison.svg",
        "seeds",
    }
    again = synsetmine(*command, "--json", cwd=place)
    found = json.loads(again.stdout)
    assert [row["title"] for row in found] == [row.split("\t")[0].strip("*") for row in rows]
    assert all(row["memory_mb"] > 0 and row["prediction_seconds"] > 0 for row in found)
    other = synsetmine(*command, "--expect-size", "3", cwd=place, code=1)
    assert "belongs to other data or settings; choose another folder" in other.stderr


@pytest.mark.slow
def test_without_test_sets_some_are_held_out_and_what_lacks_data_is_left_out(place: Path) -> None:
    shown = synsetmine(
        *["compare", "train.set", "-v", "vectors.txt", "--held-out", "0.3", *FEW],
        *["-m", "today", "--seeds", "1"],
        cwd=place,
    )
    assert "left out, since they need --encoder: average-encoder, complete-encoder" in shown.stderr
    assert "pair classifier, vectors + strings" in shown.stdout


def test_the_list_of_methods() -> None:
    lines = synsetmine("compare", "--list").stdout.splitlines()
    assert lines[0].split("\t") == ["name", "method", "group", "needs"]
    assert "synsetmine\tSynSetMine\tours\tvectors" in lines
    assert len(lines) > 25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["-m", "louvian"], "no such method; expected synsetmine, synsetmine-vectors"),
        (["-m", "average-encoder"], "this method needs --encoder: 'average-encoder'"),
        (["--encoder", "no/such/model"], "no/such/model"),
        (["--test", "train.set"], "train.set: this term is also in train.set: 'name"),
        (["-o", "train.set"], "train.set"),
        (["--test", "missing.set"], "missing.set"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(place: Path, arguments: list[str], problem: str) -> None:
    failed = synsetmine(
        "compare", "train.set", "-v", "vectors.txt", *FEW, *arguments, cwd=place, code=1
    )
    assert problem in failed.stderr
    assert "Traceback" not in failed.stderr
    assert failed.stderr.strip().splitlines()[-1].startswith("synsetmine: error: ")


def test_a_share_held_out_beyond_all_is_refused(place: Path) -> None:
    wrong = ["compare", "train.set", "-v", "vectors.txt", "--held-out", "1.5"]
    assert "held_out must be in (0, 1): 1.5" in synsetmine(*wrong, cwd=place, code=2).stderr


def test_wrong_vectors_are_named(place: Path) -> None:
    (place / "other.txt").write_text("1 2\nnothing 0.5 0.5\n")
    failed = synsetmine("compare", "train.set", "-v", "other.txt", *FEW, cwd=place, code=1)
    assert "other.txt: no term of the training sets has a vector: 'name" in failed.stderr
    training = read_sets(place / "train.set")
    write_vectors(place / "half.txt", read_vectors(place / "vectors.txt").only(training.terms))
    failed = synsetmine(
        *["compare", "train.set", "--test", "test.jsonl", "-v", "half.txt", *FEW],
        cwd=place,
        code=1,
    )
    assert "half.txt: no term of the test sets has a vector: 'name" in failed.stderr


def test_training_sets_are_asked_for() -> None:
    failed = synsetmine("compare", code=2)
    assert "give a file of training sets" in failed.stderr


@pytest.mark.slow
def test_a_real_encoder(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYNSETMINE_CACHE", str(tmp_path))
    model = packaged_encoder()
    assert model is not None
    command = ["compare", "train.set", "--encoder", str(model), *FEW, "--seeds", "1"]
    shown = synsetmine(*command, "-m", "average-encoder,complete-strings", cwd=place)
    assert "average link, encoder" in shown.stdout
    [store] = (tmp_path / "encoders").iterdir()
    written = store.stat().st_mtime_ns
    synsetmine(*command, "-m", "average-encoder", cwd=place)
    assert store.stat().st_mtime_ns == written
