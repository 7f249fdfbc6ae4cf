"""The core commands where torch is not installed, and the errors of those that need it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synsetmine.models import StoredModel, save_model
from synsetmine.models.paper.network import SetScorer
from tests.support.worlds import write_world

START = """
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec


def find_others(name, path=None, target=None):
    return None if name == "torch" else find_spec(name, path, target)


PathFinder.find_spec = find_others
"""
NEEDS_TORCH = "the paper's model needs the extra: pip install 'synsetmine[torch]'"
NEEDS_ENCODER = "a sentence encoder needs the extra: pip install 'synsetmine[encoder]'"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with training sets, new sets, vectors, names, and a start-up file without torch."""
    folder = tmp_path_factory.mktemp("without-torch")
    write_world(folder, entities=40)
    (folder / "names.txt").write_text("heart failure\nHeart Failure\nfailure, heart\nlung\n")
    start = folder / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(START)
    return folder


def environment(place: Path) -> dict[str, str]:
    paths = [str(place / "start"), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def synsetmine(place: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder, in processes that cannot import torch."""
    done = subprocess.run(
        [sys.executable, "-m", "synsetmine", *arguments],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def test_torch_is_not_found(place: Path) -> None:
    failed = synsetmine(place, "group", "names.txt", "--encoder", "minilm", code=1)
    assert failed.stderr.splitlines()[-1] == f"synsetmine: error: {NEEDS_ENCODER}"


def test_help_and_group(place: Path) -> None:
    assert "group" in synsetmine(place, "--help").stdout
    synsetmine(place, "group", "names.txt", "--out", "grouped.jsonl")
    grouped = [json.loads(line) for line in (place / "grouped.jsonl").read_text().splitlines()]
    assert grouped


@pytest.mark.slow
def test_train_mine_evaluate_score_and_rank(place: Path) -> None:
    vectors = ("--vectors", "vectors.txt")
    synsetmine(place, "train", "train.set", *vectors, "--out", "model")
    synsetmine(
        place, "mine", "model", *vectors, "--vocabulary", "new.jsonl", "--out", "mined.jsonl"
    )
    synsetmine(place, "evaluate", "mined.jsonl", "new.jsonl")
    term = json.loads((place / "new.jsonl").read_text().splitlines()[0])["terms"][0]
    term = term if isinstance(term, str) else term["surface"]
    scored = synsetmine(place, "score", "model", term, "--set", term, *vectors, "--json")
    assert json.loads(scored.stdout)
    assert synsetmine(place, "rank", "model", "--set", term, *vectors).stdout


@pytest.mark.slow
def test_methods_are_left_out_of_a_comparison(place: Path) -> None:
    done = synsetmine(
        *(place, "compare", "train.set", "-v", "vectors.txt", "-m", "l2c,kmeans"),
        code=1,
    )
    assert "this method needs torch (pip install 'synsetmine[compare]'): 'l2c'" in done.stderr
    options = ("--seeds", "1", "--orders", "1", "--samples", "1")
    listed = synsetmine(place, "compare", "train.set", "-v", "vectors.txt", "-m", "paper", *options)
    assert "left out, since they need torch" in listed.stderr


def test_the_estimator(place: Path) -> None:
    code = (
        "import synsetmine\n"
        "names = ['heart failure', 'Heart Failure', 'lung', 'lungs']\n"
        "assert len(synsetmine.SynSetMiner().fit_predict(names)) == 4\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment(place))


@pytest.mark.parametrize("name", ["SetScorer", "train_scorer"])
def test_an_import_names_the_extra(place: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"from synsetmine import {name}"],
        env=environment(place),
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert last == (
        f"ImportError: synsetmine.{name} needs the extra: pip install 'synsetmine[torch]'"
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("train train.set -v vectors.txt -o paper --preset paper", NEEDS_TORCH),
        ("train train.set -v vectors.txt -o paper --preset paper --device cpu", NEEDS_TORCH),
        ("tune train.set -v vectors.txt -o tuned -g dropout=0.3,0.5", NEEDS_TORCH),
        ("mine trained-paper -v vectors.txt -o mined.jsonl", NEEDS_TORCH),
        (
            "finetune train.set -o tuned-encoder",
            "fine-tuning needs the extra: pip install 'synsetmine[encoder]'",
        ),
        (
            "train train.set -v vectors.txt -o other --device cuda",
            "device 'cuda' needs the extra: pip install 'synsetmine[torch]'",
        ),
    ],
)
def test_an_error_names_the_extra(place: Path, command: str, expected: str) -> None:
    save_model(place / "trained-paper", StoredModel(SetScorer(dimension=8), 0.5, {}))
    done = synsetmine(place, *command.split(), code=1)
    assert done.stderr == f"synsetmine: error: {expected}\n"
