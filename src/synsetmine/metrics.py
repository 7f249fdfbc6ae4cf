"""Measures of a clustering against true sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, eye_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from synsetmine.errors import DataError
from synsetmine.types import SetsLike, SynonymSets

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]


def best_matching(row: IntArray, column: IntArray, weight: FloatArray) -> list[float]:
    """The weights of the edges (row, column) in a matching of the greatest total weight.

    Always exact. An edge that weighs at least as much as the best other edge of its row and the
    best other edge of its column together can replace both, so some best matching has it. This
    alone solves most of a good prediction. The other edges go to scipy's sparse solver, which takes
    quadratic time in the number of sets for two unrelated partitions.
    """
    weights: list[float] = []
    while weight.size:
        rivals = _best_other(row, weight) + _best_other(column, weight)
        sure = np.flatnonzero(weight >= rivals)
        # Equal edges can both be sure of the same set: only one may have it.
        sure = sure[np.unique(row[sure], return_index=True)[1]]
        sure = sure[np.unique(column[sure], return_index=True)[1]]
        weights += weight[sure].tolist()
        used = np.isin(row, row[sure]) | np.isin(column, column[sure])
        row, column, weight = row[~used], column[~used], weight[~used]
        # A long chain settles only from its ends: to match it is faster than to peel it.
        if np.count_nonzero(used) * 100 < len(used):
            break
    return weights + _match(row, column, weight) if weight.size else weights


def _best_other(group: IntArray, weight: FloatArray) -> FloatArray:
    """For each edge, the greatest weight among the other edges of its group, 0 without any."""
    order = np.lexsort((-weight, group))
    ranked, starts = weight[order], np.diff(group[order], prepend=-1) > 0
    first = np.flatnonzero(starts)
    other = np.repeat(ranked[first], np.diff(first, append=len(order)))
    second = np.append(np.where(starts, 0.0, ranked)[1:], 0.0)  # 0 where the next is a new group
    other[first] = second[first]
    return other[np.argsort(order)]


def _match(row: IntArray, column: IntArray, weight: FloatArray) -> list[float]:
    """The weights of a best one-to-one matching."""
    row = np.unique(row, return_inverse=True)[1]
    column = np.unique(column, return_inverse=True)[1]
    if row.max() > column.max():  # the solver works row by row
        row, column = column, row
    shape = int(row.max()) + 1, int(column.max()) + 1
    # The solver matches every row, so each gets a column of its own that is worth nothing. Whole
    # numbers keep its sums exact, for rounding errors can make it run in circles. It ignores
    # edges of weight 0, hence the 1 on all.
    scores = coo_array((np.rint(weight * 2**40) + 1, (row, column)), shape=shape)
    table = hstack([scores, eye_array(shape[0])], format="csr")
    partner = min_weight_full_bipartite_matching(table, maximize=True)[1]
    matched: list[float] = weight[partner[row] == column].tolist()
    return matched


Labels: TypeAlias = Sequence[int] | NDArray[np.integer[Any]]


@dataclass(frozen=True, repr=False)
class ClusterReport:
    """The agreement of two partitions of the same terms; all scores are fractions, not percent."""

    ari: float  # adjusted Rand index: pair agreement above chance, below 0 if worse than chance
    fmi: float  # Fowlkes-Mallows index √(pair precision · pair recall); 0 without a shared pair
    nmi: float  # mutual information / √(H(predicted) · H(gold)), the paper's NMI
    nmi_arithmetic: float  # mutual information / mean of both entropies; equals the V-measure
    pair_precision: float  # share of the predicted synonym pairs that are gold pairs
    pair_recall: float  # share of the gold synonym pairs that are predicted
    pair_f1: float
    homogeneity: float  # 1 - H(gold | predicted) / H(gold): no predicted set mixes gold sets
    completeness: float  # 1 - H(predicted | gold) / H(predicted): no gold set is torn apart
    v_measure: float  # harmonic mean of homogeneity and completeness
    bcubed_precision: float  # mean over terms: share of its predicted set that is in its gold set
    bcubed_recall: float  # mean over terms: share of its gold set that is in its predicted set
    bcubed_f1: float
    exact_sets: int  # predicted sets that equal a gold set, sets of one included
    matching_jaccard: float  # best one-to-one matching: Σ Jaccard / the larger number of sets
    predicted_sets: int  # as compared: without ignored terms, with each missing term as a set
    gold_sets: int
    terms: int  # terms compared: all of gold's
    ignored_terms: int = 0  # predicted terms of no gold or known set, left out
    missing_terms: int = 0  # gold terms that the prediction lacks, compared as sets of one
    strayed_terms: int = 0  # gold terms in one predicted set with members of known sets
    terms_beside_ignored: int = 0  # gold terms in one predicted set with ignored terms

    def __repr__(self) -> str:
        """The first measures; `to_dict` has all."""
        shown = {name: getattr(self, name) for name in ("ari", "fmi", "pair_f1")}
        figures = ", ".join(f"{name}={value:.3f}" for name, value in shown.items())
        return f"ClusterReport({figures}, terms={self.terms}, …)"

    def to_dict(self) -> dict[str, int | float]:
        return asdict(self)


def evaluate(
    predicted: SetsLike, gold: SetsLike, *, known: SetsLike | None = None
) -> ClusterReport:
    """Compare on the terms of `gold`: other terms are left out, missing terms are sets of one.

    Sets are `SynonymSets`, results that hold some, or lists of strings.

    `known` are sets of other entities. A known set with members in a predicted set that has gold
    terms too takes part as one more term there, alone in gold: a gold term that joined another
    entity is an error in every measure. The members of a known set count once, since to put them
    together was not the task.
    """
    predicted, gold = SynonymSets.of(predicted), SynonymSets.of(gold)
    known = None if known is None else SynonymSets.of(known)
    present = [term for term in gold.terms if term in predicted]
    missing = [term for term in gold.terms if term not in predicted]
    alone = range(len(predicted), len(predicted) + len(missing))
    beside = _OtherTerms.count(predicted, gold, known)
    report = compare_labels(
        [*predicted.labels(present), *alone, *beside.known],
        [*gold.labels(present + missing), *range(len(gold), len(gold) + len(beside.known))],
    )
    return replace(
        report,
        gold_sets=len(gold),
        terms=len(gold.terms),
        missing_terms=len(missing),
        ignored_terms=beside.ignored,
        strayed_terms=beside.strayed,
        terms_beside_ignored=beside.beside_ignored,
    )


@dataclass
class _OtherTerms:
    """Terms that are not gold's, and the gold terms in one predicted set with them."""

    known: list[int] = field(default_factory=list)  # labels: one for each known set mixed in
    strayed: int = 0
    ignored: int = 0
    beside_ignored: int = 0

    @classmethod
    def count(
        cls, predicted: SynonymSets, gold: SynonymSets, known: SynonymSets | None
    ) -> _OtherTerms:
        counts = cls()
        for label, members in enumerate(predicted):
            others = [term for term in members if term not in gold]
            of_gold = len(members) - len(others)
            entities = {known.label_of(t) for t in others if t in known} if known else set()
            ignored = sum(known is None or term not in known for term in others)
            counts.ignored += ignored
            if of_gold:
                counts.known += [label] * len(entities)
                counts.strayed += of_gold if entities else 0
                counts.beside_ignored += of_gold if ignored else 0
        return counts


