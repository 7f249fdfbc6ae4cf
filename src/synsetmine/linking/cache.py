"""Answers that were paid for once, kept in one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock

from synsetmine.errors import DataError
from synsetmine.schemas import check_database, has_schema, keep_log, make_database

_OURS = 0x5E7A15  # stands in the file's header, so that nothing is written into a stranger's file
_WAIT = 60  # seconds for another process to finish its write
_TABLE = "CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
_MAKE = (_TABLE, f"PRAGMA application_id = {_OURS}")
_ASKED_AT_ONCE = 500  # SQLite allows a limited number of ? in a query


class AnswerCache:
    """Texts by key. Each is on disk when `put` returns, so a killed run loses none.

    Any number of threads and processes may use one file at the same time.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = Lock()

    def get(self, keys: Iterable[str]) -> dict[str, str]:
        """The texts of those keys that are here."""
        wanted = list(keys)
        found: dict[str, str] = {}
        with self._lock, _clear_errors(self.path):
            for first in range(0, len(wanted), _ASKED_AT_ONCE):
                some = wanted[first : first + _ASKED_AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, answer FROM answers WHERE key IN ({marks})"  # noqa: S608
                found.update(self._connection.execute(query, some).fetchall())
        return found

    def put(self, key: str, answer: str) -> None:
        with self._lock, _clear_errors(self.path), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, answer))


@contextmanager
def open_cache(path: Path) -> Iterator[AnswerCache]:
    """Open a cache file, making it where there is none."""
    with _clear_errors(path):
        make_database(path, _MAKE)
        check_database(path, writing=True)
        connection = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False)
    with closing(connection):
        with _clear_errors(path):
            _prepare(connection, path)
        yield AnswerCache(path, connection)


def damaged(path: Path, why: object) -> DataError:
    """The error for a cache that cannot be read."""
    return DataError(f"damaged cache ({why}); delete it to ask for everything again", path=path)


def _is_ours(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA application_id").fetchone() == (_OURS,))


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if not _is_ours(connection):
        raise DataError("not a cache of answers, but another database", path=path)
    if not has_schema(connection, [_TABLE]):
        raise DataError("a cache that synsetmine did not make: it defines other things", path=path)
    keep_log(connection, _WAIT)
    # With a write-ahead log, a crash of the machine may cost the last answers, never the file.
    connection.execute("PRAGMA synchronous = NORMAL")


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise DataError(f"cannot use this cache ({error})", path=path) from error
    except sqlite3.Error as error:
        raise damaged(path, error) from error
