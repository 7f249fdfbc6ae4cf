"""Terms, partitions and walking orders."""

from __future__ import annotations

import dataclasses
import pickle
from collections import Counter
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.types import Order, SynonymSets, Term, order_terms
from tests.support.strategies import PIECES, synonym_sets, term_lists, terms

A, B, C, D = (Term(name) for name in "abcd")
SETS = SynonymSets.of([[A, B], [C], [D]], ids=["ab", "c", "d"])

quick = settings(max_examples=60, deadline=None)


def numbered_sets(count: int, size: int = 2) -> SynonymSets:
    return SynonymSets.of([Term(f"{i}-{j}") for j in range(size)] for i in range(count))


# --- Terms ------------------------------------------------------------------------------------


@given(terms())
@settings(max_examples=300, deadline=None)
def test_a_term_is_read_back_from_its_text(term: Term) -> None:
    assert Term.parse(str(term)) == term


@given(st.lists(st.sampled_from(("|", "||", "a", " ")), min_size=1, max_size=9).map("".join))
def test_any_text_is_a_term_that_writes_back_the_same_term_or_refused(text: str) -> None:
    try:
        term = Term.parse(text)
    except DataError:
        assert text.startswith("||")
    else:
        assert Term.parse(str(term)) == term


@pytest.mark.parametrize(
    ("text", "surface", "sense"),
    [
        ("washington", "washington", ""),
        ("washington||m.0rh6k", "washington", "m.0rh6k"),
        ("a||b||m.01", "a||b", "m.01"),
        ("a||", "a", ""),
        ("a||||", "a||", ""),
        ("a|||m.01", "a|", "m.01"),
        ("a|b", "a|b", ""),
        (" ", " ", ""),
    ],
)
def test_the_last_mark_divides_surface_and_sense(text: str, surface: str, sense: str) -> None:
    assert Term.parse(text) == Term(surface, sense)


def test_two_senses_of_one_surface_are_two_terms() -> None:
    city, state = Term("washington", "m.0rh6k"), Term("washington", "m.081yw")
    assert city != state
    assert len({city, state, Term("washington")}) == 3
    sets = SynonymSets.of([[city], [state]])
    assert sets.labels([state, city]) == [1, 0]


@pytest.mark.parametrize("text", ["", "||m.01", "||"])
def test_an_empty_surface_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="needs a surface"):
        Term.parse(text)


@pytest.mark.parametrize("sense", ["||", "a||b", "|", "|a"])
def test_a_sense_that_would_not_read_back_is_refused(sense: str) -> None:
    with pytest.raises(DataError, match="sense") as caught:
        Term("a", sense)
    assert repr(sense) in str(caught.value)


@pytest.mark.parametrize(("surface", "sense"), [("a\ud800", ""), ("a", "\udcff")])
def test_a_term_that_no_file_can_hold_is_refused(surface: str, sense: str) -> None:
    with pytest.raises(DataError, match=r"Unicode.*\\ud"):
        Term(surface, sense)


def test_a_term_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        A.surface = "b"  # type: ignore[misc]


# --- Partitions -------------------------------------------------------------------------------


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(DataError, match="at least one term: 'c1'"):
        SynonymSets.of([[A], []])


@pytest.mark.parametrize("sets", [[[A, B], [C, B]], [[A, B, B]]])
def test_a_repeated_term_is_refused(sets: list[list[Term]]) -> None:
    with pytest.raises(DataError, match="only once in a partition: 'b'"):
        SynonymSets.of(sets)


def test_a_repeated_id_is_refused() -> None:
    with pytest.raises(DataError, match="share an id: 'x'"):
        SynonymSets.of([[A], [B], [C]], ids=["y", "x", "x"])


@pytest.mark.parametrize("ids", [[], ["x"], ["x", "y", "z"]])
def test_unequal_numbers_are_refused(ids: list[str]) -> None:
    with pytest.raises(DataError, match=f"2 sets but {len(ids)} ids"):
        SynonymSets.of([[A], [B]], ids=ids)


def test_a_partition_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SETS.sets = ()  # type: ignore[misc]
    given_sets = [[A], [B]]
    sets = SynonymSets.of(given_sets)
    given_sets[0].append(C)
    given_sets.append([D])
    assert sets.sets == ((A,), (B,))
    assert C not in sets


@given(synonym_sets())
@quick
def test_a_partition_knows_where_its_terms_are(sets: SynonymSets) -> None:
    for label, members in enumerate(sets):
        for term in members:
            assert term in sets
            assert sets.label_of(term) == label
            assert sets.set_of(term) == members
    assert sets.terms == tuple(term for members in sets.sets for term in members)
    assert sets.sizes == tuple(len(members) for members in sets.sets)
    assert SynonymSets.from_labels(sets.terms, sets.labels(sets.terms)).sets == sets.sets
    assert pickle.loads(pickle.dumps(sets)) == sets


def test_a_stranger_is_in_no_set() -> None:
    stranger = Term("a", "other sense")
    assert stranger not in SETS
    for ask in (SETS.label_of, SETS.set_of):
        with pytest.raises(DataError, match=r"no set contains this term: 'a\|\|other sense'"):
            ask(stranger)
    with pytest.raises(DataError, match="other sense"):
        SETS.labels([A, stranger])


@given(st.data())
@quick
def test_restricted_sets_keep_ids_and_order(data: st.DataObject) -> None:
    sets = data.draw(synonym_sets())
    keep = set(data.draw(st.lists(st.sampled_from(sets.terms)))) | {Term("stranger", "*")}
    found = sets.restrict(keep)
    assert found.terms == tuple(term for term in sets.terms if term in keep)
    for set_id, members in zip(found.ids, found.sets, strict=True):
        whole = sets.sets[sets.ids.index(set_id)]
        assert members == tuple(term for term in whole if term in keep)


