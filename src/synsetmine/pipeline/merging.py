"""Merging the entities and relations of a knowledge graph by a plan, and undoing it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from synsetmine.corpus.name_lists import NameRow, id_text
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
from synsetmine.pipeline.plan import Merge, MergeResolver, Plan, plan_in
from synsetmine.pipeline.registry import KnownEntity, Registry
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


class AmbiguousEnd(NamedTuple):
    """An end of a relation whose name stands for several entities."""

    row: int  # of the relations, from 0 on
    column: str
    name: str


@dataclass(frozen=True, repr=False)
class AppliedPlan:
    """The tables after merging, in the library that the given tables have."""

    entities: Any = None
    relations: Any = None
    self_relations: Any = None  # that were dropped; None if they were kept
    counts: ApplicationCounts = ApplicationCounts()
    ambiguous_ends: tuple[AmbiguousEnd, ...] = ()
    registry: Registry | None = None  # with the merged entities, if there was one

    def __repr__(self) -> str:
        return f"AppliedPlan({self.counts.summary})"


def apply_plan(
    plan: Plan | str | Path,
    entities: Any = None,
    relations: Any = None,
    *,
    columns: GraphColumns | None = None,
    drop_self_relations: bool = False,
    keep_merges: bool = False,
    registry: Registry | None = None,
) -> AppliedPlan:
    """Map a table of entities and a table of relations to the canonical names of a plan.

    The tables are those of pyarrow, pandas or polars. Rows of one merge become one row, at the
    place of the first: that of the canonical name, or of the first name if the table lacks it. A
    missing value is taken from the first other row that has one. Lists are joined without
    repetitions, texts of the columns `join` too; numbers of the columns `sum` are added. The
    column `set_id` has the id of the merge, `merged_from` the rows as they were. Of relations
    `source_original` and `target_original` have the ends that were changed.

    A name that stands for several entities is resolved by the id of its row, by its type, or by its
    row number if the table is the list that was grouped. An end of a relation is the entity with
    exactly this name, else the only one with this name in another case. A name that stays ambiguous
    is left as it is, and counted.

    With `keep_merges` the tables may be those of an earlier plan, with new rows: the columns that
    this plan added are removed, so that it can no longer be undone. A `registry` is returned with
    the entities of the merged table.
    """
    if entities is None and relations is None:
        raise DataError("expected a table of entities, of relations, or both")
    plan, columns = plan_in(plan), columns or GraphColumns()
    require_type(columns, GraphColumns, "expected GraphColumns")
    counts = ApplicationCounts()
    resolver = MergeResolver(plan)
    used: set[int] = set()
    nodes = edges = None  # tables
    merged: _MergedEntities | None = None
    mapped = dropped = None
    ambiguous: Sequence[AmbiguousEnd] = ()
    if entities is not None:
        nodes = table_of(entities)
        nodes = nodes.without([SET_ID, MERGED]) if keep_merges else nodes
        merged = _merge_entities(nodes, resolver, columns, used, keep_merges=keep_merges)
        counts = merged.counts
    elif columns.refer_to == "id" or registry is not None:
        what = "relations that have ids need" if registry is None else "a registry needs"
        raise DataError(f"{what} the table of entities too")
    if relations is not None:
        edges = table_of(relations)
        edges = _without_former_ends(edges, columns) if keep_merges else edges
        if nodes is not None:
            _check_ends(nodes, edges, columns)
        find_end = _EndFinder(resolver, merged, columns, used).find
        mapped, dropped, ambiguous, counts = _map_relations(
            edges, find_end, columns, counts, drop=drop_self_relations
        )
    if registry is not None and merged is not None:
        registry = registry.with_graph(_graph_entities(merged, resolver, columns))
    return AppliedPlan(
        as_library(None if merged is None else merged.table, entities),
        as_library(mapped, relations),
        as_library(dropped, relations),
        replace(counts, unused=len(plan) - len(used)),
        tuple(ambiguous),
        registry,
    )


class _MergedEntities(NamedTuple):
    """The merged table, and what the rows were before."""

    table: GraphTable
    counts: ApplicationCounts
    before: GraphTable
    names: Sequence[str]  # of the rows before
    types: Sequence[str]
    ids: Sequence[str]
    rows_of: Mapping[int, Sequence[int]]  # of each merge, the row that is left first


def _merge_entities(
    table: GraphTable,
    resolver: MergeResolver,
    columns: GraphColumns,
    used: set[int],
    *,
    keep_merges: bool,
) -> _MergedEntities:
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
    if keep_merges:
        _check_distinct(table, ids)
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
    counts = ApplicationCounts(
        entities=table.count,
        merged=sum(len(rows) - 1 for _, rows in changed.values()),
        renamed=sum(names[r] != merge.canonical for merge, rows in changed.values() for r in rows),
        ambiguous=ambiguous,
    )
    return _MergedEntities(merged, counts, table, names, types, ids, groups)


def _check_free(table: GraphTable, names: Iterable[str]) -> None:
    for name in names:
        if name in table.columns:
            problem = (
                "the table has a column of this name; undo the plan that was applied to it, or "
                "set keep_merges (--keep-merges)"
            )
            raise DataError(problem, path=table.path, value=name)


def _check_distinct(table: GraphTable, ids: Sequence[str]) -> None:
    """Refuse new rows with ids that other rows of the graph have."""
    for row_id, number in Counter(ids).items():
        if row_id and number > 1:
            hint = "new rows need ids that the graph does not have"
            raise DataError("two rows have this id", path=table.path, value=row_id, hint=hint)


def _graph_entities(
    merged: _MergedEntities, resolver: MergeResolver, columns: GraphColumns
) -> list[KnownEntity]:
    """The entities of a merged table, as a registry takes them."""
    table, names, types, ids = merged.before, merged.names, merged.types, merged.ids
    texts = [table.values(column) for column in _text_columns(table, columns)]

    def name_row(row: int) -> NameRow:
        contexts = tuple(own[row] for own in texts if isinstance(own[row], str) and own[row])
        return NameRow(" ".join(names[row].split()), types[row], contexts=contexts, id=ids[row])

    graph: dict[int, KnownEntity] = {}  # by the first row
    gone: set[int] = set()
    for number, rows in merged.rows_of.items():
        merge = resolver.merges[number]
        type_ = next(filter(None, [merge.type, *(types[row] for row in rows)]), "")
        first = NameRow(merge.canonical, type_, id=ids[rows[0]])
        own = [*map(name_row, rows)]
        listed = {row.key[0] for row in own}
        more = [m for m in merge.members if name_key(m.name) not in listed]
        planned = [NameRow(m.name, m.type) for m in more]
        graph[min(rows)] = KnownEntity(merge.id, (first, *own, *planned))
        gone.update(rows)
    for row, name in enumerate(names):
        if row not in gone and name.strip():
            graph[row] = KnownEntity("", (name_row(row),))
    return [graph[row] for row in sorted(graph)]


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
    joined = _text_columns(table, columns)
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


def _text_columns(table: GraphTable, columns: GraphColumns) -> Sequence[str]:
    """The columns of texts that are joined."""
    if columns.join is not None:
        return columns.join
    return [name for name in table.columns if name == "description"]


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


class _End(NamedTuple):
    """What an end of a relation becomes."""

    new: str | None = None  # None: it stays
    is_ambiguous: bool = False


class _EndFinder:
    """Finds what becomes of the names or ids at the ends of relations."""

    def __init__(
        self,
        resolver: MergeResolver,
        merged: _MergedEntities | None,
        columns: GraphColumns,
        used: set[int],
    ) -> None:
        self._resolver = resolver
        self._used = used
        self._new_ids: dict[str, str] | None = {} if columns.refer_to == "id" else None
        # Of each name, exactly and without case: the merges that have it, or rows as -1 - row.
        self._exact: dict[str, set[int]] = defaultdict(set)
        self._alike: dict[str, set[int]] = defaultdict(set)
        if merged is None:
            return
        merge_of = {row: number for number, rows in merged.rows_of.items() for row in rows}
        for row, name in enumerate(merged.names):
            entity = merge_of.get(row, -1 - row)
            self._exact[" ".join(name.split())].add(entity)
            self._alike[name_key(name)].add(entity)
        if self._new_ids is not None:
            ids = merged.ids
            for first, *others in merged.rows_of.values():
                self._new_ids |= {ids[row]: ids[first] for row in others if ids[row] and ids[first]}

    def find(self, text: str) -> _End:
        if self._new_ids is not None:
            return _End(self._new_ids.get(text))
        exact = self._exact.get(" ".join(text.split()))
        entities = exact or self._alike.get(name_key(text))
        if entities is None:  # no table of entities, or a name that it lacks
            ambiguous = self._resolver.is_ambiguous(text)
            return _End(self._resolver.canonical(text, self._used), ambiguous)
        if len(entities) > 1:
            return _End(is_ambiguous=exact is None or max(entities) >= 0)
        (entity,) = entities
        if entity < 0 or not self._resolver.has_name(entity, text):
            return _End()
        canonical = self._resolver.merges[entity].canonical
        if canonical != text:
            self._used.add(entity)
        return _End(canonical)


def _map_relations(
    table: GraphTable,
    find_end: Callable[[str], _End],
    columns: GraphColumns,
    counts: ApplicationCounts,
    *,
    drop: bool,
) -> tuple[GraphTable, GraphTable | None, Sequence[AmbiguousEnd], ApplicationCounts]:
    """The relations with new ends, those that were dropped, ambiguous ends, and the counts."""
    if not table.columns:  # an empty file of JSON lines
        return table, table if drop else None, (), counts
    ends = _end_columns(table, columns)
    _check_free(table, [*(f"{end}{SUFFIX}" for end in ends), ROW_NUMBER])
    what: Literal["name", "id"] = "name" if columns.refer_to == "name" else "id"
    before = [table.texts(end, what) for end in ends]
    after: list[list[str]] = []
    ambiguous: list[AmbiguousEnd] = []
    mapped = table
    for end, texts in zip(ends, before, strict=True):
        new: dict[int, str] = {}
        for row, text in enumerate(texts):
            place = find_end(text) if text else _End()
            if place.new is not None and place.new != text:
                new[row] = place.new
            if place.is_ambiguous:
                ambiguous.append(AmbiguousEnd(row, end, text))
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
        ambiguous_ends=len(ambiguous),
    )
    return mapped, dropped, sorted(ambiguous), counts


def _end_columns(table: GraphTable, columns: GraphColumns) -> list[str]:
    ends = (columns.source, "source"), (columns.target, "target")
    return [table.column(name, usual=(usual,)) for name, usual in ends]


def _without_former_ends(table: GraphTable, columns: GraphColumns) -> GraphTable:
    if not table.columns:
        return table
    return table.without([f"{end}{SUFFIX}" for end in _end_columns(table, columns)])


def _check_ends(entities: GraphTable, relations: GraphTable, columns: GraphColumns) -> None:
    """Refuse relations that have ids where names are expected, or names in place of ids."""
    id_column = _optional(entities, columns.id, "id")
    if id_column is None or not relations.columns:
        return
    names = {*map(name_key, entities.texts(entities.column(columns.name, usual=NAMES), "name"))}
    ids = {*entities.texts(id_column, "id")}
    ends: set[str] = set()
    for column in _end_columns(relations, columns):
        values = relations.values(column)
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
