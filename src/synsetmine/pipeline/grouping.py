"""Grouping a list of names with the general model: no known sets, no corpus, no training.

Names may come with contexts (sentences or descriptions) and types. A node is what the model
compares: a name, of one type if types are given, in one sense if contexts are. Rows of the list
with the same name and type are one node unless their contexts show several senses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from synsetmine.corpus.name_lists import Row, check_pair, names_in, rows_in
from synsetmine.errors import DataError, Skipped, counted
from synsetmine.frames import Library, frame_of, html_table
from synsetmine.io.sets import new_id, read_sets
from synsetmine.models import MiningResult
from synsetmine.normalization import keeps_case, name_key
from synsetmine.pipeline.explanation import PairExplainer
from synsetmine.pipeline.registry import (
    KnownEntity,
    KnownName,
    Registry,
    known_mentions,
    known_senses,
)
from synsetmine.pipeline.settings import GroupSettings, JudgeSettings
from synsetmine.progress import ShowProgress, showing
from synsetmine.types import SENSE_MARK, Progress, SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, encode_terms, find_encoder, unit_rows

if TYPE_CHECKING:
    from synsetmine.pipeline.judge import Judge, JudgeReport
    from synsetmine.pipeline.name_questions import NameInContext
    from synsetmine.pipeline.plan import Plan
    from synsetmine.pipeline.unsure_names import JudgedPairs

ENCODED = 8  # contexts of a name that a sentence encoder reads: more add little
ENCODED_TEXT = 1_000  # characters of each; an encoder cuts longer texts itself
PAIRS_PER_CALL = 10  # near pairs that are looked at for each request to a judge
LONGEST_NAME = 10_000  # characters; a longer text is no name, and stands alone
DEFAULTS = GroupSettings()

Encode: TypeAlias = Callable[[Sequence[Term]], TermVectors]
KnownSets: TypeAlias = (
    SynonymSets | Registry | Mapping[str, Iterable[str]] | Iterable[Iterable[str]]
)


class PreparedNameModel(Protocol):
    """A `PreparedModel` that also knows about which pairs of terms it is least sure."""

    def probabilities(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]: ...

    def generate(
        self,
        *,
        threshold: float = 0.5,
        seeds: SynonymSets | None = None,
        cannot_link: Iterable[tuple[Term, Term]] = (),
        must_link: Iterable[tuple[Term, Term]] = (),
        types: Mapping[Term, str] | None = None,
        progress: Progress | None = None,
    ) -> MiningResult: ...

    def near_pairs(self, threshold: float, *, top: int = 100) -> list[tuple[Term, Term, float]]:
        """The pairs whose probability is nearest to the threshold, nearest first."""
        ...


class NameModel(Protocol):
    """A `SetModel` that judges names by their strings, contexts, and an encoder's vectors."""

    def senses(
        self,
        names: Sequence[str],
        contexts: Sequence[Sequence[str]],
        vectors: TermVectors | None = None,
        *,
        threshold: float = 0.5,
    ) -> list[int]:
        """Which sense of its name each mention has, from 0 on, by the contexts of each."""
        ...

    def prepare(
        self,
        vocabulary: Sequence[Term],
        views: TermViews,
        *,
        progress: Progress | None = None,
    ) -> PreparedNameModel: ...


@dataclass(frozen=True, slots=True, repr=False)
class Member:
    """A name in its set."""

    name: str
    count: int  # how often the list has it; 0 for a name that only the known sets have
    # f(S, t) for the other names of the set; None for known and single names, and spellings.
    probability: float | None
    known: bool  # whether a known set has it
    type: str = ""  # as the list has it most often; empty if unknown
    contexts: tuple[str, ...] = ()  # of this name in this set
    sense: int = 0  # of the names that are equal, which one it is

    def __repr__(self) -> str:
        sure = "" if self.probability is None else f", probability={self.probability:.2f}"
        return f"Member({self.name!r}, count={self.count}{sure})"


class UnsurePair(NamedTuple):
    """Two names whose probability is close to the threshold."""

    name: str
    other: str
    probability: float


