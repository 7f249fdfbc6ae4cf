"""The nearest neighbours of each row of a table, by cosine.

Up to `BRUTE` rows each is compared with all. Beyond that the work would grow with the square of
the rows, so a dense table is first cut into cells of rows that lie together (k-means), and the
rows of a cell are compared with those of the cells around it; the rows of a sparse one are
compared with those that share one of their rare columns. Both miss some of the farther
neighbours and few of the nearest. The result hangs neither on the number of threads nor on chance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from synsetmine.views.strings import row_dots
from synsetmine.workers import cores, in_threads

BRUTE = {"cpu": 20_000, "cuda": 1_500_000}  # rows
VALUES = {"cpu": 1 << 25, "cuda": 1 << 29}  # similarities that are held at a time
CELL = 128  # rows, on average
AROUND = 64  # cells that a cell is compared with
PROBES = 8  # cells that a row is nearest to
SAMPLE = 32  # rows for each cell that k-means learns from
STEPS = 4  # of k-means
GROUP = 16  # columns whose largest value stands for them, at least
GROUPS = 1 << 13  # of a row, at most
POSTINGS = 5_000  # rows that share a rare column with a row, at most, each counted as often

ROWS = 1 << 16  # of a sparse table that are compared with all others at a time
PIECE = 1 << 9  # of those whose cosines are taken at a time

Ints: TypeAlias = npt.NDArray[np.int64]
Places: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float32]
Dots: TypeAlias = Callable[[Ints, Ints], Any]
Products: TypeAlias = Callable[[Tensor], Tensor]  # numbers of rows -> (those rows, all rows)


def nearest_rows(
    unit: Tensor, known: Tensor, count: int, *, brute: bool = False
) -> tuple[Tensor, Tensor]:
    """The `count` nearest known rows of each known row but itself, and their cosines, best first.

    Both are (rows, count); where there are fewer the place is -1 and the cosine -inf.
    """
    there = known.nonzero()[:, 0]
    rows = unit[there]
    if brute or len(there) <= BRUTE[unit.device.type]:
        found = _compared_with_all(lambda part: rows[part] @ rows.T, len(rows), count, rows.device)
    else:
        found = _compared_with_cells(rows, count)
    values = unit.new_full((len(unit), count), -torch.inf)
    places = torch.full((len(unit), count), -1, dtype=torch.int32, device=unit.device)
    width = found[0].shape[1]
    values[there, :width] = found[0]
    places[there, :width] = torch.where(found[0] > -torch.inf, there[found[1]], -1).int()
    return values, places


def nearest_sparse_rows(
    matrix: Any, count: int, *, brute: bool = False, dots: Dots | None = None
) -> tuple[Tensor, Tensor]:
    """The same for a scipy.sparse.csr_array of unit rows; one without a value is not known.

    Rows that share no column have the cosine 0: which those are is not told, the place is -1.
    `dots` gives the products of pairs of rows; without it they are found right here.
    """
    known = np.diff(matrix.indptr) > 0
    if brute or len(known) <= BRUTE["cpu"]:
        cosines, places = _top_products(matrix, count, rare=False)
    else:
        _, places = _top_products(matrix, count, rare=True)
        cosines, places = _by_cosine(places, dots or partial(row_dots, matrix))
    others = min(int(known.sum()) - 1, count)
    cosines[known, :others] = np.maximum(cosines[known, :others], 0)
    return torch.from_numpy(cosines), torch.from_numpy(places)


def nearest_by_products(products: Products, known: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The same by the products of some rows with all, which are none below 0."""
    rows = len(known)
    values, places = _compared_with_all(products, rows, min(count, rows), known.device)
    shared = values > 0
    others = torch.arange(values.shape[1], device=known.device) < known.sum() - 1
    values = torch.where(shared | (others & known[:, None]), values.clamp(min=0), -torch.inf)
    places = torch.where(shared, places, -1).int()
    missing = (0, count - values.shape[1])
    return pad(values, missing, value=-torch.inf), pad(places, missing, value=-1)


