"""Sets as terms of an OBO file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from synsetmine.export.entries import (
    About,
    Entry,
    is_abbreviation,
    names_of,
    reviewer_curie,
    synonym_scope,
)
from synsetmine.io.files import write_text
from synsetmine.kb.obo import id_clause, name_clause, synonym_clause, unquoted
from synsetmine.runs import MinedTerm

ABBREVIATION = "ABBREVIATION"  # the synonym type, which the header declares


def write_obo(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """One `[Term]` a set; its `name` is the preferred term, the others are synonyms.

    The scope is the synonym's: EXACT, BROAD, NARROW or RELATED, as a reviewer judged it or else as
    the run proposes it. An exact synonym that a reviewer is unsure of is RELATED, OBO's word for no
    stronger claim. An abbreviation has the type ABBREVIATION. A reviewer's ORCID is the synonym's
    source. OBO 1.4 has no field for licence and language.
    """
    typed = any(map(is_abbreviation, chain.from_iterable(entry.others for entry in entries)))
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
    sources = filter(None, [reviewer_curie(term.judgement)])
    kind = ABBREVIATION if is_abbreviation(term) else ""
    return synonym_clause(term.text, synonym_scope(term), tuple(sources), kind=kind)
