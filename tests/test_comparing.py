"""Pairs that a comparer is fitted on, and the fit, against plain computations."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from synsetmine.training import comparing
from synsetmine.training.comparing import FAR, HIDDEN, LINEAR, Pairs, fit_comparer

SIGNALS = 5


def pairs_of(count: int, seed: int = 0) -> Pairs:
    """Pairs of which one in twenty are synonyms, by two signals and chance."""
    chance = torch.Generator().manual_seed(seed)
    signals = torch.randn(count, SIGNALS, generator=chance)
    odds = 2 * signals[:, 0] + torch.tanh(signals[:, 1] * signals[:, 2]) - 4
    same = (torch.rand(count, generator=chance) < torch.sigmoid(odds)).float()
    return Pairs(signals, same, 1 + torch.rand(count, generator=chance))


def plain_loss(pairs: Pairs, lines: Tensor, shifts: Tensor, outer: Tensor) -> Tensor:
    linear = pairs.signals @ lines[LINEAR] + shifts[LINEAR]
    hidden = torch.tanh(pairs.signals @ lines[:LINEAR].T + shifts[:LINEAR])
    logits = linear + hidden @ outer
    return (pairs.weight * (functional.softplus(logits) - pairs.same * logits)).sum()


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_slopes_are_those_of_automatic_differentiation(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(comparing, "AT_ONCE", at_once)
    pairs = pairs_of(50)
    chance = torch.Generator().manual_seed(1)
    shapes = ((HIDDEN + 1, SIGNALS), (HIDDEN + 1,), (HIDDEN,))
    weights = [torch.randn(shape, generator=chance).requires_grad_() for shape in shapes]
    plain = plain_loss(pairs, *weights)
    expected = torch.autograd.grad(plain, weights)
    with torch.no_grad():
        total, slopes = comparing._slopes(pairs.signals.T, pairs.same, pairs.weight, *weights)
    assert float(total) == pytest.approx(float(plain.detach()), rel=1e-5)
    for slope, other in zip(slopes, expected, strict=True):
        torch.testing.assert_close(slope, other, rtol=1e-4, atol=1e-4)


def test_the_fit_learns_what_makes_synonyms() -> None:
    comparer = fit_comparer([pairs_of(2000), pairs_of(2000, seed=1)], seed=0)
    new = pairs_of(4000, seed=2)
    odds = comparer.log_odds(new.signals)
    right = (odds > 0).float() == new.same
    assert float(right.float().mean()) > 0.93
    assert abs(comparer.linear[0]) > 3 * abs(comparer.linear[3])


def test_the_sieve_keeps_synonyms_and_near_pairs_and_counts_the_rest_as_before() -> None:
    pairs = pairs_of(20_000)
    sieve = comparing._Sieve(pairs.signals, seed=0)
    for part in range(0, 20_000, 3000):
        here = slice(part, part + 3000)
        sieve.add(pairs.signals[here], pairs.same[here].bool())
    kept = sieve.kept()
    assert kept.same.sum() == pairs.same.sum()
    assert set(kept.weight.tolist()) == {1.0, 1 / FAR}
    assert float(kept.weight.sum()) == pytest.approx(20_000, rel=0.05)
    means = (kept.weight[:, None] * kept.signals).sum(dim=0) / kept.weight.sum()
    assert float((means - pairs.signals.mean(dim=0)).abs().max()) < 0.1
