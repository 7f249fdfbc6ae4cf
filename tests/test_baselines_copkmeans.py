"""COP-Kmeans: k-means that keeps training sets whole and apart."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.baselines import copkmeans
from synsetmine.baselines.base import Labels, Lesson, Method, Problem, TermViews, unit_rows
from synsetmine.baselines.copkmeans import (
    Constrained,
    CopKMeans,
    Points,
    Start,
    constrained_kmeans,
)
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors
from tests.worlds import make_world

quick = settings(max_examples=60, deadline=None)

Rows = npt.NDArray[np.float32]
Pair = tuple[int, int]
STARTS: tuple[Start, ...] = get_args(Start)


# --- The naive reference ----------------------------------------------------------------------


def reference(
    terms: Points,
    must: Sequence[Pair],
    cannot: Sequence[Pair],
    *,
    order: Sequence[int],
    centres: Points,
    rounds: int,
) -> list[int]:
    """COP-Kmeans with pairs of terms: `order` names one term of each group that must be together.

    As in the paper the must-links are closed first: a whole group goes to the centre to which the
    squares of its terms' distances sum up least, and tries the next one where a link forbids it.
    """
    centres = centres.copy()
    clusters = range(len(centres))
    before: list[int | None] = []
    for _ in range(rounds):
        labels: list[int | None] = [None] * len(terms)
        for first in order:
            group = closure(first, must)
            costs = [sum(distance(terms[i], centre) for i in group) for centre in centres]
            for cluster in nearest_first(costs):
                if not any(violates(i, cluster, labels, group, must, cannot) for i in group):
                    for i in group:
                        labels[i] = cluster
                    break
        if labels == before:
            break
        before = labels
        for cluster in clusters:
            members = [terms[i] for i, label in enumerate(labels) if label == cluster]
            if members:
                centres[cluster] = sum(members) / len(members)
    assert None not in before
    return [label for label in before if label is not None]


def violates(
    term: int,
    cluster: int,
    labels: Sequence[int | None],
    group: Sequence[int],
    must: Sequence[Pair],
    cannot: Sequence[Pair],
) -> bool:
    """Whether a term may not join a cluster, given where the others are already."""
    for one, other in (*must, *[(b, a) for a, b in must]):
        if one == term and other not in group and labels[other] != cluster:
            return True
    for one, other in (*cannot, *[(b, a) for a, b in cannot]):
        if one == term and labels[other] == cluster:
            return True
    return False


def closure(first: int, must: Sequence[Pair]) -> list[int]:
    """All terms that must-links tie to this one."""
    group = [first]
    for term in group:
        tied = [b if a == term else a for a, b in must if term in (a, b)]
        group += [other for other in dict.fromkeys(tied) if other not in group]
    return group


def distance(point: Points, centre: Points) -> float:
    return float(np.square(point - centre).sum())


def nearest_first(costs: Sequence[float]) -> list[int]:
    """Clusters by cost; of costs that differ by rounding only the first cluster comes first."""
    left = list(range(len(costs)))
    ranked: list[int] = []
    while left:
        least = min(costs[cluster] for cluster in left)
        ranked.append(next(c for c in left if costs[c] <= least + 1e-9))
        left.remove(ranked[-1])
    return ranked


# --- Worlds -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Training sets, test terms and where centres start."""

    terms: Points  # (training and test terms, dimension), set by set
    sizes: list[int]  # of the training sets
    order: list[int]  # in which training sets walk
    starts: list[int]  # the points at which centres start

    @property
    def groups(self) -> list[list[int]]:
        """The terms of each point: of the training sets, then test terms one by one."""
        ends = np.cumsum(self.sizes, dtype=np.int64).tolist()
        training = [list(range(e - n, e)) for n, e in zip(self.sizes, ends, strict=True)]
        return training + [[i] for i in range(sum(self.sizes), len(self.terms))]

    @property
    def points(self) -> Points:
        return np.array([self.terms[group].mean(axis=0) for group in self.groups])

    @property
    def weights(self) -> Labels:
        return np.array([len(group) for group in self.groups], np.int64)

    @property
    def must(self) -> list[Pair]:
        return [pair for group in self.groups for pair in combinations(group, 2)]

    @property
    def cannot(self) -> list[Pair]:
        training = self.groups[: len(self.sizes)]
        return [(a, b) for one, other in combinations(training, 2) for a in one for b in other]

    def clusters(self) -> Labels:
        """The cluster of each term, by the fast way."""
        labels = constrained_kmeans(
            self.points,
            self.weights,
            order=np.array(self.order, np.int64),
            centres=self.points[self.starts],
        )
        return np.repeat(labels, self.weights)

    def slowly(self, rounds: int = copkmeans.ROUNDS) -> list[int]:
        """The cluster of each term, by the reference."""
        walk = [self.groups[i][0] for i in [*self.order, *self.free]]
        centres = self.points[self.starts]
        return reference(
            self.terms, self.must, self.cannot, order=walk, centres=centres, rounds=rounds
        )

    @property
    def free(self) -> list[int]:
        return list(range(len(self.sizes), len(self.groups)))


