"""Linking by DBpedia Spotlight, against a real server that behaves as badly as the public one."""

from __future__ import annotations

import inspect
import json
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synsetmine
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.linking import Linker, service, spotlight
from synsetmine.linking.annotations import (
    ELSEWHERE,
    NO_ENTITY,
    NOT_A_RESOURCE,
    Annotation,
    read_annotation,
    title_of,
)
from synsetmine.linking.cache import open_cache
from synsetmine.linking.spotlight import REFUSED, SpotlightLinker, pieces
from synsetmine.types import Document, Mention
from tests.spotlightserver import NAMES, Fault, SpotlightServer, answer, resource, serve

quick = settings(max_examples=150, deadline=None)

HTML = Fault(body=b"<html><h1>It works!</h1></html>", kind="text/html")
JAVA = b"java.lang.StringIndexOutOfBoundsException: String index out of range: 4\n\tat x.Y"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def server() -> Iterator[SpotlightServer]:
    with serve() as running:
        yield running


def linker_of(server: SpotlightServer, **changed: Any) -> SpotlightLinker:
    values: dict[str, Any] = {"url": server.url, "per_second": 0, "backoff": 0.001, "timeout": 5}
    return SpotlightLinker(**values | changed)


def documents(*texts: str) -> list[Document]:
    return [Document(f"d{number}", text) for number, text in enumerate(texts)]


def found(text: str, mentions: tuple[Mention, ...]) -> list[tuple[str, str]]:
    return [(text[mention.start : mention.end], mention.entity) for mention in mentions]


def link_one(linker: SpotlightLinker, text: str) -> list[tuple[str, str]]:
    (mentions,) = linker.link(documents(text))
    return found(text, mentions)


def many(count: int) -> list[Document]:
    return documents(*(f"Text {number} about Berlin." for number in range(count)))


# --- What is asked and what is read -----------------------------------------------------------


def test_mentions_stand_where_the_text_names_their_entities(server: SpotlightServer) -> None:
    text = "From New York to Berlin, with Truffaut."
    linker: Linker = linker_of(server)
    linked = linker.link(documents(text, "Nothing here.", "Berlin"))
    assert linked[0] == (
        Mention(5, 13, "New York City"),
        Mention(17, 23, "Berlin"),
        Mention(30, 38, "François Truffaut"),
    )
    assert linked[1:] == [(), (Mention(0, 6, "Berlin"),)]


def test_the_request_is_a_form_with_all_settings(server: SpotlightServer) -> None:
    text = "Berlin & 100% München? a+b=c; " + "x" * 5000
    linker_of(server, url=f"{server.url}/", confidence=0.35, support=20).link(documents(text))
    (seen,) = server.seen
    assert seen.path == "/rest/annotate"
    assert seen.form == {"text": text, "confidence": "0.35", "support": "20"}
    assert seen.headers["Accept"] == "application/json"
    assert seen.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert seen.headers["User-Agent"] == f"synsetmine/{synsetmine.__version__}"


def test_entities_may_keep_their_addresses(server: SpotlightServer) -> None:
    linker = linker_of(server, entities="uri")
    assert link_one(linker, "New York") == [("New York", NAMES["New York"])]


@pytest.mark.parametrize(
    ("uri", "title"),
    [
        ("http://dbpedia.org/resource/Berlin", "Berlin"),
        ("http://de.dbpedia.org/resource/K%C3%B6ln", "Köln"),
        ("http://dbpedia.org/resource/Köln", "Köln"),
        ("http://dbpedia.org/resource/AC/DC", "AC/DC"),
        ("http://dbpedia.org/resource/Function_(mathematics)", "Function (mathematics)"),
        ("http://dbpedia.org/resource/100%25_(song)", "100% (song)"),
        ("http://dbpedia.org/resource/a%09_b%0A", "a b"),
        ("http://dbpedia.org/ontology/City", ""),
    ],
)
def test_titles(uri: str, title: str) -> None:
    assert title_of(uri) == title


def test_blank_texts_are_not_asked_about(server: SpotlightServer) -> None:
    assert linker_of(server).link(documents("", " \n", "...", "\x00")) == [()] * 4
    assert linker_of(server).link([]) == []
    assert server.seen == []