def test_restricted_to_nothing_is_empty() -> None:
    assert len(SETS.restrict([])) == 0


def test_labels_group_terms_in_the_order_of_their_first_term() -> None:
    sets = SynonymSets.from_labels([A, B, C, D], [7, -1, 7, 0])
    assert sets.sets == ((A, C), (B,), (D,))
    assert sets.ids == ("c0", "c1", "c2")
    with pytest.raises(DataError, match="2 terms but 1 label"):
        SynonymSets.from_labels([A, B], [0])


@given(st.data())
@quick
def test_partitions_are_equal_in_any_order_and_under_any_ids(data: st.DataObject) -> None:
    sets = data.draw(synonym_sets())
    shuffled = data.draw(st.permutations([data.draw(st.permutations(s)) for s in sets]))
    assert SynonymSets.of(shuffled).partition == sets.partition


def test_partitions_that_differ_in_one_term_are_not_equal() -> None:
    assert SynonymSets.of([[A, B], [C]]).partition != SynonymSets.of([[A], [B, C]]).partition
    assert SynonymSets.of([[A, B]]).partition != SynonymSets.of([[A], [B]]).partition


# --- Splits and folds -------------------------------------------------------------------------


def assert_divides(sets: SynonymSets, *parts: SynonymSets) -> None:
    """Whole sets, each in exactly one part under its own id and in the order of the original."""
    named = dict(zip(sets.ids, sets.sets, strict=True))
    assert Counter(i for part in parts for i in part.ids) == Counter(sets.ids)
    for part in parts:
        assert [named[i] for i in part.ids] == list(part.sets)
        assert sorted(part.ids, key=sets.ids.index) == list(part.ids)
    assert sum(len(part.terms) for part in parts) == len({t for p in parts for t in p.terms})


@given(
    st.integers(2, 30),
    st.floats(0, 1, exclude_min=True, exclude_max=True),
    st.integers(0, 2**32),
)
@example(2, 0.99, 0)
@example(30, 0.001, 0)
@quick
def test_a_split_divides_by_entity(count: int, fraction: float, seed: int) -> None:
    sets = numbered_sets(count)
    rest, held_out = sets.split(fraction, seed=seed)
    assert_divides(sets, rest, held_out)
    assert len(rest) >= 1
    assert len(held_out) == min(max(round(count * fraction), 1), count - 1)
    assert sets.split(fraction, seed=seed) == (rest, held_out)


@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 2**32))
@quick
def test_folds_hold_out_every_entity_once(count: int, k: int, seed: int) -> None:
    k = min(k, count)
    sets = numbered_sets(count)
    folds = sets.folds(k, seed=seed)
    assert len(folds) == k
    for training, held_out in folds:
        assert_divides(sets, training, held_out)
        assert count // k <= len(held_out) <= -(-count // k)
    assert Counter(i for _, held in folds for i in held.ids) == Counter(sets.ids)
    assert sets.folds(k, seed=seed) == folds


def test_another_seed_divides_otherwise() -> None:
    sets = numbered_sets(40)
    splits = {sets.split(0.25, seed=seed)[1].ids for seed in range(10)}
    folds = {tuple(held.ids for _, held in sets.folds(4, seed=seed)) for seed in range(10)}
    assert len(splits) == len(folds) == 10


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, float("nan"), float("inf")])
def test_a_bad_fraction_is_refused(fraction: float) -> None:
    with pytest.raises(DataError, match=rf"between 0 and 1: {fraction}"):
        SETS.split(fraction, seed=0)


@pytest.mark.parametrize("k", [-1, 0, 1, 4])
def test_a_bad_number_of_folds_is_refused(k: int) -> None:
    with pytest.raises(DataError, match=rf"between 2 and 3: {k}"):
        SETS.folds(k, seed=0)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_sets_cannot_be_divided(count: int) -> None:
    with pytest.raises(DataError, match=f"fewer than two sets: {count}"):
        numbered_sets(count).split(0.5, seed=0)
    with pytest.raises(DataError, match="folds"):
        numbered_sets(count).folds(2, seed=0)


# --- Walking orders ---------------------------------------------------------------------------


@given(term_lists(8), st.integers(0, 2**32))
@quick
def test_a_random_order_is_a_permutation_fixed_by_its_seed(walk: list[Term], seed: int) -> None:
    before = list(walk)
    assert order_terms(walk) == walk
    found = order_terms(walk, "random", seed=seed)
    assert sorted(found) == sorted(walk)
    assert found == order_terms(iter(walk), "random", seed=seed)
    assert walk == before


def test_another_seed_gives_another_order() -> None:
    walk = [Term(piece) for piece in PIECES]
    assert len({tuple(order_terms(walk, "random", seed=seed)) for seed in range(10)}) == 10


def test_the_frequent_come_first_and_equals_keep_their_order() -> None:
    counts = {A: 1, B: 5, D: 5}  # C has none: it was never seen
    assert order_terms([C, A, D, B], "frequent", counts=counts) == [D, B, A, C]
    assert order_terms([C, A, B, D], "frequent", counts=counts) == [B, D, A, C]


def test_the_frequent_order_needs_counts() -> None:
    with pytest.raises(DataError, match="needs term counts"):
        order_terms([A], "frequent")


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(DataError, match="'given', 'frequent' or 'random': 'alphabetic'"):
        order_terms([A], cast(Order, "alphabetic"))
