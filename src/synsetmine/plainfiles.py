"""Plain files: the only kind that is opened in a folder that may come from other people.

An archive or a git checkout can hold symbolic links, pipes and devices under the names that this
program reads and writes. A link could lead to any file of the user, and a pipe never ends.
"""

from __future__ import annotations

import os
import stat
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
        problem = f"this is {kind}; only plain files of a run or model folder are opened"
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
    for place in (below, *below.parents):
        is_link = os.path.islink(place)  # noqa: PTH114 (no error where it may not be looked at)
        if is_link and any(map(_is_run_or_model, place.parents)):
            problem = "this is a symbolic link in a run or model folder, which is not followed"
            raise DataError(problem, path=place)


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
    raise DataError("this is not a plain file", path=path)
