"""What a text and the words say of pairs of unknown terms."""

from __future__ import annotations

import numpy as np
import pytest

from synsetmine.models.general import load_general
from synsetmine.models.general.pair_evidence import (
    DEFINED,
    DOUBTFUL,
    POSSIBLE,
    RULED_OUT,
    Statements,
    rule_out_opposites,
)
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
    "cat",
)
TEXTS = (
    "We used diffusion-weighted imaging (DWI) here.",
    "We used perfusion-weighted imaging (PWI) here.",
    "There were cats and dogs.",
    "There were cats and felines.",
    "There were cats (felines) too.",
    "There were cat and cats.",
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
        ("cat", "cats", 1.0),  # a list of a name and its plural opposes nothing
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


def test_opposites_of_a_list_are_ruled_out() -> None:
    """Where no text is known; a doubtful pair is not looked at, a mere likeness stays."""
    names = ["hypertension", "hypotension", "male rats", "female rats", "high blood pressure"]
    left, right = np.array([0, 2, 2, 0]), np.array([1, 3, 3, 4])
    values = np.array([2, 1, POSSIBLE - 1, 1], np.float32)
    judged = rule_out_opposites(names, left, right, values)
    assert judged.tolist() == [RULED_OUT, RULED_OUT, POSSIBLE - 1, 1]


@pytest.mark.parametrize("contexts", [False, True])
def test_no_group_of_a_list_holds_opposites(contexts: bool) -> None:
    """The general model alone gives these pairs 0.7 to 0.95."""
    pairs = [
        *(("hypertension", "hypotension"), ("hyperthyroidism", "hypothyroidism")),
        *(("male rats", "female rats"), ("inclusion criteria", "exclusion criteria")),
        *(("Hodgkin lymphoma", "non-Hodgkin lymphoma"), ("left lung", "right lung")),
    ]
    terms = [Term(name) for pair in pairs for name in (*pair, f"{pair[0]}s")]
    sentences = {term: [f"The {term.surface} was studied."] for term in terms}
    views = TermViews(contexts=sentences if contexts else None)
    mined = load_general().prepare(terms, views).generate()
    for one, other in pairs:
        assert mined.sets.label_of(Term(one)) != mined.sets.label_of(Term(other))
    assert mined.sets.label_of(Term("left lung")) == mined.sets.label_of(Term("left lungs"))


def test_no_group_holds_two_things() -> None:
    names = ["MI", "mean interval", "median interval"]
    texts = ["The mean interval (MI) fell.", "The median interval (MI) fell."]
    terms = [Term(name) for name in names]
    views = TermViews(evidence=evidence_of(texts, names))
    groups = load_general().prepare(terms, views).generate(threshold=0.1).sets
    assert sorted(map(len, groups)) == [1, 2]
    assert groups.label_of(terms[1]) != groups.label_of(terms[2])
