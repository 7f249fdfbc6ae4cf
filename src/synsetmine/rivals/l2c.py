"""L2C: learn which pairs are synonyms, then train a network to sort new terms by such pairs.

Hsu, Lv and Kira, "Learning to cluster in order to transfer across domains and tasks" (2018), with
the loss of Hsu et al., "Multi-class classification without multi-class labels" (2019). Two networks
of torch: g judges pairs of terms, f sorts a vocabulary. The method is `registry.L2C`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from synsetmine.rivals.base import Choice, ClusteringTask, Floats, Labels, TrainingData
from synsetmine.types import SynonymSets
from synsetmine.views import TermVectors, unit_rows

if TYPE_CHECKING:
    from synsetmine.rivals.registry import L2C


EPSILON = 1e-7  # keeps logarithms finite where a pair is surely together or surely apart
VALUES_AT_ONCE = 2**23  # pair features in memory while a vocabulary's pairs are judged
PAIRS_AT_ONCE = 2**22  # pairs in a step: all of them up to 2,048 terms


def train_pairs(settings: L2C, data: TrainingData) -> TrainedL2C:
    """Train g as `L2C.fit` says."""
    fit, held = _split(settings, data)
    table, device = data.views.table("vectors"), torch.device(data.device)
    with _seed_torch([data.seed], device):
        network = PairNetwork(
            dimension=table.dimension,
            embed_size=settings.embed_size,
            pair_size=settings.pair_size,
            dropout=settings.dropout,
        ).to(device)
        _train(settings, network, fit, held, table, np.random.default_rng([data.seed]))
    batch_sets = min(settings.batch_sets, len(fit))
    batch_terms = batch_sets * len(fit.terms) / len(fit)
    return TrainedL2C(settings, network, log_odds(batch_terms, batch_sets))


@dataclass(frozen=True)
class TrainedL2C:
    """g, which was trained where a pair had these log odds; f is trained for each task."""

    settings: L2C
    network: PairNetwork
    trained_odds: float

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        terms, sets = len(task.terms), task.required_k
        if terms < 2 or sets < 2:
            yield from (np.zeros(terms, dtype=np.int64) for _ in choices)
            return
        matrix = task.views.table("vectors").select(task.terms)
        x = _inputs(matrix, self.network.device)
        shift = log_odds(terms, sets) - self.trained_odds
        together = pair_logits(self.network, x).add_(shift).sigmoid_()  # (terms, terms)
        for choice in choices:
            starts = [
                self._sort(x, together, sets, choice["weight"], [task.seed, start])
                for start in range(self.settings.restarts)
            ]
            yield min(starts, key=lambda start: start[0])[1]

    def _sort(
        self, x: Tensor, together: Tensor, sets: int, weight: float, seeds: list[int]
    ) -> tuple[float, Labels]:
        """One training of f: its last loss and the labels."""
        settings, (terms, dimension) = self.settings, x.shape
        rows_at_once = max(PAIRS_AT_ONCE // terms, 1)
        with _seed_torch(seeds, x.device):
            network = nn.Sequential(
                nn.Linear(dimension, settings.cluster_size),
                nn.ReLU(),
                nn.Linear(settings.cluster_size, sets),
            ).to(x.device)
            optimizer = torch.optim.Adam(network.parameters(), lr=settings.cluster_rate)
            for _ in range(settings.cluster_steps):
                # Some terms against all, so that each of them meets all of its partners.
                rows = torch.randperm(terms)[:rows_at_once].to(x.device)
                optimizer.zero_grad()
                loss = likelihood_loss(network(x).softmax(dim=1), together, rows, weight=weight)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        with torch.inference_mode():
            assigned = network(x).softmax(dim=1)
            total = 0.0
            for start in range(0, terms, rows_at_once):
                rows = torch.arange(start, min(start + rows_at_once, terms), device=x.device)
                loss = likelihood_loss(assigned, together, rows, weight=weight)
                total += float(loss) * len(rows)
            return total / terms, assigned.argmax(dim=1).cpu().numpy()


class PairNetwork(nn.Module):
    """g(a, b): the log odds that two terms are synonyms, the same in both orders.

    A term is described by its vector and by what a small network makes of it. A pair is described
    by |a − b| and a ∘ b of both, which do not know which term came first.
    """

    def __init__(self, *, dimension: int, embed_size: int, pair_size: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(dimension, embed_size),
            nn.ReLU(),
            nn.Linear(embed_size, embed_size),
        )
        self.judge = nn.Sequential(
            nn.Linear(2 * (embed_size + dimension), pair_size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(pair_size, 1),
        )

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def describe(self, x: Tensor) -> Tensor:
        """(terms, dimension) -> (terms, embed_size + dimension)."""
        return torch.cat([self.embed(x), x], dim=1)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Described terms, (rows, width) and (columns, width) -> (rows, columns)."""
        a, b = left.unsqueeze(1), right.unsqueeze(0)
        logits: Tensor = self.judge(torch.cat([(a - b).abs(), a * b], dim=-1))
        return logits.squeeze(-1)


