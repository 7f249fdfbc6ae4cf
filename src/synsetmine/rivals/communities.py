"""Communities in graphs of near terms, of cosines or of SetExpan's ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from synsetmine.rivals.base import Choice, ClusteringTask, Floats, Labels, Unsupervised, grid
from synsetmine.views import View, unit_rows

Pairs: TypeAlias = npt.NDArray[np.int64]  # (edges, 2)
Neighbours: TypeAlias = npt.NDArray[np.int64]  # (terms, k), the nearest first, -1 for none
Graph: TypeAlias = "csr_array[np.float32, tuple[int, int]]"  # (terms, terms), both directions
Kind: TypeAlias = Literal["union", "mutual"]

BLOCK = 1024  # rows at a time: 40 MB of float32 products for 10,000 terms


def louvain(count: int, edges: Pairs, *, seed: int) -> Labels:
    """The communities of largest modularity that Louvain's walk finds; networkx does the work.

    Each edge occurs once, in any order and direction: the result depends on the edges and the seed
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
    task: ClusteringTask, view: View, thresholds: Sequence[float]
) -> Iterator[tuple[Pairs, Floats]]:
    """For each threshold the pairs of terms whose cosine is above it, with the cosines.

    The products are made once, for the lowest threshold.
    """
    matrix = unit_rows(task.views.table(view).select(task.terms))
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
        # The first row of this block is also the first column: the rows below were met before.
        block_products = matrix[start : start + block] @ matrix[start:].T  # (block, terms - start)
        rows, columns = np.nonzero(np.triu(block_products > threshold, 1))
        pairs.append(np.column_stack((rows, columns)) + start)
        products.append(block_products[rows, columns])
    return np.concatenate(pairs), np.concatenate(products)


def highest(values: npt.NDArray[np.floating[Any]], k: int) -> npt.NDArray[np.int64]:
    """The columns of the k largest values of each row, largest first, of equal ones the earlier."""
    columns = values.shape[1]
    if not 0 < k < columns:
        return np.argsort(-values, axis=1, kind="stable")[:, :k]
    # Much faster than argpartition, and none of the k-th value's equals is lost.
    least = np.partition(values, columns - k, axis=1)[:, columns - k]
    positions = np.flatnonzero(values >= least[:, None])
    rows = positions // columns
    order = np.lexsort((-values.ravel()[positions], rows))
    first = np.searchsorted(rows, np.arange(len(values)))
    chosen: npt.NDArray[np.int64] = positions[order][first[:, None] + np.arange(k)] % columns
    return chosen


def neighbour_pairs(neighbours: Neighbours, kind: Kind) -> Pairs:
    """The k-nearest-neighbour graph: an edge where either (`union`) or both name the other."""
    count, k = neighbours.shape
    named = neighbours.ravel()
    naming = np.repeat(np.arange(count), k)[named >= 0]
    named = named[named >= 0]
    codes = np.minimum(naming, named) * count + np.maximum(naming, named)
    edges, times = np.unique(codes, return_counts=True)
    kept = edges if kind == "union" else edges[times == 2]
    return np.column_stack(np.divmod(kept, max(count, 1)))


def adjacency(count: int, pairs: Pairs, weights: Floats) -> Graph:
    """The graph as rows: whom each term meets, in order, and with what weight."""
    rows = np.concatenate((pairs[:, 0], pairs[:, 1]))
    columns = np.concatenate((pairs[:, 1], pairs[:, 0]))
    both = np.concatenate((weights, weights))
    graph = coo_array((both, (rows, columns)), shape=(count, count)).tocsr()
    graph.sort_indices()
    return graph


COSINES = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
PASSES = 100  # of Chinese whispers, at most


@dataclass(frozen=True, kw_only=True)
class CommunityDetection(Unsupervised):
    """All terms with cosine ≥ `threshold` to a centre are a set.

    Of balls of one size the one whose centre comes first is taken first.
    """

    choices: ClassVar[Sequence[Choice]] = grid("threshold", COSINES, default=0.85)

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        # Above the next smaller number is "at least".
        least = [np.nextafter(np.float32(c["threshold"]), np.float32(-np.inf)) for c in choices]
        for graph in cosine_graphs(task, self.view, [float(value) for value in least]):
            yield assign_balls(adjacency(len(task.terms), *graph))


def assign_balls(graph: Graph) -> Labels:
    """Give the terms to balls, a term with its neighbours, the largest ball first.

    A ball whose centre is taken already is left out; the others keep what is free of them. A set
    has at least two terms in sentence-transformers' words, which is no condition here: a term
    that no ball takes stands alone. A label is the centre of its ball.
    """
    sizes = np.diff(graph.indptr)
    labels = np.arange(len(sizes))
    free = np.ones(len(sizes), dtype=np.bool_)
    for centre in np.argsort(-sizes, kind="stable"):
        if not free[centre]:
            continue
        neighbours = graph.indices[graph.indptr[centre] : graph.indptr[centre + 1]]
        left = neighbours[free[neighbours]]
        labels[left] = centre
        free[left] = free[centre] = False
    return labels


