"""Names of sets as terms of Gilda, which grounds names that it meets in texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from synsetmine.cells import rows_of
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.export.about import About
from synsetmine.export.entries import Entry
from synsetmine.export.labels import names_of
from synsetmine.files import packing_of, write_text

COLUMNS = (
    *("norm_text", "text", "db", "id", "entry_name", "status", "source"),
    *("organism", "source_db", "source_id"),
)
_BLANKS = re.compile(r"[^\S\x1c-\x1f]+")
_DASHES = re.compile("[-\u2010-\u2015\u2212]")
_GREEK = re.compile("[Α-ΡΣ-Ωα-ρσ-ω]")  # Gilda has other ways with these, so they stay


def write_gilda(path: Path, entries: Sequence[Entry], about: About) -> list[Path]:
    """One row a name; the preferred one has the status `name`, the others `synonym`."""
    if packing_of(path) != "gzip":
        raise DataError("Gilda reads gzipped files only; end the name in .tsv.gz", value=str(path))
    write_text(path, rows_of((COLUMNS, *_rows(entries, about)), "\t"))
    return [path]


def not_in_gilda(term: str) -> str:
    """Why Gilda cannot hold a term; empty if it can."""
    if re.search(r"[\r\n]", term):
        return "a term with a line end in it"
    return "" if norm_text(term).strip() else "a term of which Gilda's normal form leaves nothing"


def norm_text(text: str) -> str:
    """What Gilda looks a name up by: no dashes, one blank, ASCII but for Greek, lower case."""
    plain = _DASHES.sub("", _BLANKS.sub(" ", text))
    if not plain.isascii():
        plain = "".join(char if _GREEK.match(char) else _ascii(char) for char in plain)
    return plain.lower()


def _rows(entries: Sequence[Entry], about: About) -> Iterator[list[str]]:
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
