"""What a practitioner would do: learn from known synonyms how alike two names must be, then link.

A logistic regression looks at how alike two terms are in each view. Its scores of all pairs go
into average (or complete) link clustering, which is cut at a score that is tuned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError
from synsetmine.rivals.base import Choice, Floats, Labels, Task, TrainingData, grid
from synsetmine.rivals.linkage import Link, condensed_distances, cut, in_given_order
from synsetmine.rivals.svm import Rows, Table, blocks, nearest_in, training_pairs
from synsetmine.types import Term
from synsetmine.views import TermVectors, TermViews, View, unit_rows
from synsetmine.views.strings import StringView

NEIGHBOURS = 10
POSITIVES = 10_000  # at most: plenty for so few weights
LIMIT = 10.0  # scores beyond ± this count as this: one sure pair should not decide for a set
DEFAULT = -2.5
SCORES = tuple(step / 4 for step in range(-20, 17))  # -5 to 4
VALUES = 1 << 24  # features that are held at a time


@dataclass(frozen=True, kw_only=True)
class PairLinkage:
    """Logistic regression on the similarities of two terms, then linkage on its scores.

    What it sees of a pair: of each vector table and of the encoder the cosine, and how far it
    lies above the mean cosine of either term with its 10 nearest neighbours (the lower and the
    higher of the two); of strings all of `views.strings.FEATURES`. A term may have no vector in
    the second and further tables: its similarities there are 0, and a flag tells whether both
    have one. Features are standardised. Negatives are 20 for each positive, half of them hard: near
    in the tables and in their character n-grams.

    Neighbours are looked for among the terms that are clustered. To learn it takes as many random
    training terms as will be, since the more there are, the nearer the nearest ones.

    A score is the log-odds that a pair are synonyms, between -10 and 10. The distance of two
    terms is 10 - score, so the average link joins sets while their mean score is at least `score`.
    """

    views: tuple[View, ...] = ("vectors",)
    link: Link = "average"
    needs_k: ClassVar[bool] = False
    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.views or not set(self.views) <= set(get_args(View)):
            raise DataError(f"views are some of {', '.join(get_args(View))}", value=self.views)

    @property
    def needs(self) -> frozenset[View]:
        return frozenset(self.views)

    @property
    def choices(self) -> Sequence[Choice]:
        return grid("score", [DEFAULT, *(score for score in SCORES if score != DEFAULT)])

    def fit(self, data: TrainingData) -> LearnedPairs:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        terms = data.training.terms
        rng = np.random.default_rng([data.seed, 1])
        pool = np.sort(rng.choice(len(terms), min(data.size, len(terms)), replace=False))
        parts = _parts(terms, self.needs, data.views, pool)
        tables = [*map(_table, parts)]
        pairs = training_pairs(data.training, tables, most=POSITIVES, seed=data.seed)
        columns = [part.pairs(pairs.left, pairs.right) for part in parts]
        features = np.concatenate(columns, axis=1, dtype=np.float64)  # (pairs, features)
        scaler = StandardScaler().fit(features)
        regression = LogisticRegression(max_iter=1000).fit(scaler.transform(features), pairs.same)
        weights = regression.coef_[0] / scaler.scale_
        ends = np.cumsum([part.shape[1] for part in columns])[:-1]
        return LearnedPairs(
            needs=self.needs,
            link=self.link,
            weights=tuple(np.split(weights.astype(np.float32), ends)),
            bias=float(regression.intercept_[0] - weights @ scaler.mean_),
        )


@dataclass(frozen=True, kw_only=True)
class LearnedPairs:
    """A pair's score is `bias` and the weighted sum of its similarities."""

    needs: frozenset[View]
    link: Link
    weights: tuple[Floats, ...]  # one array for each table, and one for strings
    bias: float

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
        tables = [table for table, _ in _tables(self.needs, task.views)]
        order = _own_order(task.terms, tables)
        terms = [task.terms[row] for row in order]
        scores = self.scores(terms, task.views)
        distances = np.subtract(LIMIT, np.clip(scores, -LIMIT, LIMIT, out=scores), out=scores)
        thresholds = [LIMIT - choice["score"] for choice in choices]
        for labels in cut(distances, self.link, thresholds, count=len(terms)):
            yield in_given_order(labels, order)

    def scores(self, terms: Sequence[Term], views: TermViews) -> npt.NDArray[np.float64]:
        """The scores of all pairs of terms, in the order of scipy's `pdist`."""
        count = len(terms)
        parts = _parts(terms, self.needs, views, np.arange(count))
        if len(parts) != len(self.weights):
            problem = f"learned from {len(self.weights)} tables and strings"
            raise DataError(f"{problem}, but there are others here", value=len(parts))
        slices = blocks(count, count * max(map(len, self.weights)), most=VALUES)
        return condensed_distances((self._block(parts, rows, count) for rows in slices), count)

    def _block(self, parts: Sequence[TableView | StringView], rows: slice, count: int) -> Floats:
        """Some rows against all from the first of them on."""
        some, rest = np.arange(rows.start, rows.stop), np.arange(rows.start, count)
        found = np.full((len(some), len(rest)), self.bias, np.float32)
        for part, weights in zip(parts, self.weights, strict=True):
            found += part.block(some, rest) @ weights
        return found


