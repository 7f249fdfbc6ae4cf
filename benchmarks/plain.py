"""The plain programs that the benchmarks compare with, written as one would first write them.

Both re-encode and re-score everything as padded batches, as the authors' released program does.
"""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from synsetmine.models.paper.network import SetScorer

PADDED_TO = 100  # the released program pads every training set to this many terms


def plain_generation(
    scorer: SetScorer, matrix: npt.NDArray[np.float32], threshold: float = 0.5
) -> list[list[int]]:
    """Algorithm 1: for each term, all sets so far as one padded batch."""
    scorer.eval()
    embedding = _embedding(matrix)
    sets: list[list[int]] = []
    for term in range(1, len(matrix) + 1):
        best = _joined(scorer, embedding, sets, term, threshold)
        if best is None:
            sets.append([term])
        else:
            sets[best].append(term)
    return [[term - 1 for term in members] for members in sets]


def count_wrong_steps(
    scorer: SetScorer,
    matrix: npt.NDArray[np.float32],
    result: list[list[int]],
    every: int,
    threshold: float = 0.5,
) -> int:
    """Steps of the plain program, one in `every`, that do not lead to this result.

    Each begins with the sets that the result has before its term, so that a result without a wrong
    step is that of the whole program.
    """
    scorer.eval()
    embedding = _embedding(matrix)
    home = {term + 1: number for number, members in enumerate(result) for term in members}
    wrong = 0
    for last in range(every, len(matrix) + 1, every):
        before: dict[int, list[int]] = {}  # in the order in which the sets were opened
        for term in range(1, last):
            before.setdefault(home[term], []).append(term)
        best = _joined(scorer, embedding, [*before.values()], last, threshold)
        joined = home[last] if home[last] in before else None
        wrong += joined != (None if best is None else [*before][best])
    return wrong


def _joined(
    scorer: SetScorer,
    embedding: nn.Embedding,
    sets: list[list[int]],
    term: int,
    threshold: float,
) -> int | None:
    """The set that a term joins; None where it opens one."""
    if not sets:
        return None
    batch = _pad(sets, max(map(len, sets)))
    joined = torch.cat([torch.full((len(sets), 1), term), batch], dim=1)
    gain = _q(scorer, embedding, joined) - _q(scorer, embedding, batch)
    probabilities = torch.sigmoid(gain).tolist()
    best = max(range(len(sets)), key=probabilities.__getitem__)
    return best if probabilities[best] > threshold else None


def plain_epoch(
    scorer: SetScorer,
    matrix: npt.NDArray[np.float32],
    sets: list[list[int]],
    *,
    negatives: int,
    batch_sets: int,
) -> None:
    """One epoch: pairs drawn one by one, each pair's set encoded and scored by itself."""
    scorer.train()
    embedding = _embedding(matrix)
    optimizer = torch.optim.Adam(scorer.parameters(), lr=1e-4, amsgrad=True)
    loss_of = nn.BCEWithLogitsLoss()
    vocabulary = [term for members in sets for term in members]
    for start in range(0, len(sets), batch_sets):
        subsets, terms, labels = [], [], []
        for members in sets[start : start + batch_sets]:
            others = [term for term in vocabulary if term not in members]
            for i, negative in enumerate([0, *random.sample(others, negatives)]):
                shuffled = random.sample(members, len(members))
                size = random.randint(1, len(members) - 1)  # noqa: S311
                subsets.append(shuffled[1 : 1 + size])
                terms.append(negative if i else shuffled[0])
                labels.append(float(i == 0))
        batch = _pad(subsets, PADDED_TO)
        sums = _sums(scorer, embedding, batch)
        alone = scorer.score(sums)
        joined = scorer.score(sums + scorer.embed(embedding(torch.tensor(terms))))
        loss = loss_of(joined - alone, torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def _embedding(matrix: npt.NDArray[np.float32]) -> nn.Embedding:
    rows = torch.cat([torch.zeros(1, matrix.shape[1]), torch.from_numpy(np.array(matrix))])
    embedding = nn.Embedding(*rows.shape)
    embedding.weight = nn.Parameter(rows, requires_grad=False)
    return embedding


def _pad(sets: list[list[int]], width: int) -> Tensor:
    batch = np.zeros((len(sets), width), dtype=np.int64)
    for row, members in enumerate(sets):
        batch[row, : len(members)] = members
    return torch.from_numpy(batch)


def _sums(scorer: SetScorer, embedding: nn.Embedding, batch: Tensor) -> Tensor:
    return scorer.pool(scorer.embed(embedding(batch)), (batch != 0).float())


def _q(scorer: SetScorer, embedding: nn.Embedding, batch: Tensor) -> Tensor:
    return scorer.score(_sums(scorer, embedding, batch))
