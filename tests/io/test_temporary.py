"""Temporary files: what killed processes left is removed, what is in use is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from synsetmine.io.files import atomic_write, write_text

WRITING = """
import sys
from pathlib import Path
from synsetmine.io.files import atomic_write
with atomic_write(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    print(temporary.name, flush=True)
    sys.stdin.readline()
    temporary.write_text("whole")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


def writer(path: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that has begun to write, and its temporary file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITING, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_what_a_killed_writer_left_goes_with_the_next(path: Path) -> None:
    process, part = writer(path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert names(path.parent) == [part]
    write_text(path, "new")
    assert names(path.parent) == ["out.txt"]


def test_what_a_living_writer_has_is_left_alone(path: Path) -> None:
    process, part = writer(path)
    write_text(path, "new")
    assert (path.parent / part).read_text() == "half"
    process.communicate("\n")
    assert process.returncode == 0
    assert path.read_text() == "whole"
    assert names(path.parent) == ["out.txt"]


def test_what_belongs_to_other_files_is_left_alone(path: Path) -> None:
    others = [".other.txt.abc.part", ".out.txt.notes", "out.txt.part"]
    for name in others:
        (path.parent / name).write_text("mine")
    write_text(path, "new")
    assert names(path.parent) == sorted([*others, "out.txt"])


def test_many_may_write_one_file(path: Path) -> None:
    """None takes the file of another, just made, for one that was left."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: write_text(path, f"{n}" * 100), range(400)))
    assert len(path.read_text()) in (100, 200, 300)
    assert names(path.parent) == ["out.txt"]


def test_where_there_are_no_locks_nothing_is_cleared(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    with atomic_write(path) as first:
        first.write_text("one")
        write_text(path, "two")
        assert first.exists()
    assert path.read_text() == "one"


def test_a_pipe_under_the_name_of_a_temporary_file_holds_up_nobody(path: Path) -> None:
    os.mkfifo(path.parent / ".out.txt.1.part")
    write_text(path, "new")
    assert names(path.parent) == ["out.txt"]
