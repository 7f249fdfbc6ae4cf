"""Vectors of words that are tuned to known sets.

The static encoder was learned from public name lists. The names of the known sets say more of
their field: that "reductase" and "oxidoreductase", "renal" and "kidney" replace each other. Each
word w of these names has a vector v(w) + d(w), where v is the encoder's and d is learned. A name is
the sum of its words, scaled to length one, and the loss of a batch of pairs (a, b) of names of one
set each is

    InfoNCE = -mean log softmax_b'(cos(a, b') / temperature),

both ways. So names of one set come near to each other, and away from those of other sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synsetmine.models.general.name_table import Positions, changes
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.settings import WordTuningSettings
from synsetmine.text.tokens import name_words
from synsetmine.views.strings import StaticEncoder, add_words, string_counts

LEAST_LENGTH = 1e-6  # of the vector of a name, below which it has no direction


@dataclass(frozen=True, eq=False)
class TunedWords:
    """What is added to the static vectors of the words that known names have."""

    encoder: StaticEncoder
    number_of: Mapping[str, int]
    additions: Floats  # (words, dimension)

    @classmethod
    def learn(
        cls,
        encoder: StaticEncoder,
        names: Sequence[str],
        labels: Positions,  # (names,): the set of each; the names of a set stand together
        settings: WordTuningSettings,
    ) -> TunedWords:
        """Learn from pairs of names of one set, drawn at random; without any, nothing changes."""
        left, right, batch = _draw_pairs(labels, settings)
        drawn, positions = np.unique(np.concatenate([left, right]), return_inverse=True)
        counts, words = string_counts(name_words(names[name]) for name in drawn.tolist())
        start = encoder.encode_words(words)
        number_of = {word: number for number, word in enumerate(words)}
        additions = np.zeros_like(start)
        if len(left):
            sides = positions.reshape(2, -1, batch)
            additions = _tune(counts, start, sides[0], sides[1], settings)
        return cls(encoder, number_of, additions)

    def encode(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """The tuned and the static unit vector of each name: twice (names, dimension)."""
        counts, words = string_counts(map(name_words, names))
        static = self.encoder.encode_words(words)
        tuned = static.copy()
        numbers = [self.number_of.get(word, -1) for word in words]
        known = np.flatnonzero(np.array(numbers, np.int64) >= 0)
        tuned[known] += self.additions[[numbers[word] for word in known.tolist()]]
        return add_words(counts, tuned)[0], add_words(counts, static)[0]


def _draw_pairs(
    labels: Positions, settings: WordTuningSettings
) -> tuple[Positions, Positions, int]:
    """Two names of random sets of several: for each step a batch of different sets."""
    rng = np.random.default_rng(settings.seed)
    starts = np.flatnonzero(changes(labels))
    sizes = np.diff(np.append(starts, len(labels)))
    several = np.flatnonzero(sizes > 1)
    batch = min(settings.batch, len(several))
    if batch < settings.least_sets:
        return np.empty(0, np.int64), np.empty(0, np.int64), batch
    steps = min(settings.steps, -(-settings.pairs_of_set * len(several) // batch))
    sets = np.concatenate([rng.permutation(several)[:batch] for _ in range(steps)])
    first, second = rng.integers(sizes[sets]), rng.integers(sizes[sets] - 1)
    second += second >= first
    return starts[sets] + first, starts[sets] + second, batch


def _tune(
    counts: Any,  # scipy.sparse.csr_array: how often each name has each word
    start: Floats,
    left: Positions,  # (steps, batch), positions of names
    right: Positions,  # (steps, batch)
    settings: WordTuningSettings,
) -> Floats:
    """What is added to `start`: Adam on the words of each batch, with cosine decay."""
    scale = np.sqrt((start**2).sum(axis=1).mean()) + LEAST_LENGTH
    start = start / scale
    additions, mean, square = (np.zeros_like(start) for _ in range(3))
    steps = len(left)
    for step in range(steps):
        one, other = counts[left[step]], counts[right[step]]
        words = np.unique(np.concatenate([one.indices, other.indices]))
        one, other = one[:, words], other[:, words]
        vectors = start[words] + additions[words]
        by_one, by_other = _gradients(one @ vectors, other @ vectors, settings.temperature)
        gradient = one.T @ by_one + other.T @ by_other
        mean[words] = 0.9 * mean[words] + 0.1 * gradient
        square[words] = 0.99 * square[words] + 0.01 * gradient**2
        rate = settings.rate * 0.5 * (1 + np.cos(np.pi * step / steps))
        additions[words] -= rate * mean[words] / (np.sqrt(square[words]) + LEAST_LENGTH)
    scaled: Floats = (scale * additions).astype(np.float32)
    return scaled


def _gradients(one: Floats, other: Floats, temperature: float) -> tuple[Floats, Floats]:
    """The gradient of the loss by the vectors of the names: twice (batch, dimension)."""
    lengths = [
        np.maximum(np.linalg.norm(side, axis=1, keepdims=True), LEAST_LENGTH)
        for side in (one, other)
    ]
    left, right = one / lengths[0], other / lengths[1]
    odds = np.exp((left @ right.T - 1) / temperature)  # (batch, batch)
    errors = (odds / odds.sum(axis=1, keepdims=True) + odds / odds.sum(axis=0, keepdims=True)) / 2
    np.fill_diagonal(errors, errors.diagonal() - 1)
    by_left, by_right = errors @ right / temperature, errors.T @ left / temperature
    by_left -= left * (by_left * left).sum(axis=1, keepdims=True)  # length does not count
    by_right -= right * (by_right * right).sum(axis=1, keepdims=True)
    return by_left / lengths[0], by_right / lengths[1]
