"""Entries of an export, their names, and the metadata of its file."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal
from urllib.parse import quote

from synsetmine import __version__
from synsetmine.corpus.citations import check_prefix, is_prefix, source_id
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.kb.base import long_id
from synsetmine.normalization import normal_form
from synsetmine.runs import Judgement, MinedSet, MinedTerm, Scope
from synsetmine.runs.results import orcid_of
from synsetmine.text.kinds import KINDS, name_kind
from synsetmine.types import NameKind

# Properties of OBO in OWL for synonyms of each scope.
OBO_PROPERTIES: dict[Scope, str] = {
    "exact": "oboInOwl:hasExactSynonym",
    "broad": "oboInOwl:hasBroadSynonym",
    "narrow": "oboInOwl:hasNarrowSynonym",
    "related": "oboInOwl:hasRelatedSynonym",
}
BASE = "urn:synsetmine:"
OWN_PREFIX = "synsetmine"  # of ids of sets that have no entity

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_FULL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_ADDRESS_SIGNS = ":/?#@!$&'()*+,;=%"  # not escaped in an address


@dataclass(frozen=True)
class About:
    """Title, date and language of an export, and the address that precedes ids."""

    title: str = "Synonym sets"
    base: str = BASE  # of the sets' own ids
    entities: str = ""  # of the knowledge base's ids; empty: the same as `base`
    language: str = ""  # a tag such as `en`; empty: not written
    created: str = ""  # ISO date; empty: not written, so that equal sets give equal bytes
    licence: str = ""  # its address; empty: not written
    prefix: str = "kb"  # of the knowledge base's ids in CURIEs, unless they have one
    document_prefix: str = ""  # of the documents' ids in CURIEs; empty: those without one are bare
    tool: str = field(default=f"synsetmine {__version__}")

    def __post_init__(self) -> None:
        for address in (self.base, self.entities or BASE, self.licence or BASE):
            if not _ADDRESS.fullmatch(address):
                raise DataError("expected an address such as `https://…`", value=address)
        if self.language and not _LANGUAGE.fullmatch(self.language):
            raise DataError("expected a language tag such as `en` or `pt-BR`", value=self.language)
        for prefix in (self.prefix, self.document_prefix or "kb"):
            check_prefix(prefix)
        if self.created and not _is_date(self.created):
            raise DataError("expected a date such as `2026-01-31`", value=self.created)

    @property
    def scheme(self) -> str:
        """The address of the sets as a whole."""
        return self.base.rstrip(":/#")

    @property
    def in_words(self) -> str:
        """Title and tool on one line, for a comment."""
        return f"{' '.join(self.title.split())}, by {self.tool}"

    def iri(self, set_id: str) -> str:
        return _behind(self.base, set_id)

    def entity_iri(self, entity: str) -> str:
        """The address of an entity; without `entities`, `DOID:1` has that of OBO's ontologies."""
        if not self.entities and long_id(entity) != entity:
            return long_id(entity)
        return _behind(self.entities or self.base, entity)

    def curie(self, set_id: str, entity: str | None) -> tuple[str, str]:
        """The id of a set in two parts, prefix and the rest: that of its entity, or its own."""
        if entity is None:
            return OWN_PREFIX, set_id
        prefix, _, rest = entity.partition(":")
        return (prefix, rest) if rest and is_prefix(prefix) else (self.prefix, entity)

    def source(self, document: str) -> str:
        return source_id(document, self.document_prefix)


def _behind(base: str, name: str) -> str:
    """The address of an id; an id that is an address stays the same."""
    if _FULL.match(name):
        return quote(name, safe=_ADDRESS_SIGNS)
    return f"{base}{quote(name, safe=':')}"


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


Preferred = Literal["knowledge", "frequent"]
COMPARED = 200  # terms of a set with which a further one is compared, at most


def choose_entries(
    sets: Iterable[MinedSet],
    *,
    threshold: float = 0.0,
    min_size: int = 2,
    preferred: Preferred = "knowledge",
    kinds: Collection[NameKind] = KINDS,
    skipped: ErrorCounts | None = None,
) -> list[MinedSet]:
    """The sets to export, each with its preferred term first and the best known next.

    Terms that joined below the threshold and those that a person called incorrect are left out,
    then terms of other kinds than `kinds`, which are counted in `skipped`, then sets that are too
    small. A set's preferred term is the one that a reviewer chose, or the
    knowledge base's name of its entity if that is among the terms and wanted, or the most
    frequent one; a name that is not exact only where there is no other.
    """
    if not 0 <= threshold <= 1:
        raise DataError("the threshold must be between 0 and 1", value=threshold)
    if min_size < 1:
        raise DataError("the smallest size must be 1 or more", value=min_size)
    entries = []
    for mined in sets:
        kept = [term for term in mined.terms if _is_exported(term, threshold)]
        if kept and len(kinds) < len(KINDS):
            kept = _of_kinds(_entry(mined, kept, preferred), kinds, skipped)
        if len({term.text for term in kept}) >= min_size:
            entries.append(_entry(mined, kept, preferred))
    return entries


