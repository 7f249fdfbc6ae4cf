"""Merging the entities and relations of a knowledge graph by a plan, and undoing it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from synsetmine.corpus.name_lists import id_text
from synsetmine.errors import DataError, quantity, require_type
from synsetmine.normalization import name_key
from synsetmine.pipeline.graph_files import (
    MERGED,
    ROW_NUMBER,
    SET_ID,
    SUFFIX,
    GraphTable,
    as_library,
    table_of,
    with_originals,
)
from synsetmine.pipeline.plan import Merge, Plan, plan_in
from synsetmine.pipeline.settings import GraphColumns

NAMES = ("name", "title", "entity", "label")  # usual names of the column with the names
JOINT = " | "  # between texts of rows that are merged


@dataclass(frozen=True)
class ApplicationCounts:
    """What a plan changed."""

    entities: int = 0  # rows of the table of entities
    merged: int = 0  # that were merged into another row
    renamed: int = 0  # that have another name than before
    ambiguous: int = 0  # whose name stands for several entities, which nothing tells apart
    relations: int = 0
    changed: int = 0  # relations with a new source or target
    ambiguous_ends: int = 0  # sources and targets that stand for several entities
    self_relations: int = 0  # relations whose source and target became one
    unused: int = 0  # merges of the plan that changed nothing

    @property
    def summary(self) -> str:
        """What was changed, on one line."""
        parts = []
        if self.entities:
            left = self.entities - self.merged
            parts.append(f"{quantity(self.entities, 'entity')}: {left:,} after merging")
        if self.relations:
            parts.append(f"{quantity(self.relations, 'relation')}: {self.changed:,} changed")
        if self.self_relations:
            parts.append(quantity(self.self_relations, "self-relation"))
        return "; ".join(parts) or "nothing to merge"


@dataclass(frozen=True, repr=False)
class AppliedPlan:
    """The tables after merging, in the library that the given tables have."""

    entities: Any = None
    relations: Any = None
    self_relations: Any = None  # that were dropped; None if they were kept
    counts: ApplicationCounts = ApplicationCounts()

    def __repr__(self) -> str:
        return f"AppliedPlan({self.counts.summary})"


def apply_plan(
    plan: Plan | str | Path,
    entities: Any = None,
    relations: Any = None,
    *,
    columns: GraphColumns | None = None,
    drop_self_relations: bool = False,
) -> AppliedPlan:
    """Map a table of entities and a table of relations to the canonical names of a plan.

    The tables are those of pyarrow, pandas or polars. Rows of one merge become one row, at the
    place of the first: that of the canonical name, or of the first name if the table lacks it. A
    missing value is taken from the first other row that has one. Lists are joined without
    repetitions, texts of the columns `join` too; numbers of the columns `sum` are added. The
    column `set_id` has the id of the merge, `merged_from` the rows as they were. Of relations
    `source_original` and `target_original` have the ends that were changed.

    A name that stands for several entities is resolved by the id of its row, by its type, or by its
    row number if the table is the list that was grouped. A name that stays ambiguous is left as it
    is, and counted.
    """
    if entities is None and relations is None:
        raise DataError("expected a table of entities, of relations, or both")
    plan, columns = plan_in(plan), columns or GraphColumns()
    require_type(columns, GraphColumns, "expected GraphColumns")
    counts = ApplicationCounts()
    resolver = _Resolver(plan)
    used: set[int] = set()
    new_ids: dict[str, str] = {}
    merged = mapped = dropped = None
    if entities is not None:
        merged, counts, new_ids = _merge_entities(table_of(entities), resolver, columns, used)
    elif columns.refer_to == "id":
        raise DataError("relations that have ids need the table of entities too")
    if entities is not None and relations is not None:
        _check_ends(table_of(entities), table_of(relations), columns)
    if relations is not None:
        by_id = columns.refer_to == "id"
        mapped, dropped, counts = _map_relations(
            table_of(relations),
            new_ids.get if by_id else lambda name: resolver.canonical(name, used),
            (lambda _: False) if by_id else resolver.is_ambiguous,
            columns,
            counts,
            drop=drop_self_relations,
        )
    return AppliedPlan(
        as_library(merged, entities),
        as_library(mapped, relations),
        as_library(dropped, relations),
        replace(counts, unused=len(plan) - len(used)),
    )


class _Resolver:
    """Finds the merge of an entity by its name, type, id and row."""

    def __init__(self, plan: Plan) -> None:
        self.merges = plan.merges
        self._by_name: dict[str, dict[int, None]] = defaultdict(dict)
        self._by_type: dict[tuple[str, str], int] = {}
        self._by_id: dict[str, int] = {}
        self._by_row: dict[int, tuple[int, str]] = {}
        self._ambiguous: set[str] = set()  # names that other entities have too
        self._not_by_type: set[str] = set()  # of these the ones that types do not tell apart
        for number, merge in enumerate(plan.merges):
            for member in merge.members:
                name = name_key(member.name)
                self._by_name[name][number] = None
                if member.identified_by != "name":
                    self._ambiguous.add(name)
                if member.identified_by == "type":
                    self._by_type[name, name_key(member.type)] = number
                else:
                    self._not_by_type.add(name)
                for row in member.rows:
                    self._add(self._by_row, row, (number, name))
                for row_id in member.ids:
                    self._add(self._by_id, row_id, number)
        self._ambiguous |= {name for name, numbers in self._by_name.items() if len(numbers) > 1}

    @staticmethod
    def _add(places: dict[Any, Any], key: object, value: object) -> None:
        if places.setdefault(key, value) != value:
            raise DataError("two merges of the plan have this row", value=key)

    def is_ambiguous(self, name: str) -> bool:
        return name_key(name) in self._ambiguous

    def canonical(self, name: str, used: set[int]) -> str | None:
        """The canonical name of a name that only one entity has."""
        key = name_key(name)
        if key in self._ambiguous or key not in self._by_name:
            return None
        (number,) = self._by_name[key]
        canonical = self.merges[number].canonical
        if canonical != name:
            used.add(number)
        return canonical

    def rows_fit(self, names: Sequence[str]) -> bool:
        """Whether the rows of the plan are rows of a table with these names."""
        return bool(self._by_row) and all(
            row < len(names) and name_key(names[row]) == name
            for row, (_, name) in self._by_row.items()
        )

    def find(self, name: str, type_: str, row_id: str, row: int | None) -> int | None:
        """The merge of an entity, None if it has none, -1 if nothing tells which."""
        if row_id in self._by_id:
            return self._by_id[row_id]
        key = name_key(name)
        if key not in self._by_name:
            return None
        if key not in self._ambiguous:
            (number,) = self._by_name[key]
            return number if self._has_type(number, key, type_) else None
        if row is not None:
            place = self._by_row.get(row)
            return None if place is None else place[0]
        if self._by_id and row_id:
            return None  # a row of the list that stands alone, or a new one
        if (key, name_key(type_)) in self._by_type:
            return self._by_type[key, name_key(type_)]
        return -1 if key in self._not_by_type or not type_ else None

    def _has_type(self, number: int, key: str, type_: str) -> bool:
        """Whether the plan has the name with this type, or does not say."""
        types = {name_key(m.type) for m in self.merges[number].members if name_key(m.name) == key}
        return not type_ or name_key(type_) in types or "" in types


def _merge_entities(
    table: GraphTable, resolver: _Resolver, columns: GraphColumns, used: set[int]
) -> tuple[GraphTable, ApplicationCounts, dict[str, str]]:
    """The merged table, and of ids that are gone the ids that took their place."""
    _check_free(table, [SET_ID, MERGED])
    name_column = table.column(columns.name, usual=NAMES)
    id_column = _optional(table, columns.id, "id")
    type_column = _optional(table, columns.type, "type")
    if columns.refer_to == "id" and id_column is None:
        raise DataError("relations have ids, but the entities have no column for them")
    empty = [""] * table.count
    names = table.texts(name_column, "name")
    ids = empty if id_column is None else table.texts(id_column, "id")
    types = empty if type_column is None else table.texts(type_column, "type")
    rows_fit = resolver.rows_fit(names)
    groups: dict[int, list[int]] = defaultdict(list)  # of each merge: its rows
    ambiguous = 0
    for row, (name, type_, row_id) in enumerate(zip(names, types, ids, strict=True)):
        number = resolver.find(name, type_, row_id, row if rows_fit else None)
        if number == -1:
            ambiguous += 1
        elif number is not None:
            groups[number].append(row)
    changed: dict[int, tuple[Merge, list[int]]] = {}  # by the first row
    for number, rows in groups.items():
        merge = resolver.merges[number]
        rows.sort(key=lambda row: _rank(names[row], merge.canonical))
        if len(rows) > 1 or names[rows[0]] != merge.canonical:
            changed[min(rows)] = merge, rows
            used.add(number)
    merged = _merged_table(table, changed, name_column, columns)
    new_ids = {
        ids[row]: ids[rows[0]]
        for _, rows in changed.values()
        for row in rows[1:]
        if ids[row] and ids[rows[0]]
    }
    counts = ApplicationCounts(
        entities=table.count,
        merged=sum(len(rows) - 1 for _, rows in changed.values()),
        renamed=sum(names[r] != merge.canonical for merge, rows in changed.values() for r in rows),
        ambiguous=ambiguous,
    )
    return merged, counts, new_ids


def _check_free(table: GraphTable, names: Iterable[str]) -> None:
    for name in names:
        if name in table.columns:
            problem = "the table has a column of this name; undo the plan that was applied to it"
            raise DataError(problem, path=table.path, value=name)


def _rank(name: str, canonical: str) -> int:
    """Rows of the canonical name come first."""
    return 0 if name == canonical else 1 if name_key(name) == name_key(canonical) else 2


def _optional(table: GraphTable, column: str | None, usual: str) -> str | None:
    if column is None and usual not in table.columns:
        return None
    return table.column(column, usual=(usual,))


def _merged_table(
    table: GraphTable,
    changed: Mapping[int, tuple[Merge, list[int]]],
    name_column: str,
    columns: GraphColumns,
) -> GraphTable:
    """The table with a row for each merge, and the columns that say what was merged."""
    gone = {row for _, rows in changed.values() for row in rows}
    kept = [row for row in range(table.count) if row in changed or row not in gone]
    place = {row: number for number, row in enumerate(kept)}
    base = table.take([changed[row][1][0] if row in changed else row for row in kept])
    joined = columns.join
    if joined is None:
        joined = [name for name in table.columns if name == "description"]
    for column in (*joined, *columns.sum):
        table.column(column)
    several = {place[row]: rows for row, (_, rows) in changed.items() if len(rows) > 1}
    every = [row for rows in several.values() for row in rows]
    for column in table.columns:
        if column == name_column:
            new = {place[row]: merge.canonical for row, (merge, _) in changed.items()}
        else:
            combine = _combiner(table, column, joined, columns.sum)
            values = iter(table.values(column, every))
            parts = {row: [*islice(values, len(rows))] for row, rows in several.items()}
            new = {row: combine(part) for row, part in parts.items()}
            new = {row: value for row, value in new.items() if value is not parts[row][0]}
        base = base.with_cells(column, new)
    set_ids: list[str | None] = [None] * len(kept)
    originals: list[list[int] | None] = [None] * len(kept)
    for row, (merge, rows) in changed.items():
        set_ids[place[row]] = merge.id
        originals[place[row]] = sorted(rows)
    return with_originals(base.with_column(SET_ID, set_ids), table, originals)


def _combiner(
    table: GraphTable, column: str, joined: Sequence[str], added: Sequence[str]
) -> Callable[[list[Any]], Any]:
    """What becomes of the values of several rows."""

    def first(values: list[Any]) -> Any:
        return next((value for value in values if value not in (None, "")), values[0])

    def join(values: list[Any]) -> Any:
        texts = [v for v in values if v not in (None, "")]
        if not texts or not all(isinstance(value, str) for value in texts):
            return union(values)
        return JOINT.join(dict.fromkeys(texts))

    def union(values: list[Any]) -> Any:
        lists = [value for value in values if value is not None]
        if len(lists) < 2 or not all(isinstance(value, list) for value in lists):
            return first(values)
        keys = {json.dumps(v, default=str, sort_keys=True): v for one in lists for v in one}
        return list(keys.values())

    def add(values: list[Any]) -> Any:
        numbers = [number(value) for value in values if value not in (None, "")]
        if not numbers:
            return values[0]
        return str(sum(numbers)) if table.encoding == "text" else sum(numbers)

    def number(value: Any) -> Any:
        try:
            return Decimal(value) if table.encoding == "text" else value + 0
        except (TypeError, InvalidOperation):
            problem = f"the column {column} cannot be summed: it has values that are not numbers"
            raise DataError(problem, path=table.path, value=value) from None

    return add if column in added else join if column in joined else union


def _map_relations(
    table: GraphTable,
    mapping: Callable[[str], str | None],
    is_ambiguous: Callable[[str], bool],
    columns: GraphColumns,
    counts: ApplicationCounts,
    *,
    drop: bool,
) -> tuple[GraphTable, GraphTable | None, ApplicationCounts]:
    """The relations with new ends, those that were dropped, and the counts."""
    if not table.columns:  # an empty file of JSON lines
        return table, table if drop else None, counts
    ends = [table.column(columns.source, usual=("source",))]
    ends.append(table.column(columns.target, usual=("target",)))
    _check_free(table, [*(f"{end}{SUFFIX}" for end in ends), ROW_NUMBER])
    what: Literal["name", "id"] = "name" if columns.refer_to == "name" else "id"
    before = [table.texts(end, what) for end in ends]
    after: list[list[str]] = []
    ambiguous = 0
    mapped = table
    for end, texts in zip(ends, before, strict=True):
        new: dict[int, str] = {}
        for row, text in enumerate(texts):
            canonical = mapping(text) if text else None
            if canonical is not None and canonical != text:
                new[row] = canonical
            ambiguous += bool(text) and is_ambiguous(text)
        after.append([new.get(row, text) for row, text in enumerate(texts)])
        originals = table.values(end, list(new))
        mapped = mapped.with_cells(
            end, dict(zip(new, _as_type(originals, new.values()), strict=True))
        )
        former: list[Any] = [None] * table.count
        for row, value in zip(new, originals, strict=True):
            former[row] = value
        mapped = mapped.with_column(f"{end}{SUFFIX}", former, like=end)
    was, now = [*zip(*before, strict=True)], [*zip(*after, strict=True)]
    changed = [row for row in range(table.count) if was[row] != now[row]]
    loops = [row for row in changed if now[row][0] == now[row][1] and was[row][0] != was[row][1]]
    dropped = None
    if drop:
        gone = set(loops)
        dropped = mapped.take(loops).with_column(ROW_NUMBER, loops)
        mapped = mapped.take([row for row in range(table.count) if row not in gone])
    counts = replace(
        counts,
        relations=table.count,
        changed=len(changed),
        self_relations=len(loops),
        ambiguous_ends=ambiguous,
    )
    return mapped, dropped, counts


def _check_ends(entities: GraphTable, relations: GraphTable, columns: GraphColumns) -> None:
    """Refuse relations that have ids where names are expected, or names in place of ids."""
    id_column = _optional(entities, columns.id, "id")
    if id_column is None or not relations.columns:
        return
    names = {*map(name_key, entities.texts(entities.column(columns.name, usual=NAMES), "name"))}
    ids = {*entities.texts(id_column, "id")}
    ends: set[str] = set()
    for column, usual in ((columns.source, "source"), (columns.target, "target")):
        values = relations.values(relations.column(column, usual=(usual,)))
        ends.update(id_text(value) for value in values if value not in (None, ""))
    have_names, have_ids = any(name_key(end) in names for end in ends), not ends.isdisjoint(ids)
    other = "id" if columns.refer_to == "name" else "name"
    if have_names != have_ids and have_ids == (other == "id"):
        problem = f"source and target have {other}s of entities; set refer_to (--refer-to) to"
        raise DataError(problem, path=relations.path, value=other)


def _as_type(originals: Sequence[Any], texts: Iterable[str]) -> list[Any]:
    """Texts as whole numbers where the values that they replace are such."""
    pairs = zip(originals, texts, strict=True)
    return [int(text) if isinstance(value, int | float) else text for value, text in pairs]
