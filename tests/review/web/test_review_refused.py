"""The review page over HTTP: who reviews, and what is refused."""

from __future__ import annotations

import html
from pathlib import Path

import httpx
import pytest

from synsetmine.review.web.pages import format_position
from tests.review.web.test_review import alert, decisions, listed, reviewing, title
from tests.support.findings import NASTY
from tests.support.webserver import Sets, hidden_field, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


def test_the_name_is_asked_once(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit("Ada  Lovelace ")
        assert "<bdi>Ada Lovelace</bdi>" in ada.page.text
        ada.client.cookies.delete(f"synsetmine_reviewer_{ada.client.base_url.port}")
        assert ada.client.get("/").url.path == "/reviewer"
        assert ada.decide("accept", "s1").url.path == "/reviewer"
    assert decisions(run) == []


@pytest.mark.parametrize(
    ("name", "orcid", "said"),
    [
        ("", "", "A name has 1 to 100 characters."),
        ("x" * 101, "", "A name has 1 to 100 characters."),
        ("Ada", "0000-0002-1825-0098", "Expected an orcid such as 0000-0002-1825-0097."),
        ("Ada", "x", "Expected an orcid such as 0000-0002-1825-0097."),
    ],
)
def test_names_that_are_none(run: Path, name: str, orcid: str, said: str) -> None:
    with reviewing(run) as visit:
        answer = visit(name, orcid).page
        assert answer.status_code == 400
        assert alert(answer.text).lower() == said.lower()
        assert f'value="{orcid}"' in answer.text


# --- What is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"act": "burn"}, "act must be one of accept, reject"),
        ({"act": ""}, "act must be one of accept, reject"),
        ({"act": "accept", "set": "s99"}, "there is no such set: 's99'"),
        ({"act": "accept", "seen": "x"}, "seen must be a number: 'x'"),
        ({"act": "correct", "scope": "wide", "term": "aspirin"}, "scope must be one of exact"),
        ({"act": "correct"}, "judge needs a term: 's1'"),
        ({"act": "correct", "term": "fever"}, "the set has no such term: 'fever'"),
        ({"act": "remove", "term": "||"}, "a term needs a surface"),
        ({"act": "split"}, "split needs a term"),
        ({"act": "split", "term": ["aspirin", "acetylsalicylic acid"]}, "split must leave a term"),
        ({"act": "merge", "other": "s1"}, "merge needs another set: 's1'"),
        ({"act": "merge", "other": "s99"}, "there is no such set: 's99'"),
    ],
)
def test_a_form_that_makes_no_sense(run: Path, fields: dict[str, str], said: str) -> None:
    with reviewing(run) as visit:
        ada = visit()
        given = {"set": "s1", "seen": "0", "scope": "exact", **fields}
        answer = ada.send("/decide", **given)
        assert answer.status_code == 400
        assert alert(answer.text).startswith(said)
    assert decisions(run) == []


def test_a_form_needs_its_token(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit()
        for token in ("", "wrong", "ä"):
            ada.token = token
            answer = ada.send("/decide", act="accept", set="s1", seen="0")
            assert answer.status_code == 403
            assert "this form is not from a page of this server" in answer.text
        elsewhere = httpx.post(f"{ada.client.base_url}/decide", data={"act": "accept"})
        assert elsewhere.status_code == 403
    assert decisions(run) == []


def test_pages_that_are_none_and_bodies_that_are_too_large(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit()
        for address in ("/nothing", "/static/nothing.css", "/static/../pages.py", "/static/"):
            assert ada.client.get(address).status_code == 404, address
        answer = ada.send("/decide", note="x" * 2**20)
        assert answer.status_code == 413
        assert "the body may have 1,048,576 bytes at most" in answer.text
        assert ada.client.get("/decide").status_code == 405
        body = b"form_token=%ff&x=1"
        headers = {"content-type": "application/x-www-form-urlencoded"}
        assert ada.client.post("/decide", content=body, headers=headers).status_code == 403
        many = "&".join(["a=1"] * 10_001)
        answer = ada.client.post("/decide", content=many, headers=headers)
        assert answer.status_code == 400
        assert "this form cannot be read" in answer.text


@pytest.mark.parametrize("text", NASTY)
def test_hostile_terms_are_text(tmp_path: Path, text: str) -> None:
    sets: Sets = {text: {text: None, "plain": 0.4}}
    run = write_run(tmp_path / "run", sets, {}, texts=[f"Here is {text} and plain again."])
    with reviewing(run) as visit:
        ada = visit("Ada")
        page = ada.open()
        assert title(page) == text
        assert listed(page) == [text]
        assert page.count("<script") == 1  # our own
        ada.decide("correct", html.unescape(hidden_field(page, "set")), term=text)
        assert ada.page.status_code == 200
        assert ada.open(q=text, find=text, set=text, after=format_position((0.1, text)))
    assert decisions(run)[0].terms == (text,)
