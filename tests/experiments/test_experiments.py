"""Experiments and benchmarks start and end well; their figures come from longer runs."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.worlds import write_text_world

ROOT = Path(__file__).parents[2]


def run(*command: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_medline_mesh_on_a_small_world(tmp_path: Path) -> None:
    write_text_world(tmp_path)
    for made, wanted in {"corpus.jsonl": "corpus.jsonl.gz", "kb.jsonl": "mesh.jsonl.gz"}.items():
        (tmp_path / wanted).write_bytes(gzip.compress((tmp_path / made).read_bytes()))
    places = [f"--{name}={tmp_path / name}" for name in ("out", "work")]
    command = ["experiments/medline_mesh.py", "--data", str(tmp_path), "--epochs", "5", *places]
    page = run(*command)
    assert "| supervise |" in page
    assert "the largest process took" in page
    assert (tmp_path / "out" / "medline-mesh.md").read_text() in page
    drawn = json.loads((tmp_path / "out" / "medline-mesh" / "drawn.json").read_text())
    assert all(found["new"] and found["known"] for found in drawn)


@pytest.mark.slow
def test_bench_linking_gives_equal_results() -> None:
    shown = run("-m", "benchmarks.bench_linking", "--quick")
    assert "ahocorasick_rs" in shown
    assert "MB/s" in shown


@pytest.mark.slow
def test_bench_generation_gives_equal_results(nyt: Path) -> None:
    few = ["--terms", "60", "120", "--epochs", "5", "--preset", "paper"]
    shown = run("-m", "benchmarks.bench_generation", "--data", str(nyt), *few)
    assert "training epoch" in shown
    assert "growth, 60 to 120 terms" in shown
