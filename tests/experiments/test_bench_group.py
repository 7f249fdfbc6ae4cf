"""Names with known sets are what they claim; the benchmark on them starts and ends well."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.bench_group import _labels
from benchmarks.names import (
    UNKNOWN,
    LabelledNames,
    listed_names,
    made_up_names,
    phrases_in_context,
    read_entities,
)
from experiments.name_lists.heldout import name_hash, without_heldout
from experiments.unseen_names import _drawn_names
from synsetmine.errors import DataError
from synsetmine.normalization import name_key
from tests.support.sparkparts import skip_without_spark

ROOT = Path(__file__).parents[2]
WEIGHTS = ROOT / "src" / "synsetmine" / "models" / "general" / "weights"
ENTITIES = [["USA", "United States"], ["usa", "US of A"], ["Paris"], ["WHO", " ", "World Health"]]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    folder = tmp_path / "lists"
    folder.mkdir()
    lines = [json.dumps({"names": names}) + "\n" for names in ENTITIES]
    (folder / "one.jsonl").write_text("".join(lines[:2]), encoding="utf-8")
    with gzip.open(folder / "two.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(lines[2:]))
    return folder


def test_lists_are_read_from_files_and_folders(lists: Path) -> None:
    without_blank = [[name for name in names if name.strip()] for names in ENTITIES]
    assert list(read_entities(lists)) == without_blank
    assert list(read_entities(lists / "one.jsonl")) == without_blank[:2]
    with pytest.raises(DataError, match="no lists"):
        list(read_entities(lists.parent))


@pytest.mark.parametrize("count", [1, 6, 40, 300])
def test_names_are_different_and_as_many_as_asked_for(lists: Path, count: int) -> None:
    """Also where the lists have fewer: entities are made of entities."""
    made = listed_names(lists, count, seed=1)
    assert len(made.names) == len(made.labels) == count
    assert len({name_key(name) for name in made.names}) == count
    again = listed_names(lists, count, seed=1)
    assert again.names == made.names
    assert np.array_equal(again.labels, made.labels)


def test_the_names_of_an_entity_have_one_label(lists: Path) -> None:
    made = listed_names(lists, 200, seed=0)
    label_of = dict(zip(made.names, made.labels.tolist(), strict=True))
    assert label_of["WHO"] == label_of["World Health"] != label_of["Paris"]
    suffixed = [name for name in label_of if name.startswith("WHO ")]
    assert suffixed
    for name in suffixed:
        other = f"World Health{name.removeprefix('WHO')}"
        assert label_of.get(other, label_of[name]) == label_of[name]


def test_names_can_be_kept(tmp_path: Path) -> None:
    made = made_up_names(50, seed=2)
    made.save(tmp_path / "names.txt")
    kept = LabelledNames.load(tmp_path / "names.txt")
    assert kept.names == made.names
    assert np.array_equal(kept.labels, made.labels)


def test_names_of_no_set_stand_alone(tmp_path: Path) -> None:
    sets = tmp_path / "sets.jsonl"
    sets.write_text('{"terms": ["b", "C"]}\n{"terms": ["d", "e"]}\n', encoding="utf-8")
    labels = _labels(sets, ["a", "b", "c", "d", "e", "f"]).tolist()
    assert labels[1] == labels[2]
    assert labels[3] == labels[4]
    assert len(set(labels)) == 4


@pytest.fixture
def abstracts(tmp_path: Path) -> Path:
    """A corpus whose sentences have names of known entities, and other phrases."""
    folder = tmp_path / "medline"
    folder.mkdir()
    names = made_up_names(600, seed=3)
    entities: dict[int, list[str]] = {}
    for name, label in zip(names.names, names.labels.tolist(), strict=True):
        entities.setdefault(label, []).append(name)
    with gzip.open(folder / "mesh.jsonl.gz", "wt", encoding="utf-8") as file:
        for number, own in enumerate([*entities.values()][::2]):
            entity = {"id": f"D{number}", "name": own[0], "synonyms": own[1:]}
            file.write(json.dumps(entity) + "\n")
    texts = [f"The {name} is of the {other}. It was." for name, other in pairwise(names.names)]
    with gzip.open(folder / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    return folder


def test_phrases_have_the_sentence_in_which_they_stand(abstracts: Path, tmp_path: Path) -> None:
    made = phrases_in_context(abstracts, 120, seed=1)
    assert len({*map(name_key, made.names)}) == len(made.labels) == len(made.contexts) == 120
    assert (made.labels == UNKNOWN).sum() == 60
    for name, context in zip(made.names, made.contexts, strict=True):
        assert name in context
        assert context.endswith(".")
        assert context.count(".") == 1
    assert made.texts[0] == f"{made.names[0]}: {made.contexts[0]}"
    made.save(tmp_path / "kept.txt")
    kept = LabelledNames.load(tmp_path / "kept.txt")
    assert (kept.names, kept.contexts) == (made.names, made.contexts)
    with pytest.raises(DataError, match="the abstracts have fewer phrases"):
        phrases_in_context(abstracts, 10_000, seed=1)


def test_only_labelled_names_are_scored() -> None:
    names = LabelledNames(["a", "b", "c", "d"], np.array([0, 0, UNKNOWN, 1]))
    assert names.ari(np.array([5, 5, 5, 6])) == 1
    assert names.ari(np.array([5, 6, 5, 5])) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("contexts", [False, True])
def test_bench_group_measures_each_method(abstracts: Path, tmp_path: Path, contexts: bool) -> None:
    options = ["--sizes", "200", "400", "--training", "200", "--folder", str(tmp_path)]
    options += ["--contexts", str(abstracts)] if contexts else ["--seeds", "2"]
    options += [] if contexts else ["--weights", str(WEIGHTS)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_group", *options, "--methods", "agglomerative"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("| names |")[1].splitlines()[2:]
    assert len(lines) == 2 * 2
    assert all("×" in line for line in lines)
    assert all(("±" in line) != contexts for line in lines)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(("cell", "cells", "alike"), [(1500, 1, 99.9), (300, 5, 75)])
def test_bench_group_spark_finds_the_sets_of_one_machine(
    cell: int, cells: int, alike: float
) -> None:
    """In one cell all of them, in several nearly."""
    skip_without_spark()
    options = ["--sizes", "1500", "--cell", str(cell), "--partitions", "2", "--whole"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_group_spark", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    stages = re.findall(r"^\| (\w+) \| ([\d,]+) \|", done.stdout, re.MULTILINE)
    rows = {name: int(count.replace(",", "")) for name, count in stages}
    assert (rows["names"], rows["centres"]) == (1500, cells)
    assert rows["cells"] <= 1500 * min(cells, 2)
    (same,) = re.findall(r"with the whole: ([\d.]+)", done.stdout)
    assert float(same) > alike


def test_unseen_weights_leave_out_entities_with_a_name_of_the_benchmark(lists: Path) -> None:
    options = argparse.Namespace(lists=lists, names=2, seeds=1, first_seed=0, training=1)
    drawn = _drawn_names(options)
    names = listed_names(lists, 2, 0).names + listed_names(lists, 1, 1_000_000).names
    assert drawn == {name_hash(name) for name in names}
    kept = without_heldout([(names[0], "another"), ("Rome", "Roma")], drawn)
    assert kept == [("Rome", "Roma")]
