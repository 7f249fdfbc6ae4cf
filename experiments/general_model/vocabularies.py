"""Vocabularies as users bring them, drawn from name lists, whose true sets are known.

A sampled vocabulary holds random entities of a list, some with one name only. A dense one holds a
few entities and those that are near to them, which random draws from a large list never show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.general_model.encoder import Places
from experiments.general_model.lists import Lists, generator, shuffle
from experiments.general_model.settings import GeneralSettings
from experiments.name_lists.base import Names
from experiments.name_lists.heldout import letters
from synsetmine.text.tokens import name_words
from synsetmine.views.strings import StaticEncoder

MIXED = "mixed"  # the source of a vocabulary of all lists


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Names with the number of the entity of each."""

    source: str
    names: tuple[str, ...]
    entities: Places  # (names,)
    dense: bool = False

    @property
    def single_share(self) -> float:
        """The share of names that have no partner."""
        sizes = np.unique(self.entities, return_counts=True)[1]
        return float((sizes == 1).sum() / len(self.names))


def list_vocabularies(
    lists: Lists, encoder: StaticEncoder, settings: GeneralSettings, seed: int
) -> list[Vocabulary]:
    """Vocabularies of each list for the final encoder, and some of all lists together."""
    mixed = list(zip(settings.mixed_names, settings.mixed_shares, strict=True))
    drawn = _sample_ones(lists, settings, seed, MIXED, mixed)
    near = _dense_ones(lists, encoder, settings.dense_seeds, settings, seed, "own")
    return [*drawn, *near]


def group_vocabularies(
    lists: Lists, group: int, encoder: StaticEncoder, settings: GeneralSettings, seed: int
) -> list[Vocabulary]:
    """Vocabularies of the lists of a group, for an encoder that has not seen them."""
    shares = settings.group_mixed_shares
    mixed = [(settings.group_mixed_names, shares[group % len(shares)])]
    drawn = _sample_ones(lists, settings, seed, f"{MIXED} {group}", mixed)
    near = _dense_ones(lists, encoder, settings.group_dense_seeds, settings, seed, "new")
    return [*drawn, *near]


def _sample_ones(
    lists: Lists,
    settings: GeneralSettings,
    seed: int,
    mixed_source: str,
    mixed: Sequence[tuple[int, float]],
) -> Iterator[Vocabulary]:
    samples = {source: sample(source, lists[source], settings, seed) for source in lists}
    drawn = []
    for source, entities in samples.items():
        rng = generator(seed, "vocabularies", source)
        further = float(rng.choice(settings.further_shares))
        for share in (*settings.single_shares, further):
            names = settings.vocabulary_names
            drawn.append(sample_vocabulary(source, entities, names, share, settings, rng))
        drawn += _small_ones(source, entities, settings, rng)
    every = [names for entities in samples.values() for names in entities]
    rng = generator(seed, "vocabularies", mixed_source)
    drawn += _small_ones(mixed_source, every, settings, rng)
    for count, share in mixed:
        drawn.append(sample_vocabulary(mixed_source, every, count, share, settings, rng))
    yield from (one for one in drawn if len(one.names) >= settings.least_names)


def _small_ones(
    source: str, entities: Sequence[Names], settings: GeneralSettings, rng: np.random.Generator
) -> Iterator[Vocabulary]:
    larger = [names for names in entities if len(names) >= settings.small_set_names]
    for share in settings.small_shares:
        enough = share < 0.5 and len(larger) >= settings.small_sets
        count = int(rng.choice(settings.small_names))
        pool = larger if enough else entities
        yield sample_vocabulary(source, pool, count, share, settings, rng)


def _dense_ones(
    lists: Lists,
    encoder: StaticEncoder,
    seed_counts: Sequence[int],
    settings: GeneralSettings,
    seed: int,
    purpose: str,
) -> Iterator[Vocabulary]:
    for source, entities in lists.items():
        rng = generator(seed, "dense", purpose, source)
        pool = shuffle(entities, rng)[: settings.dense_pool]
        for count in seed_counts:
            drawn = dense_vocabulary(source, pool, encoder, count, settings, rng)
            if len(drawn.names) >= settings.least_dense_names:
                yield drawn
        near = NearNames(pool, encoder, settings)
        for number, share in enumerate(settings.near_shares):
            count = int(rng.choice(settings.near_names))
            drawn = sample_vocabulary(source, pool, count, share, settings, rng)
            if len(drawn.names) >= settings.least_dense_names:
                nearest = near.by_words if number % 2 else near.by_vectors
                yield with_near_misses(drawn, near, nearest, settings, rng)


def sample(
    source: str, entities: Sequence[Names], settings: GeneralSettings, seed: int
) -> list[Names]:
    """Random entities of a list: `classifier_names` names of sets, and some with one name."""
    drawn = shuffle(entities, generator(seed, "sample", source))
    several = [names[: settings.set_names] for names in drawn if len(names) > 1]
    before = np.cumsum([0, *map(len, several)])[:-1]
    kept = several[: int((before < settings.classifier_names).sum())]
    return kept + [names for names in drawn if len(names) == 1][: settings.classifier_singles]


