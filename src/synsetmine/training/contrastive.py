"""Learns the maps of terms: synonyms are to be closer to each other than to all other terms.

For each term of a batch, the loss is the negative log of the share that its synonyms have in a
softmax over its similarities to all others (InfoNCE). All others are negatives, so the nearest
wrong terms, which weigh most, are other ones after every step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from synsetmine.model.comparer import Floats
from synsetmine.model.termmaps import LinearMap, NgramMap, ngrams_of, weighted_bags

Numbers: TypeAlias = npt.NDArray[np.int64]

TEMPERATURE = 0.1
TERMS_AT_ONCE = 1024  # in a batch, about
LINEAR_STEPS = 120
LINEAR_RATE = 1e-2
PULL = 1e-2  # towards no map at all, so that few sets cannot bend it far
NGRAM_EPOCHS = 12
NGRAM_RATE = 3e-3
NGRAM_WIDTH = 128
SEEN = 2  # n-grams of fewer terms teach nothing


def learn_linear_map(
    unit: Floats, labels: Numbers, *, seed: int, device: torch.device | str = "cpu"
) -> LinearMap:
    """A map of unit rows (terms, dimension); equal labels (terms,) are synonyms."""
    known = (unit != 0).any(axis=1)
    x, of = torch.from_numpy(unit[known]).to(device), labels[known]
    start = torch.eye(unit.shape[1], device=device)
    matrix = start.clone().requires_grad_()
    shift = (-x.mean(dim=0) if len(x) else x.new_zeros(x.shape[1])).requires_grad_()
    optimizer = torch.optim.Adam([matrix, shift], lr=LINEAR_RATE)
    for rows in _batches(of, steps=LINEAR_STEPS, seed=seed):
        mapped = functional.normalize((x[rows] + shift) @ matrix, dim=1)
        loss = contrast(mapped, torch.from_numpy(of[rows]).to(device))
        _step(optimizer, loss + PULL * (matrix - start).square().sum())
    return LinearMap(shift.detach().cpu().numpy(), matrix.detach().cpu().numpy())


def learn_ngram_map(
    surfaces: Sequence[str], labels: Numbers, *, seed: int, device: torch.device | str = "cpu"
) -> NgramMap:
    """A map of surfaces; equal labels (terms,) are synonyms."""
    counts = Counter(n for surface in surfaces for n in dict.fromkeys(ngrams_of(surface)))
    ngrams = tuple(sorted(n for n, count in counts.items() if count >= SEEN))
    seen = np.array([counts[n] for n in ngrams], np.float32)
    idf: Floats = (np.log((1 + len(surfaces)) / (1 + seen)) + 1).astype(np.float32)
    bags = weighted_bags(surfaces, {n: i for i, n in enumerate(ngrams)}, idf)
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(len(ngrams), NGRAM_WIDTH, generator=generator) / NGRAM_WIDTH**0.5
    weights = weights.to(device).requires_grad_()
    steps = NGRAM_EPOCHS * -(-len(surfaces) // TERMS_AT_ONCE)
    optimizer = torch.optim.Adam([weights], lr=NGRAM_RATE)
    slowing = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / (steps + 1))
    for rows in _batches(labels, steps=steps, seed=seed):
        mapped = functional.normalize(_summed(bags[rows], weights), dim=1)
        _step(optimizer, contrast(mapped, torch.from_numpy(labels[rows]).to(device)))
        slowing.step()
    return NgramMap(ngrams, idf, weights.detach().cpu().numpy())


def contrast(mapped: Tensor, labels: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """The loss of a batch of unit rows (terms, width); terms without a synonym in it are others."""
    similarity = (mapped @ mapped.T / temperature).fill_diagonal_(-torch.inf)
    same = labels[:, None] == labels[None]
    same.fill_diagonal_(False)
    partners = same.sum(dim=1)
    log_share = similarity - similarity.logsumexp(dim=1, keepdim=True)
    own = log_share.where(same, 0.0).sum(dim=1)
    return -(own / partners.clamp(min=1)).sum() / (partners > 0).sum().clamp(min=1)


def _batches(labels: Numbers, *, steps: int, seed: int) -> list[Numbers]:
    """Rows of whole sets, in a new random order each time that all were drawn."""
    chance = np.random.default_rng(seed)
    order = np.argsort(labels, kind="stable")
    sets = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    found: list[Numbers] = []
    while len(found) < steps:
        batch: list[Numbers] = []
        size = 0
        for number in chance.permutation(len(sets)):
            batch.append(sets[number])
            size += len(sets[number])
            if size >= TERMS_AT_ONCE:
                found.append(np.concatenate(batch))
                batch, size = [], 0
        if batch:
            found.append(np.concatenate(batch))
    return found[:steps]


def _summed(bags: Any, weights: Tensor) -> Tensor:
    """bags @ weights, with a gradient for the weights: (rows, width)."""
    place = weights.device
    columns = torch.from_numpy(bags.indices.astype(np.int64)).to(place)
    starts = torch.from_numpy(bags.indptr[:-1].astype(np.int64)).to(place)
    values = torch.from_numpy(bags.data).to(place)
    return functional.embedding_bag(columns, weights, starts, mode="sum", per_sample_weights=values)


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
