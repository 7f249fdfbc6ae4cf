"""New names as changes that other tools make: ROBOT templates, KGCL commands, QuickStatements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from synsetmine.errors import DataError
from synsetmine.export.entries import (
    OBO_PROPERTIES,
    About,
    evidence_line,
    new_names,
    reviewer_curie,
    sources_of,
    synonym_scope,
)
from synsetmine.io.files import plain_name, write_text
from synsetmine.io.tables import rows_of
from synsetmine.kb.base import clean_name, long_id
from synsetmine.runs import MinedSet, MinedTerm, Scope

_PLAIN_ID = re.compile(r"([A-Za-z0-9_]+:)?[A-Za-z0-9_]+")
_WIKIDATA = re.compile(
    r"(?:(?:wd|wikidata):|https?://www\.wikidata\.org/(?:entity|wiki)/)?(Q[1-9]\d*)"
)
_LONGEST_ALIAS = 250  # characters, Wikidata's limit


def _new(entries: Sequence[MinedSet]) -> list[tuple[str, MinedSet, MinedTerm]]:
    """The id of the entity, its set and the name, for each new name."""
    new = [(entry.entity or "", entry, term) for entry in entries for term in new_names(entry)]
    if not new:
        raise DataError("no new names of known entities in these sets, so there is no change")
    return new


# --- ROBOT ---

_ABBREVIATION = long_id("OMO:0003000")
_SYNONYM = (  # column of a scope, its template string
    ("synonym", "A {}"),
    ("source", ">A oboInOwl:hasDbXref SPLIT=|"),
    ("type", ">AI oboInOwl:hasSynonymType"),
    ("sentence", ">A rdfs:comment"),
)


def write_robot(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """One row a name. The second line says what ROBOT makes of the columns of each scope.

    The columns after a synonym annotate its axiom: documents and reviewer as hasDbXref, the
    synonym type of abbreviations, the best sentence. `label` is for people; ROBOT ignores it.
    """
    if not plain_name(path).lower().endswith((".tsv", ".tab")) or plain_name(path) != path.name:
        problem = "ROBOT reads a table with tabs from .tsv or .tab only; end the name in .tsv"
        raise DataError(problem, value=str(path))
    new = _new(entries)
    scopes = [scope for scope in get_args(Scope) if any(synonym_scope(t) == scope for *_, t in new)]
    names = [f"{scope} {what}" for scope in scopes for what, _ in _SYNONYM]
    templates = [text.format(OBO_PROPERTIES[scope]) for scope in scopes for _, text in _SYNONYM]
    rows = (
        [_robot_id(entity, about), entry.name, *_robot_cells(term, scopes, about)]
        for entity, entry, term in new
    )
    head = (["ID", "label", *names], ["ID", "", *templates])
    write_text(path, rows_of((*head, *rows), "\t"))
    return [path]


def _robot_id(entity: str, about: About) -> str:
    if about.entities:
        return about.entity_iri(entity)
    return ":".join(about.curie("", entity))


def _robot_cells(term: MinedTerm, scopes: Sequence[Scope], about: About) -> Iterator[str]:
    sources = filter(None, [*sources_of(term, about), reviewer_curie(term)])
    for scope in scopes:
        if scope != synonym_scope(term):
            yield from [""] * len(_SYNONYM)
            continue
        yield clean_name(term.text)
        yield "|".join(source.replace("|", "%7C") for source in sources)
        yield _ABBREVIATION if term.kind == "abbreviation" else ""
        yield evidence_line(term, about).replace("\\", " ")


def robot_problem(term: str) -> str:
    """Why a template cannot hold a name; empty if it can."""
    return "a term with a backslash, an escape in ROBOT's tables" if "\\" in term else ""


def robot_entity_problem(entity: str | None) -> str:
    return "an entity with whitespace in its id" if re.search(r"\s", entity or "") else ""


# --- KGCL ---


def write_kgcl(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """One command a name: `create exact synonym 'heart attack' for MESH:D009203`.

    The commands have no place for sources, probabilities and types of synonyms.
    """
    if not _PLAIN_ID.fullmatch(about.prefix):
        raise DataError("KGCL needs a prefix of letters and digits", value=about.prefix)
    tag = f"@{about.language}" if about.language else ""
    lines = (
        f"create {synonym_scope(term)} synonym '{clean_name(term.text)}'{tag} for "
        f"{':'.join(about.curie('', entity))}\n"
        for entity, _, term in _new(entries)
    )
    write_text(path, "".join(dict.fromkeys(lines)))
    return [path]


def kgcl_problem(term: str) -> str:
    """Why a command cannot hold a name; empty if it can.

    A backslash escapes an apostrophe in one implementation of the language and not in the other.
    """
    return "a term with an apostrophe or a backslash, which KGCL cannot quote" * bool(
        re.search(r"['\\]", term)
    )


def kgcl_entity_problem(entity: str | None) -> str:
    is_plain = entity is None or _PLAIN_ID.fullmatch(entity)
    return "" if is_plain else "an entity whose id makes no CURIE of letters and digits"


# --- QuickStatements ---


def write_quickstatements(path: Path, entries: Sequence[MinedSet], about: About) -> list[Path]:
    """One command of version 1 a name: `Q12152<tab>Aen<tab>"heart attack" /* PMID:399296 */`.

    The remark is the summary of the edit, since aliases have no references. Wikidata ignores an
    alias that is there already.
    """
    if not about.language:
        hint = "give --language, such as --language en"
        raise DataError("QuickStatements need the language of the aliases", hint=hint)
    lines = (
        f'{_item(entity)}\tA{about.language.lower()}\t"{clean_name(term.text)}"'
        f"{_summary(term, about)}\n"
        for entity, _, term in _new(entries)
    )
    write_text(path, "".join(dict.fromkeys(lines)))
    return [path]


def _item(entity: str | None) -> str:
    match = _WIKIDATA.fullmatch(entity or "")
    return match[1] if match else ""


def _summary(term: MinedTerm, about: About) -> str:
    sources = ", ".join(sources_of(term, about)).replace("*/", "*%2F").replace("|", "%7C")
    return f" /* {sources} */" if sources else ""


def quickstatements_problem(term: str) -> str:
    """Why a command cannot hold a name; empty if it can."""
    if re.search(r'["|\\]|/\*|\*/', term):
        return "a term with a quotation mark, vertical bar, backslash, /* or */"
    too_long = len(clean_name(term)) > _LONGEST_ALIAS
    return f"a term of more than {_LONGEST_ALIAS} characters" if too_long else ""


def quickstatements_entity_problem(entity: str | None) -> str:
    return "" if _item(entity) else "a set without an id of Wikidata such as Q12152"
