"""Terms of OBO files, with room for further synonyms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from synsetmine.errors import DataError
from synsetmine.kb.obo import Frame, parse_frame, read_term, starts_frame, starts_term
from synsetmine.kb.oboclauses import not_in_obo, synonym_clause
from synsetmine.kb.records import NewName, Record, line_end, texts_of

# The clauses that the format puts before synonyms, and synonyms themselves.
_EARLIER = re.compile(
    rb"\s*(id|is_anonymous|name|namespace|alt_id|def|comment|subset|(?:\w+_)?synonym)\s*:"
)
# The type that a header declares for abbreviations: ABBREVIATION, or OMO's.
_ABBREVIATION = re.compile(r"synonymtypedef:\s*(abbreviation|OMO:0003000)\s", re.I)


def obo_records(path: Path) -> Iterator[bytes | Record]:
    """The frames of a file, terms in use as records."""
    frame: Frame | None = None
    lines: list[bytes] = []
    abbreviation = ""
    for number, raw, text in texts_of(path):
        if declared := _ABBREVIATION.match(text):
            abbreviation = declared[1]
        if starts_frame(text):
            yield _piece(path, frame, lines, abbreviation)
            frame, lines = Frame([number]) if starts_term(text) else None, []
        elif frame is not None:
            frame.take(number, text)
        lines.append(raw)
    yield _piece(path, frame, lines, abbreviation)


def _piece(
    path: Path, frame: Frame | None, lines: list[bytes], abbreviation: str
) -> bytes | Record:
    if frame is None:
        return b"".join(lines)
    try:
        term = read_term(parse_frame(frame), short_ids=True)
    except DataError as error:
        raise error.at(path, error.line or frame.numbers[0]) from None
    if term.obsolete:  # to a knowledge base there is no such entity
        return b"".join(lines)
    names = (*term.names, *(name for _, name in term.synonyms))
    return _OboRecord(tuple(lines), term.id, names, abbreviation)


@dataclass(frozen=True, slots=True)
class _OboRecord:
    lines: tuple[bytes, ...]
    entity: str
    names: Sequence[str]
    abbreviation: str  # the type that the header declares for abbreviations; empty: none

    @property
    def raw(self) -> bytes:
        return b"".join(self.lines)

    def refuses(self, name: NewName) -> str:
        return not_in_obo(name.name)

    def with_names(self, names: Sequence[NewName]) -> bytes:
        """The frame with the synonyms after those that it has."""
        place = max(i for i, line in enumerate(self.lines) if i == 0 or _EARLIER.match(line)) + 1
        end = line_end(self.lines[0]) or b"\n"
        before = b"".join(self.lines[:place])
        if not line_end(before):  # the last line of the file
            before += end
        clauses = (
            synonym_clause(
                name.name,
                name.scope,
                [name.source] if name.source else (),
                kind=self.abbreviation if name.kind == "abbreviation" else "",
            )
            for name in names
        )
        added = b"".join(clause.encode() + end for clause in clauses)
        return before + added + b"".join(self.lines[place:])
