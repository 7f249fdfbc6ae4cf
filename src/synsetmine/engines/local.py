"""The corpus stages on the cores of this machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

from synsetmine.engines.processes import cores, end_with_parent
from synsetmine.errors import SynsetmineError

Item = TypeVar("Item")
Result = TypeVar("Result")

FEW = 6  # fewer items than that are done sooner than worker processes have started
AHEAD = 2  # items in flight for each worker: enough to keep it busy, few enough for memory


class LocalEngine:
    """Maps a pure function over a stream, in worker processes if there are to be several.

    The results come in the order of the items, whatever the number of workers, and only a few
    items are held at a time. The function travels once to each worker, so it may carry a large
    table; it must be picklable, as must items and results. A short stream is done right here.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        stream = iter(items)
        first = list(islice(stream, FEW if self.workers > 1 else 0))
        if len(first) < FEW:
            yield from map(function, chain(first, stream))
            return
        pool = ProcessPoolExecutor(
            self.workers, get_context("spawn"), initializer=_keep, initargs=(function,)
        )
        try:
            yield from _in_order(pool, chain(first, stream), self.workers * AHEAD)
        except BrokenProcessPool as error:
            raise SynsetmineError(
                "a worker process died, perhaps for lack of memory; fewer --workers need less"
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, items: Iterable[Any], ahead: int) -> Iterator[Any]:
    waiting: deque[Future[Any]] = deque()
    for item in items:
        waiting.append(pool.submit(_apply, item))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


_function: Callable[[Any], Any]


def _keep(function: Callable[[Any], Any]) -> None:
    global _function
    _function = function
    end_with_parent()


def _apply(item: Any) -> Any:
    return _function(item)
