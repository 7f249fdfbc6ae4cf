"""The memory of this process."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path


class Memory:
    """Watches from when it is made how much more memory this process takes, at the peak."""

    def __init__(self) -> None:
        with suppress(OSError):  # Linux: the peak from now on, not of what was read before
            Path("/proc/self/clear_refs").write_text("5")
        self._before = _status("VmRSS") or _most()

    def peak(self) -> int:
        """Bytes at the peak beyond those at the start."""
        return max((_status("VmHWM") or _most()) - self._before, 0)


def _status(name: str) -> int | None:
    """A value of Linux's record of this process, in bytes."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _most() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
