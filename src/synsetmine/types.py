"""Documents, terms and synonym sets: the values that all packages share."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from synsetmine.errors import DataError, require

SENSE_MARK = "||"

Progress: TypeAlias = Callable[[int, int], None]  # done, of how much


@dataclass(frozen=True, slots=True)
class Mention:
    """A part of a text that names an entity: `document.text[start:end]` is the surface."""

    start: int
    end: int
    entity: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the corpus; `mentions` are the annotations of its file (PubTator, wikis)."""

    id: str
    text: str
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """How often a surface was linked to an entity in a corpus."""

    surface: str
    entity: str
    count: int


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """A word or phrase, with a sense if one surface names several things.

    The paper's files write `surface||entity-id`. There the sense *is* the label, so features must
    not use it; it only distinguishes the senses of one surface.
    """

    surface: str
    sense: str = ""

    def __post_init__(self) -> None:
        if not self.surface:
            raise DataError("a term needs a surface", value=f"{SENSE_MARK}{self.sense}")
        if SENSE_MARK in f"|{self.sense}":  # `a` + `||` + `|x` would read as `a|` + `||` + `x`
            problem = f"a sense may not contain {SENSE_MARK!r} or start with '|'"
            raise DataError(problem, value=self.sense)
        try:
            f"{self.surface}{self.sense}".encode()
        except UnicodeEncodeError:
            raise DataError("a term must be valid Unicode", value=str(self)) from None

    @classmethod
    def parse(cls, text: str) -> Term:
        """Read `surface` or `surface||sense`; the inverse of `str(term)`."""
        if SENSE_MARK not in text:
            return cls(text)
        surface, _, sense = text.rpartition(SENSE_MARK)
        return cls(surface, sense)

    def __str__(self) -> str:
        if self.sense or SENSE_MARK in self.surface:
            return f"{self.surface}{SENSE_MARK}{self.sense}"
        return self.surface


