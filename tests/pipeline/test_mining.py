"""What a run says of its new names: counts, expectations, kinds."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.io.sets import Decision
from synsetmine.models import MiningResult
from synsetmine.models.known import KnownSets, Rehearsal
from synsetmine.normalization import normal_form
from synsetmine.pipeline.mining import (
    COMPARED,
    MineResult,
    RehearsalLevel,
    RehearsalSummary,
    accepted_names,
    describe_joins,
)
from synsetmine.pipeline.model_stages import _assigned_seeds
from synsetmine.pipeline.report.findings import percent
from synsetmine.runs import MinedTerm
from synsetmine.runs.results import description
from synsetmine.text.evidence import Evidence, EvidenceTable, connections_in, definitions_in
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import SynonymSets, Term
from tests.support.findings import sample

HEART = (Term("heart failure"), Term("DALYs"), Term("Disability-Adjusted Life Year"))
KNOWN = SynonymSets.of([HEART, [Term("fever")]], ["D1", "D2"])


def mined_with(
    joined: dict[str, float], groups: list[int], rehearsal: Rehearsal | None
) -> MiningResult:
    """Names that joined D1, and groups of unknown terms of these sizes."""
    unknown = [[Term(f"g{i} t{j}") for j in range(size)] for i, size in enumerate(groups)]
    sets = SynonymSets.of(
        [[*HEART, *map(Term, joined)], [Term("fever")], *unknown],
        ["D1", "D2", *(f"s{i}" for i in range(len(groups)))],
    )
    trace = [Decision(Term(name), "D1", p, "joined") for name, p in joined.items()]
    for i, (first, *others) in enumerate(unknown):
        trace.append(Decision(first, None, 0.0, "opened"))
        trace += [Decision(term, f"s{i}", 0.7, "joined") for term in others]
    return MiningResult(sets, tuple(trace), (), KnownSets(KNOWN, {}, rehearsal))


def rehearsal() -> Rehearsal:
    """200 hidden names: 110 at 0.95, all but one right; 90 at 0.2, all wrong; 100 others."""
    probabilities = np.repeat([0.95, 0.2, 0.1], [110, 90, 100])
    right = np.zeros(300, np.bool_)
    right[:109] = True
    hidden = np.arange(300) < 200
    return Rehearsal(probabilities, right, hidden, np.ones(300, np.bool_), np.ones(300))


@given(
    joined=st.lists(st.floats(0.5, 1), max_size=20),
    groups=st.lists(st.integers(1, 4), max_size=10),
)
def test_every_mined_term_is_counted_once(joined: list[float], groups: list[int]) -> None:
    mined = mined_with({f"n{i}": p for i, p in enumerate(joined)}, groups, None)
    new = MineResult.of(mined, KNOWN)
    counts = new.counts
    assert counts["new names of known entities"] == len(joined)
    assert counts["groups of unknown terms"] == sum(size > 1 for size in groups)
    assert len(mined.trace) == (
        counts["new names of known entities"]
        + counts["unknown terms in groups"]
        + counts["unknown terms that stand alone"]
    )
    assert ("besides, " in " ".join(new.summary)) == any(size > 1 for size in groups)


def test_the_sentences_of_a_run() -> None:
    new = MineResult.of(mined_with({"a": 0.95, "b": 0.9, "c": 0.6}, [3, 2, 1], rehearsal()), KNOWN)
    assert new.summary == [
        "3 new names for 1 entity; 2 with probability 0.9 or more, "
        "of which about 2 should be right",
        "besides, 2 groups of 5 unknown terms",
    ]
    (alone,) = MineResult.of(mined_with({"a": 0.95}, [], None), KNOWN).summary
    assert alone == (
        "1 new name for 1 entity; there was no rehearsal, so the probabilities are the model's own"
    )
    record = json.loads(json.dumps(new.record))
    assert RehearsalSummary.from_dict(record) == new.rehearsal
    assert record["hidden names"] == 200
    highest = record["levels"][-1]
    assert highest["hidden names assigned"] == 110
    assert highest["precision"] == round(109 / 110, 4)
    assert highest["recall"] == round(109 / 200, 4)
    assert highest["new names"] == 2


def test_the_rehearsal_in_words() -> None:
    level = RehearsalLevel(0.9, 2, 1.9, 663, 1.0, 0.545, 0.0)
    findings = replace(sample(), rehearsal=RehearsalSummary(1200, [level], 0.01, []))
    assert findings.quality == (
        "In a rehearsal, 1,200 known names were hidden and looked for: "
        "at 0.9 and above, 55 % of them were found, and 100 % of these joined their own entity. "
        "Counting names whose entity had been removed too, of which 0.0 % joined another entity, "
        "a probability is 1.0 percentage points off on average."
    )
    assert [percent(share) for share in (0, 0.0071, 0.5, 0.9959, 1)] == [
        *("0.0 %", "0.7 %", "50 %", "99.6 %", "100 %")
    ]


def test_the_nearest_name_is_one_of_the_kind() -> None:
    """The model's nearest name may be of another kind than the most alike one."""
    mined = mined_with({"DALY": 0.99}, [], None)
    near = Decision(Term("DALY"), "D1", 0.99, "joined", nearest="Disability-Adjusted Life Year")
    (decision,) = describe_joins(MiningResult(mined.sets, (near,), (), mined.known), None).trace
    assert (decision.kind, decision.nearest) == ("inflection", "DALYs")


