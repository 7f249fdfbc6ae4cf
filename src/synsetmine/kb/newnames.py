"""New names put into the file of a knowledge base, where all else stays byte by byte."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from synsetmine.errors import DataError, Skipped
from synsetmine.files import open_binary, writing
from synsetmine.kb.jsonrecords import json_records
from synsetmine.kb.names import clean_name
from synsetmine.kb.oborecords import obo_records
from synsetmine.kb.readers import Form, guess_form
from synsetmine.kb.records import NewName, Record
from synsetmine.kb.source import Source
from synsetmine.kb.tablerecords import comma_records, tab_records
from synsetmine.text import normal_form, tokens

_FORMS: Mapping[str, Callable[[Path], Iterator[bytes | Record]]] = {
    "jsonl": json_records,
    "csv": comma_records,
    "tsv": tab_records,
    "obo": obo_records,
}


@dataclass(frozen=True)
class Applied:
    """How many names were added, to how many entities."""

    names: int
    entities: int


def apply_names(
    kb: Path, out: Path, names: Iterable[NewName], *, refused: Skipped, form: Form | None = None
) -> Applied:
    """Write a knowledge base with further names; those that cannot be added go to `refused`.

    A name is there already if the entity has one of the same normal form, in whatever scope. The
    file is read twice as a stream: to see what is there, and to copy it.
    """
    form = form or guess_form(Source(kb))
    if form not in _FORMS:
        problem = f"names can be added to files of the forms {', '.join(_FORMS)}; this is {form}"
        raise DataError(problem, path=kb)
    records = _FORMS[form]
    homes: dict[str, _Home] = {}
    for name in names:
        homes.setdefault(name.entity, _Home()).wanted.append(name)
    for number, piece in enumerate(records(kb)):
        if not isinstance(piece, bytes) and piece.entity in homes:
            homes[piece.entity].meet(number, piece)
    chosen = {home.number: home.choose(refused) for home in homes.values()}
    with writing(out) as stream:
        stream.write(_byte_order_mark(kb))
        for number, piece in enumerate(records(kb)):
            if isinstance(piece, bytes):
                stream.write(piece)
            else:
                added = chosen.get(number)
                stream.write(piece.with_names(added) if added else piece.raw)
    return Applied(sum(map(len, chosen.values())), sum(map(bool, chosen.values())))


@dataclass
class _Home:
    """Where the names of one entity belong."""

    wanted: list[NewName] = field(default_factory=list)
    forms: set[str] = field(default_factory=set)  # normal forms of the names that it has
    number: int | None = None  # of the last piece that tells of it, which takes the new names
    record: Record | None = None

    def meet(self, number: int, record: Record) -> None:
        self.number, self.record = number, record
        self.forms.update(normal_form(clean_name(name)) for name in record.names)

    def choose(self, refused: Skipped) -> list[NewName]:
        """The names that can be added, as they are written."""
        chosen = []
        for wanted in self.wanted:
            name = replace(wanted, name=clean_name(wanted.name))
            if problem := self._problem(name):
                value = name.entity if self.record is None else f"{name.entity}: {name.name}"
                refused.append(DataError(problem, value=value))
            else:
                chosen.append(name)
                self.forms.add(normal_form(name.name))
        return chosen

    def _problem(self, name: NewName) -> str:
        if self.record is None:
            return "a name of an entity that the knowledge base lacks"
        form = normal_form(name.name)
        if not form:
            return "a name without a letter or digit"
        # As in `KnowledgeBase.knows`: a name known as `usa` may be written `USA`.
        if {form, " ".join(tokens(name.name))} & self.forms:
            return "a name that is there already"
        return self.record.refuses(name)


def _byte_order_mark(path: Path) -> bytes:
    """What readers of lines pass over at the start of a file."""
    with open_binary(path) as stream:
        start = stream.read(len(codecs.BOM_UTF8))
    return start if start == codecs.BOM_UTF8 else b""