@dataclass(frozen=True)
class NameSet:
    """Names of one thing; `name` is the canonical one and the first of the members."""

    id: str
    entries: tuple[Member, ...]

    @property
    def name(self) -> str:
        return self.entries[0].name

    @property
    def members(self) -> tuple[str, ...]:
        return tuple(member.name for member in self.entries)

    @property
    def type(self) -> str:
        """The type of the members; empty if none of them has one."""
        return next((member.type for member in self.entries if member.type), "")

    @property
    def probability(self) -> float | None:
        """The lowest probability of a member; None for spellings of one name or known names."""
        return min((m.probability for m in self.entries if m.probability is not None), default=None)

    def __repr__(self) -> str:
        sure = "" if self.probability is None else f", probability={self.probability:.2f}"
        return f"NameSet({', '.join(map(repr, self.members))}{sure})"


@dataclass(frozen=True)
class NameCounts:
    """Counts of the names of a list."""

    names: int = 0  # entries that are not missing
    duplicates: int = 0  # entries that repeat another one
    variants: int = 0  # entries that differ from another only in case, width or whitespace
    missing: int = 0  # None, NaN or nothing but whitespace
    too_long: int = 0  # names that were not compared: longer than 10,000 characters
    ambiguous: int = 0  # names that were not compared: in several known sets
    unused_pairs: int = 0  # cannot-link pairs with a name that is neither listed nor known


class ComparedTerms(NamedTuple):
    """What a plan needs of a grouping."""

    explainer: PairExplainer
    terms: tuple[tuple[Term, ...], ...]  # of the members of each set, as the explainer has them
    # The types of the rows of each node; behind the sets, of the names alone.
    types: tuple[tuple[tuple[str, ...], ...], ...]
    members: tuple[int | None, ...]  # of each row of the list: its position in its set


@dataclass(frozen=True, repr=False)
class Grouping:
    """The sets of two or more names, and the set of each name of the list."""

    sets: tuple[NameSet, ...]  # by their names
    alone: tuple[Member, ...]  # names without a set
    # Of each entry of the list to the name of its set, or to itself; of a name in several sets to
    # the one where it is most frequent.
    mapping: Mapping[str, str]
    unsure: tuple[UnsurePair, ...]  # pairs near the threshold, nearest first
    threshold: float
    counts: NameCounts = field(default_factory=NameCounts)
    judged: JudgeReport | None = None  # what a language model was asked
    # Of each row of the list: the position of its set, or of its name alone after all sets.
    rows: tuple[int | None, ...] = field(default=(), compare=False)
    compared: ComparedTerms | None = field(default=None, compare=False)
    known_ids: Mapping[int, str] = field(default_factory=dict)  # of known names that stand alone
    taken_ids: frozenset[str] = frozenset()  # of all known sets

    @property
    def canonical(self) -> tuple[str | None, ...]:
        """For each row of the list the name of its set, or its own; None for a missing name."""
        names = [s.name for s in self.sets] + [member.name for member in self.alone]
        return tuple(None if row is None else names[row] for row in self.rows)

    @property
    def ids(self) -> tuple[str | None, ...]:
        """For each row of the list the id of its set; a name that stands alone has an id too."""
        ids = [s.id for s in self.sets] + list(self.ids_alone)
        return tuple(None if row is None else ids[row] for row in self.rows)

    @cached_property
    def ids_alone(self) -> tuple[str, ...]:
        """The ids of the names that stand alone."""
        taken = {*self.taken_ids, *(s.id for s in self.sets)}
        ids = []
        for place, member in enumerate(self.alone):
            known = self.known_ids.get(place)
            ids.append(new_id([Term(member.name)], taken) if known is None else known)
            taken.add(ids[-1])
        return tuple(ids)

    @property
    def summary(self) -> str:
        """The numbers of names and sets on one line."""
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
        """A pyarrow table, one row per name: set_id, canonical, name, count, probability, known."""
        from synsetmine.pipeline.group_files import as_table

        return as_table(self, alone=alone)

    def to_frame(self, library: Library = "pandas") -> Any:
        """The same rows as a DataFrame of pandas or polars, which must be installed."""
        return frame_of(self.to_arrow(), library)

    def write(
        self,
        path: str | Path,
        *,
        alone: bool = False,
        skipped: Skipped | None = None,
    ) -> None:
        """Write .jsonl, .csv, .parquet, or .txt for Solr's and Elasticsearch's `synonyms.txt`.

        `alone` adds names without a set. Names that the format cannot represent go to `skipped`.
        """
        from synsetmine.pipeline.group_files import write_grouping

        write_grouping(Path(path), self, alone=alone, skipped=skipped)

    def plan(self, *, ids: Sequence[str] | None = None, progress: Progress | None = None) -> Plan:
        """What would be merged, and why; `ids` are those of the rows of the list.

        With ids each row is an entity, and rows of one name that are one thing are merged too.
        """
        from synsetmine.pipeline.plan import plan_of

        return plan_of(self, ids, progress=progress)

    def write_plan(self, path: str | Path, *, ids: Sequence[str] | None = None) -> None:
        """Write the plan as JSON lines, which `apply_plan` maps tables by."""
        self.plan(ids=ids).write(path)

    @cached_property
    def synonym_sets(self) -> SynonymSets:
        """The sets, and each single name as one, as `evaluate` and `write_sets` take them.

        A name of several sets has the id of each as its sense there.
        """
        sets = [(one.id, one.members) for one in self.sets]
        sets += [(i, (one.name,)) for i, one in zip(self.ids_alone, self.alone, strict=True)]
        counts = Counter(name for _, names in sets for name in names)
        terms = [[Term(n, i if counts[n] > 1 else "") for n in names] for i, names in sets]
        return SynonymSets.of(terms, (set_id for set_id, _ in sets))

    def __repr__(self) -> str:
        return f"Grouping({self.summary})"

    def _repr_html_(self) -> str:
        """The first sets as a table, which notebooks show."""
        rows = [
            (s.name, ", ".join(s.members[1:]), f"{s.probability:.2f}" if s.probability else "")
            for s in self.sets
        ]
        table = html_table(("name", "other names", "probability"), rows)
        return f"<p>{self.summary}</p>{table}"


