"""Term vectors from co-occurrence counts: positive PMI, then a truncated SVD.

A term is described by the units that occur near it and by the texts it occurs in. Rare terms
have few neighbours, so the window is wide; the texts help terms that take turns within one, as
a name and its short form do. docs/results/vectors.md has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from scipy import sparse

from synsetmine.corpus.documents import batch_sizes
from synsetmine.engines import Engine
from synsetmine.errors import DataError, require
from synsetmine.io.files import atomic_write
from synsetmine.text.counters import TextBatch, count_together, one_row
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.vocabulary import (
    WordCounter,
    count_forms,
    frequent_units,
    term_forms,
    units_of,
)
from synsetmine.types import Progress, Term
from synsetmine.views.vectors import TermVectors, vectors_of_forms

Arrays = dict[str, NDArray[Any]]
Counts = Any  # a scipy.sparse.csr_array of integers, whose sum is the same in any order

WINDOW, MIN_COUNT, CONTEXTS = 10, 5, 50_000
TEXT_WEIGHT = 1.4
FORMAT = "synsetmine-cooccurrence 1"
TEXT_COLUMNS = 1 << 17  # beyond so many texts, several share a column
WIDEST = 255  # a distance takes eight bits
PIECE = 1 << 17  # units whose neighbours are counted at once
LENGTH = 3.0  # about that of skip-gram vectors, for which the scorer's settings are made


def train_cooccurrence(
    documents: Path,
    terms: Sequence[Term],
    *,
    dimension: int = 100,
    window: int = WINDOW,
    text_weight: float = TEXT_WEIGHT,
    min_count: int = MIN_COUNT,
    contexts: int = CONTEXTS,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> TermVectors:
    """A vector for each term that occurs in a stored corpus at least `min_count` times.

    The corpus is read twice: for its frequent words, and for the neighbours of terms and words.
    The result depends neither on the engine nor on how the texts are batched. `progress`
    gets what is done of how much.
    """
    tell = progress or (lambda _done, _whole: None)
    total = sum(batch_sizes(documents))
    words = count_forms(
        documents, WordCounter(), engine=engine, progress=lambda done: tell(done, 3 * total)
    )
    forms = term_forms(terms)
    counter = NeighbourCounter.of(
        forms, words, window=window, min_count=min_count, contexts=contexts
    )
    counts = Cooccurrence(counter.units)
    for batch in count_together(
        documents,
        {"neighbours": counter},
        matcher=NameMatcher.build(forms),
        engine=engine,
        progress=lambda done: tell(total + done, 3 * total),
    ):
        counts.add(batch.tables["neighbours"], first=batch.first, size=batch.size)
    vectors = cooccurrence_vectors(
        counts,
        terms,
        dimension=dimension,
        text_weight=text_weight,
        min_count=min_count,
        contexts=contexts,
        seed=seed,
    )
    tell(3 * total, 3 * total)
    return vectors


def cooccurrence_vectors(
    counts: Cooccurrence,
    terms: Sequence[Term],
    *,
    dimension: int = 100,
    text_weight: float = TEXT_WEIGHT,
    min_count: int = MIN_COUNT,
    contexts: int = CONTEXTS,
    seed: int = 0,
) -> TermVectors:
    """A vector for each of the terms that was counted at least `min_count` times.

    The rows of the matrix are the terms and the `contexts` most frequent units, the columns those
    units and the texts. An entry is log(n(t, c) / (n(t) p(c))) where that is positive; p(c) is the
    share of c. The block of the texts weighs `text_weight` times as much as that of the units. A
    vector is a row of U S^(1/2), scaled to one length.
    """
    for value in (dimension, min_count, contexts):
        require(value >= 1, "expected a number of 1 or more", value)
    units = _choose(counts, term_forms(terms), min_count=min_count, contexts=contexts)
    near, inside = counts.of(units.numbers)
    columns = slice(units.contexts)
    matrix = _ppmi(near[:, columns] + near.T.tocsr()[:, columns], units.counts[columns])
    if text_weight:
        block = _ppmi(inside, inside.sum(axis=0))
        matrix = sparse.hstack([_unit_norm(matrix), text_weight * _unit_norm(block)], "csr")
    rows = _reduce(matrix, dimension, seed=seed)
    return vectors_of_forms(terms, units.number_of, rows)


@dataclass(frozen=True)
class NeighbourCounter:
    """Counts the neighbours of units in a batch of texts, where names are matched.

    Units are the names that the matcher knows, by their forms, and some words. Two that occur d
    apart count window + 1 - d, but not across the end of a text. One row has two matrices: `near`
    (units, units), which has each pair once, and `inside` (units, texts).
    """

    forms: Sequence[str]  # of the matcher
    units: Sequence[str]  # the forms, and words
    window: int = WINDOW

    def __post_init__(self) -> None:
        require(1 <= self.window <= WIDEST, f"a window is 1 to {WIDEST} units wide", self.window)

    @classmethod
    def of(
        cls,
        forms: Sequence[str],
        words: Mapping[str, int],
        *,
        window: int = WINDOW,
        min_count: int = MIN_COUNT,
        contexts: int = CONTEXTS,
    ) -> NeighbourCounter:
        """Count the neighbours of these forms and of the most frequent words.

        A word counts less as a unit than as a word, where it occurs within names too. So twice
        as many words are counted as there are to be contexts.
        """
        for value in (min_count, contexts):
            require(value >= 1, "expected a number of 1 or more", value)
        frequent = frequent_units(words, min_count)[: 2 * contexts]
        units = [*dict.fromkeys([*forms, *frequent])]
        return cls(forms, units, window)

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        units = units_of(batch.texts, batch.matches, self.forms)
        number_of = self._number_of
        numbers = np.array([number_of.get(form, -1) for form in units.forms], np.int64)
        unit, position = numbers[units.unit], units.text
        near = _Sum(len(self.units), len(self.units))
        for begin in range(0, len(unit), PIECE):
            reach = slice(begin, begin + PIECE + self.window)
            near.add(self._near(unit[reach], position[reach]))
        known = unit >= 0
        inside = sparse.coo_array(
            (np.ones(int(known.sum()), np.int64), (unit[known], units.text[known])),
            shape=(len(self.units), len(batch)),
        ).tocsr()
        return one_row(_arrays("near", near.total()) | _arrays("inside", inside))

    @cached_property
    def _number_of(self) -> Mapping[str, int]:
        return {form: number for number, form in enumerate(self.units)}

    def _near(self, unit: NDArray[np.int64], position: NDArray[np.int32]) -> Counts:
        """The neighbours of the first `PIECE` units; those after them are only neighbours."""
        rows = len(self.units)
        keys = []
        for distance in range(1, min(self.window, len(unit) - 1) + 1):
            left, right = unit[:-distance][:PIECE], unit[distance:][:PIECE]
            low, high = np.minimum(left, right), np.maximum(left, right)
            pair = low >= 0
            pair &= position[:-distance][:PIECE] == position[distance:][:PIECE]
            # One number for each pair: sorting such is much faster than sorting two arrays.
            keys.append(((low[pair] * rows + high[pair]) << 8) + distance)
        key = np.sort(np.concatenate([np.empty(0, np.int64), *keys]))
        pairs, weights = key >> 8, self.window + 1 - (key & WIDEST)
        begins = np.flatnonzero(np.diff(pairs, prepend=-1))
        pairs = pairs[begins]
        sums = np.add.reduceat(weights, begins) if len(begins) else weights
        ends = np.searchsorted(pairs, np.arange(rows + 1) * rows).astype(np.int32)
        columns = (pairs % max(rows, 1)).astype(np.int32)
        return sparse.csr_array((sums, columns, ends), shape=(rows, rows))


class Cooccurrence:
    """Adds up the neighbours of units over a corpus.

    A unit is found by its number. Beyond `TEXT_COLUMNS` texts, several share a column.
    """

    def __init__(self, units: Sequence[str]) -> None:
        self.units = units
        self._texts = 0
        self._near = _Sum(len(units), len(units))
        self._inside = _Sum(len(units), TEXT_COLUMNS)

    def add(self, batch: pa.RecordBatch, *, first: int, size: int) -> None:
        """Add what `NeighbourCounter` made of `size` documents from the number `first` on."""
        arrays = {name: batch.column(name).values.to_numpy() for name in batch.schema.names}
        self._near.add(_matrix(arrays, "near", columns=len(self.units)))
        self._inside.add(_in_columns(_matrix(arrays, "inside", columns=size), first=first))
        self._texts = first + size

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each unit occurs in the corpus."""
        return np.asarray(self._inside.total().sum(axis=1), np.int64).ravel()

    def of(self, numbers: NDArray[np.int64]) -> tuple[Counts, Counts]:
        """The rows of these units: (units, units), each pair once, and (units, texts)."""
        inside = self._inside.total()[numbers][:, : max(self._texts, 1)]
        return self._near.total()[numbers][:, numbers], inside

    def save(self, path: Path) -> None:
        """Write a safetensors file, whole or not at all."""
        names = "\n".join(self.units).encode()
        tensors = {"units": np.frombuffer(names, np.uint8)}
        for name, matrix in (("near", self._near.total()), ("inside", self._inside.total())):
            tensors |= _arrays(name, matrix, _smallest(matrix.data))
        tensors["about"] = np.array([self._texts, 0], np.int64)  # 0: pairs in any order
        with atomic_write(path) as temporary:
            # One entry: several would be written in any order.
            save_file(tensors, temporary, {"format": FORMAT})

    @classmethod
    def load(cls, path: Path) -> Cooccurrence:
        """Read what `save` wrote."""
        try:
            with safe_open(path, "numpy") as file:
                if (file.metadata() or {}).get("format") != FORMAT:
                    raise DataError("not a file of co-occurrences of this version", path=path)
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise DataError(f"cannot be read ({error})", path=path) from error
        names = tensors["units"].tobytes().decode()
        units = names.split("\n") if names else []
        self = cls(units)
        self._texts = int(tensors["about"][0])
        self._near.add(_matrix(tensors, "near", columns=len(units)))
        self._inside.add(_matrix(tensors, "inside", columns=TEXT_COLUMNS))
        return self


