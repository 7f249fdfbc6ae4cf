"""The door of both applications: who is let in, what goes out with every answer.

A server on this machine can be reached by every page that its user has open, so it answers only
requests that name it by one of its own names (against DNS rebinding), and takes writes only from
its own pages. Where it is open to other machines, it asks for a token.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104
SAFE_METHODS = frozenset({"GET", "HEAD"})
LARGEST_BODY = 2**20
PATIENCE = 30.0  # seconds for a body to come in
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

Refuse = Callable[[Request, HTTPException], Response]  # how an application says no


@dataclass(frozen=True)
class Door:
    """Which names the server answers to (None: any), and the token it asks for."""

    hosts: frozenset[str] | None = LOOPBACK
    token: str | None = None

    @classmethod
    def of(cls, host: str, token: str | None = None) -> Door:
        """The door of a server that listens on a host; further than this machine with a token."""
        if host in LOOPBACK:
            return cls(LOOPBACK, token)
        # Any name may lead to a server that listens everywhere; its token keeps strangers out,
        # and a browser shows the token's cookie only to the name that it came from.
        hosts = None if host in EVERYWHERE else LOOPBACK | {host.lower()}
        return cls(hosts, token or secrets.token_urlsafe(24))


class Guard:
    """An application behind a door; refusals look like its other answers."""

    def __init__(
        self,
        app: ASGIApp,
        door: Door,
        refuse: Refuse,
        *,
        largest: int = LARGEST_BODY,
        patience: float = PATIENCE,
    ) -> None:
        self._app = app
        self._door = door
        self._refuse = refuse
        self._largest = largest
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # neither application has a web socket
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        try:
            _check_host(request, self._door.hosts)
            if (visit := self._first_visit(request)) is not None:
                await visit(scope, receive, _with_headers(send))
                return
            self._check_token(request)
            _check_origin(request)
            _check_size(request, self._largest)
        except HTTPException as no:
            await self._refuse(request, no)(scope, receive, _with_headers(send))
            return
        limited = _limited(receive, self._largest, self._patience)
        await self._app(scope, limited, _with_headers(send))

    def _first_visit(self, request: Request) -> Response | None:
        """With the right token in the address: a cookie, and the address without the token."""
        given = request.query_params.get("token")
        if self._door.token is None or given is None or request.method not in SAFE_METHODS:
            return None
        if not _is_same(given, self._door.token):
            raise HTTPException(401, "this is not the token that the server printed at its start")
        rest = [(k, v) for k, v in parse_qsl(request.url.query, True) if k != "token"]
        address = request.url.path + (f"?{urlencode(rest)}" if rest else "")
        # A path of two slashes would lead to another server.
        answer = RedirectResponse(f"/{address.lstrip('/')}", status_code=303)
        answer.set_cookie(
            cookie_name("token", request), self._door.token, httponly=True, samesite="lax"
        )
        return answer

    def _check_token(self, request: Request) -> None:
        if self._door.token is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            given = request.cookies.get(cookie_name("token", request), "")
        if not _is_same(given.strip(), self._door.token):
            problem = "this server asks for its token: open the address that it printed at its "
            problem += "start, or send `Authorization: Bearer TOKEN`"
            raise HTTPException(401, problem, {"www-authenticate": "Bearer"})


def cookie_name(what: str, request: Request) -> str:
    """Cookies know no ports: two servers on one machine must not take each other's."""
    server = request.scope.get("server") or ("", 0)
    return f"synsetmine_{what}_{server[1]}"


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
    said = request.headers.get("content-length", "0")
    if not said.isdecimal() or len(said) > 18 or int(said) > largest:
        raise HTTPException(413, f"the body may have {largest:,} bytes at most")


def _limited(receive: Receive, largest: int, patience: float) -> Receive:
    """The same limit for bodies that do not say how long they are, and one of time for all."""
    read = 0
    deadline: float | None = asyncio.get_running_loop().time() + patience

    async def limited() -> Message:
        nonlocal read, deadline
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"the body did not come within {patience:g} s") from None
        read += len(message.get("body", b""))
        if not message.get("more_body", False):
            deadline = None  # what comes now is that somebody has gone
        if read > largest:
            raise HTTPException(413, f"the body may have {largest:,} bytes at most")
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _is_same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(), token.encode())
