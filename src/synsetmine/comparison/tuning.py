"""Hyper-parameters of a method, chosen on training sets only.

A threshold that suits ten terms does not suit ten thousand, so each candidate is judged on a
random subsample of the training sets of about the size of the vocabulary to be clustered, after
learning from the rest.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass, replace

from synsetmine.baselines.base import Choice, Lesson, Method, Problem
from synsetmine.baselines.registry import Entry
from synsetmine.errors import DataError
from synsetmine.metrics import compare_labels
from synsetmine.types import SynonymSets, order_terms

SMALLEST = 100  # terms of a subsample: with fewer, chance would choose


@dataclass(frozen=True)
class Chosen:
    """The best variant and choice of a method, with its mean ARI on the subsamples."""

    variant: int
    choice: Choice
    score: float | None  # None where there was nothing to choose from


def choose(entry: Entry, lesson: Lesson, *, samples: int, expect_size: int) -> Chosen:
    """The variant and choice with the best mean ARI over subsamples; of equals the first."""
    candidates = [(v, c) for v, m in enumerate(entry.variants) for c in range(len(m.choices))]
    if len(candidates) == 1:
        return Chosen(0, entry.variants[0].choices[0], None)
    scores: dict[tuple[int, int], list[float]] = {candidate: [] for candidate in candidates}
    for sample in range(samples):
        seed = lesson.seed * samples + sample
        size = max(lesson.size, SMALLEST)
        rest, held = subsample(lesson.training, size, seed=seed, expect_size=expect_size)
        for number, method in enumerate(entry.variants):
            found = _score(method, replace(lesson, training=rest), held, seed)
            for choice, score in enumerate(found):
                scores[number, choice].append(score)
    means = {candidate: statistics.fmean(found) for candidate, found in scores.items()}
    variant, choice = max(candidates, key=lambda candidate: means[candidate])
    return Chosen(variant, entry.variants[variant].choices[choice], means[variant, choice])


def subsample(
    sets: SynonymSets, terms: int, *, seed: int, expect_size: int = 2
) -> tuple[SynonymSets, SynonymSets]:
    """Split into (rest, held out): sets in random order until about `terms` terms are held out.

    Sets of at least `expect_size` terms come first: training sets are mostly pairs, and where the
    sets to be found are larger, a threshold from pairs would tear them apart. At most half of the
    sets are held out.
    """
    if len(sets) < 2:
        raise DataError("tuning needs two or more training sets", value=len(sets))
    order = list(range(len(sets)))
    random.Random(seed).shuffle(order)  # noqa: S311
    order.sort(key=lambda number: sets.sizes[number] < expect_size)
    held: set[int] = set()
    size = 0
    for number in order[: max(len(sets) // 2, 1)]:
        if size >= terms:
            break
        held.add(number)
        size += sets.sizes[number]
    return sets.pick(n for n in range(len(sets)) if n not in held), sets.pick(sorted(held))


def _score(method: Method, lesson: Lesson, held: SynonymSets, seed: int) -> list[float]:
    """The ARI of each choice on the held-out sets."""
    clusterer = method.learn(lesson)
    walk = tuple(order_terms(held.terms, "random", seed=seed))
    sets = len(held) if method.told else None
    problem = Problem(terms=walk, views=lesson.views, sets=sets, seed=seed)
    gold = held.labels(walk)
    return [
        compare_labels(labels, gold).ari for labels in clusterer.cluster(problem, method.choices)
    ]
