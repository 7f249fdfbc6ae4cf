"""What `bench_scale` measures: our own set generation, and what one would run instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import torch

from benchmarks.synthetic import Floats, Numbers, Synthetic
from synsetmine.models import SetModel, generate_sets
from synsetmine.rivals.linkage import join_groups

Choice: TypeAlias = Mapping[str, Any]
BLOCK = 1024  # rows whose neighbours are looked for at a time


def ours(model: SetModel, vocabulary: Synthetic, device: str) -> Numbers:
    """Labels of the terms."""
    terms = vocabulary.terms
    mined = generate_sets(model, vocabulary.views, terms, device=device)
    return np.array(mined.sets.labels(terms))


def agglomerative(rows: Floats, *, distance: float) -> Numbers:
    """scikit-learn's average linkage, cut at a cosine distance."""
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(
        n_clusters=None, distance_threshold=distance, metric="cosine", linkage="average"
    )
    found: Numbers = model.fit(_never_zero(rows)).labels_
    return found


def hdbscan(rows: Floats, *, selection: str, epsilon: float) -> Numbers:
    """scikit-learn's HDBSCAN on rows of length one, groups of two terms or more.

    Groups nearer than epsilon are joined as in `synsetmine.rivals.linkage`, since its own
    parameter for it fails with numpy 2.4.
    """
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(min_cluster_size=2, cluster_selection_method=selection, copy=True).fit(rows)
    near = model.dbscan_clustering(epsilon, min_cluster_size=2)
    return join_groups(model.labels_, near)


def communities(rows: Floats, *, threshold: float) -> Numbers:
    """sentence-transformers' community detection, groups of two terms or more."""
    from sentence_transformers.util import community_detection

    found = community_detection(torch.from_numpy(rows), threshold, min_community_size=2)
    return _labels(found, len(rows))


def louvain(rows: Floats, *, neighbours: int, alpha: float, least: float) -> Numbers:
    """Leiden, Louvain's successor, of graspologic-native on the graph of nearest neighbours.

    Neighbours are those whose cosine is above `alpha`; it is the weight.

    Modularity puts two sets together where their mean weight is above the resolution times what
    is expected by chance, which shrinks as the graph grows. So the resolution grows with it:
    `least` is about the mean cosine that two sets need, whatever the number of terms.
    """
    from graspologic_native import leiden_csr

    graph = _neighbour_graph(rows, min(neighbours, len(rows) - 1), alpha)
    if not graph.nnz:
        return np.arange(len(rows))
    resolution = least * len(rows) / (graph.sum() / len(rows))
    _, found = leiden_csr(
        graph.indptr.astype(np.int64),
        graph.indices.astype(np.int32),
        graph.data.astype(np.float64),
        len(rows),
        resolution=resolution,
        seed=0,
    )
    labels = np.full(len(rows), -1, np.int64)
    labels[list(found)] = list(found.values())
    return _singles(labels)


def duplicates(rows: Floats, *, threshold: float) -> Numbers:
    """semhash's near duplicates; a row and the rows that it is left out for are one group."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from semhash import SemHash

    names = [str(row) for row in range(len(rows))]
    filled = np.flatnonzero(rows.any(axis=1))
    no_model: Any = None  # the vectors are made already
    index = SemHash.from_embeddings(rows[filled], [names[row] for row in filled], no_model)
    pairs = [
        (int(left_out.record), int(kept))
        for left_out in index.self_deduplicate(threshold).filtered
        for kept, _ in left_out.duplicates
    ]
    one, other = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(len(rows),) * 2)
    return connected_components(graph, directed=False)[1].astype(np.int64)


Method: TypeAlias = Callable[..., Numbers]
# Each with its grid; ours has none, since its one parameter is learned.
METHODS: dict[str, tuple[Method, Sequence[Choice]]] = {
    "ours": (ours, ()),
    "agglomerative": (
        agglomerative,
        [{"distance": step / 20} for step in range(3, 17)],
    ),
    "hdbscan": (
        hdbscan,
        [
            {"selection": selection, "epsilon": epsilon}
            for selection, epsilon in product(("eom", "leaf"), (0.0, 0.8, 0.9, 1.0))
        ],
    ),
    "communities": (communities, [{"threshold": step / 20} for step in range(6, 19)]),
    "duplicates": (duplicates, [{"threshold": step / 20} for step in range(8, 20)]),
    "louvain": (
        louvain,
        [
            {"neighbours": neighbours, "alpha": alpha, "least": least}
            for neighbours, alpha, least in product(
                (10, 20), (0.0, 0.4, 0.5, 0.6, 0.7), (0.05, 0.1, 0.2, 0.3, 0.4)
            )
        ],
    ),
}
# Bytes that a method is known to need for a square of all terms.
SQUARES = {"agglomerative": 8.0}  # scipy's condensed distances, and a copy


def _labels(groups: Sequence[Sequence[int]], count: int) -> Numbers:
    """The number of each term's group; terms of no group have numbers of their own."""
    labels = np.full(count, -1, np.int64)
    for number, members in enumerate(groups):
        labels[members] = number
    return _singles(labels)


def _singles(labels: Numbers) -> Numbers:
    """Each term of no group, -1, as a group of its own."""
    alone = labels < 0
    found = labels.astype(np.int64)
    found[alone] = labels.max(initial=-1) + 1 + np.arange(alone.sum())
    return found


def _neighbour_graph(rows: Floats, count: int, alpha: float) -> Any:
    """Cosines above alpha of each row with its nearest others, exact: (terms, terms), sparse."""
    from scipy import sparse

    table = torch.from_numpy(rows)
    nearest, cosines = [], []
    for start in range(0, len(rows), BLOCK):
        found = table[start : start + BLOCK] @ table.T
        found[torch.arange(len(found)), torch.arange(len(found)) + start] = -torch.inf
        top = found.topk(count, dim=1)
        nearest.append(top.indices.numpy())
        cosines.append(top.values.where(top.values > alpha, 0).numpy())
    ends = np.arange(0, len(rows) * count + 1, count)
    values, columns = np.concatenate(cosines).ravel(), np.concatenate(nearest).ravel()
    one_way = sparse.csr_array((values, columns, ends), shape=(len(rows),) * 2)
    one_way.eliminate_zeros()
    return sparse.csr_array(one_way.maximum(one_way.T))


def _never_zero(rows: Floats) -> Floats:
    """The rows; those of zeros, whose cosine is not defined, each lie in no one's direction."""
    empty = ~rows.any(axis=1)
    if not empty.any():
        return rows
    filled = rows.copy()
    chance = np.random.default_rng(0)
    filled[empty] = chance.standard_normal((int(empty.sum()), rows.shape[1]), np.float32)
    return filled
