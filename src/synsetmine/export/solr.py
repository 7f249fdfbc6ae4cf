"""Sets as rules of Solr's `synonyms.txt`, which Elasticsearch and OpenSearch read too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from synsetmine.export.about import About
from synsetmine.export.entries import Entry
from synsetmine.export.parts import LIMIT, split, write_parts

_LINE_END = re.compile(r"[\r\n]")
_SPECIAL = re.compile(r"[\\,]|=(?=>)|\A#")


def write_solr(
    path: Path,
    entries: Sequence[Entry],
    about: About,
    *,
    explicit: bool = False,
    limit: int = LIMIT,
) -> list[Path]:
    """One rule a line: `preferred, other, other`, or explicit: `other, other => preferred`."""
    parts = split([rule(entry, explicit=explicit) for entry in entries], limit)
    head = _comment(about, explicit=explicit)
    return write_parts(path, [head + "".join(f"{line}\n" for line in part) for part in parts])


def rule(entry: Entry, *, explicit: bool) -> str:
    """The set as one rule; two senses of a surface are one term to a search engine."""
    first, *others = (escape(text) for text in dict.fromkeys(term.text for term in entry.terms))
    return f"{', '.join(others)} => {first}" if explicit else ", ".join([first, *others])


def escape(term: str) -> str:
    """The term as it is written in a rule, also as the first one of its line."""
    return _SPECIAL.sub(lambda found: f"\\{found.group()}", term)


def unwritable(term: str) -> str:
    """Why no rule can hold the term; empty if one can."""
    if _LINE_END.search(term):
        return "a term with a line end in it"
    if "\0" in term:
        return "a term with a NUL in it, which Lucene has between words"
    if term[0] <= " " or term[-1] <= " ":  # what Java's trim takes away, escaped or not
        return "a term with a blank at its start or end"
    return ""


def _comment(about: About, *, explicit: bool) -> str:
    preferred = "the right side" if explicit else "the first term"
    title = " ".join(about.title.split())
    return f"# {title}, by {about.tool}; {preferred} of a rule is the preferred term.\n"
