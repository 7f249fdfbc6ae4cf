"""Access checks, and the server of both web applications."""

from __future__ import annotations

import asyncio
import base64
import errno
import gc
import hashlib
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from synsetmine.errors import SynsetmineError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104
SAFE_METHODS = frozenset({"GET", "HEAD"})
LARGEST_BODY = 2**20
HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

Refuse = Callable[[Request, HTTPException], Response]  # how an application refuses a request


@dataclass(frozen=True)
class AccessPolicy:
    """The host names that the server answers to (None: any), and the token that it requires."""

    hosts: frozenset[str] | None = LOOPBACK
    token: str | None = None

    @classmethod
    def of(cls, host: str, token: str | None = None) -> AccessPolicy:
        """The policy of a server on a host; beyond this machine it always requires a token."""
        if host in LOOPBACK:
            return cls(LOOPBACK, token)
        # Any name may lead to a server that listens everywhere; its token keeps strangers out,
        # and a browser shows the token's cookie only to the name that it came from.
        hosts = None if host in EVERYWHERE else LOOPBACK | {host.lower()}
        return cls(hosts, token or new_token())

    @property
    def root(self) -> str:
        """The path above all pages, without a slash at its end; empty without a token."""
        if self.token is None:
            return ""
        digest = hashlib.sha256(b"synsetmine path\0" + self.token.encode()).digest()
        return f"/{base64.urlsafe_b64encode(digest[:18]).decode()}"


def new_token() -> str:
    """A token of 192 bits."""
    return secrets.token_urlsafe(24)


class AccessMiddleware:
    """Checks each request before the application; refusals look like its other answers."""

    def __init__(
        self,
        app: ASGIApp,
        policy: AccessPolicy,
        refuse: Refuse,
        *,
        largest: int = LARGEST_BODY,
        public: frozenset[str] = frozenset(),
    ) -> None:
        self._app = app
        self._public = public  # paths that need no token
        self._policy = policy
        self._refuse = refuse
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # neither application has a web socket
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        try:
            _check_host(request, self._policy.hosts)
            if (visit := self._first_visit(request)) is not None:
                await visit(scope, receive, _with_headers(send))
                return
            scope = self._admit(request)
            _check_origin(request)
            _check_size(request, self._largest)
        except HTTPException as refusal:
            await self._refuse(request, refusal)(scope, receive, _with_headers(send))
            return
        limited = _limit_body(receive, self._largest)
        await self._app(scope, limited, _with_headers(send))

    def _first_visit(self, request: Request) -> Response | None:
        """A redirect that sets the cookie and drops the right token from the address."""
        if self._policy.token is None or request.method not in SAFE_METHODS:
            return None
        shown = request.query_params.get("token")
        if shown is None:
            return None
        if not _is_same(shown, self._policy.token):
            raise HTTPException(401, "this is not the token that the server printed at its start")
        rest = [(k, v) for k, v in parse_qsl(request.url.query, True) if k != "token"]
        root = self._policy.root
        path = request.url.path.removeprefix(f"{root}/").lstrip("/")
        address = f"{root}/{path}" + (f"?{urlencode(rest)}" if rest else "")
        answer = RedirectResponse(address, status_code=303)
        answer.set_cookie(
            cookie_name("token", request),
            quote(self._policy.token, safe=""),
            path=root,
            httponly=True,
            samesite="lax",
        )
        return answer

    def _admit(self, request: Request) -> Scope:
        """The scope of a request that shows the token; the application's pages are below root.

        The cookie counts only below the path that it was set for.
        """
        policy, scope = self._policy, request.scope
        if policy.token is None or scope["path"] in self._public:
            return scope
        below = str(scope["path"]).startswith(f"{policy.root}/")
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            shown = [bearer.strip()]
        else:
            shown = list(_cookie_values(request, cookie_name("token", request))) if below else []
        if not any(_is_same(each, policy.token) for each in shown):
            problem = "this server asks for its token: open the address that it printed at its "
            problem += "start, or send `Authorization: Bearer TOKEN`"
            raise HTTPException(401, problem, {"www-authenticate": "Bearer"})
        return {**scope, "root_path": policy.root} if below else scope


def cookie_name(what: str, request: Request) -> str:
    """The name of a cookie with the port, which cookies ignore: servers must not share them."""
    server = request.scope.get("server") or ("", 0)
    return f"synsetmine_{what}_{server[1]}"


def _cookie_values(request: Request, name: str) -> Iterator[str]:
    """All values of a cookie: another server of this host may have set one of the same name."""
    for part in request.headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            yield unquote(value)


def _check_host(request: Request, hosts: frozenset[str] | None) -> None:
    named = request.headers.get("host", "")
    if hosts is not None and _host_name(named) not in hosts:
        problem = f"this server does not answer to the name {named!r}; use the address that it "
        raise HTTPException(403, f"{problem}printed at its start")


def _host_name(netloc: str) -> str:
    try:
        return (urlsplit(f"//{netloc}").hostname or "").lower()
    except ValueError:
        return ""


