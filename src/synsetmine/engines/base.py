"""Where corpus work runs: the interface of an engine, and the engine of this machine's cores."""

from __future__ import annotations

import glob
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from synsetmine.engines.workers import WorkerPool, cores
from synsetmine.errors import SynsetmineError, shorten
from synsetmine.io.parquet import ParquetReader, parquet_errors

FEW = 6  # fewer batches than that are done sooner than worker processes have started

EngineName = Literal["local", "spark"]
# Pure and picklable. It travels once to each worker process, so it may carry a large table.
BatchFunction: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]


class Engine(Protocol):
    """Where the work on a corpus is done; the results are the same on every engine."""

    def map_batches(self, function: BatchFunction, source: Path) -> Iterator[pa.RecordBatch]:
        """What the function makes of each row group of a Parquet file, in the order of the file.

        Only a few batches and results are held at a time. An
        error of the function that is not one for people names the document it stumbled over.
        """
        ...

    def sql(self, query: str, **tables: Path) -> pa.Table:
        """The answer to a query over Parquet files, each under a name.

        The query must be SQL for DuckDB and Spark alike, and must order its rows in full.
        """
        ...


@contextmanager
def open_engine(
    name: EngineName = "local", *, workers: int | None = None, master: str | None = None
) -> Iterator[Engine]:
    """The engine for a while; what it started ends with it.

    `workers` are the processes of the local engine, `master` is where Spark runs (`local[*]`).
    """
    if name == "local":
        if master is not None:
            raise SynsetmineError("a master needs the Spark engine: --engine spark --master URL")
        yield LocalEngine(workers)
        return
    if workers is not None:
        raise SynsetmineError(
            "workers apply to the local engine; with Spark the master sets them, as in local[4]"
        )
    from synsetmine.engines.spark import SparkEngine

    with SparkEngine(master or "local[*]") as engine:
        yield engine


class LocalEngine:
    """Worker processes, if there are to be several, and DuckDB.

    A short file is done in this process. Workers read the batches themselves; what happens if one
    is killed, `WorkerPool.map` says.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    def map_batches(self, function: BatchFunction, source: Path) -> Iterator[pa.RecordBatch]:
        batches = batches_of(source)
        if self.workers == 1 or len(batches) < FEW:
            yield from (batch.apply(function) for batch in batches)
            return
        with WorkerPool(self.workers, partial(_keep, pickle.dumps(function))) as pool:
            yield from pool.map(_apply, batches)

    def sql(self, query: str, **tables: Path) -> pa.Table:
        import duckdb

        # Without a place of its own it would spill what memory cannot hold into the working folder.
        with TemporaryDirectory(prefix="synsetmine-") as spill:
            try:
                with duckdb.connect(
                    config={"threads": self.workers, "temp_directory": spill}
                ) as database:
                    for name, path in tables.items():
                        database.read_parquet(glob.escape(str(path))).create_view(name)
                    return database.sql(query).to_arrow_table()
            except duckdb.Error as error:
                message = " ".join(str(error).split())
                raise SynsetmineError(f"DuckDB: {shorten(message, 300)}") from error


_sent: bytes
_function: BatchFunction | None = None


def _keep(sent: bytes) -> None:
    global _sent
    _sent = sent


def _apply(batch: Batch) -> pa.RecordBatch:
    global _function
    if _function is None:  # here and not in `_keep`, so that its errors find their way back
        _function = pickle.loads(_sent)  # noqa: S301
    return batch.apply(_function)


def batches_of(source: Path) -> tuple[Batch, ...]:
    """The row groups of a Parquet file."""
    return _batches(source.absolute(), _stamp(source))


@dataclass(frozen=True)
class Batch:
    """One row group: its file and its position there."""

    source: Path
    number: int  # from 0, as all numbers here
    first: int  # the number of its first row in the file
    rows: int

    def __str__(self) -> str:
        last = self.first + self.rows - 1
        return f"{self.source}: batch {self.number}, documents {self.first} to {last}"

    def apply(self, function: BatchFunction) -> pa.RecordBatch:
        """What a function makes of this batch.

        Errors that are made for people pass; of any other, the record that it comes from is
        looked for, since "list index out of range" says nothing about a million documents.
        """
        batch = self.read()
        try:
            return function(batch)
        except (SynsetmineError, OSError, MemoryError):
            raise
        except Exception as error:
            raise SynsetmineError(self._locate(function, batch, error)) from error

    def read(self, columns: list[str] | None = None) -> pa.RecordBatch:
        metadata = _metadata(self.source, _stamp(self.source))
        with parquet_errors(self.source), ParquetReader(self.source, metadata) as file:
            table = file.row_group(self.number, columns)
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)

    def _locate(self, function: BatchFunction, batch: pa.RecordBatch, error: Exception) -> str:
        """One line with the first document that fails on its own too, or else the batch."""
        where = str(self)
        for row in range(len(batch)):
            try:
                function(batch.slice(row, 1))
            except Exception as alone:
                error = alone
                where = f"{self.source}: document {self.first + row}{self._id(row)}"
                break
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return f"{where}: {shorten(message)}"

    def _id(self, row: int) -> str:
        try:
            return f" (id {self.read(['id']).column('id')[row].as_py()!r})"
        except Exception:  # a table without ids; the error itself matters more
            return ""


Stamp = tuple[int, int, int]


def _stamp(source: Path) -> Stamp:
    """Changes when another file takes the place of this one."""
    with parquet_errors(source):
        stat = source.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


# The footer of a large file is large too: it is read once by each process, not for each batch.


@lru_cache(maxsize=4)
def _batches(source: Path, stamp: Stamp) -> tuple[Batch, ...]:
    metadata = _metadata(source, stamp)
    batches = []
    first = 0
    for number in range(metadata.num_row_groups):
        rows = metadata.row_group(number).num_rows
        batches.append(Batch(source, number, first, rows))
        first += rows
    return tuple(batches)


@lru_cache(maxsize=4)
def _metadata(source: Path, _stamp: Stamp) -> pq.FileMetaData:
    with parquet_errors(source):
        return pq.read_metadata(source)
