"""A vocabulary as the view scorer sees it: the signals of any two of its terms.

How close two terms are says little by itself: in a crowded place many are as close. So each
similarity comes with how far it lies above those of either term to its nearest neighbours in the
same vocabulary (CSLS), for a small and for a larger neighbourhood.

In a large vocabulary only those pairs count that are near in some view, or may be an acronym and
what it stands for: their number grows with the terms, not with the square of the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from synsetmine.engines.pool import WorkerPool
from synsetmine.engines.processes import cores
from synsetmine.engines.threads import in_threads
from synsetmine.model.neighbours import Dots, nearest_rows, nearest_sparse_rows
from synsetmine.views.storedstrings import compare_stored, ngram_dots, stored_strings
from synsetmine.views.strings import FEATURES, Floats, Numbers, StringView

NEIGHBOURS = (5, 20)
SIGNALS = 2 * len(NEIGHBOURS) + 2  # of a table: the similarity, how far above, both known
VALUES = {"cpu": 1 << 15, "cuda": 1 << 20}  # pairs that are compared at a time
EXACT = 2500  # terms; of a larger vocabulary only pairs that are near in some view are compared

Progress: TypeAlias = Callable[[int, int], None]
StringPairs: TypeAlias = Callable[[Numbers, Numbers], Floats]
Compared: TypeAlias = tuple[Tensor, Tensor, Tensor]  # left, right, signals of some pairs


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The nearest neighbours of each term in one table, and how near they are on average."""

    known: Tensor  # (terms,), 1.0 or 0.0
    crowds: Tensor  # (terms, NEIGHBOURS)
    nearest: Tensor  # (terms, the largest of NEIGHBOURS), int32; -1 where there is no other

    @classmethod
    def of(cls, known: Tensor, cosines: Tensor, nearest: Tensor) -> Neighbourhood:
        """From the cosines of the nearest, -inf where there is none."""
        there = cosines > -torch.inf
        sums = cosines.where(there, 0.0).cumsum(dim=1)
        counts = there.cumsum(dim=1).clamp(min=1)
        crowds = [sums[:, k - 1] / counts[:, k - 1] for k in NEIGHBOURS]
        return cls(known.float(), torch.stack(crowds, dim=1), nearest)

    def signals(self, similarity: Tensor, left: Tensor, right: Tensor) -> list[Tensor]:
        """What the similarities of left with right tell; zeros where one of two is unknown."""
        both = self.known[left] * self.known[right]
        ours, theirs = self.crowds[left], self.crowds[right]
        found = [similarity]
        for i in range(len(NEIGHBOURS)):
            found.append(similarity - torch.maximum(ours[..., i], theirs[..., i]))
            found.append(similarity - torch.minimum(ours[..., i], theirs[..., i]))
        return [*(signal * both for signal in found), both]


