"""What a process and those that it starts take: memory and time of the processor."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Watch:
    """The most memory that this process and each below it had, in MB; looked up now and then.

    Memory that several processes share counts for each of them. `together` is the most that all
    processes but those of Java had at one time; there shared memory counts once.
    """

    driver: float = 0
    together: float = 0
    python: dict[int, float] = field(default_factory=dict)
    java: dict[int, float] = field(default_factory=dict)
    ticks: dict[int, int] = field(default_factory=dict)  # of the processor

    def processor(self) -> float:
        """The seconds that all of them have computed; without the last moments of those gone."""
        self._look()
        return sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Watch:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.25):
            self._look()

    def _look(self) -> None:
        own = 0.0
        for process in _family(os.getpid()):
            status = _status(process)
            peak = float(status.get("VmHWM", "0").split()[0]) / 1e3
            if not peak:  # it has ended, and only its name is left
                continue
            self.ticks[process] = _ticks(process) or self.ticks.get(process, 0)
            if status["Name"] != "java":
                own += _share(process)
            if process == os.getpid():
                self.driver = peak
            elif status["Name"] == "java":
                self.java[process] = peak
            elif status["Name"].startswith("python"):
                self.python[process] = peak
        self.together = max(self.together, own)


def _share(process: int) -> float:
    """Its memory in MB; of what several processes share it has a part."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0.0
    return sum(float(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3


def _family(first: int) -> list[int]:
    """This process and all that it started, directly or not."""
    parent = {
        int(path.name): int(_status(int(path.name)).get("PPid", "0"))
        for path in Path("/proc").glob("[0-9]*")
    }
    found = [first]
    for process in found:
        found += [child for child, of in parent.items() if of == process]
    return found


def _status(process: int) -> dict[str, str]:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has just ended
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _ticks(process: int) -> int:
    """What a process has computed so far, for itself and for the system."""
    try:
        columns = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0
    return int(columns[11]) + int(columns[12])
