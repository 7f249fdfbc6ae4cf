"""A server from its socket to its end."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from synsetmine.errors import SynsetmineError
from synsetmine.web.guard import EVERYWHERE

if TYPE_CHECKING:
    from starlette.types import ASGIApp

MOST = 256  # connections at a time; more are sent away
HEADERS_WITHIN = 15.0  # seconds for a request to begin and its headers to end
PROBLEMS = {
    errno.EADDRINUSE: "port {port} of {host} is taken; --port 0 picks a free one",
    errno.EACCES: "port {port} of {host} is not for everyone; take one above 1023",
    errno.EADDRNOTAVAIL: "{host} is not an address of this machine",
}


def listen(host: str, port: int) -> socket.socket:
    """A socket on which a server can wait for requests; port 0 picks a free one."""
    try:
        # With the protocol named, asyncio knows TCP and sends small answers without delay.
        found = socket.getaddrinfo(
            host or None,
            port,
            type=socket.SOCK_STREAM,
            proto=socket.IPPROTO_TCP,
            flags=socket.AI_PASSIVE,
        )
        listening = socket.socket(*found[0][:3])
    except socket.gaierror:
        raise SynsetmineError(f"{host!r} is no name or address of this machine") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(found[0][4])
        listening.listen()
    except OSError as error:
        listening.close()
        problem = PROBLEMS.get(error.errno or 0)
        if problem is None:
            raise
        raise SynsetmineError(problem.format(host=host, port=port)) from None
    return listening


def address_of(listening: socket.socket, host: str, token: str | None = None) -> str:
    """What to open in a browser on this machine."""
    port = listening.getsockname()[1]
    named = "127.0.0.1" if host in EVERYWHERE else host
    named = f"[{named}]" if ":" in named else named
    return f"http://{named}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")


def run_server(
    app: ASGIApp, listening: socket.socket, on_ready: Callable[[], None] | None = None
) -> None:
    """Answer requests until Ctrl-C or a signal to end; what is being answered is finished."""
    server = make_server(app, on_ready)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn has closed everything and raises it again
        pass
    finally:
        listening.close()


def make_server(app: ASGIApp, on_ready: Callable[[], None] | None = None) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        http=_Patient,
        lifespan="on",
        limit_concurrency=MOST,
        proxy_headers=False,  # a header must not change who asks
        server_header=False,
        timeout_graceful_shutdown=3,
        ws="none",
    )
    return _Server(config, on_ready)


class _Patient(H11Protocol):
    """Connections that are closed if no request comes on them for a while.

    uvicorn waits for ever for the first request and for the rest of one that has begun, so that
    somebody who sends a letter now and then could take all connections that there are.
    """

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()  # the rest is for the application to wait for

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self._stop()
        self._waiting = self.loop.call_later(HEADERS_WITHIN, self.transport.abort)

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _Server(uvicorn.Server):
    """uvicorn, telling when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_ready is not None:
            self._on_ready()
