"""Evaluation of synonym sets, with terms that only one side knows, and of set instances."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from synsetmine.errors import DataError
from synsetmine.metrics import ClusterReport, compare_labels, evaluate
from synsetmine.types import SynonymSets, Term

close = pytest.approx


# --- Synonym sets, with terms that only one side knows ----------------------------------------


def synonym_sets(*sets: str) -> SynonymSets:
    return SynonymSets.of([[Term(letter) for letter in letters] for letters in sets])


def test_missing_terms_stand_alone_and_unknown_ones_are_left_out() -> None:
    # Compared: ab, d, and the missing c and e alone; x and y are unknown to gold.
    report = evaluate(synonym_sets("abx", "d", "y"), synonym_sets("ab", "c", "de"))
    assert (report.ignored_terms, report.missing_terms, report.terms) == (2, 2, 5)
    assert (report.predicted_sets, report.gold_sets) == (4, 3)
    assert report.exact_sets == 2  # ab and c
    assert (report.pair_precision, report.pair_recall) == (1, 1 / 2)


def test_a_prediction_without_any_gold_term() -> None:
    report = evaluate(synonym_sets("xyz"), synonym_sets("ab"))
    assert (report.ignored_terms, report.missing_terms) == (3, 2)
    assert report.pair_recall == 0


def test_evaluate_agrees_with_the_labels() -> None:
    terms = [Term(f"t{i}") for i in range(6)]
    predicted, gold = [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2]
    sets = [SynonymSets.from_labels(terms, labels) for labels in (predicted, gold)]
    assert evaluate(*sets) == compare_labels(predicted, gold)


def test_senses_keep_terms_apart() -> None:
    gold = SynonymSets.of([[Term("jaguar", "cat"), Term("panthera onca")], [Term("jaguar", "car")]])
    report = evaluate(gold, gold)
    assert (report.terms, report.exact_sets) == (3, 2)


def test_the_report_is_ready_for_json() -> None:
    report = evaluate(synonym_sets("ab", "cx"), synonym_sets("a", "bc", "d"))
    values = report.to_dict()
    assert {type(value) for value in values.values()} == {int, float}
    assert ClusterReport(**json.loads(json.dumps(values))) == report


def test_gold_without_terms() -> None:
    with pytest.raises(DataError, match="nothing to compare"):
        evaluate(synonym_sets("ab"), synonym_sets())


# --- Terms that stray into sets of other entities ---------------------------------------------


def test_a_stray_into_a_known_set_costs_precision() -> None:
    gold, known = synonym_sets("ab", "cd"), synonym_sets("kl", "m")
    mined = synonym_sets("ab", "ckl", "d", "mx")
    blind = evaluate(mined, gold)
    report = evaluate(mined, gold, known=known)
    assert (blind.pair_precision, blind.strayed_terms, blind.ignored_terms) == (1, 0, 4)
    # The known set kl is one item: of the pairs ab and c-kl one is right.
    assert (report.pair_precision, report.pair_recall) == (1 / 2, 1 / 2)
    assert (report.strayed_terms, report.ignored_terms) == (1, 1)
    assert (report.terms, report.gold_sets, report.exact_sets) == (4, 2, 1)
    assert report.ari < blind.ari


def test_a_known_set_counts_once_and_only_where_gold_terms_are() -> None:
    gold = synonym_sets("ab")
    for known in ("k", "kl", "klm"):
        report = evaluate(synonym_sets(f"a{known}", "b"), gold, known=synonym_sets(known, "n"))
        assert report.pair_precision == 0
        assert report.bcubed_precision == close(2 / 3)
    assert evaluate(synonym_sets("ab", "klm", "n"), gold, known=synonym_sets("klm", "n")) == (
        evaluate(synonym_sets("ab"), gold)
    )


KINDS = {"gold": "abcdef", "known": "klmno", "unknown": "xyz"}


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, dict[Term, int]]:
    """The set number of each term: as mined, and as it is, for gold and for known terms."""

    def numbers(letters: str) -> dict[Term, int]:
        return {Term(letter): draw(st.integers(0, 4)) for letter in letters}

    mined = numbers("".join(KINDS.values()))
    return {"mined": mined, "gold": numbers(KINDS["gold"]), "known": numbers(KINDS["known"])}


def partition(numbers: dict[Term, int]) -> SynonymSets:
    return SynonymSets.from_labels(list(numbers), list(numbers.values()))


def naive_items(world: dict[str, dict[Term, int]]) -> list[tuple[int, object]]:
    """(mined set, true set) of each gold term, and of each known set beside a gold term."""
    mined, gold, known = world["mined"], world["gold"], world["known"]
    beside = {(mined[k], known[k]) for k in known if mined[k] in {mined[g] for g in gold}}
    return [
        *((mined[term], ("gold", gold[term])) for term in gold),
        *((at, ("known", at, entity)) for at, entity in sorted(beside)),
    ]


@settings(deadline=None)
@given(worlds())
def test_strays_agree_with_a_naive_count_and_scikit_learn(
    world: dict[str, dict[Term, int]],
) -> None:
    report = evaluate(
        *(partition(world[n]) for n in ("mined", "gold")), known=partition(world["known"])
    )
    items = naive_items(world)
    pairs = list(combinations(items, 2))
    together = [(one, other) for one, other in pairs if one[0] == other[0]]
    right = [(one, other) for one, other in together if one[1] == other[1]]
    synonyms = [(one, other) for one, other in pairs if one[1] == other[1]]
    if right:
        assert report.pair_precision == close(len(right) / len(together))
        assert report.pair_recall == close(len(right) / len(synonyms))
    true = [sorted({t for _, t in items}, key=str).index(t) for _, t in items]
    assert report.ari == close(sklearn_metrics.adjusted_rand_score(true, [m for m, _ in items]))
    mined = world["mined"]
    strayed = [g for g in world["gold"] if any(mined[g] == mined[k] for k in world["known"])]
    assert report.strayed_terms == len(strayed)
    unknown = [mined[Term(letter)] for letter in KINDS["unknown"]]
    assert report.ignored_terms == len(unknown)
    assert report.terms_beside_ignored == sum(mined[g] in unknown for g in world["gold"])


@settings(deadline=None)
@given(worlds())
def test_unknown_terms_change_no_measure(world: dict[str, dict[Term, int]]) -> None:
    gold, known = partition(world["gold"]), partition(world["known"])
    mined = partition(world["mined"])
    less = mined.restrict([*gold.terms, *known.terms])
    changes = {"ignored_terms": 0, "terms_beside_ignored": 0}
    assert replace(evaluate(mined, gold, known=known), **changes) == evaluate(
        less, gold, known=known
    )
