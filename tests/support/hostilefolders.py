"""Run folders as an attacker would send them: links, pipes and journals in place of files."""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer

from synsetmine.review import Decision, ReviewStore
from synsetmine.runs.folder import Artefacts
from tests.support.webserver import write_run

MAGIC = bytes.fromhex("d9d505f920a163d7")  # of a rollback journal
PAGE = 4096
MODEL_FILES = ("config.json", "model.safetensors", "vectors.safetensors", "checkpoint.safetensors")
# All files that a command looks for in a run folder.
FILES = (
    *("manifest.json", ".lock", "documents.parquet", "knowledge.arrow", "knowledge.matcher"),
    *("words.parquet", "runs.parquet", "abbreviations.parquet", "evidence.parquet"),
    *("places.parquet", "cooccurrence.safetensors"),
    *("mentions.parquet", "links.tsv", "training.jsonl", "test.jsonl", "alone.jsonl"),
    *("names.tsv", "rejected.tsv", "supervision.json", "vocabulary.tsv", "vectors.safetensors"),
    *("encoded.safetensors", "model", "mined.jsonl", "trace.jsonl", "scores.json", "report.html"),
    *("candidates.parquet", "rehearsal.json"),
    *("reviews.sqlite", "reviews.tsv", "sentences.sqlite", "spotlight.sqlite"),
    *(f"model/{name}" for name in MODEL_FILES),
)


def write_reviewed_run(folder: Path) -> Path:
    """A run with one decision."""
    run = write_run(folder)
    with ReviewStore(run / "reviews.sqlite") as store:
        store.add(
            Decision(
                kind="accept",
                reviewer="Ada",
                set_id="s1",
                members=("aspirin", "acetylsalicylic acid"),
                terms=("aspirin", "acetylsalicylic acid"),
            )
        )
    return run


def link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def dangling_link(path: Path, victim: Path) -> None:
    path.symlink_to(victim.with_name("new file"))


def pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def device(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


def unix_socket(path: Path, _: Path) -> None:
    os.mknod(path, stat.S_IFSOCK | 0o600)


KINDS: tuple[Callable[[Path, Path], None], ...] = (link, dangling_link, pipe, device, unix_socket)


def put(run: Path, name: str, kind: Callable[[Path, Path], None], victim: Path) -> Path:
    """Replace a file of a run by something else."""
    path = run / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    kind(path, victim)
    return path


def write_journal(database: Path, victim: Path) -> Path:
    """A rollback journal that makes SQLite delete a file.

    It names the file as its super-journal: SQLite rolls the journal back, finds no other journal
    that needs the file, and deletes it. https://sqlite.org/fileformat2.html#the_rollback_journal
    """
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    pages = database.stat().st_size // PAGE
    header = MAGIC + struct.pack(">5I", 0, 1, pages, 512, PAGE)
    name = os.fsencode(victim)
    end = struct.pack(">I", 2**30 // PAGE + 1) + name + struct.pack(">2I", len(name), sum(name))
    journal = Path(f"{database}-journal")
    journal.write_bytes(header.ljust(512, b"\0") + end + MAGIC)
    return journal


@contextmanager
def unblocked(*pipes: Path, after: float = 5.0) -> Iterator[None]:
    """Whoever waits for a pipe is released after a while: a test fails, and does not hang."""

    def release() -> None:
        for path in pipes:
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    timer = Timer(after, release)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def artefact_names(run: Path) -> set[str]:
    """The names of all files that the program knows in a run folder."""
    paths = (path for path in vars(Artefacts(run)).values() if isinstance(path, Path))
    return {str(path.relative_to(run)) for path in paths}
