"""A prepared model gives the values of the plain functions."""

from __future__ import annotations

import pytest

from synsetmine.errors import DataError
from synsetmine.models import probabilities, rank
from synsetmine.types import Term
from synsetmine.views import TermViews
from tests.models.paper.test_classifier import TERMS, VECTORS, make_scorer


def test_a_set_scorer() -> None:
    scorer = make_scorer(3)
    model = scorer.prepare(TERMS, TermViews((VECTORS,)))
    for members in (TERMS[:1], TERMS[2:6], (*TERMS[:2], TERMS[0])):
        found = model.probabilities(members, TERMS)
        assert found == pytest.approx(probabilities(scorer, VECTORS, members, TERMS), abs=1e-6)
        expected = rank(scorer, VECTORS, members, TERMS, top=5)
        assert [term for term, _ in model.rank(members, top=5)] == [term for term, _ in expected]
    assert len(model.rank(TERMS[:3], top=100)) == len(TERMS) - 3
    assert model.rank(TERMS[:3], top=0) == []
    assert model.probabilities(TERMS[:1], []) == []


def test_wrong_questions() -> None:
    model = make_scorer().prepare(TERMS[:5], TermViews((VECTORS,)))
    with pytest.raises(DataError, match="a set needs at least one term"):
        model.rank([])
    with pytest.raises(DataError, match="the model does not know this term: 'name"):
        model.rank([TERMS[7]])
    with pytest.raises(DataError, match="does not know this term: 'x'"):
        model.probabilities(TERMS[:1], [Term("x")])
