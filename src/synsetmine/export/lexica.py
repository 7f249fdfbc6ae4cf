"""Lexica for spaCy's entity ruler, Gilda and SSSLM."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.export.entries import (
    OBO_PROPERTIES,
    About,
    Entry,
    confidence,
    names_of,
    reviewer_curie,
    synonym_scope,
)
from synsetmine.io.files import compression_of, write_text
from synsetmine.io.tables import rows_of
from synsetmine.normalization import keeps_case, normal_form

LABEL = "TERM"  # of all entities: the type of a set is unknown


def write_spacy(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (a pattern file has no place for it)
) -> list[Path]:
    """One line a name and way to write it; its `id` is the id of the set.

    Patterns are phrases, which spaCy cuts into tokens as it does with texts, in any language, and
    finds fast however many there are. They match letter by letter, so a name is there in the
    cases that texts have it in; a short word in capitals (`WHO`) only in its own. Preferred or
    not makes no difference to a matcher.
    """
    lines = {
        json.dumps({"label": LABEL, "pattern": pattern, "id": entry.id}, ensure_ascii=False): None
        for entry in entries
        for term in names_of(entry)
        for pattern in spellings(term.text)
    }
    write_text(path, "".join(f"{line}\n" for line in lines))
    return [path]


def spellings(name: str) -> list[str]:
    """A name as texts may write it: as it is, small, as a sentence starts, as a title, in capitals.

    >>> spellings("heart attack")
    ['heart attack', 'Heart attack', 'Heart Attack', 'HEART ATTACK']
    """
    if keeps_case(normal_form(name)):
        return [name]
    small = name.lower()
    title = " ".join(map(_capital, small.split(" ")))
    every = (name, small, _capital(name), _capital(small), title, name.upper())
    return list(dict.fromkeys(every))


def text_problem(term: str) -> str:
    """Why a matcher should not look for a term; empty if it should."""
    return "" if normal_form(term) else "a term without a letter or digit"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


GILDA_COLUMNS = (
    *("norm_text", "text", "db", "id", "entry_name", "status", "source"),
    *("organism", "source_db", "source_id"),
)
_WHITESPACE = re.compile(r"[^\S\x1c-\x1f]+")
_DASHES = re.compile("[-\u2010-\u2015\u2212]")
_GREEK = re.compile("[Α-ΡΣ-Ωα-ρσ-ω]")  # Gilda has other ways with these, so they stay


def write_gilda(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """One row a name; the preferred one has the status `name`, the others `synonym`."""
    if compression_of(path) != "gzip":
        raise DataError("Gilda reads gzipped files only; end the name in .tsv.gz", value=str(path))
    write_text(path, rows_of((GILDA_COLUMNS, *_gilda_rows(entries, about)), "\t"))
    return [path]


def gilda_problem(term: str) -> str:
    """Why Gilda cannot hold a term; empty if it can."""
    if re.search(r"[\r\n]", term):
        return "a term with a line break"
    return "" if norm_text(term).strip() else "a term whose normal form in Gilda is empty"


def norm_text(text: str) -> str:
    """What Gilda looks a name up by: no dashes, single spaces, ASCII but for Greek, lower case."""
    plain = _DASHES.sub("", _WHITESPACE.sub(" ", text))
    if not plain.isascii():
        plain = "".join(char if _GREEK.match(char) else _ascii(char) for char in plain)
    return plain.lower()


def _gilda_rows(entries: Sequence[Entry], about: About) -> Iterator[list[str]]:
    for entry in entries:
        database, identifier = about.curie(entry.id, entry.entity)
        for term in names_of(entry):
            yield [
                norm_text(term.text),
                term.text,
                database,
                identifier,
                entry.preferred.text,
                "name" if term is entry.preferred else "synonym",
                "synsetmine",
                *("", "", ""),
            ]


def _ascii(char: str) -> str:
    try:
        from unidecode import unidecode
    except ImportError:
        problem = "terms that are not ASCII need the extra: pip install 'synsetmine[gilda]'"
        raise SynsetmineError(problem) from None
    return unidecode(char, errors="ignore")


SSSLM_COLUMNS = (
    *("text", "curie", "name", "predicate", "type", "provenance", "contributor", "date"),
    *("language", "comment", "source", "taxon"),
)
_LABEL = "rdfs:label"
_ABBREVIATION = "OMO:0003000"


def write_ssslm(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """One row a name; that of the preferred term has the predicate `rdfs:label`.

    The others are synonyms of their scope, those that a reviewer is unsure of related ones.
    """
    write_text(path, rows_of((SSSLM_COLUMNS, *_ssslm_rows(entries, about)), "\t"))
    return [path]


def _ssslm_rows(entries: Sequence[Entry], about: About) -> Iterator[list[str]]:
    language = about.language.partition("-")[0].lower()
    for entry in entries:
        curie = ":".join(about.curie(entry.id, entry.entity))
        for term in names_of(entry):
            judged, sure = term.judgement, confidence(term)
            row = dict.fromkeys(SSSLM_COLUMNS, "") | {
                "text": term.text,
                "curie": curie,
                "name": entry.preferred.text,
                "predicate": _LABEL
                if term is entry.preferred
                else OBO_PROPERTIES[synonym_scope(term)],
                "type": _ABBREVIATION if term.kind == "abbreviation" else "",
                "contributor": reviewer_curie(judged),
                "date": "" if judged is None else judged.when[:10],
                "language": language if len(language) == 2 else "",  # it has no longer ones
                "comment": "" if sure is None else f"probability {sure:.6g}",
                "source": "synsetmine",
            }
            yield list(row.values())
