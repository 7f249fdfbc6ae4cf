"""Spark as an engine: session, errors, and work over batches."""

from __future__ import annotations

import os
import pickle
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from traceback import format_exc
from typing import IO, Any, TypeVar
from uuid import uuid4

import pyarrow as pa

from synsetmine.engines.base import Batch, BatchFunction, batches_of
from synsetmine.engines.workers import in_flight
from synsetmine.errors import DataError, SynsetmineError, shorten

CAUSES = {
    "No space left on device": "the disk of a worker or of the driver is full (spark.local.dir)",
    "No module named": "the workers' Python lacks a package that this machine has",
    "Cannot run program": "the workers lack this Python; set PYSPARK_PYTHON to one they have",
    "Python in worker has different version": "the workers have a different version of Python",
    "exited unexpectedly": "its worker process died repeatedly, perhaps for lack of memory",
    "ExecutorLostFailure": "its worker died repeatedly, perhaps for lack of memory",
    "OutOfMemoryError": "Spark lacks memory (spark.driver.memory, spark.executor.memory)",
    "maxResultSize": "the results are too large (spark.driver.maxResultSize)",
    "SparkContext was shut down": "the Spark session ended; its master may have stopped",
    "stopped SparkContext": "the Spark session ended; its master may have stopped",
    "Connection refused": "the Java process of Spark has ended",
    "Answer from Java side is empty": "the Java process of Spark has ended",
}
_TASK = re.compile(r"Task (\d+) in stage \S+ failed \d+ times")


@contextmanager
def translate_spark_errors(name: Callable[[int], str] | None = None) -> Iterator[None]:
    """Errors of Spark and of its Java as ours; `name` says what a task of the job works on."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, OSError, EOFError) as error:
        raise SynsetmineError(in_one_line(_text(error), name)) from error


def in_one_line(text: str, name: Callable[[int], str] | None = None) -> str:
    task = _TASK.search(text)
    where = f"{name(int(task[1]))}: " if task and name else ""
    for sign, cause in CAUSES.items():
        if sign in text:
            line = next((line for line in text.splitlines() if sign in line), "")
            return f"{where}Spark: {cause}: {shorten(line.strip())}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{where}Spark: {shorten(lines[0], 300) if lines else 'it ended without a message'}"


def _text(error: BaseException) -> str:
    try:
        cause = error.java_exception  # type: ignore[attr-defined]
        return str(cause.toString())
    except Exception:  # there is none, or no Java any more that could be asked
        return str(error)


JAVA = 17
ANSWER = 10.0  # seconds for a master to take a connection
TRIES = 3  # to end a session
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Half the time of a short task, where there is one; Spark before 4.1 does not know it.
    "spark.python.unix.domain.socket.enabled": "true",
}


def check_installed() -> None:
    """That there is PySpark, a Java new enough for it, and an account, by whose name Java goes."""
    if find_spec("pyspark") is None:
        raise SynsetmineError("the engine spark needs the extra: pip install 'synsetmine[spark]'")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    try:
        done = subprocess.run([java or "java", "-version"], capture_output=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError) as error:
        problem = f"the engine spark needs Java {JAVA}, and there is none"
        hint = f"in JAVA_HOME, {home}" if home else "on the PATH"
        raise SynsetmineError(f"{problem} {hint}") from error
    output = done.stderr.decode(errors="replace")
    version = re.search(r'version "(\d+)', output)
    if version and int(version[1]) < JAVA:
        raise SynsetmineError(f"the engine spark needs Java {JAVA}, but {java} is {version[1]}")
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        problem = f"the engine spark needs a user with an account; user {os.geteuid()} has none"
        raise SynsetmineError(f"{problem}: add one to /etc/passwd") from None


def start_session(master: str) -> tuple[Any, bool]:
    """A session at the master, and whether it is ours to end: one that is open already is not."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    _check_answers(master)
    if (open_already := _open_session()) is not None:
        where = open_already.sparkContext.master
        if where not in (master, _patient(master)):
            problem = f"this program already has a Spark session at {where}"
            raise SynsetmineError(f"{problem}; it cannot open another at {master}")
        return open_already, False
    conf = (
        SparkConf().setAppName("synsetmine").setMaster(_patient(master)).setAll([*SETTINGS.items()])
    )
    if master.startswith("local"):  # 200 small parts, as on a cluster, take seconds
        conf.set("spark.sql.shuffle.partitions", "8")
    if _is_local(master):  # whatever the name of this machine may resolve to
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    with tempfile.TemporaryFile() as output, _own_python(), warnings.catch_warnings():
        # Spark warns of a pandas that it does not know; we use none.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        try:
            _launch(conf, output)
            return SparkSession(SparkContext.getOrCreate(conf)), True
        except Exception as error:
            output.seek(0)
            message = f"{error}\n{output.read().decode(errors='replace')}"
            problem = f"no Spark session at {master}; {in_one_line(message)}"
            raise SynsetmineError(problem) from error


