"""Visits of a server under load: what each did, what was wrong, how long it waited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from benchmarks.httpclient import Answer, Connection, percentile

SHOWN = 5  # errors


class Wrong(Exception):  # noqa: N818 - of an answer, not of the program
    """An answer that is not the one that had to come."""


class Visit(Protocol):
    """Somebody with a connection of their own: `step` asks once or twice and looks at what came."""

    async def step(self, connection: Connection, ledger: Ledger) -> None: ...


@dataclass
class Ledger:
    """What all visits have met so far."""

    waits: dict[str, list[float]] = field(default_factory=dict)  # by the kind of request
    errors: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return sum(map(len, self.waits.values()))

    def note(self, kind: str, answer: Answer, *allowed: int) -> Answer:
        """Take an answer down; `Wrong` if its status is none of these."""
        self.waits.setdefault(kind, []).append(answer.seconds)
        if answer.status not in allowed:
            raise Wrong(f"{kind}: {answer.status} instead of {allowed}: {answer.text[:300]}")
        return answer

    def show(self, seconds: float) -> None:
        print(f"\n{'':20} {'requests':>9} {'a second':>9} {'p50 ms':>8} {'p99 ms':>8}")
        for kind, waits in sorted(self.waits.items()):
            middle, late = (1e3 * percentile(waits, share) for share in (0.5, 0.99))
            rate = len(waits) / seconds
            print(f"{kind:20} {len(waits):9,} {rate:9,.1f} {middle:8.1f} {late:8.1f}")
        print(f"{'all':20} {self.requests:9,} {self.requests / seconds:9,.1f}")
        print(f"errors: {len(self.errors)}")
        for error in self.errors[:SHOWN]:
            print(f"  {error}")


async def visit(port: int, visits: Sequence[Visit], seconds: float, ledger: Ledger) -> None:
    """All at once, each on its own connection and waiting for each answer, for so long."""
    until = time.perf_counter() + seconds
    await asyncio.gather(*(_keep_asking(port, one, until, ledger) for one in visits))


async def _keep_asking(port: int, one: Visit, until: float, ledger: Ledger) -> None:
    connection = await Connection.to(port)
    while time.perf_counter() < until:
        try:
            await one.step(connection, ledger)
        except Wrong as error:
            ledger.errors.append(str(error))
        except (OSError, EOFError) as error:  # the server hung up
            ledger.errors.append(f"a dropped connection: {error!r}")
            await asyncio.sleep(0.1)
            connection = await Connection.to(port)
    await connection.close()
