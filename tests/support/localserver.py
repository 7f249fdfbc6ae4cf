"""A real HTTP server on loopback, for the length of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Self


class LocalServer(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for them, so that no socket outlives its test

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.closing = Event()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @contextmanager
    def start(self) -> Iterator[Self]:
        with self:
            thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.005})
            thread.start()
            try:
                yield self
            finally:
                self.closing.set()
                self.shutdown()
                thread.join()
