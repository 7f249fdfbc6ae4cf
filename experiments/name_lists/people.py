"""Names of persons: members of the US Congress, and given names with their short forms."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from experiments.name_lists.base import (
    NameList,
    Names,
    clean,
    entities_of,
    node_file,
    package_file,
    read_json,
)

_BRACKETS = re.compile(r" \(.*\)$")


def parse_legislators(records: Iterable[Mapping[str, Any]]) -> list[Names]:
    """Full names of each person, made of the recorded parts, without those of two persons.

    Peter T. King with the nickname Pete is also Peter King and Pete King.
    """
    persons = [clean(_full_names(record)) for record in records]
    uses = Counter(name.casefold() for names in persons for name in names)
    unique = (tuple(name for name in names if uses[name.casefold()] == 1) for names in persons)
    return [names for names in unique if names]


def _full_names(record: Mapping[str, Any]) -> Iterator[str]:
    name = record["name"]
    last = " ".join(filter(None, (name["last"], name.get("suffix"))))
    middle = name.get("middle")
    yield name.get("official_full", "")
    yield _BRACKETS.sub("", record["id"].get("wikipedia", ""))
    if "nickname" in name:
        yield f"{name['nickname']} {last}"
    if name["first"].endswith("."):  # "H. Griffith" says too little
        return
    yield f"{name['first']} {last}"
    if middle:
        yield f"{name['first']} {middle} {last}"
        yield f"{name['first']} {middle[0]}. {last}"


def parse_nicknames(lines: Iterable[str]) -> list[Names]:
    """Given names with their short forms: `william,has_nickname,bill` a line.

    A short form of several names ("Ron") stays with each of them. Short forms of short forms and
    forms that are longer than the name are left out.
    """
    nicknames: dict[str, list[str]] = defaultdict(list)
    for row in csv.DictReader(lines):
        nicknames[row["name1"]].append(row["name2"])
    short_forms = {short for shorts in nicknames.values() for short in shorts}
    return entities_of(
        [given.title(), *(short.title() for short in shorts if len(short) <= len(given))]
        for given, shorts in nicknames.items()
        if given not in short_forms
    )


def _load_legislators() -> list[Names]:
    files = ("legislators-current", "legislators-historical", "executive")
    records = [
        record
        for file in files
        for record in read_json(node_file("us-legislators", f"data/{file}.json"))
    ]
    persons = {record["id"].get("govtrack") or id(record): record for record in records}
    return parse_legislators(persons.values())


def _load_nicknames() -> list[Names]:
    with package_file("nicknames", "nicknames/names.csv").open(encoding="utf-8") as lines:
        return parse_nicknames(lines)


LISTS = (
    NameList(
        name="legislators",
        title="Members of the US Congress and presidents",
        install="npm install --ignore-scripts us-legislators",
        licence="CC0-1.0",
        attribution="unitedstates/congress-legislators",
        load=_load_legislators,
    ),
    NameList(
        name="nicknames",
        title="English given names and their short forms",
        install="pip install --no-deps nicknames",
        licence="Apache-2.0",
        attribution="Carlton Northern and contributors, nicknames",
        load=_load_nicknames,
    ),
)
