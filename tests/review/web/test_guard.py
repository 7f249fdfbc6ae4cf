"""Who is let in: hosts, tokens, origins, sizes; and what goes out with every answer."""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from synsetmine.errors import SynsetmineError
from synsetmine.review.web import server as running
from synsetmine.review.web.server import (
    LOOPBACK,
    AccessMiddleware,
    AccessPolicy,
    address_of,
    listen,
)
from tests.support.webserver import serve


async def echo(request: Request) -> Response:
    body = await request.body()
    return PlainTextResponse(f"{request.method} {request.url.path} {len(body)}")


def refuse(_: Request, no: HTTPException) -> Response:
    return PlainTextResponse(no.detail, no.status_code, no.headers)


def showing_cookies(policy: AccessPolicy) -> ASGIApp:
    """A server that answers with the cookies that it gets."""

    async def show(request: Request) -> Response:
        return PlainTextResponse(request.headers.get("cookie", ""))

    return AccessMiddleware(Router([Route("/{path:path}", show)]), policy, refuse)


def guarded_app(policy: AccessPolicy) -> ASGIApp:
    router = Router([Route("/{path:path}", echo, methods=["GET", "POST"])])
    app: ASGIApp = router

    async def catching(scope: object, receive: object, send: object) -> None:
        try:
            await app(scope, receive, send)  # type: ignore[arg-type]
        except HTTPException as no:
            await refuse(Request(scope), no)(scope, receive, send)  # type: ignore[arg-type]

    return AccessMiddleware(catching, policy, refuse, largest=1000)


@contextmanager
def knocking(policy: AccessPolicy) -> Iterator[httpx.Client]:
    with (
        serve(guarded_app(policy)) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with knocking(AccessPolicy()) as client:
        yield client


def test_every_answer_has_the_headers(client: httpx.Client) -> None:
    for answer in (client.get("/"), client.get("/", headers={"host": "evil.example"})):
        headers = answer.headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:99", 200),
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("[::1]:8000", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:8000", 403),
        ("evil.example#localhost", 403),
        ("user@localhost@evil.example", 403),
        ("[::1", 403),
        ("", 403),
    ],
)
def test_only_the_own_names_are_answered_to(client: httpx.Client, host: str, status: int) -> None:
    assert client.get("/", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # another program
        ({"origin": "{own}"}, 200),
        ({"sec-fetch-site": "same-origin", "origin": "null"}, 200),  # a form without its script
        ({"origin": "null"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "{own}"}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({"origin": "http://["}, 403),
        ({"origin": ""}, 403),
    ],
)
def test_only_the_own_page_may_write(
    client: httpx.Client, headers: dict[str, str], status: int
) -> None:
    own = str(client.base_url).rstrip("/")
    given = {name: value.format(own=own) for name, value in headers.items()}
    assert client.post("/", headers=given).status_code == status
    assert client.get("/", headers=given).status_code == 200


def test_bodies_are_limited(client: httpx.Client) -> None:
    assert client.post("/", content=b"x" * 1000).text == "POST / 1000"
    answer = client.post("/", content=b"x" * 1001)
    assert (answer.status_code, answer.text) == (413, "the body may have 1,000 bytes at most")
    parts = (b"x" * 400 for _ in range(3))
    assert client.post("/", content=parts).status_code == 413


def test_a_length_that_is_none_is_refused(client: httpx.Client) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as plain:
        plain.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n")
        assert plain.recv(100).split()[1] in (b"400", b"413")


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http://localhost/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\nx",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET / HTTP/1.1\nHost: localhost\n X: folded\n\n" + b"\0" * 10,
        b"\x16\x03\x01\x02\0",
    ],
    ids=range(10),
)
def test_odd_requests_get_nothing(client: httpx.Client, request_line: bytes) -> None:
    said = answer_to(client, request_line)
    assert said.split()[1] in (b"400", b"403", b"413", b"501")
    assert b" / " not in said  # what the application answers


