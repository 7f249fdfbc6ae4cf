"""What tests of Spotlight share: impatient linkers, documents, and what was found in them."""

from __future__ import annotations

from typing import Any

from synsetmine.linking.spotlight import SpotlightLinker
from synsetmine.types import Document, Mention
from tests.support.spotlightserver import SpotlightServer


def linker_of(server: SpotlightServer, **changed: Any) -> SpotlightLinker:
    values: dict[str, Any] = {"url": server.url, "per_second": 0, "backoff": 0.001, "timeout": 5}
    return SpotlightLinker(**values | changed)


def documents(*texts: str) -> list[Document]:
    return [Document(f"d{number}", text) for number, text in enumerate(texts)]


def links_in(text: str, mentions: tuple[Mention, ...]) -> list[tuple[str, str]]:
    return [(text[mention.start : mention.end], mention.entity) for mention in mentions]


def link_one(linker: SpotlightLinker, text: str) -> list[tuple[str, str]]:
    (mentions,) = linker.link(documents(text))
    return links_in(text, mentions)


def many(count: int) -> list[Document]:
    return documents(*(f"Text {number} about Berlin." for number in range(count)))
