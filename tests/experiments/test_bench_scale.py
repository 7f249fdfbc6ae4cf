"""Made-up vocabularies are what they claim; the benchmark on them starts and ends well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.methods import METHODS, Choice, _labels
from benchmarks.synthetic import LARGEST, Synthetic, make_vocabulary
from synsetmine.metrics import compare_labels
from synsetmine.views import unit_rows

ROOT = Path(__file__).parents[2]


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


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("agglomerative", {"distance": 0.3}),
        ("hdbscan", {"selection": "leaf", "epsilon": 0.8}),
        ("communities", {"threshold": 0.7}),
        ("louvain", {"neighbours": 5, "alpha": 0.3, "least": 0.2}),
    ],
)
def test_each_method_finds_sets_that_lie_apart(name: str, choice: Choice) -> None:
    """Rows of zeros, for terms without vectors, break none of them."""
    gold = np.repeat(np.arange(20), 4)
    centres = np.random.default_rng(0).standard_normal((20, 50), np.float32)
    noise = np.random.default_rng(1).standard_normal((80, 50), np.float32)
    rows = unit_rows(centres[gold] + 0.2 * noise)
    method = METHODS[name][0]
    assert compare_labels(method(rows, **choice), gold).ari > 0.9
    rows[3] = 0
    assert len(method(rows, **choice)) == 80


def test_what_no_group_has_stands_alone() -> None:
    assert len(set(_labels([[0, 2], [3]], 6).tolist())) == 5
    assert _labels([], 0).tolist() == []


@pytest.mark.slow
def test_bench_scale_measures_each_method(tmp_path: Path) -> None:
    few = ("--methods", "ours", "agglomerative", "--training", "300", "--folder", str(tmp_path))
    shown = bench("--sizes", "150", "300", *few)
    lines = shown.split("| terms |")[1].splitlines()[2:]
    assert len(lines) == 2 * 2
    assert all("n^" in line for line in lines[2:])
    assert "failed" not in shown
    shown = bench("--sizes", "300", "--memory", "0.0001", "--methods", "agglomerative", *few[3:])
    assert "needs 0.00072 GB" in shown
    assert "trained" not in shown


def bench(*options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_scale", *options, "--workers", "1"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
