"""The trace of mining: its optional fields, and what becomes of them in results and reviews."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from synsetmine.errors import DataError
from synsetmine.io.sets import Decision, Quote, read_trace, write_trace
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.review import Decision as ReviewDecision
from synsetmine.review import ReviewState
from synsetmine.runs import MinedSet, MinedTerm, Sentence, describe_sets
from synsetmine.types import SynonymSets, Term
from tests.support.curationentries import judgement

PLAIN = {"term": "MI", "best_set": "D1", "probability": 0.9, "action": "joined"}
EVIDENCE = Quote("abbreviation", "d1", "A Myocardial  infarction (MI) is a heart-attack.")


def test_a_trace_without_the_optional_fields_is_read_and_written_as_before(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(PLAIN) + "\n")
    (decision,) = read_trace(path)
    assert decision == Decision(Term("MI"), "D1", 0.9, "joined")
    assert (decision.kind, decision.relation, decision.nearest, decision.evidence) == (
        *(None, None),
        *("", ()),
    )
    write_trace(tmp_path / "again.jsonl", [decision])
    assert (tmp_path / "again.jsonl").read_text() == path.read_text()


def test_the_optional_fields_by_their_names(tmp_path: Path) -> None:
    decision = Decision(
        Term("MI"),
        "D1",
        0.9,
        "joined",
        kind="abbreviation",
        relation="exact",
        nearest="myocardial infarction",
        evidence=(EVIDENCE,),
    )
    write_trace(tmp_path / "trace.jsonl", [decision])
    assert json.loads((tmp_path / "trace.jsonl").read_text()) == PLAIN | {
        "kind": "abbreviation",
        "relation": "exact",
        "nearest": "myocardial infarction",
        "evidence": [
            {"relation": "abbreviation", "document": "d1", "text": EVIDENCE.text},
        ],
    }
    assert list(read_trace(tmp_path / "trace.jsonl")) == [decision]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"kind": "acronym"}, "kind must be one of spelling, inflection, .*: 'acronym'"),
        ({"kind": ["spelling"]}, r"kind must be one of .*: \['spelling'\]"),
        ({"relation": "same"}, "relation must be one of exact, broad, .*: 'same'"),
        ({"nearest": 3}, "nearest must be a string: 3"),
        ({"nearest": "\ud800"}, "nearest must be a string"),
        ({"evidence": {}}, "evidence must be a list of objects"),
        ({"evidence": ["text"]}, "evidence must be a list of objects"),
        (
            {"evidence": [{"relation": "alias", "text": "x"}]},
            "document of evidence must be a string",
        ),
        (
            {"evidence": [{"relation": "alias", "document": "d"}]},
            "text of evidence must be a string",
        ),
    ],
)
def test_bad_fields_are_named_with_file_and_line(
    tmp_path: Path, fields: dict[str, object], problem: str
) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(PLAIN) + "\n" + json.dumps(PLAIN | fields) + "\n")
    with pytest.raises(DataError, match=rf"trace\.jsonl:2: {problem}"):
        list(read_trace(path))


def described(*decisions: Decision) -> dict[str, MinedTerm]:
    sets = SynonymSets.of([[Term("infarction"), *(one.term for one in decisions)]], ["D1"])
    kb = KnowledgeBase.of([Entity("D1", "infarction")])
    (found,) = describe_sets(sets, kb=kb, trace={one.term: one for one in decisions})
    return {term.text: term for term in found.terms}


def test_results_carry_what_the_trace_tells() -> None:
    evidence = (EVIDENCE, Quote("alias", "d2", "no such name"))
    told = Decision(Term("MI"), "D1", 0.9, "joined", "abbreviation", "narrow", "x", evidence)
    terms = described(
        told,
        replace(told, term=Term("Heart Attack")),
        replace(told, term=Term("alone"), action="opened"),
        replace(told, term=Term("old"), kind=None, relation=None, nearest="", evidence=()),
    )
    found = terms["MI"]
    assert (found.kind, found.relation, found.nearest) == ("abbreviation", "narrow", "x")
    first, second = found.evidence
    assert (first.document, first.text, first.relation) == ("d1", EVIDENCE.text, "abbreviation")
    assert first.text[first.start : first.end] == "MI"
    assert (second.start, second.end) == (0, 0)
    first = terms["Heart Attack"].evidence[0]
    assert first.text[first.start : first.end] == "heart-attack"
    for other in ("infarction", "alone", "old"):
        assert (terms[other].kind, terms[other].relation, terms[other].evidence) == (None, None, ())


def test_a_persons_word_counts_more_than_the_proposed_relation() -> None:
    plain = MinedTerm("MI", 1, "joined", known=False)
    assert plain.scope == "exact"
    assert replace(plain, relation="narrow").scope == "narrow"
    assert (
        replace(plain, relation="narrow", judgement=judgement("correct", "broad")).scope == "broad"
    )


def test_evidence_is_shown_first_and_once() -> None:
    evidence = Sentence("d1", "A (B)", 0, 1, "abbreviation")
    same, other = Sentence("d1", "A (B)", 3, 4), Sentence("d2", "A (B)", 0, 1)
    term = MinedTerm("A", 1, "joined", known=False, evidence=(evidence,))
    assert term.quotes([other, same]) == (evidence, other)
    assert term.quotes([]) == (evidence,)


def test_whoever_accepts_a_set_accepts_the_proposed_relations() -> None:
    terms = (
        MinedTerm("heart failure", 1, "seed", known=True),
        MinedTerm("acute heart failure", 1, "joined", False, 0.9, relation="narrow"),
        MinedTerm("heart attack", 1, "joined", False, 0.9, relation="related"),
    )
    keys = tuple(term.text for term in terms)
    accept = ReviewDecision(
        kind="accept", reviewer="ann", set_id="s", members=keys, terms=keys
    ).stamp("2026-01-31T12:00:01.000Z")
    judge = replace(
        accept, kind="judge", terms=keys[2:], verdict="correct", scope="broad", id=""
    ).stamp("2026-01-31T12:00:00.000Z")
    state = ReviewState([MinedSet("s", terms)], [judge, accept])
    assert state["s"].status == "accepted"
    assert [term.scope for term in state["s"].mined.terms] == ["exact", "narrow", "broad"]
    everything = replace(accept, scope="exact", id="").stamp("2026-01-31T12:00:01.000Z")
    state = ReviewState([MinedSet("s", terms)], [everything])
    assert {term.scope for term in state["s"].mined.terms} == {"exact"}


def test_a_page_with_other_relations_shows_another_set() -> None:
    term = MinedTerm("a", 1, "joined", known=False)
    one, other = (
        ReviewState([MinedSet("s", (replace(term, relation=relation),))])["s"].digest
        for relation in ("exact", "narrow")
    )
    assert one != other
