"""The engine of this machine's cores, and engines by their names."""

from __future__ import annotations

import glob
import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import pyarrow as pa

from synsetmine.engines.base import Batch, BatchFunction, Engine, batches_of
from synsetmine.engines.workers import WorkerDiedError, WorkerPool, cores
from synsetmine.errors import SynsetmineError, shorten
from synsetmine.io.temporary import temporary_folder

FEW = 6  # fewer batches than that are done sooner than worker processes have started
AHEAD = 2  # batches in flight for each worker: enough to keep it busy, few enough for memory

Waiting = deque[tuple[Batch, "Future[pa.RecordBatch]"]]

EngineName = Literal["local", "spark"]


class LocalEngine:
    """Worker processes, if there are to be several, and DuckDB.

    A short file is done right here. Workers read the batches themselves. If one is killed, its
    batch is done again while nothing else is, and the rest goes on as before; a batch that kills
    its worker on its own too is an error that names it.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    def map_batches(
        self, function: BatchFunction, source: Path, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        batches = batches_of(source, columns)
        if self.workers == 1 or len(batches) < FEW:
            yield from (batch.apply(function) for batch in batches)
            return
        with WorkerPool(self.workers, partial(_keep, pickle.dumps(function))) as pool:
            yield from _in_order(pool, batches, self.workers * AHEAD)

    def sql(self, query: str, **tables: Path) -> pa.Table:
        import duckdb

        # Without a place of its own it would spill what memory cannot hold into the working folder.
        with temporary_folder() as spill:
            try:
                with duckdb.connect(
                    config={"threads": self.workers, "temp_directory": str(spill)}
                ) as database:
                    for name, path in tables.items():
                        database.read_parquet(glob.escape(str(path))).create_view(name)
                    return database.sql(query).to_arrow_table()
            except duckdb.Error as error:
                said = " ".join(str(error).split())
                raise SynsetmineError(f"DuckDB: {shorten(said, 300)}") from error


def _in_order(pool: WorkerPool, batches: Sequence[Batch], ahead: int) -> Iterator[pa.RecordBatch]:
    todo = deque(batches)
    waiting: Waiting = deque()
    while todo or waiting:
        while todo and len(waiting) < ahead:
            batch = todo.popleft()
            waiting.append((batch, pool.submit(_apply, batch)))
        batch, future = waiting.popleft()
        try:
            result = future.result()
        except WorkerDiedError:
            wait([other for _, other in waiting])
            result = _alone(pool, batch)
        yield result


def _alone(pool: WorkerPool, batch: Batch) -> pa.RecordBatch:
    try:
        return pool.submit(_apply, batch).result()
    except WorkerDiedError as error:
        problem = "its worker process died twice, perhaps for lack of memory"
        raise SynsetmineError(f"{batch}: {problem}") from error


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
