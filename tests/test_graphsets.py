"""Set generation on a graph of odds, against plain references and by its properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from synsetmine.generation.bysize import mine_by_size
from synsetmine.generation.graphsets import GraphSets
from synsetmine.generation.parts import Task, mine_graph, mine_task
from synsetmine.model.viewscorer import Bar
from synsetmine.workers import WorkerPool

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]

BAR = Bar(at=0.0, size=2.0, slope=1.0)


@st.composite
def odds(draw: st.DrawFn, most: int = 9) -> Matrix:
    """A symmetric matrix of odds, zero for about half of the pairs."""
    count = draw(st.integers(1, most))
    values = st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.5, 0.9, 1.5, 2.0, 7.0, 20.0])
    matrix = np.zeros((count, count))
    for i in range(count):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = draw(values)
    return matrix


def graph(matrix: Matrix) -> sparse.csr_array:
    return sparse.csr_array(matrix)


def partition(walk: GraphSets) -> set[frozenset[int]]:
    return {frozenset(members) for members in walk.members.values()}


def sets_of(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(numbers == n).tolist()) for n in numbers.tolist()}


def plain_merges(matrix: Matrix, bar: float) -> set[frozenset[int]]:
    """Average link of single terms, less for two that are large; best first, then the earliest."""
    sets = {i: [i] for i in range(len(matrix))}
    while True:
        pairs = [
            (
                -np.mean(matrix[np.ix_(sets[a], sets[b])]) / min(len(sets[a]), len(sets[b])) ** 0.5,
                a,
                b,
            )
            for a in sets
            for b in sets
            if a < b
        ]
        if not pairs or -min(pairs)[0] <= math.exp(bar) + 1e-12:
            return {frozenset(members) for members in sets.values()}
        _, a, b = min(pairs)
        sets[a] += sets.pop(b)


@given(st.integers(0, 10_000), st.sampled_from([-2.0, -0.5, 0.5]))
def test_merging_is_average_link_with_reluctance(seed: int, bar: float) -> None:
    chance = np.random.default_rng(seed)  # no two means are equal
    matrix = np.triu(chance.random((8, 8)) * 3 * (chance.random((8, 8)) < 0.6), 1)
    matrix = matrix + matrix.T
    walk = GraphSets(graph(matrix), range(8), bar)
    walk.merge()
    assert partition(walk) == plain_merges(matrix, bar)


@given(odds(), st.sampled_from([-1.0, 0.0, 0.7]))
def test_settled_sets_are_a_partition_that_nothing_would_leave(matrix: Matrix, bar: float) -> None:
    order = range(len(matrix))
    walk = GraphSets(graph(matrix), order, bar)
    walk.settle()
    assert sorted(term for members in walk.members.values() for term in members) == list(order)
    before = partition(walk)
    settled = not walk.merge() and not walk.move()
    if settled:  # or the bound on passes was reached
        assert partition(walk) == before
        for term in order:
            best, fit = walk.best(term)
            home = walk.set_of[term]
            assert best == home if fit > bar else len(walk.members[home]) == 1


def test_clear_sets_are_found_in_any_order() -> None:
    truth = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3])
    matrix = np.where(truth[:, None] == truth[None], 5.0, 0.05)
    np.fill_diagonal(matrix, 0)
    expected = {frozenset(np.flatnonzero(truth == label).tolist()) for label in range(4)}
    for seed in range(20):
        walk = GraphSets(graph(matrix), np.random.default_rng(seed).permutation(10).tolist(), 0.0)
        walk.settle()
        assert partition(walk) == expected


def test_one_sure_pair_does_not_join_two_sets() -> None:
    matrix = np.full((6, 6), 0.01)
    matrix[:3, :3] = matrix[3:, 3:] = 9.0
    matrix[2, 3] = matrix[3, 2] = 5.0  # mean odds between the two sets: 0.56
    np.fill_diagonal(matrix, 0)
    found = mine_graph(graph(matrix), 6, 0.0)
    assert sets_of(found) == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}


def test_seeds_stay_apart_and_gain_terms() -> None:
    matrix = np.zeros((5, 5))
    for a, b, value in ((0, 2, 9.0), (2, 3, 9.0), (3, 4, 9.0), (1, 4, 9.0)):
        matrix[a, b] = matrix[b, a] = value
    found = mine_graph(graph(matrix), 2, 0.0, seeds=[[2], [3, 4]])
    assert found.tolist() == [0, 1, 0, 1, 1]


@given(odds(14), st.sampled_from([-1.0, 0.0, 0.7]), st.integers(0, 5), st.integers(1, 60))
def test_parts_give_what_the_whole_gives(
    matrix: Matrix, bar: float, known: int, edges: int
) -> None:
    """Also with seeds, and whatever the number of edges in a task."""
    matrix = np.where(matrix > 1.5, matrix, matrix / 2)  # falls apart more often
    count = max(len(matrix) - known, 0)
    seeds = [
        part
        for part in ([*range(count, len(matrix), 2)], [*range(count + 1, len(matrix), 2)])
        if part
    ]
    whole = mine_task(Task(graph(matrix), count, seeds, bar))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synsetmine.generation.parts.EDGES", edges)
        found = mine_graph(graph(matrix), count, bar, seeds=seeds)
    assert sets_of(found) == sets_of(whole)
    assert [int(found[terms[0]]) for terms in seeds] == [*range(len(seeds))]
    fresh = [n for n in dict.fromkeys(found.tolist()) if n >= len(seeds)]
    assert fresh == sorted(fresh)


def test_processes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.generation.parts.EDGES", 50)
    chance = np.random.default_rng(0)
    matrix = np.triu(chance.random((300, 300)) * 4 * (chance.random((300, 300)) < 0.004), 1)
    matrix = matrix + matrix.T
    alone = mine_graph(graph(matrix), 300, 0.0)
    with WorkerPool(2) as pool:
        np.testing.assert_array_equal(mine_graph(graph(matrix), 300, 0.0, pool=pool), alone)
    assert len(set(alone.tolist())) < 290


def test_no_more_sets_than_allowed() -> None:
    matrix = np.zeros((4, 4))
    matrix[0, 1] = matrix[1, 0] = 0.2
    matrix[2, 3] = matrix[3, 2] = 0.3
    outcome = mine_by_size(graph(matrix), 4, BAR, max_sets=3)
    assert len(outcome.members) == 3
    assert [action for *_, action in outcome.decisions].count("forced") == 2


@pytest.mark.parametrize(("threshold", "together"), [(0.0, True), (0.5, True), (1.0, False)])
def test_the_threshold_is_a_probability(threshold: float, together: bool) -> None:
    matrix = np.array([[0.0, 3.0], [3.0, 0.0]])
    outcome = mine_by_size(graph(matrix), 2, BAR, threshold=threshold)
    assert (len(outcome.members) == 1) == together
    assert [logit > 0 for _, logit, _ in outcome.decisions] == [True, True]


def test_the_bar_is_lower_where_sets_are_larger() -> None:
    """Sets of six whose terms have odds just below the bar that is right for pairs."""
    truth = np.arange(60) // 6
    matrix = np.where(truth[:, None] == truth[None], 0.8, 0.0)
    matrix[::2, ::2] *= 4  # half of each set is found at once
    np.fill_diagonal(matrix, 0)
    alone = mine_graph(graph(matrix), 60, 0.0)
    outcome = mine_by_size(graph(matrix), 60, Bar(at=0.0, size=1.3, slope=1.0))
    assert len(outcome.members) == 10 < len(set(alone.tolist()))


@pytest.mark.parametrize(
    ("size", "expected"), [(2.0, 1.0), (3.0, 1.0 - math.log(2)), (1.7, 1.0 - math.log(0.7))]
)
def test_the_bar_moves_with_the_log_of_the_size(size: float, expected: float) -> None:
    assert Bar(at=1.0, size=2.0, slope=1.0).for_size(size) == pytest.approx(expected, abs=1e-3)


def test_the_bar_does_not_run_away() -> None:
    bar = Bar(at=0.0, size=1.2, slope=2.0)
    assert bar.for_size(1e9) == -3.0
    assert bar.for_size(1.0) == 0.5


def test_an_empty_graph_has_no_sets() -> None:
    assert mine_by_size(sparse.csr_array((0, 0)), 0, BAR).members == []


@given(st.integers(0, 300))
def test_who_is_alone_is_below_the_bar_however_the_bar_moves(seed: int) -> None:
    chance = np.random.default_rng(seed)
    matrix = np.triu(chance.lognormal(-1, 2, (12, 12)) * (chance.random((12, 12)) < 0.5), 1)
    found = mine_by_size(graph(matrix + matrix.T), 12, Bar(-1, 1.8, 2.5))
    alone = [fit for _, fit, action in found.decisions if action == "opened"]
    assert all(fit <= 1e-9 for fit in alone)
