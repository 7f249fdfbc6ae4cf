"""Set generation in whatever world: a partition of the vocabulary that keeps what it was told.

Both scorers, with terms that stand there twice or have no vector, seeds, pairs to keep apart, a
cap on the sets, and vectors and odds as extreme as float32 allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.runs import general_model
from synsetmine.models import MiningResult, generate_sets
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors
from tests.models.paper.test_generation import in_blocks, make_integer_scorer, make_scorer
from tests.support.reference import one_pass
from tests.support.strategies import term_lists

THRESHOLDS = (0.0, 5e-324, 0.2, 0.5, 0.9, 1 - 2**-53, 1.0)


@dataclass(frozen=True)
class World:
    """What set generation is asked, and the vectors of those terms that have one."""

    vectors: TermVectors
    vocabulary: tuple[Term, ...]
    seeds: SynonymSets
    apart: tuple[tuple[Term, Term], ...]
    max_sets: int | None
    threshold: float

    @property
    def new(self) -> list[Term]:
        return [term for term in dict.fromkeys(self.vocabulary) if term not in self.seeds]

    @property
    def options(self) -> dict[str, Any]:
        return {
            "seeds": self.seeds,
            "cannot_link": self.apart,
            "max_sets": self.max_sets,
            "threshold": self.threshold,
        }


@st.composite
def worlds(draw: st.DrawFn, *, dimension: int = 3, largest: float | None = None) -> World:
    """Vectors of numbers up to `largest`, by default as large as float32 allows."""
    terms = draw(term_lists(14))
    with_vector = terms[: draw(st.integers(1, len(terms)))]
    least = None if largest is None else -largest
    number = st.floats(
        least, largest, width=32, allow_nan=False, allow_infinity=False
    ) | st.integers(-2, 2)
    row = st.lists(number, min_size=dimension, max_size=dimension)
    rows = draw(st.lists(row, min_size=len(with_vector), max_size=len(with_vector)))
    order = draw(st.permutations(terms))
    vocabulary = draw(st.lists(st.sampled_from(order), max_size=20))
    labels = draw(st.lists(st.integers(0, 3), max_size=6))
    seeded = order[: len(labels)]
    groups = SynonymSets.from_labels(seeded, labels[: len(seeded)]).sets
    ids = draw(st.permutations(["s0", "s1", "E:1", "x"]))  # some are those of new sets too
    seeds = SynonymSets.of(groups, ids[: len(groups)])
    pair = st.tuples(st.sampled_from(terms), st.sampled_from(terms))
    return World(
        TermVectors(tuple(with_vector), np.array(rows, np.float32)),
        tuple(vocabulary),
        seeds,
        tuple(draw(st.lists(pair, max_size=5))),
        draw(st.none() | st.integers(max(len(seeds), 1), 6)),
        draw(st.sampled_from(THRESHOLDS)),
    )


def check(mined: MiningResult, world: World) -> None:
    """What holds whatever the scorer thinks."""
    new, seeds, sets = world.new, world.seeds, mined.sets
    assert set(sets.terms) == {*world.vocabulary, *seeds.terms}
    for set_id, members in zip(seeds.ids, seeds, strict=True):
        assert sets.sets[sets.ids.index(set_id)][: len(members)] == members
    assert [decision.term for decision in mined.trace] == new
    assert mined.without_vector == tuple(term for term in new if term not in world.vectors)
    assert all(sets.set_of(term) == (term,) for term in mined.without_vector)
    for one, other in world.apart:
        if one != other and one in sets and other in sets and not _in_one_seed(one, other, seeds):
            assert sets.label_of(one) != sets.label_of(other)
    for decision in mined.trace:
        assert decision.best_set is None or decision.best_set in sets.ids
        stays = decision.action in ("joined", "forced")
        home = sets.ids[sets.label_of(decision.term)]
        assert not stays or home == decision.best_set


def _in_one_seed(one: Term, other: Term, seeds: SynonymSets) -> bool:
    return one in seeds and other in seeds.set_of(one)


# --- The paper's scorer ---


@settings(max_examples=100, deadline=None)
@given(worlds(), st.integers(0, 10_000), st.booleans(), st.integers(1, 20))
def test_the_one_pass(world: World, seed: int, whole: bool, block_size: int) -> None:
    scorer = make_integer_scorer(seed) if whole else make_scorer(seed, (4, 6), (8, 6))
    mined = in_blocks(scorer, world.vectors, world.vocabulary, block_size, **world.options)
    check(mined, world)
    if world.max_sets is not None and not world.apart:
        # A seed without vectors is a set too, but none that a term could join.
        silent = sum(all(term not in world.vectors for term in s) for s in world.seeds)
        judged = len(mined.sets) - len(mined.without_vector)
        assert judged <= max(world.max_sets, silent + 1)


@settings(max_examples=100, deadline=None)
@given(worlds(largest=1024.0), st.integers(0, 10_000), st.integers(1, 20))
def test_the_one_pass_is_the_plain_algorithm(world: World, seed: int, block_size: int) -> None:
    """With duplicate terms and terms without vectors, which the plain one does not have.

    Beyond numbers of a thousand or so the rounding of float32 outweighs the threshold.
    """
    scorer = make_scorer(seed, (4, 6), (8, 6))
    mined = in_blocks(scorer, world.vectors, world.vocabulary, block_size, **world.options)
    walked = [term for term in world.new if term in world.vectors]
    seeded = [term for term in world.seeds.terms if term in world.vectors]
    numbers = {term: number for number, term in enumerate([*walked, *seeded])}
    known = [[numbers[t] for t in members if t in numbers] for members in world.seeds]
    room = None
    if world.max_sets is not None:
        room = world.max_sets - sum(not members for members in known)
    expected = one_pass(
        scorer,
        world.vectors.matrix[world.vectors.rows([*walked, *seeded])],
        bar=_log_odds(world.threshold),
        max_sets=room,
        seeds=[members for members in known if members],
        skip=len(seeded),
        apart=_numbered(world, numbers),
    )
    found = {frozenset(numbers[t] for t in members if t in numbers) for members in mined.sets}
    assert found - {frozenset()} == {frozenset(members) for members in expected}


def _log_odds(threshold: float) -> float:
    if threshold in (0.0, 1.0):
        return -math.inf if threshold == 0 else math.inf
    return math.log(threshold) - math.log1p(-threshold)


def _numbered(world: World, numbers: dict[Term, int]) -> set[tuple[int, int]]:
    """The pairs; for a seed's term without a vector another one of the seed speaks."""

    def spoken_for(term: Term) -> int | None:
        if term in numbers or term not in world.seeds:
            return numbers.get(term)
        return next((numbers[t] for t in world.seeds.set_of(term) if t in numbers), None)

    pairs = ((spoken_for(one), spoken_for(other)) for one, other in world.apart)
    return {(a, b) for a, b in pairs if a is not None and b is not None and a != b}


# --- The general model ---


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(worlds(dimension=2), st.integers(0, 10_000))
def test_sets_of_extreme_vectors(world: World, seed: int) -> None:
    mined = generate_sets(general_model(seed), world.vectors, world.vocabulary, **world.options)
    check(mined, world)
