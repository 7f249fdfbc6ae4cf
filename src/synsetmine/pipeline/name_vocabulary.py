"""The names of a list and of known sets as nodes that a model compares, and back again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from synsetmine.corpus.name_lists import NameRow, check_pair, names_in
from synsetmine.errors import DataError
from synsetmine.io.sets import new_id
from synsetmine.models import MiningResult
from synsetmine.normalization import keeps_case, name_key
from synsetmine.pipeline.explanation import PairExplainer
from synsetmine.pipeline.name_sets import (
    ComparedTerms,
    Grouping,
    Member,
    NameCounts,
    NameSet,
    UnsurePair,
)
from synsetmine.pipeline.registry import KnownEntity, Registry
from synsetmine.types import SENSE_MARK, SynonymSets, Term

if TYPE_CHECKING:
    from synsetmine.pipeline.grouping import PreparedNameModel
    from synsetmine.pipeline.name_questions import NameInContext

LONGEST_NAME = 10_000  # characters; a longer text is no name, and stands alone

KnownSets: TypeAlias = (
    SynonymSets | Registry | Mapping[str, Iterable[str]] | Iterable[Iterable[str]]
)


class _Key(NamedTuple):
    """What makes rows one node: the name without its spelling, the type, the sense."""

    name: str
    type: str = ""
    sense: int = 0


class _Node(NamedTuple):
    """A name as the model sees it: all spellings that are equal but for case and whitespace."""

    text: str  # the spelling that stands for all
    spellings: tuple[tuple[str, int], ...]  # without extra whitespace, and their frequencies
    entries: tuple[tuple[str, int], ...]  # as the list has them, and their frequencies
    total: int  # how often the list has any of them


class NameVocabulary:
    """The names of a list and of known sets, by what makes them one."""

    def __init__(self, rows: Sequence[NameRow], known: Sequence[KnownEntity]) -> None:
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
        self.keys: list[_Key | None] = [self._key(row) for row in rows]
        self.spellings = [_tidy(row.name) for row in rows]
        self.missing = self.keys.count(None)
        self.entries: dict[_Key, list[str]] = {}  # the names of the list that are a node
        self._types: dict[_Key, Counter[str]] = {}
        for row, key_ in zip(rows, self.keys, strict=True):
            if key_ is None:
                continue
            self.entries.setdefault(key_, []).append(row.name)
            if row.type:
                self._types.setdefault(key_, Counter())[row.type] += 1
            if row.contexts:
                self._contexts.setdefault(key_, {}).update(dict.fromkeys(row.contexts))
        self._keys_of: dict[str, list[_Key]] = {}
        for key in sorted(self.entries):
            self._keys_of.setdefault(key.name, []).append(key)
        unclear = ambiguous | self._unclear
        self.ambiguous = {key for key in self.entries if key in unclear}
        self.too_long = {
            key for key in self.entries if len(key.name) > LONGEST_NAME and key not in self.owner
        }

    def _key(self, row: NameRow) -> _Key | None:
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
        names = self.entries.get(key, [])
        known = self.known_spellings(key)
        if len(names) == 1 and not known:
            text = _tidy(names[0])
            return _Node(text, ((text, 1),), ((names[0], 1),), 1)
        entries = sorted(Counter(names).items())
        counts: Counter[str] = Counter()
        for entry, count in entries:
            counts[_tidy(entry)] += count
        ranked = sorted(counts, key=lambda text: _rank(text, counts[text]))
        spellings = tuple(dict.fromkeys((*known, *ranked)))
        counted_spellings = tuple((text, counts[text]) for text in spellings)
        return _Node(spellings[0], counted_spellings, tuple(entries), counts.total())

    def type(self, key: _Key) -> str:
        """The type of a node as the list writes it most often."""
        counts, known = self._types.get(key), self._known_types.get(key, "")
        return known if counts is None else min(counts, key=lambda type_: (-counts[type_], type_))

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

    @cached_property
    def new_terms(self) -> dict[Term, _Key]:
        """The terms to group and their nodes, in an order that does not depend on the list's."""
        left_out = self.ambiguous | self.too_long
        keys = (key for key in self.entries if key not in self.owner and key not in left_out)
        return {self.term(key): key for key in sorted(keys)}

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

    def link_pairs(
        self, pairs: Iterable[tuple[str, str]], *, together: bool = False
    ) -> tuple[list[list[tuple[Term, Term]]], int]:
        """For each pair its pairs of terms, and how many pairs have a name that is nowhere else."""
        linked, unused = [], 0
        for pair in pairs:
            if isinstance(pair, str) or len(names := _strings(pair)) != 2:
                raise DataError("expected pairs of names", value=pair)
            check_pair(names[0], names[1], self._sets_of, together=together)
            ends = [self._linkable(name_key(name)) for name in names]
            linked.append([(self.term(one), self.term(other)) for one, other in product(*ends)])
            unused += not all(ends)
        return linked, unused

    def _linkable(self, name: str) -> list[_Key]:
        known = [key for key in self._known_keys_of.get(name, ()) if key in self.owner]
        keys = dict.fromkeys((*known, *self._keys_of.get(name, ())))
        return [key for key in keys if key not in self.ambiguous]