def group(
    names: Any,
    *,
    column: str | None = None,
    contexts: Any = None,
    types: Any = None,
    precision: str | float = DEFAULTS.precision,
    known: KnownSets | str | Path | None = None,
    never: Iterable[tuple[str, str]] | None = None,
    always: Iterable[tuple[str, str]] | None = None,
    model: NameModel | None = None,
    encoder: str | None = None,
    device: str = "cpu",
    cache: str | Path | None = None,
    unsure: int = DEFAULTS.unsure,
    judge: str | JudgeSettings | None = None,
    progress: ShowProgress = None,
) -> Grouping:
    """Group the names that mean the same thing.

    `names` is any iterable of strings, a Series of pandas or polars, or a DataFrame with a
    `column`. Their order makes no difference. Names that differ only in case, width or whitespace
    are one name. `precision` is "cautious", "balanced" or "bold", or a threshold from 0 to 1. New
    names may join the `known` sets, whose own names stay where they are: sets as `read_sets` reads
    them, the path of such a file, lists of names, a mapping from names to their other names, or a
    `Registry`, whose cannot-link pairs hold too. The two names of a pair in `never` come into
    different sets, those of a pair in `always` into one.

    `contexts` has for each name a sentence or a description, or a list of them, or None; `types`
    has the type of each name, or None. Both are as long as `names`, or the names of columns if
    `names` is a table. Names of different types never share a set. If the contexts of a name in
    several rows show several meanings, its rows are in different sets: `ids` and `canonical` of
    the result have the answer for each row.

    The name of a set is its most frequent one in the list; ties go to the name with most letters,
    then to one that is not all capitals unless it is as short as `USA`, then to the one with
    fewest other characters (`Heart Failure`, not `Failure, Heart`), then to the first in the
    alphabet. The name of a known set is its first one.

    `model` is the general model by default. `encoder` is a sentence encoder, `minilm` or a folder,
    whose vectors of the names and contexts are a further view; the folder `cache` stores them.
    `unsure` is the number of pairs near the threshold to return. `progress` is True for a progress
    bar, or a function that is called with the finished work and the total.

    `judge` is the address of an OpenAI-compatible endpoint, or `JudgeSettings`: a language model
    decides on names whose probability is near the threshold. `judged` of the result says what was
    asked. Without a usable answer the result is as it would be without a judge.
    """
    if model is not None and not hasattr(model, "senses"):
        raise DataError("expected a model of names; None is the general model", value=model)
    if isinstance(known, str | Path):
        known = read_sets(known)
    asked = None if judge is None else _open_judge(judge)
    threshold = threshold_of(precision)
    rows = rows_in(names, column, contexts=contexts, types=types)
    model = model or general_model(encoder=encoder is not None)
    with showing(progress, "grouping") as bar:
        encode = encoding(encoder, device=device, cache=cache, progress=bar)
        entities = _known_sets(known)
        mentions = [*known_mentions(entities)]
        rows = [row if row.name.strip() else Row("") for row in rows]
        sensed = _with_senses([*rows, *mentions], model, encode, threshold)
        split = known_senses(sensed[: len(rows)], sensed[len(rows) :], mentions)
        vocabulary = _Vocabulary(split, entities)
        decided = known.never if isinstance(known, Registry) else ()
        cannot_link, unused_pairs = vocabulary.linked([*(never or ()), *decided])
        must_link, unused = vocabulary.linked(always or (), together=True)
        seeds = vocabulary.seeds()
        terms = [*vocabulary.new_terms(), *seeds.terms]
        result = _Result(vocabulary)
        pairs: list[UnsurePair] = []
        types = vocabulary.types(terms)
        explainer = PairExplainer(model, terms, vocabulary.contexts_of(terms), types, encode, bar)
        report: JudgeReport | None = None
        if len(terms) > max(len(seeds.terms), 1):
            prepared = explainer.prepared
            generate = partial(
                prepared.generate, threshold=threshold, seeds=seeds, types=types, progress=bar
            )
            mined = generate(cannot_link=cannot_link, must_link=must_link)
            if asked is not None:
                judged = _judge_unsure(
                    asked,
                    prepared,
                    mined.sets,
                    vocabulary,
                    seeds=seeds,
                    threshold=threshold,
                    cannot_link=cannot_link,
                    must_link=must_link,
                    progress=bar,
                )
                report = judged.report
                if judged.together or judged.apart:
                    cannot_link = [*cannot_link, *judged.apart]
                    must_link = [*must_link, *judged.together]
                    mined = generate(cannot_link=cannot_link, must_link=must_link)
            result.add(mined, prepared, seeds)
            linked = [*cannot_link, *must_link]
            pairs = _unsure_pairs(prepared, threshold, unsure, seeds, linked, types)
        grouping = result.grouping(threshold, pairs, unused_pairs + unused, explainer)
        return replace(grouping, judged=report)


