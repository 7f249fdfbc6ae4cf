"""Other ways to group mentions: equal names, fuzzy names, and a sentence encoder's vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rapidfuzz import fuzz, process
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist

from synsetmine.models.general.neighbours import Floats
from synsetmine.normalization import name_key, tokens

THRESHOLDS = np.round(np.arange(0.05, 1, 0.05), 2)  # cosine distances of average linkage
WRATIO = 80
JACCARD = 0.9


def equal_names(names: Sequence[str]) -> list[str]:
    """The same name but for case and whitespace."""
    return [name_key(name) for name in names]


def by_wratio(names: Sequence[str]) -> list[int]:
    """Names that are connected by a WRatio of 80 or more."""
    distinct = sorted(set(map(name_key, names)))
    scores = process.cdist(distinct, distinct, scorer=fuzz.WRatio, score_cutoff=WRATIO)
    return _of_names(names, distinct, csr_array(scores >= WRATIO))


def by_jaccard(names: Sequence[str]) -> list[int]:
    """Names that are connected by a Jaccard similarity of their words of 0.9 or more."""
    distinct = sorted(set(map(name_key, names)))
    bags = [set(tokens(name)) or {name} for name in distinct]
    number = {word: place for place, word in enumerate(sorted(set().union(*bags)))}
    rows = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    columns = [number[word] for bag in bags for word in sorted(bag)]
    words = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(bags), len(number)))
    shared = csr_array(words @ words.T).tocoo()
    sizes = np.array([len(bag) for bag in bags])
    union = sizes[shared.row] + sizes[shared.col] - shared.data
    near = shared.data >= JACCARD * union
    ends = shared.row[near], shared.col[near]
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(len(bags), len(bags)))
    return _of_names(names, distinct, graph)


def _of_names(names: Sequence[str], distinct: Sequence[str], graph: csr_array) -> list[int]:
    _, label = connected_components(graph, directed=False)
    label_of = dict(zip(distinct, label.tolist(), strict=True))
    return [label_of[name_key(name)] for name in names]


def average_linkage(rows: Floats) -> dict[float, list[int]]:
    """The sets at each of the `THRESHOLDS`, by the cosines of unit rows."""
    tree = linkage(pdist(rows, "cosine").clip(0), "average")
    return {float(t): fcluster(tree, t, "distance").tolist() for t in THRESHOLDS}
