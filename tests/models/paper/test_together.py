"""Several orders walked at the same time, against the exact one pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from synsetmine.models import generate_sets
from synsetmine.models.paper.generate import generate_orders
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.train import Validation
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors
from tests.support.devices import DEVICES

TERMS = tuple(Term(f"t{i}") for i in range(120))
VECTORS = TermVectors(TERMS, np.random.default_rng(0).normal(size=(120, 8)).astype(np.float32))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("steps", [7, 256])
@pytest.mark.parametrize("embed_sizes", [(50, 250), ()])
def test_it_finds_what_the_one_pass_finds(
    device: str, steps: int, embed_sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synsetmine.models.paper.generate.STEPS", steps)
    chance = np.random.default_rng(1)
    orders = np.stack([chance.permutation(120) for _ in range(3)])
    seen = set()
    for seed in (1, 2):
        scorer = SetScorer(dimension=8, seed=seed, embed_sizes=embed_sizes).to(device)
        table = torch.from_numpy(VECTORS.select(TERMS)).to(device)
        found = generate_orders(scorer, table, torch.from_numpy(orders).to(device), threshold=0.5)
        for order, labels in zip(orders, found.cpu().numpy(), strict=True):
            mined = generate_sets(scorer.cpu(), VECTORS, [TERMS[i] for i in order])
            assert SynonymSets.from_labels(TERMS, labels.tolist()).partition == mined.sets.partition
            seen.add(len(mined.sets))
        scorer.to(device)
    assert 3 < max(seen) < 120


def test_validation_is_the_same_either_way() -> None:
    """Also with terms that have no vector."""
    scorer = SetScorer(dimension=8, seed=1)
    mined = generate_sets(scorer, VECTORS, TERMS).sets
    everyone = [*TERMS, Term("no vector")]
    gold = SynonymSets.from_labels(everyone, [*mined.labels(TERMS), 0])
    validation = Validation.with_random_orders(gold, orders=3, seed=0, metric="fmi", threshold=0.5)
    plain = validation.score(scorer, VECTORS)
    assert 0 < plain < 1
    assert validation._score_on_gpu(scorer, VECTORS) == pytest.approx(plain)
