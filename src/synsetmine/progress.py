"""Progress bars of Python programs: in a terminal, and in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from synsetmine.errors import DataError
from synsetmine.types import Progress

ShowProgress: TypeAlias = Progress | bool | None  # a function, or whether to show a bar


@contextmanager
def open_progress(progress: ShowProgress, label: str) -> Iterator[Progress | None]:
    """The function that takes what is done, of how much; True shows a bar."""
    if callable(progress):
        yield progress
    elif progress is None or progress is False:
        yield None
    elif progress is not True:
        raise DataError("progress must be True, False, or a function (done, total)", value=progress)
    elif _in_notebook():
        yield _NotebookBar(label)
    else:
        from rich.console import Console
        from rich.progress import Progress as Bars

        with Bars(console=Console(stderr=True)) as bars:
            task = bars.add_task(label, total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class _NotebookBar:
    """The bar that IPython has; rich's own needs ipywidgets in a notebook."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._shown: Any = None

    def __call__(self, done: int, total: int) -> None:
        from IPython.display import ProgressBar

        if self._shown is None:
            self._shown = ProgressBar(total)  # type: ignore[no-untyped-call]
            self._shown.display()
        self._shown.total = total
        self._shown.progress = done  # shows it anew
