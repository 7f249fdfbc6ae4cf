"""The one pass over the vocabulary (the paper's Algorithm 1), fast and exact.

A block of terms is scored against all sets in a few large matrix products. Within the block, only
the sets that change or are opened are scored again. Scores are float32 with a known error bound;
where that leaves a choice open, float64 decides. Logits that differ by no more than a tiny part
of the scores they come from are equal, so that rounding never decides. The result is therefore
the one of the plain algorithm, whatever the block size, the number of threads and the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from synsetmine.errors import DataError
from synsetmine.generation.pool import SetPool
from synsetmine.model.scorer import SetScorer
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors

# Where a scorer is linear, all sets have the same logit for a term, but for rounding near 1e-15.
TIE = 1e-9  # of the larger of the two scores, or of 1

Action = Literal["joined", "opened", "forced", "no vector"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What happened to one term: the best set at that time, its probability, the action.

    `forced` is a term that joined below the threshold because no more sets were allowed.
    """

    term: Term
    best_set: str | None
    probability: float
    action: Action


@dataclass(frozen=True)
class Mined:
    """The sets found, what was decided for each term, and the terms that have no vector."""

    sets: SynonymSets
    trace: tuple[Decision, ...]
    without_vector: tuple[Term, ...]


def generate_sets(
    scorer: SetScorer,
    vectors: TermVectors,
    vocabulary: Sequence[Term],
    *,
    threshold: float = 0.5,
    max_sets: int | None = None,
    seeds: SynonymSets | None = None,
    block_size: int = 32,
    progress: Callable[[int, int], None] | None = None,
) -> Mined:
    """Walk the vocabulary once, in its order; each term joins its best set or opens one.

    A term joins the set of the highest probability if that is above `threshold`; among equals
    the set opened first wins. With `seeds` the pool starts with known sets, which keep their ids;
    seed terms that are in the vocabulary stay where they are. `max_sets` counts seeds too. A term
    without a vector cannot be judged: it stands alone, beyond any cap, and is listed.
    """
    seeds = seeds if seeds is not None else SynonymSets((), ())
    _check(threshold, max_sets, block_size, vectors, scorer)
    if max_sets is not None and max_sets < len(seeds):
        raise DataError(f"there are {len(seeds)} seed sets already, more than", value=max_sets)
    new = [term for term in dict.fromkeys(vocabulary) if term not in seeds]
    walked = [term for term in new if term in vectors]
    seeded = [term for term in seeds.terms if term in vectors]
    table = vectors.select([*walked, *seeded])  # (terms, dimension)

    # Seeds without any vector are sets too, though nothing can join them.
    hidden = sum(not any(term in vectors for term in members) for members in seeds)
    room = math.inf if max_sets is None else max_sets - hidden

    scorer.eval()
    with torch.inference_mode():
        pool = SetPool(scorer, table, block_size=block_size)
        walk = _Walk(pool, threshold, room)
        number_of = {term: i for i, term in enumerate([*walked, *seeded])}
        known = [[number_of[t] for t in members if t in number_of] for members in seeds]
        for members in filter(None, known):
            walk.seed(members)
        for start in range(0, len(walked), block_size):
            walk.block(start, min(start + block_size, len(walked)))
            if progress:
                progress(min(start + block_size, len(walked)), len(walked))
    return _collect(walk, walked, new, seeds, known)


