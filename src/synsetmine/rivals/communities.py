"""Communities in graphs of near terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from synsetmine.rivals.base import Choice, Floats, Labels, Task, TrainingData, grid
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
    task: Task, view: View, thresholds: Sequence[float]
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
        # The first row of this block is also the first column: what lies below was met before.
        block_products = matrix[start : start + block] @ matrix[start:].T  # (block, terms - start)
        rows, columns = np.nonzero(np.triu(block_products > threshold, 1))
        pairs.append(np.column_stack((rows, columns)) + start)
        products.append(block_products[rows, columns])
    return np.concatenate(pairs), np.concatenate(products)


def mask_diagonal(products: Floats, start: int) -> Floats:
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


THRESHOLDS = (0.85, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95)


@dataclass(frozen=True, kw_only=True)
class CommunityDetection:
    """All terms with cosine ≥ `threshold` to a centre are a set. Nothing is learned."""

    view: View = "vectors"
    needs_k: ClassVar[bool] = False
    ordered: ClassVar[bool] = True  # of balls of one size the earlier comes first
    choices: ClassVar[Sequence[Choice]] = grid("threshold", THRESHOLDS)

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    def fit(self, data: TrainingData) -> CommunityDetection:  # noqa: ARG002
        return self

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
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


LOUVAIN_ALPHAS = (0.9, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.95)


@dataclass(frozen=True, kw_only=True)
class Louvain:
    """Terms meet where their cosine is above `alpha`; the communities of this graph are the sets.

    All edges weigh the same. Nothing is learned. The walk over the terms is random, by the seed.
    """

    view: View = "vectors"
    needs_k: ClassVar[bool] = False
    ordered: ClassVar[bool] = True
    choices: ClassVar[Sequence[Choice]] = grid("alpha", LOUVAIN_ALPHAS)

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    def fit(self, data: TrainingData) -> Louvain:  # noqa: ARG002
        return self

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
        for edges, _ in cosine_graphs(task, self.view, [c["alpha"] for c in choices]):
            yield louvain(len(task.terms), edges, seed=task.seed)


WHISPERS_ALPHAS = (0.85, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95)
PASSES = 100


@dataclass(frozen=True, kw_only=True)
class ChineseWhispers:
    """Chinese whispers (Biemann 2006) where two terms meet if their cosine is above `alpha`.

    An edge weighs as much as its cosine. Nothing is learned.
    """

    view: View = "vectors"
    needs_k: ClassVar[bool] = False
    ordered: ClassVar[bool] = True
    choices: ClassVar[Sequence[Choice]] = grid("alpha", WHISPERS_ALPHAS)

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    def fit(self, data: TrainingData) -> ChineseWhispers:  # noqa: ARG002
        return self

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
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
            heard, places = np.unique(labels[neighbours], return_inverse=True)
            loudest = heard[np.bincount(places, graph.data[row]).argmax()]
            if loudest != labels[term]:
                labels[term] = loudest
                stale[neighbours] = True
        if not stale.any():
            break
    return labels
