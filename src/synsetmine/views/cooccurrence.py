"""Term vectors from co-occurrence counts: positive PMI, then a truncated SVD.

A term is described by the units that stand near it and by the texts it stands in. Rare terms
have few neighbours, so the window is wide; the texts help terms that take turns within one, as
a name and its short form do. docs/results/vectors.md has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from synsetmine.corpus.store import batch_sizes, texts_of
from synsetmine.engines import Engine, LocalEngine
from synsetmine.errors import DataError
from synsetmine.text import normal_form
from synsetmine.types import Progress, Term
from synsetmine.views.units import UnitReader, Within, count_units, frequent_units
from synsetmine.views.vectors import TermVectors
from synsetmine.vocabulary import term_forms

Counts = Any  # a scipy.sparse.csr_array of integers, whose sum is the same in any order

TEXT_COLUMNS = 1 << 17  # beyond so many texts, several share a column
WIDEST = 255  # a distance takes eight bits
PIECE = 1 << 17  # units whose neighbours are counted at once
LENGTH = 3.0  # about that of skip-gram vectors, for which the scorer's settings are made


def train_cooccurrence(
    documents: Path,
    terms: Sequence[Term],
    *,
    dimension: int = 300,
    window: int = 10,
    within: Within = "text",
    directed: bool = False,
    text_weight: float = 1.4,
    smoothing: float = 1.0,
    shift: float = 0.0,
    power: float = 0.5,
    min_count: int = 5,
    contexts: int = 50_000,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> TermVectors:
    """A vector for each term that stands in a stored corpus at least `min_count` times.

    The corpus is read twice. Two units that stand d apart count window + 1 - d, but not across
    the end of a text (or sentence: `within`). The rows of the matrix are the terms and the
    `contexts` most frequent units, the columns those units and the texts. An entry is
    log(n(t, c) / (n(t) p(c))) - shift where that is positive; p(c) is the share of c, for units to
    the power of `smoothing`. The block of the texts weighs `text_weight` times as much as that of
    the units. A vector is a row of U S^power, scaled to one length. `directed` tells the contexts
    before and after a term apart.

    The result depends neither on the engine nor on how the texts are batched. `progress` is told
    what is done of how much.
    """
    for value in (dimension, window, min_count, contexts):
        if value < 1:
            raise DataError("expected a number from 1 on", value=value)
    if window > WIDEST:
        raise DataError(f"a window is at most {WIDEST} units wide", value=window)
    tell = progress or (lambda _done, _whole: None)
    engine = engine or LocalEngine(1)
    forms = term_forms(terms)
    reader = UnitReader(forms)
    sizes = batch_sizes(documents)
    batches = len(sizes)
    counts = count_units(
        documents, reader, engine=engine, progress=lambda done: tell(done, 3 * batches)
    )
    units = _choose(counts, forms, min_count=min_count, contexts=contexts)
    counter = _NeighbourCounter(reader, units, window, within, directed)
    near, inside = _Sum(len(units), len(units)), _Sum(len(units), TEXT_COLUMNS)
    read = 0
    batchwise = engine.map_batches(counter, documents, ["text"])
    for done, (size, found) in enumerate(zip(sizes, batchwise, strict=True), start=1):
        near.add(_matrix(found, "near", columns=len(units)))
        inside.add(_in_columns(_matrix(found, "inside", columns=size), first=read))
        read += size
        tell(batches + done, 3 * batches)
    matrix = _ppmi(
        _contexts_of(near.total(), units, directed=directed),
        _shares(units, smoothing=smoothing, sides=1 + directed),
        shift=shift,
    )
    if text_weight:
        in_texts = inside.total()[:, : max(read, 1)]  # no more columns than texts
        block = _ppmi(in_texts, _column_shares(in_texts), shift=shift)
        matrix = sparse.hstack([_unit_norm(matrix), text_weight * _unit_norm(block)], "csr")
    vectors = _reduce(matrix, dimension, power=power, seed=seed)
    tell(3 * batches, 3 * batches)
    return _table(terms, units, vectors)


@dataclass(frozen=True)
class _Units:
    """The rows of the matrix: first those that are columns too, most frequent first."""

    number_of: Mapping[str, int]
    counts: NDArray[np.int64]
    contexts: int  # so many are columns

    def __len__(self) -> int:
        return len(self.counts)


def _choose(
    counts: Mapping[str, int], forms: Sequence[str], *, min_count: int, contexts: int
) -> _Units:
    often = frequent_units(counts, min_count)
    terms = set(forms)
    chosen = often[:contexts] + [form for form in often[contexts:] if form in terms]
    return _Units(
        number_of={form: number for number, form in enumerate(chosen)},
        counts=np.array([counts[form] for form in chosen], np.int64),
        contexts=min(contexts, len(often)),
    )


@dataclass(frozen=True)
class _NeighbourCounter:
    """Counts the neighbours of the units in a batch of texts.

    One row with two matrices: `near` (units, units) has each pair once, and where sides count,
    the left one is the row; `inside` is (units, texts).
    """

    reader: UnitReader
    units: _Units
    window: int
    within: Within
    directed: bool

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        found = self.reader(texts_of(batch))
        number_of = np.array([self.units.number_of.get(f, -1) for f in found.forms], np.int64)
        unit, place = number_of[found.unit], found.place(self.within)
        near = _Sum(len(self.units), len(self.units))
        for begin in range(0, len(unit), PIECE):
            reach = slice(begin, begin + PIECE + self.window)
            near.add(self._near(unit[reach], place[reach]))
        known = unit >= 0
        inside = sparse.coo_array(
            (np.ones(int(known.sum()), np.int64), (unit[known], found.text[known])),
            shape=(len(self.units), len(batch)),
        ).tocsr()
        return pa.record_batch(_columns("near", near.total()) | _columns("inside", inside))

    def _near(self, unit: NDArray[np.int64], place: NDArray[np.int32]) -> Counts:
        """The neighbours of the first `PIECE` units; those after them are only neighbours."""
        rows = len(self.units)
        keys = []
        for distance in range(1, min(self.window, len(unit) - 1) + 1):
            left, right = unit[:-distance][:PIECE], unit[distance:][:PIECE]
            low, high = np.minimum(left, right), np.maximum(left, right)
            pair = (low >= 0) & (low < self.units.contexts)
            pair &= place[:-distance][:PIECE] == place[distance:][:PIECE]
            first, second = (left, right) if self.directed else (low, high)
            # One number for each pair: sorting such is much faster than sorting two arrays.
            keys.append(((first[pair] * rows + second[pair]) << 8) + distance)
        key = np.sort(np.concatenate([np.empty(0, np.int64), *keys]))
        pairs, weights = key >> 8, self.window + 1 - (key & WIDEST)
        begins = np.flatnonzero(np.diff(pairs, prepend=-1))
        pairs = pairs[begins]
        sums = np.add.reduceat(weights, begins) if len(begins) else weights
        ends = np.searchsorted(pairs, np.arange(rows + 1) * rows).astype(np.int32)
        columns = (pairs % max(rows, 1)).astype(np.int32)
        return sparse.csr_array((sums, columns, ends), shape=(rows, rows))


def _columns(name: str, matrix: Counts) -> dict[str, Any]:
    """The arrays of a sparse matrix, each as one value of a column."""
    arrays = {
        "ends": matrix.indptr.astype(np.int64),
        "columns": matrix.indices.astype(np.int32),
        "counts": matrix.data.astype(np.int64),
    }
    return {
        f"{name} {part}": pa.LargeListArray.from_arrays([0, len(values)], pa.array(values))
        for part, values in arrays.items()
    }


def _matrix(batch: pa.RecordBatch, name: str, *, columns: int) -> Counts:
    ends, indices, counts = (
        batch.column(f"{name} {part}").values.to_numpy() for part in ("ends", "columns", "counts")
    )
    return sparse.csr_array((counts, indices, ends), shape=(len(ends) - 1, columns))


class _Sum:
    """A running sum of sparse matrices that adds small ones to small ones first."""

    def __init__(self, rows: int, columns: int) -> None:
        self._parts: list[Counts] = [sparse.csr_array((rows, columns), dtype=np.int64)]

    def add(self, part: Counts) -> None:
        self._parts.append(part)
        while len(self._parts) > 1 and self._parts[-2].nnz <= 2 * self._parts[-1].nnz:
            self._merge()

    def total(self) -> Counts:
        while len(self._parts) > 1:
            self._merge()
        return self._parts[0]

    def _merge(self) -> None:
        last = self._parts.pop()
        self._parts[-1] = self._parts[-1] + last


def _in_columns(inside: Counts, *, first: int) -> Counts:
    """Texts as columns; `first` is the number of the first one in the whole corpus."""
    entries = inside.tocoo()
    columns = (entries.col.astype(np.int64) + first) % TEXT_COLUMNS
    shape = (inside.shape[0], TEXT_COLUMNS)
    return sparse.coo_array((entries.data, (entries.row, columns)), shape=shape).tocsr()


def _contexts_of(near: Counts, units: _Units, *, directed: bool) -> Counts:
    after, before = near[:, : units.contexts], near.T.tocsr()[:, : units.contexts]
    return sparse.hstack([after, before], "csr") if directed else after + before


def _shares(units: _Units, *, smoothing: float, sides: int) -> NDArray[np.float64]:
    smoothed = units.counts[: units.contexts].astype(np.float64) ** smoothing
    return np.tile(smoothed / (sides * max(smoothed.sum(), 1)), sides)


def _column_shares(counts: Counts) -> NDArray[np.float64]:
    totals = np.asarray(counts.sum(axis=0), np.float64)
    return np.divide(totals, max(totals.sum(), 1))


def _ppmi(counts: Counts, shares: NDArray[np.float64], *, shift: float) -> Any:
    """max(0, log(n(t, c) / (n(t) p(c))) - shift) of each entry."""
    totals = np.asarray(counts.sum(axis=1), np.float64)
    with np.errstate(divide="ignore"):  # empty rows and columns have no entries
        log_totals, log_shares = np.log(totals), np.log(shares)
    value = np.log(counts.data, dtype=np.float32)  # in place from here: there may be many
    value -= np.repeat(log_totals.astype(np.float32), np.diff(counts.indptr))
    value -= (log_shares + shift).astype(np.float32)[counts.indices]
    kept = value > 0
    ends = np.append(0, np.cumsum(kept))[counts.indptr]
    return sparse.csr_array((value[kept], counts.indices[kept], ends), shape=counts.shape)


def _unit_norm(matrix: Any) -> Any:
    return matrix / np.float32(max(np.sqrt(np.square(matrix.data, dtype=np.float64).sum()), 1e-30))


def _reduce(matrix: Any, dimension: int, *, power: float, seed: int) -> NDArray[np.float32]:
    """The rows of U S^power, all of one length; rows without entries stay zero."""
    from sklearn.utils.extmath import randomized_svd

    if not matrix.nnz:
        return np.zeros((matrix.shape[0], dimension), np.float32)
    left, values, _ = randomized_svd(matrix, dimension, n_iter=2, random_state=seed)
    rows = left * values**power  # (units, dimension)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    filled = (np.diff(matrix.indptr) > 0)[:, None]
    return np.where(filled, LENGTH * rows / np.maximum(lengths, 1e-30), 0).astype(np.float32)


def _table(terms: Sequence[Term], units: _Units, vectors: NDArray[np.float32]) -> TermVectors:
    """The rows of the terms; the senses of one surface share theirs."""
    rows = {term: units.number_of.get(normal_form(term.surface), -1) for term in terms}
    there = {term: row for term, row in rows.items() if row >= 0 and vectors[row].any()}
    return TermVectors(tuple(there), vectors[np.array([*there.values()], np.int64)])
