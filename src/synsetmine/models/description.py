"""What kind of name a term is that joined a set, its likely relation, and what the text says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from synsetmine.io.traces import Decision, Quote
from synsetmine.models.task import MiningResult
from synsetmine.normalization import normal_form
from synsetmine.text.evidence import Evidence
from synsetmine.text.kinds import DifferingWords, name_kind, pair_kind, relation_of
from synsetmine.types import Term

SENTENCES = 3  # of evidence for a term
COMPARED = 50  # terms of a group without known names; a group may hold thousands


def describe_joins(mined: MiningResult, evidence: Evidence | None) -> MiningResult:
    """The same result; decisions of terms that joined a set have kind, relation and evidence.

    A term is compared with the known names of its set, and in a set without any with the others.
    """
    known = mined.known.sets if mined.known is not None else None
    words = DifferingWords.learn(
        [[term.surface for term in members] for members in (known or mined.sets)]
    )
    trace = []
    for decision in mined.trace:
        if decision.action in ("joined", "forced"):
            members = mined.sets.set_of(decision.term)
            names = [term for term in members if known is not None and term in known]
            names = names or [term for term in members if term != decision.term][:COMPARED]
            decision = _described(decision, names, evidence, words)
        trace.append(decision)
    return replace(mined, trace=tuple(trace))


def _described(
    decision: Decision, names: Sequence[Term], evidence: Evidence | None, words: DifferingWords
) -> Decision:
    surfaces = [name.surface for name in names]
    term = decision.term.surface
    kind, nearest = name_kind(term, surfaces)
    if decision.nearest and pair_kind(term, decision.nearest) == kind:
        nearest = decision.nearest
    return replace(
        decision,
        kind=kind,
        relation=relation_of(term, surfaces, decision.probability, words),
        nearest=nearest,
        evidence=_sentences(term, surfaces, evidence) if evidence is not None else (),
    )


def _sentences(term: str, names: Sequence[str], evidence: Evidence) -> tuple[Quote, ...]:
    """Sentences that state that the term and a name of its set mean the same."""
    own = normal_form(term)
    examples = [
        example
        for form in dict.fromkeys(map(normal_form, names))
        for example in evidence.examples(own, form)
    ]
    examples.sort(key=lambda example: example.relation)  # definitions of abbreviations first
    return tuple(Quote(e.relation, e.document, e.text) for e in examples[:SENTENCES])
