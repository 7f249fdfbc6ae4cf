"""The benchmark takes the right names out of the known sets, and starts and ends well."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.bench_assign import _equal_bags, _nearest_bags, _shares, _split
from benchmarks.names import made_up_names

ROOT = Path(__file__).parents[2]


def test_half_of_the_terms_have_a_known_set() -> None:
    names = made_up_names(600, seed=3)
    sets, terms, homes = _split(names, argparse.Namespace(terms=101, seed=1))
    label_of = dict(zip(names.names, names.labels.tolist(), strict=True))
    assert len(set(terms)) == len(terms) == len(homes) == 101
    assert (homes >= 0).sum() == 50
    known = {name for members in sets for name in members}
    assert known.isdisjoint(terms)
    for members in sets:
        assert len({label_of[name] for name in members}) == 1
    assert len({label_of[members[0]] for members in sets}) == len(sets)
    for term, home in zip(terms, homes.tolist(), strict=True):
        own = {name for name, label in label_of.items() if label == label_of[term]}
        assert own & known == (set(sets[home]) if home >= 0 else set())


def test_look_ups() -> None:
    names, labels = ["heart failures", "heart attack", "lung"], np.array([0, 1, 2])
    terms = ["Failure of the heart", "lungz", "attack, heart"]
    assert _equal_bags(names, labels, terms).tolist() == [0, -1, 1]
    assert _nearest_bags(names, labels, terms, 1).tolist() == [0, 2, 1]
    assert _shares(np.array([0, 1, -1, 2]), np.array([0, 2, 3, -1])) == ("33 %", "50 %")


@pytest.mark.slow
def test_bench_assign_measures_each_method(tmp_path: Path) -> None:
    options = ("--sizes", "6000", "--terms", "200", "--sample", "20", "--folder", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_assign", *options],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("| method |")[1].splitlines()[2:]
    assert len(lines) == 3
    assert all("×" in line for line in lines)