class Scene:
    """The terms of a vocabulary in all views: `tables` of unit rows, and their strings.

    A row of zeros is a term that a table does not know. All pairs of up to `exact` terms count;
    of more only the near ones.
    """

    def __init__(
        self,
        tables: Sequence[np.ndarray[Any, Any]],  # of float32 (terms, dimension)
        strings: StringView | None,
        *,
        count: int,
        device: torch.device | str = "cpu",
        exact: int = EXACT,
        pool: WorkerPool | None = None,
    ) -> None:
        self.count = count
        self.device = torch.device(device)
        self.strings = strings
        self.every_pair = count <= exact
        self._pool = pool or WorkerPool()
        self._open = ExitStack()
        self._string_pairs: StringPairs = strings.pairs if strings is not None else _no_strings
        dots: Dots | None = None
        if strings is not None and not self.every_pair and self._pool.workers > 1:
            folder = self._open.enter_context(stored_strings(strings))
            call = self._pool.call
            self._string_pairs = lambda left, right: call(compare_stored, folder, left, right)
            dots = lambda left, right: call(ngram_dots, folder, left, right)  # noqa: E731
        self.tables = [self._on_device(np.ascontiguousarray(table, np.float32)) for table in tables]
        self.neighbourhoods = [_neighbourhood(t, brute=self.every_pair) for t in self.tables]
        if strings is not None:  # their n-grams are a table too
            own = _neighbourhood_of_strings(strings, self.device, dots, brute=self.every_pair)
            self.neighbourhoods.append(own)

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_error: object) -> None:
        """Files for other processes go; without a pool of several there are none."""
        self._open.close()

    @property
    def width(self) -> int:
        """How many signals a pair has."""
        own = 0 if self.strings is None else len(FEATURES)
        return SIGNALS * len(self.neighbourhoods) + own

    def block(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The signals of each row with each column: (rows, columns, signals)."""
        cosines = [table[rows] @ table[columns].T for table in self.tables]
        strings = None
        if self.strings is not None:
            strings = self.strings.block(rows.cpu().numpy(), columns.cpu().numpy())
        return self._signals(cosines, strings, rows[:, None], columns[None])

    def of_pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """The signals of left[i] with right[i]: (pairs, signals)."""
        cosines = [(table[left] * table[right]).sum(dim=1) for table in self.tables]
        strings = None
        if self.strings is not None:
            strings = self._string_pairs(left.cpu().numpy(), right.cpu().numpy())
        return self._signals(cosines, strings, left, right)

    def pairs(self, *, progress: Progress | None = None) -> Iterator[Compared]:
        """(left, right, signals) of the pairs that count, left < right, some at a time."""
        step = VALUES[self.device.type]
        compare: Callable[[Any], Compared] = self._compare_rows
        parts: Sequence[Sized] = self._row_parts(step)
        if not self.every_pair:
            compare, parts = self._compare_near, self._near_parts(step)
        done, total = 0, sum(len(part) for part in parts)
        with _one_thread_each():
            threads = max(cores(), self._pool.workers)
            for part, compared in zip(parts, in_threads(compare, parts, threads), strict=True):
                yield compared
                done += len(part)
                if progress:
                    progress(done, total)

    def _signals(
        self,
        cosines: Sequence[Tensor],
        strings: np.ndarray[Any, Any] | None,
        left: Tensor,
        right: Tensor,
    ) -> Tensor:
        given = [*cosines]
        own: Sequence[Tensor] = ()
        if strings is not None:
            own = self._on_device(strings).unbind(-1)
            given.append(own[FEATURES.index("ngrams")])
        both = zip(self.neighbourhoods, given, strict=True)
        found = [s for table, cosine in both for s in table.signals(cosine, left, right)]
        return torch.stack([*found, *own], dim=-1)

    def _row_parts(self, values: int) -> list[range]:
        """All rows, of which each is compared with those after it."""
        step = max(1, values // max(self.count, 1))
        return [range(s, min(s + step, self.count)) for s in range(0, self.count, step)]

    def _compare_rows(self, part: range) -> Compared:
        rows = torch.arange(part.start, part.stop, device=self.device)
        columns = torch.arange(part.start, self.count, device=self.device)
        left, right = (rows[:, None] < columns[None]).nonzero(as_tuple=True)
        return rows[left], columns[right], self.block(rows, columns)[left, right]

    def _near_parts(self, step: int) -> list[np.ndarray[Any, Any]]:
        """left * terms + right of all pairs that are nearest neighbours in some view."""
        own = np.arange(self.count)[:, None]
        ends = [(own, table.nearest.cpu().numpy()) for table in self.neighbourhoods]
        if self.strings is not None:
            ends.append(self.strings.acronym_pairs())
        keys = []
        for one, other in ends:
            first, second = np.minimum(one, other), np.maximum(one, other)
            keys.append((first * self.count + second)[(first >= 0) & (first < second)])
        distinct = np.unique(np.concatenate(keys))
        return [distinct[start : start + step] for start in range(0, len(distinct), step)]

    def _compare_near(self, keys: np.ndarray[Any, Any]) -> Compared:
        left, right = map(self._on_device, np.divmod(keys, self.count))
        return left, right, self.of_pairs(left, right)

    def _on_device(self, values: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(values).to(self.device)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Several threads compare pairs; each of them should not start some more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _neighbourhood(unit: Tensor, *, brute: bool) -> Neighbourhood:
    known = (unit != 0).any(dim=1)
    return Neighbourhood.of(known, *nearest_rows(unit, known, max(NEIGHBOURS), brute=brute))


def _no_strings(_left: Numbers, _right: Numbers) -> Floats:
    raise AssertionError("there are no strings here")


def _neighbourhood_of_strings(
    strings: StringView, device: torch.device, dots: Dots | None, *, brute: bool
) -> Neighbourhood:
    known = torch.from_numpy(np.diff(strings.ngrams.indptr) > 0)
    cosines, nearest = nearest_sparse_rows(strings.ngrams, max(NEIGHBOURS), brute=brute, dots=dots)
    return Neighbourhood.of(known.to(device), cosines.to(device), nearest.to(device))
