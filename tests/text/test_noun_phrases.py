"""Which phrases could be names: the shipped weights, and the threshold."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest

from synsetmine.text.noun_phrases import (
    CLASSES,
    FEWEST_NAMES,
    KEPT_NAMES,
    LOWEST_THRESHOLD,
    THRESHOLD,
    PhraseCounts,
    context_class,
    feature_names,
    name_features,
    name_probabilities,
    threshold_for,
)
from synsetmine.text.phrases import count_phrases
from tests.support.corpusfiles import store_texts


def test_there_is_one_weight_for_each_feature() -> None:
    text = resources.files("synsetmine.text").joinpath("noun_phrases.json").read_text("utf-8")
    names = feature_names()
    assert len(set(names)) == len(names)
    assert [*json.loads(text)["weights"]] == names


def test_phrases_of_the_same_count_are_kept_apart_by_what_stands_beside_them() -> None:
    texts = [
        text
        for i in range(20)
        for text in (
            f"The granular membrane of subject {i} was normal.",
            f"We saw a granular membrane, and another granular membrane ({i}).",
            "Findings imply that it fails. Findings imply that they fail.",
            "In all of them it was granularly mild but not granularly mild enough.",
        )
    ]
    counts = count_phrases(store_texts([texts]), fragment=2)
    probability = dict(zip(counts.forms, name_probabilities(counts).tolist(), strict=True))
    assert probability["granular membrane"] > THRESHOLD
    assert probability["findings imply"] < LOWEST_THRESHOLD
    assert probability["granularly mild"] < LOWEST_THRESHOLD


def test_the_order_of_phrases_changes_nothing() -> None:
    texts = ["the heart failure of rats", "a breast cancer, not lung cancer", "see heart failure"]
    counts = count_phrases(store_texts([texts * 5]))
    turned = np.arange(len(counts))[::-1]
    np.testing.assert_allclose(
        name_probabilities(counts.take(turned)), name_probabilities(counts)[turned]
    )


def test_context_features_are_roots_of_smoothed_shares() -> None:
    contexts = np.zeros((1, 3, 2, len(CLASSES)), np.int64)
    contexts[0, 0, 0, context_class("the")] = 6
    contexts[0, 0, 0, context_class("of")] = 2
    counts = PhraseCounts(
        ["heart failure"],
        ["heart failure"],
        np.array([8]),
        np.array([0.5]),
        np.array([0]),
        contexts,
    )
    background = np.full((3, 2, len(CLASSES)), 0.25)
    features = dict(zip(feature_names(), name_features(counts, background)[0], strict=True))
    assert features["phrase, left: determiner"] == pytest.approx(np.sqrt(6.75 / 11))
    assert features["phrase, left: of"] == pytest.approx(np.sqrt(2.75 / 11))
    assert features["phrase, right: of"] == pytest.approx(np.sqrt(0.25))


@pytest.mark.parametrize(
    ("part", "name"),
    [("the", "determiner"), ("The", "determiner"), ("heart", "other"), ("Paris", "capitalised"),
     ("7", "number"), ("3.5", "number"), (".", "end"), ("\1", "end"), ("\n\n", "end"),
     ("(", "opening bracket"), ("-", "hyphen"), ("%", "sign"), ("more", "quantifier")],
)  # fmt: skip
def test_classes_of_parts(part: str, name: str) -> None:
    assert [*CLASSES][context_class(part)] == name


def test_in_other_languages_every_phrase_could_be_a_name() -> None:
    english = "The results indicate that the {} heart is weak, and results indicate that it fails."
    german = "Die Ergebnisse zeigen dass das {} Herz schwach ist, und Ergebnisse zeigen wie."
    counts = count_phrases(store_texts([[english.format(i) for i in range(20)]]), fragment=2)
    probability = dict(zip(counts.forms, name_probabilities(counts), strict=True))
    assert probability["results indicate"] < LOWEST_THRESHOLD
    counts = count_phrases(store_texts([[german.format(i) for i in range(20)]]), fragment=2)
    assert "ergebnisse zeigen" in counts.forms
    assert {*name_probabilities(counts)} == {1.0}


def test_the_threshold_keeps_known_names() -> None:
    probability = np.linspace(0, 1, 1001)
    few = np.zeros(1001, np.bool_)
    few[: FEWEST_NAMES - 1] = True
    assert threshold_for(probability, few) == THRESHOLD
    known = probability >= 0.5
    threshold = threshold_for(probability, known)
    assert np.mean(probability[known] >= threshold) == pytest.approx(KEPT_NAMES, abs=0.01)
    assert threshold_for(probability, probability >= 0.9) == THRESHOLD
    assert threshold_for(probability, probability <= 0.2) == LOWEST_THRESHOLD