def compare_labels(predicted: Labels, gold: Labels) -> ClusterReport:
    """Compare two labellings of the same terms; labels are only names of sets."""
    left, right = np.asarray(predicted), np.asarray(gold)
    _check_shapes(left, right)
    for labels in (left, right):
        if not np.issubdtype(labels.dtype, np.integer):
            raise DataError("labels must be integers", value=labels[0].item())
    return _report(_Overlaps.count(left, right))


def _check_shapes(left: NDArray[Any], right: NDArray[Any]) -> None:
    if left.ndim != 1 or left.shape != right.shape:
        raise DataError(
            f"expected two label lists of equal length; got shapes {left.shape} and {right.shape}"
        )
    if not left.size:
        raise DataError("nothing to compare: there are no terms")


@dataclass(frozen=True)
class _Overlaps:
    """The contingency table, sparse: one entry for each predicted and gold set that overlap."""

    row: IntArray  # (overlaps,) the predicted set
    column: IntArray  # (overlaps,) the gold set
    shared: IntArray  # (overlaps,) |predicted ∩ gold|
    predicted_sizes: IntArray  # (predicted sets,)
    gold_sizes: IntArray  # (gold sets,)

    @classmethod
    def count(cls, predicted: IntArray, gold: IntArray) -> _Overlaps:
        _, rows, predicted_sizes = np.unique(predicted, return_inverse=True, return_counts=True)
        _, columns, gold_sizes = np.unique(gold, return_inverse=True, return_counts=True)
        cells, shared = np.unique(rows * len(gold_sizes) + columns, return_counts=True)
        row, column = np.divmod(cells, len(gold_sizes))
        return cls(row, column, shared, predicted_sizes, gold_sizes)

    @property
    def transpose(self) -> _Overlaps:
        """The same table with predicted and gold in each other's place."""
        return _Overlaps(self.column, self.row, self.shared, self.gold_sizes, self.predicted_sizes)

    @property
    def terms(self) -> int:
        return int(self.shared.sum())

    @property
    def union(self) -> IntArray:
        """|predicted ∪ gold| of each overlap."""
        return self.predicted_sizes[self.row] + self.gold_sizes[self.column] - self.shared


