"""Decisions on disk: a SQLite file to which several people add at the same time."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any

from synsetmine.errors import DataError, SynsetmineError, quantity
from synsetmine.io.sqlite import check_mark, copied_database, file_states, open_database
from synsetmine.review.decisions import COLUMNS, LISTS, Decision, is_time, now

_OURS = 0x5E7DEC  # in the file's header, so that nothing is written into another database
_VERSION = 1
_WAIT = 30  # seconds for another process to finish its write
_COLUMNS = ", ".join("at" if name == "when" else name for name in COLUMNS)
_SELECT = f"SELECT number, {_COLUMNS} FROM decisions"  # noqa: S608
_TABLE = (
    """
    CREATE TABLE decisions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        at TEXT NOT NULL,
        reviewer TEXT NOT NULL,
        kind TEXT NOT NULL,
        set_id TEXT NOT NULL,
        terms TEXT NOT NULL,
        other TEXT NOT NULL,
        verdict TEXT,
        scope TEXT,
        undoes TEXT NOT NULL,
        note TEXT NOT NULL,
        members TEXT NOT NULL,
        others TEXT NOT NULL
    )
    """,
    "CREATE INDEX by_set ON decisions (set_id)",
    "CREATE INDEX by_other ON decisions (other)",
    "CREATE INDEX by_time ON decisions (at)",
    "CREATE INDEX by_undone ON decisions (undoes)",
    """
    CREATE TRIGGER no_change BEFORE UPDATE ON decisions
    BEGIN SELECT RAISE(ABORT, 'decisions are only added'); END
    """,
    """
    CREATE TRIGGER no_loss BEFORE DELETE ON decisions
    BEGIN SELECT RAISE(ABORT, 'decisions are only added'); END
    """,
    f"PRAGMA user_version = {_VERSION}",
)


class Conflict(SynsetmineError):  # noqa: N818 - it is one, and nothing is broken
    """Somebody decided on the same sets meanwhile; `newer` is what they decided."""

    def __init__(self, newer: Sequence[Decision]) -> None:
        self.newer = tuple(newer)
        last = self.newer[-1]
        super().__init__(
            f"{last.reviewer} has changed this set in the meantime ({last.kind}, {last.when})"
        )


class StoreReplacedError(SynsetmineError):
    """The file of a store was deleted or replaced by another one while the store was open."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} was deleted or replaced while it was in use, so the server no longer "
            "records decisions; restore the file, or restart the server with the new one"
        )


