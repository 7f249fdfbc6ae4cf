"""A client for a web service: retries, rate limit and cache."""

from __future__ import annotations

import json
import math
import random
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from synsetmine.errors import DataError, SynsetmineError, require, shorten
from synsetmine.io.downloads import is_web_address, redact
from synsetmine.io.sqlite import open_database

if TYPE_CHECKING:
    import ssl

    import httpx


_OURS = 0x5E7A15  # is in the file's header, so that nothing is written into a stranger's file
_WAIT = 60  # seconds for another process to finish its write
_TABLE = "CREATE TABLE answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"


class AnswerCache:
    """Texts by key. Each is on disk when `put` returns, so a killed run loses none.

    Any number of threads and processes may use one file at the same time.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = Lock()

    def get(self, keys: Iterable[str]) -> dict[str, str]:
        """The texts of those keys that are here."""
        query = "SELECT key, answer FROM answers WHERE key IN (SELECT value FROM json_each(?))"
        with self._lock, _clear_errors(self.path):
            return dict(self._connection.execute(query, [json.dumps(list(keys))]).fetchall())

    def put(self, key: str, answer: str) -> None:
        with self._lock, _clear_errors(self.path), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, answer))


@contextmanager
def open_cache(path: Path) -> Iterator[AnswerCache]:
    """Open a cache file, making it where there is none."""
    with _clear_errors(path):
        connection = open_database(path, [_TABLE], mark=_OURS, wait=_WAIT)
    with closing(connection):
        # With a write-ahead log, a crash of the machine may cost the last answers, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        yield AnswerCache(path, connection)


def cache_error(path: Path, why: object) -> DataError:
    """The error for a cache that cannot be read."""
    return DataError(f"damaged cache ({why}); delete it to repeat all requests", path=path)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise DataError(f"cannot use this cache ({error})", path=path) from error
    except sqlite3.Error as error:
        raise cache_error(path, error) from error


LARGEST = 50_000_000  # bytes of one answer
LONGEST_BACKOFF = 60.0  # seconds
LONGEST_HOLD = 300.0  # seconds, whatever Retry-After says

_BUSY = (429, 503)  # the service asks for a pause: it is for all requests, not for this one alone
_REFUSED = (400, 413, 414, 422)  # the service cannot do with this text; others may be fine

Result = TypeVar("Result")


@dataclass(frozen=True)
class Question:
    """A form or JSON to send, and what it is called in messages."""

    name: str
    form: Mapping[str, str] | None = None
    json: object = None


class NonsenseError(Exception):
    """An answer that cannot be read; the service may do better next time."""


class RefusedError(SynsetmineError):
    """The service works but has no answer to this question: what it says instead."""

    def __init__(self, message: str, what: str) -> None:
        super().__init__(message)
        self.what = what


class NotAskedError(SynsetmineError):
    """No request was made for this question: `admit` refused it."""


@dataclass
class Service:
    """An address that questions are posted to.

    At most `concurrency` requests are under way at once, and over all no more than `per_second`
    start in a second (0: as many as may be). Lost connections, timeouts, nonsense, 429 and 5xx are
    tried again up to `retries` times, after a pause that doubles each time from `backoff` seconds
    on, or as long as Retry-After says. Redirects are not followed. `admit` is asked before each
    request whether it may start.
    """

    url: str = field(repr=False)
    concurrency: int
    per_second: float
    timeout: float  # seconds
    retries: int
    backoff: float  # seconds
    seed: int
    largest: int = LARGEST  # bytes of one answer
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    proxies: bool = True  # whether those of the environment are used
    admit: Callable[[Question], bool] | None = None

    def __post_init__(self) -> None:
        self._address, self._person = _split_credentials(self.url)
        self._pace = _Pace(self.per_second)

    def ask(
        self,
        questions: Sequence[Question],
        read: Callable[[int, bytes], Result],
        *,
        on_failure: Callable[[SynsetmineError], Result],
    ) -> list[Result]:
        """What `read` makes of each answer, in order; it is called as soon as the answer is there.

        `on_failure` returns the answer for a question that failed (a `RefusedError` if the question
        may be the reason), or raises. The first error raised ends it all: what has not been asked
        yet is not asked.
        """
        stop = Event()
        errors: list[BaseException] = []

        def work(number: int) -> Result:
            try:
                return self._ask(client, stop, questions[number], partial(read, number), on_failure)
            except _StoppedError:
                raise
            except BaseException as error:
                errors.append(error)
                stop.set()
                raise

        with self._client() as client:
            pool = ThreadPoolExecutor(self.concurrency)
            try:
                futures = [pool.submit(work, number) for number in range(len(questions))]
                wait(futures, return_when=FIRST_EXCEPTION)
                if errors:
                    raise errors[0]
                return [future.result() for future in futures]
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)

    def _client(self) -> httpx.Client:
        import httpx

        return httpx.Client(
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": f"synsetmine/{version('synsetmine')}",
                **self.headers,
            },
            auth=self._person,
            limits=httpx.Limits(max_connections=self.concurrency),
            timeout=self.timeout,
            follow_redirects=False,
            trust_env=self.proxies,
            verify=certificates(),
        )

    def _ask(
        self,
        client: httpx.Client,
        stop: Event,
        question: Question,
        read: Callable[[bytes], Result],
        on_failure: Callable[[SynsetmineError], Result],
    ) -> Result:
        for attempt in range(self.retries + 1):
            self._pace.wait(stop)
            if self.admit is not None and not self.admit(question):
                return on_failure(NotAskedError(f"{redact(self.url)}: {question.name}: not asked"))
            try:
                return self._post(client, question, read)
            except _FailedError as failure:
                if failure.final or attempt == self.retries:
                    return on_failure(self._error(question, failure, attempt + 1))
                pause = self._pause(question, attempt) if failure.after is None else failure.after
                if failure.busy:
                    self._pace.hold(pause)
                else:
                    stop.wait(pause)
        raise AssertionError("the last attempt returns or raises")

    def _post(
        self, client: httpx.Client, question: Question, read: Callable[[bytes], Result]
    ) -> Result:
        import httpx

        try:
            with client.stream(
                "POST", self._address, data=question.form, json=question.json
            ) as response:
                body = _body(response, time.monotonic() + self.timeout, self.largest)
        except httpx.RequestError as error:
            raise _FailedError(str(error) or type(error).__name__) from error
        if response.status_code != 200:
            raise _failure(response, body)
        if len(body) > self.largest:
            raise _FailedError(f"an answer of more than {self.largest} bytes")
        try:
            return read(body)
        except NonsenseError as error:
            # A web page is some gateway speaking. Broken JSON is the service's own, and may be
            # all that it ever makes of this text.
            own = "json" in response.headers.get("Content-Type", "")
            raise _FailedError(f"{error}: {_excerpt(body)}", refused=own) from error

    def _pause(self, question: Question, attempt: int) -> float:
        """Twice as long each time, and not the same for all that failed together."""
        chance = random.Random(f"{self.seed} {question.name} {attempt}").random()  # noqa: S311
        return float(min(self.backoff * 2 ** min(attempt, 30), LONGEST_BACKOFF) * (0.5 + chance))

    def _error(self, question: Question, failure: _FailedError, attempts: int) -> SynsetmineError:
        tried = "" if attempts == 1 else f" ({attempts} attempts)"
        message = f"{redact(self.url)}: {question.name}: {failure}{tried}"
        return RefusedError(message, str(failure)) if failure.refused else SynsetmineError(message)


def check_address(url: str, what: str, variable: str, *, has_key: bool) -> bool:
    """Check the address of an endpoint whose key is in a variable; whether it is this machine."""
    if not is_web_address(url) or re.search(r"[?#\s]", url):
        problem = f"{what} must be the http(s) address of an endpoint, without ? and #"
        raise DataError(problem, value=redact(url))
    parts = urlsplit(url)
    problem = f"{what}'s address must have no user and password; put the key into {variable}"
    require("@" not in parts.netloc, problem, redact(url))
    host = parts.hostname or ""
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if has_key and parts.scheme != "https" and not is_local:
        problem = f"{variable} is sent over https only, or to this machine; use https or unset it"
        raise DataError(problem, value=redact(url))
    return is_local


def _split_credentials(url: str) -> tuple[str, tuple[str, str] | None]:
    """An address without user and password, which others might log with it, and the two."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    person = (unquote(parts.username or ""), unquote(parts.password or ""))
    return urlunsplit(parts._replace(netloc=host)), person if any(person) else None


