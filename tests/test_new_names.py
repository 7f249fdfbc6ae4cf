"""What a run says of its new names: kind, relation and sentences of each, counts, expectations."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.models.description import SENTENCES, describe_joins
from synsetmine.models.known import KnownSets
from synsetmine.models.rehearsal import Rehearsal
from synsetmine.models.task import Mined
from synsetmine.pipeline.new_names import LEVELS, NewNames
from synsetmine.trace import Action, Decision, Quote
from synsetmine.types import SynonymSets, Term
from tests.nameworlds import evidence_of
from tests.strategies import rehearsals

KNOWN = SynonymSets.of(
    [map(Term, ("magnetic resonance imaging", "NMR imaging")), [Term("heart failure")]],
    ["M", "H"],
)


def mined(*joined: tuple[str, str], others: tuple[Decision, ...] = ()) -> Mined:
    """The known sets with further terms, and decisions of terms that stand alone."""
    members = {i: list(names) for i, names in zip(KNOWN.ids, KNOWN, strict=True)}
    for term, set_id in joined:
        members.setdefault(set_id, []).append(Term(term))
    members |= {f"s{number}": [decision.term] for number, decision in enumerate(others)}
    trace = tuple(Decision(Term(term), set_id, 0.8, "joined") for term, set_id in joined)
    sets = SynonymSets.of(members.values(), members.keys())
    return Mined(sets, (*trace, *others), (), KnownSets(KNOWN, {}))


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
    described = describe_joins(Mined(sets, trace, ()), None).trace
    assert [(d.kind, d.nearest) for d in described] == [
        ("spelling", "color"),
        ("spelling", "colour"),
        ("inflection", "colour"),  # the first of two that are spelled alike
    ]


def test_a_nearest_name_that_the_model_has_named_stays() -> None:
    result = mined(("MRI", "M"))
    decision = Decision(Term("MRI"), "M", 0.8, "joined", nearest="NMR imaging")
    described = describe_joins(Mined(result.sets, (decision,), (), result.known), None)
    assert described.trace[0].nearest == "NMR imaging"


def rehearsal(probabilities: list[float], right: list[bool]) -> Rehearsal:
    ones = np.ones(len(right), np.bool_)
    return Rehearsal(np.array(probabilities), np.array(right), ones, ones, np.ones(len(right)))


@pytest.mark.parametrize(
    ("probabilities", "entities", "sentence"),
    [
        ((), 0, "0 new names for 0 entities; at 0.9 and above 0, of which about 0"),
        ((0.95,), 1, "1 new name for 1 entity; at 0.9 and above 1, of which about 1"),
        (
            (0.9, 0.95, 0.95, 0.5),
            2,
            "4 new names for 2 entities; at 0.9 and above 3, of which about 3",
        ),
        (
            (0.9,) * 1000,
            900,
            "1,000 new names for 900 entities; at 0.9 and above 1,000, of which about 900",
        ),
    ],
)
def test_the_closing_sentence(
    probabilities: tuple[float, ...], entities: int, sentence: str
) -> None:
    names = NewNames(probabilities, entities, rehearsal([0.9], [True]))
    assert names.sentence == f"{sentence} should be right"
    general = NewNames(probabilities, entities, None).sentence
    assert general.startswith(sentence.partition(";")[0])
    assert "too few for a rehearsal" in general


def test_only_terms_that_joined_known_sets_are_new_names() -> None:
    others = (
        Decision(Term("a"), "H", 0.4, "opened"),
        Decision(Term("b"), "s9", 0.9, "joined"),  # a group of unknown terms
        Decision(Term("c"), "H", 0.3, "forced"),
    )
    result = mined(("MRI", "M"), ("MR imaging", "M"), others=others)
    names = NewNames.of(result, KNOWN)
    assert (names.count, names.entities, names.rehearsal) == (2, 1, None)
    assert names.to_dict() == {"new names": 2, "entities": 1}


@given(rehearsals(), st.lists(st.floats(0, 1), max_size=9))
def test_the_record_holds_the_figures_of_the_rehearsal(
    outcome: Rehearsal, probabilities: list[float]
) -> None:
    record = json.loads(json.dumps(NewNames(tuple(probabilities), 1, outcome).to_dict()))
    assert record["new names"] == len(probabilities)
    assert record["hidden names"] == outcome.level(0).hidden
    assert [row["probability"] for row in record["levels"]] == list(LEVELS)
    for row in record["levels"]:
        above = [p for p in probabilities if p >= row["probability"]]
        level = outcome.level(row["probability"])
        assert row["new names"] == len(above)
        assert row["expected right"] == pytest.approx(sum(above), abs=0.051)
        assert row["precision"] == pytest.approx(level.precision, abs=1e-4)
        assert row["recall"] == pytest.approx(level.recall, abs=1e-4)
    assert record["calibration error"] == pytest.approx(outcome.calibration_error(), abs=1e-4)
    assert sum(count for *_, count in record["reliability"]) >= outcome.level(0).hidden
