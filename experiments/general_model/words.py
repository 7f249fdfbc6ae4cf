"""Weights of words: how much a word by which two names differ speaks for one meaning.

A linear model is learned on near pairs of names of each list: synonyms, and neighbours that are
other entities. Beside the words it sees how near the two names are, so the weights only hold what
that does not say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from rapidfuzz import distance, process

from experiments.general_model.encoder import Floats, Places
from experiments.general_model.lists import Lists, generator, shuffle
from experiments.general_model.settings import GeneralSettings
from experiments.general_model.vocabularies import distinct_names
from experiments.name_lists.base import Names
from experiments.name_lists.heldout import letters
from synsetmine.errors import DataError
from synsetmine.models.general.features import WordWeights, word_codes
from synsetmine.models.general.neighbours import nearest_rows
from synsetmine.text.tokens import name_words
from synsetmine.views.strings import StaticEncoder


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Pairs of names of one list that differ in some word."""

    buckets: list[list[int]]  # of the differing words of each pair
    nearness: Floats  # (pairs, 5)
    true: Places  # 1 for two names of one entity, else 0
    weight: float  # of each pair


def learn_word_weights(
    lists: Lists,
    held: Collection[str],
    encoder: StaticEncoder,
    settings: GeneralSettings,
    seed: int,
) -> WordWeights:
    """Weights from entities without a name in `held`, given by its letters and digits."""
    parts = []
    for source, entities in lists.items():
        if source not in settings.without_words:
            rng = generator(seed, "words", source)
            free = [names for names in entities if not any(letters(name) in held for name in names)]
            drawn = shuffle(free, rng)[: settings.word_entities]
            parts.append(_word_pairs(drawn, encoder, settings, rng))
    return _fit([part for part in parts if part.buckets], settings, seed)


def _word_pairs(
    entities: Sequence[Names],
    encoder: StaticEncoder,
    settings: GeneralSettings,
    rng: np.random.Generator,
) -> WordPairs:
    names, owners = distinct_names(entities, settings.word_names)
    vectors = encoder.encode(names)
    known = np.ones(len(names), np.bool_)
    nearest, cosines = nearest_rows(vectors, known, settings.word_neighbours)
    positives = _some(_true_pairs(owners), settings.word_positives, rng)
    negatives = _near_pairs(nearest, cosines, owners, settings.word_cosine)
    negatives = _some(negatives, settings.word_negatives, rng)
    pairs = np.concatenate([positives, negatives])  # (pairs, 2)
    true = np.repeat([1, 0], [len(positives), len(negatives)])
    found = np.where(cosines > -np.inf, cosines, 0)
    levels = found[:, : settings.word_level].mean(axis=1)

    spelled = [name_words(name) for name in names]
    words = [list(dict.fromkeys(some)) for some in spelled]
    only = [
        [[w for w in words[a] if w not in words[b]] for a, b in ((one, other), (other, one))]
        for one, other in pairs.tolist()
    ]
    differ = np.array([bool(one or other) for one, other in only], np.bool_)
    only = [sides for sides in only if any(sides)]
    pairs, true = pairs[differ], true[differ]
    cosine = np.einsum("ij,ij->i", vectors[pairs[:, 0]], vectors[pairs[:, 1]])
    texts = [[names[place].casefold() for place in side] for side in pairs.T.tolist()]
    edits = process.cpdist(
        *texts, scorer=distance.Indel.normalized_similarity, dtype=np.float32, workers=-1
    )
    nearness = np.stack(
        [
            cosine,
            2 * cosine - levels[pairs].sum(axis=1),  # CSLS
            np.array([not all(sides) for sides in only], np.float32),
            np.array([sum(map(len, sides)) for sides in only], np.float32),
            edits,
        ],
        axis=1,
    ).astype(np.float32)
    same_last = [spelled[one][-1:] == spelled[other][-1:] for one, other in pairs.tolist()]
    weight = 1 / max(len(positives) + len(negatives), 1)
    return WordPairs(_buckets(only, same_last, settings.word_buckets), nearness, true, weight)


def _true_pairs(owners: Places) -> Places:
    """All pairs of names of one entity, whose names stand together: (pairs, 2)."""
    ends = np.flatnonzero(np.diff(owners, append=-1)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    pairs = [
        pair
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for pair in combinations(range(start, end), 2)
    ]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _near_pairs(nearest: Any, cosines: Floats, owners: Places, least: float) -> Places:
    """Pairs of near names of two entities: (pairs, 2)."""
    rows = np.repeat(np.arange(len(nearest)), nearest.shape[1])
    columns = nearest.ravel().astype(np.int64)
    near = (columns > rows) & (cosines.ravel() > least) & (owners[rows] != owners[columns])
    return np.stack([rows[near], columns[near]], axis=1)


def _some(pairs: Places, count: int, rng: np.random.Generator) -> Places:
    if len(pairs) <= count:
        return pairs
    return pairs[np.sort(rng.permutation(len(pairs))[:count])]


def _buckets(
    only: Sequence[Sequence[Sequence[str]]], same_last: Sequence[bool], count: int
) -> list[list[int]]:
    """The buckets of the differing words of each pair, and of the pair if it is of two words."""
    table = WordWeights(np.zeros(count, np.float32))
    words = list(dict.fromkeys(word for sides in only for side in sides for word in side))
    number_of = {word: number for number, word in enumerate(words)}
    buckets, codes = table.buckets(words).tolist(), word_codes(words)
    chosen = []
    for sides, alike in zip(only, same_last, strict=True):
        kind = 2 * all(sides) + (not alike)
        own = [buckets[number_of[word]][kind] for side in sides for word in side]
        if list(map(len, sides)) == [1, 1]:
            one, other = (codes[[number_of[side[0]]]] for side in sides)
            own += table.pair_buckets(one, other).tolist()
        chosen.append(own)
    return chosen


def _fit(parts: Sequence[WordPairs], settings: GeneralSettings, seed: int) -> WordWeights:
    """Logistic regression on the words and the standardised nearness; each list counts alike."""
    from scipy import sparse
    from sklearn.linear_model import SGDClassifier

    true = np.concatenate([part.true for part in parts]) if parts else np.zeros(0, np.int64)
    if not 0 < true.sum() < len(true):
        raise DataError(
            f"word weights need near pairs of one and of two entities; "
            f"got {true.sum()} and {len(true) - true.sum()}"
        )
    buckets = [pair for part in parts for pair in part.buckets]
    ends = np.cumsum([0, *map(len, buckets)])
    counts = sparse.csr_matrix(
        (np.ones(ends[-1], np.float32), np.concatenate(buckets), ends),
        shape=(len(buckets), settings.word_buckets),
    )
    nearness = np.concatenate([part.nearness for part in parts])
    deviations = nearness.std(axis=0)
    nearness = (nearness - nearness.mean(axis=0)) / np.where(deviations > 0, deviations, 1)
    weights = np.concatenate([np.full(len(part.true), part.weight) for part in parts])
    model = SGDClassifier(
        loss="log_loss",
        alpha=settings.word_penalty,
        max_iter=settings.word_epochs,
        tol=None,
        average=True,
        random_state=seed,
    )
    features = sparse.csr_matrix(sparse.hstack([counts, sparse.csr_matrix(nearness)]))
    model.fit(features, true, sample_weight=weights * len(weights) / weights.sum())
    values = model.coef_[0][: settings.word_buckets]
    return WordWeights(values.astype(np.float16).astype(np.float32))  # as they are stored
