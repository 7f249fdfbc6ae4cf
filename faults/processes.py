"""Groups of processes: start one, end all of it at once, see who is still there."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOG = "said.txt"
SCRATCH = "scratch"  # for temporary files, so that those left are seen


@contextmanager
def group(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command in this folder, with a group of its own; none of it outlives this."""
    (folder / SCRATCH).mkdir(exist_ok=True)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder / SCRATCH)}
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """`kill -9` for all of a group; it returns when none of them can write any more."""
    with suppress(ProcessLookupError):  # all of them have ended
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while members_alive(process.pid):
        time.sleep(0.005)


def members_alive(group: int) -> list[int]:
    """The processes of a group that are more than an entry in the table of processes."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, of_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it has just ended
            continue
        if int(of_group) == group and state not in "ZX":
            found.append(int(entry.name))
    return found
