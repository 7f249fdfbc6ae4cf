"""HDBSCAN, against scikit-learn's own on vectors, DBSCAN, and the definition of its epsilon."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import squareform
from sklearn.cluster import DBSCAN, HDBSCAN

from synsetmine.rivals.base import Choice, ClusteringTask, Labels, Method, TrainingData
from synsetmine.rivals.linkage import Hdbscan, term_distances
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, View
from tests.support.strategies import term_vectors
from tests.support.worlds import make_world

quick = settings(max_examples=40, deadline=None)

Groups = set[frozenset[int]]


def groups_of(labels: Sequence[int] | Labels) -> Groups:
    """The groups of at least two."""
    members: dict[int, set[int]] = {}
    for i, label in enumerate(labels):
        if label >= 0:
            members.setdefault(int(label), set()).add(i)
    return {frozenset(group) for group in members.values() if len(group) > 1}


def task_of(vectors: TermVectors, terms: Sequence[Term] | None = None) -> ClusteringTask:
    chosen = tuple(terms or vectors.terms)
    return ClusteringTask(terms=chosen, views=TermViews(vectors=(vectors,), encoder=vectors), k=1)


def choice(smallest: int = 2, selection: str = "eom", epsilon: float = 0.0) -> Choice:
    return {"min_cluster_size": smallest, "selection": selection, "epsilon": epsilon}


def cosine_distances(vectors: TermVectors) -> npt.NDArray[np.float64]:
    """Square, in the order of the table."""
    order, condensed = term_distances(task_of(vectors), "vectors")
    back = np.argsort(order)
    return np.asarray(squareform(condensed)[np.ix_(back, back)])


def test_it_is_a_method_of_the_comparison() -> None:
    method: Method = Hdbscan(view="encoder")
    assert method.needs == {"encoder"}
    assert Hdbscan().needs == {"vectors"}
    assert not method.needs_k
    assert not method.depends_on_order
    assert method.choices[0] == choice()
    assert len({tuple(c.values()) for c in method.choices}) == len(method.choices) == 28
    assert pickle.loads(pickle.dumps(method)) == method


def test_a_clear_world_is_found() -> None:
    sets, vectors = make_world(dimension=16, noise=0.02)
    data = TrainingData(training=sets, views=TermViews(vectors=(vectors,)), size=100)
    learned = Hdbscan().fit(data)
    (labels,) = learned.cluster(task_of(vectors), [choice(selection="leaf", epsilon=0.1)])
    assert labels.dtype == np.int64
    assert SynonymSets.from_labels(vectors.terms, labels.tolist()).partition == sets.partition


@pytest.mark.parametrize("selection", ["eom", "leaf"])
@pytest.mark.parametrize("smallest", [2, 3])
def test_without_epsilon_it_is_scikit_learns_on_the_vectors(smallest: int, selection: str) -> None:
    _, vectors = make_world(entities=60, noise=0.5, seed=smallest)
    (labels,) = Hdbscan().cluster(task_of(vectors), [choice(smallest, selection)])
    # In the same order, since terms in a crowd are equally far from each other for HDBSCAN.
    order, _ = term_distances(task_of(vectors), "vectors")
    other = HDBSCAN(
        min_cluster_size=smallest, cluster_selection_method=selection, metric="cosine", copy=True
    ).fit_predict(vectors.matrix[order].astype(np.float64))
    assert groups_of(labels[order]) == groups_of(other)
    # What is in no group stands alone.
    assert len(np.unique(labels)) == len(groups_of(other)) + (other < 0).sum()
    assert (other < 0).any()


@pytest.mark.parametrize("smallest", [2, 3])
def test_with_a_wide_epsilon_it_is_dbscan(smallest: int) -> None:
    """Two far clouds, each within epsilon: HDBSCAN would split them, DBSCAN does not."""
    random = np.random.default_rng(0)
    centres = np.repeat(np.array([[1, 0, 0], [0, 1, 0]]), 15, axis=0)
    rows = (centres + 0.1 * random.normal(size=(30, 3))).astype(np.float32)
    vectors = TermVectors(tuple(Term(f"t{i}") for i in range(30)), rows)
    split, whole = Hdbscan().cluster(
        task_of(vectors), [choice(smallest, "leaf"), choice(smallest, "leaf", 0.3)]
    )
    assert len(groups_of(split)) > 2
    dbscan = DBSCAN(eps=0.3, min_samples=smallest, metric="precomputed")
    expected = groups_of(dbscan.fit_predict(cosine_distances(vectors)))
    assert groups_of(whole) == expected == {frozenset(range(15)), frozenset(range(15, 30))}


def reachable(square: npt.NDArray[Any], smallest: int, epsilon: float) -> Groups:
    """Groups of terms that chains of short steps connect, all in dense places."""
    core = np.sort(square, axis=1)[:, smallest - 1]  # with the term itself
    steps = np.maximum(np.maximum(core[:, None], core[None, :]), square) < epsilon
    groups: Groups = set()
    for start in range(len(square)):
        group, fresh = {start}, {start}
        while fresh:
            fresh = {int(j) for i in fresh for j in np.flatnonzero(steps[i])} - group
            group |= fresh
        if len(group) >= smallest:
            groups.add(frozenset(group))
    return groups


@pytest.mark.parametrize("selection", ["eom", "leaf"])
@pytest.mark.parametrize("smallest", [2, 3])
@given(st.integers(0, 10_000))
@quick
def test_with_epsilon_the_larger_groups_of_both_stay(
    smallest: int, selection: str, seed: int
) -> None:
    _, vectors = make_world(entities=8, dimension=3, noise=0.4, seed=seed)
    square = cosine_distances(vectors)
    plain, *others = Hdbscan().cluster(
        task_of(vectors), [choice(smallest, selection, e) for e in (0, 0.02, 0.1, 0.3, 3)]
    )
    for epsilon, labels in zip((0.02, 0.1, 0.3, 3), others, strict=True):
        both = groups_of(plain) | reachable(square, smallest, epsilon)
        largest = {group for group in both if not any(group < other for other in both)}
        assert groups_of(labels) == largest


@pytest.mark.parametrize("view", ["vectors", "encoder", "strings"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_terms_work(view: View, count: int) -> None:
    terms = (Term("ab"), Term("yz"), Term("17"))
    vectors = TermVectors(terms, np.eye(3, dtype=np.float32))
    method = Hdbscan(view=view)
    results = list(method.cluster(task_of(vectors, terms[:count]), method.choices))
    assert len(results) == len(method.choices)
    assert all(len(np.unique(labels)) == len(labels) == count for labels in results)
    assert all(labels.dtype == np.int64 for labels in results)


def test_fewer_terms_than_a_group_needs_stand_alone() -> None:
    vectors = TermVectors((Term("a"), Term("b")), np.ones((2, 2), np.float32))
    alone, together = Hdbscan().cluster(
        task_of(vectors), [choice(3, epsilon=0.2), choice(2, epsilon=0.2)]
    )
    assert len(set(alone.tolist())) == 2
    assert len(set(together.tolist())) == 1


@pytest.mark.parametrize("rows", [np.zeros((6, 3)), np.ones((6, 3)), np.eye(6)])
def test_equal_distances_and_zeros_raise_no_warning(rows: npt.NDArray[Any]) -> None:
    terms = tuple(Term(f"t{i}") for i in range(6))
    task = task_of(TermVectors(terms, rows.astype(np.float32)))
    for labels in Hdbscan().cluster(task, Hdbscan().choices):
        assert labels.shape == (6,)
        assert labels.min() >= 0


@pytest.mark.parametrize("view", ["vectors", "strings"])
@given(term_vectors(max_terms=8), st.randoms(use_true_random=False))
@quick
def test_the_order_of_the_terms_does_not_matter(
    view: View, vectors: TermVectors, random: Any
) -> None:
    # Signs only, so that many distances are equal; no surface twice, since nothing but the sense
    # would tell the two apart.
    row_of = {term.surface: row for row, term in enumerate(vectors.terms)}
    matrix = np.sign(vectors.matrix[[*row_of.values()]])
    vectors = TermVectors(tuple(map(Term, row_of)), matrix)
    shuffled = list(vectors.terms)
    random.shuffle(shuffled)
    method = Hdbscan(view=view)
    results = []
    for terms in (vectors.terms, tuple(shuffled)):
        found = method.cluster(task_of(vectors, terms), method.choices)
        results.append([SynonymSets.from_labels(terms, one.tolist()).partition for one in found])
    assert results[0] == results[1]