def _compared_with_all(
    products: Products, rows: int, count: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    found = []
    step = max(1, VALUES[device.type] // max(rows, 1))
    for part in torch.split(torch.arange(rows, device=device), step):
        similarity = products(part)
        similarity[torch.arange(len(part), device=device), part] = -torch.inf
        found.append(_largest(similarity, min(count, rows)))
    values, places = zip(*found, strict=True)
    return torch.cat(values), torch.cat(places)


def _compared_with_cells(rows: Tensor, count: int) -> tuple[Tensor, Tensor]:
    centres = _centres(rows)
    several = min(PROBES, len(centres))
    probes = torch.cat(  # (rows, several)
        [(part @ centres.T).topk(several, dim=1).indices for part in torch.split(rows, 1 << 12)]
    )
    order = probes[:, 0].argsort(stable=True)  # rows by their cells
    sizes = torch.bincount(probes[:, 0], minlength=len(centres))
    ends = [0, *sizes.cumsum(0).tolist()]
    sorted_rows, probes = rows[order], probes[order]
    values = rows.new_full((len(rows), count), -torch.inf)
    places = torch.zeros((len(rows), count), dtype=torch.int64, device=rows.device)
    for cell in sizes.nonzero()[:, 0].tolist():
        own = torch.arange(ends[cell], ends[cell + 1], device=rows.device)
        votes = torch.bincount(probes[own].flatten(), minlength=len(centres))
        # Of equal ones the first: topk would choose by chance.
        most = votes.argsort(descending=True, stable=True)[:AROUND]
        around = most[votes[most] > 0].sort().values.tolist()
        others = torch.cat([torch.arange(ends[c], ends[c + 1], device=rows.device) for c in around])
        for some in torch.split(own, max(1, VALUES[rows.device.type] // len(others))):
            similarity = sorted_rows[some] @ sorted_rows[others].T
            similarity[some[:, None] == others[None]] = -torch.inf
            top, at = _largest(similarity, min(count, len(others)))
            values[order[some], : top.shape[1]] = top
            places[order[some], : top.shape[1]] = order[others[at]]
    return values, places


def _centres(rows: Tensor) -> Tensor:
    """The centres of cells: spherical k-means on a sample, on the CPU so that all get the same."""
    count = max(1, len(rows) // CELL)
    chance = torch.Generator().manual_seed(0)
    drawn = torch.randperm(len(rows), generator=chance)[: SAMPLE * count]
    sample = rows[drawn.to(rows.device)].cpu()
    centres = sample[:count].clone()
    for _ in range(STEPS):
        home = torch.cat(
            [(part @ centres.T).argmax(dim=1) for part in torch.split(sample, 1 << 12)]
        )
        sums = torch.zeros_like(centres).index_add_(0, home, sample)
        length = sums.norm(dim=1, keepdim=True)
        centres = torch.where(length > 0, sums / length.clamp(min=1e-12), centres)
    return centres.to(rows.device)


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`topk` of each row with less to sort: the largest lie in the groups of the largest maxima.

    The columns of a group lie `groups` apart: so the maxima of all are taken side by side.
    """
    size = max(GROUP, -(-values.shape[1] // GROUPS))
    groups = values.shape[1] // size
    if groups <= 2 * count:
        top = values.topk(count, dim=1)
        return top.values, top.indices
    even = groups * size
    best = _maxima(values[:, :even], size, groups).topk(count, dim=1).indices  # (rows, count)
    within = torch.arange(0, even, groups, device=values.device)
    rest = torch.arange(even, values.shape[1], device=values.device)
    columns = (best[:, :, None] + within).flatten(1)
    columns = torch.cat([columns, rest.expand(len(values), -1)], dim=1)
    top = values.gather(1, columns).topk(count, dim=1)
    return top.values, columns.gather(1, top.indices)


def _maxima(values: Tensor, size: int, groups: int) -> Tensor:
    """The largest of each group of columns, taken as values lie in memory: 16 times as fast."""
    if values.stride(1) == 1:
        return values.view(-1, size, groups).amax(dim=1)
    return values.T.view(size, groups, -1).amax(dim=0).T


def _top_products(matrix: Any, count: int, *, rare: bool) -> tuple[Floats, Places]:
    """The largest products of each row with the other rows, by all or by its rare columns only."""
    from scipy import sparse
    from sparse_dot_topn import sp_matmul_topn

    values = np.full((matrix.shape[0], count), -np.inf, np.float32)
    places = np.full((matrix.shape[0], count), -1, np.int32)
    shared = np.bincount(matrix.indices, minlength=matrix.shape[1])  # rows that have a column
    columns = sparse.csr_matrix(matrix.astype(np.float32).T)
    for start in range(0, matrix.shape[0], ROWS):
        part = matrix[start : start + ROWS]
        asked = sparse.csr_matrix(
            (_rare_columns(part, shared) if rare else part).astype(np.float32)
        )
        top = sp_matmul_topn(asked, columns, top_n=count + 1, sort=True, n_threads=cores())
        owner = np.repeat(np.arange(start, start + part.shape[0]), np.diff(top.indptr))
        other = owner != top.indices
        owner, place, value = owner[other], top.indices[other], top.data[other]
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        kept = rank < count
        places[owner[kept], rank[kept]] = place[kept]
        values[owner[kept], rank[kept]] = value[kept]
    return values, places


def _rare_columns(matrix: Any, shared: Ints) -> Any:
    """The matrix with only the rarest columns of each row, those that few rows share."""
    from scipy import sparse

    rarity = shared[matrix.indices]
    per_row = np.diff(matrix.indptr)
    rarest_first = np.lexsort((rarity, np.repeat(np.arange(len(per_row)), per_row)))
    total = np.cumsum(rarity[rarest_first])
    before = np.concatenate([[0], total])[matrix.indptr[:-1]]
    kept = np.zeros(len(rarity), np.bool_)
    kept[rarest_first] = total - np.repeat(before, per_row) <= POSTINGS
    ends = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


def _by_cosine(places: Places, dots: Dots) -> tuple[Floats, Places]:
    """The cosines of each row with those at its places, and these places, best first."""
    parts = np.array_split(np.arange(len(places)), max(1, len(places) // PIECE))
    values = np.full(places.shape, -np.inf, np.float32)

    def fill(rows: Ints) -> None:
        there = places[rows] >= 0
        owner = np.repeat(rows, there.sum(axis=1))
        found = values[rows]
        found[there] = dots(owner, places[rows][there].astype(np.int64))
        values[rows] = found

    for _ in in_threads(fill, parts, cores()):
        pass
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(values, order, 1), np.take_along_axis(places, order, 1)
