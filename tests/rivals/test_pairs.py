"""Learning from pairs of terms: how pairs are drawn, and what all methods that learn so share."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from synsetmine.errors import DataError
from synsetmine.metrics import compare_labels
from synsetmine.rivals import pairs as pairs_module
from synsetmine.rivals.base import ClusteringTask, Method, TrainingData
from synsetmine.rivals.pairs import PairLinkage, SvmLouvain, nearest_in, training_pairs
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, unit_rows
from tests.support.pairworlds import easy_world, some_rows, world_views
from tests.support.worlds import make_world

quick = settings(max_examples=40, deadline=None)

METHODS: tuple[Method, ...] = (
    SvmLouvain(),
    SvmLouvain(kernel="rbf"),
    PairLinkage(),
    PairLinkage(link="complete"),
    PairLinkage(views=("vectors", "strings")),
    PairLinkage(views=("encoder",)),
)


def name_of(method: Method) -> str:
    return f"{type(method).__name__}-{'-'.join(sorted(method.needs))}"


def sets_of(sizes: Sequence[int]) -> SynonymSets:
    return SynonymSets.of(
        [Term(f"name {i} of {number}") for i in range(size)] for number, size in enumerate(sizes)
    )


# --- Pairs to learn from ----------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=12).filter(lambda sizes: max(sizes) > 1),
    st.integers(1, 7),
    st.integers(1, 30),
    st.integers(0, 2),
    st.integers(0, 5),
)
@quick
def test_positives_are_in_one_set_and_negatives_never(
    sizes: list[int], negatives: int, most: int, tables: int, seed: int
) -> None:
    training = sets_of(sizes)
    labels = np.array(training.labels(training.terms))
    views = [some_rows(len(labels), seed=table) for table in range(tables)]
    drawn = training_pairs(training, views, negatives=negatives, most=most, seed=seed)
    np.testing.assert_array_equal(labels[drawn.left] == labels[drawn.right], drawn.same)
    assert (drawn.left != drawn.right).all()
    whole = sum(size * (size - 1) // 2 for size in sizes)
    positives = list(zip(drawn.left[drawn.same], drawn.right[drawn.same], strict=True))
    assert len(positives) == min(whole, most) == len(set(positives))
    assert len(drawn.same) == len(positives) * (1 + negatives)
    # One term of a positive pair is the left one of its negatives.
    anchors = drawn.left[~drawn.same].reshape(len(positives), negatives)
    assert (anchors == anchors[:, :1]).all()
    assert all(
        anchor in pair for anchor, pair in zip(anchors[:, 0].tolist(), positives, strict=True)
    )
    again = training_pairs(training, views, negatives=negatives, most=most, seed=seed)
    np.testing.assert_array_equal(again.right, drawn.right)


def test_without_a_limit_all_pairs_of_the_sets_are_there() -> None:
    training = sets_of([3, 1, 5, 2, 4])
    drawn = training_pairs(training, negatives=1)
    found = set(zip(drawn.left[drawn.same].tolist(), drawn.right[drawn.same].tolist(), strict=True))
    rows = {term: row for row, term in enumerate(training.terms)}
    assert found == {
        (rows[a], rows[b]) for members in training for a, b in combinations(members, 2)
    }


def test_a_limit_draws_evenly_from_all_sets() -> None:
    training = sets_of([2] * 50 + [100])  # 50 pairs and 4,950
    large = [
        np.mean(drawn.left[drawn.same] >= 100)
        for drawn in (training_pairs(training, negatives=1, most=300, seed=s) for s in range(10))
    ]
    assert np.mean(large) == pytest.approx(0.99, abs=0.01)


def test_half_the_negatives_are_hard() -> None:
    sets, vectors = make_world(entities=60, noise=0.1, seed=3)
    unit = unit_rows(vectors.select(sets.terms))
    labels = np.array(sets.labels(sets.terms))
    drawn = training_pairs(sets, [unit], negatives=20, seed=1)
    anchors = drawn.left[~drawn.same].reshape(-1, 20)
    others = drawn.right[~drawn.same].reshape(-1, 20)
    cosine = unit @ unit.T
    cosine[labels[:, None] == labels] = -np.inf
    rank = (cosine[:, None, :] > cosine[:, :, None]).sum(axis=2)  # (term, other): how many nearer
    ranks = rank[anchors, others]
    positive = cosine[anchors[:, :10], others[:, :10]] > 0
    assert (ranks[:, :10][positive] < 20).all()
    assert positive.mean() > 0.9
    for row, good in zip(others[:, :10], positive, strict=True):
        assert len(set(row[good])) == good.sum()
    away = rank.shape[1] / 2
    assert ranks[:, 10:].mean() == pytest.approx(away, rel=0.1)


def test_tables_take_turns_and_may_be_sparse() -> None:
    sets, vectors = make_world(entities=30, seed=4)
    unit = unit_rows(vectors.select(sets.terms))
    other = some_rows(len(unit), seed=9)
    both = training_pairs(sets, [unit, other], seed=2)
    cosine = np.stack([unit @ unit.T, other @ other.T])
    left, right = both.left[~both.same].reshape(-1, 20), both.right[~both.same].reshape(-1, 20)
    likeness = cosine[:, left, right].mean(axis=1)  # (tables, negatives)
    assert (likeness[0, :10:2] > likeness[0, 10:].max()).all()
    assert (likeness[1, 1:10:2] > likeness[1, 10:].max()).all()
    thin = training_pairs(sets, [sparse.csr_array(unit), sparse.csr_array(other)], seed=2)
    np.testing.assert_array_equal(thin.right, both.right)


def test_terms_without_vectors_have_random_negatives() -> None:
    training = sets_of([2] * 30)
    drawn = training_pairs(training, [np.zeros((60, 4), np.float32)], seed=0)
    plain = training_pairs(training, seed=0)
    others = drawn.right[~drawn.same]
    assert len(set(others.tolist())) == len(set(plain.right[~plain.same].tolist())) == 60


def test_in_large_training_data_neighbours_come_from_a_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pairs_module, "POOL", 25)
    sets, vectors = make_world(entities=100, seed=5)
    unit = unit_rows(vectors.select(sets.terms))
    drawn = training_pairs(sets, [unit], seed=0)
    labels = np.array(sets.labels(sets.terms))
    assert (labels[drawn.left[~drawn.same]] != labels[drawn.right[~drawn.same]]).all()
    cosine = (unit[drawn.left] * unit[drawn.right]).sum(axis=1)[~drawn.same].reshape(-1, 20)
    hard = drawn.right[~drawn.same].reshape(-1, 20)[:, :10][cosine[:, :10] > 0.5]
    assert len(set(hard.tolist())) <= 25 + 100  # hardly any but the pool, and some by chance
    assert cosine[:, :10].mean() > cosine[:, 10:].mean() + 0.1


@pytest.mark.parametrize("sizes", [[], [3], [1, 1, 1]])
def test_what_gives_no_pairs_is_reported(sizes: list[int]) -> None:
    with pytest.raises(DataError, match="two training sets and two terms in one of them"):
        training_pairs(sets_of(sizes))


@given(st.integers(1, 15), st.integers(0, 12), st.integers(1, 6), st.integers(0, 99))
@quick
def test_nearest_in_a_pool(queries: int, pool: int, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    ours, theirs = chance.integers(0, 3, queries), chance.integers(0, 3, pool)
    some, others = some_rows(queries, seed=seed), some_rows(pool, seed=seed + 100)
    index, cosine = nearest_in(others, some, count, groups=(ours, theirs))
    assert index.shape == cosine.shape == (queries, min(count, pool))
    for row in range(queries):
        known = [
            float(some[row] @ o) for o, g in zip(others, theirs, strict=True) if g != ours[row]
        ]
        expected = [*sorted(known, reverse=True), *[-np.inf] * pool][: min(count, pool)]
        np.testing.assert_allclose(cosine[row], expected, atol=1e-6)
        for place, value in zip(index[row], cosine[row], strict=True):
            if np.isfinite(value):
                assert float(some[row] @ others[place]) == pytest.approx(float(value), abs=1e-6)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows(40)
    groups = (np.arange(40), np.arange(40))
    whole = nearest_in(rows, rows, 5, groups=groups)
    monkeypatch.setattr(pairs_module.blocks, "__kwdefaults__", {"most": 100})
    parts = nearest_in(rows, rows, 5, groups=groups)
    np.testing.assert_array_equal(parts[0], whole[0])


# --- All learned methods ----------------------------------------------------------------------


def best_ari(method: Method, seed: int) -> float:
    training, held, views = easy_world(seed)
    data = TrainingData(training=training, views=views, size=len(held.terms), seed=seed)
    task = ClusteringTask(terms=held.terms, views=views, k=len(held), seed=seed)
    found = method.fit(data).cluster(task, method.choices)
    gold = np.array(held.labels(held.terms))
    return max(compare_labels(labels, gold).ari for labels in found)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_easy_worlds_are_found(method: Method) -> None:
    assert min(best_ari(method, seed) for seed in (0, 1)) > 0.95


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_the_same_seed_gives_the_same_labels_also_in_another_process(method: Method) -> None:
    training, held, views = easy_world(7)
    data = TrainingData(training=training, views=views, size=50, seed=3)
    task = ClusteringTask(terms=held.terms, views=views, k=1, seed=4)
    assert pickle.loads(pickle.dumps(method)) == method
    learned = method.fit(data)
    moved = pickle.loads(pickle.dumps(learned))
    once = list(learned.cluster(task, method.choices))
    for again in (method.fit(data), moved):
        for a, b in zip(once, again.cluster(task, method.choices), strict=True):
            np.testing.assert_array_equal(a, b)
    for labels in once:
        assert labels.dtype == np.int64
        assert labels.shape == (len(held.terms),)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_each_choice_stands_alone(method: Method) -> None:
    training, held, views = easy_world(8)
    learned = method.fit(TrainingData(training=training, views=views, size=50))
    task = ClusteringTask(terms=held.terms, views=views, k=1)
    for choice, labels in zip(method.choices, learned.cluster(task, method.choices), strict=True):
        (alone,) = learned.cluster(task, [choice])
        np.testing.assert_array_equal(alone, labels)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_small_vocabularies(method: Method, count: int) -> None:
    training, held, views = easy_world(2)
    learned = method.fit(TrainingData(training=training, views=views, size=count))
    task = ClusteringTask(terms=held.terms[:count], views=views, k=1)
    found = list(learned.cluster(task, method.choices))
    assert [labels.shape for labels in found] == [(count,)] * len(method.choices)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_little_to_learn_from(method: Method) -> None:
    _, _, views = easy_world(2)
    assert views.encoder is not None
    a, b, c = views.encoder.terms[:3]
    training = SynonymSets.of([[a, b], [c]])
    learned = method.fit(TrainingData(training=training, views=views, size=1000))
    task = ClusteringTask(terms=(a, b, c), views=views, k=1)
    assert len(list(learned.cluster(task, method.choices[:2]))) == 2
    with pytest.raises(DataError, match="learning needs two training sets"):
        method.fit(TrainingData(training=SynonymSets.of([[a, b]]), views=views, size=10))


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_vectors_may_be_all_zero(method: Method) -> None:
    training, held, views = easy_world(2)
    assert views.encoder is not None
    table = TermVectors(views.encoder.terms, np.zeros_like(views.encoder.matrix))
    for seen in (views, world_views(table)):
        learned = method.fit(TrainingData(training=training, views=seen, size=50))
        task = ClusteringTask(terms=held.terms[:20], views=world_views(table), k=1)
        assert len(list(learned.cluster(task, method.choices[:2]))) == 2


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_senses_are_never_read(method: Method) -> None:
    training, held, views = easy_world(6)
    assert views.encoder is not None

    def renamed(terms: Sequence[Term]) -> list[Term]:
        """Other senses, whose order is another one too."""
        return [Term(t.surface, f"x{t.surface[::-1]}") for t in terms]

    table = TermVectors(tuple(renamed(views.encoder.terms)), views.encoder.matrix)
    found = []
    for seen, some, terms in (
        (views, training, held.terms),
        (world_views(table), SynonymSets.of(map(renamed, training)), tuple(renamed(held.terms))),
    ):
        learned = method.fit(TrainingData(training=some, views=seen, size=50))
        found.append(
            list(learned.cluster(ClusteringTask(terms=terms, views=seen, k=1), method.choices))
        )
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
