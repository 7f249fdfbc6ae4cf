"""The graph of the general model and its linkage against naive references, in blocks and whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from synsetmine.errors import DataError
from synsetmine.models.general import features, load_general, model, neighbours
from synsetmine.models.general import linkage as graph
from synsetmine.models.general.features import NameFeatures, unique_pairs
from synsetmine.models.general.linkage import (
    LEAST,
    MOST,
    Linkage,
    SetFunction,
    _first_largest,
    pair_graph,
    two_step_pairs,
)
from synsetmine.models.general.neighbours import nearest_rows
from synsetmine.models.general.pairs import PairFeatures
from synsetmine.models.general.prepared_names import PreparedNames
from synsetmine.models.task import sigmoid
from synsetmine.types import SynonymSets, Term
from synsetmine.views import unit_rows

FUNCTION = SetFunction(-0.2, 1.1)


def random_chances(seed: int, count: int) -> np.ndarray[Any, Any]:
    """Symmetric probabilities, 0 for pairs that are not near."""
    rng = np.random.default_rng(seed)
    near = rng.random((count, count)) < 0.6
    upper = np.triu(np.where(near, rng.uniform(0.01, 0.99, (count, count)), 0), 1)
    return upper + upper.T


def graph_of(chances: np.ndarray[Any, Any]) -> Any:
    return sparse.csr_array(chances)


def logit_of(chances: Sequence[float]) -> float:
    """The logit of f, given the probabilities of all pairs between two sets."""
    mean = min(max(sum(chances) / max(len(chances), 1), LEAST), MOST)
    return FUNCTION.bias + FUNCTION.scale * math.log(mean / (1 - mean))


def naive_linkage(
    chances: np.ndarray[Any, Any],
    threshold: float,
    seeds: Sequence[Sequence[int]],
    cannot_link: Sequence[tuple[int, int]],
) -> set[frozenset[int]]:
    """Compare all sets again after each merge."""
    seeded = {position for seed in seeds for position in seed}
    sets = [
        *map(frozenset, seeds),
        *(frozenset((i,)) for i in range(len(chances)) if i not in seeded),
    ]

    def allowed(a: frozenset[int], b: frozenset[int]) -> bool:
        if any(set(seed) <= a for seed in seeds) and any(set(seed) <= b for seed in seeds):
            return False
        return not any(
            {x in a, y in a} == {x in b, y in b} == {True, False} for x, y in cannot_link
        )

    def logit(a: frozenset[int], b: frozenset[int]) -> float:
        return logit_of([chances[i, j] for i in a for j in b])

    while pairs := [(logit(a, b), a, b) for a, b in combinations(sets, 2) if allowed(a, b)]:
        best, one, other = max(pairs, key=lambda pair: pair[0])
        if best <= threshold:
            break
        sets = [s for s in sets if s not in (one, other)] + [one | other]
    return set(sets)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 12), st.floats(-3, 2), st.data())
def test_linkage_with_seeds_and_cannot_link_equals_the_naive_one(
    seed: int, count: int, threshold: float, data: st.DataObject
) -> None:
    chances = random_chances(seed, count)
    order = data.draw(st.permutations(range(count)))
    ends = sorted(data.draw(st.lists(st.integers(1, count), max_size=3, unique=True)))
    seeds = [order[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    owner = {position: number for number, members in enumerate(seeds) for position in members}
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda pair: (
            pair[0] != pair[1]
            and owner.get(pair[0], pair[0] + count) != owner.get(pair[1], pair[1] + count)
        )
    )
    cannot_link = (
        data.draw(st.lists(pairs, max_size=4)) if len(seeds) != 1 or ends[0] < count else []
    )
    linkage = Linkage(graph_of(chances), FUNCTION, seeds=seeds, cannot_link=cannot_link)
    linkage.merge(threshold)
    sets = {frozenset(members) for members in linkage.members if members}
    assert sets == naive_linkage(chances, threshold, seeds, cannot_link)
    assert all(linkage.set_of[m] == n for n, members in enumerate(linkage.members) for m in members)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 14), st.integers(1, 5))
def test_pairs_with_a_common_partner_are_found_in_blocks(seed: int, count: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(count, size=(2, 2 * count))
    left, right = unique_pairs([(one, other)], count)
    likely = rng.random(len(left)) < 0.6
    linked = {frozenset(p) for p in zip(left[likely].tolist(), right[likely].tolist(), strict=True)}
    candidates = set(zip(left.tolist(), right.tolist(), strict=True))
    expected = [
        (a, b)
        for a, b in combinations(range(count), 2)
        if (a, b) not in candidates
        and any({frozenset((a, c)), frozenset((c, b))} <= linked for c in range(count))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph, "STEPS", steps)
        one, other = two_step_pairs(left, right, likely, count)
    assert list(zip(one.tolist(), other.tolist(), strict=True)) == expected


def test_a_graph_that_would_fill_the_memory_is_refused() -> None:
    """All names are likely synonyms of one: 4.2 million pairs have a common partner."""
    for count in (2_890, 2_910):
        left, right = np.zeros(count - 1, np.int64), np.arange(1, count)
        likely = np.ones(count - 1, np.bool_)
        if count == 2_890:
            assert len(two_step_pairs(left, right, likely, count)[0]) == math.comb(count - 1, 2)
        else:
            with pytest.raises(DataError, match="nearly all names are likely synonyms"):
                two_step_pairs(left, right, likely, count)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.floats(0.05, 0.95))
def test_decisions_and_near_pairs_equal_the_naive_ones_in_blocks(
    seed: int, count: int, threshold: float
) -> None:
    chances = random_chances(seed, count)
    terms = tuple(Term(f"t{i:02}") for i in range(count))
    prepared = PreparedNames(terms, terms, graph_of(chances), FUNCTION)
    apart = [(terms[0], terms[1])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph, "ROWS", 3)
        mined = prepared.generate(threshold=threshold, cannot_link=apart)
        near = prepared.near_pairs(threshold, top=5)
    values = {
        (terms[i], terms[j]): sigmoid(logit_of([chances[i, j]]))
        for i, j in combinations(range(count), 2)
        if chances[i, j] > 0
    }
    nearest = sorted(values, key=lambda pair: (abs(values[pair] - threshold), pair))[:5]
    assert [(one, other) for one, other, _ in near] == nearest
    assert [value for *_, value in near] == pytest.approx([values[pair] for pair in nearest])
    members_of = dict(zip(mined.sets.ids, mined.sets, strict=True))
    for position, decision in enumerate(mined.trace):
        choices = _choices(position, members_of, chances, terms, apart)
        if decision.best_set is None:
            assert not choices
        else:
            assert decision.probability == pytest.approx(choices[decision.best_set])
            assert decision.probability == pytest.approx(max(choices.values()))


def _choices(
    position: int,
    members_of: dict[str, tuple[Term, ...]],
    chances: np.ndarray[Any, Any],
    terms: Sequence[Term],
    apart: Sequence[tuple[Term, Term]],
) -> dict[str, float]:
    """f for the term's own set, or for a single term of each other set that has a near pair."""
    term = terms[position]
    choices = {}
    for set_id, members in members_of.items():
        others = [terms.index(member) for member in members if member != term]
        value = logit_of([chances[position, other] for other in others])
        if term in members and others:
            return {set_id: sigmoid(value)}
        barred = any(term in pair and set(pair) & set(members) for pair in apart)
        near = any(chances[position, other] > 0 for other in others)
        if term not in members and near and not barred:
            choices[set_id] = sigmoid(value)
    return choices


