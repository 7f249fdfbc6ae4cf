"""Names against all names of known sets: features and candidates against plain Python."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import snowballstemmer
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel, JaroWinkler

from synsetmine.models.general.name_table import MEANINGS, PAIR_FEATURES, NameTable, stem_key
from synsetmine.models.general.neighbours import Floats
from synsetmine.text.tokens import STOP_WORDS
from synsetmine.text.word_forms import designators, spelled_words, stem
from synsetmine.views.strings import ngram_weights
from tests.support.nameworlds import unit_vectors

NAMES = (
    "diabetes mellitus type 1",
    "Diabetes Mellitus, Type II",
    "type 2 diabetes",
    "magnetic resonance imaging",
    "MRI",
    "MRI scan",
    "heart failures",
    "Failure of the Heart",
    "up-regulation",
    "upregulation",
    "up regulated",
    "the who",
    "of the",
    "hepatitis B",
    "hepatitis C",
    "tumour",
    "tumors",
    "!!!",
    "+++",
    "漢字",
)
STEMMER = snowballstemmer.stemmer("english")
name_strategy = st.lists(
    st.sampled_from(["type", "1", "2", "II", "heart", "hearts", "failure", "of", "hf", "up", "a"]),
    min_size=1,
    max_size=4,
).map(" ".join) | st.sampled_from(NAMES)


def stems_of(name: str) -> list[str]:
    words = spelled_words(name)
    content = [word for word in words if word not in STOP_WORDS] or list(words)
    return [STEMMER.stemWord(stem(word)) for word in content]


def naive_features(names: Sequence[str], tables: Sequence[Floats], one: int, other: int) -> Floats:
    """The features of a pair of names, by their definitions."""
    count = Counter(stem for name in names for stem in set(stems_of(name)))
    rarity = {stem: math.log((len(names) + 1) / (count[stem] + 0.5)) for stem in count}
    left, right = stems_of(names[one]), stems_of(names[other])
    own, theirs = set(left), set(right)
    both = own & theirs

    def squares(stems: set[str]) -> float:
        return sum(rarity[stem] ** 2 for stem in stems)

    length = math.sqrt(squares(own)) * math.sqrt(squares(theirs))
    texts = [" ".join(spelled_words(name)) for name in names]
    ngrams = ngram_weights(texts).toarray()
    marks, other_marks = (designators(spelled_words(names[place])) for place in (one, other))
    words, other_words = (spelled_words(names[place]) for place in (one, other))

    def initials(spelled: Sequence[str]) -> str | None:
        return "".join(word[0] for word in spelled) if len(spelled) > 1 else None

    same_letters = bool(left) and "".join(left) == "".join(right)
    values = [
        squares(both) / length if length else 0,
        float(ngrams[one] @ ngrams[other]),
        len(both) / max(len(own | theirs), 1),
        len(both) / max(len(own), 1),
        len(both) / max(len(theirs), 1),
        len(own - theirs),
        len(theirs - own),
        sum(rarity[stem] for stem in own - theirs),
        sum(rarity[stem] for stem in theirs - own),
        bool(own) and own == theirs,
        Indel.normalized_similarity(texts[one], texts[other]),
        Indel.normalized_similarity(" ".join(sorted(left)), " ".join(sorted(right))),
        JaroWinkler.normalized_similarity(" ".join(sorted(left)), " ".join(sorted(right))),
        bool(marks) and marks == other_marks,
        bool(marks) and bool(other_marks) and marks != other_marks,
        bool(marks) != bool(other_marks),
        "".join(words) == initials(other_words) or "".join(other_words) == initials(words),
        len(texts[one]),
        len(texts[other]),
        len(own),
        len(theirs),
        left[:1] == right[:1] != [],
        left[-1:] == right[-1:] != [],
        Indel.normalized_similarity("".join(left), "".join(right)),
    ]
    if same_letters:  # names that differ by whitespace or a hyphen have the same stems
        for place in (0, 2, 3, 4, 9, 21, 22):
            values[place] = 1
        values[5:9] = [0] * 4
    values += [float(table[one] @ table[other]) for table in tables]
    return np.array(values, np.float32)


@settings(max_examples=30, deadline=None)
@given(st.lists(name_strategy, min_size=2, max_size=12), st.integers(0, 2))
def test_features_are_those_of_plain_python(names: list[str], count: int) -> None:
    tables = [unit_vectors(len(names), 3 + number, number) for number in range(count)]
    left, right = (grid.ravel() for grid in np.indices((len(names), len(names))))
    values = NameTable(names, tables).features(left, right)
    assert values.shape == (len(left), len(PAIR_FEATURES) + count)
    for row, (one, other) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        expected = naive_features(names, tables, one, other)
        np.testing.assert_allclose(values[row], expected, atol=2e-5, err_msg=f"{one}, {other}")


def feature(one: str, other: str, name: str) -> float:
    table = NameTable([one, other, "another name"], [])
    return float(table.features(np.array([0]), np.array([1]))[0, PAIR_FEATURES.index(name)])


@pytest.mark.parametrize(
    ("one", "other"),
    [("upregulation", "up-regulations"), ("Up Regulation", "upregulation"), ("e mail", "email")],
)
def test_whitespace_alone_is_no_difference(one: str, other: str) -> None:
    assert feature(one, other, "same stems") == 1
    assert feature(one, other, "stems that only the new name has") == 0
    assert feature(one, other, "cosine of stems, by rarity") == 1


@pytest.mark.parametrize(("one", "other"), [("!!!", "+++"), ("hepatitis B", "hepatitis C")])
def test_other_names_have_no_same_stems(one: str, other: str) -> None:
    assert feature(one, other, "same stems") == 0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(name_strategy, min_size=4, max_size=25, unique=True),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
)
def test_candidates_are_the_nearest_of_each_representation(
    names: list[str], count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    size = len(names)
    order = rng.permutation(size)
    queries, references = np.sort(order[: size // 2]), np.sort(order[size // 2 :])
    own, further = (unit_vectors(size, 4, int(rng.integers(99))) for _ in range(2))
    further[rng.random(size) < 0.3] = 0  # unknown in a corpus
    left, right = NameTable(names, [own]).candidates(queries, references, count, [further])
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    assert len(pairs) == len(left)
    assert set(left.tolist()) <= set(queries.tolist())
    assert set(right.tolist()) <= set(references.tolist())
    bags = [set(stems_of(names[reference])) for reference in references]
    expected: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    for query in queries.tolist():
        values = np.array([naive_features(names, [own, further], query, r) for r in references])
        shares = np.array([not stems.isdisjoint(stems_of(names[query])) for stems in bags])
        acronyms = {(query, int(r)) for r in references[values[:, 16] > 0]}
        expected |= acronyms
        possible |= acronyms
        for similarity, is_comparable in (
            (values[:, 0], shares),
            (values[:, 1], values[:, 1] > 0),
            (values[:, -2], np.ones(len(references), np.bool_)),
            (values[:, -1], further[references].any(axis=1) & further[query].any()),
        ):
            if is_comparable.any():
                last = np.sort(similarity[is_comparable])[::-1][:count][-1]
                above = is_comparable & (similarity > last + 1e-5)
                equal = is_comparable & (similarity > last - 1e-5)  # any of them may be chosen
                expected |= {(query, int(r)) for r in references[above]}
                possible |= {(query, int(r)) for r in references[equal]}
    assert expected <= pairs <= possible


def test_an_acronym_of_too_many_names_is_no_candidate() -> None:
    longs = [f"a{chr(97 + number)}m b{chr(97 + number)}n" for number in range(MEANINGS + 1)]
    table = NameTable(["AB", "a b", *longs], [])
    back = table.candidates(np.array([3]), np.array([0, 1]), 1)
    assert back[1].tolist() == [0, 1]  # also from the long form to the short one
    few, many = np.arange(2, 2 + MEANINGS), np.arange(2, 3 + MEANINGS)
    assert table.candidates(np.array([0]), few, 1)[1].tolist() == few.tolist()
    assert len(table.candidates(np.array([0]), many, 1)[1]) <= 2  # the nearest by n-grams alone


def test_no_queries_and_no_stems() -> None:
    table = NameTable(["!!!", "cell"], [unit_vectors(2, 3, 0)])
    none = np.empty(0, np.int64)
    left, right = table.candidates(none, np.array([0, 1]), 3)
    assert not len(left)
    assert not len(right)
    assert table.features(none, none).shape == (0, len(PAIR_FEATURES) + 1)


@given(st.lists(name_strategy, min_size=1, max_size=8))
def test_keys_of_stems(names: list[str]) -> None:
    table = NameTable(names, [])
    assert list(table.stem_keys) == [stem_key(name) for name in names]
    assert stem_key("Failures of the Heart") == stem_key("heart failure")
