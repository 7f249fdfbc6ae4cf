"""New names for known entities: a table that a curator goes through, and then applies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from synsetmine.errors import DataError, Skipped
from synsetmine.export.entries import About, Entry, confidence, new_names
from synsetmine.io.files import numbered_lines, write_text
from synsetmine.io.tables import escape_formula, rows_of, unescape_formula
from synsetmine.kb.names import clean_name
from synsetmine.kb.patch import NewName
from synsetmine.kb.tables import tab_rows
from synsetmine.normalization import normal_form
from synsetmine.runs import MinedTerm, Scope, Sentence, Verdict
from synsetmine.runs.results import orcid_of
from synsetmine.types import NameKind

COLUMNS = (
    *("entity", "entity_name", "new_name", "kind", "relation", "nearest", "scope"),
    *("probability", "count", "known", "verdict", "reviewer", "when"),
    *("evidence", "document", "sentence"),
)
_NEEDED = frozenset({"entity", "new_name"})


def write_patch(
    path: Path,
    entries: Sequence[Entry],
    about: About,  # noqa: ARG001 (a table has no place for it)
) -> list[Path]:
    """One row a name that the miner found for an entity, the surest of each entity first.

    A patch adds names and leaves the preferred one as it is. Cells are guarded against
    spreadsheets that would run them as formulas.
    """
    if all(entry.entity is None for entry in entries):
        raise DataError("no set here grew from an entity of a knowledge base: nothing to patch")
    write_text(path, rows_of((COLUMNS, *_rows(entries)), "\t"))
    return [path]


def read_patch(path: Path, *, refused: Skipped, reviewed: bool = False) -> Iterator[NewName]:
    """The names to add: those called correct and, unless `reviewed`, those that nobody judged.

    The others go to `refused`. Only the columns `entity` and `new_name` must be there.
    """
    header: list[str] | None = None
    for number, row in tab_rows(numbered_lines(path)):
        try:
            if isinstance(row, DataError):
                raise row
            if header is None:
                header = _checked(row)
                continue
            if len(row) > len(header):
                raise DataError("a row with more cells than the header", value="\t".join(row))
            cells = dict(zip(header, map(unescape_formula, row), strict=False))
            name, verdict = _new_name(cells), _one_of(Verdict, cells.get("verdict", ""), "")
        except DataError as error:
            raise error.at(path, number) from None
        if verdict == "correct" or not (verdict or reviewed):
            yield name
        else:
            who = "a reviewer did not call correct" if verdict else "nobody judged"
            problem = f"a name that {who}"
            refused.append(DataError(problem, path=path, line=number, value=name.name))
    if header is None:
        raise DataError("no header in this file", path=path)


def with_sentences(
    entries: Sequence[Entry], examples: Mapping[str, Sequence[Sentence]]
) -> list[Entry]:
    """The entries with sentences, given by normal form, where they are found."""

    def shown(term: MinedTerm) -> MinedTerm:
        return replace(term, sentences=tuple(examples.get(normal_form(term.text), ())))

    return [
        replace(entry, preferred=shown(entry.preferred), others=tuple(map(shown, entry.others)))
        for entry in entries
    ]


def _rows(entries: Sequence[Entry]) -> Iterator[list[str]]:
    for entry in entries:
        for term in sorted(new_names(entry), key=lambda term: -(confidence(term) or 0)):
            yield [escape_formula(cell) for cell in (entry.entity or "", entry.name, *_cells(term))]


def _cells(term: MinedTerm) -> list[str]:
    sure, judged = confidence(term), term.judgement
    quote = next(iter(term.quotes(term.sentences)), None)
    return [
        clean_name(term.text),
        term.kind or "",
        term.relation or "",
        _one_line(term.nearest),
        term.scope,
        "" if sure is None else f"{sure:.6g}",
        str(term.count),
        "yes" if term.known else "no",
        "" if judged is None else judged.verdict,
        "" if judged is None else clean_name(judged.reviewer),
        "" if judged is None else judged.when,
        "" if quote is None else quote.relation,
        "" if quote is None else _one_line(quote.document),
        "" if quote is None else _one_line(quote.text),
    ]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _checked(header: Sequence[str]) -> list[str]:
    columns = [column.strip().casefold() for column in header]
    if not set(columns) >= _NEEDED:
        problem = f"expected a header with the columns {' and '.join(sorted(_NEEDED))}; found"
        raise DataError(problem, value=", ".join(header))
    return columns


def _new_name(cells: Mapping[str, str]) -> NewName:
    entity, name = cells["entity"].strip(), cells.get("new_name", "")
    if not entity or not name.strip():
        raise DataError("a row needs an entity and a new name", value=f"{entity}\t{name}")
    orcid = orcid_of(cells.get("reviewer", ""))
    return NewName(
        entity=entity,
        name=name,
        scope=_one_of(Scope, cells.get("scope", ""), "exact"),
        kind=_one_of(NameKind, cells.get("kind", ""), ""),
        source=f"orcid:{orcid}" if orcid else "",
    )


def _one_of(allowed: object, cell: str, empty: str) -> str:
    """What a cell says, in small letters, if it is one of a few words."""
    word = cell.strip().casefold() or empty
    if word and word not in get_args(allowed):
        raise DataError(f"expected one of {', '.join(get_args(allowed))}", value=cell)
    return word
