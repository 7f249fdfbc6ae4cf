"""Opening and writing files so that a name never stands for something half-written."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from synsetmine.errors import DataError, raise_or_keep


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes the place of `path` only on success."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing, whole or not at all, compressing .gz."""
    with atomic_write(path) as temporary, temporary.open("wb") as stream:
        if path.suffix != ".gz":
            yield stream
            return
        # No name and no time inside: the same text makes the same file.
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def write_text(path: Path, text: str) -> None:
    with writing(path) as stream:
        stream.write(text.encode())


def numbered_lines(
    path: Path, *, skipped: list[DataError] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 text file, plain or .gz.

    With a list `skipped`, lines that are not UTF-8 are left out and their errors collected there.
    """
    with open_binary(path) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise_or_keep(DataError("not UTF-8", path=path, line=number, value=raw), skipped)
                continue
            yield number, line.rstrip("\r\n")


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing .gz; a file that cannot be read is a clear error."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream  # type: ignore[misc]
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"damaged gzip file ({error})", path=path) from error
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", path=path) from error


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
