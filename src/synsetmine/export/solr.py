"""Sets as synonyms of Solr, Elasticsearch and OpenSearch.

All three read the rules of Solr's `synonyms.txt`: `a, b, c` are equivalent, `a, b => c` puts c in
the place of a and b. Elasticsearch has an API that takes the rules in JSON; Solr has another with
a map from each term to its synonyms, where nothing needs an escape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from synsetmine.export.about import About
from synsetmine.export.entries import Entry
from synsetmine.export.labels import names_of
from synsetmine.export.parts import LIMIT, split, write_parts

_LINE_END = re.compile(r"[\r\n]")
# A # after a blank needs no escape, but looks like a comment to a person (and to `lint`).
_SPECIAL = re.compile(r"[\\,]|=(?=>)|(?<!\S)#")
_MANAGED = frozenset({"initArgs", "managedList", "managedMap"})  # keys that mean something else


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
    preferred = "the right side" if explicit else "the first term"
    head = f"# {about.in_words}; {preferred} of a rule is the preferred term.\n"
    return write_parts(path, [head + "".join(f"{line}\n" for line in part) for part in parts])


def write_elasticsearch(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (JSON without a place for it)
    *,
    explicit: bool = False,
    limit: int = LIMIT,
) -> list[Path]:
    """The body of `PUT _synonyms/NAME`: rules as in `synonyms.txt`, under the ids of the sets."""
    rules = [{"id": entry.id, "synonyms": rule(entry, explicit=explicit)} for entry in entries]
    return write_parts(path, [_json({"synonyms_set": part}) for part in split(rules, limit)])


def write_managed(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (JSON without a place for it)
    *,
    explicit: bool = False,
) -> list[Path]:
    """The body of `PUT schema/analysis/synonyms/NAME`: each term with what takes its place.

    A term that is not among its own synonyms is gone from the query, so it stands there too,
    unless the rules are to be explicit.
    """
    mapping: dict[str, list[str]] = {}
    for entry in entries:
        first, *others = surfaces(entry)
        for term in others if explicit else (first, *others):
            known = mapping.setdefault(term, [])  # another set may have the term too
            wanted = (first,) if explicit else (first, *others)
            known.extend(other for other in wanted if other not in known)
    return write_parts(path, [_json(mapping)])


def rule(entry: Entry, *, explicit: bool) -> str:
    first, *others = map(escape, surfaces(entry))
    return f"{', '.join(others)} => {first}" if explicit else ", ".join([first, *others])


def surfaces(entry: Entry) -> list[str]:
    """The terms, preferred first; two senses of a surface are one term to a search engine."""
    return [term.text for term in names_of(entry)]


def escape(term: str) -> str:
    """The term as it is written in a rule, also as the first one of its line."""
    return _SPECIAL.sub(lambda found: f"\\{found.group()}", term)


def not_in_rule(term: str) -> str:
    """Why no rule can hold the term; empty if one can."""
    if _LINE_END.search(term):
        return "a term with a line end in it"
    if "\0" in term:
        return "a term with a NUL in it, which Lucene has between words"
    if term[0] <= " " or term[-1] <= " ":  # what Java's trim takes away, escaped or not
        return "a term with a blank at its start or end"
    return ""


def not_managed(term: str) -> str:
    """Why Solr's map cannot hold the term; empty if it can."""
    if term in _MANAGED:
        return "a term that Solr's managed resources take for a word of their own"
    return not_in_rule(term)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