def _smallest(values: NDArray[np.int64]) -> type[np.integer[Any]]:
    """The type that holds these counts; most fit into 32 bits."""
    return np.int32 if not len(values) or values.max() < 2**31 else np.int64


@dataclass(frozen=True)
class _Units:
    """The rows of the matrix: first those that are columns too, most frequent first."""

    number_of: Mapping[str, int]
    numbers: NDArray[np.int64]  # among the units that were counted
    counts: NDArray[np.int64]
    contexts: int  # so many are columns


def _choose(
    cooccurrence: Cooccurrence, forms: Sequence[str], *, min_count: int, contexts: int
) -> _Units:
    counts = dict(zip(cooccurrence.units, cooccurrence.counts.tolist(), strict=True))
    number_of = {form: number for number, form in enumerate(cooccurrence.units)}
    often = frequent_units(counts, min_count)
    terms = set(forms)
    chosen = often[:contexts] + [form for form in often[contexts:] if form in terms]
    return _Units(
        number_of={form: number for number, form in enumerate(chosen)},
        numbers=np.array([number_of[form] for form in chosen], np.int64),
        counts=np.array([counts[form] for form in chosen], np.int64),
        contexts=min(contexts, len(often)),
    )


def _arrays(name: str, matrix: Counts, kind: type[np.integer[Any]] = np.int64) -> Arrays:
    """A sparse matrix as arrays, with counts of this type."""
    return {
        f"{name} ends": matrix.indptr.astype(np.int64),
        f"{name} columns": matrix.indices.astype(np.int32),
        f"{name} counts": matrix.data.astype(kind),
    }


