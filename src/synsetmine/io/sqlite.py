"""SQLite files that several processes use at once."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from synsetmine.errors import DataError
from synsetmine.io.files import atomic_write, check_plain

LOG = "-wal"
_PAUSE = 0.01  # seconds
_JOURNAL_WAIT = 0.3  # seconds for another process to end a transaction without a log
_COPY_WAIT = 30.0  # seconds to wait for a moment without a writer

FileState = tuple[int, ...] | None  # None: there is no such file


def open_database(
    path: Path, commands: Sequence[str], *, mark: int, wait: float
) -> sqlite3.Connection:
    """Open a database with a write-ahead log, or make it by these commands, whole or not at all.

    `mark` is the application id in the header of our file; any other database is refused.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _check_files(path)
    if not path.exists():
        _make(path, (*commands, f"PRAGMA application_id = {mark}"))
    connection = sqlite3.connect(path, timeout=wait, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        check_mark(connection, path, mark)
        _use_write_ahead_log(connection, wait)
    except BaseException:
        connection.close()
        raise
    return connection


def check_mark(connection: sqlite3.Connection, path: Path, mark: int) -> None:
    """Refuse a database whose header does not have our application id."""
    if connection.execute("PRAGMA application_id").fetchone() != (mark,):
        raise DataError("not a file of synsetmine, but another database", path=path)


def file_states(path: Path) -> tuple[FileState, FileState]:
    """Device, inode, size and time of a database and of its log."""
    states: list[FileState] = []
    for suffix in ("", LOG):
        try:
            stat = Path(f"{path}{suffix}").stat()
            states.append((stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except (FileNotFoundError, NotADirectoryError):
            states.append(None)
    return states[0], states[1]


@contextmanager
def copied_database(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a private copy of a database with its log.

    The folder of the database may be read-only, and another process may write meanwhile; this
    one must not have the database open.
    """
    with TemporaryDirectory(prefix="synsetmine-") as folder:
        copy = Path(folder, "copy.sqlite")
        until = time.monotonic() + _COPY_WAIT
        _check_files(path)
        while True:
            before = file_states(path)
            for suffix in ("", LOG):
                Path(f"{copy}{suffix}").unlink(missing_ok=True)
                with suppress(FileNotFoundError):
                    shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
            if file_states(path) == before:  # so that database and log belong together
                break
            if time.monotonic() > until:
                raise DataError("another program keeps writing to this database", path=path)
            time.sleep(_PAUSE)
        with closing(sqlite3.connect(copy)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection


def _check_files(path: Path) -> None:
    """Refuse files that SQLite must not open; a rollback journal can make it delete any file.

    Our databases have a write-ahead log from the start; another tool may have one for a moment.
    """
    for suffix in ("", LOG, "-shm", "-journal"):
        if suffix or not path.is_dir():  # SQLite reports a folder itself
            check_plain(Path(f"{path}{suffix}"))
    until = time.monotonic() + _JOURNAL_WAIT
    while (journal := Path(f"{path}-journal")).exists():
        if time.monotonic() > until:
            problem = (
                "unexpected SQLite journal, which can make SQLite delete other files; "
                "delete it, unless another program is writing to the database"
            )
            raise DataError(problem, path=journal)
        time.sleep(_PAUSE)


def _make(path: Path, commands: Iterable[str]) -> None:
    """Make a database with a write-ahead log, whole or not at all, unless there is one."""
    with _locked_folder(path.parent):  # of several that find none, one makes it
        if path.exists():
            return
        for suffix in (LOG, "-shm"):  # of a database that was deleted; SQLite would mix the two
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        with atomic_write(path) as temporary:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                # Without a journal, which a kill would leave.
                for command in ("PRAGMA journal_mode = OFF", *commands):
                    connection.execute(command)
            with temporary.open("r+b") as stream:
                stream.seek(18)  # https://sqlite.org/fileformat2.html: file format versions
                stream.write(b"\2\2")  # a write-ahead log is used


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _use_write_ahead_log(connection: sqlite3.Connection, wait: float) -> None:
    """Write ahead into a log, which a crash of the machine does not harm.

    The change to that needs the file for itself, for which SQLite does not wait by itself.
    """
    until = time.monotonic() + wait
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
