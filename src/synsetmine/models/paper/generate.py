"""Set generation (the paper's Algorithm 1, one pass over the vocabulary), fast and exact.

A block of terms is scored against all sets in a few large matrix products. Within the block, only
the sets that change or are opened are scored again. Scores are float32 with a known error bound;
where that leaves a choice open, float64 decides. Logits that differ by no more than a tiny part
of the scores they come from are equal, so that rounding never decides. The result is therefore
the one of the plain algorithm, whatever the block size, the number of threads and the device.

`one_pass_of_orders` is the same pass over several orders at once, for validation on a GPU. Its
scores are float32 alone, so it may mistake two sets that fit equally well for each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from synsetmine.errors import DataError
from synsetmine.models.known import KNOWN_THRESHOLD
from synsetmine.models.paper.pool import SetPool
from synsetmine.models.task import Mined, Outcome, Task, TermIndex, log_odds
from synsetmine.trace import Action
from synsetmine.types import Progress, SynonymSets, Term
from synsetmine.views import TermVectors

if TYPE_CHECKING:
    from synsetmine.models.paper.network import SetScorer

# Where a scorer is linear, all sets have the same logit for a term, but for rounding near 1e-15.
TIE = 1e-9  # of the larger of the two scores, or of 1
ROWS_AT_ONCE = 16_384
STEPS = 256  # of several orders before the host asks how many sets there are


class PreparedScorer:
    """A set scorer over a vocabulary; `vectors` are those of its terms."""

    def __init__(self, scorer: SetScorer, vocabulary: Sequence[Term], vectors: TermVectors) -> None:
        self._scorer = scorer.eval()
        self._vocabulary = tuple(dict.fromkeys(vocabulary))
        self._vectors = vectors
        self._index = TermIndex(term for term in self._vocabulary if term in vectors)

    @property
    def terms(self) -> tuple[Term, ...]:
        return self._index.terms

    def probabilities(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]:
        """sigmoid(q(S ∪ {t}) − q(S)) of each term t."""
        values: list[float] = self._probabilities(members, self._index.positions(terms)).tolist()
        return values

    def rank(self, members: Sequence[Term], *, top: int = 10) -> list[tuple[Term, float]]:
        values = self._probabilities(members, np.arange(len(self.terms)))
        return self._index.best(values, members, top)

    def generate(
        self,
        *,
        threshold: float = 0.5,
        known_threshold: float = KNOWN_THRESHOLD,  # noqa: ARG002
        seeds: SynonymSets | None = None,
        cannot_link: Iterable[tuple[Term, Term]] = (),
        max_sets: int | None = None,
        order: Sequence[Term] | None = None,
        progress: Progress | None = None,
        block_size: int = 32,
    ) -> Mined:
        """One pass over the vocabulary; `block_size` is how many terms are scored at a time."""
        if block_size < 1:
            raise DataError("the block size must be at least 1", value=block_size)
        task = Task.of(
            self._vocabulary if order is None else order,
            self._index,
            threshold=threshold,
            seeds=seeds,
            cannot_link=cannot_link,
            max_sets=max_sets,
        )
        table = self._vectors.select(task.terms)
        return task.collect(one_pass(self._scorer, table, task, block_size, progress))

    @cached_property
    def _embedded(self) -> Tensor:
        with torch.inference_mode():
            rows = torch.from_numpy(self._vectors.select(self.terms)).to(self._scorer.device)
            embedded: Tensor = self._scorer.embed(rows)  # (terms, hidden)
            return embedded

    @torch.inference_mode()
    def _probabilities(
        self, members: Sequence[Term], terms: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        own = torch.from_numpy(self._index.members(members))
        sums = self._embedded[own].sum(dim=0, keepdim=True)  # (1, hidden)
        logits = [
            self._scorer.logits(sums, self._embedded[chunk].unsqueeze(0))[0].cpu()
            for chunk in torch.split(torch.from_numpy(terms), ROWS_AT_ONCE)
        ]
        values: npt.NDArray[np.float32] = torch.sigmoid(torch.cat(logits)).numpy()
        return values


def one_pass(
    scorer: SetScorer,
    table: npt.NDArray[np.float32],
    task: Task,
    block_size: int,
    progress: Progress | None = None,
) -> Outcome:
    """Algorithm 1 on the task's terms, whose vectors are the rows of the table.

    Of two terms that cannot be linked the later one does not join the set of the first; it opens
    a set instead, even beyond the limit on sets.
    """
    scorer.eval()
    with torch.inference_mode():
        pool = SetPool(scorer, table, block_size=block_size)
        one = _Pass(pool, task)
        for members in task.seeds:
            one.seed(members)
        for start in range(0, task.count, block_size):
            one.block(start, min(start + block_size, task.count))
            if progress:
                progress(min(start + block_size, task.count), task.count)
    return Outcome(pool.members, one.decisions)


class _Pass:
    """The state of one pass: terms are positions in the task, sets are numbers of the pool."""

    def __init__(self, pool: SetPool, task: Task) -> None:
        self.pool = pool
        self.least = log_odds(task.threshold)  # logit that a set must exceed
        self.max_sets = task.max_sets
        self.decisions: list[tuple[int, float, Action]] = []  # best set, logit, action
        self.judged: list[tuple[int, Tensor]] = []  # terms of a block, the best set as it was then
        self.cannot_link: dict[int, list[int]] = {}
        for one, other in task.cannot_link:
            self.cannot_link.setdefault(one, []).append(other)
            self.cannot_link.setdefault(other, []).append(one)
        self.forbidden: dict[int, set[int]] = {}  # the sets that a term may not join

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
        self._refine()

    def _refine(self) -> None:
        """The logits of a block's decisions in float64: in float32 their last digits would vary."""
        if not self.judged:
            return
        terms, parts = zip(*self.judged, strict=True)
        logits, _ = self.pool.closer(torch.cat(parts), list(terms))
        for term, logit in zip(terms, logits.tolist(), strict=True):
            best, _, action = self.decisions[term]
            self.decisions[term] = best, logit, action
        self.judged = []

    def _place(self, term: int, number: int) -> None:
        for other in self.cannot_link.get(term, ()):
            self.forbidden.setdefault(other, set()).add(number)

    def _decide(self, term: int, row: npt.NDArray[np.float32]) -> int | None:
        """The set that a term joins, or None where it opens one."""
        forbidden = sorted(self.forbidden.get(term, ()))
        if len(row) == len(forbidden):
            self.decisions.append((-1, -math.inf, "opened"))
            return None
        best, joins = self._best(term, row, forbidden)
        action: Action = "joined" if joins else "opened"
        if not joins and len(self.pool) >= self.max_sets:
            action = "forced"
        self.decisions.append((best, math.nan, action))
        self.judged.append((term, self.pool.parts(np.array([best]))))
        return None if action == "opened" else best

    def _best(
        self, term: int, row: npt.NDArray[np.float32], forbidden: list[int]
    ) -> tuple[int, bool]:
        """The set with the highest logit, the first among equals; does it exceed the threshold?

        Equal are logits that differ by no more than `TIE`, relative to the scores they come from.
        The float32 error is always far above that, so what it settles, no tie can unsettle. Where
        float32 may overflow the error is infinite, and float64 decides.
        """
        error = self.pool.error(term) + TIE
        with np.errstate(invalid="ignore"):  # an infinite logit less an infinite error
            at_least = row - error
            highest = (np.delete(at_least, forbidden) if forbidden else at_least).max()
            close = ~(row + error < highest)  # also where not finite
        close[forbidden] = False
        numbers = np.flatnonzero(close)
        first = int(numbers[0])
        if len(numbers) == 1 and abs(float(row[first]) - self.least) > error[first]:
            return first, bool(row[first] > self.least)
        values, sizes = self.pool.closer(self.pool.parts(numbers), [term])
        top = int(values.argmax())
        tie = TIE * np.maximum(np.maximum(sizes, sizes[top]), 1)
        best = int(np.argmax(values >= values[top] - tie))  # the first that is as good as any
        return int(numbers[best]), bool(values[top] > self.least + tie[top])


