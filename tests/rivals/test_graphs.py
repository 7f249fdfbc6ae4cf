"""The parts of graph methods: edges, neighbours, Louvain's communities."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from synsetmine.rivals.base import Floats
from synsetmine.rivals.communities import (
    Kind,
    Pairs,
    adjacency,
    edges_above,
    highest,
    louvain,
    neighbour_pairs,
)
from synsetmine.views import unit_rows
from tests.support.graphworlds import graphs, parts, whole_matrices
from tests.support.worlds import make_world

quick = settings(max_examples=60, deadline=None)

# --- Edges and neighbours ---------------------------------------------------------------------


@given(whole_matrices(), st.integers(-4, 4), st.integers(1, 5))
@quick
def test_edges_are_all_pairs_above_the_threshold_in_order(
    matrix: Floats, threshold: int, block: int
) -> None:
    pairs, products = edges_above(matrix, threshold, block=block)
    naive = [
        (i, j, float(sum(matrix[i] * matrix[j])))
        for i in range(len(matrix))
        for j in range(i + 1, len(matrix))
        if sum(matrix[i] * matrix[j]) > threshold
    ]
    assert [(*pair, value) for pair, value in zip(pairs.tolist(), products, strict=True)] == naive
    assert pairs.dtype == np.int64
    assert products.dtype == np.float32


def test_edges_of_unit_rows_are_cosines() -> None:
    _, vectors = make_world()
    pairs, cosines = edges_above(unit_rows(vectors.matrix), 0.3)
    left, right = vectors.matrix[pairs[:, 0]].astype(float), vectors.matrix[pairs[:, 1]]
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    np.testing.assert_allclose(cosines, (left * right).sum(axis=1) / lengths, atol=1e-6)


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(0, 5), st.integers(1, 9)),
        elements=st.floats(-1, 1, width=32),
    )
    | whole_matrices(),
    st.integers(0, 10),
)
@quick
def test_highest_is_a_stable_sort_cut_off(values: Floats, k: int) -> None:
    expected = np.argsort(-values, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(highest(values, k), expected)


@given(st.data(), st.integers(1, 8), st.integers(0, 4), st.sampled_from(["union", "mutual"]))
@quick
def test_neighbour_pairs_need_one_name_or_both(
    data: st.DataObject, count: int, k: int, kind: Kind
) -> None:
    named = [data.draw(st.permutations([j for j in range(count) if j != i])) for i in range(count)]
    lengths = st.lists(st.integers(0, k), min_size=count, max_size=count)
    rows = [
        (names[:length] + [-1] * k)[:k]
        for names, length in zip(named, data.draw(lengths), strict=True)
    ]
    pairs = neighbour_pairs(np.array(rows, np.int64).reshape(count, k), kind)
    wanted = any if kind == "union" else all
    expected = [
        [i, j]
        for i in range(count)
        for j in range(i + 1, count)
        if wanted([j in rows[i], i in rows[j]])
    ]
    assert pairs.tolist() == expected


@given(graphs())
@quick
def test_adjacency_has_both_directions_in_order(graph: tuple[int, Pairs, Floats]) -> None:
    count, pairs, weights = graph
    rows = adjacency(count, pairs, weights)
    dense = np.zeros((count, count), np.float32)
    dense[pairs[:, 0], pairs[:, 1]] = dense[pairs[:, 1], pairs[:, 0]] = weights
    np.testing.assert_array_equal(rows.toarray(), dense)
    assert rows.data.dtype == np.float32
    for i in range(count):
        met = rows.indices[rows.indptr[i] : rows.indptr[i + 1]].tolist()
        assert met == np.flatnonzero(dense[i]).tolist()


# --- Louvain's communities --------------------------------------------------------------------


@given(graphs(), st.randoms(use_true_random=False), st.integers(0, 5))
@quick
def test_louvain_depends_on_the_edges_and_not_on_how_they_are_written(
    graph: tuple[int, Pairs, Floats], chance: Any, seed: int
) -> None:
    count, pairs, _ = graph
    labels = louvain(count, pairs, seed=seed)
    order = list(range(len(pairs)))
    chance.shuffle(order)
    turned = np.array([pairs[i][:: chance.choice([1, -1])] for i in order], np.int64)
    again = louvain(count, turned.reshape(-1, 2), seed=seed)
    np.testing.assert_array_equal(labels, again)
    assert labels.dtype == np.int64


@given(graphs(), st.integers(0, 5))
@quick
def test_louvain_finds_communities_inside_of_connected_parts(
    graph: tuple[int, Pairs, Floats], seed: int
) -> None:
    count, pairs, _ = graph
    labels = louvain(count, pairs, seed=seed)
    network: Any = nx.Graph()
    network.add_nodes_from(range(count))
    network.add_edges_from(pairs.tolist())
    components = list(nx.connected_components(network))
    for community in parts(labels):
        assert any(community <= component for component in components)
        assert labels[min(community)] == min(community)
    if len(pairs):
        found = nx.community.modularity(network, parts(labels))
        alone = nx.community.modularity(network, [{i} for i in range(count)])
        assert found >= alone - 1e-9


def test_louvain_tells_cliques_apart() -> None:
    """Three cliques on a ring of single edges, the classical case; a fourth term stands alone."""
    cliques = [range(5), range(5, 10), range(10, 15)]
    pairs = [(i, j) for clique in cliques for i in clique for j in clique if i < j]
    ring = [(4, 5), (9, 10), (14, 0)]
    labels = louvain(16, np.array(pairs + ring), seed=3)
    assert labels.tolist() == [0] * 5 + [5] * 5 + [10] * 5 + [15]


def test_louvain_does_not_hang_on_hash_order() -> None:
    script = (
        "import numpy as np; from synsetmine.rivals.communities import louvain;"
        "pairs = np.unique(np.sort(np.random.default_rng(0).integers(60, size=(150, 2))), axis=0);"
        "pairs = pairs[pairs[:, 0] < pairs[:, 1]];"
        "print(louvain(60, pairs, seed=1).tolist())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
