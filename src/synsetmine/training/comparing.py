"""Fits the comparer on vocabularies that its maps have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from synsetmine.model.comparer import Comparer
from synsetmine.model.scene import Scene
from synsetmine.model.threads import same_limit
from synsetmine.training.contrastive import Numbers
from synsetmine.workers import in_threads

HIDDEN = 8
LINEAR = HIDDEN  # the row of the linear part, after those of the hidden units
MEMBERS = 3  # fits from other random starts, of which the mean is taken
PRIOR = 5.0  # how strongly weights are pulled to zero; a positive pair pulls with 1
STEPS = 200
AT_ONCE, AT_ONCE_GPU = 2**16, 2**24  # pairs
SIDE_BY_SIDE = 50_000  # pairs; with fewer, threads wait for each other more than they gain
NEAR = 0.97  # pairs whose signals, standardised, are on average above this quantile are all kept
FAR = 0.05  # share of the others that is kept, and counts the more


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of terms of one vocabulary: all that are synonyms or near, a share of the others."""

    signals: Tensor  # (pairs, signals)
    same: Tensor  # (pairs,), 1.0 or 0.0
    weight: Tensor  # (pairs,), how many pairs each stands for


@torch.no_grad()
def draw_pairs(scene: Scene, labels: Numbers, *, seed: int) -> Pairs:
    """Pairs of a vocabulary to fit a comparer on; equal labels are synonyms."""
    numbers = torch.from_numpy(labels).to(scene.device)
    sieve = _Sieve(_sample(scene, seed), seed)
    for left, right, signals in scene.pairs():
        sieve.add(signals, numbers[left] == numbers[right])
    return sieve.kept()


@torch.no_grad()
def near_pairs(scene: Scene, labels: Numbers, count: int, *, seed: int) -> Pairs:
    """Pairs of the first `count` terms with any others, of those that count in the scene."""
    numbers = torch.from_numpy(labels).to(scene.device)
    signals, same = [], []
    for left, right, found in scene.pairs():
        ours = left < count  # the first ones are always on the left
        signals.append(found[ours])
        same.append((numbers[left] == numbers[right])[ours])
    every = torch.cat(signals)
    sieve = _Sieve(every, seed)
    sieve.add(every, torch.cat(same))
    return sieve.kept()


class _Sieve:
    """Lets synonyms and near pairs through, and a share of the others, which then counts more.

    What is near is told by a sample of signals.
    """

    def __init__(self, sample: Tensor, seed: int) -> None:
        self._mean, self._scale = sample.mean(dim=0), _scale(sample)
        self._near = float(np.quantile(self._nearness(sample).cpu(), NEAR))
        self._chance = torch.Generator().manual_seed(seed)
        self._kept: list[Pairs] = []

    def add(self, signals: Tensor, same: Tensor) -> None:
        close = same | (self._nearness(signals) >= self._near)
        drawn = torch.rand(len(same), generator=self._chance).to(same.device) < FAR
        kept = close | drawn
        weight = torch.where(close[kept], 1.0, 1 / FAR)
        self._kept.append(Pairs(signals[kept], same[kept].float(), weight))

    def kept(self) -> Pairs:
        return Pairs(
            torch.cat([pairs.signals for pairs in self._kept]),
            torch.cat([pairs.same for pairs in self._kept]),
            torch.cat([pairs.weight for pairs in self._kept]),
        )

    def _nearness(self, signals: Tensor) -> Tensor:
        return ((signals - self._mean) * self._scale).mean(dim=-1)


def _sample(scene: Scene, seed: int) -> Tensor:
    """The signals of some rows with all other terms."""
    chance = torch.Generator().manual_seed(seed)
    rows = torch.randperm(scene.count, generator=chance)[:64].to(scene.device)
    columns = torch.arange(scene.count, device=scene.device)
    return scene.block(rows, columns)[rows[:, None] != columns[None]]


