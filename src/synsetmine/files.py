"""Opening and writing files so that nothing half-written is ever left behind."""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from synsetmine.errors import DataError


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


def write_text(path: Path, text: str) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 text file, plain or .gz."""
    with open_binary(path) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise DataError("not UTF-8", path=path, line=number, value=raw) from error
            yield number, line.rstrip("\r\n")


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing .gz; a missing file is a clear error."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream  # type: ignore[misc]
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise DataError(error.strerror or "cannot be read", path=path) from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise DataError(f"damaged gzip file ({error})", path=path) from error


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
