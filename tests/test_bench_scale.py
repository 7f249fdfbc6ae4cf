"""Made-up vocabularies are what they claim; the benchmark on them starts and ends well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.synthetic import LARGEST, Synthetic, make_vocabulary

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def vocabulary() -> Synthetic:
    return make_vocabulary(900, seed=3)


def test_a_seed_gives_one_vocabulary(vocabulary: Synthetic) -> None:
    again, other = make_vocabulary(900, seed=3), make_vocabulary(900, seed=4)
    assert again.terms == vocabulary.terms
    for name in ("labels", "corpus", "encoder"):
        assert np.array_equal(getattr(again, name), getattr(vocabulary, name))
    assert len(set(other.terms) & set(vocabulary.terms)) < 9


@pytest.mark.parametrize("count", [1, 2, 17, 400])
def test_there_are_as_many_terms_as_asked_for(count: int) -> None:
    made = make_vocabulary(count, seed=0)
    assert len(made) == len(made.labels) == len(made.corpus) == len(made.encoder) == count
    assert len({term.surface.lower() for term in made.terms}) == count
    assert set(made.labels.tolist()) == set(range(len(made.sets)))


def test_a_count_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not 0"):
        make_vocabulary(0, seed=0)


def test_set_sizes_are_skewed(vocabulary: Synthetic) -> None:
    sizes = np.bincount(vocabulary.sets.sizes)
    assert sizes[1] > sizes[2] > sizes[3] > 0
    assert 10 < len(sizes) - 1 <= LARGEST


def test_each_view_knows_something(vocabulary: Synthetic) -> None:
    """Synonyms are nearer than others in either table, but some terms have no corpus vector."""
    same = vocabulary.labels[:, None] == vocabulary.labels[None]
    np.fill_diagonal(same, False)
    others = ~same
    np.fill_diagonal(others, False)
    for table in (*vocabulary.views.vectors, vocabulary.views.encoder):
        assert table is not None
        rows = [i for i, term in enumerate(vocabulary.terms) if term in table]
        unit = table.select([vocabulary.terms[row] for row in rows])
        unit = unit - unit.mean(axis=0)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        cosines, chosen = unit @ unit.T, np.ix_(rows, rows)
        assert cosines[same[chosen]].mean() > cosines[others[chosen]].mean() + 0.25
    assert 0.01 < 1 - len(vocabulary.views.vectors[0]) / len(vocabulary) < 0.2


def test_a_vocabulary_can_be_kept(vocabulary: Synthetic, tmp_path: Path) -> None:
    vocabulary.save(tmp_path)
    kept = Synthetic.load(tmp_path)
    assert kept.terms == vocabulary.terms
    assert np.array_equal(kept.corpus, vocabulary.corpus)
    assert np.array_equal(kept.labels, vocabulary.labels)


@pytest.mark.slow
def test_bench_scale_measures_each_method(tmp_path: Path) -> None:
    command = ["-m", "benchmarks.bench_scale", "--sizes", "150", "300", "--training", "400"]
    done = subprocess.run(
        [sys.executable, *command, "--exact", "--workers", "1", "--folder", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("| terms |")[1].splitlines()[2:]
    assert len(lines) == 2 * 6
    assert all("n^" in line for line in lines[6:])
    assert "failed" not in done.stdout
    small = ["--sizes", "300", "--methods", "agglomerative", "--memory", "0.0001"]
    kept = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_scale", *small, "--folder", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert "needs 0.00072 GB" in kept.stdout
