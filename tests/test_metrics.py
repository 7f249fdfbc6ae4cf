"""The metrics against scikit-learn, against naive references, and against sums done by hand."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn import metrics as sklearn_metrics

from synsetmine import metrics as matching
from synsetmine.errors import DataError
from synsetmine.metrics import compare_labels

Labelling = tuple[int, ...]

ALONE = (0, 1, 2, 3)
TOGETHER = (7, 7, 7, 7)
MIXED = (0, 0, 1, 2)
EDGE_CASES = [
    *((left, right) for left in (ALONE, TOGETHER, MIXED) for right in (ALONE, TOGETHER, MIXED)),
    ((0, 0, 1, 1), (0, 1, 0, 1)),  # independent
    ((0,), (5,)),
]

close = pytest.approx


def labellings(max_label: int, max_size: int = 40) -> st.SearchStrategy[tuple[Labelling, ...]]:
    """Two labellings of the same terms."""
    label = st.integers(-1, max_label - 1)
    pairs = st.lists(st.tuples(label, label), min_size=1, max_size=max_size)
    return pairs.map(lambda rows: tuple(zip(*rows, strict=True)))


# --- Against scikit-learn ---------------------------------------------------------------------


def assert_agrees_with_sklearn(predicted: Labelling, gold: Labelling) -> None:
    report = compare_labels(predicted, gold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many labels for few terms look like regression to it
        nmi = sklearn_metrics.normalized_mutual_info_score
        expected = {
            "ari": sklearn_metrics.adjusted_rand_score(gold, predicted),
            "fmi": sklearn_metrics.fowlkes_mallows_score(gold, predicted),
            "nmi": nmi(gold, predicted, average_method="geometric"),
            "nmi_arithmetic": nmi(gold, predicted, average_method="arithmetic"),
        }
        entropies = sklearn_metrics.homogeneity_completeness_v_measure(gold, predicted)
    expected |= zip(("homogeneity", "completeness", "v_measure"), entropies, strict=True)
    found = {name: value for name, value in report.to_dict().items() if name in expected}
    assert found == close(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize(("predicted", "gold"), EDGE_CASES)
def test_agrees_with_sklearn_in_edge_cases(predicted: Labelling, gold: Labelling) -> None:
    assert_agrees_with_sklearn(predicted, gold)


@settings(deadline=None)
@given(labellings(max_label=3) | labellings(max_label=30))
def test_agrees_with_sklearn(pair: tuple[Labelling, Labelling]) -> None:
    assert_agrees_with_sklearn(*pair)


def test_agrees_with_sklearn_on_many_terms() -> None:
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 3000, 20_000)
    predicted = np.where(rng.random(20_000) < 0.2, rng.integers(0, 3000, 20_000), gold)
    assert_agrees_with_sklearn(tuple(predicted.tolist()), tuple(gold.tolist()))


# --- Against naive references -----------------------------------------------------------------


def naive_pairs(predicted: Labelling, gold: Labelling) -> tuple[float, float, float]:
    """Precision, recall and F1 over all pairs of terms."""
    pairs = list(combinations(range(len(gold)), 2))
    found = {(a, b) for a, b in pairs if predicted[a] == predicted[b]}
    wanted = {(a, b) for a, b in pairs if gold[a] == gold[b]}
    if not found and not wanted:
        return 1.0, 1.0, 1.0
    precision = len(found & wanted) / len(found) if found else 0.0
    recall = len(found & wanted) / len(wanted) if wanted else 0.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def sets_of(labels: Labelling) -> list[set[int]]:
    return [{i for i, x in enumerate(labels) if x == label} for label in sorted(set(labels))]


def naive_bcubed(predicted: Labelling, gold: Labelling) -> tuple[float, float]:
    """Precision and recall, term by term."""
    precision = recall = 0.0
    for term in range(len(gold)):
        found = next(s for s in sets_of(predicted) if term in s)
        wanted = next(s for s in sets_of(gold) if term in s)
        precision += len(found & wanted) / len(found)
        recall += len(found & wanted) / len(wanted)
    return precision / len(gold), recall / len(gold)


def naive_matching(predicted: Labelling, gold: Labelling) -> float:
    """The best of all ways to give each set of the shorter list a set of the longer one."""
    short, long = sorted([sets_of(predicted), sets_of(gold)], key=len)
    totals = [
        sum(len(a & b) / len(a | b) for a, b in zip(short, chosen, strict=True))
        for chosen in permutations(long, len(short))
    ]
    return max(totals) / len(long)


@settings(deadline=None)
@given(labellings(max_label=3) | labellings(max_label=20))
def test_pairs_bcubed_and_exact_sets_agree_with_the_naive_ones(
    pair: tuple[Labelling, Labelling],
) -> None:
    report = compare_labels(*pair)
    found = (report.pair_precision, report.pair_recall, report.pair_f1)
    assert found == close(naive_pairs(*pair))
    precision, recall = naive_bcubed(*pair)
    assert (report.bcubed_precision, report.bcubed_recall) == close((precision, recall))
    assert report.bcubed_f1 == close(2 * precision * recall / (precision + recall))
    predicted, gold = map(sets_of, pair)
    assert report.exact_sets == sum(s in gold for s in predicted)
    assert (report.predicted_sets, report.gold_sets) == (len(predicted), len(gold))
    assert report.terms == len(pair[0])


@pytest.mark.parametrize(("predicted", "gold"), EDGE_CASES)
def test_matching_agrees_with_the_naive_one_in_edge_cases(
    predicted: Labelling, gold: Labelling
) -> None:
    assert compare_labels(predicted, gold).matching_jaccard == close(
        naive_matching(predicted, gold)
    )


@settings(deadline=None)
@given(labellings(max_label=5, max_size=15))
def test_matching_agrees_with_the_naive_one(pair: tuple[Labelling, Labelling]) -> None:
    assert compare_labels(*pair).matching_jaccard == close(naive_matching(*pair))


@pytest.mark.parametrize(("predicted_sets", "gold_sets"), [(150, 150), (40, 200), (200, 40)])
@pytest.mark.parametrize("noise", [0.3, 0.6, 1.0])
def test_matching_agrees_with_one_dense_assignment(
    predicted_sets: int, gold_sets: int, noise: float
) -> None:
    rng = np.random.default_rng(7)
    gold = rng.integers(0, gold_sets, 800)
    other = rng.integers(0, predicted_sets, 800)
    predicted = np.where(rng.random(800) < noise, other, gold % predicted_sets)

    table = sklearn_metrics.cluster.contingency_matrix(predicted, gold)
    sizes = table.sum(axis=1, keepdims=True) + table.sum(axis=0, keepdims=True)
    jaccard = table / (sizes - table)
    total = jaccard[linear_sum_assignment(jaccard, maximize=True)].sum()
    found = compare_labels(predicted, gold).matching_jaccard
    assert found == close(total / max(table.shape), rel=1e-10)


def test_matching_of_one_long_chain() -> None:
    # {0,1} {2,3} … {1998,1999} against {0} {1,2} … {1999}: all 1000 predicted sets get a partner,
    # two of them a single term (Jaccard 1/2), the others a set they share one term with (1/3).
    terms = np.arange(2000)
    report = compare_labels(terms // 2, (terms + 1) // 2)
    assert report.matching_jaccard == close((2 / 2 + 998 / 3) / 1001)


@pytest.mark.parametrize(
    ("predicted", "gold"), [(ALONE, ALONE), (ALONE, TOGETHER), (TOGETHER, ALONE), (MIXED, ALONE)]
)
def test_plain_cases_need_no_solver(
    predicted: Labelling, gold: Labelling, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A call for each of a million sets would take minutes.
    monkeypatch.delattr(matching, "_match")
    assert compare_labels(predicted, gold).matching_jaccard == naive_matching(predicted, gold)


# --- By hand ----------------------------------------------------------------------------------


def test_two_sets_that_trade_a_term() -> None:
    # Predicted {a b c} {d e}, gold {a b} {c d e}: overlaps 2, 1, 2.
    report = compare_labels([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    # Pairs: predicted 3 + 1, gold 1 + 3, both 1 + 0 + 1, of 10 in all.
    assert (report.pair_precision, report.pair_recall, report.pair_f1) == (2 / 4, 2 / 4, 2 / 4)
    assert report.fmi == close(math.sqrt(2 / 4 * 2 / 4))
    # By chance 4·4/10 = 1.6 pairs agree: (2 - 1.6) / (4 - 1.6).
    assert report.ari == close(1 / 6)
    # a, b: 2 of 3; c: 1 of 3; d, e: 2 of 2. The same mirrored for recall.
    bcubed = (2 / 3 + 2 / 3 + 1 / 3 + 1 + 1) / 5
    assert report.bcubed_precision == close(bcubed)
    assert report.bcubed_recall == close(bcubed)
    # {a b c} with {a b} and {d e} with {c d e}: 2/3 each.
    assert report.matching_jaccard == close((2 / 3 + 2 / 3) / 2)
    # Gold has the entropy of (2/5, 3/5); 3 terms of 5 are in a set mixed (2/3, 1/3).
    entropy = -(0.4 * math.log(0.4) + 0.6 * math.log(0.6))
    mixture = 0.6 * -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    assert report.homogeneity == close(1 - mixture / entropy)
    assert report.exact_sets == 0


def test_a_gold_set_torn_apart() -> None:
    # Predicted {a b} {c} {d}, gold {a b c d}.
    report = compare_labels([0, 0, 1, 2], [0, 0, 0, 0])
    # 1 predicted pair, which is one of the 6 gold pairs.
    assert (report.pair_precision, report.pair_recall) == close((1, 1 / 6))
    assert report.pair_f1 == close(2 * 1 / (1 + 6))
    assert report.fmi == close(math.sqrt(1 / 6))
    # By chance 1·6/6 = 1 pair agrees, and 1 does.
    assert report.ari == 0
    assert (report.homogeneity, report.completeness, report.nmi) == (1, 0, 0)
    # a, b have 2 of 4 of their gold set; c, d have 1 of 4.
    assert report.bcubed_precision == 1
    assert report.bcubed_recall == close((2 / 4 + 2 / 4 + 1 / 4 + 1 / 4) / 4)
    # The gold set goes to {a b}, Jaccard 2/4; the other two of three sets stay unmatched.
    assert report.matching_jaccard == close(2 / 4 / 3)


def test_greedy_matching_would_be_worse() -> None:
    # Predicted P = {0…5}, Q = {6 7}; gold G = {2…7}, H = {0 1}.
    # P-G = 4/8, P-H = 2/6, Q-G = 2/6: the heaviest edge alone is 1/2, the other two are 2/3.
    report = compare_labels([0, 0, 0, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 0, 0, 0])
    assert report.matching_jaccard == close((2 / 6 + 2 / 6) / 2)


def test_nothing_to_pair_counts_as_right_only_if_both_agree() -> None:
    agreed = compare_labels(ALONE, ALONE)
    assert (agreed.pair_precision, agreed.pair_recall, agreed.pair_f1) == (1, 1, 1)
    assert (agreed.ari, agreed.fmi, agreed.exact_sets) == (1, 0, 4)
    for report in (compare_labels(ALONE, TOGETHER), compare_labels(TOGETHER, ALONE)):
        assert (report.pair_precision, report.pair_recall, report.pair_f1) == (0, 0, 0)


def test_pair_counts_of_a_million_terms_stay_exact() -> None:
    n = 1_000_000
    report = compare_labels(np.arange(n) % 2, np.zeros(n, dtype=np.int8))
    # 2 · (n/2)(n/2 - 1)/2 of n(n - 1)/2 pairs.
    assert report.pair_recall == close((n / 2 - 1) / (n - 1), rel=1e-15)
    assert report.fmi == close(math.sqrt((n / 2 - 1) / (n - 1)), rel=1e-15)
    assert report.ari == 0


# --- Properties -------------------------------------------------------------------------------


@settings(deadline=None)
@given(labellings(max_label=8), st.integers(0, 2**32))
def test_neither_names_nor_order_matter(pair: tuple[Labelling, Labelling], seed: int) -> None:
    predicted, gold = pair
    order = np.random.default_rng(seed).permutation(len(gold))
    renamed = [1000 - 7 * predicted[i] for i in order]
    shuffled = [gold[i] for i in order]
    expected = compare_labels(predicted, gold).to_dict()
    assert compare_labels(renamed, shuffled).to_dict() == close(expected, abs=1e-12)


@settings(deadline=None)
@given(labellings(max_label=8))
def test_prediction_and_gold_mirror_each_other(pair: tuple[Labelling, Labelling]) -> None:
    report, mirrored = compare_labels(*pair), compare_labels(*pair[::-1])
    for one, other in [
        ("pair_precision", "pair_recall"),
        ("bcubed_precision", "bcubed_recall"),
        ("homogeneity", "completeness"),
        *((name, name) for name in ("ari", "fmi", "nmi", "exact_sets", "matching_jaccard")),
    ]:
        assert getattr(report, one) == close(getattr(mirrored, other), abs=1e-12)


@settings(deadline=None)
@given(labellings(max_label=20))
def test_scores_are_fractions_and_perfect_for_gold_itself(
    pair: tuple[Labelling, Labelling],
) -> None:
    scores = {k: v for k, v in compare_labels(*pair).to_dict().items() if isinstance(v, float)}
    assert -1 <= scores.pop("ari") <= 1
    assert all(0 <= value <= 1 for value in scores.values())
    perfect = compare_labels(pair[1], pair[1])
    assert perfect.exact_sets == perfect.gold_sets == perfect.predicted_sets
    shared_pairs = perfect.gold_sets < perfect.terms
    floats = {k: v for k, v in perfect.to_dict().items() if isinstance(v, float)}
    assert floats.pop("fmi") == shared_pairs
    assert set(floats.values()) == {1.0}


# --- Broken labels ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "gold", "problem"),
    [
        ([], [], "nothing to compare"),
        ([0, 1], [0], r"equal length.*\(2,\) and \(1,\)"),
        ([[0], [1]], [[0], [1]], "equal length"),
        ([0.5, 1.0], [0, 1], r"must be integers: 0\.5"),
    ],
)
def test_broken_labels_are_named(
    predicted: Sequence[int], gold: Sequence[int], problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        compare_labels(predicted, gold)
