"""Names in texts of many languages, and names of one thing in several languages.

    python -m experiments.languages [--encoder NAME_OR_FOLDER]

Needs `pip install --no-deps babel django pycountry`. The names are those of countries and
territories in Unicode's CLDR, which Babel carries, and in Debian's iso-codes, which pycountry
carries; the texts are Django's messages, as its translators wrote them. The first table puts each
name into a message and links it, alone and with what the language writes at a name, and counts the
names that are found in the messages as they are. The second groups the names.
"""

from __future__ import annotations

import argparse
import gettext
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO

from experiments.name_lists.base import package_file
from experiments.short_lists import pair_counts
from synsetmine import group
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.linking.linkers import DictionaryLinker
from synsetmine.types import Document, SynonymSets, Term

INSTALL = "pip install --no-deps babel django pycountry"
# By language: what it writes at a name, without a space between.
AFFIXED = {
    "ar": ("و{}", "ب{}", "وب{}", "ك{}"),
    "bn": ("{}ের", "{}কে"),
    "cs": (),
    "de": ("{}reise", "{}politik", "Nord{}"),
    "el": (),
    "en": ("{}'s",),
    "es": (),
    "fa": (),
    "fi": ("{}ssa", "{}n"),
    "fr": ("l’{}", "d'{}"),
    "he": ("ב{}", "ו{}", "שב{}", "ומ{}", "ה{}"),
    "hi": (),
    "hu": ("{}ban", "{}nak"),
    "ja": ("{}は", "{}の"),
    "km": ("នៅ{}", "{}និង"),
    "ko": ("{}에서", "{}의", "{}에게도", "{}까지는", "{}입니다"),
    "pl": (),
    "ru": (),
    "ta": ("{}வில்", "{}உம்"),
    "th": ("ใน{}", "{}และ", "ของ{}"),
    "tr": ("{}'de", "{}’nin"),
    "uk": (),
    "vi": (),
    "zh_Hans": ("在{}", "{}的"),
}
WITHOUT_SPACES = {"ja", "km", "th", "zh_Hans"}
GROUPED = ("en", "de", "fr", "es", "ru", "el", "ar", "hi", "ja", "ko")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", help="sentence encoder as one more view of the names")
    options = parser.parse_args()
    for package in ("babel", "django", "pycountry"):
        package_file(package, package, install=INSTALL)
    print("| language | names | alone | affixes | false | affixes, compounds | false |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for code in AFFIXED:
        print(_finding_row(code))
    print("\n| language | names | its own variants | with English |")
    print("| --- | --: | --: | --: |")
    for code in GROUPED:
        print(_grouping_row(code, options.encoder))
    together = joined(map(territories, GROUPED))
    names = sum(map(len, together))
    print(f"| all {len(GROUPED)} | {names} | | {_scores(together, options.encoder)} |")


# --- Names in texts ---


def _finding_row(code: str) -> str:
    names, texts = territories(code), messages(code)
    kb = KnowledgeBase.of(Entity(entity, name) for entity, name in names.items())
    size = sum(map(len, texts))
    cells = [language_name(code), str(len(names))]
    for compounds in (False, True):
        linker = DictionaryLinker(kb, ambiguous="senses", compounds=compounds)
        patterns = ([] if compounds else [("{}",)]) + [AFFIXED[code]]
        for own in patterns:
            placed = [*insertions(names, texts, own, spaces=code not in WITHOUT_SPACES)]
            cells.append(f"{100 * share_found(linker, placed):.1f}" if placed else "")
        documents = [Document(str(number), text) for number, text in enumerate(texts)]
        false = sum(map(len, linker.link(documents)))
        cells.append(f"{1e4 * false / size:.1f}")
    return f"| {' | '.join(cells)} |"


Insertion = tuple[str, int, int, str]  # text, start, end, entity


def insertions(
    names: Mapping[str, str], texts: Sequence[str], patterns: Sequence[str], *, spaces: bool
) -> Iterator[Insertion]:
    """Each name in each pattern, between two words of a text, or between two texts."""
    for number, (entity, name) in enumerate(names.items()):
        for pattern in patterns:
            text = texts[number % len(texts)]
            words = text.split(" ")
            middle = len(words) // 2
            before, after = " ".join(words[:middle]) + " ", " " + " ".join(words[middle:])
            if not spaces:
                before, after = text.rstrip("។. "), texts[(number + 1) % len(texts)]
            start = len(before) + pattern.index("{")
            yield before + pattern.format(name) + after, start, start + len(name), entity


def share_found(linker: DictionaryLinker, placed: Sequence[Insertion]) -> float:
    """The share of names that are linked exactly where they stand."""
    linked = linker.link([Document(str(i), text) for i, (text, *_) in enumerate(placed)])
    right = (
        (start, end, entity) in {(m.start, m.end, m.entity) for m in mentions}
        for (_, start, end, entity), mentions in zip(placed, linked, strict=True)
    )
    return sum(right) / len(placed)


def territories(code: str) -> dict[str, str]:
    """CLDR's names of countries and territories in a language, each name once."""
    locale = importlib.import_module("babel").Locale.parse(code)
    by_name: dict[str, str] = {}
    for entity, name in sorted(locale.territories.items()):
        if re.fullmatch("[A-Z]{2}", entity) and len(name) > 1 and name[-1] not in ").）":
            by_name.setdefault(name, entity)
    return {entity: name for name, entity in by_name.items()}


def language_name(code: str) -> str:
    """Its name in English."""
    return str(importlib.import_module("babel").Locale.parse(code).get_display_name("en"))


def messages(code: str) -> list[str]:
    """Django's messages without placeholders and markup, some words long."""
    read_po = importlib.import_module("babel.messages.pofile").read_po
    texts: dict[str, None] = {}
    for part in ("conf", "contrib/admin", "contrib/auth"):
        path = f"django/{part}/locale/{code}/LC_MESSAGES/django.po"
        file = package_file("django", path, install=INSTALL)
        with file.open("rb") as stream, redirect_stdout(StringIO()):  # where it warns
            for message in read_po(stream):
                text = message.id if code == "en" else message.string
                if not (isinstance(text, str) and isinstance(message.id, str)):
                    continue
                # Shorter messages are words of the interface, and names of languages.
                if len(message.id.split()) > 3 and not re.search("[%{<\n]", text):
                    texts[text] = None
    return [*filter(None, texts)]


# --- Names of one thing ---


def _grouping_row(code: str, encoder: str | None) -> str:
    own = variants(code)
    with_english = joined([territories("en"), territories(code)])
    cells = [language_name(code), str(sum(map(len, own))), _scores(own, encoder)]
    cells.append("" if code == "en" else _scores(with_english, encoder))
    return f"| {' | '.join(cells)} |"


def joined(tables: Iterable[Mapping[str, str]]) -> list[list[str]]:
    """The names of each territory in all tables; a name of two territories goes to one."""
    names: dict[str, dict[str, None]] = {}
    owner: dict[str, str] = {}
    for table in tables:
        for entity, name in table.items():
            if owner.setdefault(name, entity) == entity:
                names.setdefault(entity, {})[name] = None
    return [[*some] for some in names.values()]


def variants(code: str) -> list[list[str]]:
    """Names of CLDR and iso-codes in one language: usual, official and common ones."""
    countries = importlib.import_module("pycountry").countries
    folder = package_file("pycountry", "pycountry/locales", install=INSTALL)
    translated = gettext.translation("iso3166-1", folder, [code], fallback=True)
    tables = [territories(code)]
    for field in ("name", "official_name", "common_name"):
        table = {country.alpha_2: getattr(country, field, None) for country in countries}
        known = {entity: name for entity, name in table.items() if name}
        own = {entity: translated.gettext(name) for entity, name in known.items()}
        is_own = code == "en"
        tables.append({e: name for e, name in own.items() if is_own or name != known[e]})
    return joined(tables)


def _scores(sets: Sequence[Sequence[str]], encoder: str | None) -> str:
    gold = SynonymSets.of([Term(name) for name in names] for names in sets)
    grouping = group([name for names in sets for name in names], encoder=encoder)
    mined = SynonymSets.of(map(Term, own.members) for own in grouping.sets)
    right, all_mined, true = pair_counts(mined, gold)
    precision, recall = right / max(all_mined, 1), right / max(true, 1)
    f1 = 2 * right / max(all_mined + true, 1)
    return f"{100 * precision:.0f} / {100 * recall:.0f} / {100 * f1:.0f}"


if __name__ == "__main__":
    main()