@dataclass(frozen=True)
class SynonymSets:
    """A partition of terms into synonym sets, each with an id: training, gold or mined sets.

    Sets and terms keep their order. Every set has at least one term, no term is in two sets, and
    no two sets share an id.
    """

    sets: tuple[tuple[Term, ...], ...]
    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.sets) != len(self.ids):
            raise DataError(f"{len(self.sets)} sets but {len(self.ids)} ids")
        if len(set(self.ids)) != len(self.ids):
            raise DataError("two sets share an id", value=first_duplicate(self.ids))
        for members, set_id in zip(self.sets, self.ids, strict=True):
            if not members:
                raise DataError("a synonym set needs at least one term", value=set_id)
        if len(self._index_of) != sum(map(len, self.sets)):
            repeated = first_duplicate(t for members in self.sets for t in members)
            raise DataError("a term may occur only once in a partition", value=str(repeated))

    @classmethod
    def of(cls, sets: Iterable[Iterable[Term]], ids: Iterable[str] | None = None) -> SynonymSets:
        """Build from any collections of terms; ids default to `c0`, `c1`, …"""
        members = tuple(tuple(s) for s in sets)
        names = tuple(ids) if ids is not None else tuple(f"c{i}" for i in range(len(members)))
        return cls(members, names)

    @classmethod
    def union(cls, parts: Iterable[SynonymSets]) -> SynonymSets:
        """The sets of several partitions as one, with their ids."""
        pairs = [pair for part in parts for pair in zip(part.ids, part.sets, strict=True)]
        return cls.of((members for _, members in pairs), (set_id for set_id, _ in pairs))

    @classmethod
    def from_labels(cls, terms: Sequence[Term], labels: Sequence[int]) -> SynonymSets:
        """Group terms by label; sets are in the order in which their labels first appear."""
        groups: dict[int, list[Term]] = {}
        for term, label in zip(terms, labels, strict=True):
            groups.setdefault(label, []).append(term)
        return cls.of(groups.values())

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """All terms, set by set."""
        return tuple(term for members in self.sets for term in members)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.sets))

    @cached_property
    def partition(self) -> frozenset[frozenset[Term]]:
        """The sets without their ids and order, to compare two results."""
        return frozenset(frozenset(members) for members in self.sets)

    @cached_property
    def _index_of(self) -> Mapping[Term, int]:
        return {term: i for i, members in enumerate(self.sets) for term in members}

    def __len__(self) -> int:
        return len(self.sets)

    def __iter__(self) -> Iterator[tuple[Term, ...]]:
        return iter(self.sets)

    def __contains__(self, term: object) -> bool:
        return term in self._index_of

    def label_of(self, term: Term) -> int:
        """The position of the set that holds this term."""
        try:
            return self._index_of[term]
        except KeyError:
            raise DataError("no set holds this term", value=str(term)) from None

    def set_of(self, term: Term) -> tuple[Term, ...]:
        return self.sets[self.label_of(term)]

    def labels(self, terms: Iterable[Term]) -> list[int]:
        return [self.label_of(term) for term in terms]

    def restrict(self, terms: Iterable[Term]) -> SynonymSets:
        """Only these terms, without sets that have none of them."""
        keep = frozenset(terms)
        kept = [tuple(t for t in members if t in keep) for members in self.sets]
        left = [
            (members, set_id) for members, set_id in zip(kept, self.ids, strict=True) if members
        ]
        return SynonymSets.of((m for m, _ in left), (set_id for _, set_id in left))

    def pick(self, numbers: Iterable[int]) -> SynonymSets:
        """The sets at these positions, in this order."""
        chosen = list(numbers)
        return SynonymSets.of((self.sets[n] for n in chosen), (self.ids[n] for n in chosen))

    def split(self, fraction: float, *, seed: int) -> tuple[SynonymSets, SynonymSets]:
        """Split by entity into (rest, held out), `fraction` of the sets held out."""
        require(0 < fraction < 1, "the held-out fraction must be between 0 and 1", fraction)
        order = self._shuffle(seed)
        cut = min(max(round(len(self) * fraction), 1), len(self) - 1)
        return self.pick(sorted(order[cut:])), self.pick(sorted(order[:cut]))

    def folds(self, k: int, *, seed: int) -> list[tuple[SynonymSets, SynonymSets]]:
        """k-fold cross validation by entity: a list of (training, held out)."""
        require(2 <= k <= len(self), f"the number of folds must be between 2 and {len(self)}", k)
        order = self._shuffle(seed)
        held = [set(order[fold::k]) for fold in range(k)]
        return [
            (self.pick([i for i in range(len(self)) if i not in out]), self.pick(sorted(out)))
            for out in held
        ]

    def _shuffle(self, seed: int) -> list[int]:
        require(len(self) >= 2, "cannot split fewer than two sets", len(self))
        order = list(range(len(self)))
        random.Random(seed).shuffle(order)  # noqa: S311
        return order


# Of a name, compared with the other names of its set; `text.kinds` finds the kind.
NameKind = Literal["spelling", "inflection", "word-order", "abbreviation", "other-words"]
Scope = Literal["exact", "broad", "narrow", "related"]  # broad: it means more than its set

Order = Literal["given", "frequent", "random"]

# What to do with a name of several entities: leave it out, take the most common, keep all apart.
Ambiguous = Literal["skip", "common", "senses"]

# The choices and defaults of settings that several packages use; the settings load no package.
KbFormat = Literal["saved", "jsonl", "csv", "tsv", "obo", "rdf", "umls", "wikidata", "mediawiki"]
# `pubtator` and `wikilinks` take the mentions that the corpus files mark themselves.
LinkerName = Literal["dictionary", "spotlight", "pubtator", "wikilinks"]
KNOWN_THRESHOLD = 0.5  # from here on a new name of a known set is rather right than wrong


def order_terms(
    terms: Iterable[Term],
    order: Order = "given",
    *,
    seed: int = 0,
    counts: Mapping[Term, int] | None = None,
) -> list[Term]:
    """The terms in an order for set generation, on which the paper's model depends.

    `frequent` sorts by count, most frequent first; equal counts keep their given order.
    """
    walk = list(terms)
    if order == "random":
        random.Random(seed).shuffle(walk)  # noqa: S311
    elif order == "frequent":
        if counts is None:
            raise DataError("order 'frequent' needs term counts")
        walk.sort(key=lambda term: -counts.get(term, 0))
    elif order != "given":
        raise DataError("order must be 'given', 'frequent' or 'random'", value=order)
    return walk


def first_duplicate(values: Iterable[object]) -> object:
    """The first value that occurs a second time, or None."""
    seen: set[object] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
