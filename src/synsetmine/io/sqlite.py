"""SQLite files that several use at once, and that may come from other people.

Nothing in them is taken for ours that we did not make. The files that SQLite opens beside a
database are checked before SQLite sees them: a rollback journal can name any file, which SQLite
then deletes. Our databases have a write-ahead log, which names none.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from synsetmine.errors import DataError
from synsetmine.io.files import atomic_write
from synsetmine.io.temporary import check_plain_file, kind_of, open_plain, temporary_folder

LOG = "-wal"
JOURNAL = "-journal"
_BESIDE = (LOG, "-shm")
_PAUSE = 0.01  # seconds
_JOURNAL_WAIT = 0.3  # seconds for another process to end a transaction without a log
_COPY_WAIT = 30.0  # seconds to wait for a moment without a writer
_PIECE = 2**20  # bytes copied at a time
_LOG_HEADER = 32  # bytes; they differ each time the log begins anew

Identity = tuple[tuple[int, int] | None, ...]  # device and inode of the database and its log


def check_database(path: Path, *, writing: bool) -> None:
    """Refuse a database whose files SQLite must not open; each of them may be missing.

    SQLite writes in place, so that a file with a second hard link would change under its other
    name too: it is refused for writing.
    """
    for suffix in ("", *_BESIDE):
        beside = Path(f"{path}{suffix}")
        kind = kind_of(beside)
        if suffix or kind != "a folder":  # SQLite reports a folder itself
            check_plain_file(beside)
        if writing and kind == "a file" and _link_count(beside) > 1:
            problem = "this file has a second hard link, which would change too; use a copy"
            raise DataError(problem, path=beside)
    _check_journal(Path(f"{path}{JOURNAL}"))


def make_database(path: Path, commands: Iterable[str]) -> None:
    """Make a database with a write-ahead log, whole or not at all, unless there is one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked_folder(path.parent):  # of several that find none, one makes it
        if kind_of(path) is not None and (kind_of(path) != "a file" or path.stat().st_size):
            return
        check_database(path, writing=True)
        for suffix in _BESIDE:  # of a database that was deleted; SQLite would mix it with this one
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        with atomic_write(path) as temporary:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
                # Without a journal, which a kill would leave.
                for command in ("PRAGMA journal_mode = OFF", *commands):
                    connection.execute(command)
            with temporary.open("r+b") as stream:
                stream.seek(18)  # https://sqlite.org/fileformat2.html: file format versions
                stream.write(b"\2\2")  # a write-ahead log is used


def identity(path: Path) -> Identity:
    """Which files a database and its log are; other files under the same names differ in it."""
    files: list[tuple[int, int] | None] = []
    for suffix in ("", *_BESIDE):
        try:
            stat = os.lstat(f"{path}{suffix}")
            files.append((stat.st_dev, stat.st_ino))
        except (FileNotFoundError, NotADirectoryError):
            files.append(None)
    return tuple(files)


@contextmanager
def shared_descriptor(path: Path) -> Iterator[int]:
    """A descriptor of a database file, shared by all its users in this process.

    To close any descriptor of a file takes away all locks that the process has on it, SQLite's
    too. So each file has one, which is closed when the last of its users has ended.
    """
    with _held_lock:
        stat = os.lstat(path)
        held = _held.get((stat.st_dev, stat.st_ino)) or _hold(path)
        held.users += 1
    try:
        yield held.handle
    finally:
        with _held_lock:
            held.users -= 1
            if not held.users:
                del _held[held.key]
                os.close(held.handle)


@dataclass
class _SharedFile:
    """A descriptor of one file that several use."""

    key: tuple[int, int]  # device and inode
    handle: int
    users: int = 0


_held: dict[tuple[int, int], _SharedFile] = {}
_held_lock = Lock()


def _hold(path: Path) -> _SharedFile:
    handle = open_plain(path)
    stat = os.fstat(handle)
    key = stat.st_dev, stat.st_ino
    return _held.setdefault(key, _SharedFile(key, handle))


@contextmanager
def copied_database(path: Path) -> Iterator[Path]:
    """A private copy of a database with its log, to read from.

    The database and its folder are only read, so they may be on a read-only file system, and
    another process may write meanwhile.
    """
    with temporary_folder() as folder:
        copy = folder / "copy.sqlite"
        until = time.monotonic() + _COPY_WAIT
        while not _copy(path, copy):
            if time.monotonic() > until:
                raise DataError("another program keeps writing to this database", path=path)
            time.sleep(_PAUSE)
        yield copy


def has_schema(connection: sqlite3.Connection, commands: Iterable[str]) -> bool:
    """Whether a database has just the tables, indices and triggers that these commands make.

    A view in the place of a table could compute for ever, and a trigger could change what is
    written. SQLite is also set to trust nothing that the file defines.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    made = sqlite3.connect(":memory:")
    try:
        for command in commands:
            made.execute(command)
        return _schema(connection) == _schema(made)
    finally:
        made.close()


def use_write_ahead_log(connection: sqlite3.Connection, wait: float) -> None:
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


def _link_count(path: Path) -> int:
    try:
        return os.lstat(path).st_nlink
    except FileNotFoundError:  # a log goes with the last who uses it
        return 0


def _check_journal(journal: Path) -> None:
    """Refuse a rollback journal; one of a transaction of another tool is gone in a moment."""
    until = time.monotonic() + _JOURNAL_WAIT
    while (kind := kind_of(journal)) is not None:
        if kind != "a file" or time.monotonic() > until:
            problem = (
                "unexpected SQLite journal, which can make SQLite delete other files; "
                "delete it, unless another program is writing to the database"
            )
            raise DataError(problem, path=journal)
        time.sleep(_PAUSE)


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _copy(path: Path, copy: Path) -> bool:
    """Copy a database and its log; whether they belong together.

    Pages move from the log to the database at any time, but stay in the log until it begins anew
    with another header. So the copies belong together if the header is the same before and after.
    """
    check_database(path, writing=False)
    log, log_copy = Path(f"{path}{LOG}"), Path(f"{copy}{LOG}")
    before = _state(path), _read(log, _LOG_HEADER)
    _copy_file(path, copy)
    _copy_file(log, log_copy)
    return before == (_state(path), _read(log_copy, _LOG_HEADER))


def _state(path: Path) -> tuple[int, ...]:
    stat = os.lstat(path)
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _read(path: Path, size: int) -> bytes:
    try:
        with shared_descriptor(path) as handle:
            return os.pread(handle, size, 0)
    except FileNotFoundError:
        return b""


def _copy_file(path: Path, copy: Path) -> None:
    with copy.open("wb") as target, suppress(FileNotFoundError), shared_descriptor(path) as handle:
        offset = 0
        while piece := os.pread(handle, _PIECE, offset):
            target.write(piece)
            offset += len(piece)


def _schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    query = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY name"
    return [tuple(map(str, row)) for row in connection.execute(query)]