def test_a_huge_group_is_described_by_some_of_its_terms() -> None:
    mined = mined_with({}, [10 * COMPARED], None)
    joined = [d for d in describe_joins(mined, None).trace if d.action == "joined"]
    first = {f"g0 t{i}" for i in range(COMPARED + 1)}
    assert len(joined) == 10 * COMPARED - 1
    assert {decision.nearest for decision in joined} <= first


def test_evidence_names_the_set_in_other_forms_and_each_sentence_once() -> None:
    """A variant of a known name, and a new name of the same set, are evidence too."""
    texts = ["Toll-like receptors 2 (TLR2).", "TLR2 (Toll-Like Receptor 2).", "TLR2 (CD282) binds."]
    ids = [f"d{number}" for number in range(len(texts))]
    forms = [normal_form(name) for name in ("TLR2", "CD282", "Toll-Like Receptor 2")]
    totals = EvidenceTable()
    totals.add(connections_in(ids, texts, NameMatcher.build(forms).find(texts), forms))
    totals.add(definitions_in(ids, texts))
    evidence = Evidence(totals.table())
    known = SynonymSets.of([[Term("Toll-Like Receptor 2")], [Term("TLR2 gene")]], ["D1", "D2"])
    names = [Term("TLR2"), Term("CD282")]
    sets = SynonymSets.of([[Term("Toll-Like Receptor 2"), *names], [Term("TLR2 gene")]], known.ids)
    trace = tuple(Decision(name, "D1", 0.9, "joined") for name in names)
    mined = MiningResult(sets, trace, (), KnownSets(known, {}, None))
    short, other = describe_joins(mined, evidence).trace
    assert [(quote.relation, quote.document) for quote in short.evidence] == [
        ("abbreviation", "d1"),  # the name as the knowledge base has it comes first
        ("abbreviation", "d0"),
        ("parenthesis", "d2"),
    ]
    assert evidence.counts(forms[0], forms[2]).keys() == {"abbreviation", "parenthesis"}
    assert [quote.document for quote in other.evidence] == ["d2"]