def sample_vocabulary(
    source: str,
    entities: Sequence[Names],
    count: int,
    single_share: float,
    settings: GeneralSettings,
    rng: np.random.Generator,
) -> Vocabulary:
    """About `count` names; the share `single_share` of them are each alone of their entity.

    No name is there twice, also not in another spelling of the same letters.
    """
    order = rng.permutation(len(entities)).tolist()
    chosen: list[tuple[str, int]] = []
    seen: set[str] = set()
    used: set[int] = set()
    for number in order:
        if len(chosen) >= count * (1 - single_share):
            break
        size = len(entities[number])
        if size < 2:
            continue
        whole = rng.random() < settings.whole_sets
        limit = min(size if whole else int(rng.integers(2, size + 1)), settings.set_names)
        names = shuffle_names(entities[number], rng)
        new = {letters(name): name for name in reversed(names)}  # the first of equal ones stays
        fresh = [form for form in map(letters, names) if form and form not in seen]
        forms = list(dict.fromkeys(fresh))[:limit]
        if len(forms) > 1:
            seen.update(forms)
            used.add(number)
            chosen += [(new[form], number) for form in forms]
    singles = len(chosen) * single_share / (1 - single_share)
    for number in reversed(order):
        if singles <= 0:
            break
        name = shuffle_names(entities[number], rng)[0]
        if number not in used and letters(name) and letters(name) not in seen:
            seen.add(letters(name))
            chosen.append((name, number))
            singles -= 1
    chosen = [chosen[place] for place in rng.permutation(len(chosen)).tolist()]
    return Vocabulary(source, *_columns(chosen))


def dense_vocabulary(
    source: str,
    entities: Sequence[Names],
    encoder: StaticEncoder,
    seeds: int,
    settings: GeneralSettings,
    rng: np.random.Generator,
) -> Vocabulary:
    """The names of some sets and of the entities near one name of each; some cut to one name."""
    names, owners = distinct_names(entities, settings.dense_names)
    vectors = encoder.encode(names)
    sets = [number for number, names in enumerate(entities) if len(names) > 1]
    near: set[int] = set()
    for place in rng.permutation(len(sets))[:seeds].tolist():
        own = np.flatnonzero(owners == sets[place])
        if len(own):
            cosines = vectors @ vectors[rng.choice(own)]
            top = np.argsort(-cosines, kind="stable")[: settings.dense_neighbours]
            near |= {sets[place], *owners[top].tolist()}
    limits = {
        number: 1 if rng.random() < settings.dense_singles else settings.dense_names
        for number in sorted(near)
    }
    chosen = []
    for place in rng.permutation(len(names)).tolist():
        owner = int(owners[place])
        if limits.get(owner, 0) > 0:
            limits[owner] -= 1
            chosen.append((names[place], owner))
    return Vocabulary(source, *_columns(chosen), dense=True)


class NearNames:
    """Looks up names of a list that are near to a name, by their vectors or by their words."""

    def __init__(
        self, entities: Sequence[Names], encoder: StaticEncoder, settings: GeneralSettings
    ) -> None:
        self.names, self.owners = distinct_names(entities, settings.dense_names)
        self._encoder = encoder
        self._tries = settings.near_tries
        self._vectors = encoder.encode(self.names)
        self._words = [frozenset(name_words(name)) for name in self.names]
        self._places_of: dict[str, list[int]] = {}
        for place, words in enumerate(self._words):
            for word in words:
                self._places_of.setdefault(word, []).append(place)

    def by_vectors(self, name: str) -> list[int]:
        """The places of the nearest names, best first."""
        cosines = self._vectors @ self._encoder.encode([name])[0]
        places: list[int] = np.argsort(-cosines, kind="stable")[: self._tries].tolist()
        return places

    def by_words(self, name: str) -> list[int]:
        """The places of names that share most words: "apple pie" for "apple"."""
        words = frozenset(name_words(name))
        sharing = {place for word in words for place in self._places_of.get(word, ())}

        def overlap(place: int) -> tuple[float, int]:
            other = self._words[place]
            return -len(words & other) / len(words | other), place

        return sorted(sharing, key=overlap)[: self._tries]


def with_near_misses(
    vocabulary: Vocabulary,
    near: NearNames,
    nearest: Callable[[str], list[int]],
    settings: GeneralSettings,
    rng: np.random.Generator,
) -> Vocabulary:
    """The vocabulary, and for some of its names a near name of an entity that it lacks."""
    seen = {letters(name) for name in vocabulary.names}
    used = set(vocabulary.entities.tolist())
    chosen = list(zip(vocabulary.names, vocabulary.entities.tolist(), strict=True))
    share = float(rng.choice(settings.near_miss_shares))
    for place in rng.permutation(len(chosen))[: max(2, round(share * len(chosen)))].tolist():
        for other in nearest(chosen[place][0]):
            name, owner = near.names[other], int(near.owners[other])
            if owner not in used and letters(name) not in seen:
                chosen.append((name, owner))
                used.add(owner)
                seen.add(letters(name))
                break
    chosen = [chosen[place] for place in rng.permutation(len(chosen)).tolist()]
    return Vocabulary(vocabulary.source, *_columns(chosen), dense=True)


def distinct_names(entities: Sequence[Names], most: int) -> tuple[list[str], Places]:
    """The first names of each entity and its number; a name that came before is left out."""
    owner_of: dict[str, tuple[str, int]] = {}
    for number, names in enumerate(entities):
        for name in names[:most]:
            if form := letters(name):
                owner_of.setdefault(form, (name, number))
    names, owners = _columns(list(owner_of.values()))
    return list(names), owners


def shuffle_names(names: Names, rng: np.random.Generator) -> list[str]:
    return [names[place] for place in rng.permutation(len(names)).tolist()]


def _columns(chosen: Sequence[tuple[str, int]]) -> tuple[tuple[str, ...], Places]:
    names = tuple(name for name, _ in chosen)
    return names, np.array([number for _, number in chosen], np.int64)
