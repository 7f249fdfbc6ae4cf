"""SQLite files that several use at once, and that may be a stranger's.

Nothing in them is taken for ours that we did not make.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable

_PAUSE = 0.01  # seconds


def has_schema(connection: sqlite3.Connection, commands: Iterable[str]) -> bool:
    """Whether a database has just the tables, indices and triggers that these commands make.

    A view in the place of a table could compute for ever, and a trigger could change what is
    written. SQLite is also told to trust nothing that the file defines.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    made = sqlite3.connect(":memory:")
    try:
        for command in commands:
            made.execute(command)
        return _schema(connection) == _schema(made)
    finally:
        made.close()


def keep_log(connection: sqlite3.Connection, wait: float) -> None:
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


def _schema(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    query = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY name"
    return [tuple(map(str, row)) for row in connection.execute(query)]
