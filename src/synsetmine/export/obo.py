"""Sets as terms of an OBO file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from synsetmine.export.about import About
from synsetmine.export.entries import Entry
from synsetmine.export.labels import names_of, synonym_scope
from synsetmine.files import write_text
from synsetmine.kb.oboclauses import id_clause, name_clause, synonym_clause, unquoted
from synsetmine.results import MinedTerm
from synsetmine.reviewers import orcid_of

ABBREVIATION = "ABBREVIATION"  # the synonym type, which the header declares


def write_obo(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """One `[Term]` a set; its `name` is the preferred term, the others are synonyms.

    The scope is the synonym's: EXACT, BROAD, NARROW or RELATED, as a reviewer judged it or else as
    the run proposes it. An exact synonym that a reviewer is unsure of is RELATED, OBO's word for no
    stronger claim. An abbreviation has the type ABBREVIATION. A reviewer's ORCID is the synonym's
    source. Licence and language have no place in OBO 1.4.
    """
    typed = any(map(_is_abbreviation, chain.from_iterable(entry.others for entry in entries)))
    frames = [_header(about, typed=typed), *(_term(entry, about) for entry in entries)]
    write_text(path, "\n".join("".join(f"{line}\n" for line in frame) for frame in frames))
    return [path]


def _header(about: About, *, typed: bool) -> list[str]:
    types = [f'synonymtypedef: {ABBREVIATION} "abbreviation"'] if typed else []
    version = [f"data-version: {about.created}"] if about.created else []
    remark = f"remark: {unquoted(about.in_words)}"
    return ["format-version: 1.4", *version, *types, "ontology: synsetmine", remark]


def _term(entry: Entry, about: About) -> list[str]:
    return [
        "[Term]",
        id_clause(*about.curie(entry.id, entry.entity)),
        name_clause(entry.preferred.text),
        *map(_synonym, names_of(entry)[1:]),
    ]


def _synonym(term: MinedTerm) -> str:
    orcid = None if term.judgement is None else orcid_of(term.judgement.reviewer)
    sources = () if orcid is None else (f"orcid:{orcid}",)
    kind = ABBREVIATION if _is_abbreviation(term) else ""
    return synonym_clause(term.text, synonym_scope(term), sources, kind=kind)


def _is_abbreviation(term: MinedTerm) -> bool:
    return term.kind == "abbreviation"
