"""Sentences for the terms on the page, looked up once in a process beside the server.

The run knows where each term stands first. The sentences are kept in a file of the run, so that
the next start has them at once, and never in the server's memory.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synsetmine.files import atomic_write
from synsetmine.plainfiles import check_plain_file, kind_of
from synsetmine.results import Sentence, example_sentences
from synsetmine.runfolder import Artefacts, RunFolder
from synsetmine.schemas import has_schema
from synsetmine.text import normal_form
from synsetmine.workers import spawning

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

PER_TERM = 3
TABLES = (
    "CREATE TABLE about (key TEXT)",
    "CREATE TABLE sentences (form TEXT, document TEXT, text TEXT, first INTEGER, last INTEGER)",
    "CREATE INDEX by_form ON sentences (form)",
)


class SentenceShelf:
    """The sentences of a run's terms, as soon as they were found."""

    def __init__(self, run: Path, surfaces: Sequence[str]) -> None:
        at = Artefacts(run)
        self._run, self._path = run, at.sentences
        self._needs = at.documents, at.places
        self._surfaces = surfaces
        self._key = _key(run, surfaces)
        self._connection = _open(self._path, self._key)
        self._process: SpawnProcess | None = None

    def start(self) -> None:
        """Begin to look for them, where that was not done before."""
        if self._connection is not None or not all(path.exists() for path in self._needs):
            return
        # A process of its own: a thread would take turns with the pages.
        given = self._run, self._surfaces, self._path, self._key
        self._process = spawning().Process(target=_find, args=given, daemon=True)
        self._process.start()

    def get(self, texts: Sequence[str]) -> dict[str, list[Sentence]] | None:
        """The sentences of each of the terms' texts; None while they are looked up."""
        if self._connection is None:
            searching = self._process is not None and self._process.is_alive()
            self._connection = _open(self._path, self._key)
            if self._connection is None:
                return None if searching else {}
        query = "SELECT document, text, first, last FROM sentences WHERE form = ? ORDER BY rowid"
        return {
            text: [Sentence(*row) for row in self._connection.execute(query, [normal_form(text)])]
            for text in texts
        }

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.join()
        if self._connection is not None:
            self._connection.close()


def _open(path: Path, key: str) -> sqlite3.Connection | None:
    """The stored sentences, if they are there and of these terms and this corpus."""
    if kind_of(path) != "a file":
        return None
    # Immutable: the file is only ever replaced, and SQLite opens no journal beside it.
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    try:
        ours = has_schema(connection, TABLES)
        if ours and connection.execute("SELECT key FROM about").fetchall() == [(key,)]:
            return connection
    except sqlite3.Error:  # something else; it is made anew
        pass
    connection.close()
    return None


def _key(run: Path, surfaces: Sequence[str]) -> str:
    """What the sentences depend on: the corpus, the places of terms in it, and the terms."""
    stages = RunFolder(run).stages
    outputs = [str(stages.get(name, {}).get("outputs")) for name in ("read", "vocabulary")]
    told = [*outputs, str(PER_TERM), *sorted(set(surfaces))]
    return hashlib.sha256("\n".join(told).encode("utf-8", "replace")).hexdigest()[:32]


def _find(run: Path, surfaces: Sequence[str], path: Path, key: str) -> None:
    """Look for sentences and store them, whole or not at all; end with the server."""
    server = os.getppid()
    os.nice(10)

    def watch(_done: int, _total: int) -> None:
        if os.getppid() != server:
            raise SystemExit

    found = example_sentences(Artefacts(run), surfaces, PER_TERM, watch)
    check_plain_file(path)  # again: the search has taken a while
    with atomic_write(path) as temporary:
        connection = sqlite3.connect(temporary)
        # Without a journal, which a kill would leave: the file is whole or not there at all.
        for command in ("PRAGMA journal_mode = OFF", *TABLES):
            connection.execute(command)
        connection.execute("INSERT INTO about VALUES (?)", [key])
        rows = (
            (form, sentence.document, sentence.text, sentence.start, sentence.end)
            for form, sentences in found.items()
            for sentence in sentences
        )
        connection.executemany("INSERT INTO sentences VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
        connection.close()
