"""One round: a command is killed once or more, then left to end, and judged each time."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from faults.processes import LOG, SCRATCH, group, kill_group, members_alive
from faults.subjects import Subject, content, result

MOST_KILLS = 3  # of one round
ENDS_WITHIN = 600  # seconds; what takes longer hangs
TEMPORARY = "synsetmine-"  # folders for temporary files, which the system clears


@dataclass
class Tally:
    """What became of the kills of one command."""

    kills: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    equal: int = 0
    lost: list[str] = field(default_factory=list)
    corrupt: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return self.equal == self.rounds and not (self.lost or self.corrupt or self.left)


@dataclass(frozen=True)
class Whole:
    """An unbroken run: what it left, how long it took, how often its folders changed."""

    files: dict[str, bytes]
    scratch: set[str]  # torch leaves a folder for itself
    seconds: float
    changes: int


def unbroken(subject: Subject, folder: Path) -> Whole:
    """The command as it should go."""
    _prepare(subject, folder)
    begin = time.monotonic()
    with group(subject.command, folder) as process:
        changes = sum(1 for _ in _changes(process, folder, subject.out))
        seconds = time.monotonic() - begin
        _check_end(process, folder)
    scratch = {path.name for path in (folder / SCRATCH).iterdir()}
    return Whole(result(folder / subject.out), scratch, seconds, changes)


def kill(subject: Subject, folder: Path, whole: Whole, tally: Tally, chance: random.Random) -> None:
    """Kill it one to three times, let it end, and add what was seen to the tally."""
    _prepare(subject, folder)
    for _ in range(chance.randint(1, MOST_KILLS)):
        with group(subject.command, folder) as process:
            _wait_for_moment(process, folder, subject.out, whole, chance)
            if process.poll() is not None:  # it was faster
                break
            kill_group(process)
        tally.kills += 1
        _judge(subject, folder, whole, tally)
    with group(subject.command, folder) as process:
        process.wait(ENDS_WITHIN)
        tally.left += [f"process {pid}" for pid in members_alive(process.pid)]
        _check_end(process, folder)
    tally.rounds += 1
    found = result(folder / subject.out)
    tally.equal += found == whole.files
    tally.corrupt += [n for n in whole.files if n in found and found[n] != whole.files[n]]
    tally.lost += [name for name in whole.files if name not in found]
    tally.left += [name for name in found if name not in whole.files]
    scratch = {path.name for path in (folder / SCRATCH).iterdir()}
    left = scratch - whole.scratch
    tally.left += sorted(name for name in left if not name.startswith(TEMPORARY))
    tally.lost += subject.lost(folder / subject.out)


def _prepare(subject: Subject, folder: Path) -> None:
    folder.mkdir()
    subject.prepare(folder)


def _check_end(process: subprocess.Popen[bytes], folder: Path) -> None:
    if process.wait(ENDS_WITHIN):
        raise SystemExit(f"it does not end well: {(folder / LOG).read_text()}")


def _wait_for_moment(
    process: subprocess.Popen[bytes], folder: Path, out: str, whole: Whole, chance: random.Random
) -> None:
    """A random time, or a moment after a random write."""
    if chance.random() < 0.5:
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, whole.seconds))
        return
    wanted = chance.randint(1, whole.changes)
    for number, _ in enumerate(_changes(process, folder, out), start=1):
        if number == wanted:
            time.sleep(chance.uniform(0, 0.003))
            return


def _changes(process: subprocess.Popen[bytes], folder: Path, out: str) -> Iterator[None]:
    """One for each time that the folders of a living command look different."""
    before = _look(folder, out)
    while process.poll() is None:
        time.sleep(0.002)
        after = _look(folder, out)
        if after != before:
            before = after
            yield


def _look(folder: Path, out: str) -> list[tuple[str, int, int]]:
    found = []
    for top in (folder / out, folder / SCRATCH):
        for place, _, names in os.walk(top):
            for name in names:
                try:
                    stat = os.stat(os.path.join(place, name))  # noqa: PTH116, PTH118 - often
                except FileNotFoundError:
                    continue
                found.append((name, stat.st_size, stat.st_mtime_ns))
    return sorted(found)


def _judge(subject: Subject, folder: Path, whole: Whole, tally: Tally) -> None:
    """What a kill left. A copy is looked at: to open a database is to mend it."""
    copy = folder.with_name(f"{folder.name}-copy")
    shutil.copytree(folder, copy)
    out = copy / subject.out
    stage = subject.stage(out, (copy / LOG).read_text())
    tally.stages[stage] += 1
    tally.corrupt += [f"{stage}: {name}" for name in _halves(out, whole)]
    try:
        tally.corrupt += [f"{stage}: {what}" for what in subject.broken(out)]
        tally.lost += [f"{stage}: {what}" for what in subject.lost(out)]
    except Exception as error:  # whatever a reader says of a broken file
        tally.corrupt.append(f"{stage}: {error}")
    shutil.rmtree(copy)


def _halves(out: Path, whole: Whole) -> list[str]:
    """Files that are neither missing nor what they are in the end, and do not grow by design."""
    there = {name: out / name for name in whole.files if (out / name).exists()}
    return [
        name
        for name, path in there.items()
        if path.name not in GROWING and content(path) != whole.files[name]
    ]


GROWING = ("manifest.json", "results.jsonl", "reviews.sqlite", "judge.sqlite")
