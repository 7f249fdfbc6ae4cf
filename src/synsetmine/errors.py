"""Errors in input data: one line that names the location and the value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

WIDTH = 120  # characters of a value that are shown
# Control characters but tab and line end, Unicode's changes of direction, and the bytes of file
# names that are not UTF-8.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class SynsetmineError(Exception):
    """Base of all errors that a user can fix; the command line prints them without a traceback."""


class DataError(SynsetmineError):
    """A broken piece of input: `file:line: problem: 'value'; hint`. The hint is the next step."""

    def __init__(
        self,
        problem: str,
        *,
        path: str | PathLike[str] | None = None,
        line: int | None = None,
        value: object = None,
        hint: str = "",
    ) -> None:
        self.problem = problem
        self.hint = hint
        self.path = Path(path) if path is not None else None
        self.line = line
        # Enough to be shown: many errors are kept, and their values may be whole lines.
        self.value = value[:WIDTH] if isinstance(value, str | bytes) else value
        super().__init__(self._message())

    def at(self, path: str | PathLike[str], line: int | None = None) -> DataError:
        """The same problem, with its file and line."""
        return DataError(self.problem, path=path, line=line, value=self.value, hint=self.hint)

    def _message(self) -> str:
        location = "" if self.path is None else str(self.path)
        if self.line is not None:
            location += f":{self.line}"
        quoted = "" if self.value is None else f": {_show(self.value)}"
        message = f"{self.problem}{quoted}" + (f"; {self.hint}" if self.hint else "")
        return one_line(f"{location}: {message}" if location else message)

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments: errors must survive the way back from a worker process.
        return (_rebuild, (self.problem, self.path, self.line, self.value, self.hint))


class ModelError(SynsetmineError):
    """A model folder that is missing, unfinished, damaged, or of another version."""


class CheckpointError(SynsetmineError):
    """A checkpoint that belongs to other data or settings than the run that found it."""


class ErrorCounts:
    """Counts of skipped records by problem, with the first errors as examples.

    It has the method `append` of a list, but a million broken records need no memory.
    """

    EXAMPLES = 3

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, list[DataError]] = {}

    def append(self, error: DataError) -> None:
        self.counts[error.problem] += 1
        shown = self.examples.setdefault(error.problem, [])
        if len(shown) < self.EXAMPLES:
            shown.append(error)

    def __len__(self) -> int:
        return self.counts.total()

    def hint(self) -> str:
        """A note on the skipped records, for an error message."""
        for examples in self.examples.values():
            return f"; {len(self)} left out, such as {examples[0]}"
        return ""


def require(holds: bool, problem: str, value: object) -> None:
    """Raise a DataError unless a condition on a value holds."""
    if not holds:
        raise DataError(problem, value=value)


def require_type(value: object, expected: type, problem: str) -> None:
    """Raise a DataError unless a value has the type that a signature asks for."""
    if not isinstance(value, expected):
        raise DataError(problem, value=value)


def raise_or_keep(error: DataError, skipped: list[DataError] | ErrorCounts | None) -> None:
    """Raise the error, or append it to `skipped`."""
    if skipped is None:
        raise error
    skipped.append(error)


class skip_broken:  # noqa: N801 (used as a statement: `with skip_broken(…):`)
    """Skip a broken record: a DataError in the block gets its file and line, and goes to `skipped`.

    Without `skipped` it is raised. A class is three times as fast as a generator here.
    """

    __slots__ = ("_line", "_path", "_skipped")

    def __init__(
        self, path: Path, line: int | None, skipped: list[DataError] | ErrorCounts | None
    ) -> None:
        self._path, self._line, self._skipped = path, line, skipped

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, DataError):
            return False
        raise_or_keep(error.at(self._path, self._line), self._skipped)
        return True


@contextmanager
def in_one_line() -> Iterator[None]:
    """For scripts: an error that a user can fix ends the script with one line and exit code 1."""
    try:
        yield
    except (SynsetmineError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


def import_extra(package: str, purpose: str, extra: str) -> Any:
    """Import an optional package; without it, the error names the extra that installs it."""
    try:
        return import_module(package)
    except ImportError:
        problem = f"{purpose} needs the extra: pip install 'synsetmine[{extra}]'"
        raise SynsetmineError(problem) from None


def choose_among(value: object, choices: Iterable[str]) -> str:
    """The hint for an unknown word: the choice that is probably meant, or all choices.

    >>> choose_among("elastic", ["solr", "elasticsearch"]), choose_among("x", ["solr", "skos"])
    ("did you mean 'elasticsearch'?", 'expected one of solr, skos')
    """
    word, choices = str(value).lower(), list(choices)
    begun = [choice for choice in choices if word and choice.startswith(word)]
    near = begun or get_close_matches(word, choices, 1, 0.7)
    return f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(choices)}"


def shorten(text: str, width: int = WIDTH) -> str:
    """Shorten a long value for a message of one line."""
    return text if len(text) <= width else text[: width - 1] + "…"


def printable(text: str) -> str:
    """The text with escaped control characters, as in JSON.

    Names are untrusted. An escape sequence in a name could clear the screen or overwrite other
    lines, and a change of direction could show them backwards.
    """
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """The same on one line, so that a name cannot add a line."""
    return printable(text).replace("\n", "\\n").replace("\t", " ")


def _show(value: object) -> str:
    try:
        return shorten(repr(value))
    except (ValueError, RecursionError):  # Python writes no such long number, nor so deep a list
        return f"a value of type {type(value).__name__} that is too large to show"


def _rebuild(
    problem: str, path: Path | None, line: int | None, value: object, hint: str
) -> DataError:
    return DataError(problem, path=path, line=line, value=value, hint=hint)


def quantity(value: int, noun: str) -> str:
    """`1 term`, `2,000 terms`, `2 entities`."""
    ies = noun.endswith("y") and noun[-2:-1] not in "aeiou"
    plural = f"{noun.removesuffix('y')}ies" if ies else f"{noun}s"
    return f"{value:,} {noun if value == 1 else plural}"


def quantity_of_plural(value: int, label: str) -> str:
    """The same for a label in the plural: `1 group of unknown terms`."""
    if value == 1 and not label.startswith("of "):
        label = _HEAD.sub(lambda head: head[1] + ("y" if head[2] == "ies" else ""), label, count=1)
        label = label.replace(" that stand ", " that stands ")
    return f"{value:,} {label}"


# The noun that is counted: the last one, or the one before such words.
_HEAD = re.compile(r"(\w+?)(ies|s)(?= (?:of|that|with|without|in|\w+ed)\b|$)")
