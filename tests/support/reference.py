"""Naive references, written for reading: the plain algorithms that the fast ones must equal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from torch import nn

from synsetmine.models.paper.network import SetScorer

# Logits that differ by no more than this part of their scores are equal: the first set wins.
TIE = 1e-9

Vector = npt.NDArray[np.float64]


def q(scorer: SetScorer, vectors: Sequence[Vector]) -> float:
    """The set scorer of the paper, term by term in float64."""
    total = sum((_through(scorer.embed, x, last_relu=True) for x in vectors), np.zeros(1))
    return float(_through(scorer.post, total, last_relu=False)[0])


def logit(scorer: SetScorer, members: Sequence[Vector], term: Vector) -> float:
    return q(scorer, [*members, term]) - q(scorer, members)


def one_pass(
    scorer: SetScorer,
    vectors: npt.NDArray[np.float32],
    *,
    bar: float = 0.0,
    max_sets: int | None = None,
    seeds: Sequence[Sequence[int]] = (),
    skip: int = 0,
    apart: Collection[tuple[int, int]] = (),
) -> list[list[int]]:
    """Algorithm 1 of the paper: sets of row numbers, in the order in which they were opened.

    `bar` is the threshold as a logit; rows from `skip` on are seeds only. Rows that are `apart`
    are not put into one set.
    """
    rows = [row.astype(np.float64) for row in vectors]
    every = [list(members) for members in seeds]
    for t in range(len(rows) - skip):
        sets = [m for m in every if not any((o, t) in apart or (t, o) in apart for o in m)]
        scores = [
            (
                q(scorer, [*(rows[m] for m in members), rows[t]]),
                q(scorer, [rows[m] for m in members]),
            )
            for members in sets
        ]
        full = max_sets is not None and len(every) >= max_sets
        if not scores:
            every.append([t])
            continue
        logits = [joined - alone for joined, alone in scores]
        sizes = [max(abs(joined), abs(alone), 1) for joined, alone in scores]
        top = max(range(len(sets)), key=logits.__getitem__)
        best = next(
            j
            for j, value in enumerate(logits)
            if value >= logits[top] - TIE * max(sizes[j], sizes[top])
        )
        if logits[top] > bar + TIE * sizes[top] or full:
            sets[best].append(t)
        else:
            every.append([t])
    return every


def _through(transformer: nn.Sequential, x: Vector, *, last_relu: bool) -> Vector:
    linears = [module for module in transformer if isinstance(module, nn.Linear)]
    for i, linear in enumerate(linears):
        weight = linear.weight.detach().cpu().numpy().astype(np.float64)
        x = np.array([float(row @ x) for row in weight])
        if linear.bias is not None:
            x = x + linear.bias.detach().cpu().numpy().astype(np.float64)
        if last_relu or i < len(linears) - 1:
            x = np.maximum(x, 0)
    return x
