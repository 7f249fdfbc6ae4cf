"""The answers of a server over a real run: 3,000 abstracts of MEDLINE with MeSH."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

from synsetmine.cli.inputs import ModelInputs
from synsetmine.cli.server import open_answers
from synsetmine.engines import LocalEngine
from synsetmine.kb import KnowledgeBase
from synsetmine.normalization import normal_form
from synsetmine.pipeline.project import write_project
from synsetmine.pipeline.run import run_project
from synsetmine.review.web.api import SearchPage, ServerState, serving_app
from synsetmine.review.web.server import AccessPolicy
from synsetmine.runs.folder import Artefacts
from tests.conftest import BENCHMARKS
from tests.review.web.test_serving import checked
from tests.support.webserver import serve

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = BENCHMARKS / "medline"
    if not data.is_dir():
        pytest.skip("MEDLINE and MeSH are not at hand")
    folder = tmp_path_factory.mktemp("medline")
    with (
        gzip.open(data / "corpus.jsonl.gz") as whole,
        (folder / "corpus.jsonl").open("wb") as part,
    ):
        part.writelines(islice(whole, 3000))
    project = folder / "synsetmine.toml"
    write_project(project, corpus="corpus.jsonl", kb=str(data / "mesh.jsonl.gz"), run="run")
    run_project(project, engine=LocalEngine(1), until="mine")
    return folder / "run"


@pytest.fixture(scope="module")
def client(run: Path) -> Iterator[httpx.Client]:
    answers = open_answers(run, ModelInputs(), False, "cpu", skip_bad=False)
    service = ServerState(answers, SearchPage(answers, run))
    with (
        serve(serving_app(service, AccessPolicy())) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        yield client


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    return checked(client.get(path, params=query)).json()


def forms(names: list[str]) -> set[str]:
    return {normal_form(name).casefold() for name in names}


@pytest.mark.parametrize(
    ("texts", "entity"),
    [
        (("aspirin", "Aspirin", "ASPIRIN", "acetylsalicylic acid"), "D001241"),
        (("heart attack", "Heart-Attack", "heart_attacks", "myocardial infarction"), "D009203"),
        (("scurvy", "Scorbutus"), "D012614"),
    ],
)
def test_common_terms_get_the_names_of_their_entity(
    client: httpx.Client, run: Path, texts: tuple[str, ...], entity: str
) -> None:
    known = forms([*KnowledgeBase.load(Artefacts(run).knowledge).names(entity)])
    for text in texts:
        expanded = get(client, "/v1/expand", term=text, top=1000)
        assert expanded["set"]["entity"] == entity
        own = [expanded["term"], *(one["term"] for one in expanded["synonyms"])]
        assert forms(own) >= known
        assert len(forms(own)) == len(own)  # each once, however it is written
        ranked = get(client, "/v1/rank", set=text, top=1000)["terms"]
        best = [one["term"] for one in ranked if one["probability"] == 1]
        assert forms([*best, expanded["term"]]) == known
        assert forms([one["term"] for one in ranked]).isdisjoint(forms([expanded["term"]]))
        assert all(one["probability"] > 0 for one in ranked)


def test_an_abbreviation_that_the_corpus_states_is_a_name(client: httpx.Client) -> None:
    (found,) = [
        one for one in get(client, "/v1/expand", term="aspirin")["synonyms"] if not one["known"]
    ]
    assert (found["term"], found["kind"]) == ("ASA", "abbreviation")
    assert get(client, "/v1/rank", set="ASA")["terms"][0]["term"] == "aspirin"
    page = client.get("/", params={"q": "A.S.A."})
    assert (page.status_code, "abbreviation of" in page.text) == (200, True)


def test_the_united_kingdom_is_known_without_an_abbreviation(client: httpx.Client) -> None:
    """MeSH has no U.K., and these abstracts do not explain it."""
    answers = [client.get("/v1/expand", params={"term": text}) for text in ("u.k.", "UK", "uk")]
    assert {answer.json()["error"]["code"] for answer in answers} == {"unknown_term"}
    assert get(client, "/v1/expand", term="united kingdom")["source"] == "knowledge"
