"""Temporary files and folders that go in the end, even if their process is killed.

Who makes one holds a lock on it, which the system takes away from a process that has died. So the
next to make one of the same kind can tell what was left from what is in use.
"""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from synsetmine.errors import DataError
from synsetmine.plainfiles import open_plain

PREFIX, SUFFIX = "synsetmine-", ".held"  # nobody else's folder is called like that


@contextmanager
def temporary_file(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, to take its place."""
    clear(path.parent, f".{glob.escape(path.name)}.*.part")

    def make() -> str:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        return name

    with _held(make) as made:
        yield made


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for what this process and its workers share."""
    clear(Path(tempfile.gettempdir()), f"{PREFIX}*{SUFFIX}")
    with _held(lambda: tempfile.mkdtemp(prefix=PREFIX, suffix=SUFFIX)) as made:
        yield made


@contextmanager
def _held(make: Callable[[], str]) -> Iterator[Path]:
    path, handle = _locked(make)
    try:
        yield path
    finally:
        _remove(path)
        os.close(handle)


def _locked(make: Callable[[], str]) -> tuple[Path, int]:
    while True:
        path = Path(make())
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            with suppress(OSError):  # some file systems have no locks; there nothing is cleared
                fcntl.flock(handle, fcntl.LOCK_EX)
            if path.exists():
                return path, handle
            os.close(handle)  # before it was locked, another took it for one that was left


def clear(folder: Path, pattern: str) -> None:
    """Remove what nobody holds any more, of what is called like that."""
    for left in folder.glob(pattern):
        try:
            handle = open_plain(left, allow_folder=True)
        except (OSError, DataError):  # gone already, or not ours
            continue
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(left)
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
