"""The results of a run: its sets with all that is known of their terms, and example sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synsetmine.corpus.documents import documents_at
from synsetmine.io.sets import PUT, Decision, Quote, read_sets, read_trace, read_vocabulary
from synsetmine.io.tables import read_table, write_table
from synsetmine.kb import KnowledgeBase
from synsetmine.normalization import normal_form, tokens
from synsetmine.runs.folder import Artefacts, RunFolder, no_run
from synsetmine.text.counters import TextBatch
from synsetmine.text.tokens import Sentence, sentence_around
from synsetmine.types import VARIANTS, NameKind, Progress, Scope, SynonymSets, Term

_ORCID = re.compile(r"(?<![\w-])\d{4}-\d{4}-\d{4}-\d{3}[\dX](?![\w-])", re.I)


def orcid_of(reviewer: str) -> str | None:
    """The ORCID of a reviewer who gave one, alone or after a name: `Ada (orcid:0000-…)`."""
    match = _ORCID.search(reviewer)
    return match[0].upper() if match else None


ACTIONS = {
    "seed": "known before",
    "opened": "opened the set",
    "joined": "joined",
    "forced": "joined below the threshold",
    "accepted": "accepted in a review",
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


Verdict = Literal["correct", "incorrect", "not-a-name", "unsure"]
WRONG: tuple[Verdict, ...] = ("incorrect", "not-a-name")  # the term does not belong to its set


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
    action: str  # seed, accepted, opened, joined, forced or no vector; empty without a trace
    known: bool  # whether the knowledge base has this name, for the set's entity or for any
    probability: float | None = None  # None for seeds and for the term that opened the set
    sense: str = ""
    sentences: tuple[Sentence, ...] = ()
    judgement: Judgement | None = None
    kind: NameKind | None = None  # compared with the known names of the set; None without a trace
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
    def verdict(self) -> Verdict | None:
        """What a reviewer called it in its set; None where nobody judged."""
        return None if self.judgement is None else self.judgement.verdict

    @property
    def is_wrong(self) -> bool:
        """Whether a reviewer said that it does not belong to its set."""
        return self.verdict in WRONG

    @property
    def is_seed(self) -> bool:
        """Whether it was in its set before mining: a known name, or one that reviewers accepted."""
        return self.action in ("seed", "accepted")

    @property
    def is_new(self) -> bool:
        """Whether the run proposes it: the knowledge base lacks the name, or it joined the set."""
        return not self.known or self.probability is not None

    @property
    def certainty(self) -> float:
        """The probability with which it joined; terms that were there before are certain."""
        return 1.0 if self.probability is None else self.probability

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
    preferred: str = ""  # the term that a reviewer chose to represent the set

    @property
    def count(self) -> int:
        """How often the corpus has any of the terms."""
        return sum(term.count for term in self.terms)

    @property
    def is_known(self) -> bool:
        """Whether it holds names that were known before."""
        return any(term.is_seed for term in self.terms)

    @property
    def evidence(self) -> tuple[Sentence, ...]:
        """Sentences that state that terms of the set mean the same."""
        return tuple(sentence for term in self.terms for sentence in term.evidence)

    @property
    def differs_in_form_only(self) -> bool:
        """Whether its terms are spellings, inflections and word orders of one name."""
        kinds = {term.kind for term in self.terms if term.kind is not None}
        return bool(kinds) and kinds <= VARIANTS

    @property
    def least(self) -> float | None:
        """The lowest probability with which a term joined; None where none did."""
        probabilities = [t.probability for t in self.terms if t.probability is not None]
        return min((p for p in probabilities if math.isfinite(p)), default=None)


def describe_sets(
    sets: SynonymSets,
    *,
    kb: KnowledgeBase | None = None,
    trace: Mapping[Term, Decision] | None = None,
    counts: Mapping[Term, int] | None = None,
    examples: Mapping[str, Sequence[Sentence]] | None = None,
) -> list[MinedSet]:
    """Sets with the details of their terms; `examples` are sentences by normal form."""
    counts, examples = counts or {}, examples or {}
    untold = "" if trace is None else "seed"  # seeds have no decision in a trace

    def describe_term(term: Term, entity: str | None) -> MinedTerm:
        decision = (trace or {}).get(term)
        plain = MinedTerm(
            text=term.surface,
            sense=term.sense,
            count=counts.get(term, 0),
            action=untold if decision is None else decision.action,
            known=kb is not None and _is_known(kb, term.surface, entity),
            sentences=tuple(examples.get(normal_form(term.surface), ())) if examples else (),
        )
        if decision is None or decision.action not in PUT:
            return plain
        return replace(
            plain,
            probability=decision.probability,
            kind=decision.kind,
            relation=decision.relation,
            nearest=decision.nearest,
            evidence=tuple(_sentence(quote, term.surface) for quote in decision.evidence),
        )

    described = []
    for set_id, members in zip(sets.ids, sets, strict=True):
        # A set that was opened may by chance be called like an entity, but has none of its names.
        is_entity = kb is not None and any(
            set_id in kb and kb.knows(set_id, term.surface) for term in members
        )
        entity = set_id if is_entity else None
        name = kb.name(set_id) if kb is not None and is_entity else ""
        terms = tuple(describe_term(term, entity) for term in members)
        described.append(MinedSet(set_id, terms, entity, name))
    return described


def _is_known(kb: KnowledgeBase, surface: str, entity: str | None) -> bool:
    return bool(kb.entities_named(surface)) or (entity is not None and kb.knows(entity, surface))


def _sentence(quote: Quote, surface: str) -> Sentence:
    """A quote as a sentence, with the place of the surface in it; at its start if it is not in."""
    words = r"[\W_]*".join(map(re.escape, tokens(surface)))
    match = re.search(rf"(?<![^\W_]){words}(?![^\W_])", quote.text, re.IGNORECASE)
    start, end = (0, 0) if match is None or not words else match.span()
    return Sentence(quote.document, quote.text, start, end, quote.relation)


def read_results(folder: Path) -> list[MinedSet]:
    """What the run in a folder has mined."""
    if "mine" not in RunFolder(folder).stages:
        raise no_run(folder)
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


PLACES = 5  # of a form, each in another document
LONGEST = 300  # characters of a sentence; a longer one is cut around the term
SCHEMA = pa.schema(
    [
        ("form", pa.string()),
        ("document", pa.int64()),  # its number in the corpus, from 0
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)


class PlaceCounter:
    """The first places of each name in a batch, each in another document, by number of form."""

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        matches = batch.matches
        key = matches.form * len(batch) + matches.text
        _, chosen = np.unique(key, return_index=True)  # by form, then by text
        chosen = chosen[_rank(matches.form[chosen]) < PLACES]
        return pa.record_batch(
            {
                "form": matches.form[chosen],
                "document": matches.text[chosen],
                "start": matches.start[chosen],
                "end": matches.end[chosen],
            }
        )


class PlaceTable:
    """The first places of each form in a corpus."""

    def __init__(self, forms: Sequence[str]) -> None:
        self._forms = forms
        self._seen = np.zeros(len(forms), np.int64)
        self._parts: list[pa.Table] = []

    def add(self, batch: pa.RecordBatch, *, first: int) -> None:
        """Add what `PlaceCounter` found in a batch; `first` is the number of its first document."""
        form = batch.column("form").to_numpy()
        chosen = np.flatnonzero(self._seen[form] + _rank(form) < PLACES)
        np.add.at(self._seen, form[chosen], 1)
        part = pa.Table.from_batches([batch.take(pa.array(chosen))])
        self._parts.append(part.set_column(1, "document", pc.add(part["document"], first)))

    def write(self, path: Path) -> None:
        """Write a Parquet file, whole or not at all, in the order of the forms."""
        table = pa.concat_tables(self._parts) if self._parts else _no_places()
        table = table.sort_by([("form", "ascending"), ("document", "ascending")])
        names = pa.array(self._forms, pa.string()).take(table["form"].combine_chunks())
        write_table(path, table.set_column(0, "form", names).cast(SCHEMA))


def find_sentences(
    documents: Path,
    places: Path,
    forms: Sequence[str],
    *,
    per_term: int = 3,
    progress: Progress | None = None,
) -> dict[str, list[Sentence]]:
    """Up to `per_term` different sentences for each form, each of another document.

    `places` is what `PlaceTable` wrote of this corpus. Only the documents that are needed are
    read.
    """
    table = read_table(places, SCHEMA, "places")
    table = table.filter(pc.is_in(table["form"], pa.array(forms, pa.string())))
    table = table.sort_by([("document", "ascending"), ("start", "ascending")])
    sentences: dict[str, list[Sentence]] = {}
    numbers = list(dict.fromkeys(table["document"].to_pylist()))
    rows = iter(table.to_pylist())
    row = next(rows, None)
    for done, (number, document, text) in enumerate(documents_at(documents, numbers), start=1):
        while row is not None and row["document"] == number:
            kept = sentences.setdefault(row["form"], [])
            if len(kept) < per_term:
                sentence = sentence_around(document, text, row["start"], row["end"], LONGEST)
                if all(sentence.text != other.text for other in kept):
                    kept.append(sentence)
            row = next(rows, None)
        if progress is not None:
            progress(done, len(numbers))
    return {form: sentences[form] for form in forms if form in sentences}


def _rank(form: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the same form come before each entry; equal forms are adjacent."""
    begins = np.flatnonzero(np.diff(form, prepend=-1))
    sizes = np.diff(np.append(begins, len(form)))
    return np.arange(len(form)) - np.repeat(begins, sizes)


def _no_places() -> pa.Table:
    return pa.table({name: pa.array([], pa.int64()) for name in SCHEMA.names})
