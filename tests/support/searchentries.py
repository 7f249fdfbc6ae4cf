"""Sets to export to search engines: by hand, and as nasty as hypothesis can make them."""

from __future__ import annotations

from hypothesis import strategies as st

from synsetmine.errors import ErrorCounts
from synsetmine.export.formats import FORMATS
from synsetmine.runs import MinedSet, MinedTerm
from tests.support.strategies import PIECES

# What rules of search engines are made of, beside what is nasty everywhere.
SIGNS = (*PIECES, "=>", "\\=>", "=", ">", "*", "$1", "@", "~", "heart", "attack", " heart ", "#1")


def term(text: str, probability: float | None = None, count: int = 0) -> MinedTerm:
    return MinedTerm(text, count=count, action="", known=False, probability=probability)


def entry(set_id: str, *texts: str) -> MinedSet:
    """A set; the first term is the preferred one."""
    first, *others = map(term, texts)
    return MinedSet(set_id, (first, *tuple(others)))


def nasty_entries() -> st.SearchStrategy[list[MinedSet]]:
    texts = st.lists(st.sampled_from(SIGNS) | st.text(max_size=2), min_size=1, max_size=4)
    surfaces = texts.map("".join).filter(bool)
    sets = st.lists(surfaces, min_size=2, max_size=4).map(lambda found: entry("c", *found))
    return st.lists(sets, min_size=1, max_size=5)


def writable(name: str, entries: list[MinedSet]) -> list[MinedSet]:
    return FORMATS[name].writable(entries, ErrorCounts())


def surfaces(one: MinedSet) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.text for found in one.terms))
