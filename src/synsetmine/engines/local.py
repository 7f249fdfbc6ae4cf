"""The corpus stages on the cores of this machine."""

from __future__ import annotations

import glob
import pickle
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

from synsetmine.engines.base import BatchFunction
from synsetmine.engines.batches import Batch, batches_of
from synsetmine.errors import SynsetmineError, shorten
from synsetmine.workers import cores, end_with_parent

FEW = 6  # fewer batches than that are done sooner than worker processes have started
AHEAD = 2  # batches in flight for each worker: enough to keep it busy, few enough for memory

Waiting = deque[tuple[Batch, "Future[pa.RecordBatch]"]]


class LocalEngine:
    """Worker processes, if there are to be several, and DuckDB.

    A short file is done right here. Workers read the batches themselves. If one is killed, what
    was in the works is done again, one batch after the other, and the rest goes on as before; a
    batch that kills its worker on its own is an error that names it.
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
        sent = pickle.dumps(function)
        todo = deque(batches)
        while todo:
            waiting: Waiting = deque()
            pool = _pool(sent, self.workers)
            try:
                yield from _in_order(pool, todo, waiting, self.workers * AHEAD)
            except BrokenProcessPool:
                pass  # a worker was killed; which batch it had cannot be told
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
            yield from _one_by_one(sent, waiting)

    def sql(self, query: str, **tables: Path) -> pa.Table:
        import duckdb

        # Without a place of its own it would spill what memory cannot hold into the working folder.
        with tempfile.TemporaryDirectory(prefix="synsetmine-") as spill:
            try:
                with duckdb.connect(
                    config={"threads": self.workers, "temp_directory": spill}
                ) as database:
                    for name, path in tables.items():
                        database.read_parquet(glob.escape(str(path))).create_view(name)
                    return database.sql(query).to_arrow_table()
            except duckdb.Error as error:
                said = " ".join(str(error).split())
                raise SynsetmineError(f"DuckDB: {shorten(said, 300)}") from error


def _pool(sent: bytes, workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"), initializer=_keep, initargs=(sent,))


def _in_order(
    pool: ProcessPoolExecutor, todo: deque[Batch], waiting: Waiting, ahead: int
) -> Iterator[pa.RecordBatch]:
    """The results; should the pool break, what lacks one is still waiting or to be done."""
    while todo or waiting:
        while todo and len(waiting) < ahead:
            waiting.append((todo[0], pool.submit(_apply, todo[0])))
            todo.popleft()
        result = waiting[0][1].result()
        waiting.popleft()
        yield result


def _one_by_one(sent: bytes, waiting: Waiting) -> Iterator[pa.RecordBatch]:
    if not waiting:
        return
    with _pool(sent, 1) as pool:
        for batch, future in waiting:
            try:
                yield future.result() if _is_done(future) else pool.submit(_apply, batch).result()
            except BrokenProcessPool as error:
                problem = "its worker process died twice, perhaps for lack of memory"
                raise SynsetmineError(f"{batch}: {problem}") from error


def _is_done(future: Future[Any]) -> bool:
    """Whether it came to an end of its own before the pool broke."""
    return (
        future.done()
        and not future.cancelled()
        and not isinstance(future.exception(), BrokenProcessPool)
    )


_sent: bytes
_function: BatchFunction | None = None


def _keep(sent: bytes) -> None:
    global _sent
    _sent = sent
    end_with_parent()


def _apply(batch: Batch) -> pa.RecordBatch:
    global _function
    if _function is None:  # here and not in `_keep`, so that its errors find their way back
        _function = pickle.loads(_sent)  # noqa: S301
    return batch.apply(_function)
