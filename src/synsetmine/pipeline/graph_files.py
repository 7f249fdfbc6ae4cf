"""Tables of a knowledge graph: CSV, TSV, JSON lines and Parquet, and tables of Python libraries.

A table is one of Arrow, whose cells keep what the file has: in CSV and TSV the text of a cell, in
JSON lines the JSON text of a field (null where an object lacks it), else values of Arrow. A merged
table keeps the rows that merging changed in a column, so that it can be undone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from synsetmine.corpus.documents import TableFormat, check_unicode, table_rows
from synsetmine.corpus.name_lists import choose_column, format_of, id_text, name_text, type_text
from synsetmine.errors import DataError
from synsetmine.io.files import Source, atomic_stream, parse_json, plain_name
from synsetmine.io.parquet import ParquetReader, parquet_errors
from synsetmine.io.tables import row_of

Encoding: TypeAlias = Literal["arrow", "text", "json"]

SET_ID, MERGED = "set_id", "merged_from"  # columns that merging adds to the entities
ROW, VALUES = "row", "values"  # fields of a record in `merged_from`
ROW_NUMBER = "original_row"  # column of relations that were dropped
SUFFIX = "_original"  # of the columns with the former ends of relations


@dataclass(frozen=True, eq=False)
class GraphTable:
    """A table of Arrow, and how its cells are encoded."""

    arrow: Any  # pyarrow.Table
    encoding: Encoding = "arrow"
    path: Path | None = None
    line_end: str = "\n"  # of CSV and TSV files
    lines: Sequence[tuple[str, int]] = ()  # file and line of each row; in Parquet its row, from 0

    @property
    def columns(self) -> list[str]:
        return list(self.arrow.column_names)

    @property
    def count(self) -> int:
        return int(self.arrow.num_rows)

    def column(self, name: str | None, *, usual: Sequence[str] = ()) -> str:
        """The column with this name, or the only one of the usual ones that there is."""
        headers = self.columns
        if name is None:
            plain = [header.strip().casefold() for header in headers]
            name = next((headers[plain.index(u)] for u in usual if plain.count(u) == 1), usual[0])
        try:
            return headers[choose_column(headers, name)]
        except DataError as error:
            raise error.at(self.path) if self.path is not None else error from None

    def values(self, column: str, rows: Sequence[int] | None = None) -> list[Any]:
        """The values of a column, in some rows; None where it is missing."""
        cells = self.arrow[column] if rows is None else self.arrow[column].take(_positions(rows))
        values: list[Any] = cells.to_pylist()
        if self.encoding == "json":
            return [None if value is None else json.loads(value) for value in values]
        return values

    def texts(self, column: str, what: Literal["name", "type", "id"]) -> list[str]:
        """The names, types or ids of a column as text; empty where they are missing."""
        read = {"name": name_text, "type": type_text, "id": id_text}[what]
        texts = []
        for row, value in enumerate(self.values(column)):
            try:
                texts.append(read(value))
            except DataError as error:
                problem = f"{error.problem} (row {row})"
                raise DataError(problem, path=self.path, value=error.value) from None
        return texts

    def as_array(self, column: str, values: Sequence[Any]) -> Any:
        """Values of a column as an array of its type."""
        import pyarrow as pa

        return pa.array(_cells(values, self.encoding), type=self.arrow.schema.field(column).type)

    def with_cells(self, column: str, rows: Mapping[int, Any]) -> GraphTable:
        """The table with other values in some rows of a column."""
        import pyarrow as pa

        if not rows:
            return self
        cells = self.arrow[column]
        indices = list(range(self.count))
        for place, row in enumerate(rows):
            indices[row] = self.count + place
        new = self.as_array(column, list(rows.values()))
        cells = pa.chunked_array([*cells.chunks, new], type=cells.type).take(_positions(indices))
        place = self.columns.index(column)
        field = self.arrow.schema.field(column)
        return replace(self, arrow=self.arrow.set_column(place, field, cells))

    def take(self, rows: Sequence[int]) -> GraphTable:
        """Some rows, in this order."""
        return replace(self, arrow=self.arrow.take(_positions(rows)), lines=())

    def with_column(
        self, name: str, values: Sequence[Any], *, like: str | None = None
    ) -> GraphTable:
        """The table with one more column, of the type of another one; None is missing."""
        import pyarrow as pa

        type_ = None if like is None else self.arrow.schema.field(like).type
        if type_ is None and not (
            self.encoding == "arrow" and any(isinstance(v, int) for v in values)
        ):
            type_ = pa.string()
        cells = pa.array(_cells(values, self.encoding), type=type_)
        return replace(self, arrow=self.arrow.append_column(name, cells))

    def with_rows(self, other: GraphTable) -> GraphTable:
        """The rows of both; columns that one of them lacks are missing there."""
        import pyarrow as pa

        columns = self.columns
        add_columns(columns, other.columns)
        field_of = {field.name: field for one in (other, self) for field in one.arrow.schema}
        fields = [field_of[name] for name in columns]
        schema = pa.schema(fields, metadata=self.arrow.schema.metadata)
        parts = []
        for table in (self, other):
            part = table.arrow
            for field in fields:
                if field.name not in part.column_names:
                    empty = "" if self.encoding == "text" else None
                    cells = pa.array([empty] * table.count, type=field.type)
                    part = part.append_column(field, cells)
            parts.append(part.select(columns).cast(schema))
        lines = (*self.lines, *other.lines)
        return replace(self, arrow=pa.concat_tables(parts), lines=lines)

    def with_plan_columns(self, columns: Sequence[str]) -> GraphTable:
        """The table with columns that applying a plan adds; JSON lines lack one without values."""
        table = self
        for name in columns:
            if name in self.columns:
                continue
            if self.encoding != "json":
                problem = "the table has no such column: no plan was applied to it"
                raise DataError(problem, path=self.path, value=name)
            table = table.with_column(name, [None] * self.count)
        return table

    def without(self, columns: Sequence[str]) -> GraphTable:
        kept = [name for name in self.columns if name not in columns]
        return replace(self, arrow=self.arrow.select(kept))


def _cells(values: Sequence[Any], encoding: Encoding) -> list[Any]:
    """Values as a table of this encoding has them."""
    if encoding == "json":
        return [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
    return ["" if v is None else str(v) for v in values] if encoding == "text" else list(values)


def _positions(rows: Sequence[int]) -> Any:
    import pyarrow as pa

    return pa.array(rows, type=pa.int64())


def table_of(table: Any) -> GraphTable:
    """A table of pyarrow, pandas or polars."""
    import pyarrow as pa

    if isinstance(table, GraphTable):
        return table
    if isinstance(table, pa.Table):
        return GraphTable(table)
    if hasattr(table, "to_arrow"):
        return GraphTable(table.to_arrow())
    if hasattr(table, "iloc"):
        is_numbered = table.index.name is None and [*table.index] == [*range(len(table))]
        try:
            return GraphTable(pa.Table.from_pandas(table, preserve_index=not is_numbered))
        except pa.ArrowException as error:
            problem = "a column of the DataFrame has values of several types"
            raise DataError(problem, value=str(error)) from error
    problem = "expected a table of pyarrow, pandas or polars"
    if hasattr(table, "collect"):
        problem = f"{problem}; pass .collect() of a LazyFrame"
    elif isinstance(table, str | Path):
        problem = f"{problem}; `synsetmine apply-plan` reads files"
    raise DataError(problem, value=type(table).__name__)


def as_library(table: GraphTable | None, like: Any) -> Any:
    """The table in the library of another one."""
    if table is None:
        return None
    module = type(like).__module__.partition(".")[0]
    if module == "pandas":
        return table.arrow.to_pandas()
    if module == "polars":
        import polars

        return polars.from_arrow(table.arrow)
    return table if isinstance(like, GraphTable) else table.arrow


def read_table(path: Path) -> GraphTable:
    """All columns of a CSV, TSV, JSON lines or Parquet file, by its ending."""
    source = Source(path)
    match check_table_ending(path):
        case "parquet":
            with parquet_errors(path), ParquetReader(path) as file:
                table = file.table()
            lines = [(path.name, row) for row in range(len(table))]
            return GraphTable(table, "arrow", path, lines=lines)
        case "jsonl":
            return _read_json(source)
        case format:
            return _read_cells(source, format)


def read_tables(paths: Sequence[Path]) -> GraphTable:
    """The rows of several files of one format, one after the other."""
    table, *others = map(read_table, paths)
    for other in others:
        if other.encoding != table.encoding:
            problem = f"expected the format of {table.path}, for their rows come into one table"
            raise DataError(problem, path=other.path)
        with parquet_errors(other.path or paths[0]):
            table = table.with_rows(other)
    return table


def check_table_ending(path: Path) -> Literal["csv", "tsv", "jsonl", "parquet"]:
    """The format of a file that can be read and written; another is an error."""
    format = format_of(path)
    if (
        format == "text"
        or format == "xlsx"
        or (format == "parquet" and plain_name(path) != path.name)
    ):
        known = ".csv, .tsv, .jsonl, .parquet; all but .parquet also with .gz, .bz2 or .zst"
        raise DataError(f"unknown file extension; expected {known}", value=str(path))
    return format


def _read_cells(source: Source, format: TableFormat) -> GraphTable:
    import pyarrow as pa

    rows = table_rows(source, format)
    number, header = next(rows, (None, []))
    repeated = [name for name in header if header.count(name) > 1]
    if not header or repeated:
        problem = "two columns have this name" if repeated else "the table has no header"
        raise DataError(problem, path=source.path, line=number, value=next(iter(repeated), None))
    columns: list[list[str]] = [[] for _ in header]
    lines = []
    for number, row in rows:
        lines.append((source.path.name, number))
        for column, cell in zip(columns, row, strict=True):
            column.append(cell)
    arrays = [pa.array(column, type=pa.string()) for column in columns]
    first = next(iter(Source(source.path).byte_lines()), (0, b""))[1]
    line_end = "\r\n" if first.endswith(b"\r\n") else "\n"
    return GraphTable(pa.table(arrays, names=header), "text", source.path, line_end, lines)


def _read_json(source: Source) -> GraphTable:
    import pyarrow as pa

    records, lines = [], []
    columns: list[str] = []
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            record = parse_json(line)
            if not isinstance(record, dict):
                raise DataError("expected a JSON object", value=line)
            cells = {name: json.dumps(v, ensure_ascii=False) for name, v in record.items()}
            check_unicode("".join((*cells, *cells.values())))
        except DataError as error:
            raise error.at(source.path, number) from None
        add_columns(columns, record)
        lines.append((source.path.name, number))
        records.append(cells)
    arrays = [pa.array([r.get(name) for r in records], type=pa.string()) for name in columns]
    return GraphTable(pa.table(arrays, names=columns), "json", source.path, lines=lines)


def add_columns(columns: list[str], names: Iterable[str]) -> None:
    """Add the names that are new, each behind the one that it follows."""
    names = list(names)
    if {*names} <= {*columns}:
        return
    place = 0
    for name in names:
        if name not in columns:
            columns.insert(place, name)
        place = columns.index(name) + 1


def write_tables(tables: Mapping[Path, GraphTable]) -> None:
    """Write tables in the formats that they were read from, all of them or none."""
    with ExitStack() as stack:
        for path, table in tables.items():
            stream = stack.enter_context(atomic_stream(path))
            if table.encoding == "arrow":
                import pyarrow.parquet as pq

                pq.write_table(table.arrow, stream)
            else:
                stream.write(_text_of(table, path).encode())


def _text_of(table: GraphTable, path: Path) -> str:
    columns = [column.to_pylist() for column in table.arrow.columns]
    rows = zip(*columns, strict=True)
    if table.encoding == "json":
        names = [json.dumps(name, ensure_ascii=False) for name in table.columns]
        return "".join(
            "{"
            + ", ".join(f"{n}: {v}" for n, v in zip(names, row, strict=True) if v is not None)
            + "}\n"
            for row in rows
        )
    if check_table_ending(path) == "csv":
        # A row of one empty cell would be an empty line, which readers pass over.
        lines = (row_of(row, ",") or '""' for row in (table.columns, *rows))
    else:
        lines = ("\t".join(row) for row in (table.columns, *rows))
    return "".join(f"{line}{table.line_end}" for line in lines)


def with_originals(
    base: GraphTable, table: GraphTable, originals: Sequence[Sequence[int] | None]
) -> GraphTable:
    """The table with the rows of another one that each row was merged from.

    Arrow gets lists of records with the row numbers and values of the types of the table; text
    and JSON get the same as JSON.
    """
    import pyarrow as pa

    rows = [row for own in originals if own is not None for row in own]
    taken = table.take(rows).arrow
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
            {ROW: row, VALUES: _decode(table, own_cells)}
            for row, own_cells in zip(own, islice(cells, len(own)), strict=True)
        ]
        texts.append(json.dumps(merged, ensure_ascii=False))
    return replace(base, arrow=base.arrow.append_column(MERGED, pa.array(texts, pa.string())))


def _array(column: Any) -> Any:
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _decode(table: GraphTable, cells: Sequence[str | None]) -> dict[str, Any]:
    named = zip(table.columns, cells, strict=True)
    is_json = table.encoding == "json"
    return {name: json.loads(c) if is_json else c for name, c in named if c is not None}


# Also what Arrow raises, and Python for JSON that is too deep.
_NOT_OURS = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def originals_of(table: GraphTable) -> tuple[list[list[int]], GraphTable]:
    """The row numbers that each row was merged from, and these rows, one after the other."""
    bare = table.without([SET_ID, MERGED])
    try:
        if table.encoding == "arrow":
            return _from_records(table, bare)
        return _from_json(table, bare)
    except _NOT_OURS as error:
        problem = "this column is not as apply-plan wrote it"
        raise DataError(problem, path=table.path, value=MERGED) from error


def _from_records(table: GraphTable, bare: GraphTable) -> tuple[list[list[int]], GraphTable]:
    import pyarrow as pa

    lists = table.arrow[MERGED]
    if pa.types.is_null(lists.type):
        return [[] for _ in range(table.count)], bare.take([])
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
