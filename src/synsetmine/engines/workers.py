"""Pools of processes and threads."""

from __future__ import annotations

import os
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext, SpawnProcess
from multiprocessing.popen_spawn_posix import Popen
from multiprocessing.process import BaseProcess
from threading import Lock, Thread, local
from typing import Any, ParamSpec, TypeVar

from synsetmine.errors import SynsetmineError


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _SpawnedProcess(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Popen:  # noqa: N802 (the name is multiprocessing's)
        with _safe_import_path():
            return SpawnProcess._Popen(process_obj)


class _SpawnContext(SpawnContext):
    Process = _SpawnedProcess


def spawn_context() -> SpawnContext:
    """Processes that begin anew, without what this one has in memory."""
    with _safe_import_path():
        resource_tracker.ensure_running()
    return _SpawnContext()


def forkserver_context() -> ForkServerContext:
    """Processes that begin as copies of one that has begun anew."""
    with _safe_import_path():
        resource_tracker.ensure_running()
        forkserver.ensure_running()
    return get_context("forkserver")


_ENVIRONMENT = Lock()


@contextmanager
def _safe_import_path() -> Iterator[None]:
    """Keep Python from importing modules of the working directory in the processes it starts.

    It starts them with `python -c "from multiprocessing …"`, which looks there first: a file
    multiprocessing.py in a run folder of somebody else would be executed. Other processes that
    this one starts are not affected. One thread at a time, since the environment is shared: the
    second of two would restore the value that the first had set.
    """
    with _ENVIRONMENT:
        before = os.environ.get("PYTHONSAFEPATH")
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ["PYTHONSAFEPATH"]
            else:
                os.environ["PYTHONSAFEPATH"] = before


def end_with_parent() -> None:
    """Call it in a worker: without it, one whose parent was killed waits for work for ever."""

    def wait_for_parent() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait_for_parent, daemon=True).start()


Parameters = ParamSpec("Parameters")
Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkerDiedError(Exception):
    """The process that had this task was killed; another takes its place for the next."""


NO_GUARD = (
    "a worker process could not start: in a script, put the code that starts the work under "
    '`if __name__ == "__main__":`, since each worker imports the script; or use one worker. '
    "A script on standard input must be saved to a file first"
)


AHEAD = 2  # tasks in flight for each worker: enough to keep it busy, few enough for memory


class WorkerPool:
    """Worker processes, which start with the first task.

    Each worker has a thread here that hands it one task after the other. `prepare` is called
    first in each worker. Functions, arguments and results must be picklable. The number of
    workers changes nothing in the results. As with all of Python's pools, a script needs
    `if __name__ == "__main__":`; without it the error says so.
    """

    def __init__(self, workers: int = 1, prepare: Callable[[], None] | None = None) -> None:
        self.workers = workers
        self._prepare = prepare
        self._own = local()
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(workers)
        self._processes: list[_Worker] = []
        self._running: set[Future[Any]] = set()
        self._closed = False

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(
        self,
        function: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Future[Result]:
        """One task; its result is a `WorkerDiedError` if its worker was killed."""
        future = self._threads.submit(self._call, function, args, kwargs)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The results in the order of the items, of which a few are in flight.

        If a worker is killed, its item is done again while no other is. An item that kills its
        worker again is an error that names it.
        """

        def submit(item: Item) -> tuple[Item, Future[Result]]:
            return item, self.submit(function, item)

        for item, future in in_flight(submit, items, AHEAD * self.workers):
            try:
                result = future.result()
            except WorkerDiedError:
                wait(self._running.copy())
                result = self._alone(function, item)
            yield result

    def close(self) -> None:
        """Kill all workers; running tasks fail, tasks that wait are cancelled."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closed = True
            for worker in self._processes:
                worker.end()
        self._threads.shutdown(wait=True)

    def _alone(self, function: Callable[[Item], Result], item: Item) -> Result:
        try:
            return self.submit(function, item).result()
        except WorkerDiedError as error:
            problem = "its worker process died twice, perhaps for lack of memory"
            raise SynsetmineError(f"{item}: {problem}") from error

    def _call(self, function: Callable[..., Result], args: Any, kwargs: Any) -> Result:
        task = pickle.dumps((function, args, kwargs))
        worker = self._worker()
        try:
            answer = worker.ask(task)
        except (EOFError, OSError) as error:
            del self._own.worker
            if worker.failed_to_start():
                raise SynsetmineError(NO_GUARD) from error
            worker.end()
            raise WorkerDiedError from error
        is_good, result, trace = pickle.loads(answer)  # noqa: S301 - it comes from our own process
        if not is_good:
            raise result from RuntimeError(trace)
        return result  # type: ignore[no-any-return]

    def _worker(self) -> _Worker:
        """The worker of this thread."""
        if not hasattr(self._own, "worker"):
            with self._lock:
                if self._closed:
                    raise WorkerDiedError
                self._own.worker = _Worker(self._prepare)
                self._processes.append(self._own.worker)
        return self._own.worker  # type: ignore[no-any-return]


class _Worker:
    def __init__(self, prepare: Callable[[], None] | None) -> None:
        context = spawn_context()
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, prepare), daemon=True)
        self._process.start()
        theirs.close()  # so that it is closed when the worker has ended
        self._has_started = False

    def ask(self, task: bytes) -> bytes:
        if not self._has_started:
            self._pipe.recv_bytes()
            self._has_started = True
        self._pipe.send_bytes(task)
        answer: bytes = self._pipe.recv_bytes()
        return answer

    def failed_to_start(self) -> bool:
        """Whether it ended before its first task, not by a signal.

        A script that catches the error of its copy and exits ends its worker with code 0.
        """
        if self._has_started:
            return False
        self._process.join(10)
        code = self._process.exitcode
        return code is not None and code >= 0

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def _work(pipe: Connection, prepare: Callable[[], None] | None) -> None:
    end_with_parent()
    if prepare is not None:
        prepare()
    with suppress(EOFError, OSError, KeyboardInterrupt):  # the parent closed the pipe
        pipe.send_bytes(b"")  # the worker has started
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _answer(task: bytes) -> bytes:
    """Whether the task succeeded, its result or error, and the traceback of an error."""
    try:
        function, args, kwargs = pickle.loads(task)  # noqa: S301
        return pickle.dumps((True, function(*args, **kwargs), ""))
    except Exception as error:
        trace = f"In a worker process:\n{traceback.format_exc()}"
        try:
            return pickle.dumps((False, error, trace))
        except Exception:  # an error that cannot travel
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"), trace))


def in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """The results in the order of the items; a few are held at a time."""
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in in_flight(lambda item: pool.submit(function, item), items, threads + 1):
            yield future.result()


def in_flight(
    submit: Callable[[Item], Result], items: Iterable[Item], most: int
) -> Iterator[Result]:
    """What `submit` makes of each item, in order; at most `most` are submitted and not taken."""
    waiting: deque[Result] = deque()
    for item in items:
        waiting.append(submit(item))
        if len(waiting) >= most:
            yield waiting.popleft()
    yield from waiting
