"""SVM+Louvain: features and distances of pairs, and the edges above the bar."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from synsetmine.rivals import pairs as svm_module
from synsetmine.rivals.base import Floats, TrainingData
from synsetmine.rivals.pairs import LearnedSvm, SvmLouvain, pair_features, training_pairs
from synsetmine.views import unit_rows
from tests.support.pairworlds import easy_world, some_rows


def test_pair_features() -> None:
    left, right = some_rows(6, 3, 0), some_rows(6, 3, 1)
    features = pair_features(left, right)
    for a, b, row in zip(left, right, features, strict=True):
        np.testing.assert_allclose(row, [*abs(a - b), *(a * b), a @ b], atol=1e-6)
    np.testing.assert_array_equal(
        pair_features(left[0], right)[1], pair_features(left[:1], right)[1]
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_distances_are_those_of_scikit_learn(kernel: str) -> None:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    training, _, views = easy_world(0)
    learned = SvmLouvain(kernel=kernel, C=0.1).fit(  # type: ignore[arg-type]
        TrainingData(training=training, views=views, size=50, seed=5)
    )
    unit = unit_rows(views.table("vectors").select(training.terms))
    drawn = training_pairs(training, [unit], seed=5)
    features = pair_features(unit[drawn.left], unit[drawn.right])
    scaled = StandardScaler().fit_transform(features)
    if kernel == "rbf":
        centres = Nystroem(n_components=300, random_state=5).fit(np.unique(scaled, axis=0))
        scaled = centres.transform(scaled)
    svm = LinearSVC(C=0.1, dual=False).fit(scaled, drawn.same)
    expected = svm.decision_function(scaled)
    np.testing.assert_allclose(learned.distance(features), expected, atol=1e-4)


@pytest.mark.parametrize("values", [1 << 22, 300])
def test_edges_are_the_pairs_above_the_bar(values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm_module, "VALUES", values)
    monkeypatch.setattr(svm_module, "BATCH", 7)
    learned, unit = cosine_svm(30)
    edges, margins = learned.edges(unit, 0.3)
    expected = {
        (i, j): float(unit[i] @ unit[j])
        for i, j in combinations(range(30), 2)
        if unit[i] @ unit[j] > 0.3
    }
    assert list(map(tuple, edges.tolist())) == sorted(expected)
    np.testing.assert_allclose(margins, [expected[key] for key in sorted(expected)], atol=1e-5)
    assert edges.dtype == np.int64


def test_of_too_many_edges_the_most_certain_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm_module, "EDGES", 2)
    monkeypatch.setattr(svm_module, "BATCH", 3)
    learned, unit = cosine_svm(30)
    edges, margins = learned.edges(unit, -1.0)
    assert len(edges) == 60
    cosines = (unit @ unit.T)[np.triu_indices(30, 1)]
    np.testing.assert_allclose(np.sort(margins), np.sort(cosines)[-60:], atol=1e-5)


def cosine_svm(count: int) -> tuple[LearnedSvm, Floats]:
    """One whose distance is the cosine."""
    from sklearn.svm import LinearSVC

    svm = LinearSVC()
    svm.classes_, svm.coef_, svm.intercept_ = np.arange(2), np.eye(11)[-1:], np.zeros(1)
    learned = LearnedSvm(svm)
    return learned, some_rows(count)


def test_the_default_is_the_border_itself() -> None:
    assert SvmLouvain().choices[0] == {"bar": 0.0}
