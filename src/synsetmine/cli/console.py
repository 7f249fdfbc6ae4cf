"""What commands print, and progress bars."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from synsetmine.errors import DataError, one_line, printable, quantity_of_plural, shorten

if TYPE_CHECKING:
    from synsetmine.errors import ErrorCounts
    from synsetmine.types import Term

SHOWN = 5
ROWS = 50  # of a table on a terminal


def error(message: str) -> None:
    typer.echo(f"synsetmine: error: {one_line(message)}", err=True)


def warn(message: str) -> None:
    typer.echo(f"synsetmine: warning: {one_line(message)}", err=True)


def ask(question: str) -> bool:
    """Whether a person says yes; without a person at a terminal the question is a warning."""
    if not sys.stdin.isatty():
        warn(question)
        return True
    return typer.confirm(one_line(question), default=True, err=True)


def say(message: str) -> None:
    typer.echo(printable(message), err=True)


def show(message: str) -> None:
    typer.echo(printable(message))


def show_json(value: Any) -> None:
    show(json.dumps(value, indent=2, ensure_ascii=False))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal; tab-separated lines under a header in a pipe."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            show("\t".join(one_line(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    Console().print(table)


def show_first_rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal, the first rows of many; all of them in a pipe."""
    shown = rows[:ROWS] if sys.stdout.isatty() else rows
    if rows:
        show_table(columns, shown)
    if len(shown) < len(rows):
        say(f"… and {len(rows) - len(shown):,} more; --out writes all")


def report_skipped(skipped: Sequence[DataError]) -> None:
    """Say how many broken lines `--skip-bad` left out, and show the first ones."""
    if not skipped:
        return
    warn(f"left out {len(skipped)} broken {'line' if len(skipped) == 1 else 'lines'}:")
    for problem in skipped[:SHOWN]:
        say(f"  {one_line(str(problem))}")
    if len(skipped) > SHOWN:
        say(f"  … and {len(skipped) - SHOWN} more")


def report_left_out(skipped: ErrorCounts) -> None:
    """Warn of skipped terms, with the number and an example of each problem."""
    for problem, count in skipped.counts.items():
        first = shorten(repr(skipped.examples[problem][0].value), 60)
        warn(f"left out {count:,}: {problem}, such as {first}")


def report_missing(terms: Sequence[Term], total: int, consequence: str) -> None:
    """Warn of terms without a vector and of the consequence."""
    if not terms:
        return
    named = ", ".join(shorten(str(term), 60) for term in terms[:SHOWN])
    more = f", … and {len(terms) - SHOWN} more" if len(terms) > SHOWN else ""
    warn(f"{len(terms)} of {total} terms have no vector and {consequence}: {named}{more}")


def report_reviews(counts: Mapping[str, int]) -> None:
    """Print the counts of applied reviews."""
    if counts:
        say(f"from reviews: {', '.join(quantity_of_plural(n, what) for what, n in counts.items())}")


QUIET = 10.0  # seconds between two lines of progress


class ProgressBar:
    """A progress bar on a terminal; elsewhere a line at intervals, if the work takes long."""

    def __init__(self, bar: Any, task: Any, label: str, unit: str = "") -> None:
        self._bar = bar
        self._task = task
        self._label = label
        self._unit = unit
        self._last_line = time.monotonic()

    def update(self, done: int, total: int, note: str = "", *, line: bool | None = None) -> None:
        """Show that `done` of `total` is done; in a pipe now and then, or as `line` says."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, note=one_line(note))
            return
        if line or (line is None and time.monotonic() - self._last_line >= QUIET):
            self._last_line = time.monotonic()
            far = (
                f"{done}/{total}"
                if self._unit != "bytes"
                else f"{done / 1e6:.1f}/{total / 1e6:.1f} MB"
            )
            say(f"{self._label} {far} {note}".rstrip())


@contextmanager
def progress_bar(label: str, *, unit: str = "") -> Iterator[ProgressBar]:
    """A bar on stderr with what is done, what remains, and a note; bytes if `unit` is `bytes`.

    Work without a label, which reports no progress, has none. The bar vanishes at the end.
    """
    if not (label and sys.stderr.isatty()):
        yield ProgressBar(None, None, label, unit)
        return
    from rich import progress as rich_progress
    from rich.console import Console

    counter = (
        rich_progress.DownloadColumn() if unit == "bytes" else rich_progress.MofNCompleteColumn()
    )
    columns = (
        rich_progress.TextColumn(label, markup=False),
        rich_progress.BarColumn(),
        counter,
        rich_progress.TimeElapsedColumn(),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("{task.fields[note]}", markup=False),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield ProgressBar(bar, bar.add_task(label, total=None, note=""), label)