@given(st.lists(st.lists(st.sampled_from([-np.inf, -1.0, 0.5, 2.0]), max_size=4), max_size=8))
def test_the_first_of_the_largest_values_of_each_row(rows: list[list[float]]) -> None:
    ends = np.cumsum([0, *map(len, rows)])
    values = np.array([value for row in rows for value in row], np.float64)
    places, largest = _first_largest(values, ends)
    for row, start, place, value in zip(rows, ends, places, largest, strict=False):
        assert value == max(row, default=-np.inf)
        assert place == (start + row.index(value) if value > -np.inf else -1)


NAMES = [
    f"{one} {other}"
    for one in ("heart", "Heart", "lung", "type 1", "acute", "left", "chronic", "severe")
    for other in ("failure", "failures", "disease", "diseases", "HF", "attack", "2", "of a cat")
]


def test_blocks_and_threads_change_no_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    general = load_general()
    whole = NameFeatures(NAMES, general.encoder, general.word_weights)
    left, right = whole.candidates()
    expected = whole.features(left, right)
    odds = general._compare(
        PairFeatures(len(NAMES), whole, general.classifier), None, left, right, None
    )
    monkeypatch.setattr(features, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(model, "PAIRS_AT_ONCE", 50)
    parts = NameFeatures(NAMES, general.encoder, general.word_weights, threads=3)
    assert all(map(np.array_equal, parts.candidates(), (left, right)))
    np.testing.assert_allclose(parts.features(left, right), expected, atol=1e-6)
    compared = general._compare(
        PairFeatures(len(NAMES), parts, general.classifier), None, left, right, None
    )
    np.testing.assert_allclose(compared, odds, atol=1e-4)


def test_the_graph_of_blocks_is_the_whole_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    odds = np.random.default_rng(5).uniform(-9, 12, (40, 40)).astype(np.float32)
    drawn = np.random.default_rng(0).integers(40, size=(2, 200))
    left, right = unique_pairs([(drawn[0], drawn[1])], 40)

    def compare(one: Any, other: Any, _: Any) -> Any:
        return odds[one, other]

    whole = pair_graph(40, left, right, compare)
    monkeypatch.setattr(graph, "ROWS", 3)
    assert (pair_graph(40, left, right, compare) != whole).nnz == 0
    assert (whole != whole.T).nnz == 0
    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        chance = sigmoid(float(odds[one, other]))
        assert whole[one, other] == pytest.approx(min(chance, MOST) if chance >= LEAST else 0)


def test_threads_find_the_same_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = unit_rows(np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32))
    known = np.ones(len(rows), np.bool_)
    for exact in (10_000, 100):
        monkeypatch.setattr(neighbours, "EXACT_ROWS", exact)
        one, several = (nearest_rows(rows, known, 5, threads=threads) for threads in (1, 3))
        assert all(map(np.array_equal, one, several))


def test_seeds_join_in_the_order_of_f() -> None:
    chances = np.zeros((4, 4))
    chances[0, 2] = chances[2, 0] = 0.98
    chances[1, 2] = chances[2, 1] = 0.99
    terms = tuple(map(Term, "abcd"))
    prepared = PreparedNames(terms, terms, graph_of(chances), FUNCTION)
    seeds = SynonymSets.of([[Term("a")], [Term("b")]], ["A", "B"])
    mined = prepared.generate(seeds=seeds)
    assert dict(zip(mined.sets.ids, mined.sets, strict=True))["B"] == (Term("b"), Term("c"))
