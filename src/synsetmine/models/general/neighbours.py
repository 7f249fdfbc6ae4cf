"""The nearest neighbours of each row of a table, by cosine, in numpy.

Up to `EXACT_ROWS` rows each is compared with all others. Above that a dense table is cut into
cells by k-means, and the rows of a cell are compared with those of the nearest cells; the rows of
a sparse table are compared with those that share one of their rare columns. Both find nearly all
of the nearest neighbours, and the result depends on nothing but the table.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.engines.workers import in_threads

Floats: TypeAlias = npt.NDArray[np.float32]
Positions: TypeAlias = npt.NDArray[np.int32]

EXACT_ROWS = 20_000
CELL_ROWS = 256  # on average
CELLS_AROUND = 24  # that the rows of a cell are compared with
SAMPLE_ROWS = 24  # for each cell, that k-means learns from
KMEANS_STEPS = 4
SIMILARITIES = 1 << 23  # held in memory at a time
GROUP = 16  # columns whose maximum is looked at first
POSTINGS = 2_000  # rows that share a rare column with a row, at most
QUERY_POSTINGS = 20_000  # the same for queries, which are few beside the references
QUERY_PAIRS = 1 << 32  # of queries and references; of more only those in near cells are compared
QUERY_CELLS = 48  # around a query
SPARSE_ROWS = 1 << 15  # compared at a time


def nearest_rows(
    rows: Floats, known: npt.NDArray[np.bool_], count: int, *, threads: int = 1
) -> tuple[Positions, Floats]:
    """The nearest known rows of each known row, and their cosines, best first: (rows, count).

    Where there are fewer than `count` the position is -1 and the cosine -inf.
    """
    from threadpoolctl import threadpool_limits

    filled = np.flatnonzero(known)
    nearest = np.full((len(rows), count), -1, np.int32)
    cosines = np.full((len(rows), count), -np.inf, np.float32)
    if len(filled) < 2:
        return nearest, cosines
    table = np.ascontiguousarray(rows[filled])
    width = min(count, len(filled) - 1)
    with threadpool_limits(1, "blas"):  # the threads here do more than products
        top: npt.NDArray[Any]
        if len(filled) <= EXACT_ROWS:
            top, values = _all_pairs(table, table, width, threads, skip_self=True)
        else:
            top, values = _near_cells(table, width, threads)
    nearest[filled, :width] = np.where(values > -np.inf, filled[top], -1)
    cosines[filled, :width] = values
    return nearest, cosines


def _all_pairs(
    sources: Floats, targets: Floats, count: int, threads: int, *, skip_self: bool
) -> tuple[npt.NDArray[np.int64], Floats]:
    """The nearest targets of each source; with `skip_self` both are the same rows."""
    step = max(1, SIMILARITIES // len(targets))

    def nearest(start: int) -> tuple[npt.NDArray[np.int64], Floats]:
        similarity = sources[start : start + step] @ targets.T
        if skip_self:
            own = np.arange(len(similarity))
            similarity[own, start + own] = -np.inf
        return _largest(similarity, count)

    parts = list(in_threads(nearest, range(0, len(sources), step), threads))
    return np.concatenate([top for top, _ in parts]), np.concatenate([value for _, value in parts])


def _largest(similarity: Floats, count: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """The columns of the largest values of each row and these values, best first.

    The largest values of a row lie in the groups of columns with the largest maxima, so only
    these are sorted.
    """
    rows, width = similarity.shape
    groups = width // GROUP
    columns = np.broadcast_to(np.arange(width), similarity.shape)
    values = similarity
    if groups > 4 * count:
        maxima = similarity[:, : groups * GROUP].reshape(rows, GROUP, groups).max(axis=1)
        best = np.argpartition(maxima, groups - count, axis=1)[:, groups - count :]
        inside = (best[:, :, None] + groups * np.arange(GROUP)).reshape(rows, -1)
        rest = np.broadcast_to(np.arange(groups * GROUP, width), (rows, width - groups * GROUP))
        columns = np.concatenate([inside, rest], axis=1)
        values = np.take_along_axis(similarity, columns, 1)
    top = np.argpartition(values, values.shape[1] - count, axis=1)[:, values.shape[1] - count :]
    columns, values = np.take_along_axis(columns, top, 1), np.take_along_axis(values, top, 1)
    order = np.lexsort((columns, -values), axis=1)  # among equal values the first column
    return np.take_along_axis(columns, order, 1), np.take_along_axis(values, order, 1)


def _near_cells(table: Floats, count: int, threads: int) -> tuple[npt.NDArray[np.int32], Floats]:
    everyone = np.arange(len(table))
    centres = _centres(table, everyone, len(table) // CELL_ROWS, threads)
    rows_of = _by_cell(_nearest_centre(table, everyone, centres, threads), len(centres))
    around, _ = _largest(centres @ centres.T, min(CELLS_AROUND, len(centres)))
    tops = np.zeros((len(table), count), np.int32)
    values = np.full((len(table), count), -np.inf, np.float32)

    def fill(cell: int) -> None:
        own = rows_of[cell]
        others = np.concatenate([rows_of[c] for c in around[cell]])
        others.sort()
        near = table[others].T
        for some in np.array_split(own, max(1, len(own) * len(others) // SIMILARITIES)):
            if len(some) and len(others) > 1:
                similarity = table[some] @ near
                position = np.minimum(np.searchsorted(others, some), len(others) - 1)
                itself = np.flatnonzero(others[position] == some)
                similarity[itself, position[itself]] = -np.inf
                top, value = _largest(similarity, min(count, len(others) - 1))
                tops[some, : top.shape[1]] = others[top]
                values[some, : top.shape[1]] = value

    deque(in_threads(fill, range(len(centres)), threads), maxlen=0)
    return tops, values


def _by_cell(cells: npt.NDArray[Any], count: int) -> list[npt.NDArray[np.int64]]:
    """The positions of each of so many cells."""
    ends = np.cumsum(np.bincount(cells, minlength=count))[:-1]
    return np.split(np.argsort(cells, kind="stable"), ends)


def _centres(rows: Floats, filled: npt.NDArray[np.int64], count: int, threads: int) -> Floats:
    """The centres of so many cells, at least one: spherical k-means on a sample of the places."""
    count = max(1, count)
    drawn = filled[np.random.default_rng(0).permutation(len(filled))[: SAMPLE_ROWS * count]]
    sample = np.sort(drawn)
    centres = rows[drawn[:count]]
    for _ in range(KMEANS_STEPS):
        home = _nearest_centre(rows, sample, centres, threads)
        sums = np.zeros_like(centres)
        np.add.at(sums, home, rows[sample])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres)
    return centres.astype(np.float32)


def _nearest_centre(
    rows: Floats, filled: npt.NDArray[np.int64], centres: Floats, threads: int
) -> npt.NDArray[np.int64]:
    step = max(1, SIMILARITIES // len(centres))

    def nearest(start: int) -> npt.NDArray[np.int64]:
        part = rows[filled[start : start + step]]
        centre: npt.NDArray[np.int64] = (part @ centres.T).argmax(axis=1)
        return centre

    return np.concatenate(list(in_threads(nearest, range(0, len(filled), step), threads)))


def nearest_sparse_rows(matrix: Any, count: int, *, threads: int = 1) -> tuple[Positions, Floats]:
    """The same for a scipy.sparse.csr_array of unit rows; without a shared column: -1 and 0."""
    from scipy import sparse
    from sparse_dot_topn import sp_matmul_topn

    nearest = np.full((matrix.shape[0], count), -1, np.int32)
    cosines = np.zeros((matrix.shape[0], count), np.float32)
    columns = sparse.csr_matrix(matrix.astype(np.float32, copy=False).T)
    shared = np.bincount(matrix.indices, minlength=matrix.shape[1])
    rare = matrix.shape[0] > EXACT_ROWS
    for start in range(0, matrix.shape[0], SPARSE_ROWS):
        part = matrix[start : start + SPARSE_ROWS]
        queries = sparse.csr_matrix((_rare_columns(part, shared) if rare else part).astype("f4"))
        top = sp_matmul_topn(queries, columns, top_n=count + 1, sort=True, n_threads=threads)
        row = np.repeat(np.arange(start, start + part.shape[0]), np.diff(top.indptr))
        other = row != top.indices
        row, column, value = row[other], top.indices[other], top.data[other]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        kept = rank < count
        nearest[row[kept], rank[kept]] = column[kept]
        cosines[row[kept], rank[kept]] = value[kept]
    return nearest, cosines


def _rare_columns(matrix: Any, shared: npt.NDArray[np.int64], postings: int = POSTINGS) -> Any:
    """The matrix with the rarest columns of each row only, those that few rows share."""
    from scipy import sparse

    rarity = shared[matrix.indices]
    per_row = np.diff(matrix.indptr)
    rarest_first = np.lexsort((rarity, np.repeat(np.arange(len(per_row)), per_row)))
    total = np.cumsum(rarity[rarest_first])
    before = np.concatenate([[0], total])[matrix.indptr[:-1]]
    kept = np.zeros(len(rarity), np.bool_)
    kept[rarest_first] = total - np.repeat(before, per_row) <= postings
    ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


def filled_rows(rows: Floats) -> npt.NDArray[np.bool_]:
    """Which rows are not all zeros: (rows,)"""
    return np.asarray(rows.any(axis=1))


def nearest_of(
    rows: Floats,
    queries: npt.NDArray[np.int64],
    references: npt.NDArray[np.int64],
    count: int,
    *,
    threads: int = 1,
) -> Positions:
    """The positions of the references nearest to each query, best first: (queries, count)

    A row of zeros is unknown and near to none; where there are too few the position is -1. Above
    `QUERY_PAIRS` pairs only the references of the cells around a query are compared.
    """
    from threadpoolctl import threadpool_limits

    nearest = np.full((len(queries), count), -1, np.int32)
    known = filled_rows(rows)
    references = references[known[references]]
    usable = np.flatnonzero(known[queries])
    width = min(count, len(references))
    if not len(usable) or not width:
        return nearest
    sources = rows[queries[usable]]
    with threadpool_limits(1, "blas"):
        if len(usable) * len(references) <= QUERY_PAIRS:
            top, _ = _all_pairs(sources, rows[references], width, threads, skip_self=False)
        else:
            top = _cells_of(sources, rows, references, width, threads)
    nearest[usable, :width] = np.where(top >= 0, references[top], -1)
    return nearest


def _cells_of(
    sources: Floats, rows: Floats, references: npt.NDArray[np.int64], count: int, threads: int
) -> npt.NDArray[np.int64]:
    """Each query is compared with the references of the cells whose centres are nearest to it.

    With k cells, c of them around a query, finding the cells of n references takes n k products,
    and comparing them with q queries q c n / k. The sum is least for k = sqrt(q c).
    """
    cells = int(np.sqrt(len(sources) * QUERY_CELLS))
    centres = _centres(rows, references, min(cells, len(references) // CELL_ROWS), threads)
    references_of = _by_cell(_nearest_centre(rows, references, centres, threads), len(centres))
    around = min(QUERY_CELLS, len(centres))
    near = np.concatenate(
        [
            _largest(part @ centres.T, around)[0]
            for part in np.array_split(sources, len(sources) * len(centres) // SIMILARITIES + 1)
        ]
    )  # (queries, around)
    queries_of = _by_cell(near.ravel(), len(centres))
    tops = np.full((near.size, count), -1, np.int32)  # of each query and cell
    values = np.full((near.size, count), -np.inf, np.float32)

    def fill(cell: int) -> None:
        own, others = queries_of[cell], references_of[cell]
        if not len(own) or not len(others):
            return
        targets = rows[references[others]].T
        for some in np.array_split(own, len(own) * len(others) // SIMILARITIES + 1):
            similarity = sources[some // around] @ targets
            top, value = _largest(similarity, min(count, len(others)))
            tops[some, : top.shape[1]] = others[top]
            values[some, : top.shape[1]] = value

    deque(in_threads(fill, range(len(centres)), threads), maxlen=0)
    tops, values = tops.reshape(len(sources), -1), values.reshape(len(sources), -1)
    best = np.lexsort((tops, -values), axis=1)[:, :count]
    nearest: npt.NDArray[np.int64] = np.take_along_axis(tops, best, 1).astype(np.int64)
    return nearest


def nearest_sparse_of(
    matrix: Any,
    queries: npt.NDArray[np.int64],
    references: npt.NDArray[np.int64],
    count: int,
    *,
    threads: int = 1,
) -> Positions:
    """The same for a scipy.sparse.csr_array; only references that share a column are near."""
    from scipy import sparse
    from sparse_dot_topn import sp_matmul_topn

    nearest = np.full((len(queries), count), -1, np.int32)
    if not len(references):
        return nearest
    sources = matrix[queries].astype(np.float32)
    if len(references) > EXACT_ROWS:
        shared = np.zeros(matrix.shape[1], np.int64)
        for start in range(0, len(references), SPARSE_ROWS):
            part = matrix[references[start : start + SPARSE_ROWS]]
            shared += np.bincount(part.indices, minlength=matrix.shape[1])
        sources = _rare_columns(sources, shared, QUERY_POSTINGS)
    used = np.unique(sources.indices)
    columns = _transpose(matrix, references, used)
    numbers = np.searchsorted(used, sources.indices)
    shape = (len(queries), max(len(used), 1))
    sources = sparse.csr_array((sources.data, numbers, sources.indptr), shape=shape)
    for start in range(0, len(queries), SPARSE_ROWS):
        part = sparse.csr_matrix(sources[start : start + SPARSE_ROWS])
        top = sp_matmul_topn(part, columns, top_n=count, sort=True, n_threads=threads)
        row = np.repeat(np.arange(part.shape[0]), np.diff(top.indptr))
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        nearest[start + row, rank] = references[top.indices]
    return nearest


def _transpose(
    matrix: Any, references: npt.NDArray[np.int64], columns: npt.NDArray[np.int32]
) -> Any:
    """Some columns of some rows, as rows: a scipy.sparse.csr_matrix (columns, references)."""
    from scipy import sparse

    number = np.full(matrix.shape[1], -1, np.int32)
    number[columns] = np.arange(len(columns))
    parts = []
    for start in range(0, len(references), SPARSE_ROWS):
        part = matrix[references[start : start + SPARSE_ROWS]]
        kept = number[part.indices] >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[part.indptr]
        entries = part.data[kept].astype(np.float32), number[part.indices[kept]], ends
        shape = (part.shape[0], max(len(columns), 1))
        parts.append(sparse.csr_array(entries, shape=shape))
    return sparse.csr_matrix(sparse.vstack(parts, format="csr").T)
