"""Naive references, written for reading: the plain algorithms that the fast ones must equal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from torch import nn

from synsetmine.model.scorer import SetScorer

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


def settled(
    odds: Vector,
    bar: float,
    *,
    seeds: Sequence[Sequence[int]] = (),
    apart: Collection[tuple[int, int]] = (),
    passes: int = 10,
) -> set[frozenset[int]]:
    """Set generation on a full matrix of odds: merges of the best two, then moves, and again."""
    seeded = {term for members in seeds for term in members}
    free = [term for term in range(len(odds)) if term not in seeded]
    sets = [*map(list, seeds), *([term] for term in free)]
    known = sets[: len(seeds)]

    def fit(left: Sequence[int], right: Sequence[int]) -> float:
        if any((a, b) in apart or (b, a) in apart for a in left for b in right):
            return 0.0
        return float(odds[np.ix_(left, right)].mean())

    for _ in range(passes):
        before = {frozenset(members) for members in sets}
        while True:
            pairs = [
                (fit(a, b) / min(len(a), len(b)) ** 0.5, i, j)
                for i, a in enumerate(sets)
                for j, b in enumerate(sets)
                if i < j and not (a in known and b in known)
            ]
            best = max(pairs, key=lambda pair: pair[0], default=(0.0, 0, 0))
            if best[0] <= np.exp(bar):
                break
            sets[best[1]] += sets.pop(best[2])
        for term in free:
            home = next(members for members in sets if term in members)
            home.remove(term)
            fits = [fit([term], members) if members else 0.0 for members in sets]
            top = int(np.argmax(fits))
            (sets[top] if fits[top] > np.exp(bar) else home if not home else _new(sets)).append(
                term
            )
            sets[:] = [members for members in sets if members]
        if {frozenset(members) for members in sets} == before:
            break
    return {frozenset(members) for members in sets}


def _new(sets: list[list[int]]) -> list[int]:
    sets.append([])
    return sets[-1]


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
