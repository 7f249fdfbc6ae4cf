"""The file that a reader of knowledge bases works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from synsetmine.errors import DataError, Skipped, raise_or_keep
from synsetmine.io.files import numbered_lines, open_binary
from synsetmine.types import Progress


@dataclass(frozen=True)
class Source:
    """A path, where to note what is broken, and whom to tell (bytes read, bytes in all)."""

    path: Path
    skipped: Skipped | None = None
    progress: Progress | None = None

    def lines(self) -> Iterator[tuple[int, str]]:
        return numbered_lines(self.path, skipped=self.skipped, on_read=self._on_read())

    def open(self) -> AbstractContextManager[IO[bytes]]:
        return open_binary(self.path, on_read=self._on_read())

    def reject(self, error: DataError, line: int | None = None) -> None:
        """Raise an error with its place, or note it and go on."""
        raise_or_keep(error.at(self.path, line), self.skipped)

    def beside(self, path: Path) -> Source:
        """Another file that belongs to this one; its progress is not told."""
        return Source(path, self.skipped)

    def _on_read(self) -> Callable[[int], None] | None:
        if self.progress is None or not self.path.is_file():
            return None
        tell, total, done = self.progress, self.path.stat().st_size, 0

        def on_read(count: int) -> None:
            nonlocal done
            done += count
            tell(done, total)

        return on_read