def test_what_the_text_defines_as_short_is_an_abbreviation() -> None:
    """Its letters alone do not tell. A long form is none, nor is what the text calls an alias."""
    texts = [
        "Concanavalins A (Con A).",
        "Lectin, also called JBL.",
        "Jack bean lectins II (JBL II) are rare.",
    ]
    names = [Term("Con A"), Term("JBL"), Term("jack bean lectins II"), Term("Concanavalins A")]
    known = SynonymSets.of([[Term("concanavalin A"), Term("lectin"), Term("JBL II")]], ["D1"])
    forms = [normal_form(name) for name in ("lectin", "JBL")]
    ids = [f"d{number}" for number in range(len(texts))]
    totals = EvidenceTable()
    totals.add(connections_in(ids, texts, NameMatcher.build(forms).find(texts), forms))
    totals.add(definitions_in(ids, texts))
    sets = SynonymSets.of([[*known.terms, *names]], ["D1"])
    trace = tuple(Decision(name, "D1", 0.9, "joined") for name in names)
    mined = MiningResult(sets, trace, (), KnownSets(known, {}, None))
    described = describe_joins(mined, Evidence(totals.table())).trace
    assert [decision.evidence[0].document for decision in described] == [*ids, "d0"]
    without = describe_joins(mined, None).trace
    assert without[0].kind == "other-words"
    assert (described[0].kind, described[0].relation) == ("abbreviation", "exact")
    assert described[0].nearest == "concanavalin A"
    for one, other in zip(described[1:], without[1:], strict=True):
        assert (one.kind, one.nearest) == (other.kind, other.nearest)


def test_a_long_form_is_called_one() -> None:
    term = MinedTerm("World Health Organization", 1, "joined", False, kind="abbreviation")
    long = MinedTerm(term.text, 1, "joined", False, kind="abbreviation", nearest="WHO")
    short = MinedTerm("WHO", 1, "joined", False, kind="abbreviation", nearest=term.text)
    assert description(long) == "long form of “WHO”"
    assert description(short) == f"abbreviation of “{term.text}”"
    assert description(term) == "abbreviation"


def test_accepted_names_are_described_as_reviewers_saw_them() -> None:
    short, old, group = Term("HF"), Term("cardiac failure"), Term("g")
    known = SynonymSets.of([[HEART[0]]], ["D1"])
    seeds = SynonymSets.of([[HEART[0], short, old], [group, Term("h")]], ["D1", "s1"])
    earlier = [
        Decision(old, "D1", 0.3, "joined", kind="other-words", relation="related", nearest="x"),
        Decision(group, "s9", 0.4, "joined", kind="other-words", relation="related"),
        Decision(HEART[0], None, 0.0, "opened"),
    ]
    accepted = accepted_names(seeds, known, earlier)
    assert accepted[1] == replace(earlier[0], action="accepted")
    assert [(d.term.surface, d.best_set, d.probability, d.kind) for d in accepted] == [
        ("HF", "D1", 1.0, None),
        ("cardiac failure", "D1", 0.3, "other-words"),
        ("g", "s1", 1.0, None),  # it was in another set before
        ("h", "s1", 1.0, None),
    ]
    mined = MiningResult(seeds, tuple(accepted), (), KnownSets(seeds, {}, None))
    first, second, *_ = describe_joins(mined, None).trace
    assert (first.kind, first.relation, first.nearest) == ("abbreviation", "exact", "heart failure")
    assert second == accepted[1]
    assert accepted_names(known, known, earlier) == []


def test_what_reviewers_said_does_not_help_to_find_entities_that_are_held_out() -> None:
    others = KNOWN.pick([0])
    assigned = KnownSets(others, {})
    mined = KnownSets(KNOWN, {}, without_held_out=assigned)
    assert _assigned_seeds(mined, others) is assigned
    reviewed = KnownSets(SynonymSets.of([[*HEART, Term("high temperature")]], ["D1"]), {})
    assert _assigned_seeds(replace(mined, without_held_out=reviewed), others) is others
    assert _assigned_seeds(reviewed, others) is others  # of sets that reviewers made
    assert _assigned_seeds(None, others) is others
