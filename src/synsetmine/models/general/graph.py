"""The graph of a vocabulary: the probabilities of its near pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.models.general.features import Positions, pair_keys
from synsetmine.models.general.linkage import LEAST, MOST
from synsetmine.types import Progress

LogOdds: TypeAlias = npt.NDArray[np.float32]
# The log-odds of the pairs left[i], right[i].
Compare: TypeAlias = Callable[[Positions, Positions, Progress | None], LogOdds]

ROWS = 1 << 16  # of the graph that are looked at, at a time


def pair_graph(
    count: int,
    left: Positions,
    right: Positions,
    compare: Compare,
    progress: Progress | None = None,
) -> Any:
    """The probabilities of candidate pairs, and of pairs with a likely common partner.

    The candidates are those of `NameFeatures.candidates`: in order, the smaller position first.
    Those below `LEAST` are left out. The graph is a scipy.sparse.csr_array (count, count).
    """
    from scipy import sparse

    log_odds = compare(left, right, progress)
    new = two_steps(left, right, log_odds > 0, count)
    log_odds = np.concatenate([log_odds, compare(*new, None)])
    values = np.minimum(sigmoid(log_odds), MOST).astype(np.float32)
    near = values >= LEAST
    rows = np.concatenate([left, new[0]])[near].astype(np.int32)
    columns = np.concatenate([right, new[1]])[near].astype(np.int32)
    upper = sparse.csr_array((values[near], (rows, columns)), shape=(count, count))
    return sparse.csr_array(upper + upper.T)


def two_steps(
    left: Positions, right: Positions, likely: npt.NDArray[np.bool_], count: int
) -> tuple[Positions, Positions]:
    """The pairs that are no candidates and have a common partner by likely pairs, in order."""
    from scipy import sparse

    ones = np.ones(np.count_nonzero(likely), np.float32)
    links = sparse.csr_array((ones, (left[likely], right[likely])), shape=(count, count))
    links = sparse.csr_array(links + links.T)
    candidates = pair_keys(left, right, count)
    parts = [np.zeros(0, np.int64)]
    for start, stop in blocks(count):
        steps = sparse.coo_array(links[start:stop] @ links)
        row, column = steps.row.astype(np.int64) + start, steps.col
        keys = row[row < column] * count + column[row < column]
        keys.sort()
        place = np.searchsorted(candidates, keys)
        known = place < len(candidates)
        known[known] = candidates[place[known]] == keys[known]
        parts.append(keys[~known])
    new = np.concatenate(parts)
    return new // max(count, 1), new % max(count, 1)


def blocks(count: int) -> Iterator[tuple[int, int]]:
    """The start and the end of each block of rows."""
    for start in range(0, count, ROWS):
        yield start, min(start + ROWS, count)


def sigmoid(logits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):
        values: npt.NDArray[Any] = 1 / (1 + np.exp(-logits))
    return values
