"""What a large task will take, by the measurements in docs/results/scale.md."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from synsetmine.errors import SynsetmineError
from synsetmine.io.files import compression_of

GROWTH = 4  # of compressed text and names
BYTES_A_NAME = 35  # of a knowledge base in JSON lines; other formats have more
SHORT = 15  # seconds; a shorter run needs no notice
LITTLE = 2 * 10**9  # bytes, likewise


@dataclass(frozen=True)
class Cost:
    """About how long a task takes on two cores, and its memory."""

    seconds: float
    memory: float  # bytes

    @classmethod
    def of_group(cls, names: int, *, contexts: bool = False) -> Cost:
        """Of grouping so many different names; a sentence encoder comes on top."""
        if contexts:
            return cls(1 + 390e-6 * names, 0.6e9 + 13e3 * names)
        return cls(1 + 190e-6 * names, 0.36e9 + 4.6e3 * names)

    @classmethod
    def of_run(cls, corpus: Iterable[Path], kb: Path) -> Cost:
        """Of a run with the default model, by the sizes of its files."""
        names = _size(kb) / BYTES_A_NAME
        text = sum(map(_size, corpus))
        seconds = 5 + 1.9e-6 * text + 0.22e-3 * min(names, 150_000) + 0.08e-3 * names
        words = 0.07e9 * (text / 1e6) ** 0.76  # new ones come more and more slowly
        return cls(seconds, 1.35e9 + 2.2e3 * names + words)

    @property
    def is_small(self) -> bool:
        return self.seconds < SHORT and self.memory < LITTLE

    def __str__(self) -> str:
        minutes = self.seconds / 60
        time = f"{self.seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min"
        return f"about {time} and {self.memory / 1e9:.1f} GB of memory"

    def check_memory(self, advice: str, available: int | None = None) -> None:
        """Refuse a task for which the memory is short."""
        available = available_memory() if available is None else available
        if available is not None and self.memory > available:
            raise SynsetmineError(
                f"this takes {self}, and only {available / 1e9:.1f} GB are free; {advice}"
            )


def available_memory() -> int | None:
    """The bytes that this process may still take; None where the system does not say."""
    known = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        known.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):  # of a container; "max" is no limit
        group = Path("/sys/fs/cgroup")
        used = int((group / "memory.current").read_text())
        known.append(int((group / "memory.max").read_text()) - used)
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            known.append(soft)
    return min(known, default=None)


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size * (1 if compression_of(path) is None else GROWTH)
    return 0
