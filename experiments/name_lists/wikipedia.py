"""Wikipedia titles with their redirects and link texts, from the dump inside gensim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from experiments.name_lists.base import NameList, Names, entities_of, package_file
from experiments.name_lists.forms import is_acronym, same_words, words_of
from synsetmine.kb import read_kb

DUMP = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"

_CAMEL_CASE = re.compile(r"[a-z][A-Z]")
# The last word says only what the others name: "Dari language", "Mon people".
_KINDS = frozenset(("language", "languages", "people", "peoples", "dialect", "script"))
# Letters that two words share where one is derived from the other: "Crete", "Cretan".
_DERIVED = 3


def load_dump(path: Path) -> list[Names]:
    """The articles of a dump: title, titles of redirects, and link texts that are names.

    A link text is kept if it leads to the article in at least half of its uses and is a form of
    the title (see `is_form`), or if two links have it and it shares no start of a word with the
    title ("oil industry" for "Petroleum industry"). Texts such as "Cretan" for "Crete" or
    "medicine" for "History of medicine" name something else.
    """
    redirects, once, twice = (read_kb(path, anchors=least) for least in (0, 1, 2))

    def names(entity: str) -> Iterator[str]:
        title = once.name(entity)
        titles = redirects.names(entity) if entity in redirects else ()
        repeated = twice.names(entity) if entity in twice else ()
        yield title
        for name in once.names(entity):
            if name in titles:
                if "/" not in name and not _CAMEL_CASE.search(name):
                    yield name
            elif is_form(name, title) or (name in repeated and _unlike(name, title)):
                yield name

    return entities_of(names(entity) for entity in once)


def is_form(name: str, title: str) -> bool:
    """Whether a link text is a spelling, plural, abbreviation or short form of a title.

    >>> is_form("CGT", "Confédération générale du travail"), is_form("Laplace", "Pierre Laplace")
    (True, True)
    >>> is_form("Dari", "Dari language"), is_form("Cretan", "Crete")
    (True, False)
    """
    words, of_title = words_of(name), words_of(title)
    if not words or not of_title:
        return False
    if same_words(name, title) or (name.isupper() and is_acronym(name, title)):
        return True
    if words == of_title[:-1] and of_title[-1] in _KINDS:
        return True
    before_comma, comma, _ = title.partition(",")  # "Huntsville, Alabama"
    if comma and words == words_of(before_comma):
        return True
    # A person's family name; titles of other kinds have small letters in them.
    return words == of_title[-1:] and name[0].isupper() and _is_person(title)


def _is_person(title: str) -> bool:
    parts = title.split()
    return 2 <= len(parts) <= 4 and all(part[0].isupper() and part.isascii() for part in parts)


def _unlike(name: str, title: str) -> bool:
    return not any(
        word[:_DERIVED] == other[:_DERIVED] for word in words_of(name) for other in words_of(title)
    )


def _load() -> list[Names]:
    return load_dump(package_file("gensim", f"gensim/test/test_data/{DUMP}"))


LISTS = (
    NameList(
        name="wikipedia",
        title="Wikipedia titles, redirects and link texts (106 articles)",
        install="pip install --no-deps gensim",
        licence="CC-BY-SA-4.0",
        attribution="Wikipedia contributors",
        load=_load,
    ),
)
