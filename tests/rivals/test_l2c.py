"""L2C: its two losses against double loops, its pair network, and what it makes of easy worlds."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from itertools import combinations, islice
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.metrics import compare_labels
from synsetmine.rivals import l2c as l2cnetworks
from synsetmine.rivals.base import ClusteringTask, Method, TrainingData
from synsetmine.rivals.l2c import (
    PairNetwork,
    TrainedL2C,
    likelihood_loss,
    log_odds,
    pair_logits,
    pair_loss,
)
from synsetmine.rivals.registry import L2C
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermVectors, TermViews
from tests.support.worlds import make_world

SMALL = L2C(
    embed_size=16,
    pair_size=16,
    batch_sets=16,
    pair_steps=200,
    check_every=50,
    cluster_rate=1e-2,
    cluster_steps=150,
    restarts=2,
)
QUICK = replace(SMALL, pair_steps=20, check_every=10, cluster_steps=5)
ONE = SMALL.choices[:1]


def data(sets: SynonymSets, vectors: TermVectors, **values: Any) -> TrainingData:
    return TrainingData(training=sets, views=TermViews((vectors,)), **{"size": 60, **values})


def task(sets: SynonymSets, vectors: TermVectors, seed: int = 0) -> ClusteringTask:
    walk = tuple(order_terms(sets.terms, "random", seed=seed))
    return ClusteringTask(terms=walk, views=TermViews((vectors,)), k=len(sets), seed=seed)


def small_network(seed: int = 0) -> PairNetwork:
    torch.manual_seed(seed)
    return PairNetwork(dimension=5, embed_size=4, pair_size=6, dropout=0.25)


@pytest.fixture(scope="module")
def learned() -> TrainedL2C:
    return SMALL.fit(data(*make_world(entities=150, noise=0.1, seed=1)))


@pytest.fixture
def easy() -> ClusteringTask:
    return task(*make_world(entities=20, noise=0.1, seed=2))


def test_what_it_says_of_itself() -> None:
    method: Method = L2C()
    assert method.needs == {"vectors"}
    assert method.needs_k
    assert method.depends_on_order
    assert method.choices[0] == {"weight": 1.0}


# --- the losses ---------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(st.data(), st.integers(2, 7), st.integers(1, 5), st.sampled_from([0.5, 1.0, 3.0]))
def test_the_likelihood_is_that_of_a_double_loop(
    data: st.DataObject, terms: int, sets: int, weight: float
) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    p = random.dirichlet(np.ones(sets), size=terms)
    s = random.random((terms, terms))
    rows = data.draw(st.lists(st.integers(0, terms - 1), min_size=1, unique=True))
    expected = 0.0
    for i in rows:
        for j in range(terms):
            if i == j:
                continue
            together = min(math.fsum(a * b for a, b in zip(p[i], p[j], strict=True)), 1.0)
            expected -= weight * s[i, j] * math.log(together + 1e-7)
            expected -= (1 - s[i, j]) * math.log(1 - together + 1e-7)
    found = likelihood_loss(
        torch.from_numpy(p), torch.from_numpy(s), torch.tensor(rows), weight=weight
    )
    assert float(found) == pytest.approx(expected / len(rows), rel=1e-6)


def test_the_likelihoods_gradient_is_right_and_none_comes_from_a_term_with_itself() -> None:
    torch.manual_seed(0)
    logits = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    s, rows = torch.rand(5, 5, dtype=torch.float64), torch.tensor([0, 3, 4])

    def loss(logits: torch.Tensor, s: torch.Tensor = s) -> torch.Tensor:
        return likelihood_loss(logits.softmax(dim=1), s, rows, weight=2.0)

    assert torch.autograd.gradcheck(loss, (logits,))
    marked = s.clone().fill_diagonal_(1)
    other = torch.autograd.grad(loss(logits, marked), logits)[0]
    assert torch.allclose(torch.autograd.grad(loss(logits), logits)[0], other)


def test_the_likelihood_stays_finite_where_all_is_sure() -> None:
    sure = torch.eye(2)[[0, 0, 1]].requires_grad_()
    wrong = torch.tensor([[1.0, 0, 1], [0, 1, 1], [1, 1, 1]])
    loss = likelihood_loss(sure, wrong, torch.arange(3))
    loss.backward()  # type: ignore[no-untyped-call]
    assert sure.grad is not None
    assert torch.isfinite(loss)
    assert torch.isfinite(sure.grad).all()


def test_the_pair_loss_is_that_of_a_double_loop() -> None:
    network = small_network().eval()
    x, labels = torch.randn(7, 5), torch.tensor([4, 4, 9, 9, 9, 2, 3])
    described = network.describe(x)
    total = 0.0
    for i, j in combinations(range(7), 2):
        logit = float(network(described[i : i + 1], described[j : j + 1]).detach())
        sign = 1 if labels[i] == labels[j] else -1
        total += math.log1p(math.exp(-sign * logit))
    assert float(pair_loss(network, x, labels).detach()) == pytest.approx(total / 21, rel=1e-5)


def test_every_weight_of_the_pair_network_is_taught() -> None:
    network = small_network()
    loss = pair_loss(network, torch.randn(9, 5), torch.tensor([0, 0, 1, 1, 1, 2, 3, 3, 4]))
    loss.backward()  # type: ignore[no-untyped-call]
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


# --- pairs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [1, 200, 2**23])
def test_pairs_are_judged_alike_in_both_orders_and_in_any_blocks(
    monkeypatch: pytest.MonkeyPatch, values: int
) -> None:
    network, x = small_network(), torch.randn(11, 5)
    monkeypatch.setattr(l2cnetworks, "VALUES_AT_ONCE", values)
    found = pair_logits(network, x)
    assert torch.equal(found, found.T)
    with torch.no_grad():
        described = network.describe(x)
        assert torch.allclose(found, network(described, described), atol=1e-6)
        there, back = network(described[:4], described[4:]), network(described[4:], described[:4])
    assert torch.allclose(there, back.T, atol=1e-6)


@given(st.integers(1, 9), st.integers(1, 9))
def test_log_odds_are_counted_from_equal_sets(size: int, sets: int) -> None:
    labels = np.repeat(np.arange(sets), size)
    pairs = [labels[i] == labels[j] for i, j in combinations(range(len(labels)), 2)]
    odds = (sum(pairs) + 0.5) / (len(pairs) - sum(pairs) + 0.5)
    assert log_odds(len(labels), sets) == pytest.approx(math.log(odds))


def test_batches_hold_whole_sets_each_once_a_round() -> None:
    sets, _ = make_world(entities=10)
    batches = list(islice(l2cnetworks._batches(sets, 3, np.random.default_rng(0)), 6))
    for rows, labels in batches:
        for label in set(labels.tolist()):
            members = [sets.terms[row] for row in rows[labels == label]]
            assert tuple(members) == sets.sets[label]
    for turn in (batches[:3], batches[3:]):
        assert len({label for _, labels in turn for label in labels.tolist()}) == 9


def test_a_pairs_probability_falls_with_the_size_of_the_vocabulary(learned: TrainedL2C) -> None:
    terms = 32 * learned.settings.batch_sets
    assert log_odds(terms, terms / 3) < learned.trained_odds


def test_log_odds_are_moved_from_those_of_a_batch(
    learned: TrainedL2C, easy: ClusteringTask
) -> None:
    found = []
    for moved in (-50, 50):
        odds = learned.trained_odds + moved
        [labels] = TrainedL2C(SMALL, learned.network, odds).cluster(easy, ONE)
        found.append(len(set(labels.tolist())))
    assert found[0] == 1  # all pairs are likely now
    assert found[1] > easy.required_k / 2  # none is


# --- clustering ---------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [2**22, 500])
def test_an_easy_world_is_clustered_well(
    monkeypatch: pytest.MonkeyPatch, learned: TrainedL2C, easy: ClusteringTask, at_once: int
) -> None:
    monkeypatch.setattr(l2cnetworks, "PAIRS_AT_ONCE", at_once)
    gold, _ = make_world(entities=20, noise=0.1, seed=2)
    for labels in learned.cluster(easy, SMALL.choices):
        assert labels.dtype == np.int64
        assert labels.min() >= 0
        assert labels.max() < easy.required_k
        assert compare_labels(labels, gold.labels(easy.terms)).ari > 0.8


def test_the_start_with_the_lowest_loss_is_kept(learned: TrainedL2C, easy: ClusteringTask) -> None:
    x = l2cnetworks._inputs(easy.views.table("vectors").select(easy.terms), torch.device("cpu"))
    shift = log_odds(len(easy.terms), easy.required_k) - learned.trained_odds
    together = torch.sigmoid(pair_logits(learned.network, x) + shift)
    starts = [learned._sort(x, together, easy.required_k, 1.0, [easy.seed, i]) for i in range(2)]
    assert starts[0][0] != starts[1][0]
    [labels] = learned.cluster(easy, ONE)
    assert np.array_equal(labels, min(starts, key=lambda start: start[0])[1])


def test_the_same_seed_gives_the_same_and_leaves_other_random_numbers_alone(
    learned: TrainedL2C, easy: ClusteringTask
) -> None:
    before = torch.random.get_rng_state()
    again = SMALL.fit(data(*make_world(entities=150, noise=0.1, seed=1)))
    [labels] = again.cluster(easy, ONE)
    assert torch.equal(before, torch.random.get_rng_state())
    weights = learned.network.state_dict()
    assert all(torch.equal(w, weights[name]) for name, w in again.network.state_dict().items())
    assert np.array_equal(labels, next(learned.cluster(easy, ONE)))


def test_each_choice_stands_for_itself(learned: TrainedL2C, easy: ClusteringTask) -> None:
    together = list(learned.cluster(easy, SMALL.choices))
    alone = [next(learned.cluster(easy, [choice])) for choice in SMALL.choices]
    assert all(np.array_equal(a, b) for a, b in zip(together, alone, strict=True))


def test_methods_clusterers_and_labels_pickle(learned: TrainedL2C, easy: ClusteringTask) -> None:
    assert pickle.loads(pickle.dumps(SMALL)) == SMALL
    copied = pickle.loads(pickle.dumps(learned))
    [labels] = copied.cluster(easy, ONE)
    assert np.array_equal(labels, next(learned.cluster(easy, ONE)))


@pytest.mark.parametrize("terms", [1, 2, 5])
@pytest.mark.parametrize("sets", [1, 2, 5])
@pytest.mark.parametrize("scale", [0, 1])
def test_tiny_vocabularies_and_vectors_of_zeros(
    learned: TrainedL2C, terms: int, sets: int, scale: int
) -> None:
    names = tuple(Term(f"t{i}") for i in range(terms))
    vectors = TermVectors(names, np.full((terms, 8), scale, dtype=np.float32))
    given = ClusteringTask(terms=names, views=TermViews((vectors,)), k=sets)
    quick = TrainedL2C(QUICK, learned.network, learned.trained_odds)
    labels = list(quick.cluster(given, SMALL.choices))
    assert [found.shape for found in labels] == [(terms,)] * len(SMALL.choices)
    assert all(len(set(found.tolist())) <= sets for found in labels)


@pytest.mark.parametrize("sizes", [[2], [1, 1], [2, 1], [2, 3, 2], [1] * 30, [1] * 99 + [2] * 10])
def test_few_training_sets_are_enough_to_run(sizes: list[int]) -> None:
    random = np.random.default_rng(0)
    terms = [Term(f"t{i}") for i in range(sum(sizes))]
    labels = np.repeat(np.arange(len(sizes)), sizes).tolist()
    vectors = TermVectors(tuple(terms), random.normal(size=(len(terms), 8)).astype(np.float32))
    clusterer = QUICK.fit(data(SynonymSets.from_labels(terms, labels), vectors))
    assert math.isfinite(clusterer.trained_odds)
    given = ClusteringTask(terms=tuple(terms), views=TermViews((vectors,)), k=2)
    [found] = clusterer.cluster(given, ONE)
    assert found.shape == (len(terms),)


def test_one_training_term_has_no_pairs() -> None:
    sets = SynonymSets.of([[Term("a")]])
    vectors = TermVectors(sets.terms, np.ones((1, 3), dtype=np.float32))
    with pytest.raises(DataError, match="from fewer than two terms"):
        SMALL.fit(data(sets, vectors))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_it_runs_on_a_gpu(easy: ClusteringTask) -> None:
    clusterer = SMALL.fit(data(*make_world(entities=150, noise=0.1, seed=1), device="cuda"))
    gold, _ = make_world(entities=20, noise=0.1, seed=2)
    [labels] = clusterer.cluster(easy, ONE)
    assert compare_labels(labels, gold.labels(easy.terms)).ari > 0.8
