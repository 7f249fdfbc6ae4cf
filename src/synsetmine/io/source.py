"""The file that a reader works on: what becomes of broken records, and who follows the reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from synsetmine.errors import DataError, Skipped, raise_or_keep, skipping
from synsetmine.io.files import byte_lines, numbered_lines, open_binary, plain_name
from synsetmine.types import Progress


@dataclass(frozen=True)
class Source:
    """A file, where to keep the errors of broken records, and a callback for the bytes read.

    Without `skipped` the first broken record raises its error.
    """

    path: Path
    skipped: list[DataError] | Skipped | None = None
    on_read: Callable[[int], None] | None = None

    @property
    def name(self) -> str:
        """The name without the ending of a compression."""
        return plain_name(self.path)

    def open(self) -> AbstractContextManager[IO[bytes]]:
        return open_binary(self.path, on_read=self.on_read)

    def lines(self) -> Iterator[tuple[int, str]]:
        return numbered_lines(self.path, skipped=self.skipped, on_read=self.on_read)

    def byte_lines(self) -> Iterator[tuple[int, bytes]]:
        return byte_lines(self.path, skipped=self.skipped, on_read=self.on_read)

    def skipping(self, line: int) -> skipping:
        """Leave out the record that starts on this line if it turns out to be broken."""
        return skipping(self.path, line, self.skipped)

    def reject(self, error: DataError, line: int | None = None) -> None:
        """Raise an error with its place, or keep it."""
        raise_or_keep(error.at(self.path, line), self.skipped)


class Meter:
    """Tells a callback how many bytes of all files are read, about once a megabyte."""

    STEP = 2**20

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._progress = progress
        self._read = 0
        self._told = 0

    @contextmanager
    def reading(self, size: int) -> Iterator[Callable[[int], None]]:
        """A function that is called with the bytes read of a file of this size.

        A file that grew meanwhile counts for no more than it was, and in the end for no less.
        """
        end = self._read + size

        def add(count: int) -> None:
            self._read = min(self._read + count, end)
            if self._read - self._told >= self.STEP:
                self.tell()

        yield add
        add(size)

    def tell(self) -> None:
        self._told = self._read
        if self._progress is not None:
            self._progress(self._read, self._total)
