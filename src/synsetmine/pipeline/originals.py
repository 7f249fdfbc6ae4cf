"""The rows that merging changed, kept in a column of the merged table, so that it can be undone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from synsetmine.errors import DataError
from synsetmine.pipeline.graph_files import GraphTable, add_columns

SET_ID, MERGED = "set_id", "merged_from"  # columns that merging adds to the entities
ROW, VALUES = "row", "values"  # fields of a record in `merged_from`
ROW_NUMBER = "original_row"  # column of relations that were dropped
SUFFIX = "_original"  # of the columns with the former ends of relations


def with_originals(
    base: GraphTable, table: GraphTable, originals: Sequence[Sequence[int] | None]
) -> GraphTable:
    """The table with the rows of another one that each row was merged from.

    Arrow gets lists of records with the row numbers and values of the types of the table; text
    and JSON get the same as JSON.
    """
    import pyarrow as pa

    rows = [row for own in originals if own is not None for row in own]
    taken = table.taken(rows).arrow
    if table.encoding == "arrow":
        values = pa.StructArray.from_arrays(
            [_array(column) for column in taken.columns],
            fields=[field.with_nullable(True) for field in taken.schema],
        )
        records = pa.StructArray.from_arrays([pa.array(rows, pa.int64()), values], [ROW, VALUES])
        starts: list[int | None] = []
        end = 0
        for own in originals:
            starts.append(None if own is None else end)
            end += len(own or ())
        lists = pa.ListArray.from_arrays(pa.array([*starts, end], pa.int32()), records)
        return replace(base, arrow=base.arrow.append_column(MERGED, lists))
    cells = iter(zip(*(column.to_pylist() for column in taken.columns), strict=True))
    texts: list[str | None] = []
    for own in originals:
        if own is None:
            texts.append("" if table.encoding == "text" else None)
            continue
        merged = [
            {ROW: row, VALUES: _decoded(table, own_cells)}
            for row, own_cells in zip(own, islice(cells, len(own)), strict=True)
        ]
        texts.append(json.dumps(merged, ensure_ascii=False))
    return replace(base, arrow=base.arrow.append_column(MERGED, pa.array(texts, pa.string())))


def _array(column: Any) -> Any:
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _decoded(table: GraphTable, cells: Sequence[str | None]) -> dict[str, Any]:
    named = zip(table.columns, cells, strict=True)
    is_json = table.encoding == "json"
    return {name: json.loads(c) if is_json else c for name, c in named if c is not None}


def originals_of(table: GraphTable) -> tuple[list[list[int]], GraphTable]:
    """The row numbers that each row was merged from, and these rows, one after the other."""
    bare = table.without([SET_ID, MERGED])
    try:
        if table.encoding == "arrow":
            return _from_records(table, bare)
        return _from_json(table, bare)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # also those of Arrow
        problem = "this column is not as apply-plan wrote it"
        raise DataError(problem, path=table.path, value=MERGED) from error


def _from_records(table: GraphTable, bare: GraphTable) -> tuple[list[list[int]], GraphTable]:
    import pyarrow as pa

    lists = table.arrow[MERGED]
    if pa.types.is_null(lists.type):
        return [[] for _ in range(table.count)], bare.taken([])
    lists = _array(lists)
    records = lists.flatten()
    numbers = iter(records.field(ROW).to_pylist())
    lengths = [length or 0 for length in lists.value_lengths().to_pylist()]
    values = records.field(VALUES)
    columns = [values.field(name).cast(bare.arrow.schema.field(name).type) for name in bare.columns]
    rows = [[*islice(numbers, length)] for length in lengths]
    return rows, replace(bare, arrow=pa.Table.from_arrays(columns, schema=bare.arrow.schema))


def _from_json(table: GraphTable, bare: GraphTable) -> tuple[list[list[int]], GraphTable]:
    import pyarrow as pa

    merged = [json.loads(cell) if cell else [] for cell in table.arrow[MERGED].to_pylist()]
    rows = [[int(record[ROW]) for record in records] for records in merged]
    values = [record[VALUES] for records in merged for record in records]
    names = bare.columns
    columns: dict[str, list[str | None]] = {}
    if table.encoding == "text":
        columns = {name: [str(value[name]) for value in values] for name in names}
    else:
        for value in values:  # fields that only merged rows have
            add_columns(names, value)
        for name in names:
            columns[name] = [
                json.dumps(value[name], ensure_ascii=False) if name in value else None
                for value in values
            ]
    arrays = {name: pa.array(cells, pa.string()) for name, cells in columns.items()}
    return rows, replace(bare, arrow=pa.table(arrays))
