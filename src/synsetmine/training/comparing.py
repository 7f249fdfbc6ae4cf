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
from synsetmine.training.contrastive import Numbers
from synsetmine.workers import cores, in_threads

HIDDEN = 8
MEMBERS = 3  # fits from other random starts, of which the mean is taken
PRIOR = 5.0  # how strongly weights are pulled to zero; a positive pair pulls with 1
STEPS = 200
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
    chance = torch.Generator().manual_seed(seed)
    numbers = torch.from_numpy(labels).to(scene.device)
    mean, scale, near = _nearness(scene, chance)
    kept_signals, kept_same, weight = [], [], []
    for left, right, signals in scene.pairs():
        same = numbers[left] == numbers[right]
        close = same | (((signals - mean) * scale).mean(dim=-1) >= near)
        drawn = torch.rand(len(left), generator=chance).to(scene.device) < FAR
        kept = close | drawn
        kept_signals.append(signals[kept])
        kept_same.append(same[kept].float())
        weight.append(torch.where(close[kept], 1.0, 1 / FAR))
    return Pairs(torch.cat(kept_signals), torch.cat(kept_same), torch.cat(weight))


@torch.no_grad()
def near_pairs(scene: Scene, labels: Numbers, count: int) -> Pairs:
    """The pairs that count of the first `count` terms with any others."""
    numbers = torch.from_numpy(labels).to(scene.device)
    signals, same = [], []
    for left, right, found in scene.pairs():
        ours = left < count  # the first ones are always on the left
        signals.append(found[ours])
        same.append((numbers[left] == numbers[right])[ours].float())
    every = torch.cat(same)
    return Pairs(torch.cat(signals), every, torch.ones_like(every))


def _nearness(scene: Scene, chance: torch.Generator) -> tuple[Tensor, Tensor, float]:
    """Mean and scale of the signals, and the bar for nearness, from a sample of rows."""
    rows = torch.randperm(scene.count, generator=chance)[:64].to(scene.device)
    columns = torch.arange(scene.count, device=scene.device)
    sample = scene.block(rows, columns)[rows[:, None] != columns[None]]
    mean, scale = sample.mean(dim=0), _scale(sample)
    return mean, scale, float(np.quantile(((sample - mean) * scale).mean(dim=-1).cpu(), NEAR))


def fit_comparer(parts: Sequence[Pairs], *, seed: int) -> Comparer:
    """Logistic regression with a small hidden layer, the mean of several fits.

    The mean of networks on the same signals is one network with all of their hidden units.
    """
    signals = torch.cat([part.signals for part in parts])
    same = torch.cat([part.same for part in parts])
    weight = torch.cat([part.weight for part in parts])
    mean, scale = signals.mean(dim=0), _scale(signals)
    x = (signals - mean) * scale
    fit = partial(_fit, x, same, weight)
    threads = cores() if x.device.type == "cpu" else 1
    fits = in_threads(fit, range(MEMBERS * seed, MEMBERS * (seed + 1)), threads)
    linear, bias, inner, inner_bias, outer = zip(*fits, strict=True)
    learned = (
        *(mean, scale, torch.stack(linear).mean(dim=0), torch.stack(bias).mean(dim=0)),
        *(torch.cat(inner, dim=1), torch.cat(inner_bias), torch.cat(outer) / MEMBERS),
    )
    return Comparer(*(tensor.detach().cpu().numpy() for tensor in learned))


def _fit(x: Tensor, same: Tensor, weight: Tensor, seed: int) -> tuple[Tensor, ...]:
    """Weights by L-BFGS on all pairs at once: linear, bias, inner, inner bias, outer."""
    place, width = x.device, x.shape[1]
    chance = torch.Generator().manual_seed(seed)
    linear = torch.zeros(width, device=place, requires_grad=True)
    bias = torch.full((1,), -6.0, device=place, requires_grad=True)
    inner = (torch.randn(width, HIDDEN, generator=chance) / width**0.5).to(place).requires_grad_()
    inner_bias = torch.zeros(HIDDEN, device=place, requires_grad=True)
    outer = (torch.randn(HIDDEN, generator=chance) / 100).to(place).requires_grad_()
    weights = [linear, inner, inner_bias, outer]
    positives = same.sum().clamp(min=1)
    optimizer = torch.optim.LBFGS([bias, *weights], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = x @ linear + bias + torch.tanh(x @ inner + inner_bias) @ outer
        fit = (weight * (functional.softplus(logits) - same * logits)).sum()
        pull = PRIOR * torch.stack([w.square().sum() for w in weights]).sum()
        total: Tensor = (fit + pull) / positives
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return linear, bias, inner, inner_bias, outer


def _scale(signals: Tensor) -> Tensor:
    spread = signals.std(dim=0)
    return torch.where(spread > 1e-6, 1 / spread.clamp(min=1e-6), torch.zeros_like(spread))
