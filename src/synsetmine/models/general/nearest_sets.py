"""The known sets that new names may belong to, where these are too few for a rehearsal.

f(S, t) is the set function over the pairs of t with all names of S. If the corpus defines t as a
name of S, or a name of S differs from t in form alone, f is at least that of this pair: other
names of S, less like t, say nothing against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from synsetmine.models.general.features import Positions
from synsetmine.models.general.linkage import MOST, SetFunction, sigmoid
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pair_evidence import DOUBTFUL, RULED_OUT, Meanings, Statements
from synsetmine.models.known import Doubles, Truth
from synsetmine.text.kinds import pair_kind
from synsetmine.types import VARIANTS

MAIN = 0.5  # share of an abbreviation's definitions that decide what it means

LogOdds: TypeAlias = Callable[[Positions, Positions], Floats]
NearSet: TypeAlias = tuple[int, int, float, int]  # new name, set, f, nearest name of the set


def nearest_sets(
    names: Sequence[str],  # the known ones first
    labels: Positions,  # (known names,): the set of each, in ascending order
    candidates: tuple[Positions, Positions],  # pairs of near names, the smaller position first
    log_odds: LogOdds,
    function: SetFunction,
    meanings: Meanings,
    statements: Statements | None,
) -> Iterator[NearSet]:
    """The known sets near each new name, the likeliest first."""
    left, right = candidates
    if statements is not None:
        defined = np.array(statements.definitions(), np.int64).reshape(-1, 2)
        left = np.concatenate([left, defined.min(axis=1)])
        right = np.concatenate([right, defined.max(axis=1)])
    mixed = (left < len(labels)) & (right >= len(labels))
    if not mixed.any():
        return
    entries = np.unique(np.stack([right[mixed], labels[left[mixed]]]), axis=1)
    entries = entries[:, ~meanings.rule_out([names[i] for i in entries[0].tolist()], entries[1])]
    first, last = (np.searchsorted(labels, entries[1], side) for side in ("left", "right"))
    sizes = last - first
    starts = sizes.cumsum() - sizes
    query = np.repeat(entries[0], sizes)
    member = np.repeat(first - starts, sizes) + np.arange(len(query))
    if not len(query):
        return
    odds = log_odds(member, query)
    values = np.minimum(sigmoid(odds.astype(np.float64)), MOST)
    values, decided = _by_definitions(values, names, member, query, odds, statements)
    logits = function.logits(np.add.reduceat(values, starts), sizes)
    alone = np.where(decided, function.logits(values, 1), -np.inf)
    logits = np.maximum(logits, np.maximum.reduceat(alone, starts))
    ruled_out = np.logical_or.reduceat(odds <= RULED_OUT, starts)
    ruled_out &= ~np.logical_or.reduceat(decided, starts)
    entry = np.repeat(np.arange(len(sizes)), sizes)
    best = np.lexsort((-values, entry))[starts]
    for i in np.lexsort((entries[1], -logits, entries[0])).tolist():
        if not ruled_out[i]:
            f = float(sigmoid(logits[i]))
            yield int(entries[0, i]), int(entries[1, i]), f, int(member[best[i]])


def _by_definitions(
    values: Doubles,
    names: Sequence[str],
    left: Positions,
    right: Positions,
    log_odds: Floats,
    statements: Statements | None,
) -> tuple[Doubles, Truth]:
    """The probabilities of pairs, and which of them decide alone.

    An abbreviation means one of its long forms no more often than the corpus defines it so.
    """
    values, decided = values.copy(), np.zeros(len(values), np.bool_)
    for pair in np.flatnonzero(log_odds >= DOUBTFUL).tolist():
        one, other = int(left[pair]), int(right[pair])
        share = statements.share(one, other) if statements is not None else None
        if share is None:
            decided[pair] = pair_kind(names[one], names[other]) in VARIANTS
        else:
            values[pair] = min(values[pair], share)
            decided[pair] = share >= MAIN
    return values, decided
