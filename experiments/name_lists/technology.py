"""Names in computing and measurement: acronyms, terms, programming languages, units."""

from __future__ import annotations

import gzip
import re
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from experiments.name_lists.base import (
    NameList,
    Names,
    entities_of,
    node_file,
    package_file,
    system_file,
)
from experiments.name_lists.forms import is_acronym

VERA = "apt-get install dict-vera"
FOLDOC = "apt-get install dict-foldoc"

_DIGITS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_REMARKS = re.compile(r"(?:,?\s*(?:\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"))+\s*$")
_DATE = re.compile(r"\s*\(\d{4}-\d\d-\d\d\)$")
_REFERENCE = re.compile(r"\{([^{}]+)\}")
_ABBREVIATED = re.compile(r"(?:<[^>]*>\s*)*\((?:[Oo]r )?\"?([A-Za-z][\w./-]{1,9})\"?[,)]")
_JS_NAME = re.compile(r"\bname: '((?:[^'\\]|\\.)*)'")
_JS_ALIASES = re.compile(r"\baliases: readonly \[(.*?)\]", re.DOTALL)
_JS_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'")


def parse_vera(entries: Iterable[tuple[str, str]]) -> list[Names]:
    """Acronyms and what they stand for, one entity for each meaning.

    Remarks in brackets at the end are left out. So are meanings whose initials are not the
    acronym, since they are often translations.
    """
    meanings = (
        (acronym, _REMARKS.sub("", " ".join(definition.split()))) for acronym, definition in entries
    )
    return entities_of(
        (acronym, meaning) for acronym, meaning in meanings if is_acronym(acronym, meaning)
    )


def parse_foldoc(entries: Iterable[tuple[str, str]]) -> list[Names]:
    """Terms with other names: an entry that only refers to another, or starts with its acronym.

    Entries that refer to the same term are one entity.
    """
    names: dict[str, list[str]] = {}
    for term, definition in entries:
        text = _DATE.sub("", definition.strip())
        if reference := _REFERENCE.fullmatch(text):
            names.setdefault(" ".join(reference[1].split()), []).append(term)
        else:
            others = names.setdefault(term, [])
            short = _ABBREVIATED.match(text)
            if short and is_acronym(short[1], term):
                others.append(short[1])
    return entities_of([term, *others] for term, others in names.items())


def read_dictionary(index: str, text: bytes) -> Iterator[tuple[str, str]]:
    """Headwords and definitions of a dictd database, in its order; see dictfmt(1).

    A line of the index is a headword, an offset and a length, both numbers in base 64. The first
    line of an entry repeats the headword.
    """
    places: dict[tuple[int, int], None] = {}
    for line in index.splitlines():
        headword, offset, length = line.split("\t")[:3]
        if not headword.startswith("00"):  # about the database
            places[_number(offset), _number(length)] = None
    for start, size in sorted(places):
        entry = text[start : start + size].decode()
        headword, _, definition = entry.partition("\n")
        yield headword, definition


def _number(digits: str) -> int:
    number = 0
    for digit in digits:
        number = 64 * number + _DIGITS.index(digit)
    return number


def parse_programming(modules: Iterable[str]) -> list[Names]:
    """Languages of GitHub's linguist, from the TypeScript declarations of the npm package.

    Some aliases are other formats with the same syntax, such as `rss` for XML. So only aliases
    stay whose letters are in the name in this order, as in "rs" for "Rust", or contain the name.
    """

    def names(module: str) -> Iterator[str]:
        match = _JS_NAME.search(module)
        if match is None:
            return
        name = match[1].replace("\\'", "'")
        yield name
        aliases = _JS_ALIASES.search(module)
        for alias in _JS_STRING.findall(aliases[1]) if aliases else ():
            if _in_order(alias, name) or _in_order(name, alias):
                yield alias.replace("-", " ")

    return entities_of(map(names, modules))


def _in_order(short: str, long: str) -> bool:
    rest = iter(_letters(long))
    return all(letter in rest for letter in _letters(short))


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold().replace("+", "p").replace("#", "sharp"))


def parse_units(lines: Iterable[str]) -> list[Names]:
    """Units of pint: `meter = [length] = m = metre`, where `_` stands for no symbol.

    Names with digits or single letters, such as `meter_H2O` and `a_u_length`, are code.
    """

    def names(line: str) -> Iterator[str]:
        name, _, *others = (part.strip() for part in line.partition("#")[0].split("="))
        for unit in (name, *others):
            words = unit.split("_")
            is_code = len(words) > 1 and any(len(word) < 2 for word in words)
            if not is_code and not any(map(str.isdigit, unit)):
                yield " ".join(words)

    return entities_of(
        names(line)
        for line in lines
        if re.match(r"[^\W\d]\w* *=", line)  # neither prefix nor directive nor alias
    )


def _dictionary(name: str, install: str) -> Iterator[tuple[str, str]]:
    index = system_file(f"/usr/share/dictd/{name}.index", install=install)
    with gzip.open(index.with_name(f"{name}.dict.dz")) as stream:
        return read_dictionary(index.read_text(encoding="utf-8"), stream.read())


def _load_programming() -> list[Names]:
    folder: Path = node_file("linguist-languages", "data")
    return parse_programming(
        path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.d.ts"))
    )


def _load_units() -> list[Names]:
    with package_file("pint", "pint/default_en.txt").open(encoding="utf-8") as lines:
        return parse_units(lines)


LISTS = (
    NameList(
        name="vera",
        title="V.E.R.A., acronyms in computing",
        install=VERA,
        licence="GFDL-1.3-no-invariants-or-later",
        attribution="Oliver Heidelbach, V.E.R.A.",
        load=lambda: parse_vera(_dictionary("vera", VERA)),
    ),
    NameList(
        name="foldoc",
        title="Free On-line Dictionary of Computing",
        install=FOLDOC,
        licence="GFDL-1.1-no-invariants-or-later",
        attribution="The Free On-line Dictionary of Computing, http://www.foldoc.org, Denis Howe",
        load=lambda: parse_foldoc(_dictionary("foldoc", FOLDOC)),
    ),
    NameList(
        name="programming",
        title="Programming languages of GitHub's linguist",
        install="npm install --ignore-scripts linguist-languages",
        licence="MIT",
        attribution="GitHub linguist",
        load=_load_programming,
    ),
    NameList(
        name="units",
        title="Units of measurement of pint",
        install="pip install --no-deps pint",
        licence="BSD-3-Clause",
        attribution="Pint authors",
        load=_load_units,
    ),
)
