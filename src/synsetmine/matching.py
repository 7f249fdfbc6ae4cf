"""Maximum-weight one-to-one matching of two families of sets, exact and sparse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, eye_array, hstack
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

# Up to here a dense table is cheaper to match than a sparse one; far beyond it would fill memory.
_DENSE_CELLS = 1 << 16


def best_matching(row: IntArray, column: IntArray, weight: FloatArray) -> list[float]:
    """The weights of the edges (row, column) in a matching of the greatest total weight.

    Always exact. A large component that does not settle (two unrelated partitions) takes time
    that grows with the square of its number of sets.
    """
    settled, open_edges = _settle(_Edges(row, column, weight))
    return [*settled, *(w for part in open_edges.components() for w in _match(part))]


@dataclass(frozen=True)
class _Edges:
    """A bipartite graph of predicted (row) and gold (column) sets."""

    row: IntArray  # (edges,)
    column: IntArray  # (edges,)
    weight: FloatArray  # (edges,)

    def components(self) -> Iterator[_Edges]:
        """The connected parts that have edges, with rows and columns numbered from 0."""
        if not self.weight.size:
            return
        rows = self.row.max() + 1
        size = rows + self.column.max() + 1
        graph = coo_array((self.weight, (self.row, rows + self.column)), shape=(size, size))
        part = connected_components(graph, directed=False)[1][self.row]
        order = np.argsort(part, kind="stable")
        for chosen in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
            row = np.unique(self.row[chosen], return_inverse=True)[1]
            column = np.unique(self.column[chosen], return_inverse=True)[1]
            yield _Edges(row, column, self.weight[chosen])


def _settle(edges: _Edges) -> tuple[list[float], _Edges]:
    """Take the edges that some best matching has for certain; return their weights and the rest.

    An edge that weighs at least as much as the best other edge of its row and the best other edge
    of its column together can replace both. This alone solves most of a good prediction.
    """
    weights: list[float] = []
    while edges.weight.size:
        rivals = _best_other(edges.row, edges.weight) + _best_other(edges.column, edges.weight)
        sure = np.flatnonzero(edges.weight >= rivals)
        # Equal edges can both be sure of the same set: only one may have it.
        sure = sure[np.unique(edges.row[sure], return_index=True)[1]]
        sure = sure[np.unique(edges.column[sure], return_index=True)[1]]
        weights += edges.weight[sure].tolist()
        used = np.isin(edges.row, edges.row[sure]) | np.isin(edges.column, edges.column[sure])
        edges = _Edges(edges.row[~used], edges.column[~used], edges.weight[~used])
        # A long chain settles only from its ends: to match it is faster than to peel it.
        if np.count_nonzero(used) * 100 < len(used):
            break
    return weights, edges


def _best_other(group: IntArray, weight: FloatArray) -> FloatArray:
    """For each edge, the greatest weight among the other edges of its group, 0 without any."""
    order = np.lexsort((-weight, group))
    ranked, starts = weight[order], np.diff(group[order], prepend=-1) > 0
    first = np.flatnonzero(starts)
    other = np.repeat(ranked[first], np.diff(first, append=len(order)))
    second = np.append(np.where(starts, 0.0, ranked)[1:], 0.0)  # 0 where the next is a new group
    other[first] = second[first]
    return other[np.argsort(order)]


def _match(edges: _Edges) -> list[float]:
    """The weights of a best one-to-one matching of one component."""
    if edges.row.max() > edges.column.max():  # the sparse solver works row by row
        edges = _Edges(edges.column, edges.row, edges.weight)
    shape = int(edges.row.max()) + 1, int(edges.column.max()) + 1
    if shape[0] * shape[1] > _DENSE_CELLS:
        partner = _match_sparse(edges, shape)
    else:
        weights = np.zeros(shape)
        weights[edges.row, edges.column] = edges.weight
        partner = np.full(shape[0], -1)
        rows, columns = linear_sum_assignment(weights, maximize=True)
        partner[rows] = columns
    return [*edges.weight[partner[edges.row] == edges.column]]


def _match_sparse(edges: _Edges, shape: tuple[int, int]) -> IntArray:
    """The column that each row is matched with; one beyond the last stands for none."""
    # The solver wants every row matched, so each gets a column of its own that is worth nothing.
    # Whole numbers keep its sums exact, for rounding errors can make it run in circles. It knows
    # no edge of weight 0, hence the 1 on all.
    scores = np.rint(edges.weight * 2**40) + 1
    overlaps = coo_array((scores, (edges.row, edges.column)), shape=shape)
    table = hstack([overlaps, eye_array(shape[0])], format="csr")
    return np.asarray(min_weight_full_bipartite_matching(table, maximize=True)[1], np.int64)
