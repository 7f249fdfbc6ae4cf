"""Reading and writing: numbered lines, damaged files, and writes that are whole or not at all."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import os
import pickle
import stat
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from synsetmine.errors import DataError, ErrorCounts, SynsetmineError
from synsetmine.io.files import (
    LONGEST,
    atomic_write,
    byte_lines,
    cache_root,
    numbered_lines,
    open_binary,
    plain_name,
    read_json,
    sha256,
    write_text,
)


def lines_of(path: Path) -> list[tuple[int, str]]:
    return list(numbered_lines(path))


# --- Errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (DataError("bad", path="x.set", line=3, value="it's"), 'x.set:3: bad: "it\'s"'),
        (DataError("bad", path="x.set"), "x.set: bad"),
        (DataError("bad", value=0), "bad: 0"),
        (DataError("bad", value="a\nb\0"), r"bad: 'a\nb\x00'"),
        (DataError("bad"), "bad"),
    ],
)
def test_an_error_is_one_line_and_survives_the_way_between_processes(
    error: DataError, message: str
) -> None:
    assert str(error) == message
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == message
    fields = ("problem", "path", "line", "value")
    assert all(getattr(copy, name) == getattr(error, name) for name in fields)


def test_a_long_value_is_cut() -> None:
    assert str(DataError("bad", value="x" * 1000)).endswith("xxx…")
    assert len(str(DataError("bad", value="x" * 1000))) < 150


# --- Reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lines.txt", "lines.txt.gz"])
def test_only_a_newline_ends_a_line(tmp_path: Path, name: str) -> None:
    text = "\ufefffirst\r\n\n se\x0b\x0c\x1c\x85\u2028\rcond \n\ufeffthird"
    pack = gzip.compress if name.endswith(".gz") else bytes
    (tmp_path / name).write_bytes(pack(text.encode()))
    assert lines_of(tmp_path / name) == [
        (1, "first"),
        (2, ""),
        (3, " se\x0b\x0c\x1c\x85\u2028\rcond "),
        (4, "\ufeffthird"),
    ]


def test_bytes_that_are_not_utf8_are_reported_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"good\nM\xfcnchen\ngood")
    with pytest.raises(DataError) as caught:
        lines_of(path)
    assert str(caught.value).startswith(f"{path}:2: not UTF-8: b'M\\xfcnchen")


def test_bytes_that_are_not_utf8_can_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"\xff\ngood\nM\xfcnchen\ngood")
    skipped: list[DataError] = []
    assert list(numbered_lines(path, skipped=skipped)) == [(2, "good"), (4, "good")]
    assert [error.line for error in skipped] == [1, 3]


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, problem in [
        (tmp_path / "gone", "No such file"),
        (tmp_path / "gone.gz", "No such file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "file" / "below", "Not a directory"),
    ]:
        with pytest.raises(DataError, match=f"{path}: {problem}"):
            lines_of(path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", r":1: not JSON \(Expecting property name"),
        (b'{\n"a": M\xfcnchen}', ":2: not UTF-8"),
        (b"[" * 100_000, ": not JSON: '\\[\\["),
        (b"9" * 5000, ": not JSON: '999"),
        (b" " * (LONGEST + 1), ": the file is longer than 64 MiB"),
    ],
    ids=["cut", "latin-1", "deep", "digits", "long"],
)
def test_a_file_that_is_held_whole_is_sound_and_short(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"{path}{problem}"):
        read_json(path)


def test_a_byte_order_mark_does_no_harm_to_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\xef\xbb\xbf[1]\r\n")
    assert read_json(path) == [1]


PACKED = gzip.compress("".join(f"line {i} of many\n" for i in range(2000)).encode())


@pytest.mark.parametrize(
    "damaged",
    [
        b"plain text",
        PACKED[:-20],
        PACKED[:5],
        PACKED[:-8] + bytes(8),
        PACKED[:30] + b"\xff" * 30 + PACKED[60:],
    ],
    ids=["not gzip", "cut", "cut header", "wrong checksum", "overwritten"],
)
def test_a_damaged_gzip_file_is_named(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(damaged)
    with pytest.raises(DataError, match=f"{path}: damaged gzip file"):
        lines_of(path)
    with pytest.raises(DataError, match="damaged gzip file"), open_binary(path) as stream:
        stream.read()


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


LINES = "".join(f"line {i} of many {i * i}\n" for i in range(20_000)).encode()
PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd,
}
KINDS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}


@pytest.mark.parametrize("ending", PACK)
def test_packed_files_of_several_members_are_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.txt{ending}"
    path.write_bytes(PACK[ending](LINES) + PACK[ending](b"") + PACK[ending](LINES))
    with open_binary(path) as stream:
        assert stream.read() == LINES * 2
    assert len(lines_of(path)) == 40_000


@pytest.mark.parametrize("ending", PACK)
@pytest.mark.parametrize("cut", [3, 200, -10])
def test_a_packed_file_that_breaks_off_is_named(tmp_path: Path, ending: str, cut: int) -> None:
    path = tmp_path / f"x.txt{ending}"
    path.write_bytes(PACK[ending](LINES)[:cut])
    read: list[bytes] = []
    with pytest.raises(DataError) as caught:
        read.extend(line for _, line in byte_lines(path))
    assert str(caught.value).startswith(f"{path}: damaged {KINDS[ending]} file: ")
    assert b"".join(read) == LINES[: sum(map(len, read))]
    path.write_bytes(b"plain text")
    with pytest.raises(DataError, match=f"damaged {KINDS[ending]} file"):
        lines_of(path)


@pytest.mark.parametrize("ending", ["", *PACK])
def test_a_name_that_promises_a_packing_gets_it(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.txt{ending}"
    write_text(path, LINES.decode())
    assert (path.stat().st_size < len(LINES) / 2) == bool(ending)
    with open_binary(path) as stream:
        assert stream.read() == LINES
    before = path.read_bytes()
    write_text(path, LINES.decode())
    assert path.read_bytes() == before


@pytest.mark.parametrize("ending", ["", *PACK])
def test_what_is_read_from_the_disk_is_reported(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.txt{ending}"
    write_text(path, LINES.decode())
    for read in (lambda stream: stream.read(), list):
        told: list[int] = []
        with open_binary(path, on_read=told.append) as stream:
            read(stream)
        assert sum(told) == path.stat().st_size


def test_the_plain_name_tells_the_form(tmp_path: Path) -> None:
    names = {
        "x.set": "x.set",
        "x.set.gz": "x.set",
        "x.JSONL.ZST": "x.JSONL",
        "gz": "gz",
        ".gz": ".gz",
    }
    assert {name: plain_name(tmp_path / name) for name in names} == names


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.io.files.LONGEST", 10)
    path = tmp_path / "x.txt"
    path.write_bytes(b"123456789\n1234567890\n" + b"x" * 200_000 + b"\nlast\n" + b"y" * 30)
    with pytest.raises(DataError, match=rf"{path}:2: a line is longer than 64 MiB: b'1234567890"):
        lines_of(path)
    skipped = ErrorCounts()
    assert list(numbered_lines(path, skipped=skipped)) == [(1, "123456789"), (4, "last")]
    assert [error.line for error in skipped.examples["a line is longer than 64 MiB"]] == [2, 3, 5]


def test_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\0\xff" * 5000)
    assert sha256(tmp_path / "x") == hashlib.sha256(b"\0\xff" * 5000).hexdigest()


# --- Writing ----------------------------------------------------------------------------------


def write_half(path: Path, interruption: type[BaseException]) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text("half of the n")
        raise interruption


@pytest.mark.parametrize("interruption", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")
    with pytest.raises(interruption):
        write_half(path, interruption)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_first_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        write_half(tmp_path / "x.txt", KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == []


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent  # or it could not be renamed in one step
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_over_a_folder_fails_without_leavings(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(DataError, match="x: this is a folder; name a file to write"):
        write_text(tmp_path / "x", "text")
    assert [path.name for path in tmp_path.rglob("*")] == ["x"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "x").symlink_to("there/y")  # which is not there yet
    for text in ("new", "newer"):
        write_text(tmp_path / "x", text)
        assert (tmp_path / "x").is_symlink()
        assert (tmp_path / "there" / "y").read_text() == text
    assert len(list(tmp_path.rglob("*"))) == 3


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    with pytest.raises(DataError, match="x: this is a device or a pipe"):
        write_text(tmp_path / "x", "text")
    assert (tmp_path / "x").is_fifo()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (OSError(errno.EFBIG, "File too large"), "the file exceeds the size limit"),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "the disk is full"),
    ],
)
def test_a_problem_in_writing_names_the_file(tmp_path: Path, error: Exception, told: str) -> None:
    path = tmp_path / "x"
    with (
        pytest.raises(SynsetmineError, match=f"{path}: {told}.*; nothing was written"),
        atomic_write(path),
    ):
        raise error


def test_a_problem_with_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="other"), atomic_write(tmp_path / "x"):
        (tmp_path / "other").read_text()


def test_a_cache_needs_a_home_or_a_place_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("SYNSETMINE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(SynsetmineError, match="name one in SYNSETMINE_CACHE"):
        cache_root()
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_root() == Path("/xdg/synsetmine")
    monkeypatch.setenv("SYNSETMINE_CACHE", "/own")
    assert cache_root() == Path("/own")


def test_folders_are_made_and_the_umask_is_kept(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a" / "b" / "x.txt", "text")
    finally:
        assert os.umask(before) == 0o027
    mode = (tmp_path / "a" / "b" / "x.txt").stat().st_mode
    assert stat.S_IMODE(mode) == 0o640


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    text = "\ufeffa\r\nb\rc\u2028\0😀"
    write_text(tmp_path / "x.txt", text)
    assert (tmp_path / "x.txt").read_bytes() == text.encode()


def test_a_name_that_promises_gzip_gets_gzip(tmp_path: Path) -> None:
    for name in ("x.txt.gz", "y.txt.gz"):
        write_text(tmp_path / name, "a\nb\n")
    packed = (tmp_path / "x.txt.gz").read_bytes()
    assert gzip.decompress(packed) == b"a\nb\n"
    assert packed == (tmp_path / "y.txt.gz").read_bytes()  # no names or times inside
    assert lines_of(tmp_path / "x.txt.gz") == [(1, "a"), (2, "b")]