def test_the_same_text_is_asked_about_once(server: SpotlightServer) -> None:
    linked = linker_of(server).link(documents("Berlin", "x", "Berlin", "Berlin"))
    assert [len(mentions) for mentions in linked] == [1, 0, 1, 1]
    assert Counter(server.texts) == {"Berlin": 1, "x": 1}


def test_curly_apostrophes_come_back_straight(server: SpotlightServer) -> None:
    text = "She has Alzheimer’s disease."
    assert link_one(linker_of(server), text) == [("Alzheimer’s disease", "Alzheimer's disease")]


def test_what_utf8_and_xml_cannot_hold_is_sent_as_blanks(server: SpotlightServer) -> None:
    text = "\x00A\ud800\r\n\x0b\x1bBerlin\ufffe\ttoo\nNew York"
    linker = linker_of(server)
    assert [surface for surface, _ in link_one(linker, text)] == ["Berlin", "New York"]
    assert server.texts == [" A  \n  Berlin \ttoo\nNew York"]
    assert len(linker.skipped) == 0


def test_line_ends_may_come_back_as_blanks() -> None:
    body = json.dumps({"@text": "", "Resources": [resource(NAMES["New York"], "New York", 2)]})
    (mention,) = read_annotation(body.encode(), "a New\nYork").mentions
    assert (mention.start, mention.end) == (2, 10)


ASTRAL = st.lists(st.sampled_from([*NAMES, "😀", "𝔘", " ", "e", "\n", "’"]), max_size=12)


@given(ASTRAL, st.booleans())
@quick
def test_offsets_of_java_and_of_python_are_understood(words: list[str], java: bool) -> None:
    text = "".join(words)
    naive = sorted(
        (place, place + len(name), uri)
        for name, uri in NAMES.items()
        for place in range(len(text))
        if text.replace("’", "'").startswith(name, place)
    )
    if java:
        said = answer(text)
    else:
        resources = [resource(uri, text[start:end], start) for start, end, uri in naive]
        said = {"@text": text, "Resources": resources}
    annotation = read_annotation(json.dumps(said).encode(), text)
    assert sorted((m.start, m.end, m.entity) for m in annotation.mentions) == naive
    assert annotation.broken == ()


def test_resources_that_make_no_sense_are_left_out_and_counted(server: SpotlightServer) -> None:
    text = "In 1990 Berlin had 1.10 😀 Berlin"
    berlin = NAMES["Berlin"]
    good = [
        resource(berlin, "Berlin", 8),
        {"@URI": NAMES["1990"], "@surfaceForm": 1990, "@offset": 3},
        {"@URI": berlin, "@surfaceForm": 1.10, "@offset": "19"},
        resource(berlin, "Berlin", 8),  # twice
        resource(berlin, "Berlin", 27),
    ]
    shapeless: list[object] = [
        None,
        [],
        "Berlin",
        {},
        {"@URI": berlin, "@offset": "8"},
        resource(None, "Berlin", 8),
        resource(berlin, True, 8),
        resource(berlin, "", 8),
        resource(berlin, "Berlin", None),
    ]
    nowhere = [
        resource(berlin, "Berlin", offset)
        for offset in (0, 7, -8, "", "eight", "²", "8.0", "1e9", 33, 34, 10**9, "9" * 5000)
    ]
    strangers = [
        resource(uri, "Berlin", 8)
        for uri in ("", "Berlin", "http://dbpedia.org/ontology/City", "http://x.org/resource/_")
    ]
    strangers += [resource(f"http://x.org/resource/{name}", "Berlin", 8) for name in ("%FF", "a b")]
    said = {"@text": text, "Resources": shapeless + good + nowhere + strangers}
    body = json.dumps(said).replace("1.1,", "1.10,").encode()
    assert b"1.10," in body
    server.fail(Fault(body=body + b" "))
    linker = linker_of(server)
    assert link_one(linker, text) == [
        ("1990", "1990"),
        ("Berlin", "Berlin"),
        ("1.10", "Berlin"),
        ("Berlin", "Berlin"),
    ]
    assert linker.skipped.counts == {
        NOT_A_RESOURCE: len(shapeless),
        ELSEWHERE: len(nowhere),
        NO_ENTITY: len(strangers),
    }
    assert str(linker.skipped.examples[NO_ENTITY][2]).startswith(
        'not the address of an entity: \'d0: {"@URI": "http://dbpedia.org/ontology/City"'
    )
    assert len(server.seen) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["@text", "Resources", "@URI", "@surfaceForm", "@offset", "x"]), inner
        )
    ),
)


