"""Model folders in the layout of the Hugging Face hub, and models that it serves."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from safetensors import safe_open

from synsetmine import TermViews, generate_sets, group
from synsetmine.errors import ModelError
from synsetmine.integrations.hub import from_pretrained, save_pretrained
from synsetmine.models import StoredModel
from synsetmine.models.general import load_general
from synsetmine.types import Term
from tests.support.localserver import LocalServer

NAMES = ["heart failure", "failure, heart", "lung cancer"]
COMMIT = "1" * 40


@pytest.fixture(scope="module")
def model() -> StoredModel:
    return StoredModel(load_general(), 0.4, {"note": "as it comes"})


@pytest.fixture(scope="module")
def folder(model: StoredModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub") / "disease-names"
    save_pretrained(model, folder, licence="apache-2.0", language="en")
    return folder


def test_the_folder_has_weights_a_config_and_a_card(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names == {"config.json", "model.safetensors", "README.md"}
    card = ModelCard.load(folder / "README.md")
    card.data.to_yaml()
    assert card.data.library_name == "synsetmine"
    assert (card.data.license, card.data.language) == ("apache-2.0", ["en"])
    assert "synonyms" in (card.data.tags or [])
    assert "# disease-names" in card.text
    with safe_open(folder / "model.safetensors", "numpy") as weights:
        assert [*weights.keys()]


def test_a_model_is_loaded_again(folder: Path, model: StoredModel) -> None:
    loaded = from_pretrained(folder)
    assert (loaded.kind, loaded.threshold) == (model.kind, model.threshold)
    assert loaded.training == model.training
    terms = [*map(Term, NAMES)]
    mined = generate_sets(from_pretrained(str(folder)), TermViews(strings=True), terms)
    assert mined.sets.labels(terms) == [0, 0, 1]


def test_a_card_that_is_there_is_kept(folder: Path, model: StoredModel, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("written by hand")
    save_pretrained(model, tmp_path)
    assert (tmp_path / "README.md").read_text() == "written by hand"
    assert from_pretrained(tmp_path).kind == model.kind


def test_nothing_is_asked_for_a_path_that_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        from_pretrained(tmp_path / "model")
    with pytest.raises(ModelError, match="contains no finished model"):
        from_pretrained(tmp_path)


class Hub(LocalServer):
    """What the hub answers to `snapshot_download` of a public model."""

    def __init__(self, folder: Path) -> None:
        super().__init__(_Handler)
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.files["train.py"] = b"raise SystemExit"
        self.sent: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if path.startswith("/api/models/curators/disease-names"):
            entries = [
                {"type": "file", "path": file, "rfilename": file, "size": len(content), "oid": file}
                for file, content in self.server.files.items()
            ]
            about = {"id": "curators/disease-names", "sha": COMMIT, "siblings": entries}
            body = json.dumps(entries if "/tree/" in path else about).encode()
        elif path == f"/curators/disease-names/resolve/{COMMIT}/{name}":
            body = self.server.files[name]
            if with_body:
                self.server.sent.append(name)
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@contextmanager
def hub(folder: Path) -> Iterator[Hub]:
    with Hub(folder).start() as server:
        yield server


LOAD = """
import sys
from synsetmine.integrations.hub import from_pretrained
print(from_pretrained(sys.argv[1], cache=sys.argv[2]).threshold)
"""


@pytest.mark.slow
def test_a_model_of_the_hub_is_fetched_once_and_checked(folder: Path, tmp_path: Path) -> None:
    """In a process of its own, since the package reads its address when it is imported."""
    with hub(folder) as server:
        for _ in range(2):
            done = load(server, tmp_path)
            assert (done.returncode, done.stdout) == (0, "0.4\n"), done.stderr
        assert sorted(server.sent) == ["config.json", "model.safetensors"]  # and no other file
        config = server.files["config.json"].replace(b'"threshold": 0.4', b'"threshold": 4')
        server.files["config.json"] = config
        done = load(server, tmp_path / "other")
        assert done.returncode != 0
        assert "the threshold is not a probability" in done.stderr


@pytest.mark.slow
def test_a_repository_that_the_hub_lacks_is_a_clear_error(folder: Path, tmp_path: Path) -> None:
    with hub(folder) as server:
        done = load(server, tmp_path, "curators/others")
    assert done.returncode != 0
    problem = "ModelError: curators/others is no folder, and the Hugging Face hub does not send it"
    assert problem in done.stderr.splitlines()[-1]


def test_a_loaded_model_groups_names(folder: Path) -> None:
    assert group(NAMES, model=from_pretrained(folder)).sets == group(NAMES).sets


def load(
    server: Hub, cache: Path, name: str = "curators/disease-names"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOAD, name, str(cache)],
        env={
            **os.environ,
            "HF_ENDPOINT": server.root,
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1",
            "HF_HOME": str(cache),
        },
        capture_output=True,
        text=True,
        check=False,
    )
