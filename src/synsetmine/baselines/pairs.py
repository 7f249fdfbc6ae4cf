"""Pairs of terms to learn from: synonyms, terms that look like them but are none, and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.baselines.base import Floats, Labels
from synsetmine.errors import DataError
from synsetmine.types import SynonymSets

Rows: TypeAlias = npt.NDArray[np.int64]
Table: TypeAlias = Any  # (terms, dimension), rows of length one: a float32 array or a sparse one

POOL = 20_000  # terms among which the hard negatives are looked for
BLOCK = 1 << 24  # similarities that are held at a time


@dataclass(frozen=True)
class LabelledPairs:
    """Pairs of terms as rows of `training.terms`."""

    left: Rows
    right: Rows
    same: npt.NDArray[np.bool_]  # whether they are synonyms

    def __len__(self) -> int:
        return len(self.same)


def training_pairs(
    training: SynonymSets,
    tables: Sequence[Table] = (),
    *,
    negatives: int = 20,
    most: int = 30_000,
    seed: int = 0,
) -> LabelledPairs:
    """All pairs within the sets, at most `most` of them, and `negatives` others for each.

    One term of each positive pair is paired with half its negatives at random, and with half
    hard ones: drawn from its nearest terms of other sets, twice as many as are needed, in each
    of the tables in turn. These are looked for among all terms, or among `POOL` random ones
    where there are more. A term that is like no other in a table (such as one without a vector)
    has random ones there. Two terms of one set are never a negative pair; the same negative pair
    may stand there twice.
    """
    if negatives < 1 or most < 1:
        raise DataError("expected a number from 1 on", value=min(negatives, most))
    chance = np.random.default_rng([seed, 0])
    sizes = np.array(training.sizes, np.int64)
    left, right = _positives(sizes, most, chance)
    if not len(left) or len(sizes) < 2:
        raise DataError("learning needs two training sets and two terms in one of them")
    anchors = np.where(chance.random(len(left)) < 0.5, left, right)
    others = _random_others(np.repeat(anchors[:, None], negatives, axis=1), sizes, chance)
    for turn, table in enumerate(tables):
        places = np.arange(turn, negatives // 2, len(tables))
        _fill(others, places, anchors, table, sizes, chance)
    same = np.zeros(len(left) * (1 + negatives), np.bool_)
    same[: len(left)] = True
    return LabelledPairs(
        np.concatenate([left, np.repeat(anchors, negatives)]),
        np.concatenate([right, others.ravel()]),
        same,
    )


def nearest_in(
    pool: Table, queries: Table, count: int, *, groups: tuple[Labels, Labels]
) -> tuple[Rows, Floats]:
    """The rows of the pool with the highest cosines to each query, and these, best first.

    `groups` are labels of the queries and of the pool: what shares a query's label (itself, or
    its set) is left out. Where too few are left, what follows them has the cosine -inf.
    """
    ours, theirs = groups
    count = min(count, pool.shape[0])
    index = np.empty((queries.shape[0], count), np.int64)
    cosine = np.empty((queries.shape[0], count), np.float32)
    for rows in blocks(queries.shape[0], pool.shape[0]):
        found = queries[rows] @ pool.T
        similar = found if isinstance(found, np.ndarray) else found.toarray()  # (rows, pool)
        similar[ours[rows, None] == theirs] = -np.inf
        best = np.argpartition(similar, -count, axis=1)[:, similar.shape[1] - count :]
        values = np.take_along_axis(similar, best, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        index[rows] = np.take_along_axis(best, order, axis=1)
        cosine[rows] = np.take_along_axis(values, order, axis=1)
    return index, cosine


def blocks(rows: int, width: int, *, most: int = BLOCK) -> Iterator[slice]:
    """Slices of the rows such that each, times `width`, has at most `most` values."""
    step = max(most // max(width, 1), 1)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _positives(sizes: Rows, most: int, chance: np.random.Generator) -> tuple[Rows, Rows]:
    """Pairs of rows within sets, whose terms stand one after another."""
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    total = int(ends[-1]) if len(ends) else 0
    numbers = np.arange(total)
    if total > most:
        numbers = np.sort(chance.choice(total, most, replace=False, shuffle=False))
    owner = np.searchsorted(ends, numbers, side="right")
    within = numbers - np.append(0, ends)[owner]
    # The pairs of a set in the order (0, 1), (0, 2), (1, 2), (0, 3), ...: number = b(b-1)/2 + a.
    second = ((1 + np.sqrt(1 + 8 * within)) // 2).astype(np.int64)
    first = within - second * (second - 1) // 2
    start = np.append(0, np.cumsum(sizes))[owner]
    return start + first, start + second


def _random_others(anchors: Rows, sizes: Rows, chance: np.random.Generator) -> Rows:
    """For each anchor a term of another set; each of them is as likely as the next."""
    ends = np.cumsum(sizes)
    owner = np.searchsorted(ends, anchors, side="right")
    start, size = (ends - sizes)[owner], sizes[owner]
    drawn: Rows = chance.integers(0, ends[-1] - size)
    return drawn + np.where(drawn >= start, size, 0)  # steps over the anchor's own set


def _fill(
    others: Rows,
    places: Rows,
    anchors: Rows,
    table: Table,
    sizes: Rows,
    chance: np.random.Generator,
) -> None:
    """Put hard negatives of one table in these columns of `others`."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    pool = np.arange(len(labels))
    if len(pool) > POOL:
        pool = np.sort(chance.choice(pool, POOL, replace=False))
    queries, of_anchor = np.unique(anchors, return_inverse=True)
    index, cosine = nearest_in(
        table[pool], table[queries], 2 * len(places), groups=(labels[queries], labels[pool])
    )
    order = chance.random((len(anchors), index.shape[1])).argsort(axis=1)[:, : len(places)]
    rows = np.take_along_axis(index[of_anchor], order, axis=1)
    hard = np.take_along_axis(cosine[of_anchor], order, axis=1) > 0
    filled = places[: order.shape[1]]  # fewer where there are hardly any terms
    others[:, filled] = np.where(hard, pool[rows], others[:, filled])
