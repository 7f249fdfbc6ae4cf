"""What tests of graphs share: problems of plain matrices, small graphs, partitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from synsetmine.rivals.base import Choice, ClusteringTask, Floats, Labels, Method, TrainingData
from synsetmine.rivals.communities import Pairs
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews


def task_of(matrix: npt.ArrayLike, *, seed: int = 0) -> ClusteringTask:
    rows = np.asarray(matrix, dtype=np.float32)
    terms = tuple(Term(f"t{i}") for i in range(len(rows)))
    views = TermViews(vectors=(TermVectors(terms, rows),))
    return ClusteringTask(terms=terms, views=views, k=1, seed=seed)


def cluster(method: Method, task: ClusteringTask, choices: Sequence[Choice] = ()) -> list[Labels]:
    data = TrainingData(training=SynonymSets.of([]), views=task.views, size=len(task.terms))
    return list(method.fit(data).cluster(task, choices or method.choices))


def parts(labels: Labels) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}


@st.composite
def whole_matrices(draw: st.DrawFn, *, max_rows: int = 12) -> Floats:
    """Small whole numbers: products are exact however they are summed, and often equal."""
    shape = (draw(st.integers(1, max_rows)), draw(st.integers(1, 4)))
    return draw(arrays(np.float32, shape, elements=st.integers(-2, 2).map(float)))


@st.composite
def graphs(draw: st.DrawFn, *, max_terms: int = 14) -> tuple[int, Pairs, Floats]:
    """A number of terms, edges i < j in order, weights; often equal ones."""
    count = draw(st.integers(1, max_terms))
    possible = [(i, j) for i in range(count) for j in range(i + 1, count)]
    kept = draw(st.lists(st.booleans(), min_size=len(possible), max_size=len(possible)))
    pairs = [pair for pair, keep in zip(possible, kept, strict=True) if keep]
    weight = st.sampled_from([0.25, 0.5, 1.0]) | st.floats(0.0625, 1, width=32)
    weights = draw(st.lists(weight, min_size=len(pairs), max_size=len(pairs)))
    return count, np.array(pairs, np.int64).reshape(-1, 2), np.array(weights, np.float32)
