"""Plain files without links, and temporary files that leave nothing behind."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from synsetmine.errors import DataError, ModelError

MODEL_FILES = ("config.json", "model.safetensors", "vectors.safetensors", "checkpoint.safetensors")
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def check_model_folder(folder: Path) -> None:
    """Refuse a model folder in which one of its files is a link, a pipe or a device.

    The folder itself may be a link, or missing.
    """
    try:
        for name in MODEL_FILES:
            check_plain_file(folder / name)
    except DataError as error:
        raise ModelError(str(error)) from None


def check_plain_file(path: Path) -> None:
    """Refuse a path that is something else than a plain file, without opening it."""
    kind = kind_of(path)
    if kind not in (None, "a file"):
        problem = f"this is {kind}; only regular files of a run or model folder are opened"
        raise DataError(problem, path=path)


def check_plain_folder(path: Path) -> None:
    """Refuse a folder that is a link, or holds a link, a pipe or a device; it may be missing."""
    kind = kind_of(path)
    if kind is None:
        return
    if kind != "a folder":
        raise DataError(f"this is {kind}; a folder of this name must be a real one", path=path)
    for entry in sorted(path.iterdir()):
        if kind_of(entry) != "a folder":
            check_plain_file(entry)


def check_no_link_inside(path: Path) -> None:
    """Refuse a path that leads over a link in a run or model folder.

    A user may name the path, but the links in such a folder are those of its sender.
    """
    below = path.absolute()
    for ancestor in (below, *below.parents):
        is_link = os.path.islink(ancestor)  # noqa: PTH114 (no error where it may not be looked at)
        if is_link and any(map(_is_run_or_model, ancestor.parents)):
            problem = "this is a symbolic link in a run or model folder, which is not followed"
            raise DataError(problem, path=ancestor)


def _is_run_or_model(folder: Path) -> bool:
    run, config, weights = (
        os.path.lexists(folder / name) for name in ("manifest.json", *MODEL_FILES[:2])
    )
    return run or (config and weights)


def kind_of(path: Path) -> str | None:
    """What a path is, such as "a file" or "a pipe", without following links; None for nothing."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISREG(mode):
        return "a file"
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")


def open_plain(path: Path, flags: int = os.O_RDONLY, *, allow_folder: bool = False) -> int:
    """A descriptor of a plain file. OSError for a missing file, DataError for any other kind.

    Neither a link is followed nor a pipe waited for, also if one appears after the check.
    """
    if not (allow_folder and kind_of(path) == "a folder"):
        check_plain_file(path)
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode) or (allow_folder and stat.S_ISDIR(mode)):
        return handle
    os.close(handle)
    raise DataError("this is not a regular file", path=path)


PREFIX, SUFFIX = "synsetmine-", ".held"  # no other program's folder has such a name


@contextmanager
def temporary_file(path: Path) -> Iterator[Path]:
    """An empty file next to `path`, to replace it."""
    clear(path.parent, f".{glob.escape(path.name)}.*.part")

    def make() -> str:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        return name

    with _held(make) as made:
        yield made


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for what this process and its workers share."""
    clear(Path(tempfile.gettempdir()), f"{PREFIX}*{SUFFIX}")
    with _held(lambda: tempfile.mkdtemp(prefix=PREFIX, suffix=SUFFIX)) as made:
        yield made


@contextmanager
def _held(make: Callable[[], str]) -> Iterator[Path]:
    path, handle = _create_with_lock(make)
    try:
        yield path
    finally:
        _remove(path)
        os.close(handle)


def _create_with_lock(make: Callable[[], str]) -> tuple[Path, int]:
    while True:
        path = Path(make())
        with suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY)
            with suppress(OSError):  # some file systems have no locks; there nothing is cleared
                fcntl.flock(handle, fcntl.LOCK_EX)
            if path.exists():
                return path, handle
            os.close(handle)  # before it was locked, another took it for one that was left


def clear(folder: Path, pattern: str) -> None:
    """Remove files and folders of such names that no process holds any more."""
    for left in folder.glob(pattern):
        try:
            handle = open_plain(left, allow_folder=True)
        except (OSError, DataError):  # gone already, or not ours
            continue
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(left)
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
