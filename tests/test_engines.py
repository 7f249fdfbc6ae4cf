"""Work on the cores of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from synsetmine.engines import LocalEngine
from synsetmine.engines.local import FEW
from synsetmine.errors import DataError, SynsetmineError


def square(number: int) -> int:
    return number * number


def process(_: int) -> int:
    return os.getpid()


def fail_at_three(number: int) -> int:
    if number == 3:
        raise DataError("three", path="numbers.txt", line=3, value=number)
    return number


def die(_: int) -> int:
    os._exit(1)


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(workers: int) -> None:
    assert list(LocalEngine(workers).map(square, range(50))) == [n * n for n in range(50)]


def test_several_workers_are_other_processes() -> None:
    assert os.getpid() not in set(LocalEngine(2).map(process, range(FEW)))


def test_a_short_stream_starts_no_processes() -> None:
    assert set(LocalEngine(2).map(process, range(FEW - 1))) == {os.getpid()}


@pytest.mark.parametrize("workers", [1, 2])
def test_only_a_few_items_are_held(workers: int) -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield number

    results = LocalEngine(workers).map(square, items())
    next(results)
    assert taken <= max(FEW, 2 * workers)
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_keeps_its_place(workers: int) -> None:
    with pytest.raises(DataError, match=r"numbers.txt:3: three: 3"):
        list(LocalEngine(workers).map(fail_at_three, range(10)))


def test_a_dead_worker_is_an_error_a_person_understands() -> None:
    with pytest.raises(SynsetmineError, match="worker process died"):
        list(LocalEngine(2).map(die, range(10)))


def test_all_cores_by_default() -> None:
    assert LocalEngine().workers == len(os.sched_getaffinity(0))


def test_workers_end_with_their_parent() -> None:
    """`kill -9` on a run leaves no processes behind."""
    program = (
        "import os, sys\n"
        "from tests.test_engines import process\n"
        "from synsetmine.engines import LocalEngine\n"
        "if __name__ == '__main__':\n"
        "    for pid in LocalEngine(2).map(process, range(20)):\n"
        "        print(pid, flush=True)\n"
        "        sys.stdin.readline()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()  # returns when no worker holds the pipe any more
    assert not Path(f"/proc/{worker}").exists() or "Z" in Path(f"/proc/{worker}/stat").read_text()
