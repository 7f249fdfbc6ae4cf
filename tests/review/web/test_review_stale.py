"""The review page after a restart: decisions on sets that were not shown, reviews that are gone."""

from __future__ import annotations

import html
import json
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from synsetmine.review import ReviewStore
from synsetmine.review.web.routes import reviewing_app
from synsetmine.review.web.server import AccessPolicy
from synsetmine.review.web.session import ReviewSession
from tests.review.web.test_review import alert, decisions, reviewing, title
from tests.support.webserver import Sets, Visitor, hidden_field, serve, write_run

FORM = re.compile(r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', re.S)
FIELD = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
FIRST: Sets = {"s1": {"aspirin": None, "acetylsalicylic acid": 0.72}, "s2": {"a": None, "b": 0.8}}
OTHER: Sets = {"s1": {"aspirin": None, "ibuprofen": 0.72}, "s2": {"a": None, "b": 0.8}}


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def server(run: Path, port: int) -> Iterator[str]:
    with serve(reviewing_app(ReviewSession(run), AccessPolicy(), title=run.name), port) as address:
        yield address


def press(visitor: Visitor, page: str, button: str) -> httpx.Response:
    """Send the form of a button with the fields that its page has."""
    for action, content in FORM.findall(page):
        if f'id="{button}"' in content:
            fields: dict[str, str | list[str]] = {
                name: html.unescape(value) for name, value in FIELD.findall(content)
            }
            value = re.search(rf'name="act" value="([^"]*)" id="{button}"', content)
            if value:
                fields["act"] = value[1]
            return visitor.client.post(action, data={"scope": "exact", **fields})
    raise AssertionError(button)


BUTTONS = ("accept", "reject", "unsure", "correct-1", "remove-1", "rename-1")


@pytest.mark.parametrize("button", BUTTONS)
def test_only_what_was_shown_is_decided(tmp_path: Path, port: int, button: str) -> None:
    """The server is started for another run on the same port, and the old tab is still open."""
    first, other = write_run(tmp_path / "a", FIRST, {}), write_run(tmp_path / "b", OTHER, {})
    with server(first, port) as address:
        ada = Visitor(address)
        page = ada.open(set="s1")
    with server(other, port):
        answer = press(ada, page, button)
        assert answer.status_code == 409
        assert alert(answer.text).startswith(
            "The set on your page differs from the one on the server"
        )
        assert "was not recorded" in alert(answer.text)
        assert title(answer.text) == "aspirin"
        assert "ibuprofen" in answer.text  # the set as it is now
        assert decisions(other) == []
        assert press(ada, answer.text, button).status_code == 200
    assert len(decisions(other)) == 1
    assert decisions(other)[0].members == ("aspirin", "ibuprofen")
    ada.close()


def test_a_run_that_was_mined_anew(tmp_path: Path, port: int) -> None:
    run = write_run(tmp_path / "run", FIRST, {})
    with server(run, port) as address:
        ada = Visitor(address)
        page = ada.open(set="s1")
    write_run(run, OTHER, {})
    with server(run, port):
        assert press(ada, page, "accept").status_code == 409
    assert decisions(run) == []
    ada.close()


def test_the_same_set_after_a_restart_is_decided(tmp_path: Path, port: int) -> None:
    run = write_run(tmp_path / "run", FIRST, {})
    with server(run, port) as address:
        ada = Visitor(address)
        page = ada.open(set="s1")
    with server(run, port):
        assert press(ada, page, "accept").status_code == 200
    assert [d.terms for d in decisions(run)] == [("aspirin", "acetylsalicylic acid")]
    ada.close()


def test_both_sets_of_a_merge_were_shown(tmp_path: Path, port: int) -> None:
    sets: Sets = {"s1": {"heart attack": None, "x": 0.5}, "s2": {"heart": None, "y": 0.8}}
    changed: Sets = {"s1": {"heart attack": None, "x": 0.5}, "s2": {"heart": None, "z": 0.8}}
    first, other = write_run(tmp_path / "a", sets, {}), write_run(tmp_path / "b", changed, {})
    with server(first, port) as address:
        ada = Visitor(address)
        page = ada.open(set="s1", find="heart")
    with server(other, port):
        answer = press(ada, page, "merge-1")
        assert answer.status_code == 409
        assert "differs from the one on the server" in alert(answer.text)
    assert decisions(other) == []
    ada.close()


def test_judgements_that_were_not_shown(tmp_path: Path, port: int) -> None:
    """The terms are the same, but in the other run somebody has called one of them incorrect."""
    first, other = write_run(tmp_path / "a", FIRST, {}), write_run(tmp_path / "b", FIRST, {})
    with server(first, port) as address:
        ada = Visitor(address)
        page = ada.open(set="s1")
    with server(other, port) as address:
        bob = Visitor(address, "Bob")
        bob.open(set="s1")
        bob.decide("incorrect", "s1", term="aspirin")
        answer = press(ada, page, "accept")
        assert answer.status_code == 409
        assert "Bob called “aspirin” incorrect" in alert(answer.text)
        bob.close()
    assert [d.reviewer for d in decisions(other)] == ["Bob"]
    ada.close()


def test_a_page_of_a_longer_log_is_of_another_run(tmp_path: Path, port: int) -> None:
    first, other = write_run(tmp_path / "a", FIRST, {}), write_run(tmp_path / "b", FIRST, {})
    with server(first, port) as address:
        ada = Visitor(address)
        ada.open(set="s2")
        ada.decide("accept", "s2")
        page = ada.open(set="s1")
    with server(other, port):
        assert press(ada, page, "accept").status_code == 409
    assert decisions(other) == []
    ada.close()


def test_only_the_decision_that_was_shown_is_taken_back(tmp_path: Path, port: int) -> None:
    first, other = write_run(tmp_path / "a", FIRST, {}), write_run(tmp_path / "b", FIRST, {})
    with server(first, port) as address:
        ada = Visitor(address)
        ada.open(set="s2")
        ada.decide("accept", "s2")
        page = ada.open(set="s1")
    with server(other, port) as address:
        again = Visitor(address)
        again.open(set="s1")
        again.decide("reject", "s1")
        answer = press(ada, page, "undo")
        assert answer.status_code == 409
        assert alert(answer.text).startswith("Your last decision is not the one on your page")
        assert press(ada, answer.text, "undo").status_code == 200
        again.close()
    assert [d.kind for d in decisions(other)] == ["reject", "undo"]
    ada.close()


@pytest.mark.parametrize("shown", ["", "0" * 32, "ä", None])
def test_a_form_without_the_right_hash(tmp_path: Path, shown: str | None) -> None:
    run = write_run(tmp_path / "run", FIRST, {})
    with reviewing(run) as visit:
        ada = visit()
        given = {} if shown is None else {"shown": shown}
        answer = ada.send("/decide", act="accept", set="s1", seen="0", scope="exact", **given)
        assert answer.status_code == 409
    assert decisions(run) == []


# --- Reviews that are gone --------------------------------------------------------------------


@pytest.mark.parametrize("change", ["deleted", "replaced", "folder deleted", "folder replaced"])
def test_reviews_that_are_gone_are_reported(tmp_path: Path, change: str) -> None:
    run = write_run(tmp_path / "run", FIRST, {})
    with reviewing(run) as visit:
        ada = visit()
        ada.open(set="s2")
        assert ada.decide("accept", "s2").status_code == 200
        page = ada.open(set="s1")
        if change == "deleted":
            (run / "reviews.sqlite").unlink()
        elif change == "replaced":
            ReviewStore(run / "other.sqlite").close()
            (run / "other.sqlite").rename(run / "reviews.sqlite")
        else:
            shutil.move(run, tmp_path / "moved")
            if change == "folder replaced":
                write_run(run, FIRST, {})
                ReviewStore(run / "reviews.sqlite").close()
        for button in ("accept", "undo"):
            answer = press(ada, page, button)
            assert answer.status_code == 503
            assert "reviews.sqlite was deleted or replaced" in answer.text
            assert "no longer records decisions" in answer.text
            assert "reviewed</p>" not in answer.text  # no progress that would be wrong
        assert ada.client.get("/").status_code == 503
    if change.endswith("replaced"):
        assert decisions(run) == []
        assert not list(run.glob("*-journal"))


def test_the_hash_is_in_every_form(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    with reviewing(run) as visit:
        page = visit().open(set="D009203", find="heart")
        forms = [content for action, content in FORM.findall(page) if action == "/decide"]
        assert len(forms) > 5
        assert {hidden_field(form, "shown") for form in forms} == {hidden_field(page, "shown")}
        merges = [form for form in forms if 'value="merge"' in form]
        assert merges
        assert all(
            hidden_field(form, "shown_other") != hidden_field(page, "shown") for form in merges
        )
        assert json.loads(f'"{hidden_field(page, "shown")}"').isalnum()
