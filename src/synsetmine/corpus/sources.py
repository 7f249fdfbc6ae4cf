"""Which files a corpus is made of, what form they have, and how far they are read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar, get_args

from synsetmine.errors import DataError, Skipped, raise_or_keep
from synsetmine.io.files import plain_name
from synsetmine.types import Progress

CorpusFormat = Literal["text", "lines", "jsonl", "csv", "tsv", "parquet", "pubtator", "mediawiki"]

# The longer ending stands first: `.pubtator.txt` is no plain text.
ENDINGS: dict[str, CorpusFormat] = {
    ".pubtator.txt": "pubtator",
    ".pubtator": "pubtator",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".xml": "mediawiki",
}

Where = str | Path | Sequence[str | Path]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Source:
    """One file of a corpus; `size` is in bytes, as it lies on the disk."""

    path: Path
    format: CorpusFormat
    size: int


def find_sources(where: Where, format: CorpusFormat | None = None) -> list[Source]:
    """The files of a corpus: of a file, a folder, a pattern (`abstracts/*.jsonl.gz`), or a list.

    Of a folder come all files with a known ending, also from folders below, in sorted order;
    hidden ones are left out. A file that is named twice is read once. `format` overrules what the
    endings say.
    """
    if format is not None and format not in get_args(CorpusFormat):
        raise DataError(
            f"the corpus format must be one of {', '.join(get_args(CorpusFormat))}", value=format
        )
    parts = [where] if isinstance(where, str | Path) else list(where)
    if not parts:
        raise DataError("no corpus files are named")
    found: dict[Path, Source] = {}
    for path in (path for part in parts for path in _expand(part)):
        source = Source(path, format or _format_of(path), _size(path))
        found.setdefault(path.resolve(), source)
    return list(found.values())


class Meter:
    """Tells a callback how many bytes of all files are read, about once a megabyte."""

    STEP = 2**20

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._progress = progress
        self._read = 0
        self._told = 0
        self._end = 0  # of the file that is read now

    def start(self, size: int) -> None:
        self._end = self._read + size

    def add(self, size: int) -> None:
        """Count bytes; a file that grew meanwhile counts for no more than it was."""
        self._read = min(self._read + size, self._end)
        if self._read - self._told >= self.STEP:
            self._tell()

    def stop(self) -> None:
        """The file is done with, be it read to its end or not."""
        self.add(self._end - self._read)

    def finish(self) -> None:
        self._tell()

    def _tell(self) -> None:
        self._told = self._read
        if self._progress is not None:
            self._progress(self._read, self._total)


def until_damaged(items: Iterable[Item], skipped: Skipped | None) -> Iterator[Item]:
    """All items of a file, or those before the place from which it cannot be read any more."""
    try:
        yield from items
    except DataError as error:
        raise_or_keep(error, skipped)


def _expand(part: str | Path) -> Iterator[Path]:
    path = Path(part)
    if os.path.isdir(path):  # noqa: PTH112 (a name that is too long is no folder, not an error)
        yield from _files_in(path)
    elif os.path.exists(path):  # noqa: PTH110
        yield path
    elif glob.has_magic(str(part)):
        matches = sorted(glob.glob(str(part), recursive=True))  # noqa: PTH207 (hides dot files)
        if not matches:
            raise DataError("no file matches this pattern", value=str(part))
        for match in map(Path, matches):
            yield from _files_in(match) if match.is_dir() else [match]
    else:
        raise DataError("no such file or folder", path=path)


def _files_in(folder: Path) -> list[Path]:
    """The files with known endings in a folder and below; there must be some."""

    def refuse(error: OSError) -> None:
        raise DataError(error.strerror or "cannot be read", path=error.filename) from error

    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [Path(parent, name) for name in names if not name.startswith(".")]
        found += [path for path in paths if _known_format(path) and path.exists()]
    if not found:
        endings = ", ".join(ENDINGS)
        raise DataError(f"no corpus files in this folder (extensions: {endings})", path=folder)
    return sorted(found)


def _format_of(path: Path) -> CorpusFormat:
    format = _known_format(path)
    if format is None:
        problem = f"unknown file extension; name the format or use one of {', '.join(ENDINGS)}"
        raise DataError(problem, path=path)
    return format


def _known_format(path: Path) -> CorpusFormat | None:
    # Wikipedia names the parts of a dump `…-pages-articles1.xml-p1p41242.bz2`.
    name = re.sub(r"\.xml-p[0-9]+p[0-9]+.*", ".xml", plain_name(path).lower())
    return next((format for ending, format in ENDINGS.items() if name.endswith(ending)), None)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", path=path) from error
