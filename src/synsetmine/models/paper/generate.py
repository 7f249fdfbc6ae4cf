"""Set generation (the paper's Algorithm 1, one pass over the vocabulary), fast and exact.

A block of terms is scored against all sets in a few large matrix products. Within the block, only
the sets that change or are opened are scored again. Scores are float32 with a known error bound;
where that leaves a choice open, float64 decides. Logits that differ by no more than a tiny part
of the scores they come from are equal, so that rounding never decides. The result is therefore
the one of the plain algorithm, whatever the block size, the number of threads and the device.

In the pool of sets, the first layer of the post transformer is linear, so its value for S ∪ {t}
is a part of S plus a part of t. Both are computed once: a term's at the start, a set's when it
changes. A pair (S, t) then takes the rest of the post transformer.

`generate_orders` is the same pass over several orders at once, for validation on a GPU. Its
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
from torch import Tensor, nn

from synsetmine.errors import counted, require
from synsetmine.io.traces import Action
from synsetmine.models.known import KNOWN_THRESHOLD
from synsetmine.models.task import MiningResult, Outcome, Task, TermIndex, log_odds
from synsetmine.types import Progress, SetsLike, Term, TermLike
from synsetmine.views import TermVectors

if TYPE_CHECKING:
    from synsetmine.models.paper.network import SetScorer


# Where a scorer is linear, all sets have the same logit for a term, but for rounding near 1e-15.
TIE = 1e-9  # of the larger of the two scores, or of 1
ROWS_AT_ONCE = 16_384
STEPS = 256  # of several orders before the host asks how many sets there are
# The unit roundoff of "float32" matrix products, which torch can be set to compute with less.
UNIT_ROUNDOFF = {"highest": 2.0**-24, "high": 2.0**-11, "medium": 2.0**-8}

SMALL = 4096  # terms

Layer = tuple[Tensor, Tensor]  # weight (out, in), bias (out,), in float64


class PreparedScorer:
    """A set scorer over a vocabulary; `vectors` are those of its terms."""

    def __init__(self, scorer: SetScorer, vocabulary: Sequence[Term], vectors: TermVectors) -> None:
        self._scorer = scorer.eval()
        self._vocabulary = tuple(dict.fromkeys(vocabulary))
        self._vectors = vectors
        self._index = TermIndex(term for term in self._vocabulary if term in vectors)

    def __repr__(self) -> str:
        return f"PreparedScorer({counted(len(self.terms), 'term')})"

    @property
    def terms(self) -> tuple[Term, ...]:
        return self._index.terms

    def probabilities(self, members: Iterable[TermLike], terms: Iterable[TermLike]) -> list[float]:
        """sigmoid(q(S ∪ {t}) − q(S)) of each term t."""
        values: list[float] = self._probabilities(members, self._index.positions(terms)).tolist()
        return values

    def rank(self, members: Iterable[TermLike], *, top: int = 10) -> list[tuple[Term, float]]:
        values = self._probabilities(members, np.arange(len(self.terms)))
        return self._index.best(values, members, top)

    def generate(
        self,
        *,
        threshold: float = 0.5,
        known_threshold: float = KNOWN_THRESHOLD,  # noqa: ARG002
        seeds: SetsLike | None = None,
        cannot_link: Iterable[tuple[TermLike, TermLike]] = (),
        max_sets: int | None = None,
        order: Iterable[TermLike] | None = None,
        progress: Progress | None = None,
        block_size: int = 32,
    ) -> MiningResult:
        """One pass over the vocabulary; `block_size` is how many terms are scored at a time."""
        require(block_size >= 1, "the block size must be at least 1", block_size)
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
    def _embed(self) -> Tensor:
        with torch.inference_mode():
            rows = torch.from_numpy(self._vectors.select(self.terms)).to(self._scorer.device)
            embedded: Tensor = self._scorer.embed(rows)  # (terms, hidden)
            return embedded

    @torch.inference_mode()
    def _probabilities(
        self, members: Iterable[TermLike], terms: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        own = torch.from_numpy(self._index.members(members))
        sums = self._embed[own].sum(dim=0, keepdim=True)  # (1, hidden)
        logits = [
            self._scorer.logits(sums, self._embed[chunk].unsqueeze(0))[0].cpu()
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


class SetPool:
    """Growing sets over a fixed vocabulary of `vectors` (terms, dimension)."""

    def __init__(
        self, scorer: SetScorer, vectors: npt.NDArray[np.float32], *, block_size: int
    ) -> None:
        # With few terms, waiting for a GPU term by term takes longer than the work itself.
        self.device = scorer.device if len(vectors) > SMALL else torch.device("cpu")
        (first_weight, first_bias), *rest = _layers(scorer.post)
        x = torch.tensor(vectors, dtype=torch.float64, device=self.device)
        for weight, bias in _layers(scorer.embed):
            x = torch.relu(x @ weight.T.to(self.device) + bias.to(self.device))
        self._first_bias = first_bias.to(self.device)
        self._of_term = x @ first_weight.T.to(self.device)  # (terms, width)
        self._of_term32 = self._of_term.float()
        self._rest = [(w.T.float().to(self.device), b.float().to(self.device)) for w, b in rest]
        self._rest64 = [(w.T.to(self.device), b.to(self.device)) for w, b in rest]
        slope, constant, self._longest = _error_bound(rest)
        self._slope = slope
        norms = self._of_term.norm(dim=1).cpu().numpy()
        self._term_error = np.where(
            norms > self._longest, np.inf, 2 * slope * norms + 2 * constant
        )  # (terms,)

        self.members: list[list[int]] = []
        width = self._of_term.shape[1]
        self._of_set = torch.empty(64, width, dtype=torch.float64, device=self.device)
        self._of_set32 = torch.empty(64, width, device=self.device)
        self._q = torch.empty(64, device=self.device)
        self._set_error = np.empty(64)
        # On a CPU the products are fastest while their operands stay in the cache.
        values = 2**29 if self.device.type == "cuda" else 2**20
        widths = [width, *(len(bias) for _, bias in self._rest)]
        self._pairs_at_once = max(values // max(widths), block_size + 1)
        self._scratch = [torch.empty(self._pairs_at_once, w, device=self.device) for w in widths]

    def __len__(self) -> int:
        return len(self.members)

    def open(self, terms: list[int], following: slice) -> npt.NDArray[np.float32]:
        """Add a set of these terms; its logits for the following terms."""
        if len(self) == len(self._of_set):
            self._grow()
        self._of_set[len(self)] = self._of_term[terms].sum(dim=0) + self._first_bias
        self.members.append(list(terms))
        return self._column(len(self) - 1, following)

    def join(self, number: int, term: int, following: slice) -> npt.NDArray[np.float32]:
        """Add a term to a set; the set's logits for the following terms."""
        self._of_set[number] += self._of_term[term]
        self.members[number].append(term)
        return self._column(number, following)

    def _column(self, number: int, following: slice) -> npt.NDArray[np.float32]:
        """Cache a changed set's scores anew, together with its logits: (following,)."""
        of_set = self._of_set[number]
        self._of_set32[number] = of_set
        norm = float(torch.linalg.vector_norm(of_set))
        self._set_error[number] = np.inf if norm > self._longest else 2 * self._slope * norm
        of_term = self._of_term32[following]
        first = self._scratch[0][: len(of_term) + 1]
        first[0] = self._of_set32[number]
        torch.add(of_term, self._of_set32[number], out=first[1:])
        q = self._finish32(first)
        self._q[number] = q[0]
        logits: npt.NDArray[np.float32] = (q[1:] - q[0]).cpu().numpy()
        return logits

    def block(self, terms: slice) -> npt.NDArray[np.float32]:
        """The logits q(S ∪ {t}) − q(S) of a block of terms for all sets: (terms, sets)."""
        of_term = self._of_term32[terms].unsqueeze(1)  # (terms, 1, width)
        of_set, q = self._of_set32[: len(self)], self._q[: len(self)]
        sets_at_once = max(min(len(self), self._pairs_at_once), 1)
        terms_at_once = max(self._pairs_at_once // sets_at_once, 1)
        logits = torch.empty(len(of_term), len(self), device=self.device)
        for i in range(0, len(of_term), terms_at_once):
            for j in range(0, len(self), sets_at_once):
                tile = logits[i : i + terms_at_once, j : j + sets_at_once]
                first = self._scratch[0][: tile.numel()]  # (pairs, width)
                pairs = first.view(*tile.shape, -1)
                torch.add(of_set[j : j + sets_at_once], of_term[i : i + terms_at_once], out=pairs)
                joined = self._finish32(first).view(tile.shape)
                torch.sub(joined, q[j : j + sets_at_once], out=tile)
        values: npt.NDArray[np.float32] = logits.cpu().numpy()
        return values

    def parts(self, numbers: npt.NDArray[np.intp]) -> Tensor:
        """A copy of what scoring needs of some sets, as they are now: (sets, width)."""
        return self._of_set[torch.from_numpy(numbers).to(self.device)]

    def closer(
        self, parts: Tensor, terms: list[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Logits in float64, and the size of the scores in them, of sets that were copied.

        There is one term for each set, or one for all.
        """
        x = torch.cat([parts + self._of_term[terms], parts])
        for weight, bias in self._rest64:
            x = torch.addmm(bias, x.relu_(), weight)
        joined, alone = x.squeeze(1).chunk(2)
        sizes = torch.maximum(joined.abs(), alone.abs())
        return (joined - alone).cpu().numpy(), sizes.cpu().numpy()

    def error(self, term: int) -> npt.NDArray[np.float64]:
        """A bound on the rounding error of this term's logit for each set: (sets,).

        It is infinite where float32 may overflow.
        """
        bound: npt.NDArray[np.float64] = self._set_error[: len(self)] + self._term_error[term]
        return bound

    def _finish32(self, x: Tensor) -> Tensor:
        """The post transformer after its first layer: (rows, width) -> (rows,); x is used up."""
        for depth, (weight, bias) in enumerate(self._rest, start=1):
            x = torch.addmm(bias, x.relu_(), weight, out=self._scratch[depth][: len(x)])
        return x.squeeze(1)

    def _grow(self) -> None:
        self._of_set = torch.cat([self._of_set, torch.empty_like(self._of_set)])
        self._of_set32 = torch.cat([self._of_set32, torch.empty_like(self._of_set32)])
        self._q = torch.cat([self._q, torch.empty_like(self._q)])
        self._set_error = np.concatenate([self._set_error, np.empty_like(self._set_error)])


def _layers(transformer: nn.Sequential) -> list[Layer]:
    """The linear maps of a transformer in float64 on the CPU; ReLU comes between them."""
    layers = []
    for module in transformer:
        if isinstance(module, nn.Linear):
            weight = module.weight.detach().cpu().double()
            bias = torch.zeros(len(weight)) if module.bias is None else module.bias
            layers.append((weight, bias.detach().cpu().double()))
    return layers


def _error_bound(rest: list[Layer]) -> tuple[float, float, float]:
    """(slope, constant, longest): a float32 q is off by at most slope · (‖of_set‖ + ‖of_term‖) +
    constant, unless one of the two parts is longer than `longest` and float32 may overflow.

    Standard forward analysis: a product over n terms is off by at most γ_n = n·u / (1 − n·u)
    times the product of absolute values. Magnitudes and errors are linear in the norms of the
    two parts, so their slopes and constants go through the layers one after the other.
    """
    try:
        unit = UNIT_ROUNDOFF[torch.get_float32_matmul_precision()]
    except RuntimeError:  # set by torch's newer, finer switches, which this one does not know
        unit = max(UNIT_ROUNDOFF.values())
    # Rounding both parts, their sum, and the difference of two scores.
    size, offset = torch.ones(1).double(), torch.zeros(1).double()
    error, error_offset = 4 * unit * size, offset
    sizes, offsets = [size], [offset]
    for depth, (weight, bias) in enumerate(rest):
        reach = weight.norm(dim=1, keepdim=True) if depth == 0 else weight.abs()  # (out, in or 1)
        gamma = (weight.shape[1] + 4) * unit / max(1 - (weight.shape[1] + 4) * unit, 0.5)
        size, offset = reach @ size, reach @ offset + bias.abs()
        error = reach @ error + gamma * size
        error_offset = reach @ error_offset + gamma * offset
        sizes.append(size)
        offsets.append(offset)
    # Half of the largest float32, since a logit is the difference of two scores.
    room = torch.finfo(torch.float32).max / 2 - torch.cat(offsets)
    longest = float((room / torch.cat(sizes)).min()) / 2  # each part may have half of the sum
    return float(error.sum()), float(error_offset.sum()), longest


@torch.inference_mode()
def generate_orders(
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
