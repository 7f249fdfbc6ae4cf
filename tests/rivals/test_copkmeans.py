"""COP-Kmeans: k-means that keeps training sets whole and apart."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import combinations
from typing import get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.rivals import linkage as copkmeans
from synsetmine.rivals.base import ClusteringTask, Method, TrainingData
from synsetmine.rivals.linkage import (
    CopKMeans,
    Start,
    TrainingPoints,
    constrained_kmeans,
)
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, unit_rows
from tests.support.copworlds import World, worlds
from tests.support.worlds import make_world

quick = settings(max_examples=60, deadline=None)


Rows = npt.NDArray[np.float32]


STARTS: tuple[Start, ...] = get_args(Start)


def views_of(terms: Sequence[Term], rows: Rows) -> TermViews:
    return TermViews((TermVectors(tuple(terms), rows),))


def taught(
    method: CopKMeans, rows: Sequence[Sequence[float]] | Rows, sizes: Sequence[int]
) -> tuple[TrainingPoints, tuple[Term, ...], TermViews]:
    """A method that has learned sets of these sizes, and the terms that are left."""
    terms = [Term(f"t{i}") for i in range(len(rows))]
    views = views_of(terms, np.array(rows, np.float32))
    left = iter(terms)
    training = SynonymSets.of([[next(left) for _ in range(size)] for size in sizes])
    return method.fit(TrainingData(training=training, views=views, size=9)), tuple(left), views


# --- Against the reference --------------------------------------------------------------------


@given(worlds())
@quick
def test_it_does_what_the_naive_way_does(world: World) -> None:
    assert world.clusters().tolist() == world.naive_clusters()


@pytest.mark.parametrize("rounds", [1, 2])
@given(world=worlds())
@settings(max_examples=20, deadline=None)
def test_rounds_have_an_end(rounds: int, world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copkmeans, "ROUNDS", rounds)
        assert world.clusters().tolist() == world.naive_clusters(rounds)


@given(worlds(), st.integers(1, 20))
@quick
def test_the_size_of_a_block_changes_nothing(world: World, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copkmeans, "BLOCK", block)
        small = world.clusters()
    assert np.array_equal(small, world.clusters())


# --- Properties -------------------------------------------------------------------------------


@given(worlds(largest=30))
@quick
def test_every_link_holds(world: World) -> None:
    labels = world.clusters()
    assert all(labels[a] == labels[b] for a, b in world.must)
    assert all(labels[a] != labels[b] for a, b in world.cannot)
    assert labels.min() >= 0
    assert labels.max() < len(world.starts)


@given(worlds(largest=15))
@quick
def test_equal_test_terms_share_a_cluster(world: World) -> None:
    labels = world.clusters()
    tests = range(sum(world.sizes), len(world.terms))
    for a, b in combinations(tests, 2):
        if np.array_equal(world.terms[a], world.terms[b]):
            assert labels[a] == labels[b]


def test_equal_points_share_a_cluster_wherever_they_stand_in_a_block() -> None:
    random = np.random.default_rng(0)
    points = np.repeat(random.normal(size=(7, 33)), 41, axis=0)[random.permutation(7 * 41)]
    none = np.array([], np.int64)
    ones = np.ones(len(points), np.int64)
    labels = constrained_kmeans(points, ones, order=none, centres=points[:200])
    pairs = {(*point.tolist(), label) for point, label in zip(points, labels, strict=True)}
    assert len(pairs) == 7


def test_of_centres_that_differ_by_rounding_the_first_is_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copkmeans, "ROUNDS", 1)
    centres = np.array([[0.1 + 0.2], [-0.3], [0.0]])  # 0.1 + 0.2 is a little more than 0.3
    points, ones = np.zeros((2, 1)), np.ones(2, np.int64)
    free = constrained_kmeans(points, ones, order=np.array([], np.int64), centres=centres[:2])
    assert free.tolist() == [0, 0]
    held = constrained_kmeans(points, ones, order=np.array([1, 0]), centres=centres)
    assert held.tolist() == [0, 2]


def test_sets_at_one_place_take_the_centres_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copkmeans, "ROUNDS", 1)
    centres = np.array([[0.0], [3.0], [1.0], [2.0], [9.0]])
    order = np.array([4, 2, 0, 1, 3])
    labels = constrained_kmeans(np.zeros((5, 1)), np.full(5, 2), order=order, centres=centres)
    assert labels.tolist() == [3, 1, 2, 4, 0]


def test_an_empty_cluster_keeps_its_centre_and_may_fill_again() -> None:
    # All three are nearest to 2 at first; their mean, 1.83, is farther from 4.5 than 7.1 is.
    points, centres = np.array([[0.0], [1.0], [4.5]]), np.array([[2.0], [7.1], [50.0]])
    ones, none = np.ones(3, np.int64), np.array([], np.int64)
    labels = constrained_kmeans(points, ones, order=none, centres=centres)
    assert labels.tolist() == [0, 0, 1]


# --- Learning and clustering ------------------------------------------------------------------


def test_what_the_method_says_of_itself() -> None:
    method: Method = CopKMeans()
    assert method.needs == {"vectors"}
    assert method.needs_k
    assert method.depends_on_order
    assert list(method.choices) == [{}]
    assert len({CopKMeans(), CopKMeans(unit=True), CopKMeans(start="sets"), CopKMeans()}) == 3


@pytest.mark.parametrize("unit", [False, True])
def test_a_training_set_becomes_its_mean(unit: bool) -> None:
    sets, vectors = make_world(entities=9)
    data = TrainingData(training=sets, views=TermViews((vectors,)), size=9)
    learned = CopKMeans(unit=unit).fit(data)
    assert learned.sizes.tolist() == list(sets.sizes)
    for mean, members in zip(learned.means, sets, strict=True):
        rows = vectors.select(members)
        rows = unit_rows(rows) if unit else rows
        assert np.allclose(mean, np.mean(rows.astype(np.float64), axis=0))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("unit", [False, True])
@given(world=worlds(), seed=st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_the_labels_are_those_of_the_test_terms(
    start: Start, unit: bool, world: World, seed: int
) -> None:
    learned, terms, views = taught(
        CopKMeans(unit=unit, start=start), world.terms.astype(np.float32), world.sizes
    )
    sets = len(world.starts) - len(world.sizes)
    task = ClusteringTask(terms=terms, views=views, k=sets, seed=seed)
    (labels,) = learned.cluster(task, [{}])
    assert labels.dtype == np.int64
    assert labels.shape == (len(terms),)
    assert labels.max() < len(world.sizes) + sets
    (again,) = learned.cluster(task, [{}])
    assert np.array_equal(labels, again)


def test_far_apart_sets_are_found() -> None:
    sets, vectors = make_world(entities=40, noise=0.01, seed=3)
    training, held = sets.split(0.2, seed=0)
    views = TermViews((vectors,))
    learned = CopKMeans(start="sets").fit(TrainingData(training=training, views=views, size=20))
    for seed in range(3):
        task = ClusteringTask(terms=held.terms, views=views, k=len(held), seed=seed)
        labels = next(learned.cluster(task, [{}]))
        assert SynonymSets.from_labels(held.terms, labels.tolist()).partition == held.partition


def test_a_test_term_may_join_a_training_set_but_two_sets_stay_apart() -> None:
    learned, terms, views = taught(
        CopKMeans(start="sets"), [[0, 0], [0, 0], [5, 5], [0, 0.1], [5, 5.1], [90, 0]], [2, 1]
    )
    labels = next(learned.cluster(ClusteringTask(terms=terms, views=views, k=1), [{}]))
    assert len(set(labels.tolist())) == 3


def test_another_seed_may_give_other_labels() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    for start in STARTS:
        learned, terms, views = taught(CopKMeans(start=start), rows, [2] * 10)
        problems = [ClusteringTask(terms=terms, views=views, k=9, seed=seed) for seed in range(5)]
        found = [next(learned.cluster(task, [{}])).tolist() for task in problems]
        assert len({SynonymSets.from_labels(terms, labels).partition for labels in found}) > 1


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(
    ("rows", "sizes", "sets"),
    [
        pytest.param([[1, 0], [0, 1], [1, 1]], [2], 1, id="one test term"),
        pytest.param([[1, 0]], [], 1, id="nothing learned"),
        pytest.param([[1, 0], [0, 1], [1, 1], [2, 1]], [2], 2, id="two test terms"),
        pytest.param([[1, 0], [0, 1], [1, 1], [2, 1]], [1, 1], 9, id="more sets than terms"),
        pytest.param([[0, 0]] * 9, [2, 1, 3], 2, id="all zero"),
        pytest.param([[0.1, 0.7]] * 9, [2, 1, 3], 3, id="equal points"),
    ],
)
def test_small_vocabularies(
    rows: list[list[float]], sizes: list[int], sets: int, unit: bool, start: Start
) -> None:
    learned, terms, views = taught(CopKMeans(unit=unit, start=start), rows, sizes)
    labels = next(learned.cluster(ClusteringTask(terms=terms, views=views, k=sets), [{}]))
    assert labels.shape == (len(terms),)
    if len({tuple(row) for row in rows}) == 1:
        assert len(set(labels.tolist())) == 1


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e30, 1e38])
def test_numbers_whose_squares_are_too_large_or_small(scale: float) -> None:
    rows = (np.array([[1, 0], [1.1, 0], [2, 0], [0, 1], [0, 1.1], [0, 2]]) * scale).tolist()
    learned, terms, views = taught(CopKMeans(start="sets"), rows, [2, 1])
    labels = next(learned.cluster(ClusteringTask(terms=terms, views=views, k=1), [{}]))
    assert len(set(labels.tolist())) == 1


def test_each_choice_gets_labels() -> None:
    learned, terms, views = taught(CopKMeans(), [[0], [1], [2], [5]], [2])
    task = ClusteringTask(terms=terms, views=views, k=1)
    first, second = learned.cluster(task, [{}, {}])
    assert np.array_equal(first, second)
    assert list(learned.cluster(task, [])) == []


def test_what_was_learned_survives_pickling() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    learned, terms, views = taught(CopKMeans(unit=True), rows, [2] * 5)
    task = ClusteringTask(terms=terms, views=views, k=7, seed=5)
    copied = pickle.loads(pickle.dumps(learned))
    assert np.array_equal(next(copied.cluster(task, [{}])), next(learned.cluster(task, [{}])))
    assert pickle.loads(pickle.dumps(CopKMeans(unit=True))) == CopKMeans(unit=True)
