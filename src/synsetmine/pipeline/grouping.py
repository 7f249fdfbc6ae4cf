"""Grouping a plain list of names with the general model: no known sets, no corpus, no training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from synsetmine.corpus.name_lists import check_pair, names_in
from synsetmine.errors import DataError, Skipped, counted
from synsetmine.io.sets import new_id
from synsetmine.models import MiningResult
from synsetmine.normalization import keeps_case, name_key
from synsetmine.pipeline.settings import GroupSettings
from synsetmine.types import Progress, SynonymSets, Term
from synsetmine.views import TermViews, encode_terms, find_encoder

LONGEST_NAME = 10_000  # characters; a longer text is no name, and stands alone
DEFAULTS = GroupSettings()

KnownSets: TypeAlias = SynonymSets | Mapping[str, Iterable[str]] | Iterable[Iterable[str]]


class PreparedNameModel(Protocol):
    """A `PreparedModel` that also knows about which pairs of terms it is least sure."""

    def probabilities(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]: ...

    def generate(
        self,
        *,
        threshold: float = 0.5,
        seeds: SynonymSets | None = None,
        cannot_link: Iterable[tuple[Term, Term]] = (),
        progress: Progress | None = None,
    ) -> MiningResult: ...

    def near_pairs(self, threshold: float, *, top: int = 100) -> list[tuple[Term, Term, float]]:
        """The pairs whose probability is nearest to the threshold, nearest first."""
        ...


class NameModel(Protocol):
    """A `SetModel` that judges names by their strings, and by an encoder's vectors if any."""

    def prepare(
        self,
        vocabulary: Sequence[Term],
        views: TermViews,
        *,
        progress: Progress | None = None,
    ) -> PreparedNameModel: ...


@dataclass(frozen=True, slots=True)
class Member:
    """A name in its set."""

    name: str
    count: int  # how often the list has it; 0 for a name that only the known sets have
    # f(S, t) for the other names of the set; None for known and single names, and spellings.
    probability: float | None
    known: bool  # whether a known set has it


class UnsurePair(NamedTuple):
    """Two names whose probability is close to the threshold."""

    name: str
    other: str
    probability: float


@dataclass(frozen=True)
class NameSet:
    """Names of one thing; `name` stands for it and comes first among the members."""

    id: str
    entries: tuple[Member, ...]

    @property
    def name(self) -> str:
        return self.entries[0].name

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.entries)

    @property
    def probability(self) -> float | None:
        """The lowest probability of a member; None for spellings of one name or known names."""
        return min((m.probability for m in self.entries if m.probability is not None), default=None)

    def __repr__(self) -> str:
        sure = "" if self.probability is None else f", probability={self.probability:.2f}"
        return f"NameSet({', '.join(map(repr, self.members))}{sure})"


@dataclass(frozen=True)
class NameCounts:
    """What happened to the entries of a list."""

    names: int = 0  # entries that are not missing
    duplicates: int = 0  # entries that repeat another one
    variants: int = 0  # entries that differ from another only in case, width or whitespace
    missing: int = 0  # None, NaN or nothing but whitespace
    too_long: int = 0  # names that were not compared: longer than 10,000 characters
    ambiguous: int = 0  # names that were not compared: in several known sets
    unused_pairs: int = 0  # cannot-link pairs with a name that is neither listed nor known


@dataclass(frozen=True, repr=False)
class Grouping:
    """The sets of two or more names, and what becomes of each name of the list."""

    sets: tuple[NameSet, ...]  # by their names
    alone: tuple[Member, ...]  # names without a set
    mapping: Mapping[str, str]  # of each entry of the list to the name of its set, or to itself
    unsure: tuple[UnsurePair, ...]  # pairs near the threshold, nearest first
    threshold: float
    counts: NameCounts = field(default_factory=NameCounts)

    @property
    def summary(self) -> str:
        """What was found and what was left out, on one line."""
        counts = self.counts
        distinct = counts.names - counts.duplicates
        in_sets = distinct - self._entries_alone
        parts = [
            f"{counted(counts.names, 'name')}: {counted(len(self.sets), 'set')} with "
            f"{counted(in_sets, 'name')}",
            f"{self._entries_alone:,} {'stands' if self._entries_alone == 1 else 'stand'} alone",
        ]
        more = {
            "duplicate": counts.duplicates,
            "spelling variant": counts.variants,
            "missing value": counts.missing,
        }
        return "; ".join(parts + [counted(count, what) for what, count in more.items() if count])

    @property
    def _entries_alone(self) -> int:
        names = {member.name for member in self.alone}
        return sum(name in names for name in self.mapping.values())

    def to_arrow(self, *, alone: bool = True) -> Any:
        """A table of pyarrow, a row a name: set_id, canonical, name, count, probability, known."""
        from synsetmine.pipeline.group_files import as_table

        return as_table(self, alone=alone)

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> Any:
        """The same rows as a DataFrame of pandas or polars, which must be installed."""
        from synsetmine.pipeline.group_files import as_frame

        return as_frame(self, library)

    def write(
        self,
        path: str | Path,
        *,
        alone: bool = False,
        skipped: Skipped | None = None,
    ) -> None:
        """Write .jsonl, .csv, .parquet, or .txt for Solr's and Elasticsearch's `synonyms.txt`.

        `alone` adds names that have no set. Names that the format cannot hold go to `skipped`.
        """
        from synsetmine.pipeline.group_files import write_grouping

        write_grouping(Path(path), self, alone=alone, skipped=skipped)

    def __repr__(self) -> str:
        return f"Grouping({self.summary})"


