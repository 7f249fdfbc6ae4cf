"""What Python programs and notebooks see: DataFrames, tables and progress bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from synsetmine.errors import DataError, SynsetmineError, shorten

if TYPE_CHECKING:
    from synsetmine.types import Progress

ROWS = 20  # of a table in a notebook
Library: TypeAlias = Literal["pandas", "polars"]


def frame_of(columns: Mapping[str, Sequence[object]] | Any, library: Library = "pandas") -> Any:
    """A DataFrame of columns, or of a table of Arrow."""
    import pyarrow as pa

    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    try:
        if library == "pandas":
            return table.to_pandas()
        if library == "polars":
            import polars

            return polars.from_arrow(table)
    except ImportError as error:
        raise SynsetmineError(f"to_frame needs {library}: pip install {library}") from error
    raise DataError("expected 'pandas' or 'polars'", value=library)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first rows as a table of HTML; all text is escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(shorten(cell))}</td>' for cell in row)}</tr>"
        for row in rows[:ROWS]
    )
    more = f"<p>… and {len(rows) - ROWS:,} more</p>" if len(rows) > ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


ShowProgress: TypeAlias = "Progress | bool | None"  # a function, or whether to show a bar


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