def test_two_lengths_in_one_request_are_one_request(client: httpx.Client) -> None:
    """A body that is one request by its length and two by its chunks is read by its chunks."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    said = answer_to(
        client,
        b"POST /first HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
    )
    assert b"smuggled" not in said


def answer_to(client: httpx.Client, sent: bytes) -> bytes:
    """All that the server says until it hangs up."""
    place = client.base_url.host, client.base_url.port or 0
    with socket.create_connection(place, timeout=30) as plain:
        plain.sendall(sent)
        plain.shutdown(socket.SHUT_WR)
        said = b""
        while chunk := plain.recv(65536):
            said += chunk
        return said


def test_headers_are_limited(client: httpx.Client) -> None:
    place = client.base_url.host, client.base_url.port or 0
    with socket.create_connection(place, timeout=30) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert not _can_send(plain, b"a" * 65536)


def _can_send(plain: socket.socket, some: bytes) -> bool:
    """Whether the other side takes it a thousand times."""
    for _ in range(1000):
        try:
            plain.sendall(some)
        except ConnectionError:
            return False
    return True


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nX: a"])
def test_connections_that_wait_for_ever_lock_nobody_out(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(running, "MOST", 4)
    with knocking(AccessPolicy(LOOPBACK, TOKEN)) as client, ExitStack() as several:
        place = client.base_url.host, client.base_url.port or 0
        idle = []
        for _ in range(8):
            idle.append(several.enter_context(socket.create_connection(place, timeout=30)))
            idle[-1].sendall(sent)
        for _ in range(3):
            headers = {"authorization": f"Bearer {TOKEN}", "connection": "close"}
            assert client.get("/", headers=headers).status_code == 200
        assert not _can_send(idle[0], b"a")  # the oldest had to go


# --- The token --------------------------------------------------------------------------------


TOKEN = "a-token-of-some-length"


def test_without_the_token_there_is_nothing() -> None:
    with knocking(AccessPolicy(LOOPBACK, TOKEN)) as client:
        for headers in ({}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": TOKEN}):
            answer = client.get("/", headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
        assert client.post("/").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        assert client.get("/", headers={"authorization": f"bearer {TOKEN}"}).status_code == 200


def test_the_first_visit_gets_a_cookie_and_a_clean_address() -> None:
    policy = AccessPolicy(LOOPBACK, TOKEN)
    with knocking(policy) as client:
        answer = client.get("/some/page", params={"a": "1 2", "token": TOKEN, "b": ""})
        place = f"{policy.root}/some/page"
        assert (answer.status_code, answer.headers["location"]) == (303, f"{place}?a=1+2&b=")
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"synsetmine_token_{client.base_url.port}={TOKEN};")
        assert "HttpOnly" in cookie
        assert "samesite=lax" in cookie.lower()
        assert client.get(place).text == f"GET {place} 0"
        again = client.get(place, params={"token": TOKEN})  # a bookmark with the token in it
        assert again.headers["location"] == place
        # A token in the address of a write is none: nothing may be written by a link.
        client.cookies.clear()
        assert client.post("/", params={"token": TOKEN}).status_code == 401


def test_the_way_on_never_leads_to_another_server() -> None:
    policy = AccessPolicy(LOOPBACK, TOKEN)
    with knocking(policy) as client:
        port = client.base_url.port or 0
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(
                f"GET //evil.example/x?token={TOKEN} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            )
            said = plain.recv(4000).decode()
        assert f"location: {policy.root}/evil.example/x\r\n" in said


def test_the_cookie_is_sent_to_no_other_port() -> None:
    """A cookie has no port: another user's server on this machine gets all that fit its path."""
    policy, other = AccessPolicy(LOOPBACK, TOKEN), AccessPolicy()
    with (
        knocking(policy) as client,
        serve(showing_cookies(other)) as elsewhere,
        httpx.Client(follow_redirects=True, trust_env=False, timeout=60) as browser,
    ):
        own = str(client.base_url)
        assert browser.get(own, params={"token": TOKEN}).status_code == 200
        assert [cookie.path for cookie in browser.cookies.jar] == [policy.root]
        for path in ("/", "/reviewer", "/static/review.css", "/v1/health", policy.root[:-1]):
            assert browser.get(f"{elsewhere}{path}").text == "", path
        assert browser.get(f"{own}{policy.root}/page").status_code == 200


