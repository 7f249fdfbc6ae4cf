"""The results of a run: its sets with all that is known of their terms."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.sets import read_sets, read_vocabulary
from synsetmine.io.traces import Decision, Quote, read_trace
from synsetmine.kb import KnowledgeBase
from synsetmine.normalization import normal_form, tokens
from synsetmine.runs.folder import Artefacts, RunFolder
from synsetmine.runs.sentences import find_sentences
from synsetmine.text.sentences import Sentence
from synsetmine.types import NameKind, Progress, Scope, SynonymSets, Term

LONGEST = 100
_ORCID = re.compile(r"(?<![\w-])\d{4}-\d{4}-\d{4}-\d{3}[\dX](?![\w-])", re.I)
_BEFORE = re.compile(r"https?://orcid\.org/|orcid:", re.I)
_WRITTEN = re.compile(r"(?P<name>.*?)(?: \(orcid:(?P<orcid>[\dX-]{19})\))?", re.S)


@dataclass(frozen=True)
class Reviewer:
    """A person; `str()` is what stands in their decisions."""

    name: str
    orcid: str = ""

    @classmethod
    def of(cls, name: str, orcid: str = "") -> Reviewer:
        """From what a person typed; a wrong ORCID is an error that says so."""
        clean = " ".join(name.split())
        if not clean or len(clean) > LONGEST or not clean.isprintable():
            raise DataError(f"a name has 1 to {LONGEST} characters", value=name)
        if not orcid.strip():
            return cls(clean)
        typed = orcid.strip().upper()
        before = _BEFORE.match(typed)
        number = typed[before.end() :] if before else typed
        if not _ORCID.fullmatch(number) or not _is_checked(number):
            raise DataError("this is no ORCID, such as 0000-0002-1825-0097", value=orcid)
        return cls(clean, number)

    @classmethod
    def from_cookie(cls, value: str) -> Reviewer | None:
        match = _WRITTEN.fullmatch(unquote(value))
        try:
            return None if match is None else cls.of(match["name"], match["orcid"] or "")
        except DataError:
            return None

    @property
    def cookie(self) -> str:
        return quote(str(self), safe="")

    def __str__(self) -> str:
        return f"{self.name} (orcid:{self.orcid})" if self.orcid else self.name


def orcid_of(reviewer: str) -> str | None:
    """The ORCID of a reviewer who gave one, alone or beside a name: `Ada (orcid:0000-…)`."""
    match = _ORCID.search(reviewer)
    return match[0].upper() if match else None


def _is_checked(orcid: str) -> bool:
    """Whether the last digit is that of ISO 7064, mod 11-2."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == orcid[-1]


ACTIONS = {
    "seed": "known before",
    "opened": "opened the set",
    "joined": "joined",
    "forced": "joined below the threshold",
    "no vector": "stands alone, has no vector",
}

RELATIONS = {
    "exact": "means the same",
    "narrow": "narrower",
    "broad": "broader",
    "related": "related",
}


def description(term: MinedTerm, *, relation: bool = True) -> str:
    """What a new name is, in a few words: `abbreviation of “heart failure”, means the same`."""
    is_long = term.kind == "abbreviation" and len(term.text) > len(term.nearest) > 0
    kind = "long form" if is_long else (term.kind or "").replace("-", " ")
    if kind and term.nearest:
        kind += f"{' for' if term.kind == 'other-words' else ' of'} “{term.nearest}”"
    proposed = RELATIONS[term.relation] if relation and term.relation else ""
    return ", ".join(filter(None, (kind, proposed)))


def probability(value: float | None) -> str:
    """Two digits; what is nearly certain does not look like certainty."""
    if value is None or not math.isfinite(value):
        return "–"
    if 0.995 <= value < 1:
        return "> 0.99"
    return "< 0.01" if 0 < value < 0.005 else f"{value:.2f}"


def share(part: float | None, whole: float = 1.0) -> str:
    """A share as a width of a hundred, for small bars."""
    value = 100 * (part or 0) / whole if whole else 0.0
    return f"{min(max(value, 0), 100) if math.isfinite(value) else 0:.1f}"


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

    @property
    def is_incorrect(self) -> bool:
        """Whether a reviewer called it incorrect in its set."""
        return self.judgement is not None and self.judgement.verdict == "incorrect"

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


def read_results(folder: Path) -> list[MinedSet]:
    """What the run in a folder has mined."""
    if "mine" not in RunFolder(folder).stages:
        raise SynsetmineError(f"{folder} is no folder of a run that has mined sets")
    at = Artefacts(folder)
    return describe_sets(
        read_sets(at.mined),
        kb=KnowledgeBase.load(at.knowledge),
        trace={decision.term: decision for decision in read_trace(at.trace)},
        counts=read_counts(at),
    )


def read_counts(at: Artefacts) -> dict[Term, int]:
    """How often the corpus has each term, known names that are no terms to mine too."""
    return {
        **read_vocabulary(at.names, allow_empty=True).counts,
        **read_vocabulary(at.vocabulary).counts,
    }


def example_sentences(
    at: Artefacts, surfaces: Sequence[str], per_term: int, progress: Progress | None = None
) -> Mapping[str, Sequence[Sentence]]:
    """Sentences of a run's corpus by the normal form of the surface that they hold."""
    forms = [form for form in dict.fromkeys(map(normal_form, surfaces)) if form]
    if not per_term or not forms:
        return {}
    return find_sentences(at.documents, at.places, forms, per_term=per_term, progress=progress)
