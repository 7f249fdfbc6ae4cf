"""Names and identifiers in knowledge bases."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from synsetmine.errors import DataError
from synsetmine.normalization import is_unicode, nfc

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
        problem = "an id must not contain a tab, line break or '||', or start with '|'"
        raise DataError(problem, value=text)
    return checked(text)


def checked(text: str) -> str:
    """The text, unless it holds half a character (a JSON escape such as `\\ud800` makes one)."""
    if not is_unicode(text):
        raise DataError("ids and names must be valid Unicode", value=text)
    return text


_OBO = "http://purl.obolibrary.org/obo/"
_PURL = re.compile(rf"{re.escape(_OBO)}([A-Za-z]\w*)_(\w+)", re.ASCII)
_SHORT = re.compile(r"([A-Za-z]\w*):(\w+)", re.ASCII)


def short_id(iri: str) -> str:
    """`DOID:14330` for `http://purl.obolibrary.org/obo/DOID_14330`; other IRIs stay as they are."""
    match = _PURL.fullmatch(iri)
    return f"{match[1]}:{match[2]}" if match else iri


def long_id(text: str) -> str:
    """The inverse of `short_id`."""
    match = _SHORT.fullmatch(text)
    return f"{_OBO}{match[1]}_{match[2]}" if match else text


def accepts(language: str, tag: str | None) -> bool:
    """Whether a language tag suits: `en` takes `en`, `en-GB` and no tag at all; `*` takes any.

    >>> accepts("en", "en-GB"), accepts("en-GB", "en"), accepts("en", "enm"), accepts("de", None)
    (True, False, False, True)
    """
    if not tag or language == "*":
        return True
    tag, language = tag.lower(), language.lower()
    return tag == language or tag.startswith(f"{language}-")