def _matrix(arrays: Arrays, name: str, *, columns: int) -> Counts:
    counts, indices, ends = (arrays[f"{name} {part}"] for part in ("counts", "columns", "ends"))
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


def _ppmi(counts: Counts, column_totals: NDArray[Any]) -> Any:
    """max(0, log(n(t, c) / (n(t) p(c)))) of each entry; p(c) is the share of all totals."""
    totals = np.asarray(counts.sum(axis=1), np.float64)
    shares = column_totals.astype(np.float64) / max(column_totals.sum(), 1)
    with np.errstate(divide="ignore"):  # empty rows and columns have no entries
        log_totals, log_shares = np.log(totals), np.log(shares)
    value = np.log(counts.data, dtype=np.float32)  # in place from here: there may be many
    value -= np.repeat(log_totals.astype(np.float32), np.diff(counts.indptr))
    value -= log_shares.astype(np.float32)[counts.indices]
    kept = value > 0
    ends = np.append(0, np.cumsum(kept))[counts.indptr]
    return sparse.csr_array((value[kept], counts.indices[kept], ends), shape=counts.shape)


def _unit_norm(matrix: Any) -> Any:
    return matrix / np.float32(max(np.sqrt(np.square(matrix.data, dtype=np.float64).sum()), 1e-30))


def _reduce(matrix: Any, dimension: int, *, seed: int) -> NDArray[np.float32]:
    """The rows of U S^(1/2), all of one length; rows without entries stay zero."""
    from sklearn.utils.extmath import randomized_svd

    if not matrix.nnz:
        return np.zeros((matrix.shape[0], dimension), np.float32)
    left, values, _ = randomized_svd(matrix, dimension, n_iter=2, random_state=seed)
    rows = left * values**0.5  # (units, dimension)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    filled = (np.diff(matrix.indptr) > 0)[:, None]
    return np.where(filled, LENGTH * rows / np.maximum(lengths, 1e-30), 0).astype(np.float32)