def group(
    names: Any,
    *,
    column: str | None = None,
    precision: str | float = DEFAULTS.precision,
    known: KnownSets | None = None,
    never: Iterable[tuple[str, str]] | None = None,
    model: NameModel | None = None,
    encoder: str | None = None,
    device: str = "cpu",
    cache: str | Path | None = None,
    unsure: int = DEFAULTS.unsure,
    progress: Progress | None = None,
) -> Grouping:
    """Group the names that mean the same thing.

    `names` is any iterable of strings, a Series of pandas or polars, or a DataFrame with a
    `column`. Their order makes no difference. Names that differ only in case, width or whitespace
    are one name. `precision` is "cautious", "balanced" or "bold", or a threshold from 0 to 1. New
    names may join the `known` sets, whose own names stay where they are: sets as `read_sets` reads
    them, lists of names, or a mapping from names to their other names. The two names of a pair in
    `never` come into different sets.

    The name of a set is its most frequent one in the list; among equals the one with most letters,
    then one that is not all capitals unless it is as short as `USA`, then the one with fewest
    other characters (`Heart Failure`, not `Failure, Heart`), then the first in the alphabet. A
    known set is called by its first name.

    `model` is the general model by default. `encoder` is a sentence encoder, `minilm` or a folder,
    whose vectors of the names are one more view; the folder `cache` keeps them. `unsure` is how
    many pairs near the threshold to return.
    """
    threshold = threshold_of(precision)
    vocabulary = _Vocabulary(names_in(names, column), _known_sets(known))
    cannot_link, unused_pairs = vocabulary.cannot_link(never or ())
    seeds = vocabulary.seeds()
    terms = [*vocabulary.new_terms(), *seeds.terms]
    result = _Result(vocabulary)
    pairs: list[UnsurePair] = []
    if len(terms) > max(len(seeds.terms), 1):
        vectors = None
        if encoder is not None:
            vectors = encode_terms(
                terms,
                find_encoder(encoder),
                cache=cache,
                device=device,
                progress=progress,
            )
        model = model or _general_model(encoder=encoder is not None)
        prepared = model.prepare(terms, TermViews(encoder=vectors), progress=progress)
        mined = prepared.generate(
            threshold=threshold, seeds=seeds, cannot_link=cannot_link, progress=progress
        )
        result.add(mined, prepared, seeds)
        pairs = _unsure_pairs(prepared, threshold, unsure, seeds, cannot_link)
    return result.grouping(threshold, pairs, unused_pairs)


def threshold_of(precision: str | float) -> float:
    """The threshold of a level of precision; a number is the threshold itself."""
    from synsetmine.models.general import PRECISION

    if isinstance(precision, str) and precision in PRECISION:
        return PRECISION[precision]
    try:
        threshold = float(precision)
    except (TypeError, ValueError):
        threshold = -1.0
    if not 0 <= threshold <= 1:
        allowed = f"{', '.join(PRECISION)} or a number from 0 to 1"
        raise DataError(f"the precision must be {allowed}", value=precision)
    return threshold


def _general_model(*, encoder: bool) -> NameModel:
    from synsetmine.models.general import load_general

    return load_general(encoder=encoder)


def _unsure_pairs(
    prepared: PreparedNameModel,
    threshold: float,
    top: int,
    seeds: SynonymSets,
    cannot_link: Sequence[tuple[Term, Term]],
) -> list[UnsurePair]:
    """Pairs near the threshold, without those that the known sets or cannot-link pairs decide."""
    if top < 1:
        return []
    decided = {frozenset(pair) for pair in cannot_link}
    looked_at = top
    while True:
        near = prepared.near_pairs(threshold, top=looked_at)
        open_pairs = [
            UnsurePair(one.surface, other.surface, probability)
            for one, other, probability in near
            if frozenset((one, other)) not in decided and not (one in seeds and other in seeds)
        ]
        if len(open_pairs) >= top or len(near) < looked_at:
            return open_pairs[:top]
        looked_at *= 4


