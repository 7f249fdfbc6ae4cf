"""Receiving a file over HTTP, from the middle where an earlier attempt broke off."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from synsetmine.addresses import is_private, is_web_address, shown
from synsetmine.errors import DataError

_CHUNK = 1 << 16


class BrokenError(Exception):
    """A failure that may pass: worth another attempt."""


def receive(url: str, limit: int, timeout: float, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) from `start` on, or all from 0 where the server won't continue."""
    headers = {"User-Agent": "synsetmine", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    check_address(url)
    try:
        request = Request(url, headers=headers)  # noqa: S310
        with _opener().open(request, timeout=timeout) as response:
            offset = _offset(response, start, limit)
            while chunk := response.read1(_CHUNK):
                if offset + len(chunk) > limit:
                    raise DataError(f"{shown(url)}: sends more than the {limit} bytes expected")
                yield offset, chunk
                offset += len(chunk)
            if response.length:
                raise BrokenError(f"ended {response.length} bytes early")
    except HTTPError as error:
        error.close()
        message = " ".join(f"{error.code} {error.reason}".split())
        if error.code == 416 and start:
            yield from receive(url, limit, timeout)
        elif error.code >= 500 or error.code in (408, 429):
            raise BrokenError(message) from error
        else:
            raise DataError(f"{shown(url)}: {message}") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)  # of an address that nobody knows, for example
        told = getattr(reason, "strerror", None) or str(reason) or type(error).__name__
        raise BrokenError(told) from error


def check_address(url: str, source: str | None = None) -> None:
    """Refuse what is no address of the web, or none that `source` may lead to.

    Whoever is out in the world must not make us ask for what only we can reach: the services of
    this machine and of its network. Nor may encryption be given up on the way.
    """
    if not is_web_address(url) or re.search(r"[^!-~]", url):
        raise DataError("not a usable http(s) address", value=shown(url))
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise DataError("an address with a user or password is not fetched", value=shown(url))
    if source is None:
        return
    if source.startswith("https:") and parts.scheme != "https":
        raise DataError("this would give up encryption", value=shown(url))
    if is_private(url) and not is_private(source):
        raise DataError("this leads into the own network, from outside of it", value=shown(url))


@functools.cache  # reading the system's certificates takes a while
def _opener() -> OpenerDirector:
    return build_opener(_WebRedirects)


def _offset(response: HTTPResponse, start: int, size: int) -> int:
    """Where the body begins; a range that was not asked for is as good as a 416."""
    if response.status != 206:
        return 0
    sent = response.headers.get("Content-Range", "")
    if re.fullmatch(rf"bytes {start}-\d+/({size}|\*)", sent) is None:
        message = f"asked for bytes {start}- of {size}, was sent {sent!r}"
        raise HTTPError(response.url, 416, message, response.headers, response)
    return start


class _WebRedirects(HTTPRedirectHandler):
    """Follows redirects, at most ten, to where the address that was asked for may lead."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        try:
            check_address(newurl, req.full_url)
        except DataError as error:
            refused = f"redirect to {shown(newurl)} refused: {error.problem}"
            raise HTTPError(req.full_url, code, refused, headers, fp) from None
        return super().redirect_request(req, fp, code, msg, headers, newurl)
