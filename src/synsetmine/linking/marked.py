"""Linking by the mentions that a corpus marks with an entity, such as the links of a wiki."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from synsetmine.types import Document, Mention

if TYPE_CHECKING:
    from synsetmine.kb import KnowledgeBase


class MarkedLinker:
    """Takes the mentions that the documents carry.

    The corpus reader puts them there: from a MediaWiki dump the links that authors set. PubTator
    files have fields of ids instead, which `PubtatorLinker` reads.

    With a knowledge base, an id that it has replaced (a merged record, a redirect) becomes the
    one in use. Ids that it does not know stay as they are, so that supervision can count them.
    """

    def __init__(self, kb: KnowledgeBase | None = None) -> None:
        self._kb = kb

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        """The mentions of each document, in the order of its text, whatever that of its file."""
        return [
            tuple(sorted(map(self._current, document.mentions), key=lambda m: (m.start, m.end)))
            for document in documents
        ]

    def _current(self, mention: Mention) -> Mention:
        entity = self._kb.current(mention.entity) if self._kb is not None else None
        if entity is None or entity == mention.entity:
            return mention
        return Mention(mention.start, mention.end, entity)
