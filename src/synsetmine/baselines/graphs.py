"""Graphs of alike terms: their edges, nearest neighbours, Louvain's communities.

A graph is the number of its terms and an array of pairs, one row i < j for each edge. Products of
vectors are taken in blocks of rows, so that the square of all terms is never held at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from synsetmine.baselines.base import Floats, Labels, Problem
from synsetmine.views import View, unit_rows

Pairs: TypeAlias = npt.NDArray[np.int64]  # (edges, 2)
Neighbours: TypeAlias = npt.NDArray[np.int64]  # (terms, k), the nearest first, -1 for none
Graph: TypeAlias = "csr_array[np.float32, tuple[int, int]]"  # (terms, terms), both directions
Kind: TypeAlias = Literal["union", "mutual"]

BLOCK = 1024  # rows at a time: 40 MB of float32 products for 10,000 terms


def louvain(count: int, edges: Pairs, *, seed: int) -> Labels:
    """The communities of largest modularity that Louvain's walk finds; networkx does the work.

    Each edge stands once, in any order and direction: the result depends on the edges and the seed
    alone. A term without edges stands alone. A label is the first term of its community.
    """
    import networkx as nx

    low, high = edges.min(axis=1), edges.max(axis=1)
    order = np.lexsort((high, low))
    graph: Any = nx.Graph()
    # Plain integers: they hash to themselves, so networkx's sets have one order everywhere.
    graph.add_nodes_from(range(count))
    graph.add_edges_from(zip(low[order].tolist(), high[order].tolist(), strict=True))
    labels = np.arange(count)
    for members in nx.community.louvain_communities(graph, seed=seed):
        labels[list(members)] = min(members)
    return labels


def cosine_graphs(
    problem: Problem, view: View, thresholds: Sequence[float]
) -> Iterator[tuple[Pairs, Floats]]:
    """For each threshold the pairs of terms whose cosine is above it, with the cosines.

    The products are made once, for the lowest threshold.
    """
    matrix = unit_rows(problem.views.table(view).select(problem.terms))
    pairs, cosines = edges_above(matrix, min(thresholds))
    for threshold in thresholds:
        kept = cosines > threshold
        yield pairs[kept], cosines[kept]


def edges_above(matrix: Floats, threshold: float, *, block: int = BLOCK) -> tuple[Pairs, Floats]:
    """All pairs i < j whose rows have a product above the threshold, in order, with the products.

    For rows of length one that is the cosine. For several thresholds take the lowest here, then
    `pairs[products > threshold]`.
    """
    pairs, products = [], []
    for start in range(0, len(matrix), block):
        # The first row of this block is also the first column: what lies below was met before.
        found = matrix[start : start + block] @ matrix[start:].T  # (block, terms - start)
        rows, columns = np.nonzero(np.triu(found > threshold, 1))
        pairs.append(np.column_stack((rows, columns)) + start)
        products.append(found[rows, columns])
    return np.concatenate(pairs), np.concatenate(products)


def others_only(products: Floats, start: int) -> Floats:
    """The products of rows from `start` on, with -∞ where a row meets itself."""
    own = np.arange(len(products))
    products[own, own + start] = -np.inf
    return products


def highest(values: npt.NDArray[np.floating[Any]], k: int) -> npt.NDArray[np.int64]:
    """The columns of the k largest values of each row, largest first, of equal ones the earlier."""
    columns = values.shape[1]
    if not 0 < k < columns:
        return np.argsort(-values, axis=1, kind="stable")[:, :k]
    # Much faster than argpartition, and none of the k-th value's equals is lost.
    least = np.partition(values, columns - k, axis=1)[:, columns - k]
    places = np.flatnonzero(values >= least[:, None])
    rows = places // columns
    order = np.lexsort((-values.ravel()[places], rows))
    first = np.searchsorted(rows, np.arange(len(values)))
    chosen: npt.NDArray[np.int64] = places[order][first[:, None] + np.arange(k)] % columns
    return chosen


def neighbour_pairs(neighbours: Neighbours, kind: Kind) -> Pairs:
    """The k-nearest-neighbour graph: an edge where either (`union`) or both name the other."""
    count, k = neighbours.shape
    named = neighbours.ravel()
    naming = np.repeat(np.arange(count), k)[named >= 0]
    named = named[named >= 0]
    codes = np.minimum(naming, named) * count + np.maximum(naming, named)
    edges, times = np.unique(codes, return_counts=True)
    wanted = edges if kind == "union" else edges[times == 2]
    return np.column_stack(np.divmod(wanted, max(count, 1)))


def adjacency(count: int, pairs: Pairs, weights: Floats) -> Graph:
    """The graph as rows: whom each term meets, in order, and with what weight."""
    rows = np.concatenate((pairs[:, 0], pairs[:, 1]))
    columns = np.concatenate((pairs[:, 1], pairs[:, 0]))
    both = np.concatenate((weights, weights))
    graph = coo_array((both, (rows, columns)), shape=(count, count)).tocsr()
    graph.sort_indices()
    return graph