@given(JSON, st.lists(JSON, max_size=4), st.booleans())
@settings(max_examples=80, deadline=None)
def test_any_json_is_an_answer_or_an_error(whole: Any, resources: Any, shaped: bool) -> None:
    text = "a𝔘 1 null"
    said = {"@text": text, "Resources": resources} if shaped else whole
    try:
        annotation = read_annotation(json.dumps(said).encode(), text)
    except DataError:
        assert not shaped
        return
    assert Annotation.from_json(annotation.to_json()) == annotation
    if shaped:
        assert len(annotation.mentions) + len(annotation.broken) <= len(resources)


# --- Long texts -------------------------------------------------------------------------------


@given(st.text(st.sampled_from("ab.!?)' \n。😀"), max_size=200), st.integers(2, 30))
@quick
def test_pieces_are_short_and_add_up(text: str, longest: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spotlight, "LONGEST", longest)
        cut = list(pieces(text))
    assert "".join(piece for _, piece in cut) == text
    assert all(text.startswith(piece, start) for start, piece in cut)
    assert all(0 < len(piece) <= longest for _, piece in cut)
    assert all(len(piece) >= longest // 2 for _, piece in cut[:-1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Some words. More\n\nof them. Here", ["Some words. More\n\n", "of them. Here"]),
        ("A\n\nSome words. Are here, more", ["A\n\nSome words. ", "Are here, more"]),
        ("Some words are here. More of them", ["Some words are here. ", "More of them"]),
        ("Some words are here, more of them", ["Some words are here, ", "more of them"]),
        ("x" * 50, ["x" * 24, "x" * 24, "xx"]),
    ],
)
def test_a_text_is_cut_at_the_best_place(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: list[str]
) -> None:
    monkeypatch.setattr(spotlight, "LONGEST", 24)
    assert [piece for _, piece in pieces(text)] == expected


def test_offsets_of_long_texts_are_those_of_the_whole(server: SpotlightServer) -> None:
    text = " ".join(f"Sentence {n} 😀 goes to New York\nand Berlin." for n in range(800))
    linker = linker_of(server)
    linked = link_one(linker, text)
    assert linked == [("New York", "New York City"), ("Berlin", "Berlin")] * 800
    assert len(server.seen) == len(list(pieces(text))) > 3
    assert max(map(len, server.texts)) <= 8_000
    assert len(linker.skipped) == 0


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


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_what_goes_wrong_once_is_asked_again(server: SpotlightServer, fault: Fault) -> None:
    server.fail(fault)
    linker = linker_of(server, timeout=1 if fault.stall or fault.trickle else 5)
    assert link_one(linker, "In Berlin") == [("Berlin", "Berlin")]
    assert server.texts == ["In Berlin"] * 2
    assert len(linker.skipped) == 0


def test_an_answer_without_end_is_cut(
    server: SpotlightServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LARGEST", 2000)
    for fault in (Fault(body=b" " * 3000), Fault(trickle=b" " * 3000)):
        server.seen.clear()
        server.fail(fault, fault)
        with pytest.raises(SynsetmineError, match="an answer of more than 2000 bytes"):
            linker_of(server, retries=1).link(many(1))
        assert len(server.seen) == 2


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
        f"what was answered so far is in {cache}, and the same command goes on there"
    )
    assert len(server.seen) == 3
    with pytest.raises(SynsetmineError, match="is lost: with a cache it would be kept"):
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
    with serve() as server:
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
    with serve() as other:
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


# --- The cache --------------------------------------------------------------------------------


