"""WordNet's noun synsets: frequent and rare nouns, and instances such as persons and places.

Most frequent words have many senses: "cutting" is in the synset of "press clipping". Whoever finds
such a word in a list of names thinks of its most frequent sense, so a name stays only in the
synset that is its first sense.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from experiments.name_lists.base import NameList, Names, entities_of, system_file

INSTALL = "apt-get install wordnet-base"
LICENCE = "WordNet-3.0"
ATTRIBUTION = "WordNet 3.0, Princeton University"

Kind: TypeAlias = Literal["frequent", "rare", "instance"]


@dataclass(frozen=True)
class FirstSense:
    """The most frequent sense of a lemma."""

    synset: str  # the offset of its line in data.noun
    frequent: bool  # it occurs in the texts whose senses were counted


def parse_index(lines: Iterable[str]) -> dict[str, FirstSense]:
    """The first sense of each lemma of an `index.noun` file, see wndb(5WN)."""
    senses: dict[str, FirstSense] = {}
    for line in lines:
        if line.startswith(" "):  # the licence at the top
            continue
        fields = line.split()
        count = int(fields[2])
        senses[fields[0]] = FirstSense(fields[-count], int(fields[-count - 1]) > 0)
    return senses


def parse_nouns(lines: Iterable[str], senses: dict[str, FirstSense], *, kind: Kind) -> list[Names]:
    """The synsets of a `data.noun` file with the names whose first sense they are.

    A synset with an instance hypernym (pointer `@i`) is one person, place or event. The others are
    frequent if one of these names is.
    """
    synsets: list[list[str]] = []
    for line in lines:
        if line.startswith(" "):
            continue
        fields = line.partition(" | ")[0].split(" ")
        count = int(fields[3], 16)
        found = [(lemma, senses[lemma.lower()]) for lemma in fields[4 : 4 + 2 * count : 2]]
        own = [(lemma, sense) for lemma, sense in found if sense.synset == fields[0]]
        frequent: Kind = "frequent" if any(sense.frequent for _, sense in own) else "rare"
        if ("instance" if "@i" in fields[4 + 2 * count :] else frequent) == kind:
            synsets.append([lemma.replace("_", " ") for lemma, _ in own])
    return entities_of(synsets)


def _load(kind: Kind) -> list[Names]:
    nouns, index = (
        system_file(f"/usr/share/wordnet/{name}.noun", install=INSTALL)
        for name in ("data", "index")
    )
    with nouns.open(encoding="utf-8") as lines, index.open(encoding="utf-8") as index_lines:
        return parse_nouns(lines, parse_index(index_lines), kind=kind)


def _name_list(name: str, title: str, kind: Kind) -> NameList:
    return NameList(
        name=name,
        title=title,
        install=INSTALL,
        licence=LICENCE,
        attribution=ATTRIBUTION,
        load=lambda: _load(kind),
    )


LISTS = (
    _name_list("wordnet-frequent", "WordNet 3.0 frequent nouns", "frequent"),
    _name_list("wordnet-rare", "WordNet 3.0 rare nouns", "rare"),
    _name_list("wordnet-instances", "WordNet 3.0 persons, places and other instances", "instance"),
)
