"""A vocabulary as the view scorer sees it: the signals of any two of its terms.

How close two terms are says little by itself: in a crowded place many are as close. So each
similarity comes with how far it lies above those of either term to its nearest neighbours in the
same vocabulary (CSLS), for a small and for a larger neighbourhood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from synsetmine.views.strings import FEATURES, StringView

NEIGHBOURS = (5, 20)
SIGNALS = 2 * len(NEIGHBOURS) + 2  # of a table: the similarity, how far above, both known
ROWS = 256  # that are compared with all others at a time


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Unit rows of one table, and the mean similarity of each to its nearest neighbours."""

    unit: Any  # (terms, dimension), Tensor or scipy.sparse; zeros where a term has no vector
    known: Tensor  # (terms,), 1.0 or 0.0
    crowds: Tensor  # (terms, NEIGHBOURS)

    def signals(self, rows: Tensor, columns: Tensor) -> list[Tensor]:
        """Each (rows, columns); all zero but for the last where one of two has no vector."""
        similarity = _similarity(self.unit, rows, columns)
        both = self.known[rows, None] * self.known[None, columns]
        found = [similarity]
        for ours, theirs in zip(self.crowds[rows].T, self.crowds[columns].T, strict=True):
            found.append(similarity - torch.maximum(ours[:, None], theirs[None]))
            found.append(similarity - torch.minimum(ours[:, None], theirs[None]))
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

    def signals(self, rows: Tensor, columns: Tensor) -> Tensor:
        """(rows, columns, signals)."""
        found = [s for table in self.neighbourhoods for s in table.signals(rows, columns)]
        if self.strings is not None:
            numbers = rows.cpu().numpy(), columns.cpu().numpy()
            alike = torch.from_numpy(self.strings.block(*numbers)).to(self.device)
            found += alike.unbind(-1)
        return torch.stack(found, dim=-1)

    def blocks(
        self, progress: Callable[[int, int], None] | None = None
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """(rows, columns, signals) of all pairs: each block is some rows with all from there on."""
        for start in range(0, self.count, ROWS):
            stop = min(start + ROWS, self.count)
            rows = torch.arange(start, stop, device=self.device)
            columns = torch.arange(start, self.count, device=self.device)
            yield rows, columns, self.signals(rows, columns)
            if progress:
                progress(stop, self.count)


def _neighbourhood(table: Any, device: torch.device) -> Neighbourhood:
    unit = table
    if isinstance(table, np.ndarray):
        unit = torch.from_numpy(np.ascontiguousarray(table, np.float32)).to(device)
        known = (unit != 0).any(dim=1)
    else:
        known = torch.from_numpy(np.diff(table.indptr) > 0).to(device)
    count = len(known)
    everyone = torch.arange(count, device=device)
    crowds = torch.zeros(count, len(NEIGHBOURS), device=device)
    most = min(max(NEIGHBOURS), count)
    for start in range(0, count, ROWS):
        rows = everyone[start : start + ROWS]
        similarity = _similarity(unit, rows, everyone)
        similarity[:, ~known] = -torch.inf
        similarity[rows - start, rows] = -torch.inf
        nearest = similarity.topk(most, dim=1).values
        there = nearest > -torch.inf
        sums = nearest.where(there, 0.0).cumsum(dim=1)
        counts = there.cumsum(dim=1).clamp(min=1)
        for i, k in enumerate(NEIGHBOURS):
            last = min(k, most) - 1
            crowds[rows, i] = sums[:, last] / counts[:, last]
    return Neighbourhood(unit, known.float(), crowds)


def _similarity(unit: Any, rows: Tensor, columns: Tensor) -> Tensor:
    """Cosines of rows with columns: (rows, columns)."""
    if isinstance(unit, Tensor):
        return unit[rows] @ unit[columns].T
    product = unit[rows.cpu().numpy()] @ unit[columns.cpu().numpy()].T
    return torch.from_numpy(product.toarray().astype(np.float32)).to(rows.device)