@st.composite
def worlds(draw: st.DrawFn, *, largest: int = 5) -> World:
    """Terms on a small grid, with many ties and equal points, or anywhere."""
    sizes = draw(st.lists(st.integers(1, 3), max_size=largest))
    tests = draw(st.integers(1, largest))
    dimension = draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (sum(sizes) + tests, dimension)
    terms = random.normal(size=shape)
    if draw(st.booleans()):
        terms = random.integers(-1, 2, size=shape).astype(np.float64)
    points = len(sizes) + tests
    k = draw(st.integers(len(sizes) + 1, points))
    starts = draw(st.permutations(range(points)))[:k]
    return World(terms, sizes, draw(st.permutations(range(len(sizes)))), starts)


def views_of(terms: Sequence[Term], rows: Rows) -> TermViews:
    return TermViews((TermVectors(tuple(terms), rows),))


def taught(
    method: CopKMeans, rows: Sequence[Sequence[float]] | Rows, sizes: Sequence[int]
) -> tuple[Constrained, tuple[Term, ...], TermViews]:
    """A method that has learned sets of these sizes, and the terms that are left."""
    terms = [Term(f"t{i}") for i in range(len(rows))]
    views = views_of(terms, np.array(rows, np.float32))
    left = iter(terms)
    training = SynonymSets.of([[next(left) for _ in range(size)] for size in sizes])
    return method.learn(Lesson(training=training, views=views, size=9)), tuple(left), views


# --- Against the reference --------------------------------------------------------------------


@given(worlds())
@quick
def test_it_does_what_the_naive_way_does(world: World) -> None:
    assert world.clusters().tolist() == world.slowly()


@pytest.mark.parametrize("rounds", [1, 2])
@given(world=worlds())
@settings(max_examples=20, deadline=None)
def test_rounds_have_an_end(rounds: int, world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copkmeans, "ROUNDS", rounds)
        assert world.clusters().tolist() == world.slowly(rounds)


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
    assert method.told
    assert method.ordered
    assert list(method.choices) == [{}]
    assert len({CopKMeans(), CopKMeans(unit=True), CopKMeans(start="sets"), CopKMeans()}) == 3


@pytest.mark.parametrize("unit", [False, True])
def test_a_training_set_becomes_its_mean(unit: bool) -> None:
    sets, vectors = make_world(entities=9)
    lesson = Lesson(training=sets, views=TermViews((vectors,)), size=9)
    learned = CopKMeans(unit=unit).learn(lesson)
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
    problem = Problem(terms=terms, views=views, sets=sets, seed=seed)
    (labels,) = learned.cluster(problem, [{}])
    assert labels.dtype == np.int64
    assert labels.shape == (len(terms),)
    assert labels.max() < len(world.sizes) + sets
    (again,) = learned.cluster(problem, [{}])
    assert np.array_equal(labels, again)


def test_far_apart_sets_are_found() -> None:
    sets, vectors = make_world(entities=40, noise=0.01, seed=3)
    training, held = sets.split(0.2, seed=0)
    views = TermViews((vectors,))
    learned = CopKMeans(start="sets").learn(Lesson(training=training, views=views, size=20))
    for seed in range(3):
        problem = Problem(terms=held.terms, views=views, sets=len(held), seed=seed)
        labels = next(learned.cluster(problem, [{}]))
        assert SynonymSets.from_labels(held.terms, labels.tolist()).partition == held.partition


def test_a_test_term_may_join_a_training_set_but_two_sets_stay_apart() -> None:
    learned, terms, views = taught(
        CopKMeans(start="sets"), [[0, 0], [0, 0], [5, 5], [0, 0.1], [5, 5.1], [90, 0]], [2, 1]
    )
    labels = next(learned.cluster(Problem(terms=terms, views=views, sets=1), [{}]))
    assert len(set(labels.tolist())) == 3


def test_another_seed_may_give_other_labels() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    for start in STARTS:
        learned, terms, views = taught(CopKMeans(start=start), rows, [2] * 10)
        problems = [Problem(terms=terms, views=views, sets=9, seed=seed) for seed in range(5)]
        found = [next(learned.cluster(problem, [{}])).tolist() for problem in problems]
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
    labels = next(learned.cluster(Problem(terms=terms, views=views, sets=sets), [{}]))
    assert labels.shape == (len(terms),)
    if len({tuple(row) for row in rows}) == 1:
        assert len(set(labels.tolist())) == 1


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1e30, 1e38])
def test_numbers_whose_squares_are_too_large_or_small(scale: float) -> None:
    rows = (np.array([[1, 0], [1.1, 0], [2, 0], [0, 1], [0, 1.1], [0, 2]]) * scale).tolist()
    learned, terms, views = taught(CopKMeans(start="sets"), rows, [2, 1])
    labels = next(learned.cluster(Problem(terms=terms, views=views, sets=1), [{}]))
    assert len(set(labels.tolist())) == 1


def test_each_choice_gets_labels() -> None:
    learned, terms, views = taught(CopKMeans(), [[0], [1], [2], [5]], [2])
    problem = Problem(terms=terms, views=views, sets=1)
    first, second = learned.cluster(problem, [{}, {}])
    assert np.array_equal(first, second)
    assert list(learned.cluster(problem, [])) == []


def test_what_was_learned_survives_pickling() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    learned, terms, views = taught(CopKMeans(unit=True), rows, [2] * 5)
    problem = Problem(terms=terms, views=views, sets=7, seed=5)
    copied = pickle.loads(pickle.dumps(learned))
    assert np.array_equal(next(copied.cluster(problem, [{}])), next(learned.cluster(problem, [{}])))
    assert pickle.loads(pickle.dumps(CopKMeans(unit=True))) == CopKMeans(unit=True)
