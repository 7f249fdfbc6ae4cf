"""What a file says of itself, and how its ids become addresses."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

from synsetmine import __version__

BASE = "urn:synsetmine:"


@dataclass(frozen=True)
class About:
    """Title, date and language of an export, and the address that ids are put behind."""

    title: str = "Synonym sets"
    base: str = BASE  # of the sets' own ids
    entities: str = ""  # of the knowledge base's ids; empty: the same as `base`
    language: str = ""  # a tag such as `en`; empty: not told
    created: str = ""  # ISO date; empty: not told, so that the same sets give the same bytes
    tool: str = field(default=f"synsetmine {__version__}")

    @property
    def in_words(self) -> str:
        """Title and tool on one line, for a comment."""
        return f"{' '.join(self.title.split())}, by {self.tool}"

    def iri(self, set_id: str) -> str:
        return f"{self.base}{quote(set_id, safe=':')}"

    def entity_iri(self, entity: str) -> str:
        return f"{self.entities or self.base}{quote(entity, safe=':')}"
