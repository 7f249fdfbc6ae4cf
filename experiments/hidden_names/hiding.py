"""Names of a knowledge base that are hidden from a run, which then has to find their entities."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import snowballstemmer
from rapidfuzz import fuzz

from synsetmine.io.files import write_text
from synsetmine.kb import KnowledgeBase
from synsetmine.normalization import normal_form
from synsetmine.text.kinds import name_kind
from synsetmine.text.tokens import name_words

Half: TypeAlias = Literal["develop", "report"]
HALVES: tuple[Half, ...] = get_args(Half)
SHARE = 0.3  # of the names that may be hidden
FEWEST = 3  # names of an entity; one with fewer keeps all
ALTOGETHER = "other words altogether"
SAME_MEANING = 0.6  # similarity of a definition and a name of the entity, at least

_stemmer = snowballstemmer.stemmer("english")


@dataclass(frozen=True)
class HiddenName:
    """A hidden name that the corpus has."""

    name: str
    entity: str
    kind: str  # `name_kind` against the names that are left; other words may be ALTOGETHER
    home: bool  # whether the corpus has one of the names that are left
    proposed: bool  # whether the run had mined the name without the list of hidden names
    other_meaning: bool = False  # whether the corpus defines it as the name of something else

    @property
    def form(self) -> str:
        return normal_form(self.name)


def half_of(text: str) -> Half:
    """The half of an entity id or a phrase, by its hash."""
    return HALVES[hashlib.sha256(text.encode()).digest()[0] % 2]


def hide(kb: KnowledgeBase) -> dict[str, tuple[str, ...]]:
    """The hidden names by entity: each name but the preferred one, with probability SHARE.

    Entities of fewer than FEWEST names keep all. A name of several entities is not hidden. The id
    of an entity is the seed of its draw, so that other entities do not change it.
    """
    hidden = {}
    for entity in kb:
        _, *others = kb.names(entity)
        if len(others) + 1 < FEWEST:
            continue
        rng = random.Random(entity)  # noqa: S311
        drawn = [name for name in others if rng.random() < SHARE]
        names = tuple(name for name in drawn if len(kb.entities_named(name)) == 1)
        if names:
            hidden[entity] = names
    return hidden


def write_reduced(path: Path, kb: KnowledgeBase, hidden: Mapping[str, Sequence[str]]) -> None:
    """Write the knowledge base without its hidden names, as JSON lines."""
    write_text(path, "".join(f"{json.dumps(record)}\n" for record in _records(kb, hidden)))


def _records(
    kb: KnowledgeBase, hidden: Mapping[str, Sequence[str]]
) -> Iterator[dict[str, str | list[str]]]:
    for entity in kb:
        first, *others = left_names(kb, hidden, entity)
        yield {"id": entity, "name": first, "synonyms": others}


def left_names(
    kb: KnowledgeBase, hidden: Mapping[str, Sequence[str]], entity: str
) -> tuple[str, ...]:
    """The names of an entity that are not hidden, the preferred one first."""
    absent = set(hidden.get(entity, ()))
    return tuple(name for name in kb.names(entity) if name not in absent)


def name_group(name: str, others: Sequence[str]) -> str:
    """The kind of a hidden name; other words without a common stem are ALTOGETHER others."""
    kind = name_kind(name, others).kind
    if kind != "other-words":
        return kind
    stems = {stem for other in others for stem in stem_bag(other)}
    return kind if stems.intersection(stem_bag(name)) else ALTOGETHER


def has_other_meaning(name: str, names: Sequence[str], long_forms: Iterable[str]) -> bool:
    """Whether the corpus defines an abbreviation, and never as one of these names of its entity.

    A definition need not have the very words of a name, but be similar to it.
    """
    texts = [" ".join(stem_bag(other)) for other in names if other != name]
    definitions = [" ".join(stem_bag(form)) for form in long_forms]
    similarity = [fuzz.ratio(one, other) / 100 for one in definitions for other in texts]
    return bool(definitions) and max(similarity, default=0.0) < SAME_MEANING


@lru_cache(1 << 18)
def stem_bag(name: str) -> tuple[str, ...]:
    """The Snowball stems of the words of a name, sorted."""
    return tuple(sorted(_stemmer.stemWords(name_words(name) or [normal_form(name)])))