class _Name(NamedTuple):
    """One name: all spellings that are equal but for case, width and whitespace."""

    text: str  # the spelling that stands for all
    spellings: tuple[tuple[str, int], ...]  # without extra whitespace, and their frequencies
    entries: tuple[str, ...]  # as the list has them
    total: int  # how often the list has any of them


class _KnownSet(NamedTuple):
    id: str
    names: tuple[str, ...]


class _Vocabulary:
    """The names of a list and of known sets, by what makes them one."""

    def __init__(self, names: Iterable[str], known: Sequence[_KnownSet]) -> None:
        self.counts = Counter(names)
        blank = [name for name in self.counts if not name.strip()]
        self.missing = sum(self.counts.pop(name) for name in blank)
        self.entries: dict[str, list[str]] = {}  # by key
        for entry in self.counts:
            self.entries.setdefault(name_key(entry), []).append(entry)
        self.sets_of: dict[str, set[int]] = {}  # the known sets that have a name of this key
        self.known_spellings: dict[str, list[str]] = {}
        for number, known_set in enumerate(known):
            for name in known_set.names:
                key = name_key(name)
                self.sets_of.setdefault(key, set()).add(number)
                self.known_spellings.setdefault(key, []).append(_tidy(name))
        self.ambiguous = {key for key, numbers in self.sets_of.items() if len(numbers) > 1}
        self.known = known
        self.owner = {
            key: min(numbers) for key, numbers in self.sets_of.items() if key not in self.ambiguous
        }
        for key in self.ambiguous:
            del self.known_spellings[key]
        self.too_long = {
            key for key in self.entries if len(key) > LONGEST_NAME and key not in self.owner
        }

    def name(self, key: str) -> _Name:
        entries = sorted(self.entries.get(key, ()))
        if len(entries) == 1 and key not in self.known_spellings:
            text = _tidy(entries[0])
            count = self.counts[entries[0]]
            return _Name(text, ((text, count),), tuple(entries), count)
        counts: Counter[str] = Counter()
        for entry in entries:
            counts[_tidy(entry)] += self.counts[entry]
        ranked = sorted(counts, key=lambda text: _rank(text, counts[text]))
        spellings = tuple(dict.fromkeys((*self.known_spellings.get(key, ()), *ranked)))
        counted_spellings = tuple((text, counts[text]) for text in spellings)
        return _Name(spellings[0], counted_spellings, tuple(entries), counts.total())

    def known_keys(self) -> list[list[str]]:
        """The keys of each known set, in the order of its names."""
        keys: list[dict[str, None]] = [{} for _ in self.known]
        for key, number in self.owner.items():
            keys[number][key] = None
        return [list(of_set) for of_set in keys]

    def new_terms(self) -> list[Term]:
        """The terms to group, in an order that does not depend on the list's."""
        keys = (
            key
            for key in self.entries
            if key not in self.owner and key not in self.ambiguous and key not in self.too_long
        )
        return [Term(self.name(key).text) for key in sorted(keys)]

    def seeds(self) -> SynonymSets:
        sets = []
        for known_set, keys in zip(self.known, self.known_keys(), strict=True):
            judged = [key for key in keys if len(key) <= LONGEST_NAME]
            if judged:
                sets.append((known_set.id, [Term(self.known_spellings[k][0]) for k in judged]))
        return SynonymSets.of((terms for _, terms in sets), (set_id for set_id, _ in sets))

    def cannot_link(self, pairs: Iterable[tuple[str, str]]) -> tuple[list[tuple[Term, Term]], int]:
        """Pairs of terms, and how many pairs have a name that is nowhere else."""
        linked, unused = [], 0
        for pair in pairs:
            if isinstance(pair, str) or len(names := _strings(pair)) != 2:
                raise DataError("expected pairs of names", value=pair)
            check_pair(names[0], names[1], self.sets_of)
            one, other = map(name_key, names)
            if all(key in self.entries or key in self.owner for key in (one, other)):
                linked.append((Term(self.name(one).text), Term(self.name(other).text)))
            else:
                unused += 1
        return linked, unused


