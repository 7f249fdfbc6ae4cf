"""What a server can do wrong with one answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from tests.support.localserver import LocalServer


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one answer; the rest of it stays as it should be."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None  # send this instead
    kind: str = "application/json"  # its Content-Type
    cut: int | None = None  # close after so many bytes of the body
    reset: bool = False  # close before any answer
    stall: bool = False  # say nothing
    trickle: bytes = b""  # this again and again, without end


class FaultyHandler(BaseHTTPRequestHandler):
    server: LocalServer
    protocol_version = "HTTP/1.1"  # connections stay open, as they do with the real one
    wbufsize = -1  # head and body in one packet: two would wait for each other

    def reply(self, body: bytes, fault: Fault) -> None:
        """Answer with a body, or as the fault has it."""
        if fault.reset or fault.stall:
            self.close_connection = True
            if fault.stall:
                self.server.closing.wait(10)
            return
        body = body if fault.body is None else fault.body
        self.send_response(fault.status)
        self.send_header("Content-Type", fault.kind)
        for name, value in fault.headers.items():
            self.send_header(name, value)
        if fault.trickle:
            self.close_connection = True
            self.end_headers()
            while not self.server.closing.wait(0.02):
                self.wfile.write(fault.trickle)
                self.wfile.flush()
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault.cut is not None:
            self.close_connection = True
        self.wfile.write(body[: fault.cut])

    def log_message(self, format: str, *args: object) -> None:
        """Tests look at `seen`, not at a log."""