@dataclass(frozen=True, eq=False)
class TableView:
    """How alike terms are in one table of vectors; its two ways in are those of `StringView`."""

    unit: Floats  # (terms, dimension), rows of length one; zeros where a term has no vector
    density: Floats  # (terms,), the mean cosine of each with its nearest neighbours
    known: npt.NDArray[np.bool_] | None  # (terms,); None where all must have vectors

    def pairs(self, left: Rows, right: Rows) -> Floats:
        cosine = np.empty(len(left), np.float32)
        for part in blocks(len(left), self.unit.shape[1]):
            np.einsum("pd,pd->p", self.unit[left[part]], self.unit[right[part]], out=cosine[part])
        return self._signals(cosine, left, right)

    def block(self, rows: Rows, columns: Rows) -> Floats:
        return self._signals(self.unit[rows] @ self.unit[columns].T, rows[:, None], columns)

    def _signals(self, cosine: Floats, left: Rows, right: Rows) -> Floats:
        ours, theirs = self.density[left], self.density[right]
        above = [cosine - np.maximum(ours, theirs), cosine - np.minimum(ours, theirs)]
        signals = np.stack([cosine, *above], axis=-1)
        if self.known is None:
            return signals
        both = (self.known[left] & self.known[right])[..., None]
        return np.concatenate([signals * both, both], axis=-1, dtype=np.float32)


def _parts(
    terms: Sequence[Term], needs: frozenset[View], views: TermViews, pool: Rows
) -> list[TableView | StringView]:
    """The terms in each view; a term's neighbours are looked for in the pool."""
    parts: list[TableView | StringView] = []
    for table, complete in _tables(needs, views):
        known = np.array([complete or term in table for term in terms], np.bool_)
        wanted = [term for term, there in zip(terms, known, strict=True) if there]
        unit = np.zeros((len(terms), table.dimension), np.float32)
        unit[known] = unit_rows(table.select(wanted))
        parts.append(TableView(unit, _density(unit, pool), None if complete else known))
    if "strings" in needs:
        parts.append(StringView([term.surface for term in terms]))
    return parts


def _tables(needs: frozenset[View], views: TermViews) -> list[tuple[TermVectors, bool]]:
    """The tables of the views, and whether each must know every term."""
    tables = []
    if "vectors" in needs:
        tables = [(views.table("vectors"), True), *((table, False) for table in views.vectors[1:])]
    if "encoder" in needs:
        tables.append((views.table("encoder"), True))
    return tables


def _density(unit: Floats, pool: Rows) -> Floats:
    itself = (np.arange(len(unit)), pool)
    _, cosine = nearest_in(unit[pool], unit, NEIGHBOURS, groups=itself)
    there = np.isfinite(cosine)
    total = np.where(there, cosine, 0).sum(axis=1)
    density: Floats = total / np.maximum(there.sum(axis=1), 1).astype(np.float32)
    return density


def _table(part: TableView | StringView) -> Table:
    return part.unit if isinstance(part, TableView) else part.ngrams


def _own_order(terms: Sequence[Term], tables: Sequence[TermVectors]) -> Rows:
    """An order that depends on what the terms look like only, so that ties do not depend on it."""

    def look(row: int) -> tuple[str, *tuple[bytes, ...]]:
        term = terms[row]
        vectors = [table.select([term]).tobytes() if term in table else b"" for table in tables]
        return (term.surface, *vectors)

    return np.array(sorted(range(len(terms)), key=look), np.int64)