class _Result:
    """Collects the sets of names: known ones, those that the model found, and single names."""

    def __init__(self, vocabulary: _Vocabulary) -> None:
        self._vocabulary = vocabulary
        known = zip(vocabulary.known, vocabulary.known_keys(), strict=True)
        self._known = {known_set.id: keys for known_set, keys in known}
        self._new: list[list[str]] = []
        self._probability: dict[str, float] = {}  # by key

    def add(self, mined: MiningResult, prepared: PreparedNameModel, seeds: SynonymSets) -> None:
        """Take the sets of a model over; known sets keep their names and get new ones."""
        decisions = {decision.term: decision for decision in mined.trace}
        seed_ids = frozenset(seeds.ids)  # a known set whose names are not compared is none of them
        for set_id, terms in zip(mined.sets.ids, mined.sets, strict=True):
            new = [term for term in terms if term in decisions]
            if len(terms) > 1:
                for term in new:
                    decision = decisions[term]
                    probability = decision.probability
                    if decision.best_set != set_id:  # a model that judged it before the others came
                        others = [other for other in terms if other != term]
                        (probability,) = prepared.probabilities(others, [term])
                    self._probability[name_key(term.surface)] = probability
            keys = [name_key(term.surface) for term in new]
            if set_id in seed_ids:
                self._known[set_id].extend(keys)
            else:
                self._new.append(keys)

    def grouping(
        self, threshold: float, unsure: Sequence[UnsurePair], unused_pairs: int
    ) -> Grouping:
        vocabulary = self._vocabulary
        placed = {key for keys in (*self._known.values(), *self._new) for key in keys}
        single = [[key] for key in sorted(vocabulary.entries.keys() - placed)]
        sets: list[NameSet] = []
        alone: list[Member] = []
        mapping: dict[str, str] = {}
        taken = set(self._known)
        for set_id, keys in [*self._known.items(), *((None, k) for k in (*self._new, *single))]:
            names = [vocabulary.name(key) for key in keys]
            if not any(name.entries for name in names):
                continue  # a known set that the list does not mention
            if set_id is None:
                names.sort(key=lambda name: _rank(name.text, name.total))
            members = [member for name in names for member in self._members(name)]
            for name in names:
                mapping.update(dict.fromkeys(name.entries, members[0].name))
            if len(members) == 1:
                alone += members
                continue
            if set_id is None:
                set_id = new_id([Term(member.name) for member in members], taken)
                taken.add(set_id)
            sets.append(NameSet(set_id, tuple(members)))
        return Grouping(
            sets=tuple(sorted(sets, key=lambda s: (name_key(s.name), s.name, s.id))),
            alone=tuple(sorted(alone, key=lambda member: (name_key(member.name), member.name))),
            mapping=mapping,
            unsure=tuple(unsure),
            threshold=threshold,
            counts=NameCounts(
                names=vocabulary.counts.total(),
                duplicates=vocabulary.counts.total() - len(vocabulary.counts),
                variants=len(vocabulary.counts) - len(vocabulary.entries),
                missing=vocabulary.missing,
                too_long=len(vocabulary.too_long),
                ambiguous=len(vocabulary.ambiguous & vocabulary.entries.keys()),
                unused_pairs=unused_pairs,
            ),
        )

    def _members(self, name: _Name) -> Iterator[Member]:
        key = name_key(name.text)
        known = self._vocabulary.known_spellings.get(key, ())
        for spelling, count in name.spellings:
            yield Member(spelling, count, self._probability.get(key), spelling in known)


def _known_sets(known: KnownSets | None) -> list[_KnownSet]:
    if known is None:
        return []
    if isinstance(known, SynonymSets):
        sets = [(i, [t.surface for t in terms]) for i, terms in zip(known.ids, known, strict=True)]
    elif isinstance(known, Mapping):
        sets = [(name, _strings([name, *_strings(others)])) for name, others in known.items()]
    elif isinstance(known, str) or not isinstance(known, Iterable):
        raise DataError("expected known sets, each a list of names", value=known)
    else:
        sets = [(f"c{number}", _strings(names)) for number, names in enumerate(known)]
    for set_id, names in sets:
        if not names or not all(name.strip() for name in names):
            raise DataError("a known set needs names, none of them empty", value=set_id)
    return [_KnownSet(set_id, tuple(names)) for set_id, names in sets]


def _strings(names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise DataError("a known set must be a list of names", value=names)
    return list(names_in(names))


def _tidy(name: str) -> str:
    return " ".join(name.split())


def _rank(text: str, count: int) -> tuple[int, int, bool, int, str]:
    """How well a name stands for its set, the best first."""
    shouted = text.isupper() and not keeps_case(text)
    return -count, -sum(map(str.isalpha, text)), shouted, len(text), text
