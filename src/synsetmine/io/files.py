"""Opens and writes files so that no file is ever half-written; what readers of files share."""

from __future__ import annotations

import bz2
import codecs
import errno
import fcntl
import glob
import gzip
import hashlib
import io
import json
import os
import re
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from synsetmine.errors import DataError, ErrorCounts, SynsetmineError, raise_or_keep, skip_broken
from synsetmine.types import Progress

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}

NO_ROOM = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file exceeds the size limit (ulimit -f, or the file system)",
}
# Standard input, opened by its descriptor: its name cannot be opened where it is a socket, and
# begins anew where it is a file of which something was read.
STDIN = Path("/dev/stdin")

LONGEST = 64 * 2**20  # bytes of a line, or of a file that is held whole: they must fit in memory
_BUFFER = 2**16


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`; it replaces `path` only on success.

    A file that is replaced keeps its permissions.
    """
    check_file(path)
    target = path.resolve()  # a link stays a link
    with disk_errors(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _temporary_file(target) as temporary, disk_errors(path, temporary):
            yield temporary
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            temporary.chmod(_mode(target))
            temporary.replace(target)


def check_file(path: Path) -> None:
    """Raise a DataError for a path that cannot be written, before any work is done for it.

    This includes devices and pipes, which a file would replace.
    """
    _check_loops(path)
    if path.is_dir():
        raise DataError("this is a folder; name a file to write", path=path)
    if path.exists() and not path.is_file():
        raise DataError("this is a device or a pipe; name a file to write", path=path)
    check_folder(path.parent)


def check_folder(folder: Path) -> None:
    """Raise a DataError for a folder that cannot be written; a missing one can be made."""
    _check_loops(folder)
    parent = folder
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    if not parent.is_dir():
        raise DataError("this is not a folder; name a folder to write to", path=parent)
    if not os.access(parent, os.W_OK | os.X_OK):
        raise DataError("this folder is not writable", path=parent)


def check_plain(path: Path) -> None:
    """Refuse a link, a pipe or a device in a run or model folder, which may come from others."""
    try:
        is_plain = stat.S_ISREG(path.lstat().st_mode)  # one look: it may be gone after that
    except (OSError, ValueError):
        return  # whoever opens it says what is wrong
    if not is_plain:
        problem = "this is not a regular file; no other is opened in a run or model folder"
        raise DataError(problem, path=path)


def _check_loops(path: Path) -> None:
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise DataError("this is a circular symbolic link", path=path) from None


@contextmanager
def disk_errors(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Turn a full disk and similar errors of the system into one that names the file."""
    try:
        yield
    except Exception as error:
        number = _system_number(error)
        ours = number in NO_ROOM or getattr(error, "filename", None) == str(temporary)
        if number is None or not ours:
            raise
        why = NO_ROOM.get(number) or os.strerror(number)
        raise SynsetmineError(f"{path}: {why}; nothing was written") from error


def _system_number(error: Exception) -> int | None:
    """The operating system's number of a problem, which libraries in Rust have in words only."""
    if isinstance(error, OSError):
        return error.errno
    match = re.search(r"\(os error (\d+)\)", str(error))
    return int(match[1]) if match else None


@contextmanager
def atomic_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing, whole or not at all, compressing .gz, .bz2 and .zst."""
    with atomic_write(path) as temporary, temporary.open("wb") as stream:
        compression = compression_of(path)
        if compression is None:
            yield stream
            return
        with _compress(stream, compression) as compressed:
            yield compressed


def write_text(path: Path, text: str) -> None:
    try:
        content = text.encode()
    except UnicodeEncodeError as error:  # as in a file name that is not UTF-8
        around = text[max(error.start - 40, 0) : error.start + 40]
        hint = "rename the file if it is a file name"
        raise DataError("not UTF-8, so not written", path=path, value=around, hint=hint) from None
    with atomic_stream(path) as stream:
        stream.write(content)


def numbered_lines(
    path: Path,
    *,
    skipped: list[DataError] | ErrorCounts | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 text file, plain or compressed.

    With `skipped`, lines that are too long or not UTF-8 are skipped and their errors go there.
    """
    for number, raw in byte_lines(path, skipped=skipped, on_read=on_read):
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            raise_or_keep(not_utf8(path, number, raw, error.start), skipped)
            continue
        yield number, line.rstrip("\r\n")


def byte_lines(
    path: Path,
    *,
    skipped: list[DataError] | ErrorCounts | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, line with its end) of a file, without a byte order mark.

    A line of more than 64 MiB is an error; with `skipped`, it is passed over in small pieces.
    """
    with open_binary(path, on_read=on_read) as stream:
        number = 0
        while raw := stream.readline(LONGEST + 1):
            number += 1
            if len(raw) > LONGEST:
                start = raw[:80]
                while raw and not raw.endswith(b"\n"):
                    raw = stream.readline(_BUFFER)
                problem = "a line is longer than 64 MiB"
                raise_or_keep(DataError(problem, path=path, line=number, value=start), skipped)
                continue
            yield number, raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw


def read_text(path: Path) -> str:
    """The text of a small UTF-8 file, without a byte order mark."""
    raw = read_whole(path).removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise not_utf8(path, line, raw, error.start) from None


def not_utf8(path: Path, line: int, raw: bytes, start: int) -> DataError:
    """The error for bytes that are no UTF-8 from `start` on."""
    if path.suffix.lower() in _DOCUMENTS:
        hint = "save the document as plain text or CSV"
    elif raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        hint = "the file is UTF-16; save it as UTF-8"
    else:
        hint = "save the file as UTF-8"
    around = raw[max(start - 40, 0) : start + 80]
    return DataError("not UTF-8", path=path, line=line, value=around, hint=hint)


OTHER_SHEETS = {".ods", ".xls", ".xlsb"}  # which nothing here reads
AS_XLSX = "save the sheet as .xlsx or CSV"
_DOCUMENTS = {".doc", ".docx", ".odt", ".pdf", ".rtf", *OTHER_SHEETS}


def cannot_open(path: Path, error: Exception | None = None) -> DataError:
    """The error for a file that is missing (the default) or cannot be opened, with a hint."""
    problem = getattr(error, "strerror", None) or "cannot be read"
    if error is None or isinstance(error, FileNotFoundError | NotADirectoryError):
        problem = problem if error else "no such file or folder"
        return DataError(problem, path=path, hint=_how_to_find(path))
    hint = "name a file" if isinstance(error, IsADirectoryError) else ""
    return DataError(problem, path=path, hint=hint)


def _how_to_find(path: Path) -> str:
    """What to do about a path that does not exist."""
    if path.parts and path.parts[0] in {"http:", "https:", "ftp:", "s3:"}:
        return "download it first, and name the local file"
    try:
        siblings = sorted(one.name for one in path.parent.iterdir())
    except OSError:
        return f"the folder {path.parent} does not exist either"
    near = get_close_matches(path.name, siblings, 1, 0.8)
    if near:
        return f"did you mean {path.with_name(near[0])}?"
    return "check its name" if path.is_absolute() else f"the current folder is {Path.cwd()}"


def read_json(path: Path) -> Any:
    """The value in a small JSON file."""
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON ({error.msg})", path=path, line=error.lineno) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, deep nesting
        raise DataError("not JSON", path=path, value=text[:120]) from error


def write_json(path: Path, value: Any) -> None:
    """Write a small JSON file, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_json_lines(path: Path, records: Iterable[Any]) -> None:
    """Write a line of JSON for each record."""
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    write_text(path, "".join(f"{line}\n" for line in lines))


def parse_json(text: str) -> Any:
    """The value in a line of JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DataError("not JSON", value=text) from None


def read_whole(path: Path) -> bytes:
    """All bytes of a file that has to be held at once; more than 64 MiB are an error."""
    with open_binary(path) as stream:
        content = stream.read(LONGEST + 1)
    if len(content) > LONGEST:
        raise DataError("the file is longer than 64 MiB", path=path, value=content[:80])
    return content


@contextmanager
def open_binary(path: Path, *, on_read: Callable[[int], None] | None = None) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing .gz, .bz2 and .zst.

    A file that cannot be read is a clear error. `on_read` gets the number of bytes each time
    some were read from the file, as stored on disk.
    """
    compression = compression_of(path)
    try:
        with (
            io.BufferedReader(_ProgressFile(path, on_read), _BUFFER) as raw,
            _decompress(raw, compression) as stream,
        ):
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        # What the operating system says has a number; what a decompressor says has none.
        if compression is not None and getattr(error, "errno", None) is None:
            whole = f"if it is not compressed, remove {path.suffix} from its name"
            hint = "copy or download it again" if isinstance(error, EOFError) else whole
            problem = f"damaged {compression} file"
            raise DataError(problem, path=path, value=str(error), hint=hint) from error
        raise cannot_open(path, error) from error


def compression_of(path: Path) -> str | None:
    """How a file is compressed, by its ending."""
    return COMPRESSIONS.get(path.suffix.lower())


def plain_name(path: Path) -> str:
    """The name without the ending of a compression: `x.jsonl` of `x.jsonl.gz`."""
    return path.stem if compression_of(path) else path.name


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class _ProgressFile(io.FileIO):
    """A file that reports how much of it is read."""

    def __init__(self, path: Path, on_read: Callable[[int], None] | None) -> None:
        super().__init__(0 if path == STDIN else path, closefd=path != STDIN)
        self._on_read = on_read

    def readinto(self, buffer: Any) -> int | None:
        return self._tell(super().readinto(buffer))

    def readall(self) -> bytes:
        content = super().readall()
        self._tell(len(content))
        return content

    def _tell(self, size: int | None) -> int | None:
        if size and self._on_read is not None:
            self._on_read(size)
        return size


@contextmanager
def _decompress(raw: IO[bytes], compression: str | None) -> Iterator[IO[bytes]]:
    if compression is None:
        yield raw
    elif compression == "gzip":
        with gzip.GzipFile(fileobj=raw) as stream:
            yield stream  # type: ignore[misc]
    elif compression == "bzip2":
        with bz2.BZ2File(raw) as stream:
            yield stream
    else:
        import pyarrow as pa  # Python itself reads zstd from 3.14 on

        with io.BufferedReader(pa.CompressedInputStream(raw, "zstd"), _BUFFER) as stream:
            yield stream


@contextmanager
def _compress(stream: IO[bytes], compression: str) -> Iterator[IO[bytes]]:
    if compression == "gzip":
        # No name and no time inside: the same text makes the same file.
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as compressed:
            yield compressed  # type: ignore[misc]
    elif compression == "bzip2":
        with bz2.BZ2File(stream, "wb") as compressed:
            yield compressed
    else:
        import pyarrow as pa

        with pa.CompressedOutputStream(stream, "zstd") as compressed:
            yield compressed


@contextmanager
def _temporary_file(path: Path) -> Iterator[Path]:
    """An empty file next to `path`, to replace it; what killed writers left of it is removed."""
    remove_left_parts(path.parent, f".{glob.escape(path.name)}.*.part")
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        temporary = Path(name)
        with suppress(OSError):  # some file systems have no locks; there nothing is removed
            fcntl.flock(handle, fcntl.LOCK_EX)
        if temporary.exists():
            break
        os.close(handle)  # before it was locked, another writer took it for one that was left
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


def remove_left_parts(folder: Path, pattern: str = ".*.part") -> None:
    """Remove the temporary files of such names that no process writes any more."""
    for part in folder.glob(pattern):
        with suppress(OSError), open(part, "rb", opener=_open_at_once) as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def _open_at_once(path: str, flags: int) -> int:
    """Open no link, and wait for nobody who writes to a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


def _mode(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode) & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def cache_root() -> Path:
    """Where downloads and encodings are kept: $SYNSETMINE_CACHE or in the user's own cache."""
    if own := os.environ.get("SYNSETMINE_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared, "synsetmine")
    try:
        return Path.home() / ".cache" / "synsetmine"
    except RuntimeError as error:  # a user without a name, as in a container
        problem = "there is no home folder for a cache; name one in SYNSETMINE_CACHE"
        raise SynsetmineError(problem) from error


@dataclass(frozen=True)
class Source:
    """A file, where to keep the errors of broken records, and a callback for the bytes read.

    Without `skipped` the first broken record raises its error.
    """

    path: Path
    skipped: list[DataError] | ErrorCounts | None = None
    on_read: Callable[[int], None] | None = None
    folder: Path | None = None  # in which it was looked for

    @property
    def name(self) -> str:
        """The name, or the path within the folder, without the ending of a compression.

        In valid Unicode, whatever bytes the system has.
        """
        path = self.path.with_name(plain_name(self.path))
        name = path.name if self.folder is None else path.relative_to(self.folder).as_posix()
        return os.fsencode(name).decode("utf-8", "replace")

    def open(self) -> AbstractContextManager[IO[bytes]]:
        return open_binary(self.path, on_read=self.on_read)

    def lines(self) -> Iterator[tuple[int, str]]:
        return numbered_lines(self.path, skipped=self.skipped, on_read=self.on_read)

    def byte_lines(self) -> Iterator[tuple[int, bytes]]:
        return byte_lines(self.path, skipped=self.skipped, on_read=self.on_read)

    def skip_broken(self, line: int) -> skip_broken:
        """Leave out the record that starts on this line if it turns out to be broken."""
        return skip_broken(self.path, line, self.skipped)

    def reject(self, error: DataError, line: int | None = None) -> None:
        """Raise an error with its place, or keep it."""
        raise_or_keep(error.at(self.path, line), self.skipped)


class Meter:
    """Reports to a callback how many bytes of all files are read, about once a megabyte."""

    STEP = 2**20

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._progress = progress
        self._read = 0
        self._reported = 0

    @contextmanager
    def start_file(self, size: int) -> Iterator[Callable[[int], None]]:
        """A function that is called with the bytes read of a file of this size.

        A file that grew meanwhile counts for no more than it was, and in the end for no less.
        """
        end = self._read + size

        def add(count: int) -> None:
            self._read = min(self._read + count, end)
            if self._read - self._reported >= self.STEP:
                self.report()

        yield add
        add(size)

    def report(self) -> None:
        self._reported = self._read
        if self._progress is not None:
            self._progress(self._read, self._total)
