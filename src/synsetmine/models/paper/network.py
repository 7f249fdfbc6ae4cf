"""The set scorer q(Z) of the paper, the classifier f(S, t) on top of it, and set generation.

Set generation is the paper's Algorithm 1, one pass over the vocabulary, fast and exact.
A block of terms is scored against all sets in a few large matrix products. Within the block, only
the sets that change or are opened are scored again. All scores are float64. Logits that differ by
no more than a tiny part of the scores they come from are equal, so that rounding never decides.
The result is therefore the one of the plain algorithm, whatever the block size and the number of
threads.

In the pool of sets, the first layer of the post transformer is linear, so its value for S ∪ {t}
is a part of S plus a part of t. Both are computed once: a term's at the start, a set's when it
changes. A pair (S, t) then takes the rest of the post transformer.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from synsetmine.errors import DataError, ModelError, quantity, require
from synsetmine.io.sets import Action
from synsetmine.models.base import Arrays
from synsetmine.models.known import KNOWN_THRESHOLD, KnownSets
from synsetmine.models.paper.settings import WIDEST
from synsetmine.models.task import MiningResult, Outcome, Task, TermIndex, log_odds
from synsetmine.types import Progress, SetsLike, SynonymSets, Term, TermLike, terms_of
from synsetmine.views import TermVectors, TermViews, View

# Where a scorer is linear, all sets have the same logit for a term, but for rounding near 1e-15.
TIE = 1e-9  # of the larger of the two scores, or of 1
ROWS_AT_ONCE = 16_384
VALUES_AT_ONCE = 1 << 19  # of a layer: products are fastest while their operands are in the cache

Floats: TypeAlias = npt.NDArray[np.float64]
ARCHITECTURE = ("dimension", "embed_sizes", "post_sizes", "dropout")


class SetScorer(nn.Module):
    """q(Z) = post(Σ embed(x_z)): how complete and coherent a set of terms is.

    `embed` (the embedding transformer) acts on each term's vector, the sum makes the score
    independent of the order of the terms, `post` (the post transformer) acts on the sum.
    `Both-X-Y` of the paper is `embed_sizes=(50, X), post_sizes=(Y, X)`. Empty `embed_sizes` or
    `post_sizes` leave that transformer out; the last linear map to one score always stays.

    It implements `SetModel`; probabilities do not depend on the vocabulary.
    """

    kind = "paper"
    uses_torch = True
    views: tuple[View, ...] = ("vectors",)

    def __init__(
        self,
        *,
        dimension: int,
        embed_sizes: Sequence[int] = (50, 250),
        post_sizes: Sequence[int] = (500, 250),
        dropout: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.dimension = dimension
        self.embed_sizes = tuple(embed_sizes)
        self.post_sizes = tuple(post_sizes)
        self.dropout = dropout

        widths = [dimension, *embed_sizes]
        embed: list[nn.Module] = []
        for i, (width, following) in enumerate(pairwise(widths)):
            embed += [nn.Linear(width, following, bias=i > 0), nn.ReLU()]
        self.embed = nn.Sequential(*embed)

        post: list[nn.Module] = []
        for width, following in pairwise([widths[-1], *post_sizes]):
            post += [nn.Linear(width, following), nn.ReLU()]
        post += [nn.Dropout(dropout), nn.Linear([widths[-1], *post_sizes][-1], 1)]
        self.post = nn.Sequential(*post)
        self._initialise(seed)

    def __repr__(self) -> str:
        return (
            f"SetScorer(dimension={self.dimension}, embed_sizes={self.embed_sizes}, "
            f"post_sizes={self.post_sizes})"
        )

    def _initialise(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_normal_(module.weight, generator=generator)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """q of a padded batch of sets: vectors (sets, terms, dimension), mask (sets, terms)."""
        return self.score(self.pool(self.embed(vectors), mask))  # (sets,)

    def pool(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """The sum over each set's terms: embedded (sets, terms, hidden), mask (sets, terms)."""
        return (embedded * mask.unsqueeze(-1)).sum(dim=-2)  # (sets, hidden)

    def score(self, sums: Tensor) -> Tensor:
        """q from the sums of embedded terms: (…, hidden) -> (…)."""
        scores: Tensor = self.post(sums)
        return scores.squeeze(-1)

    def logits(self, sums: Tensor, candidates: Tensor) -> Tensor:
        """q(S ∪ {t}) − q(S): sums (sets, hidden), candidates (sets, terms, hidden)."""
        joined = self.score(sums.unsqueeze(-2) + candidates)  # (sets, terms)
        return joined - self.score(sums).unsqueeze(-1)

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def check(self, views: TermViews) -> None:
        """Raise a DataError unless there is one table of vectors of the right dimension."""
        if len(views.vectors) != 1:
            problem = f"the model needs one table of vectors; got {len(views.vectors)}"
            raise DataError(problem)
        table = views.vectors[0]
        if table.dimension != self.dimension:
            problem = f"the model was trained on vectors of {self.dimension} dimensions, these have"
            raise DataError(problem, path=table.source, value=table.dimension)

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        """The terms that have a vector."""
        table = views.table("vectors")
        return [term for term in terms if term in table]

    def assign(
        self,
        terms: Sequence[Term],
        sets: SynonymSets,
        views: TermViews,
        *,
        held_out: Container[str] = (),
        progress: Progress | None = None,
    ) -> None:
        """Known sets take part in the one pass; nothing more is learned from them."""

    def prepare(
        self,
        vocabulary: Iterable[TermLike],
        views: TermVectors | TermViews,
        *,
        known: KnownSets | None = None,
        device: str | None = None,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> PreparedScorer:
        """The model over a vocabulary, on `device` or where its weights are."""
        views = TermViews.of(views)
        self.check(views)
        if known is not None:
            problem = "the paper's model takes known sets as they are; pass their `sets` as seeds"
            raise DataError(problem, value=known)
        scorer = self
        if device is not None and torch.device(device).type != self.device.type:
            scorer = deepcopy(self).to(device)
        return PreparedScorer(scorer, terms_of(vocabulary), views.vectors[0])

    def state(self) -> tuple[dict[str, Any], Arrays]:
        description = {name: getattr(self, name) for name in ARCHITECTURE}
        weights = {name: tensor.cpu().numpy() for name, tensor in self.state_dict().items()}
        return description, weights

    @classmethod
    def from_state(cls, description: Mapping[str, Any], arrays: Arrays) -> SetScorer:
        """The network that `state` describes, ready for use."""
        _check_size(description, arrays)
        scorer = cls(**{name: description[name] for name in ARCHITECTURE})
        scorer.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
        return scorer.eval()


def _check_size(description: Mapping[str, Any], arrays: Arrays) -> None:
    """Refuse a network that is larger than its weights, before memory is taken for it.

    With wide layers few weights would take much memory for every term.
    """
    if not 0 <= description["dropout"] <= 1:
        raise ModelError("the dropout is not a probability")
    embed = [description["dimension"], *description["embed_sizes"]]
    layers = (*pairwise(embed), *pairwise([embed[-1], *description["post_sizes"], 1]))
    if any(width < 1 for layer in layers for width in layer):
        raise ModelError("a layer without a width")
    if any(size > WIDEST for size in (*description["embed_sizes"], *description["post_sizes"])):
        raise ModelError(f"a layer of more than {WIDEST} units")
    if len(layers) > len(arrays):  # each has a weight of its own, and most a bias
        raise ModelError(f"config.json describes {len(layers)} layers, the file has {len(arrays)}")
    stored = sum(array.size for array in arrays.values())
    if (needed := sum(width * following for width, following in layers)) > stored:
        raise ModelError(f"config.json describes {needed} weights, the file has {stored}")


class PreparedScorer:
    """A set scorer over a vocabulary; `vectors` are those of its terms."""

    def __init__(self, scorer: SetScorer, vocabulary: Sequence[Term], vectors: TermVectors) -> None:
        self._scorer = scorer.eval()
        self._vocabulary = tuple(dict.fromkeys(vocabulary))
        self._vectors = vectors
        self._index = TermIndex(term for term in self._vocabulary if term in vectors)

    def __repr__(self) -> str:
        return f"PreparedScorer({quantity(len(self.terms), 'term')})"

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
        scores = np.empty((stop - start, before + stop - start))  # q(S ∪ {t})
        scores[:, :before] = self.pool.block(slice(start, stop))
        for term in range(start, stop):
            best = self._decide(term, scores[term - start, : len(self.pool)])
            following = slice(term + 1, stop)
            if best is None:
                changed = len(self.pool)
                column = self.pool.open([term], following)
            else:
                changed = best
                column = self.pool.join(best, term, following)
            self._place(term, changed)
            scores[term + 1 - start :, changed] = column

    def _place(self, term: int, number: int) -> None:
        for other in self.cannot_link.get(term, ()):
            self.forbidden.setdefault(other, set()).add(number)

    def _decide(self, term: int, scores: Floats) -> int | None:
        """The set that a term joins, or None where it opens one."""
        forbidden = sorted(self.forbidden.get(term, ()))
        if len(scores) == len(forbidden):
            self.decisions.append((-1, -math.inf, "opened"))
            return None
        best, logit, joins = self._best(scores, forbidden)
        action: Action = "joined" if joins else "opened"
        if not joins and len(self.pool) >= self.max_sets:
            action = "forced"
        self.decisions.append((best, logit, action))
        return None if action == "opened" else best

    def _best(self, scores: Floats, forbidden: list[int]) -> tuple[int, float, bool]:
        """The set with the highest logit, the first among equals; does it exceed the threshold?

        Equal are logits that differ by no more than `TIE`, relative to the scores they come from.
        """
        alone = self.pool.scores  # (sets,) q(S)
        logits = scores - alone
        logits[forbidden] = -np.inf
        sizes = np.maximum(np.maximum(np.abs(scores), np.abs(alone)), 1)
        top = int(logits.argmax())
        tie = TIE * np.maximum(sizes, sizes[top])
        best = int(np.argmax(logits >= logits[top] - tie))  # the first that is as good as any
        return best, float(logits[best]), bool(logits[top] > self.least + tie[top])


class SetPool:
    """Growing sets over a fixed vocabulary of `vectors` (terms, dimension), on the CPU."""

    def __init__(
        self, scorer: SetScorer, vectors: npt.NDArray[np.float32], *, block_size: int
    ) -> None:
        (first_weight, first_bias), *rest = _layers(scorer.post)
        self._first_bias = first_bias
        self._of_term = torch.empty(len(vectors), len(first_bias), dtype=torch.float64)
        embed = _layers(scorer.embed)
        for start in range(0, len(vectors), ROWS_AT_ONCE):
            x = torch.from_numpy(vectors[start : start + ROWS_AT_ONCE]).double()
            for weight, bias in embed:
                x = torch.relu(x @ weight.T + bias)
            self._of_term[start : start + ROWS_AT_ONCE] = x @ first_weight.T  # (terms, width)
        self._rest = [(weight.T, bias) for weight, bias in rest]
        self.members: list[list[int]] = []
        width = self._of_term.shape[1]
        self._of_set = torch.empty(64, width, dtype=torch.float64)
        self._scores = np.empty(64)
        widths = [width, *(len(bias) for _, bias in rest)]
        self._pairs_at_once = max(VALUES_AT_ONCE // max(widths), block_size + 1)
        self._scratch = [
            torch.empty(self._pairs_at_once, width, dtype=torch.float64) for width in widths
        ]

    def __len__(self) -> int:
        return len(self.members)

    @property
    def scores(self) -> Floats:
        """q(S) of each set: (sets,)."""
        return self._scores[: len(self)]

    def open(self, terms: list[int], following: slice) -> Floats:
        """Add a set S of these terms; q(S ∪ {t}) for the following terms."""
        if len(self) == len(self._of_set):
            self._of_set = torch.cat([self._of_set, torch.empty_like(self._of_set)])
            self._scores = np.concatenate([self._scores, np.empty_like(self._scores)])
        self._of_set[len(self)] = self._of_term[terms].sum(dim=0) + self._first_bias
        self.members.append(list(terms))
        return self._column(len(self) - 1, following)

    def join(self, number: int, term: int, following: slice) -> Floats:
        """Add a term to a set S; q(S ∪ {t}) for the following terms."""
        self._of_set[number] += self._of_term[term]
        self.members[number].append(term)
        return self._column(number, following)

    def _column(self, number: int, following: slice) -> Floats:
        """Score a changed set anew, alone and with each following term: (following,)."""
        of_term = self._of_term[following]
        first = self._scratch[0][: len(of_term) + 1]
        first[0] = self._of_set[number]
        torch.add(of_term, self._of_set[number], out=first[1:])
        scores = self._finish(first)
        self._scores[number] = scores[0]
        return scores[1:].copy()

    def block(self, terms: slice) -> Floats:
        """q(S ∪ {t}) of a block of terms for all sets: (terms, sets)."""
        of_term = self._of_term[terms].unsqueeze(1)  # (terms, 1, width)
        of_set = self._of_set[: len(self)]
        sets_at_once = max(min(len(self), self._pairs_at_once), 1)
        terms_at_once = max(self._pairs_at_once // sets_at_once, 1)
        scores = np.empty((len(of_term), len(self)))
        for i in range(0, len(of_term), terms_at_once):
            for j in range(0, len(self), sets_at_once):
                tile = scores[i : i + terms_at_once, j : j + sets_at_once]
                first = self._scratch[0][: tile.size]  # (pairs, width)
                pairs = first.view(*tile.shape, -1)
                torch.add(of_set[j : j + sets_at_once], of_term[i : i + terms_at_once], out=pairs)
                tile[:] = self._finish(first).reshape(tile.shape)
        return scores

    def _finish(self, x: Tensor) -> Floats:
        """The post transformer after its first layer: (rows, width) -> (rows,); x is used up."""
        for depth, (weight, bias) in enumerate(self._rest, start=1):
            x = torch.addmm(bias, x.relu_(), weight, out=self._scratch[depth][: len(x)])
        scores: Floats = x.squeeze(1).numpy()
        return scores


def _layers(transformer: nn.Sequential) -> list[tuple[Tensor, Tensor]]:
    """Weight (out, in) and bias (out,) of the linear maps, in float64; ReLU comes between them."""
    layers = []
    for module in transformer:
        if isinstance(module, nn.Linear):
            weight = module.weight.detach().cpu().double()
            bias = torch.zeros(len(weight)) if module.bias is None else module.bias
            layers.append((weight, bias.detach().cpu().double()))
    return layers
