"""A small stand-in for the paper's home: a contents API, files, faults on order."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from tests.support.localserver import LocalServer


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one answer; the rest of it stays as it should be."""

    status: int | None = None  # refuse with this
    location: str | None = None  # redirect there
    body: bytes | None = None  # send this instead
    cut: int | None = None  # close after so many bytes of the body
    stall: bool = False  # at the cut, keep the line open and silent
    reset: bool = False  # close before any answer
    no_length: bool = False  # do not say how long the body is


@dataclass(frozen=True)
class Seen:
    """A request as the server saw it, and how many bytes of body went out."""

    path: str
    sent: int


class PaperServer(LocalServer):
    """Serves `/data/<folder>` as listings and `/raw/<folder>/<name>` as files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(_Handler)
        self.files = files
        self.extra_rows: list[object] = []
        self.seen: list[Seen] = []
        self._once: dict[str, list[Fault]] = defaultdict(list)
        self._always: dict[str, Fault] = {}

    @property
    def home(self) -> str:
        return f"{self.root}/data"

    def fail(self, path: str, *faults: Fault) -> None:
        """The next answers for this path, one fault each."""
        self._once[path].extend(faults)

    def always_fail(self, path: str, fault: Fault | None) -> None:
        """Every answer for this path from now on; None mends it."""
        if fault is None:
            del self._always[path]
        else:
            self._always[path] = fault

    def next_fault(self, path: str) -> Fault:
        if self._once[path]:
            return self._once[path].pop(0)
        return self._always.get(path, Fault())

    def requests_to(self, path: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.path == path]

    def listing(self, folder: str) -> bytes:
        rows: list[object] = []
        for path, content in self.files.items():
            place, _, name = path.partition("/")
            if place == folder:
                url = f"{self.root}/raw/{path}"
                rows.append(row(name, content, url))
        return json.dumps(rows + self.extra_rows).encode()


def row(name: str, content: bytes, url: str) -> dict[str, object]:
    """A file as GitHub's contents API lists it."""
    sha = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return {"name": name, "type": "file", "size": len(content), "sha": sha, "download_url": url}


class _Handler(BaseHTTPRequestHandler):
    server: PaperServer

    def do_GET(self) -> None:
        fault = self.server.next_fault(self.path)
        if fault.reset:
            self._note(0)
            return
        # A client that has heard enough hangs up; that is for its test to judge.
        with suppress(ConnectionError):
            self._answer(fault)

    def _answer(self, fault: Fault) -> None:
        content = self._content() if fault.body is None else fault.body
        if fault.location is not None:
            self._send(302, b"", {"Location": fault.location}, fault)
        elif fault.status is not None or content is None:
            self._send(fault.status or 404, b"refused", {}, fault)
        else:
            self._send(200, content, {}, fault)

    def _content(self) -> bytes | None:
        kind, _, rest = self.path.removeprefix("/").partition("/")
        return self.server.listing(rest) if kind == "data" else self.server.files.get(rest)

    def _send(self, status: int, body: bytes, headers: dict[str, str], fault: Fault) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if not fault.no_length:
            self.send_header("Content-Length", str(len(body)))
        body = body[: fault.cut]
        self._note(len(body))
        self.end_headers()
        self.wfile.write(body)
        if fault.stall:
            self.server.closing.wait(10)

    def _note(self, sent: int) -> None:
        """Before the answer leaves, so that a client that has it finds its request noted."""
        self.server.seen.append(Seen(self.path, sent))

    def log_message(self, format: str, *args: object) -> None:
        """Tests look at `seen`, not at a log."""
