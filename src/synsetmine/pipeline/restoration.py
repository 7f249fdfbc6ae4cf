"""Undoing a plan: the tables of a knowledge graph as they were before it was applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from synsetmine.errors import DataError, quantity, require_type
from synsetmine.normalization import name_key
from synsetmine.pipeline.graph_files import (
    MERGED,
    ROW_NUMBER,
    SET_ID,
    SUFFIX,
    GraphTable,
    as_library,
    originals_of,
    table_of,
)
from synsetmine.pipeline.plan import Plan, plan_in
from synsetmine.pipeline.settings import GraphColumns

_IsUndone: TypeAlias = Callable[[str, str], bool]  # of a former and a present end of a relation


@dataclass(frozen=True, repr=False)
class RestoredGraph:
    """The tables as they were, in the library that the given tables have."""

    entities: Any = None
    relations: Any = None
    restored_entities: int = 0  # rows
    restored_relations: int = 0

    @property
    def summary(self) -> str:
        return (
            f"{quantity(self.restored_entities, 'entity')} and "
            f"{quantity(self.restored_relations, 'relation')} restored"
        )

    def __repr__(self) -> str:
        return f"RestoredGraph({self.summary})"


def undo_plan(
    plan: Plan | str | Path,
    entities: Any = None,
    relations: Any = None,
    self_relations: Any = None,
    *,
    columns: GraphColumns | None = None,
) -> RestoredGraph:
    """Undo the merges of a plan in tables that `apply_plan` returned.

    Merges that are not in the plan stay. Rows come back to their places; `self_relations` are those
    that were dropped. Relations with ids need the table of entities too.
    """
    if entities is None and relations is None:
        raise DataError("expected a table of entities, of relations, or both")
    plan, columns = plan_in(plan), columns or GraphColumns()
    require_type(columns, GraphColumns, "expected GraphColumns")
    former: GraphTable | None = None
    restored = 0
    new_ids: set[tuple[str, str]] = set()
    if entities is not None:
        former, restored, new_ids = _restore_entities(table_of(entities), plan, columns)
    elif columns.refer_to == "id":
        raise DataError("relations that have ids need the table of entities too")
    names = {
        (name_key(member.name), name_key(merge.canonical))
        for merge in plan
        for member in merge.members
    }

    def is_undone(old: str, new: str) -> bool:
        if columns.refer_to == "id":
            return (old, new) in new_ids
        return (name_key(old), name_key(new)) in names

    mapped: GraphTable | None = None
    changed = 0
    if relations is not None:
        dropped = None if self_relations is None else table_of(self_relations)
        mapped, changed = _restore_relations(table_of(relations), dropped, is_undone, columns)
    return RestoredGraph(
        as_library(former, entities), as_library(mapped, relations), restored, changed
    )


def _restore_entities(
    table: GraphTable, plan: Plan, columns: GraphColumns
) -> tuple[GraphTable, int, set[tuple[str, str]]]:
    """The table, the number of rows that came back, and pairs of former and present ids."""
    table = table.with_plan_columns([SET_ID, MERGED])
    rows, originals = originals_of(table)
    ids = {merge.id for merge in plan}
    undone = [set_id in ids for set_id in table.values(SET_ID)]
    bare = table if any(r and not u for r, u in zip(rows, undone, strict=True)) else originals
    base = table.without([name for name in table.columns if name not in bare.columns])
    free = _free({row for own in rows for row in own})
    places: list[tuple[int, int]] = []  # where a row is to stand, and where it is now
    pairs: set[tuple[str, str]] = set()
    restored = start = 0
    id_column = "id" if columns.id is None and "id" in table.columns else columns.id
    now = [] if id_column is None else table.texts(id_column, "id")
    was = [] if id_column is None else originals.texts(id_column, "id")
    for place, (own, is_undone) in enumerate(zip(rows, undone, strict=True)):
        numbers = range(start, start + len(own))
        start += len(own)
        if own and is_undone:
            places += [(row, base.count + n) for row, n in zip(own, numbers, strict=True)]
            restored += len(own)
            pairs |= {(was[n], now[place]) for n in numbers if was}
        else:
            places.append((min(own) if own else next(free), place))
    places.sort()
    return base.with_rows(originals).take([row for _, row in places]), restored, pairs


def _free(used: set[int]) -> Iterator[int]:
    """Row numbers that are not used, in ascending order."""
    return (row for row in count() if row not in used)


def _restore_relations(
    table: GraphTable, dropped: GraphTable | None, is_undone: _IsUndone, columns: GraphColumns
) -> tuple[GraphTable, int]:
    if not table.columns:  # an empty file of JSON lines
        if dropped is None or not dropped.columns:
            return table, 0
        table = dropped.take([]).without([ROW_NUMBER])
    ends = [table.column(columns.source, usual=("source",))]
    ends.append(table.column(columns.target, usual=("target",)))
    restored, changed = _with_former_ends(table, ends, is_undone, columns)
    count_changed = len(changed)
    if dropped is not None and dropped.count:
        numbers = [int(row) for row in dropped.values(dropped.column(ROW_NUMBER))]
        again, back = _with_former_ends(dropped.without([ROW_NUMBER]), ends, is_undone, columns)
        kept = sorted(back)
        free = _free(set(numbers))
        places = [(next(free), row) for row in range(restored.count)]
        places += [(numbers[row], restored.count + n) for n, row in enumerate(kept)]
        places.sort()
        restored = restored.with_rows(again.take(kept)).take([row for _, row in places])
        count_changed += len(kept)
    former = [f"{end}{SUFFIX}" for end in ends]
    if not any(value not in (None, "") for name in former for value in restored.values(name)):
        restored = restored.without(former)
    return restored, count_changed


def _with_former_ends(
    table: GraphTable, ends: Sequence[str], is_undone: _IsUndone, columns: GraphColumns
) -> tuple[GraphTable, set[int]]:
    """The table with the former ends of relations, and the rows that changed."""
    changed: set[int] = set()
    table = table.with_plan_columns([f"{end}{SUFFIX}" for end in ends])
    for end in ends:
        former = f"{end}{SUFFIX}"
        now, was = table.texts(end, columns.refer_to), table.texts(former, columns.refer_to)
        rows = [
            row
            for row, (old, new) in enumerate(zip(was, now, strict=True))
            if old and is_undone(old, new)
        ]
        values = table.values(former, rows)
        table = table.with_cells(end, dict(zip(rows, values, strict=True)))
        empty = "" if table.encoding == "text" else None
        table = table.with_cells(former, dict.fromkeys(rows, empty))
        changed.update(rows)
    return table, changed
