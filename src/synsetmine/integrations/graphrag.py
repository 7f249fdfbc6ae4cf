"""Duplicate entities in the index of Microsoft's GraphRAG: one row for all names of an entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from synsetmine.corpus.name_lists import NameRow
from synsetmine.errors import DataError, quantity
from synsetmine.integrations.mentions import GroupOptions, group_mentions
from synsetmine.pipeline.graph_files import GraphTable, read_table, write_tables
from synsetmine.pipeline.merging import ApplicationCounts, apply_plan
from synsetmine.pipeline.plan import Merge, Plan, PlannedMember, plan_in
from synsetmine.pipeline.settings import GraphColumns

ENTITIES, RELATIONSHIPS = "entities.parquet", "relationships.parquet"
TITLE, DESCRIPTION, FREQUENCY, DEGREE = "title", "description", "frequency", "degree"
SOURCE, TARGET, WEIGHT, COMBINED = "source", "target", "weight", "combined_degree"


@dataclass(frozen=True, repr=False)
class MergedIndex:
    """What merging made of an index."""

    plan: Plan
    counts: ApplicationCounts
    parallel: int  # relationships that were merged into another one with the same ends

    def __repr__(self) -> str:
        parallel = quantity(self.parallel, "parallel relationship")
        return f"MergedIndex({self.counts.summary}; {parallel})"


def plan_graphrag(folder: str | Path, **options: Unpack[GroupOptions]) -> Plan:
    """Which entities of an index would be merged, and why.

    `folder` is the `output` of GraphRAG. Titles are grouped with their types and descriptions;
    the options are those of `synsetmine.group`. The most frequent title names the entity.
    """
    table = read_table(Path(folder) / ENTITIES)
    titles = table.texts(table.column(TITLE), "name")
    types = table.texts("type", "type") if "type" in table.columns else [""] * table.count
    texts = [""] * table.count
    if DESCRIPTION in table.columns:
        texts = table.texts(DESCRIPTION, "name")
    mentions = [
        NameRow(title, type_, contexts=(text,))
        for title, type_, text in zip(titles, types, texts, strict=True)
    ]
    ids = table.texts(table.column("id"), "id")
    plan = group_mentions(mentions, **options).plan(ids=ids)
    if FREQUENCY not in table.columns:
        return plan
    counts = {i: n or 0 for i, n in zip(ids, table.values(FREQUENCY), strict=True)}
    return Plan(tuple(_by_frequency(merge, counts) for merge in plan))


def _by_frequency(merge: Merge, counts: Mapping[str, float]) -> Merge:
    """The merge with its most frequent title as the name, unless a known set has one."""
    if any(member.known for member in merge.members):
        return merge
    members = sorted(merge.members, key=lambda m: -sum(counts.get(i, 0) for i in m.ids))
    return replace(merge, canonical=members[0].name, members=tuple(members))


def merge_graphrag(
    folder: str | Path,
    out: str | Path,
    *,
    plan: Plan | str | Path | None = None,
    **options: Unpack[GroupOptions],
) -> MergedIndex:
    """Write the entities and relationships of an index anew, each entity once.

    `folder` is the `output` of GraphRAG, `out` another folder, which gets `entities.parquet` and
    `relationships.parquet`. A merged entity keeps the id of the row with its name; descriptions are
    joined, text units united, frequencies added. Relationships between two names of one entity are
    dropped; those with the same ends become one, with the sum of their weights. Degrees are
    counted anew. Without a `plan` that of `plan_graphrag` is made.
    """
    folder, out = Path(folder), Path(out)
    if out.resolve() == folder.resolve():
        raise DataError("the merged index would replace the one that is read", path=out)
    entities, relationships = read_table(folder / ENTITIES), read_table(folder / RELATIONSHIPS)
    plan = plan_graphrag(folder, **options) if plan is None else plan_in(plan)
    applied = apply_plan(
        plan,
        entities,
        relationships,
        columns=GraphColumns(name=TITLE, sum=_present(entities, FREQUENCY)),
        drop_self_relations=True,
    )
    relations: GraphTable = applied.relations.without(_additions(applied.relations, relationships))
    edges = _without_parallel(relations)
    degrees = _degrees(edges)
    names = applied.entities.values(TITLE)
    merged = applied.entities.without(_additions(applied.entities, entities))
    merged = _with_numbers(merged, DEGREE, [degrees[name] for name in names])
    ends = zip(edges.values(SOURCE), edges.values(TARGET), strict=True)
    combined = [degrees[source] + degrees[target] for source, target in ends]
    write_tables(
        {
            out / ENTITIES: merged,
            out / RELATIONSHIPS: _with_numbers(edges, COMBINED, combined),
        }
    )
    return MergedIndex(plan, applied.counts, relations.count - edges.count)


def _present(table: GraphTable, column: str) -> Sequence[str]:
    return (column,) if column in table.columns else ()


def _additions(table: GraphTable, before: GraphTable) -> list[str]:
    """The columns that applying a plan adds, and GraphRAG does not know."""
    return [name for name in table.columns if name not in before.columns]


def _without_parallel(table: GraphTable) -> GraphTable:
    """The relationships with one row for each source and target, as GraphRAG has them.

    Rows with the same ends are merged by a plan of their ids.
    """
    ids = table.texts(table.column("id"), "id")
    of_ends: dict[tuple[str, str], list[str]] = {}
    ends = zip(table.values(SOURCE), table.values(TARGET), strict=True)
    for row_id, pair in zip(ids, ends, strict=True):
        of_ends.setdefault(pair, []).append(row_id)
    merges = [
        Merge(own[0], own[0], tuple(PlannedMember(row_id, ids=(row_id,)) for row_id in own))
        for own in of_ends.values()
        if len(own) > 1
    ]
    columns = GraphColumns(name="id", id="id", sum=_present(table, WEIGHT))
    merged: GraphTable = apply_plan(Plan(tuple(merges)), table, columns=columns).entities
    return merged.without(_additions(merged, table))


def _degrees(table: GraphTable) -> Counter[str]:
    """How many other entities an entity has relationships with; one with itself counts twice."""
    pairs = zip(table.values(SOURCE), table.values(TARGET), strict=True)
    edges = {(min(pair), max(pair)) for pair in pairs if None not in pair}
    return Counter(end for edge in edges for end in edge)


def _with_numbers(table: GraphTable, column: str, values: Sequence[int]) -> GraphTable:
    """The table with these values, if it has the column."""
    return table.with_cells(column, dict(enumerate(values))) if column in table.columns else table
