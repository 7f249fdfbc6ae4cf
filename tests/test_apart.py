"""Terms that must not come together: in our own model's sets, and in the paper's one pass."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.generation import Mined, generate_sets
from synsetmine.generation.bysize import mine_by_size
from synsetmine.generation.graphsets import GraphSets
from synsetmine.generation.parts import Task, mine_graph, mine_task
from synsetmine.model import ViewScorer
from synsetmine.training.viewtraining import ViewSettings, train_views
from synsetmine.types import SynonymSets, Term
from synsetmine.workers import WorkerPool
from tests.reference import one_pass, settled
from tests.test_generation import as_numbers, make_integer_scorer, make_scorer, table
from tests.test_graphsets import BAR, Matrix, graph, odds, partition, sets_of
from tests.viewworlds import name_world

Pairs = list[tuple[int, int]]


@st.composite
def some_pairs(draw: st.DrawFn, count: int) -> Pairs:
    every = list(combinations(range(count), 2))
    return draw(st.lists(st.sampled_from(every), unique=True, max_size=6)) if every else []


def split_seeds(count: int, known: int) -> tuple[int, list[list[int]]]:
    """How many terms are new, and two seeds of the last `known`."""
    first = max(count - known, 0)
    seeds = [[*range(first, count, 2)], [*range(first + 1, count, 2)]]
    return first, [members for members in seeds if members]


def is_kept(sets: set[frozenset[int]], pairs: Pairs, seeds: list[list[int]]) -> bool:
    given_together = {frozenset(pair) for seed in seeds for pair in combinations(seed, 2)}
    return not any(
        {a, b} <= members for members in sets for a, b in pairs if {a, b} not in given_together
    )


@settings(deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([-2.0, -0.5, 0.5]), st.integers(0, 4), st.data())
def test_our_sets_are_those_of_the_plain_algorithm(
    seed: int, bar: float, known: int, data: st.DataObject
) -> None:
    chance = np.random.default_rng(seed)  # no two means are equal
    matrix = np.triu(chance.random((9, 9)) * 3 * (chance.random((9, 9)) < 0.7), 1)
    matrix = matrix + matrix.T
    pairs = data.draw(some_pairs(9))
    count, seeds = split_seeds(9, known)
    walk = GraphSets(graph(matrix), range(count), bar, seeds=seeds, apart=pairs)
    walk.settle()
    assert partition(walk) == settled(matrix, bar, seeds=seeds, apart=pairs)


@settings(deadline=None)
@given(
    odds(12), st.sampled_from([-1.0, 0.0, 0.7]), st.integers(0, 5), st.integers(1, 60), st.data()
)
def test_parts_give_what_the_whole_gives_and_no_forbidden_pair(
    matrix: Matrix, bar: float, known: int, edges: int, data: st.DataObject
) -> None:
    pairs = data.draw(some_pairs(len(matrix)))
    count, seeds = split_seeds(len(matrix), known)
    whole = sets_of(mine_task(Task(graph(matrix), count, seeds, bar, pairs)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synsetmine.generation.parts.EDGES", edges)
        found = sets_of(mine_graph(graph(matrix), count, bar, seeds=seeds, apart=pairs))
    assert found == whole
    assert is_kept(found, pairs, seeds)


@settings(deadline=None)
@given(odds(10), st.integers(1, 4), st.data())
def test_a_cap_on_sets_gives_way(matrix: Matrix, most: int, data: st.DataObject) -> None:
    pairs = data.draw(some_pairs(len(matrix)))
    outcome = mine_by_size(graph(matrix), len(matrix), BAR, apart=pairs, max_sets=most)
    assert is_kept({frozenset(members) for members in outcome.members}, pairs, [])


@settings(deadline=None)
@given(odds(10), st.data())
def test_no_forbidden_set_is_named_as_the_best(matrix: Matrix, data: st.DataObject) -> None:
    pairs = data.draw(some_pairs(len(matrix)))
    outcome = mine_by_size(graph(matrix), len(matrix), BAR, apart=pairs)
    for term, (best, _, action) in enumerate(outcome.decisions):
        members = set(outcome.members[best]) if best >= 0 else set()
        assert (term in members) == (action != "opened")
        assert is_kept({frozenset(members | {term})}, [p for p in pairs if term in p], [])


@pytest.mark.slow
def test_processes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.generation.parts.EDGES", 50)
    chance = np.random.default_rng(0)
    matrix = np.triu(chance.random((300, 300)) * 4 * (chance.random((300, 300)) < 0.004), 1)
    strong = [(int(a), int(b)) for a, b in zip(*np.nonzero(matrix > 2), strict=True)]
    matrix = matrix + matrix.T
    alone = mine_graph(graph(matrix), 300, 0.0, apart=strong[::2])
    with WorkerPool(2) as pool:
        several = mine_graph(graph(matrix), 300, 0.0, apart=strong[::2], pool=pool)
    np.testing.assert_array_equal(several, alone)
    assert is_kept(sets_of(alone), strong[::2], [])
    assert sets_of(alone) != sets_of(mine_graph(graph(matrix), 300, 0.0))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    whole=st.booleans(),
    known=st.integers(0, 6),
    block_size=st.integers(1, 20),
    threshold=st.sampled_from([0.2, 0.5]),
    max_sets=st.one_of(st.none(), st.integers(2, 5)),
    data=st.data(),
)
def test_the_one_pass_equals_the_plain_algorithm(
    seed: int,
    whole: bool,
    known: int,
    block_size: int,
    threshold: float,
    max_sets: int | None,
    data: st.DataObject,
) -> None:
    chance = np.random.default_rng(seed)
    matrix = chance.integers(-2, 3, (14, 3)) if whole else chance.normal(size=(14, 3))
    vectors = table(matrix.astype(np.float32))
    scorer = make_integer_scorer(seed) if whole else make_scorer(seed, (4, 6), (8, 6))
    pairs = data.draw(some_pairs(14))
    count, seeds = split_seeds(14, known)
    mined = generate_sets(
        scorer,
        vectors,
        vectors.terms[:count],
        seeds=SynonymSets.of([[vectors.terms[t] for t in members] for members in seeds]),
        apart=[(vectors.terms[a], vectors.terms[b]) for a, b in pairs],
        threshold=threshold,
        max_sets=max_sets,
        block_size=block_size,
    )
    expected = one_pass(
        scorer,
        vectors.matrix,
        bar=np.log(threshold / (1 - threshold)),
        max_sets=max_sets,
        seeds=seeds,
        skip=14 - count,
        apart=pairs,
    )
    assert as_numbers(mined.sets) == expected
    assert is_kept({frozenset(members) for members in expected}, pairs, seeds)


@pytest.fixture(scope="module")
def trained() -> ViewScorer:
    sets, views = name_world(40, seed=1)
    return train_views(sets, views, ViewSettings(views=("vectors", "strings"))).scorer


def mine(
    scorer: ViewScorer, apart: list[tuple[Term, Term]], seeds: SynonymSets | None = None
) -> Mined:
    sets, views = name_world(15, seed=2)
    return generate_sets(scorer, views, sets.terms, apart=apart, seeds=seeds)


def test_our_model_keeps_terms_apart(trained: ViewScorer) -> None:
    plain = mine(trained, [])
    together = next(members for members in plain.sets if len(members) > 1)
    apart = mine(trained, [(together[1], together[0]), (Term("unknown"), together[0])])
    assert apart.sets.label_of(together[0]) != apart.sets.label_of(together[1])
    assert set(apart.sets.terms) == set(plain.sets.terms)


def test_a_seed_refuses_for_its_terms_without_vectors_too() -> None:
    """The seed is known by one of its terms; the other one speaks through it."""
    scorer = make_scorer(1, (4, 6), (8, 6))
    vectors = table(np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32))
    seeds = SynonymSets.of([[Term("silent"), vectors.terms[5]]], ["E"])
    walk = vectors.terms[:5]
    everywhere = generate_sets(scorer, vectors, walk, seeds=seeds, threshold=0.0)
    assert len(everywhere.sets) == 1
    kept = generate_sets(
        scorer, vectors, walk, seeds=seeds, threshold=0.0, apart=[(walk[2], Term("silent"))]
    )
    assert kept.sets.sets[0][:4] == (Term("silent"), vectors.terms[5], *walk[:2])
    assert walk[2] not in kept.sets.sets[0]
    assert kept.sets.sets[1][0] == walk[2]


def test_a_pair_within_a_seed_stays(trained: ViewScorer) -> None:
    sets, _ = name_world(15, seed=2)
    one, other, *_ = sets.sets[0]
    found = mine(trained, [(one, other)], seeds=SynonymSets.of([[one, other]], ["E"]))
    assert found.sets.label_of(one) == found.sets.label_of(other)