def _type_of(term: Term) -> str:
    return term.sense.partition(" ")[2]


class GroupingBuilder:
    """Collects the sets of nodes: known ones, those that the model found, and single nodes."""

    def __init__(self, vocabulary: NameVocabulary) -> None:
        self._vocabulary = vocabulary
        known = zip(vocabulary.known, vocabulary.known_keys(), strict=True)
        self._known = {known_set.id: keys for known_set, keys in known}
        self._new: list[list[_Key]] = []
        self._probability: dict[_Key, float] = {}

    def add(self, mined: MiningResult, prepared: PreparedNameModel, seeds: SynonymSets) -> None:
        """Take the sets of a model over; known sets keep their names and get new ones."""
        decisions = {decision.term: decision for decision in mined.trace}
        key_of = self._vocabulary.new_terms
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
                    self._probability[key_of[term]] = probability
            keys = [key_of[term] for term in new]
            if set_id in seed_ids:
                self._known[set_id].extend(keys)
            else:
                self._new.append(keys)

    def grouping(
        self,
        threshold: float,
        unsure: Sequence[UnsurePair],
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
            if set_id is None and len(keys) > 1:
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
        names = [name_set.name for name_set, _ in sets] + [member.name for member, _, _ in alone]
        keys_of = [keys for _, keys in sets] + [[key] for _, key, _ in alone]
        position_of = {key: position for position, keys in enumerate(keys_of) for key in keys}
        return Grouping(
            sets=tuple(name_set for name_set, _ in sets),
            alone=tuple(member for member, _, _ in alone),
            mapping=self._mapping(keys_of, names),
            unsure=tuple(unsure),
            threshold=threshold,
            counts=self._counts(),
            rows=tuple(None if key is None else position_of[key] for key in vocabulary.keys),
            make_compared=partial(self._compare_terms, explainer, keys_of, len(sets)),
            known_ids={position: i for position, (_, _, i) in enumerate(alone) if i is not None},
            taken_ids=frozenset(self._known),
        )

    def _compare_terms(
        self, explainer: PairExplainer, keys_of: Sequence[Sequence[_Key]], set_count: int
    ) -> ComparedTerms:
        vocabulary = self._vocabulary
        terms: list[tuple[Term, ...]] = []
        types: list[tuple[tuple[str, ...], ...]] = []
        position: dict[tuple[_Key, str], int] = {}
        for keys in keys_of:
            spelled = [(k, text) for k in keys for text, _ in vocabulary.node(k).spellings]
            position |= {pair: number for number, pair in enumerate(spelled)}
            term_of = {key: vocabulary.term(key) for key in keys}
            terms.append(tuple(term_of[key] for key, _ in spelled))
            types.append(tuple(vocabulary.row_types(key) for key, _ in spelled))
        rows = zip(vocabulary.keys, vocabulary.spellings, strict=True)
        members = tuple(None if key is None else position[key, text] for key, text in rows)
        known = tuple(vocabulary.known)
        return ComparedTerms(explainer, tuple(terms[:set_count]), tuple(types), members, known)

    def _rank(self, key: _Key) -> tuple[Any, ...]:
        node = self._vocabulary.node(key)
        return (*_rank(node.text, node.total), key)

    def _mapping(self, keys_of: Sequence[Sequence[_Key]], names: Sequence[str]) -> dict[str, str]:
        mapping: dict[str, str] = {}
        most: dict[str, int] = {}
        for keys, name in zip(keys_of, names, strict=True):
            for key in sorted(keys):
                for entry, count in self._vocabulary.node(key).entries:
                    if count > most.get(entry, 0):
                        mapping[entry] = name
                        most[entry] = count
        return mapping

    def _counts(self) -> NameCounts:
        vocabulary = self._vocabulary
        total = len(vocabulary.keys) - vocabulary.missing
        distinct = len(set().union(*vocabulary.entries.values()))
        return NameCounts(
            names=total,
            duplicates=total - distinct,
            variants=distinct - len({key.name for key in vocabulary.entries}),
            missing=vocabulary.missing,
            too_long=len({key.name for key in vocabulary.too_long}),
            ambiguous=len({key.name for key in vocabulary.ambiguous}),
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


def known_entities(known: KnownSets | None) -> Sequence[KnownEntity]:
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
    return [KnownEntity(set_id, tuple(map(NameRow, names))) for set_id, names in sets]


def _strings(names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise DataError("a known set must be a list of names", value=names)
    return list(names_in(names))


def _tidy(name: str) -> str:
    text = " ".join(name.split())
    return name if text == name else text  # most names are tidy, and need no copy


def _rank(text: str, count: int) -> tuple[int, int, bool, int, str]:
    """How well a name stands for its set, the best first."""
    shouted = text.isupper() and not keeps_case(text)
    return -count, -sum(map(str.isalpha, text)), shouted, len(text), text
