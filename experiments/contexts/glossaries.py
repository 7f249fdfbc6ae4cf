"""Things that two glossaries define, each in its own words: WordNet, and ontologies.

Entries of two glossaries are one entity if they share a name that no other entry of either has.
A row is an entry with one of its names. So a list has one thing under two names or under one, with
two definitions, and one name with several meanings.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from experiments.name_lists.base import system_file
from experiments.name_lists.biomedicine import cellxgene_terms, term_names
from experiments.name_lists.wordnet import INSTALL
from synsetmine.normalization import name_key

ONTOLOGIES = ("UBERON", "CL", "MONDO", "CHEBI")
LEAST_LETTERS = 5  # of a name that two glossaries share; abbreviations mean many things
LEAST_TEXT = 20  # characters of a definition
ALONE = 1000  # entries of each glossary that share no name with another one

_TAGS = re.compile(r"</?\w+>")

Place = tuple[int, int]  # a glossary, and an entry of it


class Entry(NamedTuple):
    """What a glossary says of one thing."""

    names: tuple[str, ...]
    definition: str


class Definition(NamedTuple):
    """One name of an entry with its definition, and what it is the same as."""

    name: str
    text: str
    entity: str


def read_definitions(*, seed: int = 0) -> list[Definition]:
    """Entries of all glossaries; a thing that two of them define is one entity."""
    glossaries = [[*wordnet_entries()], *([*ontology_entries(own)] for own in ONTOLOGIES)]
    return definitions_of(glossaries, random.Random(seed))  # noqa: S311


def wordnet_entries() -> Iterator[Entry]:
    """Noun synsets with their glosses, without examples."""
    with system_file("/usr/share/wordnet/data.noun", install=INSTALL).open(encoding="utf8") as file:
        for line in file:
            if not line.startswith(" "):
                data, _, gloss = line.partition(" | ")
                fields = data.split(" ")
                lemmas = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
                names = tuple(lemma.replace("_", " ") for lemma in lemmas)
                yield Entry(names, gloss.partition('; "')[0].strip())


def ontology_entries(ontology: str) -> Iterator[Entry]:
    """Terms of a cellxgene ontology that have a definition, with their exact synonyms."""
    terms = cellxgene_terms(ontology)
    for identifier, names in term_names(terms, (f"{ontology}:",)).items():
        definition = _TAGS.sub("", terms[identifier].get("description") or "")
        if names and len(definition) >= LEAST_TEXT:
            yield Entry(tuple(names), " ".join(definition.split()))


def definitions_of(glossaries: Sequence[Sequence[Entry]], rng: random.Random) -> list[Definition]:
    """Entries that several glossaries have, others with a name of these, and some more."""
    keys = [[{name_key(name) for name in entry.names} for entry in own] for own in glossaries]
    places = [(g, e) for g, own in enumerate(keys) for e in range(len(own))]
    entity_of = _entities(keys)
    sizes = Counter(entity_of.get(place, place) for place in places)
    names, rest = {}, []
    for place in places:
        if sizes[entity_of.get(place, place)] > 1:
            names[place] = rng.choice(glossaries[place[0]][place[1]].names)
        else:
            rest.append(place)
    taken = {name_key(name) for name in names.values()}
    alone: defaultdict[int, list[Place]] = defaultdict(list)
    for g, e in rest:
        own = glossaries[g][e].names
        if shared := [name for name in own if name_key(name) in taken]:
            names[g, e] = rng.choice(shared)
        else:
            alone[g].append((g, e))
    for others in alone.values():
        for g, e in rng.sample(others, min(ALONE, len(others))):
            names[g, e] = rng.choice(glossaries[g][e].names)
    return [
        Definition(
            name, glossaries[g][e].definition, "{}:{}".format(*entity_of.get((g, e), (g, e)))
        )
        for (g, e), name in sorted(names.items())
    ]


def _entities(keys: Sequence[Sequence[Iterable[str]]]) -> Mapping[Place, Place]:
    """The first entry with the same meaning, of those entries that have one."""
    owners = []
    for own in keys:
        entries: defaultdict[str, list[int]] = defaultdict(list)
        for entry, names in enumerate(own):
            for key in names:
                entries[key].append(entry)
        owners.append(entries)
    parent: dict[Place, Place] = {}

    def first(place: Place) -> Place:
        while place in parent:
            place = parent[place]
        return place

    for one, other in combinations(range(len(keys)), 2):
        for key in sorted(owners[one].keys() & owners[other].keys()):
            ends = owners[one][key], owners[other][key]
            if len(key) >= LEAST_LETTERS and len(ends[0]) == len(ends[1]) == 1:
                left, right = first((one, ends[0][0])), first((other, ends[1][0]))
                if left != right:
                    parent[right] = left
    return {place: first(place) for place in parent}