def _open_judge(judge: str | JudgeSettings) -> Judge:
    from synsetmine.pipeline.judge import Judge

    return Judge(JudgeSettings(url=judge) if isinstance(judge, str) else judge)


def _judge_unsure(
    judge: Judge,
    prepared: PreparedNameModel,
    sets: SynonymSets,
    vocabulary: _Vocabulary,
    *,
    seeds: SynonymSets,
    threshold: float,
    cannot_link: Sequence[tuple[Term, Term]],
    must_link: Sequence[tuple[Term, Term]],
    progress: Progress | None,
) -> JudgedPairs:
    from synsetmine.pipeline.unsure_names import judge_pairs

    top = PAIRS_PER_CALL * judge.settings.calls
    types = vocabulary.types(sets.terms)
    decided = [*cannot_link, *must_link]
    return judge_pairs(
        judge,
        _open_pairs(prepared, threshold, top, seeds, decided, types),
        sets,
        prepared,
        threshold=threshold,
        describe=vocabulary.describe,
        cannot_link=cannot_link,
        must_link=must_link,
        progress=progress,
    )


def _with_senses(
    rows: Sequence[Row], model: NameModel, encode: Encode | None, threshold: float
) -> Sequence[Row]:
    """The rows with the senses that the contexts of a name show, the most frequent one first.

    A row without a context has the most frequent sense.
    """
    mentions = Counter((name_key(row.name), row.contexts) for row in rows if row.contexts)
    per_name = Counter(name for name, _ in mentions)
    several = sorted(mention for mention in mentions if per_name[mention[0]] > 1)
    if not several:
        return rows
    names = [name for name, _ in several]
    terms = [Term(name, str(position)) for position, name in enumerate(names)]
    texts = {term: contexts for term, (_, contexts) in zip(terms, several, strict=True)}
    senses = model.senses(
        names, [*texts.values()], vectors_in_context(texts, encode), threshold=threshold
    )
    counts: dict[str, Counter[int]] = {}
    for mention, sense in zip(several, senses, strict=True):
        counts.setdefault(mention[0], Counter())[sense] += mentions[mention]
    rank = {
        (name, sense): number
        for name, own in counts.items()
        for number, sense in enumerate(sorted(own, key=lambda sense: (-own[sense], sense)))
    }
    sense_of = {
        mention: rank[mention[0], sense] for mention, sense in zip(several, senses, strict=True)
    }
    return [row._replace(sense=sense_of.get((name_key(row.name), row.contexts), 0)) for row in rows]


