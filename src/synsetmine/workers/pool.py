"""Processes for work on terms: a few heavy tasks, whose results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import chain, islice
from types import TracebackType
from typing import ParamSpec, TypeVar

from synsetmine.errors import SynsetmineError
from synsetmine.workers.crew import Crew, WorkerDiedError

Given = ParamSpec("Given")
Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # tasks in flight for each worker


class WorkerPool:
    """So many processes, which start with the first task; with one all is done right here.

    Functions and what they get and give must be picklable. The number of workers changes nothing
    in the results. As with all of Python's pools, a script needs `if __name__ == "__main__":`.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._crew: Crew | None = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._crew is not None:
            self._crew.close()
            self._crew = None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The results in the order of the items, of which a few are in flight."""
        stream = iter(items)
        first = list(islice(stream, 2))
        if self.workers == 1 or len(first) < 2:  # a single one need not travel
            yield from map(function, chain(first, stream))
            return
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, stream):
            waiting.append(self._submit(function, item))
            if len(waiting) >= AHEAD * self.workers:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())

    def call(
        self, function: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
    ) -> Result:
        """One task; several threads that call at a time keep several workers busy."""
        if self.workers == 1:
            return function(*given, **named)
        return _result(self._submit(function, *given, **named))

    def _submit(
        self, function: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
    ) -> Future[Result]:
        if self._crew is None:
            self._crew = Crew(self.workers)
        return self._crew.submit(function, *given, **named)


def _result(future: Future[Result]) -> Result:
    try:
        return future.result()
    except WorkerDiedError as error:
        problem = "a worker process died, perhaps for lack of memory; fewer --workers need less"
        raise SynsetmineError(problem) from error