def end_session(session: Any) -> None:
    """End a session or its context; where Spark fails half-way, the next try goes on."""
    for _ in range(TRIES):
        with suppress(Exception), warnings.catch_warnings(action="ignore"):
            session.stop()
            return


def executors(context: Any) -> int:
    """How many processes work for us at the moment; the driver is one where it works itself."""
    infos = context._jsc.sc().statusTracker().getExecutorInfos()
    return len(infos) if context.master.startswith("local[") else len(infos) - 1


def _open_session() -> Any:
    """The session that this program has; one that has ended by itself is cleared away."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context: Any = SparkContext._active_spark_context
    if context is None:
        return None
    if context._jsc is None or context._jsc.sc().isStopped():
        end_session(context)
        return None
    return SparkSession.getActiveSession() or SparkSession(context)


def _launch(conf: Any, output: IO[bytes]) -> None:
    """Start Java with its messages in a file, unless it runs already."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        gateway = launch_gateway(conf, {"stderr": output, "stdout": output})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def _patient(master: str) -> str:
    """On this machine too, Spark is to do the task of a worker that died again."""
    if master == "local":
        master = "local[1]"
    match = re.fullmatch(r"local\[([^,\]]+)\]", master)
    return f"local[{match[1]},4]" if match else master


def _check_answers(master: str) -> None:
    """Spark asks a master for a minute; a closed port is noticed at once."""
    hosts = re.findall(r"([^,/]+):(\d+)", master.removeprefix("spark://"))
    if not master.startswith("spark://") or not hosts:
        return
    for host, port in hosts:
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
        except OSError as error:
            last = error
        else:
            return
    raise SynsetmineError(f"no Spark master answers at {master}: {last}") from last


def _is_local(master: str) -> bool:
    return master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:"))


