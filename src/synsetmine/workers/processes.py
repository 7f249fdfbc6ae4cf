"""How many worker processes there can be, and that they do not outlive the one they work for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from multiprocessing.context import ForkServerContext, SpawnContext, SpawnProcess
from multiprocessing.popen_spawn_posix import Popen
from multiprocessing.process import BaseProcess
from threading import Thread


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _SpawnedProcess(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Popen:  # noqa: N802 (the name is multiprocessing's)
        with _importing_nothing_from_here():
            return SpawnProcess._Popen(process_obj)


class _SpawnContext(SpawnContext):
    Process = _SpawnedProcess


def spawning() -> SpawnContext:
    """Processes that begin anew, without what this one has in memory."""
    with _importing_nothing_from_here():
        resource_tracker.ensure_running()
    return _SpawnContext()


def fork_serving() -> ForkServerContext:
    """Processes that begin as copies of one that has begun anew."""
    with _importing_nothing_from_here():
        resource_tracker.ensure_running()
        forkserver.ensure_running()
    return get_context("forkserver")


@contextmanager
def _importing_nothing_from_here() -> Iterator[None]:
    """Keep Python from importing modules of the working directory in the processes it starts.

    It starts them with `python -c "from multiprocessing …"`, which looks there first: a file
    multiprocessing.py in a run folder of somebody else would be executed. Other processes that
    this one starts are not affected.
    """
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
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