@dataclass(eq=False)
class _FailedError(Exception):
    """One attempt that failed, and what that means for the next."""

    what: str
    final: bool = False  # another attempt would fail as well
    refused: bool = False  # the question may be the reason
    busy: bool = False
    after: float | None = None  # seconds that the service asks to wait

    def __str__(self) -> str:
        return self.what


class _StoppedError(Exception):
    """Another question failed for good, or the person gave up."""


class _Pace:
    """When the next request may start; shared by all threads."""

    def __init__(self, per_second: float) -> None:
        self._gap = 1 / per_second if per_second else 0.0
        self._next = -math.inf
        self._lock = Lock()

    def wait(self, stop: Event) -> None:
        while not stop.is_set():
            with self._lock:
                now = time.monotonic()
                if now >= self._next:
                    self._next = now + self._gap
                    return
                pause = self._next - now
            stop.wait(pause)
        raise _StoppedError

    def hold(self, seconds: float) -> None:
        """No request starts before so many seconds have passed."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


@cache  # reading them takes a while
def certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


def _body(response: httpx.Response, deadline: float, largest: int) -> bytes:
    """The answer, cut where it grows too large."""
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":  # not asked for, and a few bytes may unpack to gigabytes
        raise _FailedError(f"a compressed answer, although none was requested: {shorten(encoding)}")
    chunks: list[bytes] = []
    size = 0
    for chunk in response.iter_raw():
        chunks.append(chunk)
        size += len(chunk)
        if size > largest:
            break
        # The client's own timeout is for each read: a trickle would never end.
        if time.monotonic() > deadline:
            raise _FailedError(f"the answer did not end in time, {size} bytes so far")
    return b"".join(chunks)


def _failure(response: httpx.Response, body: bytes) -> _FailedError:
    status = response.status_code
    what = f"{status} {response.reason_phrase}".rstrip()
    if response.has_redirect_location:
        target = shorten(redact(response.headers["Location"]))
        return _FailedError(f"{what}: redirects are not followed, this one to {target}", final=True)
    if excerpt := _excerpt(body):
        what += f": {excerpt}"
    return _FailedError(
        what,
        final=status not in (408, 425, 429) and 300 <= status < 500,
        refused=status in _REFUSED,
        busy=status in _BUSY,
        after=_retry_after(response.headers.get("Retry-After", "")) if status >= 429 else None,
    )


def _retry_after(value: str) -> float | None:
    """The seconds of a Retry-After header, which holds a number or a date."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        seconds = float(value[:9])
    else:
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, TypeError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_HOLD)


def _excerpt(body: bytes) -> str:
    """The beginning of an answer on one line."""
    return shorten(" ".join(body[:2000].decode(errors="replace").split()))
