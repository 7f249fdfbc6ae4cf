"""Agglomerative clustering, against a naive reference, scikit-learn and single string calls."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz import distance, fuzz
from scipy.spatial.distance import squareform
from sklearn.cluster import AgglomerativeClustering

from synsetmine.errors import DataError
from synsetmine.io.sets import read_sets
from synsetmine.metrics import evaluate
from synsetmine.rivals import linkage
from synsetmine.rivals.base import ClusteringTask, Labels, Method, TrainingData
from synsetmine.rivals.linkage import Agglomerative, Link, Scorer, cut, term_distances
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, View, read_vectors
from tests.support.strategies import term_lists, term_vectors
from tests.support.worlds import make_world

quick = settings(max_examples=40, deadline=None)

LINKS: list[Link] = ["average", "complete"]
SCORERS: dict[Scorer, Callable[[str, str], float]] = {
    "ratio": lambda a, b: fuzz.ratio(a, b) / 100,
    "token_sort": lambda a, b: fuzz.token_sort_ratio(a, b) / 100,
    "jaro_winkler": distance.JaroWinkler.normalized_similarity,
}


def partition(labels: Sequence[int] | Labels) -> set[frozenset[int]]:
    groups: dict[int, set[int]] = {}
    for i, label in enumerate(labels):
        groups.setdefault(int(label), set()).add(i)
    return {frozenset(group) for group in groups.values()}


def joined_one_by_one(
    square: npt.NDArray[Any], link: Link, threshold: float
) -> set[frozenset[int]]:
    """The definition: join the two closest groups until they are too far apart."""
    how = {"average": np.mean, "complete": np.max}[link]
    groups = [frozenset({i}) for i in range(len(square))]
    while len(groups) > 1:
        gap, one, other = min(
            (
                (float(how(square[np.ix_([*a], [*b])])), a, b)  # type: ignore[operator]
                for a, b in combinations(groups, 2)
            ),
            key=lambda found: found[0],
        )
        if gap > threshold:
            break
        groups = [g for g in groups if g not in (one, other)] + [one | other]
    return set(groups)


def task_of(vectors: TermVectors, terms: Sequence[Term] | None = None) -> ClusteringTask:
    chosen = tuple(terms or vectors.terms)
    return ClusteringTask(terms=chosen, views=TermViews(vectors=(vectors,), encoder=vectors), k=1)


def named(*surfaces: str) -> ClusteringTask:
    return ClusteringTask(terms=tuple(map(Term, surfaces)), views=TermViews(), k=1)


# --- Cutting a tree ---------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
@given(st.integers(2, 9), st.integers(0, 10_000))
@quick
def test_a_cut_is_that_of_the_definition(link: Link, count: int, seed: int) -> None:
    condensed = np.random.default_rng(seed).random(count * (count - 1) // 2)
    thresholds = [0.0, 0.5, 0.2, 0.7, 1.0]
    cuts = [partition(labels) for labels in cut(condensed, link, thresholds, count=count)]
    square = squareform(condensed)
    assert cuts == [joined_one_by_one(square, link, threshold) for threshold in thresholds]


@pytest.mark.parametrize("link", LINKS)
def test_a_cut_is_that_of_scikit_learn(link: Link) -> None:
    count = 150
    condensed = np.random.default_rng(3).random(count * (count - 1) // 2).astype(np.float32)
    thresholds = [0.1, 0.3, 0.45, 0.6]
    for threshold, labels in zip(
        thresholds, cut(condensed, link, thresholds, count=count), strict=True
    ):
        other = AgglomerativeClustering(
            n_clusters=None, metric="precomputed", linkage=link, distance_threshold=threshold
        ).fit_predict(squareform(condensed.astype(np.float64)))
        assert labels.dtype == np.int64
        assert partition(labels) == partition(other)


def test_groups_at_the_threshold_itself_are_joined() -> None:
    (labels,) = cut(np.array([0.5, 1.0, 1.0]), "complete", [0.5], count=3)
    assert partition(labels) == {frozenset({0, 1}), frozenset({2})}


@pytest.mark.parametrize("count", [0, 1])
def test_without_pairs_there_is_nothing_to_join(count: int) -> None:
    cuts = list(cut(np.array([]), "average", [0.1, 0.9], count=count))
    assert [labels.tolist() for labels in cuts] == [[0] * count] * 2


def test_distances_of_another_number_of_terms_are_refused() -> None:
    with pytest.raises(ValueError, match="3 distances between 4 terms"):
        next(cut(np.zeros(3), "average", [0.5], count=4))


# --- Distances --------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["vectors", "encoder"])
def test_vectors_are_one_minus_their_cosine_apart(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linkage, "_ROWS", 7)  # several blocks
    _, vectors = make_world(entities=12)
    order, condensed = term_distances(task_of(vectors), view)
    square = squareform(condensed)
    for i, one in enumerate(vectors.matrix[order].astype(float)):
        for j, other in enumerate(vectors.matrix[order].astype(float)):
            expected = 1 - one @ other / np.linalg.norm(one) / np.linalg.norm(other)
            assert square[i, j] == pytest.approx(expected if i != j else 0, abs=1e-5)


def test_rounding_makes_no_distance_negative() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 30)).astype(np.float32)
    twice = np.concatenate([rows, rows])
    vectors = TermVectors(tuple(Term(f"t{i}") for i in range(100)), twice)
    _, condensed = term_distances(task_of(vectors), "vectors")
    assert (condensed < 1e-6).sum() == 50
    assert condensed.min() == 0


def test_a_vector_of_zeros_is_unlike_all_others() -> None:
    rows = np.array([[0, 0], [1, 2], [0, 0], [2, 4]], np.float32)
    vectors = TermVectors(tuple(map(Term, "abcd")), rows)
    order, condensed = term_distances(task_of(vectors), "vectors")
    square = squareform(condensed)[np.ix_(np.argsort(order), np.argsort(order))]
    one = pytest.approx(1)
    assert square[0].tolist() == [0, one, one, one]
    assert square[1, 3] == pytest.approx(0, abs=1e-6)


NAMES = ["Heart_Failure", "failure of the heart", "heart attack", "Straße", "STRASSE", "WHO", "_"]


@pytest.mark.parametrize("scorer", SCORERS)
def test_strings_are_compared_as_by_single_calls(
    scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linkage, "_ROWS", 3)
    order, condensed = term_distances(named(*NAMES), "strings", scorer)
    assert sorted(order.tolist()) == list(range(len(NAMES)))
    plain = [" ".join(NAMES[i].casefold().replace("_", " ").split()) for i in order]
    pairs = [1 - SCORERS[scorer](a, b) for a, b in combinations(plain, 2)]
    assert condensed.tolist() == pytest.approx(pairs, abs=1e-6)


@pytest.mark.parametrize("scorer", SCORERS)
@given(term_lists(8))
@quick
def test_any_strings_have_distances_from_zero_to_one(scorer: Scorer, terms: list[Term]) -> None:
    task = ClusteringTask(terms=tuple(terms), views=TermViews(), k=1)
    _, condensed = term_distances(task, "strings", scorer)
    assert ((condensed >= 0) & (condensed <= 1)).all()


# --- The method -------------------------------------------------------------------------------


def test_it_is_a_method_of_the_comparison() -> None:
    method: Method = Agglomerative(view="strings", link="complete", scorer="token_sort")
    assert method.needs == {"strings"}
    assert not method.needs_k
    assert not method.depends_on_order
    distances = [choice["distance"] for choice in method.choices]
    assert distances[0] == 0.35
    assert sorted(distances) == pytest.approx(np.arange(0.05, 0.951, 0.025).tolist())
    assert len(set(distances)) == len(distances)
    assert pickle.loads(pickle.dumps(method)) == method


@pytest.mark.parametrize("link", LINKS)
def test_a_clear_world_is_found(link: Link) -> None:
    sets, vectors = make_world(dimension=16, noise=0.05)
    method = Agglomerative(view="vectors", link=link)
    data = TrainingData(training=sets, views=TermViews(vectors=(vectors,)), size=100)
    (labels,) = method.fit(data).cluster(task_of(vectors), [{"distance": 0.2}])
    found = SynonymSets.from_labels(vectors.terms, labels.tolist())
    assert found.partition == sets.partition


@pytest.mark.parametrize("view", ["vectors", "encoder", "strings"])
@pytest.mark.parametrize("count", [1, 2])
def test_one_term_and_two_terms_work(view: View, count: int) -> None:
    vectors = TermVectors((Term("a"), Term("z")), np.array([[1, 0], [0, 1]], np.float32))
    method = Agglomerative(view=view)
    results = list(method.cluster(task_of(vectors, vectors.terms[:count]), method.choices))
    assert len(results) == len(method.choices)
    assert all(len(partition(labels)) == len(labels) == count for labels in results)


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("view", ["vectors", "strings"])
@given(term_vectors(max_terms=8), st.randoms(use_true_random=False))
@quick
def test_the_order_of_the_terms_does_not_matter(
    view: View, link: Link, vectors: TermVectors, random: Any
) -> None:
    matrix = np.sign(vectors.matrix)  # so that many distances are equal
    vectors = TermVectors(vectors.terms, matrix)
    shuffled = list(vectors.terms)
    random.shuffle(shuffled)
    method = Agglomerative(view=view, link=link)
    results = []
    for terms in (vectors.terms, tuple(shuffled)):
        cuts = method.cluster(task_of(vectors, terms), method.choices)
        results.append([SynonymSets.from_labels(terms, cut.tolist()).partition for cut in cuts])
    assert results[0] == results[1]


def test_senses_do_not_matter_for_strings() -> None:
    surfaces = ["jaguar", "jaguars", "car", "jaguar"]
    plain = ClusteringTask(
        terms=tuple(Term(s, f"m.{i}") for i, s in enumerate(surfaces)), views=TermViews(), k=1
    )
    other = ClusteringTask(
        terms=tuple(Term(s, f"m.{9 - i}") for i, s in enumerate(surfaces)),
        views=TermViews(),
        k=1,
    )
    method = Agglomerative(view="strings")
    for one, two in zip(
        method.cluster(plain, method.choices), method.cluster(other, method.choices), strict=True
    ):
        assert one.tolist() == two.tolist()
        assert one[0] == one[3]


def test_terms_of_the_vocabulary_need_vectors() -> None:
    _, vectors = make_world(entities=2)
    method = Agglomerative(view="vectors")
    with pytest.raises(DataError, match="this term has no vector: 'nobody'"):
        next(method.cluster(task_of(vectors, [Term("nobody")]), method.choices))


def test_names_that_look_alike_are_found_in_the_papers_training_sets(nyt: Path) -> None:
    sets = read_sets(nyt / "train-cold.set")
    vectors = read_vectors(nyt / "combined.embed")
    terms = tuple(term for term in sets.terms if term in vectors)[:800]
    gold = sets.restrict(terms)
    methods = {
        "strings": Agglomerative(view="strings", link="complete"),
        "vectors": Agglomerative(view="vectors", link="complete"),
    }
    best = {}
    for name, method in methods.items():
        cuts = method.cluster(task_of(vectors, terms), method.choices)
        found = [SynonymSets.from_labels(terms, labels.tolist()) for labels in cuts]
        best[name] = max(evaluate(one, gold).ari for one in found)
    assert best["strings"] > best["vectors"] > 0.2