def fit_comparer(parts: Sequence[Pairs], *, seed: int) -> Comparer:
    """Logistic regression with a small hidden layer, the mean of several fits.

    The mean of networks on the same signals is one network with all of their hidden units.
    """
    signals = torch.cat([part.signals for part in parts])
    same = torch.cat([part.same for part in parts])
    weight = torch.cat([part.weight for part in parts])
    mean, scale = signals.mean(dim=0), _scale(signals)
    x = ((signals - mean) * scale).T.contiguous()
    fit = partial(_fit, x, same, weight)
    threads = MEMBERS if x.device.type == "cpu" and len(same) > SIDE_BY_SIDE else 1
    fits = in_threads(fit, range(MEMBERS * seed, MEMBERS * (seed + 1)), threads)
    linear, bias, inner, inner_bias, outer = zip(*fits, strict=True)
    learned = (
        *(mean, scale, torch.stack(linear).mean(dim=0), torch.stack(bias).mean(dim=0)),
        *(torch.cat(inner, dim=1), torch.cat(inner_bias), torch.cat(outer) / MEMBERS),
    )
    return Comparer(*(tensor.cpu().numpy() for tensor in learned))


def _fit(x: Tensor, same: Tensor, weight: Tensor, seed: int) -> tuple[Tensor, ...]:
    """Weights by L-BFGS on all pairs at once: linear, bias, inner, inner bias, outer.

    `x` is (signals, pairs). Only the pairs are on a GPU: the many small steps on weights are
    faster on the CPU.
    """
    same_limit()
    width = len(x)
    chance = torch.Generator().manual_seed(seed)
    inner = torch.randn(width, HIDDEN, generator=chance) / width**0.5
    outer = torch.randn(HIDDEN, generator=chance) / 100
    lines = torch.cat([inner.T, torch.zeros(1, width)])  # hidden units, linear
    shifts = torch.zeros(HIDDEN + 1)
    shifts[LINEAR] = -6.0
    weights = [lines, shifts, outer]
    positives = same.sum().clamp(min=1).cpu()
    optimizer = torch.optim.LBFGS(weights, max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        total, slopes = _slopes(x, same, weight, *(w.to(x.device) for w in weights))
        for learned, slope in zip(weights, slopes, strict=True):
            pulled = learned.clone()
            if learned is shifts:
                pulled[LINEAR] = 0.0  # the bias is free
            total += PRIOR * pulled.square().sum()
            learned.grad = (slope + 2 * PRIOR * pulled) / positives
        return total / positives

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return lines[LINEAR], shifts[LINEAR:], lines[:LINEAR].T, shifts[:LINEAR], outer


def _slopes(
    x: Tensor, same: Tensor, weight: Tensor, lines: Tensor, shifts: Tensor, outer: Tensor
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The cross entropy of the network, and its slope for each weight.

    Written out, and for some pairs at a time: what they need stays in the processor's cache,
    which takes a third of the time of automatic differentiation.
    """
    at_once = AT_ONCE if x.device.type == "cpu" else AT_ONCE_GPU
    total = torch.zeros((), dtype=torch.float64, device=x.device)
    slopes = [torch.zeros_like(w, dtype=torch.float64) for w in (lines, shifts, outer)]
    for begin in range(0, x.shape[1], at_once):
        here = slice(begin, begin + at_once)
        signals, truth, count = x[:, here], same[here], weight[here]
        active = torch.addmm(shifts[:, None], lines, signals)
        hidden = active[:LINEAR].tanh_()
        logits = active[LINEAR].addmv_(hidden.T, outer)
        total += (count * (functional.softplus(logits) - truth * logits)).sum()
        error = (torch.sigmoid(logits) - truth).mul_(count)
        slopes[2] += hidden @ error
        hidden.square_().neg_().add_(1).mul_(outer[:, None]).mul_(error)  # back through tanh
        active[LINEAR] = error
        slopes[0] += active @ signals.T
        slopes[1] += active.sum(dim=1)
    return total.cpu(), tuple(slope.float().cpu() for slope in slopes)


def _scale(signals: Tensor) -> Tensor:
    spread = signals.std(dim=0)
    return torch.where(spread > 1e-6, 1 / spread.clamp(min=1e-6), torch.zeros_like(spread))
