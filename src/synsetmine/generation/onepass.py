"""The one pass over the vocabulary (the paper's Algorithm 1), fast and exact.

A block of terms is scored against all sets in a few large matrix products. Within the block, only
the sets that change or are opened are scored again. Scores are float32 with a known error bound;
where that leaves a choice open, float64 decides. Logits that differ by no more than a tiny part
of the scores they come from are equal, so that rounding never decides. The result is therefore
the one of the plain algorithm, whatever the block size, the number of threads and the device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from synsetmine.generation.mined import Outcome, log_odds
from synsetmine.generation.pool import SetPool
from synsetmine.model.scorer import SetScorer
from synsetmine.trace import Action
from synsetmine.types import Progress

# Where a scorer is linear, all sets have the same logit for a term, but for rounding near 1e-15.
TIE = 1e-9  # of the larger of the two scores, or of 1


def walk_pool(
    scorer: SetScorer,
    table: npt.NDArray[np.float32],
    count: int,
    known: Sequence[list[int]],
    *,
    apart: Sequence[tuple[int, int]],
    threshold: float,
    max_sets: float,
    block_size: int,
    progress: Progress | None,
) -> Outcome:
    """Walk the first `count` rows of the table of vectors; `known` are seeds, of later rows.

    Of two rows that are `apart` the later one does not join the set of the first; it rather opens
    one beyond `max_sets`.
    """
    scorer.eval()
    with torch.inference_mode():
        pool = SetPool(scorer, table, block_size=block_size)
        walk = _Walk(pool, threshold, max_sets, apart)
        for members in known:
            walk.seed(members)
        for start in range(0, count, block_size):
            walk.block(start, min(start + block_size, count))
            if progress:
                progress(min(start + block_size, count), count)
    return Outcome(pool.members, walk.decisions)


class _Walk:
    """The state of one pass: terms are numbers, sets are numbers of the pool."""

    def __init__(
        self, pool: SetPool, threshold: float, max_sets: float, apart: Sequence[tuple[int, int]]
    ) -> None:
        self.pool = pool
        self.bar = log_odds(threshold)
        self.max_sets = max_sets
        self.decisions: list[tuple[int, float, Action]] = []  # best set, logit, action
        self.judged: list[tuple[int, Tensor]] = []  # terms of a block, the best set as it was then
        self.enemies: dict[int, list[int]] = {}
        for one, other in apart:
            self.enemies.setdefault(one, []).append(other)
            self.enemies.setdefault(other, []).append(one)
        self.refused: dict[int, set[int]] = {}  # the sets that a term may not join

    def seed(self, members: list[int]) -> None:
        for term in members:
            self._place(term, len(self.pool))
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
            self._place(term, changed)
            logits[term + 1 - start :, changed] = column
        self._look_closer()

    def _look_closer(self) -> None:
        """The logits of a block's decisions in float64: in float32 their last digits would vary."""
        if not self.judged:
            return
        terms, parts = zip(*self.judged, strict=True)
        found, _ = self.pool.closer(torch.cat(parts), list(terms))
        for term, logit in zip(terms, found.tolist(), strict=True):
            best, _, action = self.decisions[term]
            self.decisions[term] = best, logit, action
        self.judged = []

    def _place(self, term: int, number: int) -> None:
        for enemy in self.enemies.get(term, ()):
            self.refused.setdefault(enemy, set()).add(number)

    def _decide(self, term: int, row: npt.NDArray[np.float32]) -> int | None:
        """The set that a term joins, or None where it opens one."""
        refused = sorted(self.refused.get(term, ()))
        if len(row) == len(refused):
            self.decisions.append((-1, -math.inf, "opened"))
            return None
        best, joins = self._best(term, row, refused)
        action: Action = "joined" if joins else "opened"
        if not joins and len(self.pool) >= self.max_sets:
            action = "forced"
        self.decisions.append((best, math.nan, action))
        self.judged.append((term, self.pool.parts(np.array([best]))))
        return None if action == "opened" else best

    def _best(
        self, term: int, row: npt.NDArray[np.float32], refused: list[int]
    ) -> tuple[int, bool]:
        """The set with the highest logit, the first among equals; is it above the bar?

        Equal are logits that differ by no more than `TIE`, relative to the scores they come from.
        The float32 error is always far above that, so what it settles, no tie can unsettle.
        """
        error = self.pool.error(term) + TIE
        at_least = row - error
        highest = (np.delete(at_least, refused) if refused else at_least).max()
        close = ~(row + error < highest)  # also where not finite
        close[refused] = False
        numbers = np.flatnonzero(close)
        first = int(numbers[0])
        if len(numbers) == 1 and abs(float(row[first]) - self.bar) > error[first]:
            return first, bool(row[first] > self.bar)
        values, sizes = self.pool.closer(self.pool.parts(numbers), [term])
        top = int(values.argmax())
        tie = TIE * np.maximum(np.maximum(sizes, sizes[top]), 1)
        best = int(np.argmax(values >= values[top] - tie))  # the first that is as good as any
        return int(numbers[best]), bool(values[top] > self.bar + tie[top])
