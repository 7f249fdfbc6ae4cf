"""The corpus stages on Spark (extra `spark`): on this machine or on a cluster.

A task does a few neighbouring batches, a job a few tasks, and several jobs are on their way at
once. The results come back with their job, so the driver holds some for each core and no more,
whatever the size of the corpus, and workers need not write anywhere that others can read. What
goes wrong inside a function comes back as a value: Spark would try the task three times more and
then tell it as a page of Java. What ends a worker is left to Spark, which does the task anew.
"""

from __future__ import annotations

import pickle
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from traceback import format_exc
from types import TracebackType
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa

from synsetmine.engines.base import BatchFunction
from synsetmine.engines.batches import Batch, batches_of
from synsetmine.engines.sparkerrors import raised_by_spark
from synsetmine.engines.sparksession import (
    check_installed,
    end_session,
    executors,
    start_session,
)
from synsetmine.errors import DataError, SynsetmineError

Result = TypeVar("Result")

TASK_BATCHES = 4  # a task costs some 20 ms on its own, about a third of a batch's work
JOBS = 3  # on their way at once: none waits for the slowest task of another
PATIENCE = 120.0  # seconds without any worker; a cluster may be slow to give one
GLANCE = 5.0  # seconds from one look at the workers to the next


class SparkEngine:
    """Spark at a master: `local[*]`, `spark://host:port` or whatever else Spark knows.

    Every worker needs the Python environment of this process, under the same path, and must see
    the files under the same paths as it does. A session that the program has already is used
    and left open; otherwise one is started when there is work, and ends with the engine.
    """

    def __init__(self, master: str = "local[*]", *, patience: float = PATIENCE) -> None:
        check_installed()
        self.master = master
        self.patience = patience
        self._session: Any = None
        self._is_ours = False

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._session is not None and self._is_ours:
            end_session(self._session)
        self._session = None

    def map_batches(
        self, function: BatchFunction, source: Path, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        batches = batches_of(source, columns)
        if not batches:
            return
        context = self._started().sparkContext
        with raised_by_spark():
            size = min(max(len(batches) // (2 * context.defaultParallelism), 1), TASK_BATCHES)
            tasks = -(-len(batches) // size)
            sent = context.broadcast(pickle.dumps(function))
            work = _Work(uuid4().hex, sent, source.absolute(), batches[0].columns, size)
            mapped = context.parallelize(range(tasks), tasks).mapPartitions(work)

        def run(numbers: range) -> list[tuple[bool, bytes]]:
            with raised_by_spark(lambda task: str(work.whole(numbers[task], batches))):
                results: list[tuple[bool, bytes]] = context.runJob(mapped, list, [*numbers])
            return results

        first = 0
        waiting: deque[Future[list[tuple[bool, bytes]]]] = deque()
        try:
            with _jobs(context, JOBS) as submit:
                while first < tasks or waiting:
                    while first < tasks and len(waiting) < JOBS:
                        # Asked each time: the workers of a cluster come one by one.
                        end = min(first + context.defaultParallelism, tasks)
                        waiting.append(submit(run, range(first, end)))
                        first = end
                    results = self._wait_for(waiting.popleft())
                    yield from map(_result, results)
        finally:
            with suppress(Exception):  # where Java is gone, that is the error to be told
                sent.destroy()

    def sql(self, query: str, **tables: Path) -> pa.Table:
        session = self._started()

        def answer() -> pa.Table:
            with raised_by_spark():
                for name, path in tables.items():
                    # Names with * or [ are names, and a path is one of this machine's files.
                    reader = session.read.option("__globPaths__", "false")
                    reader.parquet(f"file://{path.absolute()}").createOrReplaceTempView(name)
                return session.sql(query).toArrow()

        with _jobs(session.sparkContext, 1) as submit:
            found = self._wait_for(submit(answer))
        return found.cast(pa.schema([field.with_nullable(True) for field in found.schema]))

    def _started(self) -> Any:
        if self._session is None:
            self._session, self._is_ours = start_session(self.master)
        return self._session

    def _wait_for(self, future: Future[Result]) -> Result:
        """The result of a job; Spark itself would wait for a worker for ever."""
        alive = time.monotonic()
        while True:
            try:
                return future.result(timeout=GLANCE)
            except TimeoutError:
                if future.done():  # the job itself may have failed with such an error
                    raise
            with raised_by_spark():
                working = executors(self._session.sparkContext)
            if working:
                alive = time.monotonic()
            elif time.monotonic() - alive > self.patience:
                raise SynsetmineError(
                    f"the Spark master {self.master} has had no worker for us for "
                    f"{self.patience:.0f} s: all have died, or lack the memory or the cores"
                )


@contextmanager
def _jobs(context: Any, most: int) -> Iterator[Callable[..., Future[Any]]]:
    """Runs functions that start jobs, in threads; what is not done at the end is cancelled."""
    key = f"synsetmine-{uuid4().hex}"
    # Spark takes the group of a job from the thread that starts it.
    pool = ThreadPoolExecutor(most, initializer=context.setJobGroup, initargs=(key, "synsetmine"))
    try:
        yield pool.submit
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        with suppress(Exception):  # where Java is gone, that is the error to be told
            context.cancelJobGroup(key)
        pool.shutdown(wait=True)


@dataclass(frozen=True)
class _Work:
    """What a task does, on a worker: its batches, each to a result or an error as bytes."""

    key: str
    sent: Any  # the broadcast function
    source: Path
    columns: tuple[str, ...] | None
    size: int  # batches of a task

    def __call__(self, numbers: Iterator[int]) -> Iterator[tuple[bool, bytes]]:
        for number in numbers:
            try:
                function = _loaded(self.key, self.sent)
                for batch in self.batches(number, self._all()):
                    yield True, _packed(batch.apply(function))
            except Exception as error:
                yield False, _packed_error(error)
                return

    def batches(self, number: int, every: Sequence[Batch]) -> Sequence[Batch]:
        return every[number * self.size : (number + 1) * self.size]

    def whole(self, number: int, every: Sequence[Batch]) -> Batch:
        """All batches of a task as one, to be named in an error."""
        mine = self.batches(number, every)
        first = mine[0]
        rows = sum(batch.rows for batch in mine)
        return Batch(first.source, first.columns, first.number, first.first, rows)

    def _all(self) -> Sequence[Batch]:
        try:
            return batches_of(self.source, self.columns)
        except DataError as error:
            raise SynsetmineError(
                f"{error}, on the worker {socket.gethostname()}; all workers of Spark must see "
                "the files of a run under the same path, as on shared storage"
            ) from error


_functions: dict[str, BatchFunction] = {}


def _loaded(key: str, sent: Any) -> BatchFunction:
    """The function, unpacked once by each worker process; only the last one is kept."""
    if key not in _functions:
        _functions.clear()
        _functions[key] = pickle.loads(sent.value)  # noqa: S301
    return _functions[key]


def _packed(batch: pa.RecordBatch) -> bytes:
    stream = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(stream, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    packed: bytes = stream.getvalue().to_pybytes()
    return packed


def _packed_error(error: Exception) -> bytes:
    try:
        return pickle.dumps((error, format_exc()))
    except Exception:  # an error of a kind that cannot travel
        said = SynsetmineError(f"{type(error).__name__}: {error}")
        return pickle.dumps((said, format_exc()))


def _result(found: tuple[bool, bytes]) -> pa.RecordBatch:
    is_good, content = found
    if is_good:
        with pa.ipc.open_stream(content) as reader:
            return reader.read_next_batch()
    error, trace = pickle.loads(content)  # noqa: S301
    raise error from SynsetmineError(f"on a worker of Spark:\n{trace}")