def pair_loss(network: PairNetwork, x: Tensor, labels: Tensor) -> Tensor:
    """The mean binary log loss of all pairs of different terms: x (terms, dimension)."""
    described = network.describe(x)
    same = (labels.unsqueeze(1) == labels.unsqueeze(0)).float()
    others = 1 - torch.eye(len(x), device=x.device)
    logits = network(described, described)  # (terms, terms)
    loss = binary_cross_entropy_with_logits(logits, same, weight=others, reduction="sum")
    return loss / others.sum()


@torch.no_grad()
def pair_logits(network: PairNetwork, x: Tensor) -> Tensor:
    """g of all pairs: x (terms, dimension) -> (terms, terms), symmetric to the last bit."""
    network.eval()
    described = network.describe(x)
    terms, width = described.shape
    logits = torch.empty(terms, terms, device=x.device)
    step = max(VALUES_AT_ONCE // (2 * width * terms), 1)
    for start in range(0, terms, step):
        block = network(described[start : start + step], described[start:])
        logits[start : start + step, start:] = block
        logits[start:, start : start + step] = block.T
    return logits


def likelihood_loss(
    assigned: Tensor, together: Tensor, rows: Tensor, *, weight: float = 1.0
) -> Tensor:
    """The meta-classification likelihood of clusters given pairwise similarities.

    assigned (terms, sets) are probabilities p, together (terms, terms) the pairs' s. A pair is
    together with probability ŝ_ij = p_i · p_j, and its loss is −[w s_ij log ŝ_ij +
    (1 − s_ij) log(1 − ŝ_ij)]: the sum over j ≠ i, the mean over the terms i in `rows`.
    """
    predicted = assigned[rows] @ assigned.T  # (rows, terms)
    s = together[rows]
    apart = (1 - predicted).clamp_min(0)  # rounding can lift ŝ above 1
    loss = -(weight * s * (predicted + EPSILON).log() + (1 - s) * (apart + EPSILON).log())
    own = loss[torch.arange(len(rows), device=rows.device), rows]
    return (loss.sum() - own.sum()) / len(rows)


def log_odds(terms: float, sets: float) -> float:
    """Of a pair to be in one set, where sets are equally large; half a pair more on both sides."""
    positive = max(terms * (terms / sets - 1) / 2, 0)
    negative = max(terms * (terms - 1) / 2 - positive, 0)
    return math.log(positive + 0.5) - math.log(negative + 0.5)


def _inputs(matrix: Floats, device: torch.device) -> Tensor:
    """Directions of the vectors, with values of about 1 whatever the dimension."""
    return torch.from_numpy(unit_rows(matrix)).to(device) * math.sqrt(matrix.shape[1])


def _batches(sets: SynonymSets, size: int, random: np.random.Generator) -> Iterator[list[Labels]]:
    """Rows and labels of the terms of some sets, without end; each round in another order."""
    ends = np.cumsum(sets.sizes)
    starts = ends - sets.sizes
    size = min(size, len(sets))
    while True:
        order = random.permutation(len(sets))
        for batch in (order[i : i + size] for i in range(0, len(order) - size + 1, size)):
            rows = [np.arange(starts[i], ends[i]) for i in batch]
            yield [np.concatenate(rows), np.repeat(batch, [len(part) for part in rows])]


def _average_precision(logits: Tensor, labels: Labels) -> float:
    from sklearn.metrics import average_precision_score

    i, j = np.triu_indices(len(labels), 1)
    same = labels[i] == labels[j]
    scores = logits.cpu().numpy()[i, j]
    return float(average_precision_score(same, scores)) if same.any() else 0.0


@contextmanager
def _seed_torch(seeds: Sequence[int], device: torch.device) -> Iterator[None]:
    """Random numbers of torch from these seeds, without a trace outside."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(int(np.random.SeedSequence(seeds).generate_state(1)[0]))
        yield


def _split(settings: L2C, data: TrainingData) -> tuple[SynonymSets, SynonymSets]:
    sets = data.training
    if sum(size > 1 for size in sets.sizes) < 10:  # too few to hold some out
        return sets, sets
    share = min(settings.held_out, max(data.size, 100) / len(sets.terms))
    return sets.split(share, seed=data.seed)


def _train(
    settings: L2C,
    network: PairNetwork,
    fit: SynonymSets,
    held: SynonymSets,
    table: TermVectors,
    random: np.random.Generator,
) -> None:
    x, held_x = (_inputs(table.select(s.terms), network.device) for s in (fit, held))
    held_labels = np.array(held.labels(held.terms))
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.pair_rate)
    best, best_score, waited = network.state_dict(), -1.0, 0
    batches = _batches(fit, settings.batch_sets, random)
    for step in range(1, settings.pair_steps + 1):
        rows, labels = (torch.from_numpy(part).to(network.device) for part in next(batches))
        network.train()
        optimizer.zero_grad()
        loss = pair_loss(network, x[rows], labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % settings.check_every == 0 or step == settings.pair_steps:
            score = _average_precision(pair_logits(network, held_x), held_labels)
            waited = 0 if score > best_score else waited + 1
            if score > best_score:
                best, best_score = copy.deepcopy(network.state_dict()), score
            if waited >= settings.patience:
                break
    network.load_state_dict(best)
    network.eval()
