"""A vocabulary as the view scorer sees it: the signals of any two of its terms.

How close two terms are says little by itself: in a crowded place many are as close. So each
similarity comes with how far it lies above those of either term to its nearest neighbours in the
same vocabulary (CSLS), for a small and for a larger neighbourhood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from synsetmine.views.strings import FEATURES, StringView

NEIGHBOURS = (5, 20)
SIGNALS = 2 * len(NEIGHBOURS) + 2  # of a table: the similarity, how far above, both known
ROWS = 256  # that are compared with all others at a time
PAIRS = 1 << 17  # that are compared at a time, one by one
EXACT = 2500  # terms; of a larger vocabulary only pairs that are near in some view are compared

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Unit rows of one table, the nearest neighbours of each, and how near they are on average."""

    unit: Any  # (terms, dimension), Tensor or scipy.sparse; zeros where a term has no vector
    known: Tensor  # (terms,), 1.0 or 0.0
    crowds: Tensor  # (terms, NEIGHBOURS)
    nearest: Tensor  # (terms, at most the largest of NEIGHBOURS); -1 where there is no other

    def block(self, rows: Tensor, columns: Tensor) -> list[Tensor]:
        """The signals of each row with each column, each (rows, columns)."""
        similarity = _similarity(self.unit, rows, columns)
        return self._signals(similarity, rows[:, None], columns[None])

    def pairs(self, left: Tensor, right: Tensor) -> list[Tensor]:
        """The signals of left[i] with right[i], each (pairs,)."""
        return self._signals(_similarity_of_pairs(self.unit, left, right), left, right)

    def _signals(self, similarity: Tensor, left: Tensor, right: Tensor) -> list[Tensor]:
        """All zero but for the last where one of two has no vector."""
        both = self.known[left] * self.known[right]
        ours, theirs = self.crowds[left], self.crowds[right]
        found = [similarity]
        for i in range(len(NEIGHBOURS)):
            found.append(similarity - torch.maximum(ours[..., i], theirs[..., i]))
            found.append(similarity - torch.minimum(ours[..., i], theirs[..., i]))
        return [*(signal * both for signal in found), both]


class Scene:
    """The terms of a vocabulary in all views: `tables` of unit rows, and their strings."""

    def __init__(
        self,
        tables: Sequence[Any],  # of float32 (terms, dimension), dense or scipy.sparse
        strings: StringView | None,
        *,
        count: int,
        device: torch.device | str = "cpu",
    ) -> None:
        self.count = count
        self.device = torch.device(device)
        self.strings = strings
        self.neighbourhoods = [_neighbourhood(table, self.device) for table in tables]

    @property
    def width(self) -> int:
        """How many signals a pair has."""
        own = 0 if self.strings is None else len(FEATURES)
        return SIGNALS * len(self.neighbourhoods) + own

    def block(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The signals of each row with each column: (rows, columns, signals)."""
        found = [s for table in self.neighbourhoods for s in table.block(rows, columns)]
        if self.strings is not None:
            found += self._on_device(
                self.strings.block(rows.cpu().numpy(), columns.cpu().numpy())
            ).unbind(-1)
        return torch.stack(found, dim=-1)

    def pairs(
        self, *, exact: int = EXACT, progress: Progress | None = None
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(left, right, signals) of the pairs that count, left < right, some at a time.

        Those are all pairs of up to `exact` terms; of more only the near ones.
        """
        return self._all_pairs(progress) if self.count <= exact else self._near_pairs(progress)

    def _all_pairs(self, progress: Progress | None) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        for start in range(0, self.count, ROWS):
            stop = min(start + ROWS, self.count)
            rows = torch.arange(start, stop, device=self.device)
            columns = torch.arange(start, self.count, device=self.device)
            left, right = (rows[:, None] < columns[None]).nonzero(as_tuple=True)
            yield rows[left], columns[right], self.block(rows, columns)[left, right]
            if progress:
                progress(stop, self.count)

    def _near_pairs(self, progress: Progress | None) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        keys = self._near_keys()
        for start in range(0, len(keys), PAIRS):
            part = keys[start : start + PAIRS]
            left, right = part // self.count, part % self.count
            found = [s for table in self.neighbourhoods for s in table.pairs(left, right)]
            if self.strings is not None:
                numbers = left.cpu().numpy(), right.cpu().numpy()
                found += self._on_device(self.strings.pairs(*numbers)).unbind(-1)
            yield left, right, torch.stack(found, dim=-1)
            if progress:
                progress(min(start + PAIRS, len(keys)), len(keys))

    def _near_keys(self) -> Tensor:
        """left * count + right of all pairs that are nearest neighbours in some view."""
        own = torch.arange(self.count, device=self.device)[:, None]
        ends = [(own, table.nearest) for table in self.neighbourhoods]
        if self.strings is not None:
            short, long = map(self._on_device, self.strings.acronym_pairs())
            ends.append((short, long))
        keys = []
        for one, other in ends:
            first, second = torch.minimum(one, other), torch.maximum(one, other)
            keys.append((first * self.count + second)[(first >= 0) & (first < second)])
        unique: Tensor = torch.unique(torch.cat(keys))
        return unique

    def _on_device(self, values: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(values).to(self.device)


def _neighbourhood(table: Any, device: torch.device) -> Neighbourhood:
    unit = table
    if isinstance(table, np.ndarray):
        unit = torch.from_numpy(np.ascontiguousarray(table, np.float32)).to(device)
        known = (unit != 0).any(dim=1)
    else:
        known = torch.from_numpy(np.diff(table.indptr) > 0).to(device)
    count = len(known)
    everyone = torch.arange(count, device=device)
    most = min(max(NEIGHBOURS), count)
    crowds = torch.zeros(count, len(NEIGHBOURS), device=device)
    nearest = torch.full((count, most), -1, dtype=torch.int64, device=device)
    for start in range(0, count, ROWS):
        rows = everyone[start : start + ROWS]
        similarity = _similarity(unit, rows, everyone)
        similarity[:, ~known] = -torch.inf
        similarity[rows - start, rows] = -torch.inf
        top = similarity.topk(most, dim=1)
        there = (top.values > -torch.inf) & known[rows, None]
        nearest[rows] = top.indices.where(there, -1)
        sums = top.values.where(there, 0.0).cumsum(dim=1)
        counts = there.cumsum(dim=1).clamp(min=1)
        for i, k in enumerate(NEIGHBOURS):
            last = min(k, most) - 1
            crowds[rows, i] = sums[:, last] / counts[:, last]
    return Neighbourhood(unit, known.float(), crowds, nearest)


def _similarity(unit: Any, rows: Tensor, columns: Tensor) -> Tensor:
    """Cosines of rows with columns: (rows, columns)."""
    if isinstance(unit, Tensor):
        return unit[rows] @ unit[columns].T
    product = unit[rows.cpu().numpy()] @ unit[columns.cpu().numpy()].T
    return torch.from_numpy(product.toarray().astype(np.float32)).to(rows.device)


def _similarity_of_pairs(unit: Any, left: Tensor, right: Tensor) -> Tensor:
    """Cosines of left[i] with right[i]: (pairs,)."""
    if isinstance(unit, Tensor):
        return (unit[left] * unit[right]).sum(dim=1)
    product = unit[left.cpu().numpy()].multiply(unit[right.cpu().numpy()]).sum(axis=1)
    return torch.from_numpy(np.asarray(product, np.float32)).to(left.device)
