"""Vectors of words that are tuned to known sets: gradient, what they learn, what stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from synsetmine.models.general import load_general, word_vectors
from synsetmine.models.general.assignment import NO_SET, _rounds, _tune_words
from synsetmine.models.general.candidate_sets import KnownNames
from synsetmine.models.general.name_table import Positions
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pair_evidence import Meanings
from synsetmine.models.general.settings import AssignmentSettings, WordTuningSettings
from synsetmine.models.general.word_vectors import TunedWords
from synsetmine.views.strings import StaticEncoder
from tests.support.nameworlds import name_world

SETTINGS = WordTuningSettings(least_sets=10)
PARTS = [
    "artery",
    "vein",
    "nerve",
    "muscle",
    "duct",
    "cortex",
    "capsule",
    "pelvis",
    "stone",
    "cyst",
]
PARTS += ["tumor", "biopsy", "failure", "function", "disease", "injury", "tubule", "calyx", "scan"]


def learn(sets: Sequence[Sequence[str]], settings: WordTuningSettings = SETTINGS) -> TunedWords:
    names = [name for members in sets for name in members]
    labels = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    return TunedWords.learn(load_general().encoder, names, labels, settings)


def cosines(vectors: tuple[Floats, Floats]) -> list[float]:
    """The tuned and the static cosine of two names."""
    return [float(table[0] @ table[1]) for table in vectors]


def test_words_that_replace_each_other_come_near_in_other_names_too() -> None:
    words = learn([[f"nephric {part}", f"kidney {part}"] for part in PARTS])
    tuned, static = cosines(words.encode(["nephric artery wall", "kidney artery wall"]))
    assert tuned > 0.9 > static
    apart = ["kidney artery", "kidney vein"]
    tuned, static = cosines(words.encode(apart))
    assert tuned < static


def test_words_that_no_set_has_stay_as_they_are() -> None:
    words = learn([[f"nephric {part}", f"kidney {part}"] for part in PARTS])
    tuned, static = words.encode(["city of Paris", ""])
    np.testing.assert_array_equal(tuned, static)
    np.testing.assert_array_equal(static, load_general().encoder.encode(["city of Paris", ""]))


@pytest.mark.parametrize(
    "sets",
    [[], [["one"], ["two"]], [["a name", "the same"]] * 3],
    ids=["no sets", "single names", "too few sets"],
)
def test_too_few_sets_change_nothing(sets: Sequence[Sequence[str]]) -> None:
    tuned, static = learn(sets).encode(["a name", "another"])
    np.testing.assert_array_equal(tuned, static)


def test_the_seed_decides_the_result() -> None:
    sets = [[f"nephric {part}", f"kidney {part}", f"{part} of kidney"] for part in PARTS]
    one, again, other = (
        learn(sets, replace(SETTINGS, seed=seed)).encode(["kidney stone"])[0] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def _loss(one: Floats, other: Floats, temperature: float) -> float:
    left, right = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (one, other))
    logits = left @ right.T / temperature
    shares = [np.exp(logits) / np.exp(logits).sum(axis=axis, keepdims=True) for axis in (0, 1)]
    return float(-np.sum([np.log(share.diagonal()) for share in shares]) / 2)


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(3)
    sides = rng.standard_normal((2, 5, 4))
    computed = word_vectors._gradients(sides[0], sides[1], 0.5)
    for side, row, column in np.ndindex(2, 5, 4):
        up, down = sides.copy(), sides.copy()
        up[side, row, column] += 1e-5
        down[side, row, column] -= 1e-5
        slope = (_loss(up[0], up[1], 0.5) - _loss(down[0], down[1], 0.5)) / 2e-5
        assert computed[side][row, column] == pytest.approx(slope, abs=1e-5)


def test_names_that_are_looked_for_teach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = KnownNames.of(name_world(300).sets)
    settings = AssignmentSettings(fewest_queries=100)
    meanings = Meanings(known.names, known.labels, None, settings.same_meaning)
    held_out = {7, 8}
    teaches = ~np.isin(known.labels, [*held_out])
    seen = np.zeros(len(known.names), np.bool_)
    rounds = _rounds(known, seen, teaches, meanings, settings)
    taught: list[tuple[Sequence[str], Positions]] = []

    def learn_from(
        _: type[TunedWords],
        encoder: StaticEncoder,
        names: Sequence[str],
        labels: Positions,
        _settings: WordTuningSettings,
    ) -> TunedWords:
        taught.append((names, labels))
        return TunedWords(encoder, {}, np.zeros((0, encoder.dimension), np.float32))

    monkeypatch.setattr(TunedWords, "learn", classmethod(learn_from))
    _tune_words(load_general().encoder, known, rounds, teaches, settings)
    [(names, labels)] = taught
    looked_for = {known.names[name] for drawn in rounds for name in drawn.queries.tolist()}
    removed = {
        int(known.labels[name])
        for drawn in rounds
        for name in drawn.queries[drawn.labels == NO_SET].tolist()
    }
    assert removed
    assert looked_for.isdisjoint(names)
    assert (removed | held_out).isdisjoint(labels.tolist())
    assert len(names) > 100
