"""The forms in which sets are exported, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Concatenate, TypeAlias

from synsetmine.errors import DataError, Skipped
from synsetmine.export.about import About
from synsetmine.export.entries import Entry
from synsetmine.export.querqy import not_in_querqy, write_querqy
from synsetmine.export.solr import (
    not_in_rule,
    not_managed,
    write_elasticsearch,
    write_managed,
    write_solr,
)

# write(path, entries, about, **options) writes all of the entries and names the files; packages
# beyond the core are imported when it is called.
Writer: TypeAlias = Callable[Concatenate[Path, Sequence[Entry], About, ...], list[Path]]


def _anything(text: str) -> str:  # noqa: ARG001
    return ""


@dataclass(frozen=True)
class Format:
    """One form: how it is written, and what it can hold."""

    name: str
    ending: str  # that such files usually have
    help: str  # in one line
    write: Writer
    takes: frozenset[str] = frozenset()  # options that mean something to it, of `About` too
    refuses: Callable[[str], str] = _anything  # why a term cannot be written; empty if it can
    smallest: int = 1  # different terms that a set needs to say something
    extra: str = ""  # of pyproject.toml, with the packages that it needs

    def writable(self, entries: Sequence[Entry], skipped: Skipped) -> list[Entry]:
        """What can be written; terms and sets that cannot are counted in `skipped`."""
        kept = (self._without_refused(entry, skipped) for entry in entries)
        return [entry for entry in kept if entry is not None]

    def _without_refused(self, entry: Entry, skipped: Skipped) -> Entry | None:
        terms = []
        for term in entry.terms:
            if problem := self.refuses(term.text):
                skipped.append(DataError(problem, value=term.text))
            else:
                terms.append(term)
        if len({term.text for term in terms}) < self.smallest:
            problem = f"a set of which fewer than {self.smallest} terms can be written"
            skipped.append(DataError(problem, value=entry.preferred.text))
            return None
        return replace(entry, preferred=terms[0], others=tuple(terms[1:]))


_ALL = (
    Format(
        name="solr",
        ending=".txt",
        help="synonyms.txt of Solr, Elasticsearch and OpenSearch",
        write=write_solr,
        takes=frozenset({"title", "explicit", "limit"}),
        refuses=not_in_rule,
        smallest=2,
    ),
    Format(
        name="elasticsearch",
        ending=".json",
        help="body for Elasticsearch's synonyms API",
        write=write_elasticsearch,
        takes=frozenset({"explicit", "limit"}),
        refuses=not_in_rule,
        smallest=2,
    ),
    Format(
        name="solr-managed",
        ending=".json",
        help="body for Solr's managed synonyms",
        write=write_managed,
        takes=frozenset({"explicit"}),
        refuses=not_managed,
        smallest=2,
    ),
    Format(
        name="querqy",
        ending=".txt",
        help="weighted rules of Querqy, for Solr, Elasticsearch and OpenSearch",
        write=write_querqy,
        takes=frozenset({"title", "weights"}),
        refuses=not_in_querqy,
        smallest=2,
    ),
)
FORMATS: Mapping[str, Format] = {form.name: form for form in _ALL}
