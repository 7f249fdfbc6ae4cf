"""Linking by DBpedia Spotlight: what is asked, what is read, and the settings."""

from __future__ import annotations

import inspect
import json
import pickle
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import synsetmine
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.linking import Linker, spotlight
from synsetmine.linking.spotlight import (
    ELSEWHERE,
    NO_ENTITY,
    NOT_A_RESOURCE,
    Annotation,
    SpotlightLinker,
    pieces,
    read_annotation,
    title_of,
)
from synsetmine.types import Mention
from tests.support.faultyserver import Fault
from tests.support.spotlightlinks import documents, link_one, linker_of
from tests.support.spotlightserver import NAMES, SpotlightServer, answer, resource

quick = settings(max_examples=150, deadline=None)


pytestmark = pytest.mark.usefixtures("no_proxy")


@pytest.fixture
def server() -> Iterator[SpotlightServer]:
    with SpotlightServer().start() as running:
        yield running


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
    told = value.replace("key=1", "…") if isinstance(value, str) else value  # it may be secret
    assert repr(told) in str(caught.value)


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
    page = Path(__file__).parents[2] / "docs" / "how-to" / "spotlight.md"
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
