"""`synsetmine serve` and `synsetmine review` as processes: ports, tokens, errors, their end."""

from __future__ import annotations

import html
import json
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from synsetmine.cli import app
from synsetmine.errors import SynsetmineError
from synsetmine.models import StoredModel, save_model
from synsetmine.runs.folder import Artefacts
from synsetmine.views import write_vectors
from tests.cli.test_project import synsetmine
from tests.models.paper.test_classifier import VECTORS, make_scorer
from tests.support.webserver import start_server, write_run


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYNSETMINE_TOKEN", raising=False)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a model that knows terms of its own."""
    folder = write_run(tmp_path_factory.mktemp("runs") / "run")
    at = Artefacts(folder)
    save_model(at.model, StoredModel(make_scorer(), 0.5, {}))
    write_vectors(at.vectors, VECTORS)
    with at.mined.open("a") as stream:
        stream.write(json.dumps({"id": "c0", "terms": list(map(str, VECTORS.terms))}) + "\n")
    return folder


def get(address: str, path: str, **headers: str) -> httpx.Response:
    with httpx.Client(trust_env=False, base_url=address, timeout=60) as client:
        return client.get(path, headers=headers)


@pytest.mark.slow
def test_a_run_is_served(run: Path) -> None:
    with start_server("serve", str(run)) as address:
        assert get(address, "/v1/expand?term=aspirin").json()["synonyms"]
        assert get(address, "/v1/rank?set=name||sense 1").json()["terms"]
        health = get(address, "/v1/health").json()
    assert health["mined"] == {"sets": 7, "terms": 26}
    assert health["model"] == {"terms": 12, "threshold": 0.5}


def test_sets_only(run: Path) -> None:
    with start_server("serve", str(run), "--sets-only") as address:
        assert get(address, "/v1/rank?set=aspirin").status_code == 501


@pytest.mark.slow
def test_a_bare_model_is_served(run: Path) -> None:
    at = Artefacts(run)
    with start_server("serve", str(at.model), "--vectors", str(at.vectors)) as address:
        found = get(address, "/v1/expand?term=name||sense 1&least=0&top=100").json()
        assert len(found["synonyms"]) == 11


def test_a_run_is_reviewed(run: Path) -> None:
    with start_server("review", str(run), "--no-open") as address:
        page = httpx.get(address, follow_redirects=True, timeout=60)
        assert "Who reviews?" in page.text


def test_a_wider_host_prints_its_token(run: Path) -> None:
    with start_server("review", str(run), "--no-open", "--host", "0.0.0.0", token=True) as address:
        plain, _, token = address.partition("?token=")
        assert plain.startswith("http://127.0.0.1:")
        assert len(token) >= 32
        assert get(plain, "/reviewer").status_code == 401
        with httpx.Client(follow_redirects=True, trust_env=False, timeout=60) as client:
            page = client.get(address)
            assert page.url.path.endswith("/reviewer")
            assert "Who reviews?" in page.text
            assert "token" not in str(page.url)
            assert token not in str(page.url)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("review", "--no-open"), ("serve", "--sets-only")])
def test_a_token_is_asked_for_by_default(run: Path, command: tuple[str, str]) -> None:
    tokens = []
    for _ in range(2):
        with start_server(command[0], str(run), command[1], token=True) as address:
            plain, _, token = address.partition("?token=")
            for path in ("/", "/reviewer", "/v1/health", "/static/review.css"):
                assert get(plain, path).status_code == 401
            assert httpx.post(f"{plain}decide", data={"act": "accept"}).status_code == 401
            with httpx.Client(follow_redirects=True, trust_env=False, timeout=60) as client:
                assert client.get(address).status_code == 200
            tokens.append(token)
    assert len(set(tokens)) == 2  # new at each start
    assert all(len(token) >= 32 for token in tokens)


@pytest.mark.slow
def test_without_a_token_if_one_wants_none(run: Path) -> None:
    with start_server("serve", str(run), "--sets-only") as address:
        assert "token" not in address
        assert get(address, "/v1/health").status_code == 200
    for options, problem in (
        (("--token", "x" * 16), "give either --no-token or a token (--token, SYNSETMINE_TOKEN)"),
        (("--host", "0.0.0.0"), "--no-token is for 127.0.0.1 only, not for --host 0.0.0.0"),
    ):
        said = synsetmine(run, "serve", ".", "--no-token", *options, code=1)
        assert said == f"synsetmine: error: {problem}\n"