@torch.inference_mode()
def one_pass_of_orders(
    scorer: SetScorer, vectors: Tensor, orders: Tensor, *, threshold: float
) -> Tensor:
    """The set of each term in each order: vectors (terms, dimension), orders (orders, terms).

    All that a term decides stays on the GPU. A step is some twenty small kernels for all orders,
    recorded once and replayed.
    """
    scorer.eval()
    passes = _Passes(scorer, vectors, orders, log_odds(threshold))
    for start in range(0, orders.shape[1], STEPS):
        steps = min(STEPS, orders.shape[1] - start)
        passes.advance(steps, width=int(passes.opened.max()) + steps)
    return passes.set_of


class _Passes:
    """The state of a pass for each order."""

    def __init__(self, scorer: SetScorer, vectors: Tensor, orders: Tensor, least: float) -> None:
        self.scorer = scorer
        self.least = least
        self.terms = orders.T.contiguous()  # (terms, orders): a row is one step
        self.step = torch.zeros(1, dtype=torch.int64, device=orders.device)
        self.rows = torch.arange(len(orders), device=orders.device)
        self.embedded = scorer.embed(vectors)  # (terms, hidden)
        self.alone = scorer.score(self.embedded)  # (terms,)
        count, length = orders.shape
        self.sums = self.embedded.new_zeros(count, length, self.embedded.shape[1])
        # A set that is not opened yet never has the highest logit.
        self.scores = self.embedded.new_full((count, length), torch.inf)
        self.opened = torch.zeros_like(self.rows)
        self.set_of = torch.zeros_like(orders)

    def advance(self, steps: int, width: int) -> None:
        """Take some steps; no order has more than `width` sets."""
        self._advance(width)
        if self.step.device.type != "cuda":
            for _ in range(steps - 1):
                self._advance(width)
            return
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._advance(width)
        for _ in range(steps - 1):
            graph.replay()

    def _advance(self, width: int) -> None:
        terms = self.terms.index_select(0, self.step).squeeze(0)  # (orders,)
        embedded = self.embedded[terms]
        joined = self.scorer.score(self.sums[:, :width] + embedded.unsqueeze(1))  # (orders, sets)
        logit, best = (joined - self.scores[:, :width]).max(dim=1)
        joins = logit > self.least
        home = torch.where(joins, best, self.opened)
        self.scores[self.rows, home] = torch.where(
            joins, joined[self.rows, best], self.alone[terms]
        )
        self.sums[self.rows, home] += embedded
        self.set_of[self.rows, terms] = home
        self.opened += ~joins
        self.step += 1
