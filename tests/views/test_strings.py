"""What strings say about pairs of terms, against definitions written out pair by pair."""

from __future__ import annotations

import math
import pickle
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.normalization import tokens
from synsetmine.text.tokens import STOP_WORDS
from synsetmine.views import FEATURES, StringView
from tests.support.strategies import PIECES

quick = settings(max_examples=60, deadline=None)

WORDS = (
    "United", "States", "of", "America", "US", "u.s.", "USA", "the", "New_York", "new", "york",
    "NY", "City", "type", "2", "02", "diabetes", "mellitus", "II", "Ⅱ", "heart-failure", "a", "b",
)  # fmt: skip
surfaces = st.lists(
    st.lists(st.sampled_from(WORDS + PIECES), min_size=1, max_size=5).map(" ".join)
    | st.text(max_size=6),
    min_size=1,
    max_size=6,
)


# --- The definitions --------------------------------------------------------------------------


def plain(surface: str) -> str:
    return " ".join(surface.casefold().replace("_", " ").split())


def words(surface: str) -> list[str]:
    return list(tokens(surface)) or [plain(surface)]


def ngrams(surface: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for word in plain(surface).split():
        padded = f" {word} "
        for n in (2, 3, 4):
            found.update(padded[i : i + n] for i in range(len(padded) - n + 1))
    return found


def ngram_cosine(a: str, b: str, everything: list[str]) -> float:
    counts = [ngrams(surface) for surface in everything]

    def weights(surface: str) -> dict[str, float]:
        return {
            gram: n * (1 + math.log((1 + len(counts)) / (1 + sum(gram in c for c in counts))))
            for gram, n in ngrams(surface).items()
        }

    left, right = weights(a), weights(b)
    lengths = math.hypot(*left.values()) * math.hypot(*right.values())
    product = sum(value * right.get(gram, 0) for gram, value in left.items())
    return product / lengths if lengths else 0.0


def edit(a: str, b: str) -> float:
    """Twice the longest common subsequence over both lengths."""
    longest = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            either = max(longest[i][j + 1], longest[i + 1][j])
            longest[i + 1][j + 1] = longest[i][j] + 1 if x == y else either
    return 2 * longest[-1][-1] / (len(a) + len(b)) if a or b else 1.0


def jaro_winkler(a: str, b: str) -> float:
    if not a or not b:
        return float(a == b)
    reach = max(len(a), len(b)) // 2 - 1
    free = [True] * len(b)
    met: list[int] = []  # places in b, in the order of a
    ours = ""
    for i, x in enumerate(a):
        for j in range(max(0, i - reach), min(len(b), i + reach + 1)):
            if free[j] and b[j] == x:
                free[j] = False
                met.append(j)
                ours += x
                break
    if not met and a != b:
        return 0.0
    theirs = "".join(b[j] for j in sorted(met))
    swapped = sum(x != y for x, y in zip(ours, theirs, strict=True)) // 2
    m = len(met)
    jaro = (m / len(a) + m / len(b) + (m - swapped) / m) / 3 if a != b else 1.0
    prefix = 0
    while prefix < min(4, len(a), len(b)) and a[prefix] == b[prefix]:
        prefix += 1
    return jaro + 0.1 * prefix * (1 - jaro) if jaro > 0.7 else jaro


def is_acronym(short: str, long: str) -> bool:
    every = words(long)
    telling = [word for word in every if word not in STOP_WORDS]
    initials = ["".join(w[0] for w in some) for some in (every, telling) if len(some) > 1]
    return "".join(words(short)) in initials


def digits(surface: str) -> list[str]:
    return sorted(re.findall(r"\d+", plain(surface)))


def features(a: str, b: str, everything: list[str]) -> list[float]:
    ours, theirs = set(words(a)), set(words(b))
    return [
        ngram_cosine(a, b, everything),
        len(ours & theirs) / len(ours | theirs),
        len(ours & theirs) / min(len(ours), len(theirs)),
        edit(plain(a), plain(b)),
        edit(" ".join(sorted(words(a))), " ".join(sorted(words(b)))),
        jaro_winkler(plain(a), plain(b)),
        float(is_acronym(a, b) or is_acronym(b, a)),
        float(digits(a) == digits(b)),
    ]


def column(name: str, a: str, b: str) -> float:
    view = StringView([a, b])
    return float(view.pairs(np.array([0]), np.array([1]))[0, FEATURES.index(name)])


# --- The view ---------------------------------------------------------------------------------


@given(surfaces)
@example(["", "_", " \t", "+", "-"])
@example(["US", "u.s.", "United States", "the United States of America", "USA"])
@example(["type 2 b 10", "10 type 2", "type 12", "2 2", "2"])
@quick
def test_features_are_what_they_say_and_both_ways_agree(texts: list[str]) -> None:
    view = StringView(texts)
    every = np.arange(len(texts))
    block = view.block(every, every)
    assert block.shape == (len(texts), len(texts), len(FEATURES))
    assert block.dtype == np.float32
    expected = [[features(a, b, texts) for b in texts] for a in texts]
    np.testing.assert_allclose(block, expected, atol=2e-6)
    assert ((block >= 0) & (block <= 1)).all()
    np.testing.assert_allclose(block, block.swapaxes(0, 1), atol=1e-6)
    left, right = np.divmod(np.arange(len(texts) ** 2), len(texts))
    pairs = view.pairs(left, right).reshape(block.shape)
    np.testing.assert_allclose(pairs, block, atol=1e-6)
    np.testing.assert_array_equal(pairs[..., 1:], block[..., 1:])


def test_a_block_is_any_rows_with_any_columns() -> None:
    view = StringView([f"name {i % 7} of {i}" for i in range(30)])
    every = np.arange(30)
    whole = view.block(every, every)
    rows, columns = np.array([3, 3, 17]), np.array([29, 0])
    np.testing.assert_allclose(view.block(rows, columns), whole[rows[:, None], columns], atol=1e-6)
    nothing = np.empty(0, np.int64)
    assert view.block(nothing, every).shape == (0, 30, len(FEATURES))
    assert view.block(rows, nothing).shape == (3, 0, len(FEATURES))
    assert view.pairs(nothing, nothing).shape == (0, len(FEATURES))
    assert StringView([]).block(nothing, nothing).shape == (0, 0, len(FEATURES))


def test_many_pairs_are_compared_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    view = StringView([f"name {i % 7} of {i}" for i in range(20)])
    left, right = np.divmod(np.arange(400), 20)
    whole = view.pairs(left, right)
    monkeypatch.setattr("synsetmine.views.strings.PAIRS_AT_ONCE", 7)
    np.testing.assert_array_equal(view.pairs(left, right), whole)


@pytest.mark.parametrize(
    ("a", "b", "match"),
    [
        ("US", "United States", 1),
        ("U.S.A.", "united_states_of_america", 1),
        ("USOA", "United States of America", 1),
        ("g7", "Group of 7", 1),
        ("us", "u.s.", 1),
        ("us", "us", 0),
        ("u", "University", 0),  # a single word has no initials
        ("t", "the train", 0),  # nor has one that is left of two
        ("USA", "United States", 0),
    ],
)
def test_acronyms(a: str, b: str, match: int) -> None:
    assert column("acronym", a, b) == column("acronym", b, a) == match


@pytest.mark.parametrize(
    ("a", "b", "match"),
    [
        ("type 2", "2nd type", 1),
        ("1 and 22", "22 or 1", 1),
        ("no number", "none", 1),
        ("type 2", "type 1", 0),
        ("2", "2 2", 0),
        ("2", "02", 0),
    ],
)
def test_digits(a: str, b: str, match: int) -> None:
    assert column("digits", a, b) == match


def test_case_and_underscores_do_not_count() -> None:
    view = StringView(["New_York", "new york", "NEW  YORK"])
    block = view.block(np.arange(3), np.arange(3))
    expected = [1, 1, 1, 1, 1, 1, 0, 1]
    np.testing.assert_allclose(block, np.broadcast_to(expected, block.shape), atol=1e-6)


def test_a_view_travels_to_other_processes() -> None:
    view = StringView(["heart failure", "heart attack"])
    left, right = np.array([0]), np.array([1])
    again = pickle.loads(pickle.dumps(view))
    np.testing.assert_array_equal(again.pairs(left, right), view.pairs(left, right))