def _check_origin(request: Request) -> None:
    """A write must come from our own page, or from no page at all (another program)."""
    if request.method in SAFE_METHODS:
        return
    site = request.headers.get("sec-fetch-site")
    if site == "same-origin":
        return  # no-referrer hides the origin of a plain form, but not this
    origin = request.headers.get("origin")
    named = request.headers.get("host", "")
    if site is not None or (origin is not None and origin.partition("://")[2] != named):
        raise HTTPException(403, "this request comes from a page of another site")


def _check_size(request: Request, largest: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 18 or int(length) > largest:
        raise HTTPException(413, f"the body may have {largest:,} bytes at most")


def _limit_body(receive: Receive, largest: int) -> Receive:
    """The same limit for bodies without a declared length."""
    read = 0

    async def receive_limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > largest:
            raise HTTPException(413, f"the body may have {largest:,} bytes at most")
        return message

    return receive_limited


_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = message.get("headers", [])
            names = {name for name, _ in own}
            message["headers"] = [*own, *(pair for pair in _RAW_HEADERS if pair[0] not in names)]
        await send(message)

    return send_with_headers


def _is_same(shown: str, token: str) -> bool:
    return secrets.compare_digest(shown.encode(), token.encode())


MOST = 256  # connections at a time
PROBLEMS = {
    errno.EADDRINUSE: "port {port} of {host} is taken; --port 0 picks a free one",
    errno.EACCES: "port {port} of {host} needs administrator rights; choose one above 1023",
    errno.EADDRNOTAVAIL: "{host} is not an address of this machine",
}


def listen(host: str, port: int) -> socket.socket:
    """A socket on which a server can wait for requests; port 0 picks a free one."""
    try:
        # With the protocol named, asyncio knows TCP and sends small answers without delay.
        addresses = socket.getaddrinfo(
            host or None,
            port,
            type=socket.SOCK_STREAM,
            proto=socket.IPPROTO_TCP,
            flags=socket.AI_PASSIVE,
        )
        listening = socket.socket(*addresses[0][:3])
    except socket.gaierror:
        raise SynsetmineError(f"{host!r} is not a name or address of this machine") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(addresses[0][4])
        listening.listen()
    except OSError as error:
        listening.close()
        problem = PROBLEMS.get(error.errno or 0)
        if problem is None:
            raise
        raise SynsetmineError(problem.format(host=host, port=port)) from None
    return listening


def address_of(listening: socket.socket, host: str, token: str | None = None) -> str:
    """The address to open in a browser on this machine."""
    port = listening.getsockname()[1]
    named = "127.0.0.1" if host in EVERYWHERE else host
    named = f"[{named}]" if ":" in named else named
    return f"http://{named}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")


def run_server(
    app: ASGIApp, listening: socket.socket, on_ready: Callable[[], None] | None = None
) -> None:
    """Answer requests until Ctrl-C or a signal to end; running requests are finished.

    `on_ready` may take long: it runs beside the server, and its error ends the server.
    """
    failures: list[BaseException] = []

    def begin() -> None:
        try:
            if on_ready is not None:
                on_ready()
            gc.collect()
            gc.freeze()  # what was loaded stays; looking through it again would stop all requests
        except BaseException as failure:
            failures.append(failure)
            server.should_exit = True

    server = make_server(app, Thread(target=begin, daemon=True).start)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn has closed everything and raises it again
        pass
    finally:
        listening.close()
    if failures:
        raise failures[0]


def make_server(app: ASGIApp, on_ready: Callable[[], None] | None = None) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        http=_Protocol,
        lifespan="on",
        limit_concurrency=MOST,
        proxy_headers=False,  # a header must not change who asks
        server_header=False,
        timeout_graceful_shutdown=3,
        ws="none",
    )
    return _Server(config, on_ready)


class _Protocol(H11Protocol):
    """HTTP by h11, which limits the size of headers.

    Where there are too many connections, the one that has been open for longest without a request
    that is being answered goes. So nobody locks others out by connections that wait for ever.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= MOST - 1:
            waiting = (one for one in self.connections if isinstance(one, _Protocol) and one.waits)
            oldest = min(waiting, key=lambda one: one.since, default=None)
            if oldest is not None:
                oldest.transport.abort()
                self.connections.discard(oldest)  # now, since several may come at once
        self.since = time.monotonic()
        self._writes = _JoinedWrites(transport)
        super().connection_made(self._writes)  # type: ignore[arg-type]

    def eof_received(self) -> None:
        """Write what is ready, since asyncio closes the connection next."""
        self._writes.flush()

    @property
    def waits(self) -> bool:
        return self.cycle is None or self.cycle.response_complete


class _JoinedWrites:
    """A transport that writes the head and the body of an answer at once.

    uvicorn writes them one after the other; of an answer of some hundred bytes the second call to
    the system took a fifth of the time, and it woke the client twice.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Server(uvicorn.Server):
    """uvicorn with a callback when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_ready is not None:
            self._on_ready()
