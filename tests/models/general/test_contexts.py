"""Names in context against naive computations, and what contexts change."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from synsetmine.models.general import load_general
from synsetmine.models.general.contexts import (
    LARGEST,
    ContextClassifier,
    ContextPairs,
    split_senses,
)
from synsetmine.models.general.features import Positions
from synsetmine.models.general.linkage import SetFunction
from synsetmine.models.general.neighbours import Floats
from synsetmine.normalization import tokens
from synsetmine.text.tokens import FUNCTION_WORDS
from synsetmine.text.word_forms import stem

NAMES = ("Jordan", "Jordan", "Michael Jordan", "MI", "heart attack", "retina", "Amman", "Petra")
CONTEXTS = (
    ("The king of Jordan met leaders in Amman, the capital of the country.",),
    ("Jordan scored 45 points for the Chicago Bulls in the NBA finals.",),
    ("Michael Jordan, a guard of the Chicago Bulls, won six NBA finals.",),
    ("Patients with heart attack, also known as MI, have chest pain.",),
    ("A heart attack blocks an artery.",),
    (),
    ("Amman and Petra are cities of the country, and Amman is its capital.",),
    ("The capital Amman, Petra and Aqaba have leaders of their own.",),
)
LEFT, RIGHT = np.triu_indices(len(NAMES), 1)


def compare(left: Positions, right: Positions) -> Floats:
    """Log-odds of forms that tests can compute: no form is like another one."""
    return (-1.0 - (left + right) / 100).astype(np.float32)


@pytest.fixture(scope="module")
def pairs() -> ContextPairs:
    return ContextPairs(NAMES, CONTEXTS, load_general().encoder)


def weights(pairs: ContextPairs) -> ContextClassifier:
    width = pairs.pairs(LEFT, RIGHT, compare).features.shape[1]
    rng = np.random.default_rng(1)
    different, same = rng.normal(0, 0.1, (2, width + 1)).astype(np.float32)
    return ContextClassifier(different, same)


def place(one: int, other: int) -> int:
    (position,) = np.flatnonzero((one == LEFT) & (other == RIGHT))
    return int(position)


def test_the_log_odds_are_those_of_the_formula(pairs: ContextPairs) -> None:
    classifier = weights(pairs)
    known = pairs.pairs(LEFT, RIGHT, compare)
    values = pairs.log_odds(LEFT, RIGHT, compare, classifier)
    for row, (one, other) in enumerate(zip(LEFT.tolist(), RIGHT.tolist(), strict=True)):
        names = float(known.names[row])
        if not (CONTEXTS[one] and CONTEXTS[other]):
            expected = names  # by the names alone
        else:
            chosen = classifier.same if NAMES[one] == NAMES[other] else classifier.different
            expected = float(chosen[0] + known.features[row] @ chosen[1:])
            expected += 0 if NAMES[one] == NAMES[other] else names
        assert values[row] == pytest.approx(expected, abs=1e-5)


def test_one_name_without_contexts_is_one_thing() -> None:
    pairs = ContextPairs(("a", "a", "b"), ((), ("x y",), ()), load_general().encoder)
    values = pairs.log_odds(np.array([0, 0]), np.array([1, 2]), compare, weights_of(pairs))
    assert values == pytest.approx(np.array([LARGEST, -1.01]))


def weights_of(pairs: ContextPairs) -> ContextClassifier:
    width = pairs.pairs(np.array([0]), np.array([1]), compare).features.shape[1]
    return ContextClassifier(np.zeros(width + 1, np.float32), np.zeros(width + 1, np.float32))


def test_cosines_of_words_are_those_of_plain_counting(pairs: ContextPairs) -> None:
    def bag(node: int) -> Counter[str]:
        own = set(tokens(NAMES[node]))
        words = (word for text in CONTEXTS[node] for word in tokens(text))
        kept = (w for w in words if len(w) > 1 and w not in own and w not in FUNCTION_WORDS)
        return Counter(map(stem, kept))

    bags = [bag(node) for node in range(len(NAMES))]
    shared = Counter(word for each in bags for word in each)
    vectors = [
        {w: (1 + math.log(n)) * math.log((len(NAMES) + 1) / (shared[w] + 1)) for w, n in b.items()}
        for b in bags
    ]
    cosines = pairs._similarities(LEFT, RIGHT)[:, 0]
    for row, (one, other) in enumerate(zip(LEFT.tolist(), RIGHT.tolist(), strict=True)):
        dot = sum(value * vectors[other].get(word, 0) for word, value in vectors[one].items())
        lengths = [math.sqrt(sum(x * x for x in vectors[node].values())) for node in (one, other)]
        expected = dot / (lengths[0] * lengths[1]) if all(lengths) else 0.0
        assert cosines[row] == pytest.approx(expected, abs=1e-5)


def test_similarities_are_standardised_by_random_pairs(pairs: ContextPairs) -> None:
    features = pairs.random_features(20_000)[:, :6]
    assert np.abs(features.mean(axis=0)).max() < 0.2  # but for those that are cut
    assert features.std(axis=0) == pytest.approx(np.ones(6), abs=0.2)


def test_a_short_name_is_compared_by_its_definition() -> None:
    names, contexts = ("MI", "myocardial infarction"), (("Myocardial infarction (MI) kills.",),) * 2
    pairs = ContextPairs(names, contexts, load_general().encoder)
    known = pairs.pairs(np.array([0]), np.array([1]), compare)
    assert known.names[0] == LARGEST


def test_contexts_state_that_names_are_one_or_list_both(pairs: ContextPairs) -> None:
    features = pairs.pairs(LEFT, RIGHT, compare).features
    one, listed = features.shape[1] - 4, features.shape[1] - 3
    names = list(zip(LEFT.tolist(), RIGHT.tolist(), strict=True))
    stated = {(a, b) for a, b in names if features[place(a, b), one]}
    both = {(a, b) for a, b in names if features[place(a, b), listed]}
    assert stated == {(3, 4)}
    assert both == {(6, 7)}


def test_a_text_that_has_both_names_is_seen(pairs: ContextPairs) -> None:
    features = pairs.pairs(LEFT, RIGHT, compare).features
    mentioned = features.shape[1] - 5
    assert features[place(0, 6), mentioned]  # the king of Jordan met in Amman
    assert not features[place(1, 6), mentioned]


def test_repeated_texts_share_their_word_sequences() -> None:
    text = "The Danube flows through Vienna, Bratislava, Budapest and Belgrade."
    other = "Ships of many nations use the long river between the mountains and the sea."
    pairs = ContextPairs(("Vienna", "Danube", "river"), ((text,), (text,), (other,)), ENCODER)
    shares = pairs._shared_sequences(np.array([0, 0]), np.array([1, 2]))
    assert shares[0] > 0.3
    assert shares[1] == 0


ENCODER = load_general().encoder


def test_mentions_are_split_by_average_linkage() -> None:
    class Fixed(ContextPairs):
        """Mentions 0 and 1 are alike, and so are 2 and 3."""

        def log_odds(self, left, right, *_: object) -> Floats:  # type: ignore[no-untyped-def]
            return np.where(left // 2 == right // 2, 3.0, -3.0).astype(np.float32)

    pairs = Fixed(("a",) * 4 + ("b",), (("x",),) * 5, ENCODER)
    senses = split_senses(
        [0, 0, 0, 0, 1], pairs, compare, weights_of(pairs), SetFunction(0.0, 1.0), 0.5
    )
    assert senses == [0, 0, 1, 1, 0]
