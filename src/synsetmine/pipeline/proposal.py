"""Which columns of a table have what, proposed from their headers and their first rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from synsetmine.corpus import corpus_files
from synsetmine.corpus.name_lists import choose_column, format_of
from synsetmine.errors import DataError
from synsetmine.io.files import Source
from synsetmine.kb.readers import guess_format, table_rows

ROWS = 1000  # that are looked at
# Words of headers.
_ID = re.compile(r"ids?|identifier|code|key|[ui]ri|curie|sku|cui|accession|number|nr|no|gtin|ean")
_NAME = re.compile(
    r"name|label|title|term|heading|pref(erred)?|canonical|entity|concept|surface|product|item|"
    r"brand|company|word"
)
_NAMES = re.compile(
    r"synonyms?|alias(es)?|alt(ernat(iv)?es?)?|others?|also|aka|variants?|abbr(eviations?)?|"
    r"acronyms?|names|labels|terms"
)
_DEFINITION = re.compile(r"definitions?|desc(riptions?)?|gloss|explanation")
_TEXT = ("text", "abstract", "body", "content", "article", "description", "summary", "message")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")
_FLAGS = {"0", "1", "f", "false", "n", "no", "t", "true", "y", "yes"}


@dataclass(frozen=True)
class Proposal:
    """Settings for columns, and a sentence on them."""

    settings: Mapping[str, Any]
    sentence: str


@dataclass(frozen=True)
class _Column:
    header: str
    cells: Sequence[str]  # of the first rows, without empty ones
    rows: int

    @cached_property
    def words(self) -> list[str]:
        return [word.lower() for word in _WORD.findall(self.header)]

    @cached_property
    def is_text(self) -> bool:
        """Whether most cells are neither numbers nor yes and no."""
        return self._share(lambda cell: not _NUMBER.fullmatch(cell) and cell.lower() not in _FLAGS)

    @cached_property
    def is_key(self) -> bool:
        """Whether the cells are codes, and each row has its own."""
        codes = self._share(lambda cell: cell.isascii() and " " not in cell and "." not in cell, 1)
        digits = self._share(lambda cell: any(map(str.isdigit, cell)), 0.8)
        return codes and digits and len({*self.cells}) == self.rows

    @cached_property
    def length(self) -> float:
        return sum(map(len, self.cells)) / max(len(self.cells), 1)

    @cached_property
    def has_lists(self) -> bool:
        return self.length < 200 and any(
            self._share(lambda cell, s=s: s in cell, 0.2)  # type: ignore[misc]
            for s in "|;\n"
        )

    @cached_property
    def role(self) -> str:
        """What the header says."""
        if _ID.fullmatch((self.words or [""])[-1]):
            return "id"
        if self._says(_NAMES) and self.is_text:
            return "names"
        if self._says(_DEFINITION):
            return "definition"
        if self._says(_ID):
            return "id"
        return "name" if self._says(_NAME) and self.is_text else ""

    def _says(self, words: re.Pattern[str]) -> bool:
        return any(map(words.fullmatch, self.words))

    def _share(self, holds: Callable[[str], bool], least: float = 0.5) -> bool:
        return bool(self.cells) and sum(map(holds, self.cells)) >= least * len(self.cells)


def propose_kb(path: Path) -> Proposal | None:
    """The columns of a knowledge base; None for a file that is no table."""
    format = guess_format(path)
    if format not in ("csv", "tsv", "xlsx"):
        return None
    columns = _columns(path, format)
    name = _name_in(columns, path)
    names = [c for c in columns if c.role == "names" and c is not name]
    others = [c for c in columns if not c.role and c is not name and c.is_text]
    names = names or [c for c in others if c.has_lists] or [c for c in [name] if c.has_lists]
    left = columns[: columns.index(name)]
    ids = [c for c in columns if c.role == "id" and len(c.cells) >= 0.95 * c.rows]
    key = next(iter(ids or [c for c in left if not c.role and c.is_key]), name)
    defined = [c for c in columns if c.role == "definition"]
    defined = defined or [c for c in others if c.length > 60 and c not in names]
    settings: dict[str, Any] = {"id_field": key.header, "name_field": name.header}
    parts = [f"id {key.header!r}", f"name {name.header!r}"]
    if names:
        separator = _separator(names)
        settings |= {"names_field": [c.header for c in names], "separator": separator}
        listed = ", ".join(repr(c.header) for c in names)
        parts.append(f"other names {listed}, separated by {separator!r}")
    if defined:
        settings["definition_field"] = defined[0].header
        parts.append(f"definition {defined[0].header!r}")
    used = [key, name, *names, *defined[:1]]
    return Proposal(settings, _sentence(path, parts, [c for c in columns if c not in used]))


def propose_list(path: Path) -> Proposal | None:
    """The column of a list of names; None for a file that is no table."""
    format = format_of(path)
    if format not in ("csv", "tsv", "xlsx"):
        return None
    columns = _columns(path, format)
    try:
        name = columns[choose_column([column.header for column in columns])]
    except DataError:
        name = _name_in(columns, path)
    others = [column for column in columns if column is not name]
    settings = {"name_column": name.header}
    return Proposal(settings, _sentence(path, [f"names {name.header!r}"], others))


def propose_corpus(where: str | Path) -> Proposal | None:
    """The columns of the first table of a corpus; None without a table."""
    tables = ((p, f) for p, f in corpus_files(where).items() if f in ("csv", "tsv", "xlsx"))
    path, format = next(tables, (None, ""))
    if path is None:
        return None
    columns = [c for c in _columns(path, format) if "," not in c.header]
    texts = [c for word in _TEXT for c in columns if word in c.words and c.is_text]
    texts = texts or sorted((c for c in columns if c.is_text), key=lambda c: -c.length)
    if not texts:
        raise _no_column(path, columns, "texts")
    titles = [c for c in columns if "title" in c.words and c is not texts[0]]
    field = ",".join(c.header for c in (*titles[:1], texts[0]))
    settings, parts = {"text_field": field}, [f"text {field!r}"]
    ids = [c for c in columns if c.role == "id" and len({*c.cells}) == c.rows]
    if ids:
        settings["id_field"] = ids[0].header
        parts.append(f"id {ids[0].header!r}")
    used = [*titles[:1], texts[0], *ids[:1]]
    return Proposal(settings, _sentence(path, parts, [c for c in columns if c not in used]))


def _columns(path: Path, format: Any) -> list[_Column]:
    rows = islice(table_rows(Source(path, []), format), ROWS + 1)
    sound = [row for _, row in rows if not isinstance(row, DataError)]
    if not sound:
        raise DataError("the table has no rows", path=path)
    header, *body = sound
    body = [row for row in body if len(row) == len(header)]
    columns = ([cell.strip() for cell in column] for column in zip(*body, strict=True))
    cells = list(columns) or [[] for _ in header]
    return [
        _Column(name.strip(), [cell for cell in column if cell], len(body))
        for name, column in zip(header, cells, strict=True)
        if name.strip()
    ]


def _name_in(columns: Sequence[_Column], path: Path) -> _Column:
    """The column of preferred names: by its header, or the one with the most short texts."""
    texts = [c for c in columns if c.is_text]
    named = [c for c in texts if c.role == "name"]
    preferred = [c for c in named if {*c.words} & {"pref", "preferred"} or c.words == ["name"]]
    if preferred or named:
        return (preferred or named)[0]
    plain = [c for c in texts if not c.role and not c.is_key and c.length < 80]
    choice = sorted(plain, key=lambda c: (c.has_lists, -len({*c.cells})))
    choice += [c for c in texts if c.role == "names"] + texts
    if not choice:
        raise _no_column(path, columns, "names")
    return choice[0]


def _separator(columns: Iterable[_Column]) -> str:
    """What separates the names in cells: a comma only where nothing else does."""
    cells = [cell for column in columns for cell in column.cells]
    counts = {s: sum(s in cell for cell in cells) for s in "|;\n"}
    best = max(counts, key=lambda s: counts[s])
    if not counts[best] and 2 * sum(", " in cell for cell in cells) >= len(cells) > 0:
        return ", "
    return best


def _sentence(path: Path, parts: Sequence[str], unused: Sequence[_Column]) -> str:
    more = ", ".join(repr(column.header) for column in unused[:5])
    more += f" and {len(unused) - 5} more" if len(unused) > 5 else ""
    return f"{path}: {', '.join(parts)}" + (f"; not used: {more}" if more else "")


def _no_column(path: Path, columns: Sequence[_Column], what: str) -> DataError:
    headers = ", ".join(column.header for column in columns)
    return DataError(f"no column with {what}; found", path=path, value=headers)