def _report(table: _Overlaps) -> ClusterReport:
    tp, fp, fn, tn = _pair_counts(table)
    pair_precision, pair_recall, pair_f1 = _ratios(tp, fp, fn)
    homogeneity, completeness = _homogeneity(table), _homogeneity(table.transpose)
    v_measure = _harmonic(homogeneity, completeness)
    bcubed_precision, bcubed_recall = _bcubed_precision(table), _bcubed_precision(table.transpose)
    return ClusterReport(
        ari=_adjusted_rand(tp, fp, fn, tn),
        fmi=math.sqrt(tp / (tp + fp)) * math.sqrt(tp / (tp + fn)) if tp else 0.0,
        # With mutual information I: homogeneity = I/H(gold) and completeness = I/H(predicted).
        nmi=math.sqrt(homogeneity * completeness),
        nmi_arithmetic=v_measure,
        pair_precision=pair_precision,
        pair_recall=pair_recall,
        pair_f1=pair_f1,
        homogeneity=homogeneity,
        completeness=completeness,
        v_measure=v_measure,
        bcubed_precision=bcubed_precision,
        bcubed_recall=bcubed_recall,
        bcubed_f1=_harmonic(bcubed_precision, bcubed_recall),
        exact_sets=int(np.count_nonzero(table.shared == table.union)),
        matching_jaccard=_matching_jaccard(table),
        predicted_sets=len(table.predicted_sizes),
        gold_sets=len(table.gold_sizes),
        terms=table.terms,
    )


def _pair_counts(table: _Overlaps) -> tuple[int, int, int, int]:
    """Unordered pairs of terms, together in (both, predicted only, gold only, neither)."""
    both, predicted, gold = map(_pairs, (table.shared, table.predicted_sizes, table.gold_sizes))
    return both, predicted - both, gold - both, math.comb(table.terms, 2) - predicted - gold + both


def _pairs(sizes: IntArray) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def _adjusted_rand(tp: int, fp: int, fn: int, tn: int) -> float:
    """2 (tp·tn - fn·fp) / ((tp + fn)(fn + tn) + (tp + fp)(fp + tn))."""
    if fp == fn == 0:
        return 1.0
    # Python integers: these products leave int64 behind.
    return 2 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def _ratios(tp: int, fp: int, fn: int) -> tuple[float, float, float]:
    """Precision, recall and F1 = 2tp / (2tp + fp + fn)."""
    if not tp:
        agree = float(fp == fn == 0)
        return agree, agree, agree
    return tp / (tp + fp), tp / (tp + fn), 2 * tp / (2 * tp + fp + fn)


def _homogeneity(table: _Overlaps) -> float:
    """1 - H(gold | predicted) / H(gold), and 1 where gold is a single set."""
    n, wholes = table.terms, table.predicted_sizes[table.row]
    entropy = math.fsum(table.gold_sizes / n * np.log(n / table.gold_sizes))
    mixture = math.fsum(table.shared / n * np.log(wholes / table.shared))
    return max(1 - mixture / entropy, 0.0) if entropy else 1.0


def _bcubed_precision(table: _Overlaps) -> float:
    """1/n Σ over terms |P ∩ G| / |P|, for the predicted set P and the gold set G of the term."""
    return math.fsum(table.shared**2 / table.predicted_sizes[table.row]) / table.terms


def _harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b else 0.0


def _matching_jaccard(table: _Overlaps) -> float:
    """max over one-to-one matchings M of Σ_{(P, G) ∈ M} |P ∩ G| / |P ∪ G|, over max(#P, #G)."""
    weights = best_matching(table.row, table.column, table.shared / table.union)
    return math.fsum(weights) / max(len(table.predicted_sizes), len(table.gold_sizes))
