"""Addresses of others: where they may lead, and what of them is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError
from synsetmine.io.downloads import receive, redact
from synsetmine.linking.spotlight import SpotlightLinker
from synsetmine.pipeline.project import read_project
from synsetmine.pipeline.run import run_project
from synsetmine.runs.folder import StageRecord
from synsetmine.types import Document
from tests.support.paperfiles import FILES, LISTING, TEST, fetch
from tests.support.paperserver import Fault, PaperServer, row
from tests.support.spotlightserver import SpotlightServer

OUTSIDE = "93.184.216.34"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperServer]:
    monkeypatch.setenv("no_proxy", "*")
    with PaperServer({f"NYT/{name}": c for name, c in FILES.items()}).start() as running:
        yield running


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://example.org/a", "https://example.org/a"),
        ("https://me:secret@example.org:8/a@b", "https://example.org:8/a@b"),
        ("https://secret@example.org", "https://example.org"),
        ("https://a@b:secret@example.org/", "https://example.org/"),
        ("me:secret@example.org/a", "example.org/a"),
        ("https://example.org/a?token=secret#x", "https://example.org/a?…"),
        ("http://[secret@", "http://"),
        ("", ""),
    ],
)
def test_what_may_be_secret_is_not_shown(url: str, said: str) -> None:
    assert redact(url) == said


# --- Downloads --------------------------------------------------------------------------------


def test_redirects_have_an_end(server: PaperServer, tmp_path: Path) -> None:
    server.always_fail(LISTING, Fault(location=LISTING))
    with pytest.raises(DataError, match=r"302 .* infinite loop") as caught:
        fetch(server, tmp_path)
    assert "\n" not in str(caught.value)
    assert len(server.requests_to(LISTING)) <= 11


@pytest.mark.parametrize("size", [-1, 1 << 40])
def test_a_listing_cannot_fill_the_disk(server: PaperServer, tmp_path: Path, size: int) -> None:
    server.extra_rows = [row(TEST, b"", f"{server.root}/raw/x") | {"size": size}]
    with pytest.raises(DataError, match=rf"{TEST} is listed with {size} bytes"):
        fetch(server, tmp_path)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "..", "a/../../evil", "evil\0", "evil"])
def test_a_listing_names_no_files_of_its_own(
    server: PaperServer, tmp_path: Path, name: str
) -> None:
    server.extra_rows = [row(name, b"evil", f"{server.root}/raw/evil")]
    fetch(server, tmp_path / "cache")
    assert not [path for path in tmp_path.rglob("*") if "evil" in path.name]
    assert server.requests_to("/raw/evil") == []


def test_a_password_is_neither_sent_nor_reported(server: PaperServer, tmp_path: Path) -> None:
    with_password = server.home.replace("http://", "http://me:secret@")
    with pytest.raises(DataError, match="addresses with a user or password") as caught:
        fetch(server, tmp_path, home=with_password)
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="404") as caught:
        list(receive(f"{server.root}/none?token=secret", 100, 5))
    assert "secret" not in str(caught.value)


# --- Spotlight --------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_proxy")
def test_no_log_has_the_password_of_a_service(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with SpotlightServer().start() as server:
        url = server.url.replace("http://", "http://me:se%40cret@")
        SpotlightLinker(url=url, retries=0).link([Document("d", "In Berlin")])
        assert server.seen[0].headers["Authorization"] == "Basic bWU6c2VAY3JldA=="  # me:se@cret
    assert "POST" in caplog.text
    assert "cret" not in caplog.text


def test_a_wrong_address_of_a_service_is_reported_without_its_password() -> None:
    for url in ("ftp://me:secret@example.org/", "https://me:secret@example.org/?x=secret"):
        with pytest.raises(DataError, match="must be the http") as caught:
            SpotlightLinker(url=url)
        assert "secret" not in str(caught.value)


class Silent:
    """Watches a run and says nothing."""

    def on_start(self, stage: str) -> None: ...

    def progress(self, done: int, total: int, note: str = "") -> None: ...

    def on_finish(self, stage: str, record: StageRecord, *, skipped: bool) -> None: ...


def test_the_manifest_does_not_know_the_password(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("A heart attack is one.\n")
    (tmp_path / "kb.jsonl").write_text('{"id": "1", "name": "heart attack"}\n')
    (tmp_path / "synsetmine.toml").write_text(
        'corpus.path = "texts.txt"\nkb.path = "kb.jsonl"\n'
        '[link]\nurl = "https://me:secret@example.org/en"\n'
    )
    project = read_project(tmp_path / "synsetmine.toml")
    assert project.link.url == "https://me:secret@example.org/en"
    run_project(project, Silent(), engine=LocalEngine(1), until="link")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["stages"]["link"]["settings"]["url"] == "https://example.org/en"
    assert "secret" not in json.dumps(manifest)
