"""Asking a real server that behaves as badly as the public one: politely, patiently, clearly."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Barrier, Event

import pytest

from synsetmine.errors import SynsetmineError
from synsetmine.linking import service
from synsetmine.linking.spotlight import REFUSED, SpotlightLinker
from synsetmine.types import Document
from tests.support.faultyserver import Fault
from tests.support.spotlightlinks import documents, link_one, linker_of, many
from tests.support.spotlightserver import SpotlightServer, answer

HTML = Fault(body=b"<html><h1>It works!</h1></html>", kind="text/html")
JAVA = b"java.lang.StringIndexOutOfBoundsException: String index out of range: 4\n\tat x.Y"


pytestmark = pytest.mark.usefixtures("no_proxy")


@pytest.fixture
def server() -> Iterator[SpotlightServer]:
    with SpotlightServer().start() as running:
        yield running


# --- Politeness -------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 3, 5])
def test_so_many_requests_at_once_and_no_more(server: SpotlightServer, concurrency: int) -> None:
    server.meeting = Barrier(concurrency)  # would wait for ever if they did not come together
    linked = linker_of(server, concurrency=concurrency).link(many(concurrency * 3))
    assert all(len(mentions) == 1 for mentions in linked)
    assert server.most_at_once == concurrency
    assert not server.meeting.broken


def test_the_order_is_that_of_the_documents(server: SpotlightServer) -> None:
    texts = [f"{'Berlin ' * (number % 7)}{number}" for number in range(60)]
    server.fail(*[Fault(status=500)] * 20)  # what fails at first is answered after what follows
    linked = linker_of(server, concurrency=8, retries=20).link(documents(*texts))
    assert [len(mentions) for mentions in linked] == [number % 7 for number in range(60)]
    assert server.texts != texts


def test_requests_start_no_faster_than_asked(server: SpotlightServer) -> None:
    server.fail(Fault(status=500), Fault(status=500))  # attempts count as well
    linker = linker_of(server, per_second=40, concurrency=8)
    start = time.monotonic()
    linker.link(many(4))
    linker.link(documents("and Berlin", "in the next call"))
    assert len(server.seen) == 8
    for number, seen in enumerate(sorted(server.seen, key=lambda seen: seen.time)):
        assert seen.time - start >= number / 40


def test_pauses_double_and_are_the_same_for_the_same_seed(
    server: SpotlightServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    class Recorded(Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout or 0)
            return self.is_set()

    monkeypatch.setattr(service, "Event", Recorded)

    def run(seed: int) -> list[float]:
        pauses.clear()
        server.fail(*[Fault(status=500)] * 12)
        linker_of(server, backoff=4.0, retries=12, seed=seed, concurrency=1).link(many(1))
        return list(pauses)

    first = run(0)
    assert len(first) == 12
    for attempt, pause in enumerate(first):
        middle = min(4.0 * 2**attempt, service.LONGEST_BACKOFF)
        assert 0.5 * middle <= pause <= 1.5 * middle
    assert len({pause / 2**attempt for attempt, pause in enumerate(first)}) == 12
    assert run(0) == first
    assert run(1) != first


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_holds_all_requests(server: SpotlightServer, status: int) -> None:
    server.fail(Fault(status=status, headers={"Retry-After": "1"}))
    linker_of(server, concurrency=1).link(many(3))
    times = [seen.time for seen in server.seen]
    assert len(times) == 4
    assert times[1] - times[0] >= 1


def test_retry_after_with_a_date(server: SpotlightServer) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=2)  # cut to whole seconds when written
    server.fail(Fault(status=503, headers={"Retry-After": format_datetime(moment, usegmt=True)}))
    linker_of(server).link(many(1))
    assert datetime.now(UTC) >= moment.replace(microsecond=0)
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", 0),
        ("7", 7),
        (" 120 ", 120),
        ("999999999999999999999999", 300),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 300),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        ("Sun, 06 Nov 1994 08:49:37 -0000", 0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("Fri, 99 Foo 2020", None),
    ],
)
def test_what_retry_after_means(
    server: SpotlightServer,
    monkeypatch: pytest.MonkeyPatch,
    value: str,
    expected: float | None,
) -> None:
    held: list[float] = []
    monkeypatch.setattr(service._Pace, "hold", lambda self, seconds: held.append(seconds))
    server.fail(Fault(status=429, headers={"Retry-After": value}))
    linker_of(server, backoff=0.001).link(many(1))
    (seconds,) = held
    assert seconds == expected if expected is not None else 0 < seconds < 0.01


# --- Failures that pass -----------------------------------------------------------------------


PASSING = {
    "overloaded": Fault(status=503, body=b"<html>Service Unavailable</html>", kind="text/html"),
    "bad gateway": Fault(status=502),
    "internal error": Fault(status=500, body=JAVA),
    "too many": Fault(status=429),
    "request timeout": Fault(status=408),
    "no content": Fault(status=204, body=b""),
    "connection dropped": Fault(reset=True),
    "answer cut off": Fault(cut=20),
    "no answer": Fault(stall=True),
    "an endless answer": Fault(trickle=b" "),
    "a web page": HTML,
    "nothing": Fault(body=b""),
    "half of the JSON": Fault(body=json.dumps(answer("Berlin")).encode()[:60]),
    "unquoted text": Fault(body=b'{"@text": function(who,are,you){}, "Resources": []}'),
    "a number": Fault(body=b"17"),
    "a list": Fault(body=b"[]"),
    "another object": Fault(body=b'{"error": "overloaded"}'),
    "resources of another form": Fault(body=b'{"@text": "Berlin", "Resources": {"a": 1}}'),
    "bytes": Fault(body=b"\xff\xfe\x00\xd8\x00"),
    "deep": Fault(body=b"[" * 100_000),
    "a damaged gzip": Fault(body=b"abc", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_goes_wrong_once_is_asked_again(server: SpotlightServer, fault: Fault) -> None:
    server.fail(fault)
    linker = linker_of(server, timeout=1 if fault.stall or fault.trickle else 5)
    assert link_one(linker, "In Berlin") == [("Berlin", "Berlin")]
    assert server.texts == ["In Berlin"] * 2
    assert len(linker.skipped) == 0


def test_an_answer_without_end_is_cut(server: SpotlightServer) -> None:
    linker = linker_of(server, retries=1)
    linker._service.largest = 2000
    for fault in (Fault(body=b" " * 3000), Fault(trickle=b" " * 3000)):
        server.seen.clear()
        server.fail(fault, fault)
        with pytest.raises(SynsetmineError, match="an answer of more than 2000 bytes"):
            linker.link(many(1))
        assert len(server.seen) == 2


def test_a_packed_answer_is_not_unpacked(server: SpotlightServer) -> None:
    """A few hundred bytes would be gigabytes in the memory."""
    bomb = gzip.compress(gzip.compress(bytes(20_000_000)))
    assert len(bomb) < 2000
    for packing in ("gzip", "gzip, gzip", "br", "zstd"):
        server.seen.clear()
        server.fail(*[Fault(body=bomb, headers={"Content-Encoding": packing})] * 2)
        message = f"a compressed answer, although none was requested: {packing} \\(2 attempts\\)"
        with pytest.raises(SynsetmineError, match=message):
            linker_of(server, retries=1).link(many(1))
        assert len(server.seen) == 2


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_nothing_of_a_failure_is_kept(
    server: SpotlightServer, fault: Fault, tmp_path: Path
) -> None:
    cache = tmp_path / "cache.sqlite"
    server.fail(fault)
    linker = linker_of(server, cache=cache, retries=0, timeout=1)
    with pytest.raises(SynsetmineError, match="document 'd0'"):
        linker.link(documents("In Berlin"))
    with closing(sqlite3.connect(cache)) as stored:
        assert stored.execute("SELECT count(*) FROM answers").fetchone() == (0,)
    assert link_one(linker, "In Berlin") == [("Berlin", "Berlin")]
    assert link_one(linker, "In Berlin") == [("Berlin", "Berlin")]
    assert len(server.seen) == 2


def test_a_redirect_to_itself_is_no_loop(server: SpotlightServer) -> None:
    server.always_fail("Berlin", Fault(status=307, headers={"Location": "/rest/annotate"}))
    with pytest.raises(
        SynsetmineError, match=r"307 .*redirects are not followed, this one to /rest"
    ):
        linker_of(server).link(many(1))
    assert len(server.seen) == 1


# --- Failures that stay -----------------------------------------------------------------------


def test_giving_up_says_where_what_and_how_to_go_on(
    server: SpotlightServer, tmp_path: Path
) -> None:
    server.always_fail("Berlin", HTML)
    cache = tmp_path / "spotlight.sqlite"
    with pytest.raises(SynsetmineError) as caught:
        linker_of(server, retries=2, cache=cache).link([Document("PMID:7", "About Berlin")])
    assert str(caught.value) == (
        f"{server.url}/annotate: document 'PMID:7': an answer that is not JSON: "
        "<html><h1>It works!</h1></html> (3 attempts); "
        f"the answers so far are in {cache}; run the same command again to continue"
    )
    assert len(server.seen) == 3
    with pytest.raises(SynsetmineError, match="are lost; a cache would keep them"):
        linker_of(server, retries=0).link(many(1))


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (Fault(status=500, body=b"a\n  b " + b"x" * 500), "500 Internal Server Error: a b xx"),
        (Fault(reset=True), "disconnected"),
        (Fault(stall=True), "timed out"),
        (Fault(trickle=b" "), "did not end in time"),
        (Fault(cut=10), "peer closed connection"),
    ],
    ids=["status", "reset", "stall", "trickle", "cut"],
)
def test_giving_up_says_what_came(server: SpotlightServer, fault: Fault, problem: str) -> None:
    server.always_fail("Berlin", fault)
    timeout = 0.2 if fault.stall or fault.trickle else 5
    with pytest.raises(SynsetmineError) as caught:
        linker_of(server, retries=1, timeout=timeout).link(many(1))
    assert problem in str(caught.value)
    assert "document 'd0'" in str(caught.value)
    assert len(str(caught.value)) < 500
    assert len(server.seen) == 2


def test_nobody_at_home() -> None:
    with SpotlightServer().start() as server:
        url = server.url
    with pytest.raises(SynsetmineError, match=r"document 'd0': .*refused.*\(3 attempts\)"):
        SpotlightLinker(url=url, retries=2, backoff=0.001).link(many(1))


@pytest.mark.parametrize("status", [401, 403, 404, 405, 410, 451])
def test_other_refusals_are_final(server: SpotlightServer, status: int) -> None:
    server.always_fail("Berlin", Fault(status=status, body=b"go away"))
    for skip in (False, True):
        server.seen.clear()
        with pytest.raises(SynsetmineError, match=f"document 'd0': {status} .*: go away;"):
            linker_of(server, skip_refused=skip, concurrency=1).link(many(20))
        assert len(server.seen) == 1  # nothing more is asked of a service that does not work


def test_redirects_are_not_followed(server: SpotlightServer) -> None:
    with SpotlightServer().start() as other:
        for status in (301, 302, 307, 308):
            headers = {"Location": f"{other.url}/annotate"}
            server.fail(Fault(status=status, headers=headers))
            with pytest.raises(SynsetmineError, match=f"{status} .* not followed.*{other.url}"):
                linker_of(server).link(many(1))
        assert other.seen == []
    assert len(server.seen) == 4


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [(Fault(status=400, body=JAVA), 1), (Fault(body=b'{"@text": f(x),'), 3)],
    ids=["exception", "broken JSON"],
)
def test_a_text_that_the_service_cannot_stand(
    server: SpotlightServer, tmp_path: Path, fault: Fault, attempts: int
) -> None:
    server.always_fail("sade", fault)
    texts = documents("In Berlin", "valle del sade, Berlin", "New York")
    cache = tmp_path / "cache.sqlite"
    with pytest.raises(SynsetmineError, match=r"'d1': .*; skip_refused=True leaves such texts out"):
        linker_of(server, retries=2, cache=cache).link(texts)
    server.seen.clear()
    linker = linker_of(server, retries=2, cache=cache, skip_refused=True)
    assert [len(mentions) for mentions in linker.link(texts)] == [1, 0, 1]
    assert server.texts.count("valle del sade, Berlin") == attempts
    assert linker.skipped.counts == {REFUSED: 1}
    assert "'d1: " in str(linker.skipped.examples[REFUSED][0])
    server.always_fail("sade", None)  # a better service is asked again
    assert [len(mentions) for mentions in linker.link(texts)] == [1, 1, 1]


def test_a_web_page_is_no_refusal(server: SpotlightServer) -> None:
    server.always_fail("Berlin", HTML)
    with pytest.raises(SynsetmineError, match="not JSON: <html>"):
        linker_of(server, retries=1, skip_refused=True).link(many(3))


def test_a_password_is_not_shown(server: SpotlightServer, tmp_path: Path) -> None:
    url = server.url.replace("http://", "http://me:secret@")
    cache = tmp_path / "cache.sqlite"
    linker_of(server, url=url, cache=cache).link(many(1))
    assert server.seen[0].headers["Authorization"].startswith("Basic ")
    server.always_fail("Berlin", Fault(status=404))
    with pytest.raises(SynsetmineError) as caught:
        linker_of(server, url=url, confidence=0.1).link(many(1))
    assert str(caught.value).startswith(f"{server.url}/annotate: ")
    assert "secret" not in str(caught.value)
