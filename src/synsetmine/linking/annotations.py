"""What DBpedia Spotlight answers, checked against the text that it was asked about."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from urllib.parse import unquote

from synsetmine.errors import DataError, shorten
from synsetmine.types import Mention

NOT_A_RESOURCE = "a resource without address, surface or offset"
NO_ENTITY = "not the address of an entity"
ELSEWHERE = "the surface is not at its offset"

# The service straightens apostrophes, and where XML is on its way, line ends and tabs are blanks.
_ALIKE = str.maketrans("’\n\t", "'  ")


@dataclass(frozen=True)
class Annotation:
    """The mentions in a text, by the addresses of their entities, and the resources left out."""

    mentions: tuple[Mention, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()  # (problem, resource)

    def to_json(self) -> str:
        rows = [[m.start, m.end, m.entity] for m in self.mentions]
        return json.dumps({"mentions": rows, "broken": self.broken}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Annotation:
        """The inverse of `to_json`; a ValueError for anything else."""
        try:
            stored = json.loads(text)
        except RecursionError as error:
            raise ValueError("lists within lists within lists") from error
        match stored:
            case {"mentions": list(mentions), "broken": list(broken)}:
                return cls(tuple(map(_stored_mention, mentions)), tuple(map(_stored_pair, broken)))
        raise ValueError("not an annotation")


def read_annotation(body: bytes, text: str) -> Annotation:
    """Read an answer about `text`; one that is none raises a DataError.

    Offsets are those of Java, in UTF-16 units. Where the text makes that differ from characters,
    the count that more of the answer agrees with is taken.
    """
    resources = _resources(body)
    units = [0, *accumulate(2 if char > "\uffff" else 1 for char in text)]
    as_utf16 = _placed(resources, text, {unit: place for place, unit in enumerate(units)})
    if units[-1] == len(text):
        return as_utf16
    as_characters = _placed(resources, text, {place: place for place in range(len(text) + 1)})
    return max(as_utf16, as_characters, key=lambda annotation: len(annotation.mentions))


def title_of(uri: str) -> str:
    """The title of the Wikipedia article that an address of DBpedia stands for, if any.

    >>> title_of("http://dbpedia.org/resource/Fran%C3%A7ois_Truffaut")
    'François Truffaut'
    """
    name = unquote(uri.partition("/resource/")[2], errors="strict")
    return " ".join(name.replace("_", " ").split())


def _resources(body: bytes) -> list[object]:
    try:
        # Numbers stay as they are written: a surface such as 1.10 may come without quotes.
        answer: Any = json.loads(body, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise DataError("an answer that is not JSON") from error
    # Without the text it is an answer to something else, perhaps the notice of an error.
    if not isinstance(answer, dict) or "@text" not in answer:
        raise DataError("an answer of another form")
    resources = answer.get("Resources", [])
    if not isinstance(resources, list):
        raise DataError("an answer of another form")
    return resources


def _placed(resources: list[object], text: str, place_of: dict[int, int]) -> Annotation:
    alike = text.translate(_ALIKE)
    mentions: dict[Mention, None] = {}
    broken: list[tuple[str, str]] = []
    for resource in resources:
        try:
            mentions[_mention(resource, alike, place_of)] = None
        except DataError as error:
            shown = shorten(json.dumps(resource, ensure_ascii=True))
            broken.append((error.problem, shown))
    ordered = sorted(mentions, key=lambda mention: (mention.start, mention.end))
    return Annotation(tuple(ordered), tuple(broken))


def _mention(resource: object, text: str, place_of: dict[int, int]) -> Mention:
    match resource:
        case {"@URI": str(uri), "@surfaceForm": str(surface), "@offset": str(offset)} if surface:
            pass
        case _:
            raise DataError(NOT_A_RESOURCE)
    if not _is_entity(uri):
        raise DataError(NO_ENTITY)
    start = place_of.get(int(offset)) if re.fullmatch("[0-9]{1,12}", offset) else None
    if start is None or not text.startswith(surface.translate(_ALIKE), start):
        raise DataError(ELSEWHERE)
    return Mention(start, start + len(surface), uri)


def _is_entity(uri: str) -> bool:
    try:
        uri.encode()
        return bool(title_of(uri)) and not any(map(str.isspace, uri))
    except UnicodeError:
        return False


def _stored_mention(row: object) -> Mention:
    match row:
        case [int(start), int(end), str(entity)]:
            return Mention(start, end, entity)
    raise ValueError("not a mention")


def _stored_pair(row: object) -> tuple[str, str]:
    match row:
        case [str(problem), str(resource)]:
            return problem, resource
    raise ValueError("not a problem with its resource")
