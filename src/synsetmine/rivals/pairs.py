"""Learn from training sets which pairs of terms are synonyms, then cluster by that.

An SVM with Louvain's communities, as the paper compares, and what a practitioner would do: a
logistic regression on how alike two terms are in each view, then linkage on its scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError
from synsetmine.rivals.base import Choice, ClusteringTask, Floats, Labels, TrainingData, grid
from synsetmine.rivals.communities import louvain
from synsetmine.rivals.linkage import Link, condensed_distances, cut, in_given_order
from synsetmine.types import SynonymSets, Term
from synsetmine.views import StringView, TermVectors, TermViews, View, unit_rows

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
    may occur twice.
    """
    rng = np.random.default_rng([seed, 0])
    sizes = np.array(training.sizes, np.int64)
    left, right = _positives(sizes, most, rng)
    if not len(left) or len(sizes) < 2:
        raise DataError("learning needs two training sets and two terms in one of them")
    anchors = np.where(rng.random(len(left)) < 0.5, left, right)
    others = _random_others(np.repeat(anchors[:, None], negatives, axis=1), sizes, rng)
    for turn, table in enumerate(tables):
        columns = np.arange(turn, negatives // 2, len(tables))
        _fill(others, columns, anchors, table, sizes, rng)
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
        products = queries[rows] @ pool.T
        similar = products if isinstance(products, np.ndarray) else products.toarray()
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


def _positives(sizes: Rows, most: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Pairs of rows within sets, whose terms are consecutive."""
    ends = np.cumsum(sizes * (sizes - 1) // 2)
    total = int(ends[-1]) if len(ends) else 0
    numbers = np.arange(total)
    if total > most:
        numbers = np.sort(rng.choice(total, most, replace=False, shuffle=False))
    owner = np.searchsorted(ends, numbers, side="right")
    within = numbers - np.append(0, ends)[owner]
    # The pairs of a set in the order (0, 1), (0, 2), (1, 2), (0, 3), ...: number = b(b-1)/2 + a.
    second = ((1 + np.sqrt(1 + 8 * within)) // 2).astype(np.int64)
    first = within - second * (second - 1) // 2
    start = np.append(0, np.cumsum(sizes))[owner]
    return start + first, start + second


def _random_others(anchors: Rows, sizes: Rows, rng: np.random.Generator) -> Rows:
    """For each anchor a term of another set; each of them is as likely as the next."""
    ends = np.cumsum(sizes)
    owner = np.searchsorted(ends, anchors, side="right")
    start, size = (ends - sizes)[owner], sizes[owner]
    drawn: Rows = rng.integers(0, ends[-1] - size)
    return drawn + np.where(drawn >= start, size, 0)  # steps over the anchor's own set


def _fill(
    others: Rows,
    columns: Rows,
    anchors: Rows,
    table: Table,
    sizes: Rows,
    rng: np.random.Generator,
) -> None:
    """Put hard negatives of one table in these columns of `others`."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    pool = np.arange(len(labels))
    if len(pool) > POOL:
        pool = np.sort(rng.choice(pool, POOL, replace=False))
    queries, of_anchor = np.unique(anchors, return_inverse=True)
    index, cosine = nearest_in(
        table[pool], table[queries], 2 * len(columns), groups=(labels[queries], labels[pool])
    )
    order = rng.random((len(anchors), index.shape[1])).argsort(axis=1)[:, : len(columns)]
    rows = np.take_along_axis(index[of_anchor], order, axis=1)
    hard = np.take_along_axis(cosine[of_anchor], order, axis=1) > 0
    filled = columns[: order.shape[1]]  # fewer where there are hardly any terms
    others[:, filled] = np.where(hard, pool[rows], others[:, filled])


# Below 0 too: where vectors are poor, hardly a pair of the many others' side crosses the border.
BARS = (0.0, *(-tenth / 10 for tenth in range(1, 9)), 0.5, 1.0, 1.5, 2.0)
EDGES = 20  # for each term on average at most; a denser graph shows no sets
COMPONENTS = 300  # of the approximate RBF kernel
POSITIVES = {"linear": 10_000, "rbf": 3_000}  # at most; with more it learns for many minutes
VALUES = 1 << 22  # features that are held at a time
BATCH = 256  # rows of the square of all pairs whose edges are kept before the least certain go

Edges: TypeAlias = npt.NDArray[np.int64]  # (edges, 2)
Kernel: TypeAlias = Literal["linear", "rbf"]


@dataclass(frozen=True, kw_only=True)
class SvmLouvain:
    """A support vector machine says which pairs are synonyms; Louvain finds sets in their graph.

    With a and b the vectors of two terms at length one, a pair's features are |a - b|, a * b
    (both for each dimension) and the cosine, standardised. For each pair of synonyms there are 20
    others, half of them hard. The RBF kernel is Nystroem's approximation with 300 components. A
    pair becomes an edge when its distance from the border, negative on the wrong side, is above
    `bar`. Of more edges than 20 times the terms only the most certain ones stay.
    """

    kernel: Kernel = "linear"
    C: float = 1.0
    needs: ClassVar[frozenset[View]] = frozenset({"vectors"})
    needs_k: ClassVar[bool] = False
    depends_on_order: ClassVar[bool] = True

    @property
    def choices(self) -> Sequence[Choice]:
        return grid("bar", BARS)

    def fit(self, data: TrainingData) -> LearnedSvm:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import LinearSVC

        unit = unit_rows(data.views.table("vectors").select(data.training.terms))
        most = POSITIVES[self.kernel]
        pairs = training_pairs(data.training, [unit], most=most, seed=data.seed)
        features = pair_features(unit[pairs.left], unit[pairs.right])
        steps: list[Any] = [StandardScaler().fit(features)]
        features = steps[0].transform(features)
        if self.kernel == "rbf":
            distinct = np.unique(features, axis=0)  # two equal centres would make it very inexact
            components, gamma = min(COMPONENTS, len(distinct)), 1 / features.shape[1]
            kernel = Nystroem(gamma=gamma, n_components=components, random_state=data.seed)
            steps.append(kernel.fit(distinct))
            features = kernel.transform(features)
        svm = LinearSVC(C=self.C, dual=False).fit(features, pairs.same)
        return LearnedSvm(make_pipeline(*steps, svm))


@dataclass(frozen=True, eq=False)
class LearnedSvm:
    """The border between synonyms and others; `model` is a fitted classifier of scikit-learn."""

    model: Any

    def distance(self, features: Floats) -> Floats:
        """How far pairs are from the border, in the SVM's own measure; positive for synonyms."""
        distance: Floats = self.model.decision_function(features).astype(np.float32)
        return distance

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        unit = unit_rows(task.views.table("vectors").select(task.terms))
        lowest = min((choice["bar"] for choice in choices), default=0.0)
        edges, margins = self.edges(unit, lowest)
        for choice in choices:
            yield louvain(len(unit), edges[margins > choice["bar"]], seed=task.seed)

    def edges(self, unit: Floats, bar: float) -> tuple[Edges, Floats]:
        """The most certain pairs i < j above the bar, and how far they are from the border."""
        edges, margins = np.empty((0, 2), np.int64), np.empty(0, np.float32)
        parts: list[tuple[Edges, Floats]] = []
        for first in range(len(unit) - 1):
            for part in blocks(len(unit) - first - 1, 2 * unit.shape[1] + 1, most=VALUES):
                features = pair_features(unit[first], unit[first + 1 :][part])
                distance = self.distance(features)
                above = np.flatnonzero(distance > bar)
                later = above + first + 1 + part.start
                pairs = np.column_stack([np.full_like(later, first), later])
                parts.append((pairs, distance[above]))
            if len(parts) >= BATCH or first == len(unit) - 2:
                edges = np.concatenate([edges, *(pairs for pairs, _ in parts)])
                margins = np.concatenate([margins, *(distances for _, distances in parts)])
                if len(edges) > (most := EDGES * len(unit)):
                    kept = np.sort(np.argpartition(margins, -most)[-most:])
                    edges, margins = edges[kept], margins[kept]
                parts = []
        return edges, margins


def pair_features(left: Floats, right: Floats) -> Floats:
    """|a - b|, a * b and the cosine of unit rows a and b: (pairs, 2 x dimension + 1)."""
    product = left * right
    cosine = product.sum(axis=-1, keepdims=True)
    return np.concatenate([np.abs(left - right), product, cosine], axis=-1)


NEIGHBOURS = 10
LINKAGE_POSITIVES = 10_000  # at most: plenty for so few weights
LIMIT = 10.0  # scores beyond ± this count as this: one sure pair should not decide for a set
DEFAULT = -2.5
SCORES = tuple(step / 4 for step in range(-20, 17))  # -5 to 4
LINKAGE_VALUES = 1 << 24  # features that are held at a time


@dataclass(frozen=True, kw_only=True)
class PairLinkage:
    """Logistic regression on the similarities of two terms, then linkage on its scores.

    What it sees of a pair: of each vector table and of the encoder the cosine, and how far it
    lies above the mean cosine of either term with its 10 nearest neighbours (the lower and the
    higher of the two); of strings all of `views.strings.FEATURES`. A term may have no vector in
    the second and further tables: its similarities there are 0, and a flag is 1 where both
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
    depends_on_order: ClassVar[bool] = False

    @property
    def needs(self) -> frozenset[View]:
        return frozenset(self.views)

    @property
    def choices(self) -> Sequence[Choice]:
        return grid("score", SCORES, default=DEFAULT)

    def fit(self, data: TrainingData) -> LearnedPairs:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        terms = data.training.terms
        rng = np.random.default_rng([data.seed, 1])
        pool = np.sort(rng.choice(len(terms), min(data.size, len(terms)), replace=False))
        parts = _parts(terms, self.needs, data.views, pool)
        tables = [part.unit if isinstance(part, TableView) else part.ngrams for part in parts]
        pairs = training_pairs(data.training, tables, most=LINKAGE_POSITIVES, seed=data.seed)
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

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
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
            raise DataError(f"{problem}; the input has different ones", value=len(parts))
        slices = blocks(count, count * max(map(len, self.weights)), most=LINKAGE_VALUES)

        def score(rows: slice) -> Floats:
            """Some rows against all from the first of them on."""
            some, rest = np.arange(rows.start, rows.stop), np.arange(rows.start, count)
            scores = np.full((len(some), len(rest)), self.bias, np.float32)
            for part, weights in zip(parts, self.weights, strict=True):
                scores += part.block(some, rest) @ weights
            return scores

        return condensed_distances(map(score, slices), count)


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
        with_row = [term for term, is_known in zip(terms, known, strict=True) if is_known]
        unit = np.zeros((len(terms), table.dimension), np.float32)
        unit[known] = unit_rows(table.select(with_row))
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
    finite = np.isfinite(cosine)
    total = np.where(finite, cosine, 0).sum(axis=1)
    density: Floats = total / np.maximum(finite.sum(axis=1), 1).astype(np.float32)
    return density


def _own_order(terms: Sequence[Term], tables: Sequence[TermVectors]) -> Rows:
    """An order that depends on what the terms look like only, so that ties do not depend on it."""

    def look(row: int) -> tuple[str, *tuple[bytes, ...]]:
        term = terms[row]
        vectors = [table.select([term]).tobytes() if term in table else b"" for table in tables]
        return (term.surface, *vectors)

    return np.array(sorted(range(len(terms)), key=look), np.int64)
