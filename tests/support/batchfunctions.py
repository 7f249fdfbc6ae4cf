"""Functions for engines to map, good and bad; worker processes import them from here."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synsetmine.errors import DataError
from synsetmine.linking import Linker
from synsetmine.types import Document, Mention


def numbers(path: Path, count: int, *, size: int = 5) -> Path:
    """A Parquet file of the numbers from 0 on, `size` in a row group; each has its id."""
    table = pa.table({"id": [f"n{n}" for n in range(count)], "n": range(count)})
    pq.write_table(table, path, row_group_size=size)
    return path


def squares(batch: pa.RecordBatch) -> pa.RecordBatch:
    column = batch.column("n")
    return pa.record_batch({"n": column, "square": pc.multiply(column, column)})


def expected_rows(count: int) -> list[dict[str, int]]:
    return [{"n": n, "square": n * n} for n in range(count)]


def process(_: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"pid": [os.getpid()]})


def refuse_three(batch: pa.RecordBatch) -> pa.RecordBatch:
    if 3 in batch.column("n").to_pylist():
        raise DataError("three", path="numbers.txt", line=3, value=3)
    return batch


def stumble_over_33(batch: pa.RecordBatch) -> pa.RecordBatch:
    if 33 in batch.column("n").to_pylist():
        raise ValueError("what is\nthis?")
    return batch


def stumble_over_many(batch: pa.RecordBatch) -> pa.RecordBatch:
    if len(batch) > 1:
        raise ValueError("too many")
    return batch


def die_at_33(batch: pa.RecordBatch) -> pa.RecordBatch:
    if 33 in batch.column("n").to_pylist():
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


class UnlikelyError(Exception):
    """One that does not survive the way to another process."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)

    def __reduce__(self) -> str:
        raise TypeError("cannot travel")


@dataclass(frozen=True)
class SlowSquares:
    """Squares, with a note of each batch and some time for it."""

    notes: Path
    seconds: float = 0.0

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        with self.notes.open("a") as stream:
            stream.write(f"{batch.column('n')[0].as_py()}\n")
        time.sleep(self.seconds)
        return squares(batch)


@dataclass(frozen=True)
class DieOnce:
    """Squares; the first worker that is given 33 is killed."""

    mark: Path

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if 33 in batch.column("n").to_pylist() and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return squares(batch)


@dataclass(frozen=True)
class KillExecutorOnce:
    """Squares; the first time that 33 is met, Spark's executor is killed with its Python."""

    mark: Path

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if 33 in batch.column("n").to_pylist():
            kill_executor_once(self.mark)
        return squares(batch)


@dataclass(frozen=True)
class KillingLinker:
    """Another linker; the first time that it meets this word, Spark's executor is killed."""

    linker: Linker
    word: str
    mark: Path

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        if any(self.word in document.text for document in documents):
            kill_executor_once(self.mark)
        return self.linker.link(documents)


def kill_executor_once(mark: Path) -> None:
    if not mark.exists():
        # The parent of a worker process is the daemon that forks them all.
        executor = parent_of(os.getppid())
        mark.write_text(str(executor))
        os.kill(executor, signal.SIGKILL)
        time.sleep(60)


def parent_of(process: int) -> int:
    stat = Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


@dataclass(frozen=True)
class Unloadable:
    """Cannot be unpacked on a worker."""

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    def __reduce__(self) -> tuple[object, ...]:
        return _refuse, ()


def _refuse() -> None:
    raise DataError("No such file or directory", path="knowledge.arrow")
