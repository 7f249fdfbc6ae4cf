"""Agglomerative clustering: the closest groups are joined until none are close enough.

A baseline that anyone would try first. Every term starts alone, the two closest groups become one
again and again, and a tree of these steps is cut at a distance. How far two groups are from each
other is the mean of the distances between their terms (average link) or the largest of them
(complete link).

All distances between n terms are kept, 8 bytes each and twice while the tree is built: 0.4 GB and
0.8 GB for 10,000 terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz import distance, fuzz, process
from scipy.cluster.hierarchy import fcluster, linkage

from synsetmine.baselines.base import Choice, Floats, Labels, Lesson, Problem, grid
from synsetmine.views import View, unit_rows
from synsetmine.views.strings import plain

Link: TypeAlias = Literal["average", "complete"]
Scorer: TypeAlias = Literal["ratio", "token_sort", "jaro_winkler"]
Distances: TypeAlias = npt.NDArray[np.float64]  # (n · (n - 1) / 2,), in the order of scipy's pdist

DEFAULTS: dict[View, float] = {"vectors": 0.2, "strings": 0.35, "encoder": 0.4}
THRESHOLDS = tuple(round(0.025 * step, 3) for step in range(2, 39))  # 0.05 to 0.95
_ROWS = 512  # terms whose similarities to all others are held at once


@dataclass(frozen=True, kw_only=True)
class Agglomerative:
    """Terms are as far apart as one minus their cosine, or one minus how alike their strings are.

    It learns nothing: only the distance of the cut is tuned. `scorer` compares strings, each
    case-folded and with blanks for `_`: by edits (`ratio`), by edits after their words are sorted
    (`token_sort`), or by characters in common with a bonus for a common start (`jaro_winkler`).
    """

    view: View
    link: Link = "average"
    scorer: Scorer = "ratio"
    told: bool = field(default=False, init=False)
    ordered: bool = field(default=False, init=False)

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    @property
    def choices(self) -> Sequence[Choice]:
        default = DEFAULTS[self.view]
        return grid("distance", [default, *(t for t in THRESHOLDS if t != default)])

    def learn(self, lesson: Lesson) -> Agglomerative:  # noqa: ARG002
        return self

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        order, distances = term_distances(problem, self.view, self.scorer)
        thresholds = [choice["distance"] for choice in choices]
        for labels in cut(distances, self.link, thresholds, count=len(order)):
            yield in_given_order(labels, order)


def cut(
    condensed: npt.NDArray[np.floating[Any]],
    link: Link,
    thresholds: Sequence[float],
    *,
    count: int,
) -> Iterator[Labels]:
    """Labels for each threshold, from one tree of `count` terms.

    `condensed` holds the distance of each pair once, in the order of scipy's `pdist`. Groups are
    joined up to and with the threshold.
    """
    if len(condensed) != count * (count - 1) // 2:
        raise ValueError(f"{len(condensed)} distances between {count} terms")
    if count < 2:  # no pair, no tree
        yield from (np.zeros(count, np.int64) for _ in thresholds)
        return
    tree = linkage(condensed, method=link)
    for threshold in thresholds:
        yield fcluster(tree, threshold, criterion="distance").astype(np.int64)


def term_distances(
    problem: Problem, view: View, scorer: Scorer = "ratio"
) -> tuple[npt.NDArray[np.int64], Distances]:
    """An order of the problem's terms, and the distances between them in that order.

    The order is that of what the terms look like in the view, then of their surfaces. So equal
    distances are always met in the same order, and the result is the same however the terms are
    given; only what looks the same in both may change places.
    """
    surfaces = problem.surfaces
    if view == "strings":
        strings = [plain(surface) for surface in surfaces]
        order = sorted(range(len(strings)), key=lambda i: (strings[i], surfaces[i]))
        likeness = _string_likeness([strings[i] for i in order], scorer)
    else:
        rows = unit_rows(problem.views.table(view).select(problem.terms))  # (terms, dimension)
        order = sorted(range(len(rows)), key=lambda i: (rows[i].tobytes(), surfaces[i]))
        likeness = _cosines(rows[order])
    return np.array(order, np.int64), _distances(likeness, len(order))


def condense(blocks: Iterable[Floats], count: int) -> Distances:
    """The values of all pairs in the order of scipy's `pdist`; the square would take twice that.

    Each block holds the next rows, from the column of its own first row on.
    """
    condensed = np.empty(count * (count - 1) // 2)
    filled = 0
    for block in blocks:
        for row, values in enumerate(block):
            rest = values[row + 1 :]
            condensed[filled : filled + len(rest)] = rest
            filled += len(rest)
    return condensed


def in_given_order(labels: Labels, order: npt.NDArray[np.int64]) -> Labels:
    """Labels of the terms as given, from those in the order of `term_distances`."""
    given = np.empty_like(labels)
    given[order] = labels
    return given


Likeness: TypeAlias = Callable[[int, int], Floats]  # terms start to stop, with all from start on


def _cosines(rows: Floats) -> Likeness:
    return lambda start, stop: rows[start:stop] @ rows[start:].T


def _string_likeness(strings: Sequence[str], scorer: Scorer) -> Likeness:
    compare: dict[Scorer, tuple[Any, float]] = {  # how, and what it gives to equal strings
        "ratio": (fuzz.ratio, 100),
        "token_sort": (fuzz.token_sort_ratio, 100),
        "jaro_winkler": (distance.JaroWinkler.normalized_similarity, 1),
    }
    how, most = compare[scorer]

    def likeness(start: int, stop: int) -> Floats:
        some, rest = strings[start:stop], strings[start:]
        scores: Floats = process.cdist(some, rest, scorer=how, dtype=np.float32, workers=1)
        return scores / np.float32(most)

    return likeness


def _distances(likeness: Likeness, count: int) -> Distances:
    """One minus the likeness of each pair."""
    starts = range(0, count, _ROWS)
    condensed = condense((likeness(s, min(s + _ROWS, count)) for s in starts), count)
    np.subtract(1, condensed, out=condensed)
    return np.maximum(condensed, 0, out=condensed)  # a cosine may be a little over one