class _Walk:
    """The state of one pass: terms are numbers, sets are numbers of the pool."""

    def __init__(self, pool: SetPool, threshold: float, max_sets: float) -> None:
        self.pool = pool
        self.bar = _logit(threshold)
        self.max_sets = max_sets
        self.decisions: list[tuple[int, float, Action]] = []  # best set, logit, action

    def seed(self, members: list[int]) -> None:
        self.pool.open(members, following=slice(0, 0))

    def block(self, start: int, stop: int) -> None:
        before = len(self.pool)
        logits = np.empty((stop - start, before + stop - start), dtype=np.float32)
        logits[:, :before] = self.pool.block(slice(start, stop))
        for term in range(start, stop):
            row = logits[term - start, : len(self.pool)]
            best = self._decide(term, row)
            following = slice(term + 1, stop)
            if best is None:
                changed = len(self.pool)
                column = self.pool.open([term], following)
            else:
                changed = best
                column = self.pool.join(best, term, following)
            logits[term + 1 - start :, changed] = column

    def _decide(self, term: int, row: npt.NDArray[np.float32]) -> int | None:
        """The set that a term joins, or None where it opens one."""
        if len(row) == 0:
            self.decisions.append((-1, -math.inf, "opened"))
            return None
        best, logit, joins = self._best(term, row)
        action: Action = "joined" if joins else "opened"
        if not joins and len(self.pool) >= self.max_sets:
            action = "forced"
        self.decisions.append((best, logit, action))
        return None if action == "opened" else best

    def _best(self, term: int, row: npt.NDArray[np.float32]) -> tuple[int, float, bool]:
        """The set with the highest logit, the first among equals; the logit; is it above the bar?

        Equal are logits that differ by no more than `TIE`, relative to the scores they come from.
        The float32 error is always far above that, so what it settles, no tie can unsettle.
        """
        error = self.pool.error(term) + TIE
        numbers = np.flatnonzero(~(row + error < (row - error).max()))  # also where not finite
        first = int(numbers[0])
        if len(numbers) == 1 and abs(float(row[first]) - self.bar) > error[first]:
            return first, float(row[first]), bool(row[first] > self.bar)
        values, sizes = self.pool.closer(numbers, term)
        top = int(values.argmax())
        tie = TIE * np.maximum(np.maximum(sizes, sizes[top]), 1)
        best = int(np.argmax(values >= values[top] - tie))  # the first that is as good as any
        return int(numbers[best]), float(values[top]), bool(values[top] > self.bar + tie[top])


def _collect(
    walk: _Walk,
    walked: Sequence[Term],
    new: Sequence[Term],
    seeds: SynonymSets,
    known: Sequence[Sequence[int]],
) -> Mined:
    """Turn numbers back into terms, and give ids."""
    seeded = [i for i, members in enumerate(known) if members]
    ids = [seeds.ids[i] for i in seeded] + _fresh_ids(len(walk.pool) - len(seeded), seeds.ids)
    joined: dict[str, list[Term]] = {i: list(m) for i, m in zip(seeds.ids, seeds, strict=True)}
    for number, members in enumerate(walk.pool.members):
        fresh = [walked[m] for m in members if m < len(walked)]
        joined.setdefault(ids[number], []).extend(fresh)
    decided = {
        term: Decision(term, ids[best] if best >= 0 else None, _probability(logit), action)
        for term, (best, logit, action) in zip(walked, walk.decisions, strict=True)
    }
    alone = [term for term in new if term not in decided]
    for term, set_id in zip(alone, _fresh_ids(len(alone), joined), strict=True):
        joined[set_id] = [term]
        decided[term] = Decision(term, None, 0.0, "no vector")
    sets = SynonymSets.of(joined.values(), joined.keys())
    return Mined(sets, tuple(decided[term] for term in new), tuple(alone))


def _fresh_ids(count: int, taken: Sequence[str] | dict[str, list[Term]]) -> list[str]:
    used = frozenset(taken)
    found: list[str] = []
    number = 0
    while len(found) < count:
        if (name := f"s{number}") not in used:
            found.append(name)
        number += 1
    return found


def _logit(probability: float) -> float:
    if probability in (0.0, 1.0):
        return math.copysign(math.inf, probability - 0.5)
    return math.log(probability) - math.log1p(-probability)


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0


def _check(
    threshold: float,
    max_sets: int | None,
    block_size: int,
    vectors: TermVectors,
    scorer: SetScorer,
) -> None:
    if not 0 <= threshold <= 1:
        raise DataError("the threshold must lie between 0 and 1", value=threshold)
    if max_sets is not None and max_sets < 1:
        raise DataError("the largest number of sets must be at least 1", value=max_sets)
    if block_size < 1:
        raise DataError("the block size must be at least 1", value=block_size)
    if vectors.dimension != scorer.dimension:
        raise DataError(
            f"the scorer takes vectors of {scorer.dimension} dimensions", value=vectors.dimension
        )
