"""A JSON dump of Wikidata: an array with one item a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synsetmine.errors import DataError
from synsetmine.io.source import Source
from synsetmine.kb.base import KnowledgeBuilder
from synsetmine.kb.names import accepts
from synsetmine.kb.tables import json_fields

_NEEDED = frozenset({"type", "id", "labels", "aliases"})
_ALL_LANGUAGES = "mul"  # a label or alias for every language


def add_wikidata(source: Source, builder: KnowledgeBuilder, *, language: str) -> None:
    """Read labels and aliases of items in a language; `mul` stands in for what it lacks.

    Only the fields up to the aliases are parsed, not the claims and links after them.
    """
    ranks = _Ranks(language)
    for number, line in source.lines():
        text = line.strip().removeprefix("[").removesuffix("]").removesuffix(",").strip()
        if not text:
            continue
        with source.skipping(number):
            _add_item(_fields(text), builder, ranks, number)


class _Ranks(dict[str, int]):
    """The language before `mul` and that before variants of the language; -1 for all others."""

    def __init__(self, language: str) -> None:
        self._language = language

    def __missing__(self, tag: str) -> int:
        if tag == self._language:
            rank = 0
        elif tag == _ALL_LANGUAGES:
            rank = 1
        else:
            rank = 2 if accepts(self._language, tag) else -1
        return self.setdefault(tag, rank)


def _add_item(item: Mapping[str, Any], builder: KnowledgeBuilder, ranks: _Ranks, line: int) -> None:
    match item:
        case {"redirects": {"from": str(old), "to": str(new)}} | {
            "entity": str(old),
            "redirect": str(new),
        }:
            builder.replace(old, new)
            return
        case {"type": str(kind)} if kind != "item":
            return
        case {"type": "item", "id": str(entity)}:
            pass
        case _:
            raise DataError("expected an item with its id", value=dict(item))
    ranked = sorted(_names(item, ranks), key=lambda pair: pair[0])
    if ranked:
        builder.add(entity, [name for _, name in ranked], line=line)


def _names(item: Mapping[str, Any], ranks: _Ranks) -> Iterator[tuple[int, str]]:
    """Names with their ranks: labels before aliases."""
    for base, field in ((0, "labels"), (3, "aliases")):
        by_language = item.get(field) or {}  # an empty object may be written as an empty array
        if not isinstance(by_language, dict):
            raise DataError("expected an object with languages as keys", value=by_language)
        for tag, values in by_language.items():
            rank = ranks[tag]
            if rank < 0:
                continue
            for value in values if isinstance(values, list) else [values]:
                name = value.get("value") if isinstance(value, dict) else None
                if not isinstance(name, str):
                    raise DataError("expected a value in a language", value=value)
                yield base + rank, name


def _fields(text: str) -> dict[str, Any]:
    """The fields of a JSON object until all that are needed have been seen."""
    item: dict[str, Any] = {}
    if not text.startswith("{") or not text.endswith("}"):
        raise DataError("expected one JSON object per line", value=text)
    try:
        for name, value, _, _ in json_fields(text):
            item[name] = value
            if item.keys() >= _NEEDED or item.get("type", "item") != "item":
                break
    except (ValueError, IndexError, RecursionError) as error:
        raise DataError("not JSON", value=text) from error
    return item
