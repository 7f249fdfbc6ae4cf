"""What a text and the words say of pairs of unknown terms."""

from __future__ import annotations

import numpy as np
import pytest

from synsetmine.models.general import load_general
from synsetmine.models.general.pair_evidence import DEFINED, DOUBTFUL, RULED_OUT, Statements
from synsetmine.text.kinds import DifferingWords
from synsetmine.types import Term
from synsetmine.views import TermViews
from tests.support.nameworlds import evidence_of

NAMES = (
    "DWI",
    "PWI",
    "diffusion-weighted imaging",
    "sensor A",
    "sensor B",
    "cats",
    "dogs",
    "felines",
)
TEXTS = (
    "We used diffusion-weighted imaging (DWI) here.",
    "We used perfusion-weighted imaging (PWI) here.",
    "There were cats and dogs.",
    "There were cats and felines.",
    "There were cats (felines) too.",
)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("DWI", "diffusion-weighted imaging", DEFINED),
        ("DWI", "PWI", RULED_OUT),  # defined as two things
        ("sensor A", "sensor B", RULED_OUT),  # siblings
        ("cats", "dogs", RULED_OUT),  # the text lists both
        ("cats", "felines", 1.0),  # the text equates both once
        ("dogs", "felines", 1.0),  # the text says nothing
    ],
)
def test_statements_change_the_log_odds_of_a_pair(one: str, other: str, expected: float) -> None:
    statements = Statements(NAMES, evidence_of(list(TEXTS), list(NAMES)), DifferingWords())
    for left, right in ((one, other), (other, one)):
        places = np.array([NAMES.index(left)]), np.array([NAMES.index(right)])
        assert statements.judge(*places, np.array([1.0], np.float32)).tolist() == [expected]


def test_a_higher_value_stays_and_a_doubtful_pair_is_not_looked_at() -> None:
    statements = Statements(NAMES, evidence_of(list(TEXTS), list(NAMES)), DifferingWords())
    left, right = np.array([0, 0]), np.array([2, 1])
    values = np.array([DEFINED + 1, DOUBTFUL - 1], np.float32)
    assert statements.judge(left, right, values).tolist() == values.tolist()


def test_no_group_holds_two_things() -> None:
    names = ["MI", "mean interval", "median interval"]
    texts = ["The mean interval (MI) fell.", "The median interval (MI) fell."]
    terms = [Term(name) for name in names]
    views = TermViews(evidence=evidence_of(texts, names))
    groups = load_general().prepare(terms, views).generate(threshold=0.1).sets
    assert sorted(map(len, groups)) == [1, 2]
    assert groups.label_of(terms[1]) != groups.label_of(terms[2])