def test_what_is_in_the_cache_is_not_asked_again(server: SpotlightServer, tmp_path: Path) -> None:
    cache = tmp_path / "new" / "cache.sqlite"
    broken = answer("In Berlin") | {"Resources": [resource("?", "Berlin", 3)]}
    server.fail(Fault(body=json.dumps(broken).encode()))
    texts = documents("In Berlin", "New York 😀 Berlin", "Nothing", "w " * 9000)
    first = linker_of(server, cache=cache, concurrency=1)
    linked = first.link(texts)
    server.seen.clear()
    second = linker_of(server, cache=cache)
    assert second.link(texts) == linked
    assert second.link(list(reversed(texts))) == list(reversed(linked))
    assert server.seen == []
    assert first.skipped.counts == {NO_ENTITY: 1}
    assert second.skipped.counts == {NO_ENTITY: 2}
    assert str(second.skipped.examples[NO_ENTITY][0]) == str(first.skipped.examples[NO_ENTITY][0])
    by_address = linker_of(server, cache=cache, entities="uri").link(texts)
    assert [m.entity for m in by_address[1]] == [NAMES["New York"], NAMES["Berlin"]]
    assert server.seen == []
    assert [path.name for path in cache.parent.iterdir()] == ["cache.sqlite"]


@pytest.mark.parametrize("changed", [{"confidence": 0.4}, {"support": 1}, {"url": "other"}])
def test_other_settings_are_other_questions(
    server: SpotlightServer, tmp_path: Path, changed: dict[str, Any]
) -> None:
    cache = tmp_path / "cache.sqlite"
    linker_of(server, cache=cache).link(many(2))
    with serve() as other:
        if "url" in changed:
            changed = {"url": other.url}
        linker_of(server, cache=cache, **changed).link(many(2))
        assert len(server.seen) + len(other.seen) == 4


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_broken_run_goes_on_where_it_was(
    server: SpotlightServer, tmp_path: Path, concurrency: int
) -> None:
    cache = tmp_path / "cache.sqlite"
    texts = many(30)
    server.always_fail("Text 11 ", Fault(status=500, body=b"broken"))
    linker = linker_of(server, cache=cache, concurrency=concurrency, retries=0)
    with pytest.raises(SynsetmineError, match="document 'd11': 500"):
        linker.link(texts)
    answered = {seen.text for seen in server.seen if "Text 11 " not in seen.text}
    assert len(answered) == 11 if concurrency == 1 else len(answered) >= 8
    server.always_fail("Text 11 ", None)
    server.seen.clear()
    linked = linker.link(texts)
    assert Counter(server.texts) == {d.text: 1 for d in texts if d.text not in answered}
    assert all(len(mentions) == 1 for mentions in linked)


KILLED = """
import sys
from pathlib import Path
from synsetmine.linking.spotlight import SpotlightLinker
from synsetmine.types import Document
url, cache = sys.argv[1:]
linker = SpotlightLinker(url=url, cache=Path(cache), concurrency=1, per_second=0)
linker.link([Document(f"d{n}", f"Text {n} about Berlin.") for n in range(20)])
"""


def test_a_killed_run_goes_on_where_it_was(server: SpotlightServer, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    server.always_fail("Text 13 ", Fault(stall=True))
    process = subprocess.Popen([sys.executable, "-c", KILLED, server.url, str(cache)])
    try:
        while len(server.seen) < 14 and process.poll() is None:
            time.sleep(0.01)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    server.always_fail("Text 13 ", None)
    server.seen.clear()
    linked = linker_of(server, cache=cache).link(many(20))
    assert sorted(server.texts) == sorted(document.text for document in many(20)[13:])
    assert all(len(mentions) == 1 for mentions in linked)


WRITER = """
import sys
from pathlib import Path
from synsetmine.linking.cache import open_cache
for round in range(10):
    with open_cache(Path(sys.argv[1])) as cache:
        for number in range(10):
            cache.put(f"{sys.argv[2]}-{round}-{number}", "x" * 100)
"""


def test_processes_share_a_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(cache), str(n)]) for n in range(4)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    keys = [f"{n}-{r}-{i}" for n in range(4) for r in range(10) for i in range(10)] * 3
    with open_cache(cache) as opened:
        assert opened.get(keys) == dict.fromkeys(keys, "x" * 100)
        assert opened.get(["unknown"]) == {}


