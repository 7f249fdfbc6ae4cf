"""Files for rows of the table: small ones as they are, large ones made when they are needed."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

Make = Callable[[Path], None]

DEEP = 100_000
OVER = 65 * 2**20  # bytes: more than a line may have


def files(contents: Mapping[str, str | bytes | Callable[[], bytes]]) -> Make:
    """Write these files; those that are large come as functions."""

    def make(folder: Path) -> None:
        for name, content in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written = content() if callable(content) else content
            path.write_bytes(written.encode() if isinstance(written, str) else written)

    return make


def nothing(folder: Path) -> None:
    """No file at all."""


def gzip_text(text: str | bytes) -> bytes:
    return gzip.compress(text.encode() if isinstance(text, str) else text, 1)


def repeat(part: str, size: int, start: str = "", end: str = "") -> Callable[[], bytes]:
    """One part over and over, up to a size in bytes."""
    return lambda: (start + part * (size // len(part.encode())) + end).encode()


@cache
def bomb(part: bytes = b"a", members: int = 16) -> bytes:
    """A gibibyte in a file of a few kilobytes, or less of it: 64 MiB a member."""
    return gzip.compress(part * (2**26 // len(part)), 1) * members
