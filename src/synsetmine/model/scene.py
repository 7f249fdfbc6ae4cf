"""A vocabulary as the view scorer sees it: the signals of any two of its terms.

How close two terms are says little by itself: in a crowded place many are as close. So each
similarity comes with how far it lies above those of either term to its nearest neighbours in the
same vocabulary (CSLS), for a small and for a larger neighbourhood.

In a large vocabulary only those pairs count that are near in some view, or may be an acronym and
what it stands for: their number grows with the terms, not with the square of the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from synsetmine.model.neighbours import nearest_by_products, nearest_rows, nearest_sparse_rows
from synsetmine.model.stringtable import StringTable
from synsetmine.model.threads import one_thread
from synsetmine.types import Progress
from synsetmine.views.storedstrings import compare_stored, ngram_dots, stored_strings
from synsetmine.views.strings import FEATURES, SLOW, Numbers, StringView, row_dots
from synsetmine.workers import WorkerPool, cores, in_threads

NEIGHBOURS = (5, 20)
SIGNALS = 2 * len(NEIGHBOURS) + 2  # of a table: the similarity, how far above, both known
VALUES = {"cpu": 1 << 15, "cuda": 1 << 25}  # pairs that are compared at a time
EXACT = 2500  # terms; of a larger vocabulary only pairs that are near in some view are compared
GPU_THREADS = 2  # one compares while the other fetches
SHARED = 20_000  # terms; the strings of fewer are compared sooner than processes have started
LEFT = 1 << 17  # terms whose near pairs are gathered at a time

Worth: TypeAlias = Callable[[Tensor], Tensor]  # (…, signals) -> (…)
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
        self._threads = cores() if self.device.type == "cpu" else GPU_THREADS
        self._open = ExitStack()
        self._strings: StringTable | _StringsHere | None = None
        if strings is not None and self.device.type == "cuda":
            self._strings = StringTable(strings, self.device)
        elif strings is not None:
            several = pool if pool and pool.workers > 1 and count > max(exact, SHARED) else None
            self._strings = self._open.enter_context(_StringsHere(strings, several))
        self.tables = [self._on_device(np.ascontiguousarray(table, np.float32)) for table in tables]
        self.neighbourhoods = [_neighbourhood(t, brute=self.every_pair) for t in self.tables]
        if self._strings is not None:  # their n-grams are a table too
            self.neighbourhoods.append(_neighbourhood_of_strings(self._strings, self.every_pair))

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_error: object) -> None:
        """Files for other processes go; without a pool of several there are none."""
        self._open.close()

    def block(self, rows: Tensor, columns: Tensor, *, slow: bool = True) -> Tensor:
        """The signals of each row with each column: (rows, columns, signals).

        Without those that are slow, whose places `slow` gives, zeros stand there.
        """
        cosines = [table[rows] @ table[columns].T for table in self.tables]
        strings = None
        if self._strings is not None:
            strings = self._strings.block(rows, columns, slow=slow)
        return self._signals(cosines, strings, rows[:, None], columns[None])

    def of_pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """The signals of left[i] with right[i]: (pairs, signals)."""
        cosines = [(table[left] * table[right]).sum(dim=1) for table in self.tables]
        strings = self._strings.pairs(left, right) if self._strings is not None else None
        return self._signals(cosines, strings, left, right)

    @property
    def slow(self) -> list[int]:
        """The places of the signals that take longest; they are from 0 to 1."""
        first = SIGNALS * len(self.neighbourhoods)
        return [first + FEATURES.index(name) for name in SLOW] if self.strings is not None else []

    def pairs(
        self, *, worth: Worth | None = None, progress: Progress | None = None
    ) -> Iterator[Compared]:
        """(left, right, signals) of the pairs that count, left < right, some at a time.

        Where all pairs count, `worth` may tell from the other signals which of them are worth the
        slow ones; the others are left out.
        """
        step = VALUES[self.device.type]
        compare: Callable[[Any], Compared] = partial(self._compare_rows, worth=worth)
        parts: Sequence[Sized] = self._row_parts(step)
        if not self.every_pair:
            compare, parts = self._compare_near, self._near_parts(step)
        done, total = 0, sum(len(part) for part in parts)
        with one_thread():  # several threads compare; each should not start some more
            found = in_threads(compare, parts, self._threads)
            for part, compared in zip(parts, found, strict=True):
                yield compared
                done += len(part)
                if progress:
                    progress(done, total)

    def _signals(
        self,
        cosines: Sequence[Tensor],
        strings: Tensor | None,
        left: Tensor,
        right: Tensor,
    ) -> Tensor:
        given = [*cosines]
        own: Sequence[Tensor] = ()
        if strings is not None:
            own = strings.unbind(-1)
            given.append(own[FEATURES.index("ngrams")])
        both = zip(self.neighbourhoods, given, strict=True)
        found = [s for table, cosine in both for s in table.signals(cosine, left, right)]
        # The values of one signal lie together: so they are written, and so they are read.
        return torch.stack([*found, *own]).movedim(0, -1)

    def _row_parts(self, values: int) -> list[range]:
        """All rows, of which each is compared with those after it."""
        step = max(1, values // max(self.count, 1))
        return [range(s, min(s + step, self.count)) for s in range(0, self.count, step)]

    def _compare_rows(self, part: range, *, worth: Worth | None) -> Compared:
        rows = torch.arange(part.start, part.stop, device=self.device)
        columns = torch.arange(part.start, self.count, device=self.device)
        every = self.block(rows, columns, slow=worth is None or self._strings is None)
        wanted = rows[:, None] < columns[None]
        if worth is not None and self._strings is not None:
            wanted &= worth(every)
        left, right = wanted.nonzero(as_tuple=True)
        signals = every[left, right]
        left, right = rows[left], columns[right]
        if worth is not None and self._strings is not None:
            signals[:, self.slow] = self._strings.slow_pairs(left, right)
        return left, right, signals

    def _near_parts(self, step: int) -> Sequence[Tensor]:
        """left * terms + right of all pairs that are nearest neighbours in some view."""
        own = torch.arange(self.count, dtype=torch.int32, device=self.device)[:, None]
        ends: list[tuple[Tensor, Tensor]] = [(own, table.nearest) for table in self.neighbourhoods]
        if self.strings is not None:
            short, long = map(self._on_device, self.strings.acronym_pairs())
            ends.append((short, long))
        parts: list[Tensor] = []
        for start in range(0, self.count, LEFT):  # some at a time, since most are in several views
            keys = []
            for one, other in ends:
                first, second = torch.minimum(one, other), torch.maximum(one, other)
                there = (first >= start) & (first < start + LEFT) & (first < second)
                keys.append(first[there].long() * self.count + second[there])
            parts += torch.split(_distinct(torch.cat(keys)), step)
        return parts

    def _compare_near(self, keys: Tensor) -> Compared:
        left, right = keys // self.count, keys % self.count
        return left, right, self.of_pairs(left, right)

    def _on_device(self, values: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(values).to(self.device)


class _StringsHere:
    """The strings on the CPU, in this process or in the workers of a pool."""

    def __init__(self, view: StringView, pool: WorkerPool | None) -> None:
        self.view = view
        self._pool = pool
        self._open = ExitStack()
        self._folder: Path | None = None

    def __enter__(self) -> _StringsHere:
        if self._pool is not None:
            self._folder = self._open.enter_context(stored_strings(self.view))
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def block(self, rows: Tensor, columns: Tensor, *, slow: bool = True) -> Tensor:
        return torch.from_numpy(self.view.block(rows.numpy(), columns.numpy(), slow=slow))

    def slow_pairs(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.from_numpy(self.view.slow_pairs(left.numpy(), right.numpy()))

    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        ends = left.numpy(), right.numpy()
        if self._pool is None or self._folder is None:
            return torch.from_numpy(self.view.pairs(*ends))
        return torch.from_numpy(self._pool.call(compare_stored, self._folder, *ends))

    def ngram_dots(self, left: Numbers, right: Numbers) -> Any:
        if self._pool is None or self._folder is None:
            return row_dots(self.view.ngrams, left, right)
        return self._pool.call(ngram_dots, self._folder, left, right)


def _distinct(keys: Tensor) -> Tensor:
    """Sorted, each once. On a CPU numpy sorts faster, and its `unique` takes 80 times as long."""
    if keys.device.type == "cpu":
        keys.numpy().sort()
    else:
        keys = keys.sort().values
    return keys[torch.cat([keys.new_ones(len(keys[:1])), keys.diff()]) != 0]


def _neighbourhood(unit: Tensor, *, brute: bool) -> Neighbourhood:
    known = (unit != 0).any(dim=1)
    return Neighbourhood.of(known, *nearest_rows(unit, known, max(NEIGHBOURS), brute=brute))


def _neighbourhood_of_strings(strings: StringTable | _StringsHere, brute: bool) -> Neighbourhood:
    matrix = strings.view.ngrams
    known = torch.from_numpy(np.diff(matrix.indptr) > 0)
    if isinstance(strings, StringTable):
        known = known.to(strings.device)
        found = nearest_by_products(strings.ngrams.products, known, max(NEIGHBOURS))
    else:
        dots = strings.ngram_dots
        found = nearest_sparse_rows(matrix, max(NEIGHBOURS), brute=brute, dots=dots)
    return Neighbourhood.of(known, *found)
