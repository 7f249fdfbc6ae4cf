"""Mined sets with all that a run knows of them, for reports, exports and reviewers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from synsetmine.kb import KnowledgeBase
from synsetmine.sentences import Sentence
from synsetmine.text import normal_form, tokens
from synsetmine.trace import Decision, Quote
from synsetmine.types import NameKind, Scope, SynonymSets, Term

Verdict = Literal["correct", "incorrect", "unsure"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a person said of a term in its set, who and when (ISO time)."""

    verdict: Verdict
    scope: Scope
    reviewer: str
    when: str


@dataclass(frozen=True, slots=True)
class MinedTerm:
    """A term of a mined set, and why it is there."""

    text: str
    count: int  # how often the corpus has it
    action: str  # seed, opened, joined, forced or no vector; empty where no trace tells
    known: bool  # whether the knowledge base has this name, for the set's entity or for any
    probability: float | None = None  # None for a seed and for the term that opened the set
    sense: str = ""
    sentences: tuple[Sentence, ...] = ()
    judgement: Judgement | None = None
    kind: NameKind | None = None  # compared with the known names of the set; None: not told
    relation: Scope | None = None  # to the set, as the run proposes it
    nearest: str = ""  # the known name that it is nearest to
    evidence: tuple[Sentence, ...] = ()

    @property
    def term(self) -> Term:
        return Term(self.text, self.sense)

    @property
    def scope(self) -> Scope:
        """What it is to its set: what a person says, else what the run proposes, else exact."""
        return (self.relation or "exact") if self.judgement is None else self.judgement.scope

    def quotes(self, examples: Sequence[Sentence]) -> tuple[Sentence, ...]:
        """The sentences to show: evidence first, then examples that are no evidence."""
        shown = {(sentence.document, sentence.text) for sentence in self.evidence}
        others = (one for one in examples if (one.document, one.text) not in shown)
        return (*self.evidence, *others)


@dataclass(frozen=True, slots=True)
class MinedSet:
    """Terms that name one thing; `entity` where the set grew from one of the knowledge base."""

    id: str
    terms: tuple[MinedTerm, ...]
    entity: str | None = None
    name: str = ""  # the knowledge base's name of the entity
    preferred: str = ""  # the term that a reviewer chose to stand for the set

    @property
    def count(self) -> int:
        """How often the corpus has any of the terms."""
        return sum(term.count for term in self.terms)

    @property
    def is_known(self) -> bool:
        """Whether it holds names that were known before."""
        return any(term.action == "seed" for term in self.terms)

    @property
    def evidence(self) -> tuple[Sentence, ...]:
        """Sentences that state that terms of the set mean the same."""
        return tuple(sentence for term in self.terms for sentence in term.evidence)

    @property
    def least(self) -> float | None:
        """The lowest probability with which a term joined; None where none did."""
        given = [t.probability for t in self.terms if t.probability is not None]
        return min((p for p in given if math.isfinite(p)), default=None)


def describe_sets(
    sets: SynonymSets,
    *,
    kb: KnowledgeBase | None = None,
    trace: Mapping[Term, Decision] | None = None,
    counts: Mapping[Term, int] | None = None,
    examples: Mapping[str, Sequence[Sentence]] | None = None,
) -> list[MinedSet]:
    """Sets with the details of their terms; `examples` are sentences by normal form."""
    described = _Described(kb, trace, counts or {}, examples or {})
    return [described.set(set_id, members) for set_id, members in zip(sets.ids, sets, strict=True)]


@dataclass(frozen=True)
class _Described:
    kb: KnowledgeBase | None
    trace: Mapping[Term, Decision] | None
    counts: Mapping[Term, int]
    examples: Mapping[str, Sequence[Sentence]]

    def set(self, set_id: str, members: Sequence[Term]) -> MinedSet:
        # A set that was opened may by chance be called like an entity, but has none of its names.
        is_entity = self.kb is not None and any(
            set_id in self.kb and self.kb.knows(set_id, term.surface) for term in members
        )
        entity = set_id if is_entity else None
        name = self.kb.name(set_id) if self.kb is not None and is_entity else ""
        return MinedSet(set_id, tuple(self._term(term, entity) for term in members), entity, name)

    def _term(self, term: Term, entity: str | None) -> MinedTerm:
        decision = (self.trace or {}).get(term)  # seeds have none
        untold = "" if self.trace is None else "seed"
        plain = MinedTerm(
            text=term.surface,
            sense=term.sense,
            count=self.counts.get(term, 0),
            action=untold if decision is None else decision.action,
            known=self._is_known(term.surface, entity),
            sentences=self._sentences(term.surface),
        )
        if decision is None or decision.action not in ("joined", "forced"):
            return plain
        return replace(
            plain,
            probability=decision.probability,
            kind=decision.kind,
            relation=decision.relation,
            nearest=decision.nearest,
            evidence=tuple(_sentence(quote, term.surface) for quote in decision.evidence),
        )

    def _sentences(self, surface: str) -> tuple[Sentence, ...]:
        return tuple(self.examples.get(normal_form(surface), ())) if self.examples else ()

    def _is_known(self, surface: str, entity: str | None) -> bool:
        if self.kb is None:
            return False
        return bool(self.kb.entities_named(surface)) or (
            entity is not None and self.kb.knows(entity, surface)
        )


def _sentence(quote: Quote, surface: str) -> Sentence:
    """A quote as a sentence, with the place of the surface in it; at its start if it is not in."""
    words = r"[\W_]*".join(map(re.escape, tokens(surface)))
    match = re.search(rf"(?<![^\W_]){words}(?![^\W_])", quote.text, re.IGNORECASE)
    start, end = (0, 0) if match is None or not words else match.span()
    return Sentence(quote.document, quote.text, start, end, quote.relation)
