"""What the trace tells of terms that joined a set: kind, relation and sentences."""

from __future__ import annotations

import pytest

from synsetmine.io.sets import Action, Decision, Quote
from synsetmine.models.known import KnownSets
from synsetmine.models.task import MiningResult
from synsetmine.pipeline.mining import SENTENCES, describe_joins
from synsetmine.types import SynonymSets, Term
from tests.support.nameworlds import evidence_of

KNOWN = SynonymSets.of(
    [map(Term, ("magnetic resonance imaging", "NMR imaging")), [Term("heart failure")]],
    ["M", "H"],
)


def mined(*joined: tuple[str, str], others: tuple[Decision, ...] = ()) -> MiningResult:
    """The known sets with further terms, and decisions of terms that stand alone."""
    members = {i: list(names) for i, names in zip(KNOWN.ids, KNOWN, strict=True)}
    for term, set_id in joined:
        members.setdefault(set_id, []).append(Term(term))
    members |= {f"s{number}": [decision.term] for number, decision in enumerate(others)}
    trace = tuple(Decision(Term(term), set_id, 0.8, "joined") for term, set_id in joined)
    sets = SynonymSets.of(members.values(), members.keys())
    return MiningResult(sets, (*trace, *others), (), KnownSets(KNOWN, {}))


SENTENCE = "We used magnetic resonance imaging (MRI) and NMR imaging (MRI) here."


def test_joined_terms_are_described_by_the_known_names() -> None:
    evidence = evidence_of(
        [SENTENCE, "MRI/heart failure."], ["MRI", *(t.surface for t in KNOWN.terms)]
    )
    result = mined(
        ("MRI", "M"), ("MRIs", "M"), ("acute heart failure", "H"), ("heart failures", "H")
    )
    trace = {d.term.surface: d for d in describe_joins(result, evidence).trace}
    mri = trace["MRI"]
    assert (mri.kind, mri.relation) == ("abbreviation", "exact")
    assert mri.nearest == "magnetic resonance imaging"
    assert mri.evidence[0] == Quote("abbreviation", "d0", SENTENCE)
    assert {quote.document for quote in mri.evidence} == {"d0"}  # none of another set's names
    # "MRI" is new as well: "MRIs" is compared with the known names alone.
    assert trace["MRIs"].nearest in ("magnetic resonance imaging", "NMR imaging")
    assert trace["MRIs"].evidence == ()
    assert (trace["acute heart failure"].kind, trace["acute heart failure"].relation) == (
        "other-words",
        "narrow",
    )
    assert trace["heart failures"].kind == "inflection"


def test_definitions_come_first_and_no_more_than_a_few_sentences() -> None:
    texts = [f"MRI/NMR imaging, case {number}." for number in range(5)]
    evidence = evidence_of([*texts, SENTENCE], ["MRI", "NMR imaging"])
    (decision,) = describe_joins(mined(("MRI", "M")), evidence).trace
    assert len(decision.evidence) == SENTENCES
    relations = [quote.relation for quote in decision.evidence]
    assert relations[0] == "abbreviation"
    assert relations == sorted(relations)


@pytest.mark.parametrize("action", ["opened", "no vector"])
def test_terms_that_stand_alone_stay_as_they_are(action: Action) -> None:
    alone = Decision(Term("resonance"), "M", 0.2, action, nearest="NMR imaging")
    assert describe_joins(mined(others=(alone,)), None).trace == (alone,)


def test_without_known_names_the_other_members_count() -> None:
    sets = SynonymSets.of([map(Term, ("colour", "color", "colors"))], ["s0"])
    trace = tuple(Decision(term, "s0", 0.9, "joined") for term in sets.terms)
    described = describe_joins(MiningResult(sets, trace, ()), None).trace
    assert [(d.kind, d.nearest) for d in described] == [
        ("spelling", "color"),
        ("spelling", "colour"),
        ("inflection", "colour"),  # the first of two that are spelled alike
    ]
