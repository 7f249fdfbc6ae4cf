"""Training: it learns, chooses by held-out sets, and a broken run ends as an unbroken one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from synsetmine.errors import CheckpointError, DataError
from synsetmine.io.sets import write_sets
from synsetmine.metrics import evaluate
from synsetmine.models import generate_sets, load_model
from synsetmine.models.paper.settings import TrainingSettings
from synsetmine.models.paper.train import Epoch, TrainedScorer, Validation, train_scorer
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import write_vectors
from tests.support.worlds import make_world

SMALL = TrainingSettings(
    embed_sizes=(8, 16), post_sizes=(32, 16), dropout=0.2, epochs=30, negatives=10, batch_sets=8
)


def same_weights(one: TrainedScorer, two: TrainedScorer) -> bool:
    theirs = two.scorer.state_dict()
    return all(torch.equal(t, theirs[name]) for name, t in one.scorer.state_dict().items())


def test_it_learns_what_synonyms_look_like() -> None:
    training, vectors = make_world(entities=200, dimension=4, noise=0.1, seed=1)
    settings = replace(SMALL, embed_sizes=(50, 100), post_sizes=(200, 100), learning_rate=3e-3)
    trained = train_scorer(training, vectors, settings)
    new, new_vectors = make_world(entities=30, dimension=4, noise=0.1, seed=2)
    walk = order_terms(new.terms, "random", seed=0)
    report = evaluate(generate_sets(trained.scorer, new_vectors, walk).sets, new)
    assert report.ari > 0.4  # all alone or all together: 0
    assert trained.history[-1].loss < trained.history[0].loss / 2


def test_the_best_epoch_by_held_out_sets_is_kept() -> None:
    sets, vectors = make_world(seed=1)
    training, held_out = sets.split(0.25, seed=0)
    judge = Validation.with_random_orders(held_out, orders=3, seed=0, metric="ari", threshold=0.5)
    trained = train_scorer(training, vectors, SMALL, validation=judge)
    scores = {e.number: e.score for e in trained.history if e.score is not None}
    assert list(scores) == [5, 10, 15, 20, 25, 30]
    assert trained.best_score == max(scores.values())
    assert scores[trained.best_epoch] == trained.best_score
    assert judge.score(trained.scorer, vectors) == trained.best_score


def test_training_stops_when_patience_is_spent() -> None:
    sets, vectors = make_world(seed=1)
    settings = replace(SMALL, epochs=500, patience=5, learning_rate=1e-9, threshold=1.0)
    trained = train_scorer(sets, vectors, settings)
    assert len(trained.history) == 10
    assert trained.best_score == 0
    assert trained.best_epoch == 10  # of equals the last


def test_the_same_seed_gives_the_same_weights() -> None:
    sets, vectors = make_world()
    first, second = (train_scorer(sets, vectors, SMALL) for _ in range(2))
    assert same_weights(first, second)
    assert first.history == second.history
    assert not same_weights(first, train_scorer(sets, vectors, replace(SMALL, seed=1)))


@pytest.mark.parametrize("changes", [{}, {"train_vectors": True, "amsgrad": True}])
def test_a_broken_run_goes_on_to_the_same_result(tmp_path: Path, changes: dict[str, bool]) -> None:
    sets, vectors = make_world()
    settings = SMALL.with_changes({"strategy": "mixture", **changes})
    unbroken = train_scorer(sets, vectors, settings)
    path = tmp_path / "checkpoint.safetensors"

    def break_off(epoch: Epoch) -> None:
        if epoch.number == 13:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_scorer(sets, vectors, settings, checkpoint=path, on_epoch=break_off)
    seen: list[int] = []
    resumed = train_scorer(
        sets, vectors, settings, checkpoint=path, on_epoch=lambda e: seen.append(e.number)
    )
    assert seen[0] == 11
    assert same_weights(resumed, unbroken)
    assert resumed.history == unbroken.history
    assert resumed.fallback_share == unbroken.fallback_share
    if settings.train_vectors:
        assert resumed.tuned_vectors is not None
        assert unbroken.tuned_vectors is not None
        assert np.array_equal(resumed.tuned_vectors.matrix, unbroken.tuned_vectors.matrix)


def test_a_checkpoint_of_other_settings_or_data_is_refused(tmp_path: Path) -> None:
    sets, vectors = make_world()
    path = tmp_path / "checkpoint.safetensors"
    train_scorer(sets, vectors, SMALL, checkpoint=path)
    with pytest.raises(CheckpointError, match="other data or settings"):
        train_scorer(sets, vectors, replace(SMALL, negatives=5), checkpoint=path)
    fewer = SynonymSets.of(sets.sets[1:], sets.ids[1:])
    with pytest.raises(CheckpointError, match="other data or settings"):
        train_scorer(fewer, vectors, SMALL, checkpoint=path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match="is damaged"):
        train_scorer(sets, vectors, SMALL, checkpoint=path)


@pytest.mark.slow
def test_killed_training_goes_on_to_the_same_model(tmp_path: Path) -> None:
    """`kill -9` at several moments, then the same command again: the same bytes as unbroken."""
    sets, vectors = make_world(entities=60)
    write_sets(tmp_path / "train.set", sets)
    write_vectors(tmp_path / "vectors.txt", vectors)
    command = [sys.executable, "-m", "synsetmine", "train", "train.set", "-v", "vectors.txt"]
    command += ["--preset", "paper"]
    command += ["--epochs", "80", "--validate-every", "1", "--architecture", "both-20-40"]
    subprocess.run([*command, "-o", "whole"], cwd=tmp_path, check=True, capture_output=True)
    checkpoint = tmp_path / "broken" / "checkpoint.safetensors"
    kills = 0
    for _ in range(3):
        with subprocess.Popen(
            [*command, "-o", "broken"], cwd=tmp_path, stderr=subprocess.DEVNULL
        ) as run:
            before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
            while run.poll() is None:
                if checkpoint.exists() and checkpoint.stat().st_mtime_ns > before:
                    os.kill(run.pid, signal.SIGKILL)
                    kills += run.wait() == -signal.SIGKILL
                time.sleep(0.002)
    assert kills >= 1
    subprocess.run([*command, "-o", "broken"], cwd=tmp_path, check=False, capture_output=True)
    whole, resumed = tmp_path / "whole", tmp_path / "broken"
    assert (whole / "model.safetensors").read_bytes() == (
        resumed / "model.safetensors"
    ).read_bytes()
    assert load_model(whole).training == load_model(resumed).training
    assert sorted(p.name for p in resumed.iterdir()) == ["config.json", "model.safetensors"]


def test_terms_without_vectors_are_reported() -> None:
    sets, vectors = make_world()
    more = SynonymSets.of([*sets.sets, [Term("x"), Term("y")]])
    trained = train_scorer(more, vectors, replace(SMALL, epochs=5))
    assert trained.without_vector == (Term("x"), Term("y"))
    assert trained.record()["terms_without_vector"] == 2


def test_sets_without_any_vectors_are_an_error() -> None:
    sets, _ = make_world(seed=1)
    renamed = SynonymSets.of([[Term(f"other_{t.surface}") for t in m] for m in sets])
    with pytest.raises(DataError, match="fewer than two have terms with vectors"):
        train_scorer(renamed, make_world(seed=1)[1], SMALL)


def test_tuned_vectors_are_those_of_the_training_terms() -> None:
    sets, vectors = make_world()
    trained = train_scorer(sets, vectors, replace(SMALL, epochs=5, train_vectors=True))
    assert trained.tuned_vectors is not None
    before = vectors.select(trained.tuned_vectors.terms)
    assert not np.array_equal(trained.tuned_vectors.matrix, before)
    assert set(trained.tuned_vectors.terms) < set(sets.terms)  # without those held out


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_broken_run_on_the_gpu_goes_on_to_the_same_result(tmp_path: Path) -> None:
    def break_off(epoch: Epoch) -> None:
        if epoch.number == 13:
            raise KeyboardInterrupt

    sets, vectors = make_world()
    unbroken = train_scorer(sets, vectors, SMALL, device="cuda")
    checkpoint = tmp_path / "checkpoint.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train_scorer(sets, vectors, SMALL, device="cuda", checkpoint=checkpoint, on_epoch=break_off)
    assert checkpoint.exists()
    resumed = train_scorer(sets, vectors, SMALL, device="cuda", checkpoint=checkpoint)
    assert same_weights(resumed, unbroken)
    assert resumed.history == unbroken.history
