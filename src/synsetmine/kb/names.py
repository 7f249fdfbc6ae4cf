"""One entity as it goes into a knowledge base, and the spelling of its names there."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from synsetmine.errors import DataError
from synsetmine.text import is_unicode, nfc

LONGEST_NAME = 10_000  # characters: what is longer is a text, or a file without line ends
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing with its preferred name and further known names."""

    id: str
    name: str
    names: tuple[str, ...] = ()


def clean_name(name: str) -> str:
    """Composed characters (NFC), one blank for any run of blanks and control characters.

    >>> clean_name("  cafe\\u0301\\tau  lait\\n")
    'café au lait'
    """
    if len(name) > LONGEST_NAME:
        raise DataError(f"a name is longer than {LONGEST_NAME:,} characters", value=name)
    if not name.isascii():
        name = nfc(checked(name))
    elif name.isprintable() and "  " not in name:
        return name.strip(" ")
    return _BLANKS.sub(" ", name).strip(" ")


def checked_id(text: str) -> str:
    """An id as it is, if it is one."""
    if not text or text.isspace():
        raise DataError("an entity needs an id", value=text)
    if any(unicodedata.category(char) == "Cc" for char in text) or "||" in f"|{text}":
        problem = "an id may hold no tab, line break or '||', nor start with '|'"
        raise DataError(problem, value=text)
    return checked(text)


def checked(text: str) -> str:
    """The text, unless it holds half a character (a JSON escape such as `\\ud800` makes one)."""
    if not is_unicode(text):
        raise DataError("ids and names must be valid Unicode", value=text)
    return text
