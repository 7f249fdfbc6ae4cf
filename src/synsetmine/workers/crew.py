"""Worker processes, each with a pipe of its own, so that the death of one is always noticed.

Python's own pool has one pipe for the results of all: of a worker that is killed in the midst of a
large one, the rest of it would be waited for without end.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock, local
from typing import Any, ParamSpec, TypeVar

from synsetmine.workers.processes import end_with_parent, spawning

Given = ParamSpec("Given")
Result = TypeVar("Result")


class WorkerDiedError(Exception):
    """The process that had this task was killed; another takes its place for the next."""


def ready() -> None:
    """Nothing is to be prepared."""


class Crew:
    """So many worker processes, which start when there is something to do.

    Each has a thread here that hands it one task after the other. `prepare` is called first in
    each worker. Functions and what they get and give must be picklable.
    """

    def __init__(self, workers: int, prepare: Callable[[], None] = ready) -> None:
        self._prepare = prepare
        self._threads = ThreadPoolExecutor(workers)
        self._own = local()
        self._lock = Lock()
        self._workers: list[_Worker] = []
        self._closed = False

    def submit(
        self, function: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
    ) -> Future[Result]:
        return self._threads.submit(self._ask, function, given, named)

    def close(self) -> None:
        """End all workers at once: what is still in the works is not wanted."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closed = True
            for worker in self._workers:
                worker.end()
        self._threads.shutdown(wait=True)

    def _ask(self, function: Callable[..., Result], given: Any, named: Any) -> Result:
        task = pickle.dumps((function, given, named))
        worker = self._worker()
        try:
            answer = worker.ask(task)
        except (EOFError, OSError) as error:
            worker.end()
            del self._own.worker
            raise WorkerDiedError from error
        fine, result, told = pickle.loads(answer)  # noqa: S301 - it comes from our own process
        if not fine:
            raise result from RuntimeError(told)
        return result  # type: ignore[no-any-return]

    def _worker(self) -> _Worker:
        """The worker of this thread."""
        if not hasattr(self._own, "worker"):
            with self._lock:
                if self._closed:
                    raise WorkerDiedError
                self._own.worker = _Worker(self._prepare)
                self._workers.append(self._own.worker)
        return self._own.worker  # type: ignore[no-any-return]


class _Worker:
    def __init__(self, prepare: Callable[[], None]) -> None:
        context = spawning()
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, prepare), daemon=True)
        self._process.start()
        theirs.close()  # so that it is closed when the worker has ended

    def ask(self, task: bytes) -> bytes:
        self._pipe.send_bytes(task)
        return self._pipe.recv_bytes()

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def _work(pipe: Connection, prepare: Callable[[], None]) -> None:
    end_with_parent()
    prepare()
    with suppress(EOFError, OSError, KeyboardInterrupt):  # nobody wants any more
        while True:
            pipe.send_bytes(_answer(pipe.recv_bytes()))


def _answer(task: bytes) -> bytes:
    """Whether it went well, what came of it, and for an error where it happened."""
    try:
        function, given, named = pickle.loads(task)  # noqa: S301
        return pickle.dumps((True, function(*given, **named), ""))
    except Exception as error:
        told = f"In a worker process:\n{traceback.format_exc()}"
        try:
            return pickle.dumps((False, error, told))
        except Exception:  # an error that cannot travel
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"), told))
