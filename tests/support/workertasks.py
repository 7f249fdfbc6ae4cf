"""Tasks for worker processes, which must be importable there."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Timer


def own_process(_: int = 0) -> int:
    return os.getpid()


def die(_: object = None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Doomed:
    """As soon as it is packed for the way back, its process has so many seconds to live."""

    seconds: float

    def __reduce__(self) -> tuple[object, ...]:
        Timer(self.seconds, die).start()
        return (Doomed, (self.seconds,))


def large_and_doomed(seconds: float) -> tuple[bytes, Doomed]:
    return bytes(400_000_000), Doomed(seconds)


def sleep_long(notes: str) -> None:
    Path(notes, str(os.getpid())).touch()
    time.sleep(600)


class StubbornError(Exception):
    """One that does not survive the way to another process."""

    def __reduce__(self) -> str:
        raise TypeError("cannot travel")


def fail(_: int = 0) -> None:
    raise ValueError("no such luck")


def fail_always(_: int = 0) -> None:
    raise StubbornError("stays here")