class ReviewStore:
    """All decisions of a run, in the order in which they came in. They are only ever added.

    What `add` returned is on disk, in the file of that name: it survives a killed process and a
    crashed machine. Any number of threads and processes may use one file at the same time. A
    damaged decision is left out, with a warning in the log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = RLock()
        self._damaged: set[int] = set()  # the decisions that the log has warned of
        with _clear_errors(path):
            self._connection = open_database(path, _TABLE, mark=_OURS, wait=_WAIT)
            _check_version(self._connection, path)
            self._connection.execute("PRAGMA synchronous = FULL")  # on disk when `add` returns
            self._connection.execute("SELECT count(*) FROM decisions")  # opens the log
            self._files = _identity(path)

    def __enter__(self) -> ReviewStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def check_in_place(self) -> None:
        """Raise StoreReplacedError if the store's file is no longer the one that was opened.

        A write into a deleted file would be lost without an error.
        """
        with self._lock:
            if (files := _identity(self.path)) != self._files:
                if files[0] != self._files[0] and files[1] == self._files[1]:
                    # SQLite would take the log for that of the new file, and mix the two.
                    with suppress(sqlite3.Error):
                        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                raise StoreReplacedError(self.path)

    def add(self, decision: Decision, *, seen: int | None = None) -> Decision:
        """Store a decision; returns it with its number, time and id.

        `seen` is the number of the last decision that the reviewer knew of. If another one has
        touched the same sets since, that is a `Conflict` and nothing is stored. None: any.
        """
        return self.add_all([decision], seen=seen)[0]

    def add_all(self, decisions: Iterable[Decision], *, seen: int | None = None) -> list[Decision]:
        """Store decisions on different sets, all or none."""
        stored = []
        with self._transaction():
            for decision in decisions:
                if decision.kind == "undo":
                    raise SynsetmineError("use ReviewStore.undo to undo a decision")
                if seen is not None and (newer := self._decisions_on(decision.sets, seen)):
                    raise Conflict(newer)
                stored.append(self._insert_now(decision))
        return stored

    def undo(self, reviewer: str, target: str | None = None) -> Decision:
        """Undo a decision, by its id, or the reviewer's last one; the undo is a decision too.

        It is a `Conflict` if a later one depends on it: then that one must be undone first.
        """
        with self._transaction():
            taken = self._last_of(reviewer) if target is None else self._require_standing(target)
            return self._undo(reviewer, taken)

    def undo_all(self, reviewer: str, targets: Iterable[str]) -> list[Decision]:
        """Undo decisions on different sets, except those on which later ones depend.

        It is a `Conflict` if that leaves none.
        """
        stored, conflict = [], None
        with self._transaction():
            for target in targets:
                try:
                    stored.append(self._undo(reviewer, self._require_standing(target)))
                except Conflict as error:
                    conflict = error
            if conflict is not None and not stored:
                raise conflict
        return stored

    def _undo(self, reviewer: str, taken: Decision) -> Decision:
        later = [d for d in self._decisions_on(taken.sets, taken.number) if self._stands(d)]
        if later:
            raise Conflict(later)
        return self._insert_now(
            replace(taken, kind="undo", reviewer=reviewer, undoes=taken.id, note="")
        )

    def take_in(self, decisions: Iterable[Decision]) -> int:
        """Add decisions that were made elsewhere, all or none; how many were not here yet."""
        with self._transaction():
            known = {decision.id: decision for decision in self.decisions()}
            before = len(known)
            for decision in decisions:
                if not decision.id or not decision.when:
                    raise DataError("a decision has no id or time yet", value=decision.set_id)
                if decision.id not in known:
                    known[decision.id] = self._insert(decision)
                elif known[decision.id] != decision:
                    problem = "there is another decision with this id; was a line edited?"
                    raise DataError(problem, path=self.path, value=decision.id)
            return len(known) - before

    def decisions(self, since: int = 0) -> list[Decision]:
        """Those with a higher number, in the order in which they came in."""
        return self._select("number > ?", [since])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """A transaction in the file that was opened; what it wrote is there in the end.

        What is looked up in it still holds when it is written.
        """
        with self._lock, _clear_errors(self.path):
            self.check_in_place()
            self._connection.execute("BEGIN IMMEDIATE")  # one writer at a time
            with self._connection:
                self.check_in_place()  # again: it may have waited for another process
                yield
            with suppress(sqlite3.Error):  # such as a full disk: they are safe in the log
                # A copy of the file without its log then has all decisions.
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self.check_in_place()

    def _insert_now(self, decision: Decision) -> Decision:
        times = self._connection.execute("SELECT at FROM decisions ORDER BY at DESC")
        latest = next((at for (at,) in times if is_time(at)), "")
        return self._insert(decision.stamp(now(latest)))

    def _insert(self, decision: Decision) -> Decision:
        marks = ", ".join("?" * len(COLUMNS))
        query = f"INSERT INTO decisions ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
        values = (getattr(decision, name) for name in COLUMNS)
        row = [json.dumps(v, ensure_ascii=False) if isinstance(v, tuple) else v for v in values]
        number = self._connection.execute(query, row).lastrowid
        return replace(decision, number=int(number or 0))

    def _select(self, condition: str, values: Sequence[object]) -> list[Decision]:
        query = f"{_SELECT} WHERE {condition} ORDER BY number"
        with self._lock, _clear_errors(self.path):
            rows = self._connection.execute(query, values).fetchall()
        return _sound(rows, self.path, self._damaged)

    def _decisions_on(self, sets: Sequence[str], since: int) -> list[Decision]:
        marks = ", ".join("?" * len(sets))
        condition = f"number > ? AND (set_id IN ({marks}) OR other IN ({marks}))"
        return self._select(condition, [since, *sets, *sets])

    def _stands(self, decision: Decision) -> bool:
        return decision.kind != "undo" and not self._select("undoes = ?", [decision.id])

    def _require_standing(self, target: str) -> Decision:
        decision = next(iter(self._select("id = ?", [target])), None)
        if decision is None:
            raise DataError("there is no such decision", path=self.path, value=target)
        if decision.kind == "undo":
            raise DataError("an undo cannot be undone; decide again", value=target)
        if not self._stands(decision):
            raise DataError("this decision has already been undone", value=target)
        return decision

    def _last_of(self, reviewer: str) -> Decision:
        condition = "reviewer = ? AND kind != 'undo' AND id NOT IN (SELECT undoes FROM decisions)"
        standing = self._select(condition, [reviewer])
        if not standing:
            raise DataError("there is no decision to undo by", value=reviewer)
        return standing[-1]


def read_store(path: Path) -> list[Decision]:
    """The decisions of a store, from a copy of it: nothing in its folder is written or locked."""
    if not path.stat().st_size:
        return []
    with _clear_errors(path), copied_database(path) as connection:
        check_mark(connection, path, _OURS)
        _check_version(connection, path)
        rows = connection.execute(f"{_SELECT} ORDER BY number").fetchall()
        return _sound(rows, path, set())


def _identity(path: Path) -> list[tuple[int, ...] | None]:
    """Which files a database and its log are; other files under the same names differ in it."""
    return [state and state[:2] for state in file_states(path)]


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > _VERSION:
        raise DataError("reviews of a newer synsetmine, with schema", path=path, value=version)


def _sound(rows: Iterable[Sequence[Any]], path: Path, reported: set[int]) -> list[Decision]:
    """The decisions in rows, less those that are damaged; the log names each of these once."""
    decisions = []
    damaged = {}
    for row in rows:
        try:
            decisions.append(_decision(row, path))
        except DataError as error:
            damaged[int(row[0])] = error
    new = [number for number in damaged if number not in reported]
    if new:
        message = "left out %s of reviewers, such as %s"
        counts = quantity(len(new), "damaged decision")
        logging.getLogger(__name__).warning(message, counts, damaged[new[0]])
        reported.update(new)
    return decisions


def _decision(row: Sequence[Any], path: Path) -> Decision:
    number, *cells = row
    values = dict(zip(COLUMNS, cells, strict=True))
    try:
        for name in LISTS:
            values[name] = tuple(json.loads(values[name]))
        return Decision(number=number, **values)
    except (DataError, ValueError, TypeError, RecursionError) as error:
        raise DataError(f"damaged decision ({error})", path=path, value=number) from error


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise DataError(f"cannot use these reviews ({error})", path=path) from error
