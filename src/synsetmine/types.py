"""Documents, terms and synonym sets: the values that all packages share."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

from synsetmine.errors import DataError, quantity, require, shorten
from synsetmine.notebook import Library, frame_of, html_table

SENSE_MARK = "||"
SHOWN = 3  # sets of a repr, and terms of each

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


@dataclass(frozen=True, slots=True, order=True, repr=False)
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
            (self.surface + self.sense).encode()
        except TypeError:
            problem = "the surface and the sense of a term must be strings"
            raise DataError(problem, value=(self.surface, self.sense)) from None
        except UnicodeEncodeError:
            raise DataError("a term must be valid Unicode", value=str(self)) from None

    @classmethod
    def parse(cls, text: str) -> Term:
        """Read `surface` or `surface||sense`; the inverse of `str(term)`."""
        if SENSE_MARK not in text:
            return cls(text)
        surface, _, sense = text.rpartition(SENSE_MARK)
        return cls(surface, sense)

    @classmethod
    def of(cls, value: TermLike) -> Term:
        """A term itself, or the term that a string writes, as `parse` reads it."""
        if isinstance(value, Term):
            return value
        if isinstance(value, str):
            return cls.parse(str(value))  # numpy has strings of its own
        raise DataError("expected a term or a string", value=str(value))

    def __repr__(self) -> str:
        return f"Term({self.surface!r}{f', {self.sense!r}' if self.sense else ''})"

    def __str__(self) -> str:
        if self.sense or SENSE_MARK in self.surface:
            return f"{self.surface}{SENSE_MARK}{self.sense}"
        return self.surface


TermLike: TypeAlias = Term | str  # a string is a term as `Term.parse` reads it


def terms_of(values: Any) -> list[Term]:
    """The terms of a list, an array or a Series of terms or strings.

    Of an object with `terms`, such as sets, vectors or a vocabulary, these.
    """
    values = getattr(values, "terms", values)
    if hasattr(values, "columns"):
        raise DataError("expected one column, not a table; name it, as in frame['name']")
    if isinstance(values, str | Term | bytes) or not isinstance(values, Iterable):
        raise DataError("expected several terms, such as a list of strings", value=values)
    terms = []
    for position, value in enumerate(values):
        try:
            terms.append(Term.of(value))
        except DataError as error:
            raise DataError(f"{error.problem} (item {position})", value=error.value) from None
    return terms


def pairs_of(pairs: Iterable[tuple[TermLike, TermLike]]) -> list[tuple[Term, Term]]:
    """Pairs of terms or strings as pairs of terms."""
    listed = []
    for pair in pairs:
        if isinstance(pair, str | Term) or len(terms := terms_of(pair)) != 2:
            raise DataError('expected pairs of terms, such as ("Bonn", "Berlin")', value=pair)
        listed.append((terms[0], terms[1]))
    return listed


def holds(index: Container[Term], term: object) -> bool:
    """Whether an index has a term, which may be a string."""
    if isinstance(term, str):
        try:
            term = Term.of(term)
        except DataError:
            return False
    return term in index


@dataclass(frozen=True, repr=False)
class SynonymSets:
    """A partition of terms into synonym sets, each with an id: training, gold or mined sets.

    Sets and terms keep their order. Every set has at least one term, no term is in two sets, and
    no two sets share an id.
    """

    sets: tuple[tuple[Term, ...], ...]
    ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.sets) != len(self.ids):
            problem = f"{len(self.sets)} sets but {len(self.ids)} ids"
            raise DataError(problem if self.ids else f"{problem}; SynonymSets.of makes ids")
        if len(set(self.ids)) != len(self.ids):
            raise DataError("two sets share an id", value=first_duplicate(self.ids))
        for members, set_id in zip(self.sets, self.ids, strict=True):
            if not members:
                raise DataError("a synonym set needs at least one term", value=set_id)
            if not all(isinstance(term, Term) for term in members):
                raise DataError("expected terms; SynonymSets.of takes strings too", value=set_id)
        if len(self._index_of) != sum(map(len, self.sets)):
            repeated = first_duplicate(t for members in self.sets for t in members)
            raise DataError("a term may occur only once in a partition", value=str(repeated))

    @classmethod
    def of(cls, sets: SetsLike, ids: Iterable[str] | None = None) -> SynonymSets:
        """Build from any collections of terms or strings, or from a mapping of ids to those.

        Ids default to `c0`, `c1`, …
        """
        sets = getattr(sets, "synonym_sets", sets)
        if isinstance(sets, SynonymSets) and ids is None:
            return sets
        if isinstance(sets, Mapping):
            ids, sets = sets.keys() if ids is None else ids, sets.values()
        if isinstance(sets, str) or not isinstance(sets, Iterable):
            hint = "; read_sets(path) reads a file" if isinstance(sets, str) else ""
            raise DataError(f"expected sets, each a list of terms{hint}", value=sets)
        members = tuple(tuple(terms_of(one)) for one in sets)
        names = tuple(ids) if ids is not None else tuple(f"c{i}" for i in range(len(members)))
        return cls(members, names)

    @classmethod
    def union(cls, parts: Iterable[SynonymSets]) -> SynonymSets:
        """The sets of several partitions as one, with their ids."""
        pairs = [pair for part in parts for pair in zip(part.ids, part.sets, strict=True)]
        return cls.of((members for _, members in pairs), (set_id for set_id, _ in pairs))

    @classmethod
    def from_labels(cls, terms: Iterable[TermLike], labels: Iterable[Hashable]) -> SynonymSets:
        """Group terms by label; sets are in the order in which their labels first appear."""
        groups: dict[Hashable, list[Term]] = {}
        named, numbered = terms_of(terms), list(labels)
        if len(named) != len(numbered):
            raise DataError(
                f"{quantity(len(named), 'term')} but {quantity(len(numbered), 'label')}"
            )
        for term, label in zip(named, numbered, strict=True):
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
        return holds(self._index_of, term)

    def __repr__(self) -> str:
        """The size, and the first names of the first sets."""
        sets = [f"{{{shorten(', '.join(map(str, one[:SHOWN])), 40)}}}" for one in self.sets[:SHOWN]]
        more = ", …" if len(self) > SHOWN else ""
        size = f"{quantity(len(self), 'set')} with {quantity(len(self.terms), 'term')}"
        return f"SynonymSets({size}{': ' if sets else ''}{', '.join(sets)}{more})"

    def _repr_html_(self) -> str:
        """The first sets as a table, which notebooks show."""
        rows = [
            (set_id, ", ".join(map(str, terms)))
            for set_id, terms in zip(self.ids, self.sets, strict=True)
        ]
        return html_table(("id", "terms"), rows)

    def to_frame(self, library: Library = "pandas") -> Any:
        """A DataFrame of pandas or polars, a row a term: set_id, term, sense."""
        ids = [i for i, size in zip(self.ids, self.sizes, strict=True) for _ in range(size)]
        columns = {
            "set_id": ids,
            "term": [term.surface for term in self.terms],
            "sense": [term.sense for term in self.terms],
        }
        return frame_of(columns, library)

    def label_of(self, term: TermLike) -> int:
        """The position of the set that holds this term."""
        try:
            return self._index_of[Term.of(term)]
        except KeyError:
            raise DataError("no set contains this term", value=str(term)) from None

    def set_of(self, term: TermLike) -> tuple[Term, ...]:
        return self.sets[self.label_of(term)]

    def labels(self, terms: Iterable[TermLike]) -> list[int]:
        return [self.label_of(term) for term in terms_of(terms)]

    def restrict(self, terms: Iterable[TermLike]) -> SynonymSets:
        """Only these terms, without sets that have none of them."""
        keep = frozenset(terms_of(terms))
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


class HoldsSets(Protocol):
    """A result that is as good as its sets."""

    @property
    def synonym_sets(self) -> SynonymSets: ...


SetsLike: TypeAlias = (
    SynonymSets | HoldsSets | Mapping[str, Iterable[TermLike]] | Iterable[Iterable[TermLike]]
)

# Of a name, compared with the other names of its set; `text.kinds` finds the kind.
NameKind = Literal["spelling", "inflection", "word-order", "abbreviation", "other-words"]
VARIANTS = frozenset({"spelling", "inflection", "word-order"})  # kinds that differ in form only
Scope = Literal["exact", "broad", "narrow", "related"]  # broad: it means more than its set

Order = Literal["given", "frequent", "random"]

# What to do with a name of several entities: leave it out, take the most common, keep all apart.
Ambiguous = Literal["skip", "common", "senses"]

# The choices and defaults of settings that several packages use; the settings load no package.
CorpusFormat = Literal[
    "text",
    "lines",
    "document",
    "markdown",
    "html",
    "pdf",
    "jsonl",
    "csv",
    "tsv",
    "xlsx",
    "parquet",
    "pubtator",
    "mediawiki",
]
KbFormat = Literal[
    "saved", "jsonl", "csv", "tsv", "xlsx", "sets", "obo", "rdf", "umls", "wikidata", "mediawiki"
]
# `pubtator` and `wikilinks` take the mentions that the corpus files mark themselves.
LinkerName = Literal["dictionary", "spotlight", "pubtator", "wikilinks"]
KNOWN_THRESHOLD = 0.5  # from here on a new name of a known set is rather right than wrong


def order_terms(
    terms: Iterable[TermLike],
    order: Order = "given",
    *,
    seed: int = 0,
    counts: Mapping[Term, int] | Mapping[str, int] | None = None,
) -> list[Term]:
    """The terms in an order for set generation, on which the paper's model depends.

    `frequent` sorts by count, most frequent first; equal counts keep their given order.
    """
    walk = terms_of(terms)
    if order == "random":
        random.Random(seed).shuffle(walk)  # noqa: S311
    elif order == "frequent":
        if counts is None:
            raise DataError("order 'frequent' needs term counts")
        count_of = {Term.of(term): count for term, count in counts.items()}
        walk.sort(key=lambda term: -count_of.get(term, 0))
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