@dataclass(frozen=True, kw_only=True)
class Louvain(Unsupervised):
    """Terms meet where their cosine is above `alpha`; the communities of this graph are the sets.

    All edges weigh the same. Nothing is learned. The walk over the terms is random, by the seed.
    """

    choices: ClassVar[Sequence[Choice]] = grid("alpha", COSINES, default=0.9)

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        for edges, _ in cosine_graphs(task, self.view, [c["alpha"] for c in choices]):
            yield louvain(len(task.terms), edges, seed=task.seed)


@dataclass(frozen=True, kw_only=True)
class ChineseWhispers(Unsupervised):
    """Chinese whispers (Biemann 2006) where two terms meet if their cosine is above `alpha`.

    An edge weighs as much as its cosine. Nothing is learned.
    """

    choices: ClassVar[Sequence[Choice]] = grid("alpha", COSINES, default=0.85)

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        for graph in cosine_graphs(task, self.view, [c["alpha"] for c in choices]):
            yield label_by_whispers(adjacency(len(task.terms), *graph), seed=task.seed)


def label_by_whispers(graph: Graph, *, seed: int, passes: int = PASSES) -> Labels:
    """Labels when no term would change its own any more, or after so many passes.

    At first each term has its own. A pass walks the terms in random order; each takes the label
    with the largest sum of weights among its neighbours, of equal ones the lowest. So every step
    raises the weight inside of sets, or keeps it and lowers a label: the walk comes to an end.
    """
    rng = np.random.default_rng([seed])
    labels = np.arange(graph.shape[0])
    # A term whose neighbours are as they were at its last turn would choose the same again.
    stale = np.diff(graph.indptr) > 0
    for _ in range(passes):
        for term in rng.permutation(len(labels)):
            if not stale[term]:
                continue
            stale[term] = False
            row = slice(graph.indptr[term], graph.indptr[term + 1])
            neighbours = graph.indices[row]
            candidates, inverse = np.unique(labels[neighbours], return_inverse=True)
            loudest = candidates[np.bincount(inverse, graph.data[row]).argmax()]
            if loudest != labels[term]:
                labels[term] = loudest
                stale[neighbours] = True
        if not stale.any():
            break
    return labels


DEPTH = 100  # further down a ranking a term counts nothing: 1/rank is small there
EXPANDED = 512  # rows at a time: 20 MB of products and 40 MB of scores for 10,000 terms


@dataclass(frozen=True, kw_only=True)
class SetExpanLouvain(Unsupervised):
    """Each term names the k others that an ensemble of rankings puts first; Louvain does the rest.

    A pass draws a `share` of the features and ranks the other terms by cosine in these. The score
    of a term is its mean reciprocal rank over all passes. Nothing is learned.
    """

    passes: int = 30
    share: float = 0.6
    choices: ClassVar[Sequence[Choice]] = tuple(
        {"k": k, "kind": kind} for kind, k in product(("mutual", "union"), (2, 1, 3, 4, 5, 8, 10))
    )

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        matrix = task.views.table("vectors").select(task.terms)
        features = random_features(matrix.shape[1], self.passes, self.share, seed=task.seed)
        neighbours = expand(matrix, features, max(choice["k"] for choice in choices))
        for choice in choices:
            edges = neighbour_pairs(neighbours[:, : choice["k"]], choice["kind"])
            yield louvain(len(matrix), edges, seed=task.seed)


def random_features(
    dimension: int, passes: int, share: float, *, seed: int
) -> list[npt.NDArray[np.int64]]:
    """The columns of each pass, at least one."""
    random = np.random.default_rng([seed])
    size = max(round(share * dimension), 1)
    return [np.sort(random.choice(dimension, size, replace=False)) for _ in range(passes)]


def expand(
    matrix: Floats,
    features: Sequence[npt.NDArray[np.int64]],
    k: int,
    *,
    depth: int = DEPTH,
    block: int = EXPANDED,
) -> Neighbours:
    """The k others of highest mean reciprocal rank for each term, the best first.

    A place in a ranking counts down to `depth`, and only for a cosine above zero: a term that
    resembles nothing names nobody.
    """
    neighbours = np.full((len(matrix), k), -1)
    for start in range(0, len(matrix), block):
        scores = _scores(matrix, slice(start, start + block), features, depth)
        best = highest(scores, min(k, len(matrix) - 1))
        named = np.take_along_axis(scores, best, axis=1) > 0
        neighbours[start : start + block, : best.shape[1]] = np.where(named, best, -1)
    return neighbours


def _scores(
    matrix: Floats, rows: slice, features: Sequence[npt.NDArray[np.int64]], depth: int
) -> npt.NDArray[np.float64]:
    """Mean of 1/rank over the passes, of every term for some: (rows, terms)."""
    size = min(depth, len(matrix) - 1)
    scores = np.zeros((len(matrix[rows]), len(matrix)))
    own = np.arange(len(scores))[:, None]
    for columns in features:
        # Anew for each block: a copy of the table for each pass would need more memory.
        unit = unit_rows(matrix[:, columns])
        cosines = unit[rows] @ unit.T
        cosines[own[:, 0], own[:, 0] + rows.start] = -np.inf
        best = highest(cosines, size)  # (rows, size)
        alike = np.take_along_axis(cosines, best, axis=1) > 0
        scores[own, best] += alike / np.arange(1, size + 1)
    return scores / len(features)
