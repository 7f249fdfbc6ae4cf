"""The set-instance classifier on single sets, against the plain formula."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from synsetmine.errors import DataError
from synsetmine.models import probabilities, rank
from synsetmine.models.paper.network import SetScorer
from synsetmine.types import Term
from synsetmine.views import TermVectors
from tests.support.reference import logit

quick = settings(max_examples=30, deadline=None)

TERMS = tuple(Term("name", f"sense {i}") for i in range(12))
VECTORS = TermVectors(TERMS, np.random.default_rng(5).normal(size=(12, 3)).astype(np.float32))

architectures = st.sampled_from(
    [((4, 6), (8, 6)), ((), (5, 4)), ((4, 6), ()), ((), ()), ((3,), (4, 4, 4))]
)
member_lists = st.lists(st.sampled_from(TERMS), min_size=1, max_size=6, unique=True)


def make_scorer(
    seed: int = 0, embed: Sequence[int] = (4, 6), post: Sequence[int] = (8, 6)
) -> SetScorer:
    """Random weights and biases; fresh from training, with dropout still on."""
    scorer = SetScorer(dimension=3, embed_sizes=embed, post_sizes=post, dropout=0.5, seed=seed)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for module in scorer.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.normal_(generator=random)
    return scorer.train()


def plain_probability(scorer: SetScorer, members: Sequence[Term], term: Term) -> float:
    rows = VECTORS.matrix.astype(np.float64)
    value = logit(scorer, [rows[TERMS.index(m)] for m in members], rows[TERMS.index(term)])
    return 1 / (1 + math.exp(-value))


@given(architectures, st.integers(0, 1000), member_lists)
@quick
def test_probabilities_follow_the_formula(
    sizes: tuple[tuple[int, ...], tuple[int, ...]], seed: int, members: list[Term]
) -> None:
    scorer = make_scorer(seed, *sizes)
    found = probabilities(scorer, VECTORS, members, TERMS)
    expected = [plain_probability(scorer, members, term) for term in TERMS]
    assert found == pytest.approx(expected, rel=0, abs=1e-5)


@given(st.data(), member_lists)
@quick
def test_the_order_of_members_does_not_matter(data: st.DataObject, members: list[Term]) -> None:
    shuffled = data.draw(st.permutations(members))
    scorer = make_scorer()
    found = probabilities(scorer, VECTORS, shuffled, TERMS)
    assert found == pytest.approx(probabilities(scorer, VECTORS, members, TERMS), rel=0, abs=1e-6)


@given(st.data(), st.integers(1, 13))
@quick
def test_each_term_has_its_own_probability_whatever_it_is_asked_with(
    data: st.DataObject, rows_at_once: int
) -> None:
    asked = data.draw(st.lists(st.sampled_from(TERMS), max_size=20))
    scorer, members = make_scorer(), TERMS[:3]
    alone = [probabilities(scorer, VECTORS, members, [term])[0] for term in asked]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synsetmine.models.paper.network.ROWS_AT_ONCE", rows_at_once)
        found = probabilities(scorer, VECTORS, members, asked)
    assert found == pytest.approx(alone, rel=0, abs=1e-6)


def test_terms_are_kept_apart_by_their_vectors_and_not_by_their_senses() -> None:
    assert len(set(probabilities(make_scorer(), VECTORS, TERMS[:2], TERMS))) > 6
    same = TermVectors(TERMS, np.ones((12, 3), np.float32))
    assert len(set(probabilities(make_scorer(), same, TERMS[:2], TERMS))) == 1


def test_nothing_depends_on_dropout_or_on_the_random_state() -> None:
    scorer = make_scorer()
    found = [probabilities(scorer.train(), VECTORS, TERMS[:2], TERMS) for _ in range(3)]
    assert found[0] == found[1] == found[2]


def test_no_terms_have_no_probabilities() -> None:
    assert probabilities(make_scorer(), VECTORS, TERMS[:2], []) == []


def test_no_members_are_no_set() -> None:
    for ask in (probabilities, rank):
        with pytest.raises(DataError, match="at least one term"):
            ask(make_scorer(), VECTORS, [], TERMS)


def test_unknown_terms_are_named() -> None:
    stranger = Term("stranger")
    for members, terms in (([stranger], TERMS), (TERMS[:2], [*TERMS, stranger])):
        with pytest.raises(DataError, match="does not know this term: 'stranger'"):
            probabilities(make_scorer(), VECTORS, members, terms)


@given(st.integers(0, 1000), member_lists, st.integers(0, 20))
@quick
def test_the_best_others_are_ranked(seed: int, members: list[Term], top: int) -> None:
    scorer = make_scorer(seed)
    found = rank(scorer, VECTORS, members, TERMS, top=top)
    scores = [score for _, score in found]
    others = [term for term in TERMS if term not in members]
    assert len(found) == min(top, len(others))
    assert {term for term, _ in found} <= set(others)
    assert scores == sorted(scores, reverse=True)
    known = dict(zip(others, probabilities(scorer, VECTORS, members, others), strict=True))
    assert scores == pytest.approx([known[term] for term, _ in found], abs=1e-6)
    left_out = [known[term] for term in others if term not in dict(found)]
    assert not scores or max(left_out, default=0) <= scores[-1]


def test_ten_are_ranked_unless_set_and_only_from_the_vocabulary() -> None:
    assert len(rank(make_scorer(), VECTORS, TERMS[:1], TERMS)) == 10
    found = rank(make_scorer(), VECTORS, TERMS[:1], TERMS[:4])
    assert {term for term, _ in found} == set(TERMS[1:4])


def test_equals_keep_the_order_of_the_vocabulary() -> None:
    vectors = TermVectors(TERMS, np.ones((12, 3), np.float32))
    vocabulary = [TERMS[i] for i in (5, 3, 9, 1)]
    found = rank(make_scorer(), vectors, TERMS[:1], vocabulary)
    assert [term for term, _ in found] == vocabulary


def test_members_need_not_be_in_the_vocabulary_nor_stay_out_of_it() -> None:
    assert rank(make_scorer(), VECTORS, TERMS[:2], TERMS[:2]) == []
