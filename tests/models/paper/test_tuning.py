"""Tuning: k folds by entity, in processes, resumable, with a winner that training takes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synsetmine.errors import DataError
from synsetmine.models.paper import tune as tuning
from synsetmine.models.paper.settings import TrainingSettings
from synsetmine.models.paper.tune import BEST, RESULTS, grid, sample, tune
from synsetmine.views import TermVectors
from tests.support.worlds import make_world

BASE = TrainingSettings(
    embed_sizes=(8, 16), post_sizes=(32, 16), epochs=10, negatives=5, validation_orders=2
)
CANDIDATES = grid({"learning_rate": [3e-3, 1e-9], "dropout": [0.1]})


def test_grid_is_all_combinations() -> None:
    assert grid({"a": [1, 2], "b": ["x"]}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]


def test_sample_is_without_repetition_and_by_seed() -> None:
    everything = grid({"a": list(range(10)), "b": list(range(10))})
    chosen = sample(everything, 20, seed=3)
    assert len({json.dumps(c) for c in chosen}) == 20
    assert chosen == sample(everything, 20, seed=3) != sample(everything, 20, seed=4)
    assert sample(everything, 1000, seed=0) == everything


@pytest.mark.slow
def test_the_better_candidate_comes_first_and_is_written_down(tmp_path: Path) -> None:
    sets, vectors = make_world(entities=150, dimension=4, noise=0.1)
    base = replace(BASE, embed_sizes=(50, 100), post_sizes=(200, 100), epochs=25, negatives=20)
    results = tune(sets, vectors, base, CANDIDATES, out=tmp_path, folds=3)
    assert [tuned.changes["learning_rate"] for tuned in results] == [3e-3, 1e-9]
    assert results[0].mean > results[1].mean
    assert all(len(tuned.scores) == 3 for tuned in results)
    winner = json.loads((tmp_path / BEST).read_text())
    assert TrainingSettings().with_changes(winner) == replace(base, learning_rate=3e-3, dropout=0.1)


@pytest.mark.slow
def test_processes_give_the_same_results(tmp_path: Path) -> None:
    sets, vectors = make_world(entities=12)
    here = tune(sets, vectors, BASE, CANDIDATES, out=tmp_path / "one", folds=2)
    there = tune(sets, vectors, BASE, CANDIDATES, out=tmp_path / "two", folds=2, workers=2)
    assert here == there


def test_a_broken_run_does_only_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets, vectors = make_world(entities=12)
    whole = tune(sets, vectors, BASE, CANDIDATES, out=tmp_path, folds=2)
    log = tmp_path / RESULTS
    lines = log.read_text().splitlines(keepends=True)
    assert len(lines) == 4
    log.write_text("".join(lines[:2]))
    calls: list[object] = []
    score_fold = tuning._score_fold

    def counted(*job: object) -> dict[str, object]:
        calls.append(job)
        return score_fold(*job)  # type: ignore[arg-type]

    monkeypatch.setattr(tuning, "_score_fold", counted)
    assert tune(sets, vectors, BASE, CANDIDATES, out=tmp_path, folds=2) == whole
    assert len(calls) == 2
    calls.clear()
    assert tune(sets, vectors, BASE, CANDIDATES, out=tmp_path, folds=2) == whole
    assert not calls


@pytest.mark.parametrize("line", ["{", "[]", "{}", "nothing"])
def test_results_that_are_none(tmp_path: Path, line: str) -> None:
    sets, vectors = make_world(entities=12)
    (tmp_path / RESULTS).write_text(line + "\n")
    with pytest.raises(DataError, match=r"results\.jsonl:1: not a result of tuning"):
        tune(sets, vectors, BASE, CANDIDATES, out=tmp_path, folds=2)


def test_results_of_other_settings_are_not_mixed_in(tmp_path: Path) -> None:
    sets, vectors = make_world(entities=12)
    tune(sets, vectors, BASE, CANDIDATES[:1], out=tmp_path, folds=2)
    with pytest.raises(DataError, match="other data or settings"):
        tune(sets, vectors, replace(BASE, epochs=5), CANDIDATES[:1], out=tmp_path, folds=2)


def test_a_candidate_that_fails_is_reported_and_comes_last(tmp_path: Path) -> None:
    sets, vectors = make_world(entities=12)
    candidates = grid({"learning_rate": [0.99, 1e-3], "amsgrad": [False]})
    huge = TermVectors(vectors.terms, vectors.matrix * np.float32(5e37))
    results = tune(sets, huge, BASE, candidates, out=tmp_path, folds=2)
    assert all(tuned.failure for tuned in results)
    assert "not finite" in str(results[0].failure)
    assert tune(sets, huge, BASE, candidates, out=tmp_path, folds=2) == results


def test_nothing_to_choose_from_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no settings to choose from"):
        tune(*make_world(), BASE, [], out=tmp_path)


def test_a_wrong_setting_is_refused_before_anything_runs(tmp_path: Path) -> None:
    sets, vectors = make_world(entities=12)
    with pytest.raises(DataError, match="no such setting"):
        tune(sets, vectors, BASE, [{"speed": 3}], out=tmp_path / "out", folds=2)
    assert not (tmp_path / "out").exists()
