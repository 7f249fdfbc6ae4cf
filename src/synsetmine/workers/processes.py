"""How many worker processes there can be, and that they do not outlive the one they work for."""

from __future__ import annotations

import os
from multiprocessing import parent_process
from threading import Thread


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def end_with_parent() -> None:
    """Call it in a worker: without it, one whose parent was killed waits for work for ever."""
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
