"""The general model: names are grouped without training, and f is one function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from synsetmine.errors import DataError, ModelError
from synsetmine.models import StoredModel, generate_sets, load_model, save_model
from synsetmine.models.general import GeneralModel, load_general
from synsetmine.models.general.features import (
    STRING_FEATURES,
    NameFeatures,
    WordWeights,
    mutual_shares,
    unique_pairs,
    word_codes,
)
from synsetmine.models.general.neighbours import EXACT_ROWS, nearest_rows, nearest_sparse_rows
from synsetmine.models.general.pairs import PairClassifier
from synsetmine.text.tokens import name_words
from synsetmine.text.word_forms import designators
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, unit_rows

NAMES = (
    *("World Health Organization", "World Health Organisation", "WHO"),
    *("heart attack", "heart attacks", "myocardial infarction"),
    *("United Kingdom", "UK", "color", "colour", "Paris", "Berlin", "zebra", "type 2 diabetes"),
)
TERMS = tuple(Term(name) for name in NAMES)


def sets_of(terms: tuple[Term, ...], **options: Any) -> set[frozenset[str]]:
    mined = generate_sets(load_general(), TermViews(), terms, **options)
    return {frozenset(term.surface for term in members) for members in mined.sets}


def test_names_for_the_same_thing_are_grouped() -> None:
    sets = sets_of(TERMS)
    assert frozenset(("World Health Organization", "World Health Organisation", "WHO")) in sets
    assert frozenset(("United Kingdom", "UK")) in sets
    assert frozenset(("color", "colour")) in sets
    assert frozenset(("zebra",)) in sets


def test_the_order_of_the_names_makes_no_difference() -> None:
    assert sets_of(TERMS) == sets_of(TERMS[::-1]) == sets_of((*TERMS[5:], *TERMS[:5]))


def test_trace_and_probabilities_are_one_function() -> None:
    prepared = load_general().prepare(TERMS, TermViews())
    mined = prepared.generate()
    members_of = dict(zip(mined.sets.ids, mined.sets, strict=True))
    for decision in mined.trace:
        if decision.best_set is None:
            assert decision.probability == 0
            continue
        members = [term for term in members_of[decision.best_set] if term != decision.term]
        (value,) = prepared.probabilities(members, [decision.term])
        assert value == pytest.approx(decision.probability, rel=1e-6)
        assert (value > 0.5) == (decision.action == "joined")


def test_a_member_is_judged_by_the_others() -> None:
    prepared = load_general().prepare(TERMS, TermViews())
    health = list(TERMS[:3])
    (with_itself,) = prepared.probabilities(health, [health[0]])
    (without,) = prepared.probabilities(health[1:], [health[0]])
    assert with_itself == pytest.approx(without)
    assert prepared.probabilities([TERMS[0]], [TERMS[0]]) == [0.0]


def test_ranking_is_sorted_by_probability() -> None:
    prepared = load_general().prepare(TERMS, TermViews())
    ranked = prepared.rank([Term("WHO")], top=3)
    assert {term.surface for term, _ in ranked[:2]} == {
        "World Health Organization",
        "World Health Organisation",
    }
    assert [value for _, value in ranked] == sorted((v for _, v in ranked), reverse=True)


def test_pairs_near_the_threshold_come_first() -> None:
    prepared = load_general().prepare(TERMS, TermViews())
    pairs = prepared.near_pairs(0.5, top=5)
    distances = [abs(value - 0.5) for *_, value in pairs]
    assert distances == sorted(distances)
    for one, other, value in pairs:
        assert prepared.probabilities([one], [other]) == [pytest.approx(value)]


def test_terms_that_cannot_be_linked_stay_apart() -> None:
    apart = [(Term("UK"), Term("United Kingdom")), (Term("WHO"), Term("World Health Organization"))]
    sets = sets_of(TERMS, cannot_link=apart)
    for one, other in apart:
        assert not any({one.surface, other.surface} <= members for members in sets)


def test_new_names_join_known_sets_which_keep_their_ids() -> None:
    seeds = SynonymSets.of([[Term("World Health Organization")], [Term("Paris")]], ["org", "city"])
    mined = generate_sets(load_general(), TermViews(), TERMS, seeds=seeds)
    members_of = dict(zip(mined.sets.ids, mined.sets, strict=True))
    assert Term("WHO") in members_of["org"]
    assert Term("Paris") in members_of["city"]
    assert not any(set(members_of["org"]) & set(members_of["city"]))


def test_no_more_sets_than_allowed() -> None:
    mined = generate_sets(load_general(), TermViews(), TERMS, max_sets=4)
    assert len(mined.sets) == 4
    assert sorted(mined.sets.terms) == sorted(TERMS)
    assert any(decision.action == "forced" for decision in mined.trace)


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["one"],
        ["!!!", "???", "_"],
        ["x" * 1_000_000, "y"],
        ["北京", "北京市", "Пекин", "Beijing"],
        ["same words here", "words here same"],
    ],
)
def test_unusual_vocabularies(names: list[str]) -> None:
    terms = [Term(name) for name in names]
    mined = generate_sets(load_general(), TermViews(), terms)
    assert sorted(mined.sets.terms) == sorted(dict.fromkeys(terms))


def test_saved_and_loaded_it_says_the_same(tmp_path: Path) -> None:
    model = load_general()
    save_model(tmp_path / "model", StoredModel(model, 0.5, {}))
    loaded = load_model(tmp_path / "model")
    ours = model.prepare(TERMS, TermViews()).probabilities(TERMS[:2], TERMS)
    assert loaded.prepare(TERMS, TermViews()).probabilities(TERMS[:2], TERMS) == ours


def test_an_encoders_view_is_asked_for() -> None:
    with pytest.raises(DataError, match="view, which is missing: 'encoder'"):
        load_general(encoder=True).prepare(TERMS, TermViews())


def test_terms_without_an_encoders_vector_are_judged_by_their_strings() -> None:
    rng = np.random.default_rng(0)
    some = TERMS[4:]
    table = TermVectors(some, rng.normal(size=(len(some), 16)).astype(np.float32))
    model = load_general(encoder=True)
    mined = generate_sets(model, TermViews(encoder=table), TERMS)
    assert sorted(mined.sets.terms) == sorted(TERMS)


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ModelError, match="do not match"):
        PairClassifier(np.zeros(3, np.float32), np.ones(2, np.float32), (), ())
    zeros = np.zeros((3, 2), np.float32)
    with pytest.raises(ModelError, match="outputs"):
        PairClassifier(np.zeros(3, np.float32), np.ones(3, np.float32), (zeros,), (zeros[0],))
    with pytest.raises(ModelError, match="word weights"):
        WordWeights(np.zeros((2, 2), np.float32))
    description, arrays = load_general().state()
    with pytest.raises(ModelError, match="uses_encoder"):
        GeneralModel.from_state({**description, "uses_encoder": 1}, arrays)


def test_features_of_differing_words_equal_the_naive_ones() -> None:
    """First and last words, designators, and weights of differing words and pairs of words."""
    names = [*(term.surface for term in TERMS), "left atrium", "right atrium", "World War II"]
    names += ["second world war", "apple", "apple pie", "atrium, left", "hepatitis B", "hepatitis"]
    weights = WordWeights(np.random.default_rng(0).normal(size=4096).astype(np.float32))
    left, right = np.triu_indices(len(names), 1)
    features = NameFeatures(names, load_general().encoder, weights)
    values = features.features(left, right)[:, features.string_columns]
    columns = [STRING_FEATURES.index(name) for name in DIFFERING_WORDS]
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        expected = _differing_words(names[a], names[b], weights)
        assert values[row, columns] == pytest.approx(expected, abs=1e-4), (names[a], names[b])


DIFFERING_WORDS = (
    "same designators",
    "both have designators, others",
    "one alone has designators",
    "same first word",
    "same last word",
    "weights of the words that one name has in addition",
    "weights of the words by which both differ",
    "weight of the two words by which both differ",
)


def _differing_words(one: str, other: str, weights: WordWeights) -> list[float]:
    a, b = name_words(one), name_words(other)
    numbers = designators(a), designators(b)
    only = sorted(set(a) - set(b)), sorted(set(b) - set(a))
    kind = 2 * all(only) + (a[-1] != b[-1])
    total = sum(weights.of([word])[0, kind] for side in only for word in side)
    pair = 0.0
    if len(only[0]) == len(only[1]) == 1:
        pair = weights.of_pairs(word_codes(only[1]), word_codes(only[0]))[0]
    same = numbers[0] == numbers[1]
    return [
        float(all(numbers) and same),
        float(all(numbers) and not same),
        float(any(numbers) and not all(numbers)),
        float(a[0] == b[0]),
        float(a[-1] == b[-1]),
        0 if all(only) else float(np.clip(total, -8, 8)),
        float(np.clip(total, -8, 8)) if all(only) else 0,
        pair,
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("World War II", "second world war"),
        ("type 2 diabetes", "Diabetes, Type II"),
        ("GPT-4", "GPT4"),
        ("interleukin 6", "IL-6"),
    ],
)
def test_designators_in_other_forms(one: str, other: str) -> None:
    assert designators(name_words(one)) == designators(name_words(other)) != ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("hepatitis A", "hepatitis B"), ("Windows 10", "Windows 11"), ("World War I", "WWII")],
)
def test_other_designators(one: str, other: str) -> None:
    assert designators(name_words(one)) != designators(name_words(other))


# Neighbours and linkage against naive references.


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 60), st.integers(1, 8))
def test_nearest_rows_are_those_of_a_full_sort(seed: int, rows: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    table = unit_rows(rng.normal(size=(rows, 5)).astype(np.float32))
    known = rng.random(rows) < 0.8
    table[~known] = 0
    nearest, cosines = nearest_rows(table, known, count)
    for row in range(rows):
        others = [other for other in np.flatnonzero(known) if other != row]
        expected = sorted((float(table[row] @ table[other]) for other in others), reverse=True)
        expected = expected[:count] if known[row] else []
        listed = [float(c) for c in cosines[row] if c > -np.inf]
        assert listed == pytest.approx(expected, abs=1e-5)
        assert (nearest[row, len(expected) :] == -1).all()


def test_cells_find_most_of_the_nearest_rows() -> None:
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(400, 24))
    rows = centres[rng.integers(400, size=EXACT_ROWS + 2000)] + 0.3 * rng.normal(
        size=(EXACT_ROWS + 2000, 24)
    )
    table = unit_rows(rows.astype(np.float32))
    nearest, _ = nearest_rows(table, np.ones(len(table), np.bool_), 5)
    for row in range(0, len(table), 997):
        similarity = table @ table[row]
        similarity[row] = -1
        best = set(np.argsort(-similarity)[:5].tolist())
        assert len(best & set(nearest[row].tolist())) >= 4


def test_sparse_neighbours_are_those_of_the_dense_product() -> None:
    rng = np.random.default_rng(2)
    dense = unit_rows((rng.random((40, 30)) * (rng.random((40, 30)) < 0.2)).astype(np.float32))
    nearest, cosines = nearest_sparse_rows(sparse.csr_array(dense), 4)
    products = dense @ dense.T
    np.fill_diagonal(products, 0)
    for row in range(40):
        expected = np.sort(products[row])[::-1][:4]
        assert cosines[row] == pytest.approx(expected, abs=1e-5)
        assert all(products[row, place] > 0 for place in nearest[row] if place >= 0)


@given(st.integers(0, 10_000), st.integers(0, 12))
def test_mutual_shares_equal_the_naive_ones(seed: int, names: int) -> None:
    rng = np.random.default_rng(seed)
    rows = unit_rows(rng.normal(size=(names, 3)).astype(np.float32))
    rows[rng.random(names) < 0.2] = 0
    nearest, _ = nearest_rows(rows, (rows != 0).any(axis=1), 20)
    counts = [0, 0, 0, 0]
    for name, found in enumerate(nearest.tolist()):
        near = {other: nearest[other].tolist() for other in found if other >= 0}
        if len(near) < 1:
            continue
        first, second = found[:2]
        nearly = name in near[first][:2]
        three = second >= 0 and second in near[first][:3] and first in near[second][:3]
        facts = (near[first][0] == name, nearly, three, three and nearly)
        counts = [count + fact for count, fact in zip(counts, facts, strict=True)]
    np.testing.assert_allclose(mutual_shares(nearest), np.array(counts) / max(names, 1), atol=1e-6)


def test_pairs_are_listed_once() -> None:
    left, right = unique_pairs([(np.array([2, 0, 1, 1, 3]), np.array([0, 2, 1, 3, 1]))], 4)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 2), (1, 3)]
