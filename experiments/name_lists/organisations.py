"""Names of brands, companies, public bodies, parties and sports teams."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from rapidfuzz import fuzz

from experiments.name_lists.base import (
    NameList,
    Names,
    entities_of,
    is_latin,
    node_file,
    package_file,
    read_json,
)
from experiments.name_lists.forms import SMALL_WORDS, is_acronym, same_words, words_of

# The tag that names the organisation of an item, by the tree that the item is in.
_KEYS = {"brands": "brand", "operators": "operator", "transit": "network"}
_TEAM = re.compile(r'^\s*"([^"]+)"\s*: \[(.*)\]$', re.MULTILINE)
_QUOTED = re.compile(r'"([^"]+)"')
# Words that say only of which legal kind an organisation is.
_LEGAL_FORMS = frozenset(
    [
        "ab",
        "ag",
        "aor",
        "as",
        "bv",
        "co",
        "company",
        "corp",
        "corporation",
        "gmbh",
        "group",
        "inc",
        "incorporated",
        "kg",
        "limited",
        "llc",
        "lp",
        "ltd",
        "mbh",
        "nv",
        "plc",
        "sa",
        "se",
        "spa",
        "srl",
        "sro",
        "the",
    ]
)
# Similarity in percent of spellings such as "Oilibya" and "Oilibiya".
_SPELLING = 92


def parse_brands(
    index: Mapping[str, Mapping[str, Any]], wikidata: Mapping[str, Mapping[str, Any]]
) -> list[Names]:
    """Organisations of the Name Suggestion Index, one for each Wikidata item.

    Names: the most frequent tag, with its English and short forms, and Wikidata's label where it
    shares a word with the tag; other labels are translations or owners. Further tags and
    `matchNames` (other names found in OpenStreetMap, in small letters) are often parent companies
    or parts ("Puma Outlet"), so only forms of the first names stay, see `is_organisation_form`.
    Names in other scripts are left out.
    """
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    variants: dict[str, list[str]] = defaultdict(list)
    matched: dict[str, list[str]] = defaultdict(list)
    for path, category in index.items():
        key = _KEYS.get(path.partition("/")[0], "")
        for item in category["items"]:
            identifier = item["tags"].get(f"{key}:wikidata")
            if identifier and key in item["tags"]:
                tags[identifier][item["tags"][key]] += 1
                variants[identifier] += _variants(item["tags"], key)
                matched[identifier] += item.get("matchNames", [])

    def names(identifier: str) -> Iterator[str]:
        label = wikidata.get(identifier, {}).get("label", "")
        tag, *further = [name for name, _ in tags[identifier].most_common()]
        first = [tag]
        if not is_latin(tag) or _share_word(tag, label) or is_organisation_form(label, tag):
            first.append(label)
        yield from first
        if len(further) == 0:
            yield from variants[identifier]
        for name in (*variants[identifier], *further, *matched[identifier]):
            if any(is_organisation_form(name, other) for other in first):
                yield name

    return entities_of(
        [name for name in names(identifier) if is_latin(name)] for identifier in tags
    )


def is_organisation_form(name: str, other: str) -> bool:
    """Whether two names differ in legal form, spelling or abbreviation only.

    >>> is_organisation_form("rwe ag", "RWE"), is_organisation_form("hermes", "Evri")
    (True, False)
    """
    words, others = _without_legal_form(name), _without_legal_form(other)
    return bool(words and others) and (
        same_words(words, others)
        or is_acronym(name, other)
        or is_acronym(other, name)
        or fuzz.ratio(words, others) >= _SPELLING
    )


def _share_word(name: str, other: str) -> bool:
    return bool(set(words_of(name)) & set(words_of(other)) - SMALL_WORDS)


def _without_legal_form(name: str) -> str:
    return " ".join(word for word in words_of(name) if word not in _LEGAL_FORMS)


def _variants(tags: Mapping[str, str], key: str) -> Iterator[str]:
    for suffix in (":en", ":short"):
        if f"{key}{suffix}" in tags:
            yield tags[f"{key}{suffix}"]


def _load_brands() -> list[Names]:
    package = "name-suggestion-index"
    index = read_json(node_file(package, "dist/json/nsi.min.json"))["nsi"]
    wikidata = read_json(node_file(package, "dist/wikidata/wikidata.min.json"))["wikidata"]
    return parse_brands(index, wikidata)


def parse_icons(icons: Iterable[Mapping[str, Any]]) -> list[Names]:
    """Brands of simple-icons with the names they are also known as."""
    return entities_of([icon["title"], *icon.get("aliases", {}).get("aka", [])] for icon in icons)


def _load_icons() -> list[Names]:
    return parse_icons(read_json(node_file("simple-icons", "data/simple-icons.json")))


def parse_parties(parties: Iterable[Mapping[str, Any]]) -> list[Names]:
    """Political parties of India with their abbreviations."""

    def names(party: Mapping[str, Any]) -> Iterator[str]:
        yield party["name"]
        yield party.get("abbr", "")
        variations = party.get("variations", {})
        if isinstance(variations, dict):  # one party has a text, equal to its name
            yield from chain(*variations.values())

    return entities_of(map(names, parties))


def _load_parties() -> list[Names]:
    return parse_parties(read_json(node_file("party-time", "src/data/parties.json")))


def parse_basketball(module: str) -> list[Names]:
    """Teams of the NBA and WNBA, from lists of id, code, nickname, year, city and full name."""
    return entities_of(
        (full, nickname, code)
        for statement in ast.parse(module).body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id in ("teams", "wnba_teams")
        for _, code, nickname, _, _, full, *_ in ast.literal_eval(statement.value)
    )


def parse_football(module: str) -> list[Names]:
    """Teams of the NFL: `"Miami Dolphins" : ["dolphins", "fins"]` a line."""
    return entities_of(
        [full, *_QUOTED.findall(nicknames)] for full, nicknames in _TEAM.findall(module)
    )


def _load_teams() -> list[Names]:
    basketball = package_file("nba_api", "nba_api/stats/library/data.py")
    football = node_file("nfl-teams", "src/index.coffee")
    return [
        *parse_basketball(basketball.read_text(encoding="utf-8")),
        *parse_football(football.read_text(encoding="utf-8")),
    ]


LISTS = (
    NameList(
        name="brands",
        title="Brands, companies and public bodies of the Name Suggestion Index",
        install="npm install --ignore-scripts name-suggestion-index",
        licence="BSD-3-Clause",
        attribution="name-suggestion-index contributors, Wikidata",
        load=_load_brands,
    ),
    NameList(
        name="simple-icons",
        title="Brands of simple-icons",
        install="npm install --ignore-scripts simple-icons",
        licence="CC0-1.0",
        attribution="simple-icons contributors",
        load=_load_icons,
    ),
    NameList(
        name="parties",
        title="Political parties of India",
        install="npm install --ignore-scripts party-time",
        licence="MIT",
        attribution="Hindustan Times Labs, party-time",
        load=_load_parties,
    ),
    NameList(
        name="teams",
        title="Teams of the NBA, WNBA and NFL",
        install="pip install --no-deps nba_api; npm install --ignore-scripts nfl-teams",
        licence="MIT AND BSD-2-Clause",
        attribution="Swar Patel (nba_api), David Pearson (nfl-teams)",
        load=_load_teams,
    ),
)
