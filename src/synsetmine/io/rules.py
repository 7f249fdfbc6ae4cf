"""The rules of a `synonyms.txt` of Solr, Elasticsearch and OpenSearch, as Lucene reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from synsetmine.errors import DataError, skip_broken
from synsetmine.io.files import read_whole

_LINES = re.compile(r"\r\n|\r|\n")  # as Java's readLine has it; no others
_WHITESPACE = "".join(map(chr, range(ord(" ") + 1)))  # as Java's trim has them
_PIECES = {
    separator: re.compile(rf"\\.?|{separator}|[^\\,=]+|.", re.S) for separator in ("=>", ",")
}
_ESCAPE = re.compile(r"\\(.)", re.S)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `outputs` take the place of any of the `inputs`, without them all are equal."""

    line: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] | None = None

    @property
    def terms(self) -> tuple[str, ...]:
        return (*self.inputs, *(self.outputs or ()))


def read_rules(path: str | Path) -> list[Rule]:
    """The rules of a file; what Lucene refuses is a DataError."""
    path = Path(path)
    rules = []
    for number, line in read_lines(path):
        with skip_broken(path, number, None):
            rules.append(parse_rule(line, number))
    return [rule for rule in rules if rule is not None]


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers; Lucene leaves a byte order mark as it is."""
    content = read_whole(path)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        line = len(_LINES.findall(before)) + 1
        raise DataError("not UTF-8", path=path, line=line, value=content[error.start :]) from None
    yield from enumerate(_LINES.split(text), start=1)


def parse_rule(line: str, number: int = 0) -> Rule | None:
    """The rule of a line; None for an empty line and a comment."""
    if not line or line.startswith("#"):
        return None
    sides = _split(line, "=>")
    if len(sides) > 2:
        raise DataError("more than one => in a rule", value=line)
    if len(sides) == 2:
        return Rule(number, _terms(sides[0], line), _terms(sides[1], line))
    return Rule(number, _terms(line, line))


def has_arrow(line: str) -> bool:
    """Whether there is an arrow that no backslash escapes, with two sides or with one."""
    return any(match.group() == "=>" for match in _PIECES["=>"].finditer(line))


def _terms(side: str, line: str) -> tuple[str, ...]:
    terms = tuple(_ESCAPE.sub(r"\1", piece).strip(_WHITESPACE) for piece in _split(side, ","))
    if not all(terms):
        raise DataError("an empty term", value=line)
    return terms


def _split(text: str, separator: str) -> list[str]:
    """The pieces between separators that no backslash escapes; empty ones do not count."""
    pieces: list[list[str]] = [[]]
    for match in _PIECES[separator].finditer(text):
        if match.group() == separator:
            pieces.append([])
        else:
            pieces[-1].append(match.group())
    return ["".join(piece) for piece in pieces if piece]
