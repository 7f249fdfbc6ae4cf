"""The pair classifier and the set function, learned from vocabularies whose true sets are known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from experiments.general_model.encoder import Encode, Floats, Places, deterministic
from experiments.general_model.lists import generator
from experiments.general_model.settings import GeneralSettings
from experiments.general_model.vocabularies import Vocabulary
from synsetmine.engines.workers import cores
from synsetmine.models.general.features import (
    MUTUAL_FEATURES,
    STRING_FEATURES,
    TABLE_FEATURES,
    NameFeatures,
    WordWeights,
)
from synsetmine.models.general.linkage import LEAST, MOST, SetFunction, sigmoid
from synsetmine.models.general.pairs import PairClassifier
from synsetmine.views.strings import StaticEncoder

Kind: TypeAlias = Literal["strings", "encoder"]  # with or without a sentence encoder's vectors
Truth: TypeAlias = npt.NDArray[np.bool_]
Doubles: TypeAlias = npt.NDArray[np.float64]

KINDS: tuple[Kind, ...] = ("strings", "encoder")
TABLES = 3  # of each vocabulary: static vectors, the sentence encoder's, both together
# How far the cosine of both together lies above that of the denser neighbourhood of five.
HARDNESS = 2 * len(TABLE_FEATURES) + 3


@dataclass(frozen=True, eq=False)
class VocabularyPairs:
    """The candidate pairs of a vocabulary with their features in all views."""

    vocabulary: Vocabulary
    left: Places  # (pairs,)
    right: Places  # (pairs,)
    features: Floats  # (pairs, features)

    @property
    def true(self) -> Truth:
        entities = self.vocabulary.entities
        return np.equal(entities[self.left], entities[self.right])

    def seen_by(self, kind: Kind) -> Floats:
        """The features that a pair classifier of this kind takes."""
        if kind == "encoder":
            return self.features
        width, shares = len(TABLE_FEATURES), len(MUTUAL_FEATURES)
        strings = TABLES * width + len(STRING_FEATURES)  # where the features of strings end
        static = [*range(width), *range(TABLES * width, strings)]
        size_and_static = range(strings, strings + 1 + shares)
        ngrams = range(strings + 1 + TABLES * shares, self.features.shape[1])
        return self.features[:, [*static, *size_and_static, *ngrams]]

    def importance(self, settings: GeneralSettings) -> float:
        """A small vocabulary counts less, by its names; a dense or closed one counts more."""
        dense = self.vocabulary.dense
        full = settings.full_dense_names if dense else settings.full_names
        weight = min(1.0, len(self.vocabulary.names) / full)
        if dense:
            weight *= settings.dense_weight
        if self.vocabulary.single_share < settings.closed_share:
            weight *= settings.closed_weight
        return weight


def candidate_pairs(
    vocabulary: Vocabulary, encoder: StaticEncoder, word_weights: WordWeights, encode: Encode
) -> VocabularyPairs:
    """`encode` is the sentence encoder as users have it, not the tuned one."""
    rows = encode(vocabulary.names)
    names = NameFeatures(vocabulary.names, encoder, word_weights, [rows], threads=cores())
    left, right = names.candidates()
    return VocabularyPairs(vocabulary, left, right, names.features(left, right))


def learn_classifier(
    pairs: Sequence[VocabularyPairs], kind: Kind, settings: GeneralSettings, seed: int
) -> PairClassifier:
    """A network trained on all true and hard pairs, and on some of the easy ones, by weight.

    All kinds of names count alike, all lists of a kind, and sampled and dense vocabularies.
    """
    per_source = Counter((one.vocabulary.source, one.vocabulary.dense) for one in pairs)
    features, true, weights = [], [], []
    for number, one in enumerate(pairs):
        source = one.vocabulary.source
        kept, weight = _thin(one, settings, generator(seed, "thin", str(number)))
        weight /= len(one.left) * per_source[source, one.vocabulary.dense]
        weight *= one.importance(settings) * settings.list_weight(source)
        features.append(one.seen_by(kind)[kept])
        true.append(one.true[kept])
        weights.append(weight)
    return _fit_network(
        np.concatenate(features), np.concatenate(true), np.concatenate(weights), settings, seed
    )


def _thin(
    pairs: VocabularyPairs, settings: GeneralSettings, rng: np.random.Generator
) -> tuple[Places, Doubles]:
    """The pairs that are kept, and how many pairs each stands for."""
    nearness = pairs.features[:, HARDNESS]
    sure = pairs.true | (nearness > np.quantile(nearness, 1 - settings.hard_share))
    small = len(sure) <= settings.small_pairs
    share = settings.kept_small if small else settings.kept
    kept = np.flatnonzero(sure | (rng.random(len(sure)) < share))
    return kept, np.where(sure[kept], 1.0, 1 / share)


def _fit_network(
    features: Floats, true: Truth, weights: Doubles, settings: GeneralSettings, seed: int
) -> PairClassifier:
    """Weighted cross-entropy, AdamW with cosine decay."""
    means = features.mean(axis=0)
    deviations = features.std(axis=0) + np.float32(settings.least_deviation)
    inputs = torch.tensor((features - means) / deviations)
    goals = torch.tensor(true, dtype=torch.float32)
    importance = torch.tensor(weights * len(weights) / weights.sum(), dtype=torch.float32)
    rng = generator(seed, "comparer")
    torch.manual_seed(seed)
    widths = [inputs.shape[1], *settings.hidden, 1]
    layers = [torch.nn.Linear(a, b) for a, b in pairwise(widths)]
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    optimizer = torch.optim.AdamW(
        parameters, lr=settings.classifier_rate, weight_decay=settings.classifier_decay
    )
    batches = math.ceil(len(inputs) / settings.classifier_batch)
    with deterministic("cpu"):
        for epoch in range(settings.epochs):
            order = rng.permutation(len(inputs))
            for number, batch in enumerate(np.array_split(order, batches)):
                done = (epoch * batches + number) / (settings.epochs * batches)
                rate = settings.classifier_rate * 0.5 * (1 + math.cos(math.pi * done))
                optimizer.param_groups[0]["lr"] = rate
                losses = functional.binary_cross_entropy_with_logits(
                    _outputs(layers, inputs[batch]), goals[batch], reduction="none"
                )
                loss = (losses * importance[batch]).sum() / importance[batch].sum()
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    return PairClassifier(
        means,
        deviations,
        tuple(np.ascontiguousarray(layer.weight.detach().numpy().T) for layer in layers),
        tuple(layer.bias.detach().numpy() for layer in layers),
    )


def _outputs(layers: Sequence[torch.nn.Linear], hidden: torch.Tensor) -> torch.Tensor:
    """Log-odds: (pairs,)."""
    for layer in layers[:-1]:
        hidden = layer(hidden).relu()
    return layers[-1](hidden)[:, 0]  # type: ignore[no-any-return]


def learn_function(
    pairs: Sequence[VocabularyPairs],
    classifier: PairClassifier,
    kind: Kind,
    settings: GeneralSettings,
    seed: int,
) -> SetFunction:
    """Logistic regression on pairs of random parts of the true sets."""
    features, true, weights = [], [], []
    for number, one in enumerate(pairs):
        chances = np.minimum(sigmoid(classifier.log_odds(one.seen_by(kind))), MOST)
        rng = generator(seed, "parts", str(number))
        drawn = [_part_pairs(one, chances, settings, rng) for _ in range(settings.parts_draws)]
        features += [values for values, _ in drawn]
        true += [truth for _, truth in drawn]
        count = sum(len(truth) for _, truth in drawn)
        weights.append(np.full(count, one.importance(settings) / max(count, 1)))
    weight = np.concatenate(weights)
    weight *= len(weight) / weight.sum()
    values = logistic_regression(
        np.concatenate(features), np.concatenate(true), weight, settings.penalty
    )
    return SetFunction(*(round(float(value), 6) for value in values))


def _part_pairs(
    pairs: VocabularyPairs, chances: Floats, settings: GeneralSettings, rng: np.random.Generator
) -> tuple[Doubles, Truth]:
    """What `SetFunction` takes of two parts, and whether they are one set."""
    parts, entity_of = _random_parts(pairs.vocabulary.entities, rng)
    sizes = np.bincount(parts)
    one, other = parts[pairs.left], parts[pairs.right]
    between = one != other
    keys = (np.minimum(one, other) * len(sizes) + np.maximum(one, other))[between]
    distinct, place = np.unique(keys, return_inverse=True)
    if not len(distinct):
        return np.zeros((0, 2)), np.zeros(0, np.bool_)
    first, second = distinct // len(sizes), distinct % len(sizes)
    totals = np.bincount(place, chances[between].astype(np.float64))
    means = np.clip(totals / (sizes[first] * sizes[second]), LEAST, MOST)
    likely = means > settings.likely
    features = np.stack([np.ones_like(means), np.log(means / (1 - means))], axis=1)
    return features[likely], (entity_of[first] == entity_of[second])[likely]


def _random_parts(entities: Places, rng: np.random.Generator) -> tuple[Places, Places]:
    """The part of each name, and the entity of each part.

    For each entity a chance is drawn by which a name joins a part that is there already.
    """
    parts = np.zeros(len(entities), np.int64)
    entity_of: list[int] = []
    for entity in np.unique(entities).tolist():
        chance = rng.random()
        own: list[int] = []
        for name in rng.permutation(np.flatnonzero(entities == entity)).tolist():
            if not own or rng.random() >= chance:
                own.append(len(entity_of))
                entity_of.append(entity)
                parts[name] = own[-1]
            else:
                parts[name] = own[int(rng.integers(len(own)))]
    return parts, np.array(entity_of, np.int64)


def logistic_regression(
    features: Doubles, true: Truth, weights: Doubles, penalty: float, *, steps: int = 60
) -> Doubles:
    """Weighted logistic regression by Newton's method; the first feature is 1, for the bias.

    The penalty is on the squares of the coefficients of standardised features, not on the bias.
    """
    means, deviations = features.mean(axis=0), features.std(axis=0)
    means[0], deviations[0] = 0, 1
    deviations[deviations < 1e-6] = 1
    inputs = (features - means) / deviations
    ridge: Any = np.eye(features.shape[1]) * penalty
    ridge[0, 0] = 1e-6
    values = np.zeros(features.shape[1])
    for _ in range(steps):
        chances = 1 / (1 + np.exp(-np.clip(inputs @ values, -30, 30)))
        gradient = inputs.T @ (weights * (chances - true)) + ridge @ values
        curvature = (inputs * (weights * chances * (1 - chances))[:, None]).T @ inputs + ridge
        change = np.linalg.solve(curvature, gradient)
        values -= change
        if np.abs(change).max() < 1e-6:
            break
    scaled: Doubles = values / deviations
    scaled[0] = values[0] - (values * means / deviations)[1:].sum()
    return scaled
