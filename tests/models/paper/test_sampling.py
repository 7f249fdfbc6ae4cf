"""Drawing pairs: the formula of the paper, never a positive by accident, the same by seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.io.sets import read_sets
from synsetmine.models.paper.pairs import PairSampler, SetInstancePairs
from synsetmine.models.paper.settings import Strategy
from synsetmine.normalization import tokens
from synsetmine.types import SynonymSets, Term

STRATEGIES: tuple[Strategy, ...] = ("complete-random", "share-token", "mixture")
words = st.sampled_from(["new", "york", "city", "old", "town", "north", "south"])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[SynonymSets, list[Term]]:
    """Sets of terms made of a few words, so that many share a token, and some further terms."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=8).filter(lambda s: max(s) > 1))
    sets = [
        [
            Term("_".join(draw(st.lists(words, min_size=1, max_size=3))), f"{i}.{j}")
            for j in range(n)
        ]
        for i, n in enumerate(sizes)
    ]
    further = [Term(draw(words), f"x{i}") for i in range(draw(st.integers(0, 3)))]
    return SynonymSets.of(sets), further


def set_terms(pairs: SetInstancePairs, row: int, terms: tuple[Term, ...]) -> list[Term]:
    count = int(pairs.mask[row].sum())
    return [terms[i] for i in pairs.members[row, :count].tolist()]


def share_a_token(members: list[Term], term: Term) -> bool:
    held = {token for member in members for token in tokens(member.surface)}
    return bool(held & set(tokens(term.surface)))


@settings(max_examples=80, deadline=None)
@given(
    world=worlds(), strategy=st.sampled_from(STRATEGIES), k=st.integers(1, 7), seed=st.integers()
)
def test_pairs_are_what_the_paper_says(
    world: tuple[SynonymSets, list[Term]], strategy: Strategy, k: int, seed: int
) -> None:
    groups, further = world
    sets = SynonymSets.of([*groups, *([term] for term in further)])
    sampler = PairSampler(sets, negatives=k, strategy=strategy)
    pairs = sampler.draw(seed % 2**31)
    assert set(sampler.terms) == set(sets.terms)
    random_draws = {"complete-random": k, "share-token": 0, "mixture": (k + 1) // 2}[strategy]
    used = []
    for row in range(len(pairs)):
        members = set_terms(pairs, row, sampler.terms)
        held_out, *negatives = (sampler.terms[i] for i in pairs.candidates[row].tolist())
        whole = sets.set_of(held_out)
        used.append(whole)
        assert members
        assert len(set(members)) == len(members)
        assert set(members) | {held_out} <= set(whole)
        assert held_out not in members
        assert len(negatives) == k
        assert not set(negatives) & set(whole)
        partner_exists = any(
            share_a_token(members, t) for t in sampler.terms if t not in set(whole)
        )
        if partner_exists:
            assert all(share_a_token(members, t) for t in negatives[random_draws:])
    assert sorted(used) == sorted(members for members in sets if len(members) > 1)


@settings(max_examples=30, deadline=None)
@given(world=worlds(), strategy=st.sampled_from(STRATEGIES))
def test_the_same_seed_draws_the_same(
    world: tuple[SynonymSets, list[Term]], strategy: Strategy
) -> None:
    sampler = PairSampler(world[0], negatives=3, strategy=strategy)
    first, second = sampler.draw(5), sampler.draw(5)
    assert torch.equal(first.candidates, second.candidates)
    assert torch.equal(first.members, second.members)


def test_another_seed_draws_something_else() -> None:
    sets = SynonymSets.of([[Term(f"a{i}"), Term(f"b{i}")] for i in range(50)])
    sampler = PairSampler(sets, negatives=5)
    assert not torch.equal(sampler.draw(1).candidates, sampler.draw(2).candidates)


def test_draws_are_uniform() -> None:
    sets = SynonymSets.of([[Term("a"), Term("b"), Term("c")], [Term("d")], [Term("e"), Term("f")]])
    sampler = PairSampler(sets, negatives=1000)
    held_out: Counter[Term] = Counter()
    sizes: Counter[int] = Counter()
    negatives: Counter[Term] = Counter()
    for seed in range(300):
        pairs = sampler.draw(seed)
        for row in range(len(pairs)):
            term, *others = (sampler.terms[i] for i in pairs.candidates[row].tolist())
            if term.surface in "abc":
                held_out[term] += 1
                sizes[int(pairs.mask[row].sum())] += 1
                negatives.update(others)
    assert all(60 < held_out[Term(x)] < 140 for x in "abc")  # 100 expected
    assert all(110 < sizes[n] < 190 for n in (1, 2))  # 150 expected
    assert set(negatives) == {Term("d"), Term("e"), Term("f")}
    assert all(abs(count - 100_000) < 2_000 for count in negatives.values())


def test_partners_are_drawn_uniformly_over_shared_tokens() -> None:
    # {new_york, york_city} shares york with north_york and old_york, city with city_hall.
    sets = SynonymSets.of(
        [
            [Term("new_york"), Term("york_city")],
            [Term("north_york"), Term("old_york")],
            [Term("city_hall"), Term("lonely")],
        ]
    )
    sampler = PairSampler(sets, negatives=3000, strategy="share-token")
    found: Counter[str] = Counter()
    for seed in range(40):
        pairs = sampler.draw(seed)
        for row in range(len(pairs)):
            members = [term.surface for term in set_terms(pairs, row, sampler.terms)]
            if members == ["york_city"]:
                found.update(sampler.terms[i].surface for i in pairs.candidates[row, 1:].tolist())
    assert set(found) == {"north_york", "old_york", "city_hall"}
    total = sum(found.values())
    assert all(abs(count / total - 1 / 3) < 0.02 for count in found.values())


def test_fallbacks_are_counted(nyt: Path) -> None:
    sampler = PairSampler(read_sets(nyt / "train-cold.set"), negatives=20, strategy="share-token")
    pairs = sampler.draw(0)
    assert pairs.share_token_draws == 1273 * 20
    assert 0.55 < int(pairs.fallbacks) / pairs.share_token_draws < 0.65


def test_a_lonely_set_is_drawn_for_at_random() -> None:
    sets = SynonymSets.of([[Term("a"), Term("b")], [Term("c"), Term("d")]])
    pairs = PairSampler(sets, negatives=4, strategy="share-token").draw(0)
    assert int(pairs.fallbacks) == pairs.share_token_draws == 8


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([["a"], ["b"]], "at least one set of two or more terms"),
        ([["a", "b"]], "at least two sets"),
    ],
)
def test_sets_that_cannot_train_are_refused(sets: list[list[str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        PairSampler(SynonymSets.of([[Term(t) for t in members] for members in sets]))
