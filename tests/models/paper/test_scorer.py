"""The network: the paper's shapes and initial values, and independence of order."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from synsetmine.errors import DataError
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.settings import PRESETS, TrainingSettings, architecture
from tests.support.reference import q


def shapes(transformer: nn.Sequential) -> list[tuple[int, int, bool]]:
    return [
        (m.in_features, m.out_features, m.bias is not None)
        for m in transformer
        if isinstance(m, nn.Linear)
    ]


def test_the_default_is_the_papers_network() -> None:
    scorer = SetScorer(dimension=50)
    assert shapes(scorer.embed) == [(50, 50, False), (50, 250, True)]
    assert shapes(scorer.post) == [(250, 500, True), (500, 250, True), (250, 1, True)]
    assert [type(m).__name__ for m in scorer.post] == [
        *("Linear", "ReLU", "Linear", "ReLU"),
        *("Dropout", "Linear"),
    ]


def test_initial_values_are_xavier_normal_and_zero() -> None:
    scorer = SetScorer(dimension=50, seed=4)
    wide = scorer.post[0]
    assert isinstance(wide, nn.Linear)
    assert wide.weight.std().item() == pytest.approx((2 / 750) ** 0.5, rel=0.02)
    assert all(
        not m.bias.any()
        for m in scorer.modules()
        if isinstance(m, nn.Linear) and m.bias is not None
    )
    same, other = (SetScorer(dimension=50, seed=seed).state_dict() for seed in (4, 5))
    assert torch.equal(wide.weight, same["post.0.weight"])
    assert not torch.equal(wide.weight, other["post.0.weight"])


@pytest.mark.parametrize(
    ("name", "embed", "post"),
    [
        ("both-350-600", [(50, 50), (50, 350)], [(350, 600), (600, 350), (350, 1)]),
        ("no-et", [], [(50, 500), (500, 250), (250, 1)]),
        ("No-PT", [(50, 50), (50, 250)], [(250, 1)]),
    ],
)
def test_the_papers_architectures_have_names(
    name: str, embed: list[tuple[int, int]], post: list[tuple[int, int]]
) -> None:
    sizes = architecture(name)
    scorer = SetScorer(
        dimension=50, embed_sizes=sizes["embed_sizes"], post_sizes=sizes["post_sizes"]
    )
    assert [s[:2] for s in shapes(scorer.embed)] == embed
    assert [s[:2] for s in shapes(scorer.post)] == post


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(DataError, match="expected both-X-Y"):
        architecture("both-250")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), size=st.integers(1, 6), padding=st.integers(0, 3))
def test_q_is_the_formula_and_ignores_order_and_padding(seed: int, size: int, padding: int) -> None:
    scorer = SetScorer(dimension=4, embed_sizes=(3, 5), post_sizes=(6, 5), seed=seed).eval()
    random = np.random.default_rng(seed)
    rows = random.normal(size=(size, 4)).astype(np.float32)
    expected = q(scorer, [row.astype(np.float64) for row in rows])
    for order in (np.arange(size), random.permutation(size)):
        padded = np.concatenate([rows[order], random.normal(size=(padding, 4))]).astype(np.float32)
        mask = torch.tensor([[1.0] * size + [0.0] * padding])
        found = scorer(torch.from_numpy(padded).unsqueeze(0), mask)
        assert found.item() == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_logits_are_the_gain_in_q() -> None:
    scorer = SetScorer(dimension=4, embed_sizes=(3, 5), post_sizes=(6, 5)).eval()
    rows = np.random.default_rng(0).normal(size=(5, 4))
    embedded = scorer.embed(torch.from_numpy(rows).float())
    found = scorer.logits(embedded[:2].sum(0, keepdim=True), embedded[2:].unsqueeze(0))
    expected = [
        q(scorer, [rows[0], rows[1], rows[t]]) - q(scorer, list(rows[:2])) for t in (2, 3, 4)
    ]
    assert found[0].tolist() == pytest.approx(expected, abs=1e-5)


def test_presets_have_the_stated_values() -> None:
    paper, nyt, wiki, pubmed = list(PRESETS.values())[:4]
    assert (paper.learning_rate, paper.dropout) == (1e-3, 0.5)
    assert (nyt.learning_rate, nyt.dropout, nyt.negatives, nyt.batch_sets) == (1e-4, 0.3, 20, 32)
    assert (wiki.learning_rate, wiki.dropout, wiki.negatives, wiki.batch_sets) == (
        1e-4,
        0.4,
        50,
        64,
    )
    assert (pubmed.learning_rate, pubmed.dropout, pubmed.negatives) == (3e-4, 0.3, 50)
    assert [p.epochs for p in list(PRESETS.values())[:4]] == [500, 500, 800, 500]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\): 1.0"),
        ({"epochs": 0}, "epochs must be at least 1: 0"),
        ({"epochs": 1.5}, "epochs must be a whole number: 1.5"),
        ({"epochs": True}, "epochs must be a whole number: True"),
        ({"speed": 1}, "no such setting: 'speed'; did you mean 'seed'"),
        ({"strategy": "nearest"}, "strategy must be"),
        ({"validate_every": 200}, "validate_every must be at most patience"),
        ({"embed_sizes": ["x"]}, "embed_sizes must be a whole number"),
        ({"threshold": 1.5}, "threshold must be between 0 and 1"),
    ],
)
def test_settings_are_checked_with_the_value_quoted(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        PRESETS["paper"].with_changes(changes)


def test_settings_survive_json() -> None:
    settings = TrainingSettings().with_changes({"architecture": "both-100-200", "epochs": 3})
    assert TrainingSettings().with_changes(settings.to_dict()) == settings