def test_the_cookie_counts_only_below_its_path() -> None:
    policy = AccessPolicy(LOOPBACK, TOKEN)
    with knocking(policy) as client:
        cookie = {"cookie": f"synsetmine_token_{client.base_url.port}={TOKEN}"}
        assert client.get(f"{policy.root}/page", headers=cookie).status_code == 200
        assert client.get("/page", headers=cookie).status_code == 401
        assert client.get(f"{policy.root}x/page", headers=cookie).status_code == 401
        assert client.get(f"{policy.root}/page").status_code == 401  # the path alone is no token
        # Another server of this host may set a cookie of the same name.
        both = {"cookie": f"{cookie['cookie']}; {cookie['cookie'].replace(TOKEN, 'other')}"}
        assert client.get(f"{policy.root}/page", headers=both).status_code == 200


def test_the_path_follows_from_the_token() -> None:
    assert AccessPolicy().root == ""
    assert AccessPolicy(LOOPBACK, TOKEN).root == AccessPolicy.of("0.0.0.0", TOKEN).root
    roots = {AccessPolicy.of("0.0.0.0").root for _ in range(100)}
    assert len(roots) == 100
    assert all(re.fullmatch(r"/[\w-]{24}", root) for root in roots)
    assert TOKEN not in AccessPolicy(LOOPBACK, TOKEN).root


@given(st.text(st.characters(codec="utf-8"), min_size=16, max_size=40))
@example(base64.b64encode(bytes(range(240, 256))).decode())  # with + / and =
@example('a+b/c=d&e#f?g%20 h;i,j"k\\l')
def test_every_token_survives_its_address_and_its_cookie(token: str) -> None:
    with listen("127.0.0.1", 0) as listening:
        address = address_of(listening, "127.0.0.1", token)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w.~%-]+", address, re.ASCII)
    policy = AccessPolicy(LOOPBACK, token)
    client = TestClient(guarded_app(policy), base_url="http://localhost")
    answer = client.get(f"/?{address.partition('?')[2]}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{policy.root}/")
    assert client.get(f"{policy.root}/").status_code == 200


# --- Doors and ports --------------------------------------------------------------------------


def test_further_than_this_machine_only_with_a_token() -> None:
    assert (
        AccessPolicy.of("127.0.0.1") == AccessPolicy.of("localhost") == AccessPolicy(LOOPBACK, None)
    )
    assert AccessPolicy.of("::1", TOKEN) == AccessPolicy(LOOPBACK, TOKEN)
    everywhere = AccessPolicy.of("0.0.0.0")
    assert everywhere.hosts is None
    assert everywhere.token
    assert len(everywhere.token) >= 32
    assert AccessPolicy.of("0.0.0.0").token != everywhere.token
    named = AccessPolicy.of("Workstation.lan")
    assert named.token
    assert named.hosts == LOOPBACK | {"workstation.lan"}


def test_a_server_that_listens_everywhere_answers_to_any_name() -> None:
    with knocking(AccessPolicy.of("0.0.0.0", TOKEN)) as client:
        headers = {"host": "workstation.lan:80", "authorization": f"Bearer {TOKEN}"}
        assert client.get("/", headers=headers).status_code == 200
        assert client.get("/", headers={"host": "workstation.lan"}).status_code == 401


def test_a_port_that_is_taken() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(SynsetmineError, match=f"port {port} of 127.0.0.1 is taken; --port 0 "):
            listen("127.0.0.1", port)


def test_hosts_on_which_one_cannot_listen() -> None:
    with pytest.raises(SynsetmineError, match="is not a name or address of this machine"):
        listen("no such host", 0)
    with pytest.raises(SynsetmineError, match=r"192\.0\.2\.1 is not an address of this machine"):
        listen("192.0.2.1", 0)


def test_addresses_to_open() -> None:
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # else every second answer waits for 40 ms
        port = listening.getsockname()[1]
        assert address_of(listening, "127.0.0.1") == f"http://127.0.0.1:{port}/"
        assert address_of(listening, "0.0.0.0", "abc") == f"http://127.0.0.1:{port}/?token=abc"
        assert address_of(listening, "::1") == f"http://[::1]:{port}/"
