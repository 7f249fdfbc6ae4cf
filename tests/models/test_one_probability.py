"""f(S, t) has one value: in the trace of mining, in `score`, over HTTP and in exports."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from synsetmine.cli.inputs import ModelInputs, open_source
from synsetmine.io.sets import Decision, read_sets, read_trace
from synsetmine.review.web.answers import Answers, ModelAnswers
from synsetmine.review.web.api import ServerState, serving_app
from synsetmine.review.web.server import AccessPolicy
from synsetmine.runs.folder import Artefacts
from synsetmine.types import SynonymSets
from tests.cli.test_cli import synsetmine
from tests.support.worlds import write_text_world

ASKED = 12  # terms, each with its mined set


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_text_world(folder)
    synsetmine("run", "--until", "mine", cwd=folder)
    return folder / "run"


@pytest.fixture(scope="module")
def joined(run: Path) -> list[Decision]:
    """Random terms that joined a set."""
    decisions = [d for d in read_trace(Artefacts(run).trace) if d.action == "joined"]
    return random.Random(0).sample(decisions, min(ASKED, len(decisions)))


@pytest.fixture(scope="module")
def mined(run: Path) -> SynonymSets:
    return read_sets(Artefacts(run).mined)


@pytest.mark.slow
def test_score_is_the_trace(run: Path, mined: SynonymSets, joined: list[Decision]) -> None:
    assert joined
    for decision in joined[:3]:  # each call prepares the model anew
        members = [str(term) for term in mined.set_of(decision.term)]
        options = [option for member in members for option in ("--set", member)]
        scored = synsetmine("score", str(run), str(decision.term), *options, "--json").stdout
        (answer,) = json.loads(scored)
        assert answer["probability"] == pytest.approx(decision.probability, abs=1e-6)


def test_the_http_api_is_the_trace(run: Path, mined: SynonymSets, joined: list[Decision]) -> None:
    source = open_source(run, ModelInputs(), skip_bad=False)
    model = ModelAnswers(source.prepare(device="cpu"), source.stored.threshold)
    with TestClient(
        serving_app(ServerState(Answers(model=model)), AccessPolicy()), base_url="http://localhost"
    ) as web:
        for decision in joined:
            members = [str(term) for term in mined.set_of(decision.term)]
            query = {"set": members, "terms": [str(decision.term)]}
            (answer,) = web.get("/v1/score", params=query).json()["terms"]
            assert answer["probability"] == pytest.approx(decision.probability, abs=1e-6)


def test_an_export_is_the_trace(run: Path, joined: list[Decision], tmp_path: Path) -> None:
    synsetmine("export", str(run), "-f", "csv", "-o", str(tmp_path / "sets.csv"))
    with (tmp_path / "sets.csv").open(encoding="utf-8", newline="") as file:
        exported = {row["term"]: row["probability"] for row in csv.DictReader(file)}
    for decision in joined:
        value = float(exported[str(decision.term)])
        assert value == pytest.approx(decision.probability, abs=1e-4)
