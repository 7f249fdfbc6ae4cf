"""Receiving a file over HTTP, from the middle where an earlier attempt broke off."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from http.client import HTTPException, HTTPMessage, HTTPResponse, InvalidURL
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from synsetmine.errors import DataError

_CHUNK = 1 << 16


class BrokenError(Exception):
    """A failure that may pass: worth another attempt."""


def receive(url: str, limit: int, timeout: float, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) from `start` on, or all from 0 where the server won't continue."""
    headers = {"User-Agent": "synsetmine", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError("only http and https are fetched")
        request = Request(url, headers=headers)  # noqa: S310
        with _opener().open(request, timeout=timeout) as response:
            offset = _offset(response, start, limit)
            while chunk := response.read1(_CHUNK):
                if offset + len(chunk) > limit:
                    raise DataError(f"{url}: sends more than the {limit} bytes expected")
                yield offset, chunk
                offset += len(chunk)
            if response.length:
                raise BrokenError(f"ended {response.length} bytes early")
    except HTTPError as error:
        error.close()
        message = f"{error.code} {error.reason}"
        if error.code == 416 and start:
            yield from receive(url, limit, timeout)
        elif error.code >= 500 or error.code in (408, 429):
            raise BrokenError(message) from error
        else:
            raise DataError(f"{url}: {message}") from error
    except (InvalidURL, ValueError) as error:
        raise DataError(f"not a usable http(s) address ({error})", value=url) from error
    except (OSError, HTTPException) as error:
        raise BrokenError(str(error) or type(error).__name__) from error


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
    """Follows redirects within the web, and none that gives up encryption."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        allowed = ("https",) if req.type == "https" else ("http", "https")
        if urlsplit(newurl).scheme not in allowed:
            raise HTTPError(newurl, code, f"redirect to {newurl} refused", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
