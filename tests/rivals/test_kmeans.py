"""k-means, told the number of sets."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from synsetmine.io.sets import read_sets
from synsetmine.metrics import compare_labels
from synsetmine.rivals.base import ClusteringTask, Labels, Method, TrainingData
from synsetmine.rivals.linkage import KMeans
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, read_vectors
from tests.support.worlds import make_world

quick = settings(max_examples=40, deadline=None)

Rows = npt.NDArray[np.float32]


def small_rows() -> st.SearchStrategy[Rows]:
    """Points on a small grid: many are equal, some are all zero."""
    shapes = st.tuples(st.integers(1, 8), st.integers(1, 3))
    return arrays.arrays(np.float32, shapes, elements=st.integers(-2, 2).map(float))


def task_of(rows: Rows, sets: int, *, seed: int = 0) -> ClusteringTask:
    terms = tuple(Term(f"t{i}") for i in range(len(rows)))
    return ClusteringTask(
        terms=terms, views=TermViews((TermVectors(terms, rows),)), k=sets, seed=seed
    )


def labels_of(rows: Rows, sets: int, *, unit: bool = False, seed: int = 0) -> Labels:
    (labels,) = KMeans(unit=unit).cluster(task_of(rows, sets, seed=seed), [{}])
    assert labels.dtype == np.int64
    assert labels.shape == (len(rows),)
    return labels


def partition(labels: Labels) -> frozenset[frozenset[int]]:
    return frozenset(
        frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)
    )


def test_what_the_method_says_of_itself() -> None:
    method: Method = KMeans()
    assert method.needs == {"vectors"}
    assert method.needs_k
    assert method.depends_on_order
    assert list(method.choices) == [{}]
    assert len({KMeans(), KMeans(unit=True), KMeans()}) == 2


def test_far_apart_sets_are_found() -> None:
    sets, vectors = make_world(entities=8, noise=0.01)
    views = TermViews((vectors,))
    method = KMeans().fit(TrainingData(training=sets, views=views, size=20))
    for seed in range(3):
        task = ClusteringTask(terms=sets.terms, views=views, k=len(sets), seed=seed)
        (labels,) = method.cluster(task, method.choices)
        assert SynonymSets.from_labels(sets.terms, labels.tolist()).partition == sets.partition


@given(small_rows(), st.integers(1, 10))
@quick
def test_there_are_as_many_clusters_as_given_or_as_points_differ(rows: Rows, sets: int) -> None:
    points = list(map(tuple, rows.tolist()))
    labels = labels_of(rows, sets)
    assert len(set(labels.tolist())) == min(sets, len(set(points)))
    for i, point in enumerate(points):
        assert labels[i] == labels[points.index(point)]


@given(st.integers(0, 2**32), st.integers(2, 30), st.data())
@quick
def test_every_term_is_with_the_nearest_mean(seed: int, size: int, data: st.DataObject) -> None:
    rows = np.random.default_rng(seed).normal(size=(size, 3)).astype(np.float32)
    labels = labels_of(rows, data.draw(st.integers(1, size)))
    means = {c: rows[labels == c].mean(axis=0) for c in labels.tolist()}
    for row, label in zip(rows, labels.tolist(), strict=True):
        nearest = min(float(np.linalg.norm(row - mean)) for mean in means.values())
        # It stops where centres hardly move, which need not be where they stand still.
        assert np.linalg.norm(row - means[label]) <= nearest + 0.05


@given(small_rows(), st.integers(1, 8), st.integers(0, 5), st.booleans())
@quick
def test_the_same_seed_gives_the_same_labels(rows: Rows, sets: int, seed: int, unit: bool) -> None:
    first = labels_of(rows, sets, unit=unit, seed=seed)
    assert np.array_equal(first, labels_of(rows, sets, unit=unit, seed=seed))


def test_another_seed_may_give_other_labels() -> None:
    rows = np.random.default_rng(0).normal(size=(100, 5)).astype(np.float32)
    assert len({partition(labels_of(rows, 20, seed=seed)) for seed in range(5)}) > 1


@given(small_rows(), st.integers(1, 8), st.data())
@quick
def test_unit_vectors_have_no_length(rows: Rows, sets: int, data: st.DataObject) -> None:
    exponents = data.draw(arrays.arrays(np.int32, (len(rows), 1), elements=st.integers(-9, 9)))
    longer = np.ldexp(rows, exponents)  # by powers of two nothing is rounded
    assert np.array_equal(labels_of(rows, sets, unit=True), labels_of(longer, sets, unit=True))


def test_length_matters_unless_set_otherwise() -> None:
    rows = np.array([[1, 0], [9, 0], [0, 1], [0, 9]], np.float32)
    assert partition(labels_of(rows, 2, unit=True)) == {frozenset({0, 1}), frozenset({2, 3})}
    assert partition(labels_of(rows, 3)) == {frozenset({0, 2}), frozenset({1}), frozenset({3})}


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(
    ("rows", "sets", "expected"),
    [
        pytest.param([[0.5, 1]], 1, 1, id="one term"),
        pytest.param([[0, 0]], 1, 1, id="one term without a direction"),
        pytest.param([[0, 1], [1, 0]], 2, 2, id="two terms"),
        pytest.param([[0, 1], [1, 0]], 1, 1, id="two terms, one set"),
        pytest.param([[0, 0]] * 4, 3, 1, id="all zero"),
        pytest.param([[0.0, 1], [-0.0, 1], [0, 1]], 3, 1, id="zeros of both signs"),
        pytest.param([[0.1, 0.7]] * 5, 2, 1, id="equal points"),
        pytest.param([[0, 1], [1, 0]], 9, 2, id="more sets than terms"),
    ],
)
def test_small_vocabularies(rows: list[list[float]], sets: int, expected: int, unit: bool) -> None:
    labels = labels_of(np.array(rows, np.float32), sets, unit=unit)
    assert len(set(labels.tolist())) == expected


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e30, 1e38])
def test_numbers_whose_squares_are_too_large_or_small(scale: float) -> None:
    rows = (np.array([[1, 0], [1.1, 0], [0, 1], [0, 1.1]]) * scale).astype(np.float32)
    assert partition(labels_of(rows, 2)) == {frozenset({0, 1}), frozenset({2, 3})}


def test_points_that_differ_too_little_do_not_warn() -> None:
    rows = np.array([[1], [1e-40], [0]], np.float32)
    labels = labels_of(rows, 3)
    assert labels[0] != labels[1]


def test_each_choice_gets_labels() -> None:
    task = task_of(np.eye(3, dtype=np.float32), 2)
    first, second = KMeans().cluster(task, [{}, {}])
    assert np.array_equal(first, second)
    assert list(KMeans().cluster(task, [])) == []


def test_it_survives_pickling() -> None:
    task = task_of(np.random.default_rng(1).normal(size=(9, 2)).astype(np.float32), 4)
    method = KMeans(unit=True)
    copied = pickle.loads(pickle.dumps(method))
    assert copied == method
    assert np.array_equal(next(copied.cluster(task, [{}])), next(method.cluster(task, [{}])))


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "low", "high"), [(False, 0.23, 0.31), (True, 0.43, 0.51)])
def test_the_known_figures_on_nyt(nyt: Path, unit: bool, low: float, high: float) -> None:
    gold, vectors = read_sets(nyt / "test.set"), read_vectors(nyt / "combined.embed")
    problems = [
        ClusteringTask(terms=gold.terms, views=TermViews((vectors,)), k=len(gold), seed=seed)
        for seed in range(3)
    ]
    found = [next(KMeans(unit=unit).cluster(task, [{}])) for task in problems]
    scores = [compare_labels(labels, gold.labels(gold.terms)).ari for labels in found]
    assert low < np.mean(scores) < high