def test_a_token_with_any_characters(run: Path) -> None:
    token = "a+b/c==&#?% ;\\xyz"
    with start_server(
        "review", str(run), "--no-open", token=True, SYNSETMINE_TOKEN=token
    ) as address:
        with httpx.Client(follow_redirects=True, trust_env=False, timeout=60) as client:
            assert "Who reviews?" in client.get(address).text
            assert "Who reviews?" in client.get(str(client.get(address).url)).text
        plain = address.partition("?")[0]
        assert get(plain, "/reviewer", authorization=f"Bearer {token}").status_code == 200


def test_the_token_is_not_in_the_list_of_processes(run: Path, tmp_path: Path) -> None:
    """Everybody on the machine can see the arguments of the browser."""
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f'#!/bin/sh\nprintf %s "$*" > {told}.part && mv {told}.part {told}\n')
    browser.chmod(0o700)
    with start_server("review", str(run), token=True, BROWSER=str(browser)) as address:
        token = address.partition("?token=")[2]
        until = time.monotonic() + 20
        while not told.exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        opened = told.read_text()
        assert token not in opened
        assert opened.startswith("file:///")
        page = Path(unquote(urlsplit(opened).path))
        assert f"url={html.escape(address)}" in page.read_text()
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert not page.parent.exists()


def test_a_token_of_ones_own(run: Path) -> None:
    token = "correct-horse-battery"
    sets_only = "serve", str(run), "--sets-only"
    with start_server(*sets_only, token=True, SYNSETMINE_TOKEN=token) as address:
        plain = address.partition("?")[0]
        assert get(plain, "/v1/health").status_code == 401
        assert get(plain, "/v1/health", authorization=f"Bearer {token}").status_code == 200
    said = synsetmine(run, "serve", ".", "--token", "short", code=1)
    assert said == "synsetmine: error: a token needs 16 characters or more\n"


def test_a_port_that_is_taken_is_one_line(run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for command in ("serve", "review"):
            said = synsetmine(run, command, ".", "--port", port, code=1)
            expected = f"port {port} of 127.0.0.1 is taken; --port 0 picks a free one"
            assert said == f"synsetmine: error: {expected}\n"


def test_folders_that_are_no_runs(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()

    def error(*arguments: str) -> str:
        found = CliRunner().invoke(app, [*arguments, "--port", "0"]).exception
        assert isinstance(found, SynsetmineError)
        return str(found)

    assert "empty: not a run folder with mined sets; `synsetmine run` writes one" in error(
        "review", "empty"
    )
    assert "empty contains no finished model" in error("serve", "empty")
    assert "nowhere: no such folder; name a model" in error("serve", "nowhere")
    assert "--sets-only needs a run folder; empty is not one" in error(
        "serve", "empty", "--sets-only"
    )
    said = error("serve", str(run), "--vectors", "x.txt")
    assert "--vectors, --encoder and --vocabulary need a model folder; a run has its own" in said
    said = error("serve", str(Artefacts(run).model))
    assert "no terms to mine; give --vocabulary or --vectors" in said


def test_reviews_that_are_something_else(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    (copy / "reviews.sqlite").write_text("something else " * 100)
    said = synsetmine(copy, "review", ".", "--port", "0", code=1)
    _, line = said.splitlines()
    assert line.startswith("synsetmine: error: reviews.sqlite: cannot use these reviews")


def test_without_the_packages_there_is_a_hint(run: Path) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from synsetmine.cli import main; main()"
    for command in ("serve", "review"):
        done = subprocess.run(
            [sys.executable, "-c", code, command, str(run)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        expected = "uvicorn is not installed; pip install 'synsetmine[web]'"
        assert done.stderr == f"synsetmine: error: {expected}\n"


def test_a_browser_is_opened_where_it_has_a_window(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)

    def listen(*_: object, on_ready: Callable[[str], None], **__: object) -> None:
        on_ready("http://127.0.0.1:1/")

    monkeypatch.setattr("synsetmine.cli.review.listen_and_serve", listen)
    CliRunner().invoke(app, ["review", str(run)], catch_exceptions=False)
    monkeypatch.setenv("DISPLAY", ":0")
    CliRunner().invoke(app, ["review", str(run), "--no-open"], catch_exceptions=False)
    assert opened == []
    CliRunner().invoke(app, ["review", str(run)], catch_exceptions=False)
    until = time.monotonic() + 5
    while not opened and time.monotonic() < until:
        time.sleep(0.01)
    assert opened == ["http://127.0.0.1:1/"]
