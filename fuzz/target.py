"""A target: some forms of files, how each is read, and what must hold of what was read."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from synsetmine.errors import DataError, ErrorCounts, SynsetmineError

Read = TypeVar("Read")
FIRST = ord("0")  # how an input begins that is meant for the first form


@dataclass(frozen=True)
class Form:
    """Files of one form: the name of such a file, the check of one, small whole ones."""

    file: str
    check: Callable[[Path], None]
    examples: Callable[[], Sequence[bytes]]


@dataclass(frozen=True)
class Target:
    """What one harness runs; the first byte of an input tells for which form the rest is."""

    name: str
    forms: tuple[Form, ...]
    words: tuple[str, ...] = ()  # that chance would hardly put together

    def seeds(self) -> list[bytes]:
        return [
            bytes([FIRST + number]) + example
            for number, form in enumerate(self.forms)
            for example in form.examples()
        ]

    def run(self, data: bytes) -> None:
        """Read an input; whatever is raised here is a finding."""
        if not data:
            return
        form = self.forms[(data[0] - FIRST) % len(self.forms)]
        path = folder(self.name) / form.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data[1:])
        try:
            form.check(path)
        except SynsetmineError as error:
            check_message(error)


def check_message(error: SynsetmineError) -> None:
    """An error is one line that any terminal can show."""
    message = str(error)
    message.encode()
    if len(message.splitlines()) != 1:
        raise AssertionError(f"an error of several lines: {message!r}")


def both_ways(read: Callable[[ErrorCounts | None], Read]) -> Read:
    """Read strictly, then with broken pieces left out: what is left out must be counted."""
    skipped = ErrorCounts()
    try:
        strict = read(None)
    except DataError as error:
        check_message(error)
        lenient = read(skipped)
        if not len(skipped):
            raise AssertionError(f"left out without a word: {error}") from error
    else:
        lenient = read(skipped)
        require(lenient == strict, "broken pieces may be left out, and then all is another")
    for errors in skipped.examples.values():
        for kept in errors:
            check_message(kept)
    return lenient


def require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def folder(name: str) -> Path:
    """A folder of this process for the files of a target."""
    path = _root() / name
    path.mkdir(exist_ok=True)
    return path


def in_memory() -> str | None:
    """Where files cost no writes to a disk, if there is such a place."""
    return next((place for place in ("/dev/shm",) if os.path.isdir(place)), None)  # noqa: S108, PTH112


@cache
def _root() -> Path:
    where = os.environ.get("TMPDIR") or in_memory()
    path = tempfile.mkdtemp(prefix="synsetmine-fuzz-", dir=where)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)
