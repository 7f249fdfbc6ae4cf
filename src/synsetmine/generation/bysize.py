"""Set generation at the bar that fits how large sets turn out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from synsetmine.generation.mined import Outcome, log_odds
from synsetmine.generation.parts import Numbers, mine_graph
from synsetmine.model.viewscorer import Bar
from synsetmine.trace import Action
from synsetmine.workers import WorkerPool

ROUNDS = 8  # at most, in which the bar and the size of sets find each other
CLOSE = 0.05  # bars that differ by less are one


def mine_by_size(
    graph: Any,
    count: int,
    bar: Bar,
    *,
    threshold: float = 0.5,
    seeds: Sequence[Sequence[int]] = (),
    apart: Sequence[tuple[int, int]] = (),
    max_sets: float = math.inf,
    pool: WorkerPool | None = None,
) -> Outcome:
    """The sets of the first `count` terms, at the bar that fits how large sets turn out.

    A threshold of 0.5 is that bar; others are above or below it by their log odds.
    """
    above = log_odds(threshold)
    level = bar.at
    for left in reversed(range(ROUNDS)):
        set_of = mine_graph(
            graph, count, level + above, seeds=seeds, apart=apart, max_sets=max_sets, pool=pool
        )
        following = bar.for_size(len(set_of) / max(int(set_of.max(initial=-1)) + 1, 1))
        if not left or abs(following - level) < CLOSE or not math.isfinite(above):
            break
        level = following
    decisions = _decisions(graph, count, set_of, apart, level, level + above)
    return Outcome(_members(set_of), decisions)


def _members(set_of: Numbers) -> list[list[int]]:
    order = np.argsort(set_of, kind="stable")
    ends = np.cumsum(np.bincount(set_of))
    return [part.tolist() for part in np.split(order, ends[:-1])] if len(order) else []


def _decisions(
    graph: Any,
    count: int,
    set_of: Numbers,
    apart: Sequence[tuple[int, int]],
    level: float,
    bar: float,
) -> list[tuple[int, float, Action]]:
    """Of each term: its set, or the best other one if it is alone; how far above the level."""
    sizes = np.bincount(set_of, minlength=1)
    together = sizes[set_of[:count]] > 1
    best, fit = _best_sets(graph, count, set_of, sizes, apart)
    found: list[tuple[int, float, Action]] = []
    for number, log_mean, has_company in zip(
        best.tolist(), fit.tolist(), together.tolist(), strict=True
    ):
        action: Action = "opened" if not has_company else "joined" if log_mean > bar else "forced"
        found.append((number, log_mean - level, action))
    return found


def _best_sets(
    graph: Any, count: int, set_of: Numbers, sizes: Numbers, apart: Sequence[tuple[int, int]]
) -> tuple[Numbers, Any]:
    """For each term its own set, or of one alone the set that fits best (-1: none); the fit."""
    some = graph[:count]
    rows = np.repeat(np.arange(count), np.diff(some.indptr))
    columns = set_of[some.indices]
    own = set_of[rows]
    looked_at = (columns == own) | (sizes[own] == 1)
    if apart:  # a set that a term may not be in is not its best
        ends = np.array(apart, np.int64)
        ends = np.concatenate([ends, ends[:, ::-1]])  # (pairs both ways, 2)
        refused = ends[:, 0] * (len(sizes) + 1) + set_of[ends[:, 1]]
        looked_at &= ~np.isin(rows * (len(sizes) + 1) + columns, refused)
    keys = rows[looked_at] * (len(sizes) + 1) + columns[looked_at]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    odds = some.data[looked_at][order].astype(np.float64)
    totals = np.add.reduceat(odds, starts) if len(starts) else odds
    rows, columns = np.divmod(keys[order[starts]], len(sizes) + 1)
    means = totals / (sizes[columns] - (columns == set_of[rows]))
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    highest = np.maximum.reduceat(means, starts) if len(starts) else means
    equal = np.flatnonzero(means == np.repeat(highest, np.diff(starts, append=len(rows))))
    first = equal[np.diff(rows[equal], prepend=-1) > 0]  # the best of each row
    best = np.where(sizes[set_of[:count]] > 1, set_of[:count], -1)
    fit = np.full(count, -np.inf)
    above = first[means[first] > 0]
    best[rows[above]] = columns[above]
    fit[rows[above]] = np.log(means[above])
    return best, fit