def test_a_damaged_cache_is_a_clear_error(server: SpotlightServer, tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    linker = linker_of(server, cache=cache)
    texts = documents(*(f"{number} {'Berlin ' * 300}" for number in range(40)))
    linker.link(texts)
    whole = cache.read_bytes()
    server.seen.clear()
    for content, problem in [
        (b"This is not a database, but long enough to be looked at." * 9, "not a database"),
        (whole[: len(whole) // 2], "malformed"),
        (whole[:4096] + b"\xa5" * (len(whole) - 4096), "malformed"),
    ]:
        cache.write_bytes(content)
        with pytest.raises(DataError, match=f"damaged cache .*{problem}.*delete it") as caught:
            linker.link(texts)
        assert str(caught.value).startswith(f"{cache}: ")
    assert server.seen == []
    cache.unlink()
    linker.link(texts)
    assert len(server.seen) == 40


@pytest.mark.parametrize("row", ["", "{}", "[]", "null", '{"mentions": [1], "broken": []}'])
def test_a_damaged_answer_is_a_clear_error(
    server: SpotlightServer, tmp_path: Path, row: str
) -> None:
    cache = tmp_path / "cache.sqlite"
    linker_of(server, cache=cache).link(many(1))
    connection = sqlite3.connect(cache)
    with connection:
        connection.execute("UPDATE answers SET answer = ?", (row,))
    connection.close()
    with pytest.raises(DataError, match="damaged cache"):
        linker_of(server, cache=cache).link(many(1))


def test_other_files_are_left_alone(server: SpotlightServer, tmp_path: Path) -> None:
    other = tmp_path / "places.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE places (name)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(DataError, match="another database"):
        linker_of(server, cache=other).link(many(1))
    assert other.read_bytes() == before
    with pytest.raises(DataError, match="cannot use this cache") as caught:
        linker_of(server, cache=tmp_path).link(many(1))
    assert caught.value.path == tmp_path
    with pytest.raises(DataError, match="cannot use this cache"):
        linker_of(server, cache=other / "cache").link(many(1))
    assert server.seen == []


# --- Settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", "ftp://example.org"),
        ("url", "example.org/rest"),
        ("url", "https://"),
        ("url", "https://example.org/?key=1"),
        ("url", "https://example.org/a b"),
        ("url", "https://example.org:port/"),
        ("url", "https://[::1/"),
        ("url", ""),
        ("confidence", 1.1),
        ("confidence", -0.1),
        ("confidence", float("nan")),
        ("support", -1),
        ("entities", "id"),
        ("concurrency", 0),
        ("per_second", -1),
        ("per_second", float("inf")),
        ("timeout", 0),
        ("timeout", float("inf")),
        ("retries", -1),
        ("backoff", -1),
        ("backoff", float("nan")),
    ],
)
def test_settings_are_checked(name: str, value: object) -> None:
    with pytest.raises(DataError, match=f"{name} must") as caught:
        SpotlightLinker(**{name: value})  # type: ignore[arg-type]
    assert repr(value) in str(caught.value)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(SynsetmineError, match=r"pip install 'synsetmine\[spotlight\]'"):
        SpotlightLinker()


def test_it_does_not_travel_to_other_processes() -> None:
    with pytest.raises(SynsetmineError, match="one process only"):
        pickle.dumps(SpotlightLinker())


def test_the_page_tells_the_truth(
    server: SpotlightServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = Path(__file__).parents[1] / "docs" / "how-to" / "spotlight.md"
    text = page.read_text("utf-8")
    code, shown = re.findall(r"^```(?:python)?\n(.*?)^```", text, re.M | re.S)[:2]
    monkeypatch.chdir(tmp_path)
    exec(code.replace("http://localhost:2222/rest", server.url), {})
    assert capsys.readouterr().out == shown
    assert (tmp_path / "spotlight.sqlite").exists()
    listed = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.M))
    signature = inspect.signature(SpotlightLinker).parameters
    assert list(listed) == list(signature)
    for name, cell in listed.items():
        words = {"None": "none", "False": "no", "title": '"title"'}
        default = str(signature[name].default)
        assert cell.strip("`") == words.get(default, default).removesuffix(".0"), name
    assert f"{spotlight.LONGEST:,} characters" in text
