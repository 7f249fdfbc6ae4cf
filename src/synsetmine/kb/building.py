"""From a stream of names in any order to the arrays of a knowledge base."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synsetmine.errors import DataError, Skipped
from synsetmine.kb.columns import Columns
from synsetmine.kb.names import checked_id, clean_name
from synsetmine.kb.strings import Column, Strings, join
from synsetmine.text import normal_form

IntArray = NDArray[np.int64]


class KnowledgeBuilder:
    """Takes names as they come; the memory is that of the strings and a few bytes a name.

    What one source says of an entity may stand in many places (lines of a table, triples of a
    graph): names with the same id belong together. What cannot be used is left out and counted in
    `skipped`: names without a letter or digit, and entities of which no name is left.
    """

    def __init__(self, *, path: Path | None = None, skipped: Skipped | None = None) -> None:
        self.path = path
        self.skipped = skipped
        self._ids = Column()  # one a call of `add`, unless it repeats the one before
        self._last: str | None = None
        self._names, self._forms = Column(), Column()
        self._runs, self._ranks = array("i"), array("b")  # of each name
        self._left_out: set[str] = set()
        self._old, self._new = Column(), Column()

    def add(
        self, entity: str, names: Iterable[str], *, rank: int = 0, line: int | None = None
    ) -> None:
        """Note names of an entity; the one with the least rank, then the first, is preferred.

        The first of these names has the given rank, the others one more. If any of them is
        broken, nothing is noted.
        """
        if entity != self._last:
            checked_id(entity)
        cleaned = [clean_name(name) for name in names]
        if entity != self._last:
            self._ids.append(entity)
            self._last = entity
        for number, name in enumerate(cleaned):
            if form := normal_form(name):
                self._names.append(name)
                self._forms.append(form)
                self._runs.append(len(self._ids) - 1)
                self._ranks.append(rank + (number > 0))
            else:
                self._skip("a name without a letter or digit", line, name)

    def leave_out(self, entity: str) -> None:
        """Drop an entity, whatever was or will be said about it."""
        self._left_out.add(entity)

    def replace(self, old: str, new: str) -> None:
        """Note that an id now goes by another one; chains are followed."""
        pair = checked_id(old), checked_id(new)  # both before either is noted
        self._old.append(pair[0])
        self._new.append(pair[1])

    def columns(self, *, merge: bool = False) -> Columns:
        """Sort it all out; the builder is used up afterwards.

        With `merge`, names of an id that is replaced go to the replacing entity. Otherwise an id
        that has names of its own is an entity, whatever is said to replace it.
        """
        encoded = self._ids.take_all().dictionary_encode()
        ids = encoded.dictionary  # each id once, in the order in which they came
        entity = _numbers(encoded.indices)[np.frombuffer(self._runs, np.int32)]  # (names,)
        alive = self._alive(ids)
        named = alive & _mask(entity, len(ids))
        every, old, step = self._steps(ids, named, merge=merge)
        final = self._follow(every, step)
        if merge:
            entity = np.where(final[entity] < len(ids), final[entity], entity)
        for number in np.flatnonzero(alive & ~named & (step[: len(ids)] == np.arange(len(ids)))):
            self._skip("an entity without a usable name", None, ids[int(number)].as_py())
        usable = alive & _mask(entity, len(ids))
        rows = np.append(np.cumsum(usable) - 1, -1)  # the number of an entity among the usable
        known = np.append(usable, np.zeros(len(every) - len(ids) + 1, np.bool_))  # [-1] is a loop
        old = old[~known[old] & known[final[old]]]
        return self._sorted(
            np.where(known[entity], rows[entity], -1),
            ids=Strings.of(ids.filter(pa.array(usable))),
            replaced=Strings.of(every.take(pa.array(old))),
            replaced_rows=rows[final[old]].astype(np.int32),
        )

    def _alive(self, ids: Any) -> NDArray[np.bool_]:
        left_out = pa.array(sorted(self._left_out), pa.large_string())
        found: NDArray[np.bool_] = pc.is_in(ids, value_set=left_out).to_numpy(zero_copy_only=False)
        return ~found

    def _steps(
        self, ids: Any, named: NDArray[np.bool_], *, merge: bool
    ) -> tuple[Any, IntArray, IntArray]:
        """All ids, `ids` first; the numbers of the replaced ones; what each is replaced by."""
        encoded = join([ids, self._old.take_all(), self._new.take_all()]).dictionary_encode()
        old, new = np.split(_numbers(encoded.indices)[len(ids) :], 2)
        step = np.arange(len(encoded.dictionary))
        step[old[::-1]] = new[::-1]  # of two replacements of one id the first counts
        if not merge:
            fixed = np.flatnonzero(named)
            step[fixed] = fixed
        replaced = np.zeros(len(step), np.bool_)
        replaced[old] = True
        return encoded.dictionary, np.flatnonzero(replaced), step

    def _follow(self, every: Any, step: IntArray) -> IntArray:
        """Where each id ends up; -1 for those that lead into a loop."""
        final = step
        for _ in range(len(step).bit_length()):  # twice as far in every round
            further = final[final]
            if np.array_equal(further, final):
                break
            final = further
        looping = step[final] != final
        for number in np.flatnonzero(looping).tolist():
            self._skip("a replaced id that leads back to itself", None, every[number].as_py())
        return np.where(looping, -1, final)

    def _sorted(
        self, entity: IntArray, *, ids: Strings, replaced: Strings, replaced_rows: NDArray[np.int32]
    ) -> Columns:
        """The columns, once the row of each name's entity is known (-1: the name goes)."""
        encoded = self._forms.take_all().dictionary_encode()
        form, forms = _numbers(encoded.indices), encoded.dictionary
        order = np.lexsort((np.frombuffer(self._ranks, np.int8), entity))
        order = order[np.searchsorted(entity[order], 0) :]
        # Of an entity's names with the same normal form the first stays.
        _, first = np.unique(entity[order] * len(forms) + form[order], return_index=True)
        order = order[np.sort(first)]
        entity = entity[order]
        used, form = np.unique(form[order], return_inverse=True)
        name_starts = _starts(entity, len(ids))
        preferred = np.zeros(len(order), np.bool_)
        preferred[name_starts[:-1]] = True
        by_form = np.lexsort((~preferred, form))
        names = self._names.take_all().take(pa.array(order))
        pa.default_memory_pool().release_unused()  # it would keep what the sorting took
        return Columns(
            ids=ids,
            name_starts=name_starts,
            names=names,
            forms=Strings.of(forms.take(pa.array(used))),
            form_starts=_starts(form, len(used)),
            form_entities=entity[by_form].astype(np.int32),
            preferred_forms=form[preferred].astype(np.int32),
            replaced=replaced,
            replaced_rows=replaced_rows,
        )

    def _skip(self, problem: str, line: int | None, value: object) -> None:
        if self.skipped is not None:
            self.skipped.append(DataError(problem, path=self.path, line=line, value=value))


def _numbers(indices: Any) -> IntArray:
    numbers: IntArray = indices.to_numpy().astype(np.int64)
    return numbers


def _mask(numbers: IntArray, size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    mask[numbers[numbers >= 0]] = True
    return mask


def _starts(numbers: IntArray, size: int) -> IntArray:
    counts = np.bincount(numbers, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
