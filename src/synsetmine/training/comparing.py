"""Fits the comparer on vocabularies that its maps have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from synsetmine.model.comparer import Comparer
from synsetmine.model.scene import Scene
from synsetmine.training.contrastive import Numbers

HIDDEN = 8
DECAY = 1e-3  # of weights, for each positive pair
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
    signals, same, weight = [], [], []
    for rows, columns, block in scene.blocks():
        upper = rows[:, None] < columns[None]
        alike = numbers[rows, None] == numbers[None, columns]
        close = ((block - mean) * scale).mean(dim=-1) >= near
        drawn = torch.rand(alike.shape, generator=chance).to(scene.device) < FAR
        kept = upper & (alike | close | drawn)
        signals.append(block[kept])
        same.append(alike[kept].float())
        weight.append(torch.where((alike | close)[kept], 1.0, 1 / FAR))
    return Pairs(torch.cat(signals), torch.cat(same), torch.cat(weight))


def _nearness(scene: Scene, chance: torch.Generator) -> tuple[Tensor, Tensor, float]:
    """Mean and scale of the signals, and the bar for nearness, from a sample of rows."""
    rows = torch.randperm(scene.count, generator=chance)[:64].to(scene.device)
    columns = torch.arange(scene.count, device=scene.device)
    sample = scene.signals(rows, columns)[rows[:, None] != columns[None]]
    mean, scale = sample.mean(dim=0), _scale(sample)
    return mean, scale, float(np.quantile(((sample - mean) * scale).mean(dim=-1).cpu(), NEAR))


def fit_comparer(parts: Sequence[Pairs], *, seed: int) -> Comparer:
    """Logistic regression with a small hidden layer, by L-BFGS on all pairs at once."""
    signals = torch.cat([part.signals for part in parts])
    same = torch.cat([part.same for part in parts])
    weight = torch.cat([part.weight for part in parts])
    mean, scale = signals.mean(dim=0), _scale(signals)
    x = (signals - mean) * scale
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
        fit = (weight * (functional.softplus(logits) - same * logits)).sum() / positives
        total: Tensor = fit + DECAY * torch.stack([w.square().sum() for w in weights]).sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    learned = (mean, scale, linear, bias, inner, inner_bias, outer)
    return Comparer(*(tensor.detach().cpu().numpy() for tensor in learned))


def _scale(signals: Tensor) -> Tensor:
    spread = signals.std(dim=0)
    return torch.where(spread > 1e-6, 1 / spread.clamp(min=1e-6), torch.zeros_like(spread))
