"""Entities in JSON lines, with room for further names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from synsetmine.errors import DataError
from synsetmine.kb.names import checked
from synsetmine.kb.records import UNSCOPED, NewName, Record, line_end, texts_of
from synsetmine.kb.tables import Fields, parse_record


def json_records(path: Path) -> Iterator[bytes | Record]:
    """The lines of a file, those with entities as records."""
    for number, raw, text in texts_of(path):
        if not text.strip():
            yield raw
            continue
        try:
            entity, names = parse_record(text, Fields())
            names = [checked(name) for name in names]
        except DataError as error:
            raise error.at(path, number) from None
        yield _JsonRecord(raw, entity, names)


@dataclass(frozen=True, slots=True)
class _JsonRecord:
    raw: bytes
    entity: str
    names: Sequence[str]

    def refuses(self, name: NewName) -> str:
        return "" if name.scope == "exact" else UNSCOPED

    def with_names(self, names: Sequence[NewName]) -> bytes:
        """The line with the names at the end of its last list of names, or in a new one."""
        end = line_end(self.raw)
        text = self.raw.removesuffix(end).decode()
        added = ", ".join(json.dumps(name.name, ensure_ascii=False) for name in names)
        values = _values(text)
        lists = [field for field in Fields().names if field in values]
        if not lists:
            closing = text.rindex("}")
            field = Fields().names[0]
            text = f'{text[:closing].rstrip()}, "{field}": [{added}]{text[closing:]}'
        else:
            start, stop = max(values[field] for field in lists)
            text = text[:start] + _longer(text[start:stop], added) + text[stop:]
        return text.encode() + end


def _longer(value: str, added: str) -> str:
    """A list of JSON, or null, with further elements."""
    inner = value[1:-1].rstrip() if value != "null" else ""
    return f"[{inner}, {added}]" if inner.strip() else f"[{added}]"


def _values(text: str) -> dict[str, tuple[int, int]]:
    """Where the values of an object's fields stand; of two with one name the last counts."""
    decode = json.JSONDecoder().raw_decode
    found: dict[str, tuple[int, int]] = {}
    place = _after(text, 0, "{")
    while True:
        key, place = decode(text, place)
        start = _after(text, place, ":")
        _, stop = decode(text, start)
        found[key] = (start, stop)
        place = _after(text, stop, ",")
        if place < 0:
            return found


def _after(text: str, place: int, mark: str) -> int:
    """The place of what follows a mark, with blanks on both sides; -1 where there is no mark."""
    match = re.compile(rf"[ \t\n\r]*{re.escape(mark)}[ \t\n\r]*").match(text, place)
    return match.end() if match else -1
