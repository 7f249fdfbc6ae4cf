"""Sets as patterns of spaCy's entity ruler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from synsetmine.export.about import About
from synsetmine.export.entries import Entry
from synsetmine.export.labels import names_of
from synsetmine.files import write_text
from synsetmine.text import keeps_case, normal_form

LABEL = "TERM"  # of all entities, since nobody told what kind of thing a set is


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


def not_in_texts(term: str) -> str:
    """Why a matcher should not look for a term; empty if it should."""
    return "" if normal_form(term) else "a term without a letter or digit"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
