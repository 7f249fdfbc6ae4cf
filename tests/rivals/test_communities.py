"""Methods that find communities in graphs: each against a reference, and what holds for all."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.io.sets import read_sets
from synsetmine.metrics import compare_labels
from synsetmine.rivals.base import ClusteringTask, Floats, Method
from synsetmine.rivals.communities import (
    ChineseWhispers,
    CommunityDetection,
    Louvain,
    Pairs,
    SetExpanLouvain,
    adjacency,
    assign_balls,
    edges_above,
    label_by_whispers,
)
from synsetmine.types import Term
from synsetmine.views import TermVectors, TermViews, View, read_vectors, unit_rows
from tests.support.graphworlds import cluster, graphs, parts, task_of
from tests.support.worlds import make_world

quick = settings(max_examples=60, deadline=None)

METHODS: list[Method] = [
    Louvain(),
    SetExpanLouvain(passes=5),
    ChineseWhispers(),
    CommunityDetection(),
]
TABLE_METHODS = (Louvain, ChineseWhispers, CommunityDetection)


# --- Louvain ----------------------------------------------------------------------------------


def test_louvain_gives_the_known_figures_on_nyt(nyt: Path) -> None:
    gold, vectors = read_sets(nyt / "test.set"), read_vectors(nyt / "combined.embed")
    method = Louvain()
    task = ClusteringTask(terms=gold.terms, views=TermViews(vectors=(vectors,)), k=len(gold))
    assert method.choices[0] == {"alpha": 0.9}
    (labels,) = cluster(method, task, method.choices[:1])
    report = compare_labels(labels, gold.labels(gold.terms))
    percent = [round(100 * score, 2) for score in (report.ari, report.fmi, report.nmi)]
    assert percent == [21.83, 30.58, 90.13]


def test_louvain_is_networkx_on_the_graph_of_the_cosines() -> None:
    _, vectors = make_world(noise=0.6)
    task = task_of(vectors.matrix, seed=4)
    unit = unit_rows(vectors.matrix)
    cosines = unit @ unit.T
    for choice, labels in zip(Louvain().choices, cluster(Louvain(), task), strict=True):
        graph: Any = nx.from_numpy_array(np.triu(cosines > choice["alpha"], 1).astype(int))
        expected = nx.community.louvain_communities(graph, seed=4)
        assert parts(labels) == set(map(frozenset, expected))


# --- Chinese whispers -------------------------------------------------------------------------


def naive_whispers(count: int, edges: dict[tuple[int, int], float], seed: int) -> list[int]:
    """Every term has its turn in every pass, until a pass changes nothing."""
    random = np.random.default_rng([seed])
    label = {i: i for i in range(count)}
    for _ in range(100):
        before = dict(label)
        for term in random.permutation(count).tolist():
            heard: dict[int, float] = {}
            for other in range(count):
                weight = edges.get((min(term, other), max(term, other)))
                if weight is not None and other != term:
                    heard[label[other]] = heard.get(label[other], 0.0) + weight
            if heard:
                label[term] = min(heard, key=lambda name: (-heard[name], name))
        if label == before:
            break
    return list(label.values())


@given(graphs(), st.integers(0, 99))
@quick
def test_whispers_equal_the_naive_ones(graph: tuple[int, Pairs, Floats], seed: int) -> None:
    count, pairs, weights = graph
    labels = label_by_whispers(adjacency(count, pairs, weights), seed=seed)
    edges = {
        (i, j): float(weight)
        for (i, j), weight in zip(pairs.tolist(), weights.tolist(), strict=True)
    }
    assert labels.tolist() == naive_whispers(count, edges, seed)
    assert labels.dtype == np.int64


def test_whispers_equal_the_naive_ones_in_a_larger_world() -> None:
    _, vectors = make_world(entities=60, noise=0.6)
    task = task_of(vectors.matrix, seed=5)
    pairs, cosines = edges_above(unit_rows(vectors.matrix), 0.5)
    for choice, labels in zip(
        ChineseWhispers().choices, cluster(ChineseWhispers(), task), strict=True
    ):
        edges = {
            (i, j): float(cosine)
            for (i, j), cosine in zip(pairs.tolist(), cosines, strict=True)
            if cosine > choice["alpha"]
        }
        assert labels.tolist() == naive_whispers(len(vectors), edges, seed=5)


def test_passes_end_the_whispers() -> None:
    """A chain needs several passes; after none each term still has its own label."""
    pairs = np.array([(i, i + 1) for i in range(30)])
    graph = adjacency(31, pairs, np.ones(30, np.float32))
    assert label_by_whispers(graph, seed=0, passes=0).tolist() == list(range(31))
    counts = [len(parts(label_by_whispers(graph, seed=0, passes=n))) for n in (1, 100)]
    assert counts[0] > counts[1]


# --- Community detection ----------------------------------------------------------------------


def naive_communities(matrix: Floats, threshold: float) -> set[frozenset[int]]:
    unit = unit_rows(matrix)
    cosines = unit @ unit.T
    count = len(matrix)
    balls = [
        {j for j in range(count) if j == i or cosines[i, j] >= np.float32(threshold)}
        for i in range(count)
    ]
    taken: set[int] = set()
    found = set()
    for centre in sorted(range(count), key=lambda i: (-len(balls[i]), i)):
        left = balls[centre] - taken
        if centre not in taken and len(left) >= 2:
            found.add(frozenset(left))
            taken |= left
    return found | {frozenset({i}) for i in range(count) if i not in taken}


@given(st.integers(0, 10_000), st.sampled_from([0.5, 0.7, 0.9]), st.booleans())
@quick
def test_communities_equal_the_naive_ones(seed: int, threshold: float, with_zeros: bool) -> None:
    _, vectors = make_world(entities=8, dimension=4, noise=0.7, seed=seed)
    matrix = vectors.matrix.copy()
    if with_zeros:
        matrix[::5] = 0
    (labels,) = cluster(CommunityDetection(), task_of(matrix), [{"threshold": threshold}])
    assert parts(labels) == naive_communities(matrix, threshold)


def test_a_cosine_at_the_threshold_is_enough() -> None:
    """Products of these rows are exact, at the lowest threshold and at a higher one."""
    rows = np.array([[1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], [0, 0, 0, 1]])
    for thresholds in ([0.5], [0.25, 0.5], [0.5, 0.75]):
        choices = [{"threshold": threshold} for threshold in thresholds]
        found = cluster(CommunityDetection(), task_of(rows), choices)
        at_half = found[thresholds.index(0.5)]
        assert parts(at_half) == {frozenset({0, 1, 2})}


@pytest.mark.parametrize("method", [Louvain(), ChineseWhispers()])
def test_a_cosine_at_alpha_is_not_enough(method: Method) -> None:
    rows = np.array([[1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], [0, 0, 0, 1]])
    choices = [{"alpha": alpha} for alpha in (0.25, 0.5)]
    below, at = cluster(method, task_of(rows), choices)
    assert len(parts(below)) == 1
    assert len(parts(at)) == 3


def test_a_ball_around_a_taken_term_is_left_out() -> None:
    """In a chain of six the first inner ball wins, then the next whose centre is free."""
    pairs = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
    labels = assign_balls(adjacency(6, pairs, np.ones(5, np.float32)))
    assert parts(labels) == {frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5})}


@pytest.mark.slow
def test_communities_equal_those_of_sentence_transformers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers.util import community_detection
    for seed in range(6):
        _, vectors = make_world(entities=60, dimension=6, noise=0.6, seed=seed)
        matrix = vectors.matrix.copy()
        matrix[:: 20 + seed] = 0
        method = CommunityDetection()
        for choice, labels in zip(method.choices, cluster(method, task_of(matrix)), strict=True):
            expected = community_detection(
                matrix, threshold=choice["threshold"], min_community_size=2, batch_size=50
            )
            together = {part for part in parts(labels) if len(part) > 1}
            assert together == {frozenset(members) for members in expected}


# --- What holds for all -----------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
class TestEveryMethod:
    @given(st.integers(0, 10_000), st.integers(0, 3))
    @settings(max_examples=15, deadline=None)
    def test_a_seed_gives_valid_labels_and_the_same_again(
        self, method: Method, world: int, seed: int
    ) -> None:
        _, vectors = make_world(entities=10, noise=0.5, seed=world)
        task = task_of(vectors.matrix, seed=seed)
        first, second = cluster(method, task), cluster(method, task)
        assert len(first) == len(method.choices)
        for labels, again in zip(first, second, strict=True):
            assert labels.shape == (len(vectors),)
            assert labels.dtype == np.int64
            np.testing.assert_array_equal(labels, again)

    def test_a_choice_gives_the_same_alone_and_among_others(self, method: Method) -> None:
        _, vectors = make_world(noise=0.5)
        task = task_of(vectors.matrix, seed=2)
        for choice, labels in zip(method.choices, cluster(method, task), strict=True):
            (alone,) = cluster(method, task, [choice])
            np.testing.assert_array_equal(alone, labels)

    def test_one_term_stands_alone(self, method: Method) -> None:
        for row in ([1, 2], [0, 0]):
            assert all(len(labels) == 1 for labels in cluster(method, task_of([row])))

    def test_two_terms_are_together_if_they_are_alike(self, method: Method) -> None:
        cases: list[tuple[list[list[float]], bool]] = [
            ([[1, 2], [2, 4]], True),
            ([[1, 2], [-1, -2]], False),
            ([[1, 2], [0, 0]], False),
            ([[0, 0], [0, 0]], False),
        ]
        for rows, together in cases:
            for labels in cluster(method, task_of(rows)):
                assert (labels[0] == labels[1]) == together

    def test_a_term_without_a_vector_of_its_own_stands_alone(self, method: Method) -> None:
        _, vectors = make_world(entities=10)
        matrix = vectors.matrix.copy()
        matrix[[0, 7]] = 0
        for labels in cluster(method, task_of(matrix)):
            assert {frozenset({0}), frozenset({7})} <= parts(labels)

    def test_equal_vectors_are_one_set(self, method: Method) -> None:
        twins = np.repeat(np.eye(4, dtype=np.float32), 2, axis=0)
        for labels in cluster(method, task_of(twins)):
            assert parts(labels) == {frozenset({i, i + 1}) for i in range(0, 8, 2)}

    def test_it_travels_to_another_process(self, method: Method) -> None:
        assert pickle.loads(pickle.dumps(method)) == method
        assert hash(method) == hash(pickle.loads(pickle.dumps(method)))

    def test_it_gets_no_number_of_sets_and_depends_on_the_order(self, method: Method) -> None:
        assert not method.needs_k
        assert method.depends_on_order
        assert method.needs == {"vectors"}

    def test_the_grid_has_no_choice_twice(self, method: Method) -> None:
        kinds = [tuple(sorted(choice.items())) for choice in method.choices]
        assert len(set(kinds)) == len(kinds)

    def test_senses_are_not_read(self, method: Method) -> None:
        _, vectors = make_world(noise=0.5)
        terms = tuple(Term(term.surface, f"s{i % 3}") for i, term in enumerate(vectors.terms))
        tables = (vectors, TermVectors(terms, vectors.matrix))
        found = [
            cluster(method, ClusteringTask(terms=table.terms, views=TermViews((table,)), k=1))
            for table in tables
        ]
        np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("make", TABLE_METHODS)
def test_a_method_takes_the_view_that_it_names(make: Any) -> None:
    sets, vectors = make_world(entities=10, noise=0.1)
    noise = np.random.default_rng(0).normal(size=vectors.matrix.shape).astype(np.float32)
    other = TermVectors(vectors.terms, noise)
    method: Method = make(view="encoder")
    assert method.needs == {"encoder"}
    views = TermViews(vectors=(other,), encoder=vectors)
    swapped = TermViews(vectors=(vectors,), encoder=other)
    task, plain = (
        ClusteringTask(terms=vectors.terms, views=seen, k=len(sets)) for seen in (views, swapped)
    )
    np.testing.assert_array_equal(cluster(method, task), cluster(make(), plain))
    assert not np.array_equal(cluster(method, task), cluster(make(), task))


@pytest.mark.parametrize("make", TABLE_METHODS)
@pytest.mark.parametrize("view", ["strings", "encoder"])
def test_a_view_that_is_not_there_is_named(make: Any, view: View) -> None:
    with pytest.raises(DataError, match=f"no vector table for this view: '{view}'"):
        cluster(make(view=view), task_of([[1, 2]]))