def _is_exported(term: MinedTerm, threshold: float) -> bool:
    if term.verdict == "correct":
        return True
    return not term.is_wrong and term.certainty >= threshold


def _of_kinds(
    entry: MinedSet, kinds: Collection[NameKind], skipped: ErrorCounts | None
) -> list[MinedTerm]:
    """The first term that no decision put there, which always stays, and those of these kinds.

    The kind of a term is the one that the run gives. If the term is a variant of one that stays
    before it, its kind is that kind of variant: of two new inflections of one word one is left.
    """
    known = (term for term in entry.terms if term.is_seed or term.action == "opened")
    first = next(known, entry.terms[0])
    ordered = [first, *(term for term in entry.terms if term is not first)]
    kept = [first]
    for term in ordered[1:]:
        kind = _kind(term, kept[:COMPARED])
        if kind in kinds:
            kept.append(term)
        elif skipped is not None:
            skipped.append(DataError(f"a name of the kind {kind}", value=term.text))
    return kept


def _kind(term: MinedTerm, others: Sequence[MinedTerm]) -> NameKind:
    kind = name_kind(term.text, [other.text for other in others]).kind
    if term.kind is None:
        return kind
    if kind == "abbreviation":  # perhaps it is the long form of a short one
        return term.kind
    return min(kind, term.kind, key=KINDS.index)


def _entry(mined: MinedSet, terms: list[MinedTerm], preferred: Preferred) -> MinedSet:
    by_count = sorted(terms, key=lambda term: (-term.count, term.text, term.sense))
    first = min(by_count, key=lambda term: term.scope != "exact")
    names = [mined.preferred] + [mined.name] * (preferred == "knowledge")
    for name in filter(None, names):
        equal = [term for term in by_count if term.text.casefold() == name.casefold()]
        if equal:
            first = min(equal, key=lambda term: term.text != name)
            break
    others = tuple(term for term in by_count if term is not first)
    return replace(mined, terms=(first, *others))


def names_of(entry: MinedSet) -> list[MinedTerm]:
    """The terms, preferred first; two senses of a surface are one name."""
    names: dict[str, MinedTerm] = {}
    for term in entry.terms:
        names.setdefault(term.text, term)
    return list(names.values())


def synonym_scope(term: MinedTerm) -> Scope:
    """The scope for an ontology; an exact synonym that a reviewer is unsure of is related."""
    return "related" if term.scope == "exact" and term.verdict == "unsure" else term.scope


def is_mined(term: MinedTerm) -> bool:
    """Whether the miner has put the name into its set; without a letter or digit it is no name.

    A seed is a name of the knowledge base; without a trace, all known names are seeds. What
    reviewers accepted stays mined, though later runs begin with it.
    """
    action = term.action or ("seed" if term.known else "")
    return action != "seed" and bool(normal_form(term.text))


def new_names(entry: MinedSet) -> list[MinedTerm]:
    """The names that a known entity got from the miner."""
    return [term for term in names_of(entry) if is_mined(term)] if entry.entity is not None else []


def confidence(term: MinedTerm) -> float | None:
    """The probability with which the term joined its set, if it is a number."""
    value = term.probability
    return value if value is not None and math.isfinite(value) else None


def judgement_on(term: MinedTerm) -> Judgement | None:
    """The judgement that vouches for a name that is new; the knowledge base has the others."""
    return term.judgement if is_mined(term) else None


def reviewer_curie(term: MinedTerm) -> str:
    """The ORCID of the reviewer of a new name as a CURIE; empty without one."""
    judgement = judgement_on(term)
    orcid = None if judgement is None else orcid_of(judgement.reviewer)
    return f"orcid:{orcid}" if orcid else ""


def sources_of(term: MinedTerm, about: About) -> list[str]:
    """The documents that state what the name means, or else one that uses it, as ids to cite."""
    ids = (about.source(one.document) for one in term.evidence or term.sentences)
    return list(dict.fromkeys(filter(None, ids)))


def evidence_line(term: MinedTerm, about: About) -> str:
    """The best sentence on one line: how it relates the term to its set, where, and its text.

    An example that relates it to nothing is `used in`. Empty without a sentence.
    """
    for best in term.quotes(term.sentences)[:1]:
        document = about.source(best.document) or best.document
        return " ".join(f"{best.relation or 'used'} in {document}: {best.text}".split())
    return ""
