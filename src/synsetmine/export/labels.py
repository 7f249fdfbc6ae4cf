"""What the terms of a set are to it, for forms that tell names of different worth apart."""

from __future__ import annotations

import math

from synsetmine.export.entries import Entry
from synsetmine.results import MinedTerm, Scope, Sentence
from synsetmine.text import normal_form


def names_of(entry: Entry) -> list[MinedTerm]:
    """The terms, preferred first; two senses of a surface are one name."""
    names: dict[str, MinedTerm] = {}
    for term in entry.terms:
        names.setdefault(term.text, term)
    return list(names.values())


def is_unsure(term: MinedTerm) -> bool:
    """Whether a person looked at the term and could not tell."""
    return term.judgement is not None and term.judgement.verdict == "unsure"


def synonym_scope(term: MinedTerm) -> Scope:
    """The scope that an ontology may claim: of an exact synonym in doubt no more than related."""
    scope = term.scope
    return "related" if scope == "exact" and is_unsure(term) else scope


def new_names(entry: Entry) -> list[MinedTerm]:
    """The names that a known entity got from the miner; without a letter or digit it is no name.

    A seed is what was known before; without a trace, which tells seeds, whatever is known is one.
    """
    if entry.entity is None:
        return []
    found = (term for term in names_of(entry) if normal_form(term.text))
    return [term for term in found if (term.action or ("seed" if term.known else "")) != "seed"]


def confidence(term: MinedTerm) -> float | None:
    """The probability with which the term joined its set, if it is a number."""
    given = term.probability
    return given if given is not None and math.isfinite(given) else None


def evidence_line(evidence: Sentence) -> str:
    """Evidence on one line: how it relates the term to its set, where, and the sentence."""
    return " ".join(f"{evidence.relation} in {evidence.document}: {evidence.text}".split())
