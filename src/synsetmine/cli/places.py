"""The places that a command writes to, looked at before it begins.

Otherwise hours of work could be lost at their very end.
"""

from __future__ import annotations

import os
from pathlib import Path

from synsetmine.errors import DataError
from synsetmine.files import check_file, check_folder


def a_file(path: Path | None) -> Path | None:
    """For an option that names a file to write."""
    if path is not None:
        check_file(path)
    return path


def a_folder(path: Path | None) -> Path | None:
    """For an option that names a folder to write files into."""
    if path is not None:
        check_folder(path)
    return path


def check_apart(out: Path, *others: Path | None) -> None:
    """Refuse to write a file over another one that the command reads or writes."""
    for other in others:
        if other is not None and os.path.realpath(other) == os.path.realpath(out):
            raise DataError("the command would write over this file of its own", path=out)
