"""Decisions as a TSV file that lives well under git: one a line, in an order that never changes.

Files of two branches may be merged line by line; a line that stands there twice counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import category

from synsetmine.errors import DataError
from synsetmine.io.files import numbered_lines, write_text
from synsetmine.io.tables import is_formula
from synsetmine.review.decisions import Decision

COLUMNS = (
    *("when", "id", "reviewer", "kind", "set_id", "terms", "other", "verdict", "scope"),
    *("undoes", "note", "members", "others"),
)
LISTS = ("terms", "members", "others")
BETWEEN = ";"  # the terms of a list

_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
_MEANT = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\", BETWEEN: BETWEEN}
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.|\Z)", re.S)
_ITEM = re.compile(rf"(?:\\.|[^\\{BETWEEN}])+", re.S)


def write_decisions(path: Path, decisions: Iterable[Decision]) -> None:
    """Write decisions, first made first; the same ones always give the same bytes."""
    found = sorted(decisions, key=lambda decision: decision.place)
    rows = [COLUMNS, *map(_cells, found)]
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def read_decisions(path: Path) -> list[Decision]:
    """Read what `write_decisions` wrote, or a merge of such files; first made first.

    A line without an id gets the one that the store would have given.
    """
    found: dict[str, tuple[int, Decision]] = {}
    header = None
    for number, line in numbered_lines(path):
        if header is None:
            header = tuple(line.split("\t"))
            if header != COLUMNS:
                problem = f"expected the columns {' '.join(COLUMNS)}"
                raise DataError(problem, path=path, line=number, value=line)
            continue
        if not line:
            continue
        try:
            decision = _decision(line.split("\t"))
            first, known = found.setdefault(decision.id, (number, decision))
            if known != decision:
                problem = f"line {first} is another decision with this id"
                raise DataError(problem, value=decision.id)
        except DataError as error:
            raise error.at(path, number) from None
    if header is None:
        raise DataError("the file is empty; expected at least the header", path=path)
    return sorted((decision for _, decision in found.values()), key=lambda d: d.place)


def _cells(decision: Decision) -> list[str]:
    if not decision.id or not decision.when:
        raise DataError("a decision has no id or time yet", value=decision.set_id)
    cells = []
    for name in COLUMNS:
        value = getattr(decision, name)
        if name in LISTS:
            texts = (_escape(text).replace(BETWEEN, f"\\{BETWEEN}") for text in value)
            cells.append(BETWEEN.join(texts))
        else:
            cells.append(_escape(value or ""))
    return [_guarded(cell) for cell in cells]


def _guarded(cell: str) -> str:
    """What people typed, as a spreadsheet shows it rather than runs it."""
    return f"\\u{ord(cell[0]):04x}{cell[1:]}" if is_formula(cell) else cell


def _decision(cells: Sequence[str]) -> Decision:
    if len(cells) != len(COLUMNS):
        raise DataError(f"expected {len(COLUMNS)} columns; got", value=len(cells))
    values: dict[str, Any] = {
        name: _texts(cell) if name in LISTS else _unescape(cell)
        for name, cell in zip(COLUMNS, cells, strict=True)
    }
    for name in ("verdict", "scope"):
        values[name] = values[name] or None
    if not values["when"]:
        raise DataError("a decision needs its time, in the column", value="when")
    found = Decision(**values)
    return found if found.id else replace(found.stamped(found.when), number=0)


def _escape(text: str) -> str:
    return "".join(
        _NAMED.get(c, c) if c in _NAMED or not _is_control(c) else f"\\u{ord(c):04x}" for c in text
    )


def _is_control(character: str) -> bool:
    # What ends a line for some program, or makes git take the file for a binary one.
    return category(character) in ("Cc", "Zl", "Zp") or character == "\ufeff"


def _unescape(text: str) -> str:
    def meant(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        if code not in _MEANT:
            raise DataError("unknown escape; write a backslash twice", value=match[0])
        return _MEANT[code]

    return _ESCAPE.sub(meant, text)


def _texts(cell: str) -> tuple[str, ...]:
    found = _ITEM.findall(cell)
    if BETWEEN.join(found) != cell:
        raise DataError(f"expected terms with {BETWEEN} between them", value=cell)
    return tuple(map(_unescape, found))
