"""What a file says of itself, and how its ids become addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from urllib.parse import quote

from synsetmine import __version__
from synsetmine.errors import DataError
from synsetmine.kb.identifiers import long_id

BASE = "urn:synsetmine:"
OWN_PREFIX = "synsetmine"  # of ids of sets that have no entity

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_FULL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_PREFIX = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_OF_ADDRESSES = ":/?#@!$&'()*+,;=%"  # what stays as it is in an address


@dataclass(frozen=True)
class About:
    """Title, date and language of an export, and the address that ids are put behind."""

    title: str = "Synonym sets"
    base: str = BASE  # of the sets' own ids
    entities: str = ""  # of the knowledge base's ids; empty: the same as `base`
    language: str = ""  # a tag such as `en`; empty: not told
    created: str = ""  # ISO date; empty: not told, so that the same sets give the same bytes
    licence: str = ""  # its address; empty: not told
    prefix: str = "kb"  # of the knowledge base's ids in CURIEs, unless they have one
    tool: str = field(default=f"synsetmine {__version__}")

    def __post_init__(self) -> None:
        for address in (self.base, self.entities or BASE, self.licence or BASE):
            if not _ADDRESS.fullmatch(address):
                raise DataError("expected an address such as `https://…`", value=address)
        if self.language and not _LANGUAGE.fullmatch(self.language):
            raise DataError("expected a language tag such as `en` or `pt-BR`", value=self.language)
        if not _PREFIX.fullmatch(self.prefix):
            raise DataError("expected a prefix such as `MESH`", value=self.prefix)
        if self.created and not _is_date(self.created):
            raise DataError("expected a date such as `2026-01-31`", value=self.created)

    @property
    def scheme(self) -> str:
        """The address of the sets as a whole."""
        return self.base.rstrip(":/#")

    @property
    def in_words(self) -> str:
        """Title and tool on one line, for a comment."""
        return f"{' '.join(self.title.split())}, by {self.tool}"

    def iri(self, set_id: str) -> str:
        return _behind(self.base, set_id)

    def entity_iri(self, entity: str) -> str:
        """Unless told otherwise, `DOID:1` is what it is in OBO's ontologies."""
        if not self.entities and long_id(entity) != entity:
            return long_id(entity)
        return _behind(self.entities or self.base, entity)

    def curie(self, set_id: str, entity: str | None) -> tuple[str, str]:
        """The id of a set in two parts, prefix and the rest: that of its entity, or its own."""
        if entity is None:
            return OWN_PREFIX, set_id
        prefix, _, rest = entity.partition(":")
        return (prefix, rest) if rest and _PREFIX.fullmatch(prefix) else (self.prefix, entity)


def _behind(base: str, name: str) -> str:
    """The address of an id; one that is an address already stays what it is."""
    if _FULL.match(name):
        return quote(name, safe=_OF_ADDRESSES)
    return f"{base}{quote(name, safe=':')}"


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