@contextmanager
def _own_python() -> Iterator[None]:
    """Workers run this Python, unless the environment names another."""
    named = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = named or sys.executable
    try:
        yield
    finally:
        if named is None:
            del os.environ["PYSPARK_PYTHON"]


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

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._session is not None and self._is_ours:
            end_session(self._session)
        self._session = None

    def map_batches(self, function: BatchFunction, source: Path) -> Iterator[pa.RecordBatch]:
        batches = batches_of(source)
        if not batches:
            return
        context = self._start().sparkContext
        with translate_spark_errors():
            size = min(max(len(batches) // (2 * context.defaultParallelism), 1), TASK_BATCHES)
            tasks = -(-len(batches) // size)
            sent = context.broadcast(pickle.dumps(function))
            work = _Work(uuid4().hex, sent, source.absolute(), size)
            mapped = context.parallelize(range(tasks), tasks).mapPartitions(work)

        def run(numbers: range) -> list[tuple[bool, bytes]]:
            with translate_spark_errors(lambda task: str(work.whole(numbers[task], batches))):
                results: list[tuple[bool, bytes]] = context.runJob(mapped, list, [*numbers])
            return results

        def ranges() -> Iterator[range]:
            first = 0
            while first < tasks:
                # Asked each time: the workers of a cluster come one by one.
                end = min(first + context.defaultParallelism, tasks)
                yield range(first, end)
                first = end

        try:
            with _jobs(context, JOBS) as submit:
                for job in in_flight(partial(submit, run), ranges(), JOBS):
                    yield from map(_result, self._wait_for(job))
        finally:
            with suppress(Exception):  # where Java is gone, that is the error to report
                sent.destroy()

    def sql(self, query: str, **tables: Path) -> pa.Table:
        session = self._start()

        def answer() -> pa.Table:
            with translate_spark_errors():
                for name, path in tables.items():
                    # Names with * or [ are names, and a path is one of this machine's files.
                    reader = session.read.option("__globPaths__", "false")
                    reader.parquet(f"file://{path.absolute()}").createOrReplaceTempView(name)
                return session.sql(query).toArrow()

        with _jobs(session.sparkContext, 1) as submit:
            table = self._wait_for(submit(answer))
        return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))

    def _start(self) -> Any:
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
            with translate_spark_errors():
                working = executors(self._session.sparkContext)
            if working:
                alive = time.monotonic()
            elif time.monotonic() - alive > self.patience:
                raise SynsetmineError(
                    f"the Spark master {self.master} has provided no worker for "
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
        with suppress(Exception):  # where Java is gone, that is the error to report
            context.cancelJobGroup(key)
        pool.shutdown(wait=True)


@dataclass(frozen=True)
class _Work:
    """What a task does, on a worker: its batches, each to a result or an error as bytes."""

    key: str
    sent: Any  # the broadcast function
    source: Path
    size: int  # batches of a task

    def __call__(self, numbers: Iterator[int]) -> Iterator[tuple[bool, bytes]]:
        for number in numbers:
            try:
                function = _load_function(self.key, self.sent)
                for batch in self.batches(number, self._all()):
                    yield True, _serialize(batch.apply(function))
            except Exception as error:
                yield False, _serialized_error(error)
                return

    def batches(self, number: int, every: Sequence[Batch]) -> Sequence[Batch]:
        return every[number * self.size : (number + 1) * self.size]

    def whole(self, number: int, every: Sequence[Batch]) -> Batch:
        """All batches of a task as one, to be named in an error."""
        mine = self.batches(number, every)
        first = mine[0]
        rows = sum(batch.rows for batch in mine)
        return Batch(first.source, first.number, first.first, rows)

    def _all(self) -> Sequence[Batch]:
        try:
            return batches_of(self.source)
        except DataError as error:
            raise SynsetmineError(
                f"{error}, on the Spark worker {socket.gethostname()}; all workers must see "
                "the files of a run under the same path, as on shared storage"
            ) from error


_functions: dict[str, BatchFunction] = {}


def _load_function(key: str, sent: Any) -> BatchFunction:
    """The function, unpacked once by each worker process; only the last one is kept."""
    if key not in _functions:
        _functions.clear()
        _functions[key] = pickle.loads(sent.value)  # noqa: S301
    return _functions[key]


def _serialize(batch: pa.RecordBatch) -> bytes:
    stream = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(stream, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    serialized: bytes = stream.getvalue().to_pybytes()
    return serialized


def _serialized_error(error: Exception) -> bytes:
    try:
        return pickle.dumps((error, format_exc()))
    except Exception:  # an error of a kind that cannot travel
        summary = SynsetmineError(f"{type(error).__name__}: {error}")
        return pickle.dumps((summary, format_exc()))


def _result(outcome: tuple[bool, bytes]) -> pa.RecordBatch:
    is_good, content = outcome
    if is_good:
        with pa.ipc.open_stream(content) as reader:
            return reader.read_next_batch()
    error, trace = pickle.loads(content)  # noqa: S301
    raise error from SynsetmineError(f"on a worker of Spark:\n{trace}")
