"""Connections to a server on loopback that are kept, and write and read bare HTTP.

A client of its own, since a full one costs more than the server that it is to measure.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Answer:
    status: int
    head: bytes  # the lines of the headers, as they came
    body: bytes
    seconds: float  # from the first byte that was sent to the last that came

    def header(self, name: str) -> str:
        """The value of a header, by its name in small letters; empty where there is none."""
        return _value(self.head, name.encode())

    @property
    def text(self) -> str:
        return self.body.decode()


class Connection:
    """One connection: each question waits for the answer to the one before."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, port: int) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes = b"",
    ) -> Answer:
        begin = time.perf_counter()
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body)}"] if body else []
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(_value(head, b"content-length") or 0)
        content = await self._reader.readexactly(length) if length else b""
        return Answer(int(head[9:12]), head, content, time.perf_counter() - begin)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


def percentile(waits: Sequence[float], share: float) -> float:
    return sorted(waits)[min(int(share * len(waits)), len(waits) - 1)]


def _value(head: bytes, name: bytes) -> str:
    for line in head.split(b"\r\n")[1:]:
        found, _, value = line.partition(b":")
        if found.lower() == name:
            return value.strip().decode()
    return ""
