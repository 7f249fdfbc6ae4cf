"""How many threads torch may use for one operation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for each operation on the CPU; several operations may go on side by side.

    Threads that share a sum add its parts in another order for each number of threads. The last
    bits that differ then grow over the steps of a training until other sets are mined.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def same_limit() -> None:
    """The limit of the process for this thread too: a new one takes OMP_NUM_THREADS at first."""
    torch.set_num_threads(torch.get_num_threads())