def vectors_in_context(
    contexts: Mapping[Term, Sequence[str]], encode: Encode | None
) -> TermVectors | None:
    """The mean of a sentence encoder's vectors of a term with each of its contexts."""
    if encode is None or not contexts:
        return None
    texts = {
        term: [Term(f"{term.surface}: {text[:ENCODED_TEXT]}") for text in own[:ENCODED]]
        for term, own in contexts.items()
    }
    table = encode([text for own in texts.values() for text in own])
    rows = [unit_rows(table.select(own)).mean(axis=0) for own in texts.values()]
    return TermVectors(tuple(texts), np.array(rows, np.float32))


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


def general_model(*, encoder: bool) -> NameModel:
    """The model of the package; with `encoder` the one that takes a sentence encoder's view."""
    from synsetmine.models.general import load_general

    return load_general(encoder=encoder)


def encoding(
    encoder: str | None,
    *,
    device: str = "cpu",
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Encode | None:
    """What encodes terms with a sentence encoder; None without one."""
    if encoder is None:
        return None
    found = find_encoder(encoder)
    return partial(encode_terms, model=found, cache=cache, device=device, progress=progress)


def name_views(
    terms: Sequence[Term], contexts: Mapping[Term, Sequence[str]], encode: Encode | None
) -> TermViews:
    """The views of terms, some of which have contexts."""
    return TermViews(
        encoder=None if encode is None else encode(terms),
        contexts=contexts or None,
        in_context=vectors_in_context(contexts, encode),
    )


def _unsure_pairs(
    prepared: PreparedNameModel,
    threshold: float,
    top: int,
    seeds: SynonymSets,
    linked: Sequence[tuple[Term, Term]],
    types: Mapping[Term, str],
) -> list[UnsurePair]:
    near = _open_pairs(prepared, threshold, top, seeds, linked, types)
    return [UnsurePair(one.surface, other.surface, value) for one, other, value in near]


def _open_pairs(
    prepared: PreparedNameModel,
    threshold: float,
    top: int,
    seeds: SynonymSets,
    linked: Sequence[tuple[Term, Term]],
    types: Mapping[Term, str],
) -> list[tuple[Term, Term, float]]:
    """Pairs near the threshold, without those that known sets, types or linked pairs decide."""
    if top < 1:
        return []
    decided = {frozenset(pair) for pair in linked}
    looked_at = top
    while True:
        near = prepared.near_pairs(threshold, top=looked_at)
        open_pairs = [
            (one, other, probability)
            for one, other, probability in near
            if frozenset((one, other)) not in decided
            and not (one in seeds and other in seeds)
            and len({types.get(one), types.get(other)} - {None}) < 2
        ]
        if len(open_pairs) >= top or len(near) < looked_at:
            return open_pairs[:top]
        looked_at *= 4


class _Key(NamedTuple):
    """What makes rows one node: the name without its spelling, the type, the sense."""

    name: str
    type: str = ""
    sense: int = 0


class _Node(NamedTuple):
    """A name as the model sees it: all spellings that are equal but for case and whitespace."""

    text: str  # the spelling that stands for all
    spellings: tuple[tuple[str, int], ...]  # without extra whitespace, and their frequencies
    entries: tuple[str, ...]  # as the list has them
    total: int  # how often the list has any of them


class _Vocabulary:
    """The names of a list and of known sets, by what makes them one."""

    def __init__(self, rows: Sequence[Row], known: Sequence[KnownEntity]) -> None:
        self.known = known
        self._sets_of: dict[str, set[int]] = {}  # the known sets that have a name
        sets_of: dict[_Key, set[int]] = {}
        self._known_spellings: dict[_Key, list[str]] = {}
        self._contexts: dict[_Key, dict[str, None]] = {}
        self._known_types: dict[_Key, str] = {}
        self._known_keys_of: dict[str, list[_Key]] = {}
        self._row_types: dict[_Key, set[str]] = {}
        self._unclear: set[_Key] = set()  # of names that could be any of several known ones
        for number, entity in enumerate(known):
            for name in entity.names:
                key = _Key(*name.key)
                self._sets_of.setdefault(key.name, set()).add(number)
                if key not in sets_of:
                    self._known_keys_of.setdefault(key.name, []).append(key)
                sets_of.setdefault(key, set()).add(number)
                self._known_spellings.setdefault(key, []).append(_tidy(name.name))
                if name.contexts:
                    self._contexts.setdefault(key, {}).update(dict.fromkeys(name.contexts))
                if name.type:
                    self._known_types.setdefault(key, name.type)
        self._known_contexts = frozenset(self._contexts)
        ambiguous = {key for key, numbers in sets_of.items() if len(numbers) > 1}
        self.owner = {k: min(numbers) for k, numbers in sets_of.items() if k not in ambiguous}
        for key in ambiguous:
            del self._known_spellings[key]
        self.names = Counter(row.name for row in rows if row.name.strip())
        self.missing = len(rows) - self.names.total()
        self.keys: list[_Key | None] = [self._key(row) for row in rows]
        self.spellings = [_tidy(row.name) for row in rows]
        self.entries: dict[_Key, Counter[str]] = {}
        self._types: dict[_Key, Counter[str]] = {}
        for row, key_ in zip(rows, self.keys, strict=True):
            if key_ is None:
                continue
            self.entries.setdefault(key_, Counter())[row.name] += 1
            if row.type:
                self._types.setdefault(key_, Counter())[row.type] += 1
            if row.contexts:
                self._contexts.setdefault(key_, {}).update(dict.fromkeys(row.contexts))
        self._keys_of: dict[str, list[_Key]] = {}
        for key in sorted(self.entries):
            self._keys_of.setdefault(key.name, []).append(key)
        self.ambiguous = {key for key in self.entries if key in ambiguous | self._unclear}
        self.too_long = {
            key for key in self.entries if len(key.name) > LONGEST_NAME and key not in self.owner
        }

    def _key(self, row: Row) -> _Key | None:
        if not row.name.strip():
            return None
        key = _Key(name_key(row.name), name_key(row.type), row.sense)
        known = self._known_keys_of.get(key.name, [])
        if not known or key in known:
            return key
        # A known name without contexts has any sense, one without a type any type, and a row
        # without a type any known one.
        any_sense = self._known_contexts.isdisjoint(known)
        fits = [k for k in known if any_sense or k.sense == key.sense]
        fits = [k for k in fits if k.type == key.type] or [
            k for k in fits if not k.type or not key.type
        ]
        if len(fits) > 1:
            self._unclear.add(key)
        if len(fits) != 1:
            return key
        self._row_types.setdefault(fits[0], set()).add(key.type)
        return fits[0]

    def row_types(self, key: _Key) -> tuple[str, ...]:
        """The type of a node, and those of rows that are it although they have another."""
        return (key.type, *sorted(self._row_types.get(key, set()) - {key.type}))

    def node(self, key: _Key) -> _Node:
        entries = self.entries.get(key, Counter())
        known = self.known_spellings(key)
        if len(entries) == 1 and not known:
            (entry, count), *_ = entries.items()
            text = _tidy(entry)
            return _Node(text, ((text, count),), (entry,), count)
        counts: Counter[str] = Counter()
        for entry in sorted(entries):
            counts[_tidy(entry)] += entries[entry]
        ranked = sorted(counts, key=lambda text: _rank(text, counts[text]))
        spellings = tuple(dict.fromkeys((*known, *ranked)))
        counted_spellings = tuple((text, counts[text]) for text in spellings)
        return _Node(spellings[0], counted_spellings, tuple(sorted(entries)), counts.total())

    def type(self, key: _Key) -> str:
        """The type of a node as the list writes it most often."""
        counts = self._types.get(key, Counter())
        known = self._known_types.get(key, "")
        return min(counts, key=lambda type_: (-counts[type_], type_), default=known)

    def contexts(self, key: _Key) -> tuple[str, ...]:
        return tuple(sorted(self._contexts.get(key, ())))

    def known_spellings(self, key: _Key) -> Sequence[str]:
        return self._known_spellings.get(key, ())

    def known_keys(self) -> list[list[_Key]]:
        """The keys of each known set, in the order of its names."""
        keys: list[dict[_Key, None]] = [{} for _ in self.known]
        for key, number in self.owner.items():
            keys[number][key] = None
        return [list(of_set) for of_set in keys]

    def new_terms(self) -> list[Term]:
        """The terms to group, in an order that does not depend on the list's."""
        left_out = self.ambiguous | self.too_long
        keys = (key for key in self.entries if key not in self.owner and key not in left_out)
        return [self.term(key) for key in sorted(keys)]

    def term(self, key: _Key) -> Term:
        """The term that stands for a node; its sense has the type, and the number of the sense."""
        sense = f"{key.sense} {key.type}".strip("| ") if key.type or key.sense else ""
        return Term(self.node(key).text, sense.replace(SENSE_MARK, "| |"))

    def contexts_of(self, terms: Iterable[Term]) -> dict[Term, tuple[str, ...]]:
        """The contexts of terms that have some."""
        key_of = {self.term(key): key for key in self._contexts}
        return {term: self.contexts(key_of[term]) for term in terms if term in key_of}

    def describe(self, terms: Sequence[Term]) -> list[NameInContext]:
        """Terms as a judge is asked about them."""
        from synsetmine.pipeline.name_questions import NameInContext

        contexts = self.contexts_of(terms)
        return [NameInContext(t.surface, _type_of(t), contexts.get(t, ())) for t in terms]

    def types(self, terms: Iterable[Term]) -> dict[Term, str]:
        """The types of terms that have one."""
        types = {term: _type_of(term) for term in terms if term.sense}
        return {term: type_ for term, type_ in types.items() if type_}

    def seeds(self) -> SynonymSets:
        sets = []
        for known_set, keys in zip(self.known, self.known_keys(), strict=True):
            judged = [key for key in keys if len(key.name) <= LONGEST_NAME]
            if judged:
                sets.append((known_set.id, [*map(self.term, judged)]))
        return SynonymSets.of((terms for _, terms in sets), (set_id for set_id, _ in sets))

    def linked(
        self, pairs: Iterable[tuple[str, str]], *, together: bool = False
    ) -> tuple[list[tuple[Term, Term]], int]:
        """Pairs of terms, and how many pairs have a name that is nowhere else."""
        linked, unused = [], 0
        for pair in pairs:
            if isinstance(pair, str) or len(names := _strings(pair)) != 2:
                raise DataError("expected pairs of names", value=pair)
            check_pair(names[0], names[1], self._sets_of, together=together)
            ends = [self._linkable(name_key(name)) for name in names]
            linked += [(self.term(one), self.term(other)) for one, other in product(*ends)]
            unused += not all(ends)
        return linked, unused

    def _linkable(self, name: str) -> list[_Key]:
        known = [key for key in self._known_keys_of.get(name, ()) if key in self.owner]
        keys = dict.fromkeys((*known, *self._keys_of.get(name, ())))
        return [key for key in keys if key not in self.ambiguous]


def _type_of(term: Term) -> str:
    return term.sense.partition(" ")[2]


class _Result:
    """Collects the sets of nodes: known ones, those that the model found, and single nodes."""

    def __init__(self, vocabulary: _Vocabulary) -> None:
        self._vocabulary = vocabulary
        known = zip(vocabulary.known, vocabulary.known_keys(), strict=True)
        self._known = {known_set.id: keys for known_set, keys in known}
        self._new: list[list[_Key]] = []
        self._probability: dict[_Key, float] = {}
        self._key_of = {
            vocabulary.term(key): key for key in vocabulary.entries if key not in vocabulary.owner
        }

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
                    self._probability[self._key_of[term]] = probability
            keys = [self._key_of[term] for term in new]
            if set_id in seed_ids:
                self._known[set_id].extend(keys)
            else:
                self._new.append(keys)

    def grouping(
        self,
        threshold: float,
        unsure: Sequence[UnsurePair],
        unused_pairs: int,
        explainer: PairExplainer,
    ) -> Grouping:
        vocabulary = self._vocabulary
        placed = {key for keys in (*self._known.values(), *self._new) for key in keys}
        single = [[key] for key in sorted(vocabulary.entries.keys() - placed)]
        sets: list[tuple[NameSet, list[_Key]]] = []
        alone: list[tuple[Member, _Key, str | None]] = []
        taken = set(self._known)
        for set_id, keys in [*self._known.items(), *((None, k) for k in (*self._new, *single))]:
            if not any(key in vocabulary.entries for key in keys):
                continue  # a known set that the list does not mention
            if set_id is None:
                keys.sort(key=self._rank)
            members = [member for key in keys for member in self._members(key)]
            if len(members) == 1:
                alone.append((members[0], keys[0], set_id))
                continue
            if set_id is None:
                set_id = new_id([Term(name) for name in {m.name: None for m in members}], taken)
                taken.add(set_id)
            sets.append((NameSet(set_id, tuple(members)), keys))
        sets.sort(key=lambda pair: (name_key(pair[0].name), pair[0].name, pair[0].id))
        alone.sort(key=lambda pair: (pair[1], pair[0].name))
        position_of = {key: position for position, (_, keys) in enumerate(sets) for key in keys}
        position_of |= {key: len(sets) + position for position, (_, key, _) in enumerate(alone)}
        names = [name_set.name for name_set, _ in sets] + [member.name for member, _, _ in alone]
        return Grouping(
            sets=tuple(name_set for name_set, _ in sets),
            alone=tuple(member for member, _, _ in alone),
            mapping=self._mapping(position_of, names),
            unsure=tuple(unsure),
            threshold=threshold,
            counts=self._counts(unused_pairs),
            rows=tuple(None if key is None else position_of[key] for key in vocabulary.keys),
            compared=self._compared(
                explainer, [keys for _, keys in sets], [[key] for _, key, _ in alone]
            ),
            known_ids={position: i for position, (_, _, i) in enumerate(alone) if i is not None},
            taken_ids=frozenset(self._known),
        )

    def _compared(
        self,
        explainer: PairExplainer,
        sets: Sequence[Sequence[_Key]],
        alone: Sequence[Sequence[_Key]],
    ) -> ComparedTerms:
        vocabulary = self._vocabulary
        terms: list[tuple[Term, ...]] = []
        types: list[tuple[tuple[str, ...], ...]] = []
        position: dict[tuple[_Key, str], int] = {}
        for keys in (*sets, *alone):
            spelled = [(k, text) for k in keys for text, _ in vocabulary.node(k).spellings]
            position |= {pair: number for number, pair in enumerate(spelled)}
            term_of = {key: vocabulary.term(key) for key in keys}
            terms.append(tuple(term_of[key] for key, _ in spelled))
            types.append(tuple(vocabulary.row_types(key) for key, _ in spelled))
        rows = zip(vocabulary.keys, vocabulary.spellings, strict=True)
        members = tuple(None if key is None else position[key, text] for key, text in rows)
        return ComparedTerms(explainer, tuple(terms[: len(sets)]), tuple(types), members)

    def _rank(self, key: _Key) -> tuple[Any, ...]:
        node = self._vocabulary.node(key)
        return (*_rank(node.text, node.total), key)

    def _mapping(self, place_of: Mapping[_Key, int], names: Sequence[str]) -> dict[str, str]:
        mapping: dict[str, str] = {}
        most: dict[str, int] = {}
        for key in sorted(place_of, key=lambda key: (place_of[key], key)):
            for entry in self._vocabulary.node(key).entries:
                count = self._vocabulary.entries[key][entry]
                if count > most.get(entry, 0):
                    mapping[entry] = names[place_of[key]]
                    most[entry] = count
        return mapping

    def _counts(self, unused_pairs: int) -> NameCounts:
        vocabulary = self._vocabulary
        names = vocabulary.names
        return NameCounts(
            names=names.total(),
            duplicates=names.total() - len(names),
            variants=len(names) - len(set(map(name_key, names))),
            missing=vocabulary.missing,
            too_long=len({key.name for key in vocabulary.too_long}),
            ambiguous=len({key.name for key in vocabulary.ambiguous}),
            unused_pairs=unused_pairs,
        )

    def _members(self, key: _Key) -> Iterator[Member]:
        vocabulary = self._vocabulary
        known = vocabulary.known_spellings(key)
        type_, contexts = vocabulary.type(key), vocabulary.contexts(key)
        for spelling, count in vocabulary.node(key).spellings:
            probability = self._probability.get(key)
            yield Member(
                spelling, count, probability, spelling in known, type_, contexts, key.sense
            )


def _known_sets(known: KnownSets | None) -> Sequence[KnownEntity]:
    if known is None:
        return []
    if isinstance(known, Registry):
        return known.entities
    if isinstance(known, SynonymSets):
        sets = [(i, [t.surface for t in terms]) for i, terms in zip(known.ids, known, strict=True)]
    elif isinstance(known, Mapping):
        sets = [(name, _strings([name, *_strings(others)])) for name, others in known.items()]
    elif not isinstance(known, Iterable):
        raise DataError("expected known sets, each a list of names", value=known)
    else:
        sets = [(f"c{number}", _strings(names)) for number, names in enumerate(known)]
    for set_id, names in sets:
        if not names or not all(name.strip() for name in names):
            raise DataError("a known set needs names, none of them empty", value=set_id)
    return [KnownEntity(set_id, tuple(map(KnownName, names))) for set_id, names in sets]


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
