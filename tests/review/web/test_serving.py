"""The serving API over HTTP: its answers, its problems, and its OpenAPI document against both."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.models import probabilities, rank
from synsetmine.models.general import load_general
from synsetmine.models.known import Candidate, KnownSets
from synsetmine.review import ReviewState, ReviewStore
from synsetmine.review.web import api, schemas
from synsetmine.review.web.answers import Answers, MinedAnswers, ModelAnswers
from synsetmine.review.web.api import SearchPage, ServerState, openapi_document, serving_app
from synsetmine.review.web.schemas import QUESTIONS, ExpandQuestion
from synsetmine.review.web.server import AccessPolicy
from synsetmine.runs import MinedSet, MinedTerm, Sentence, read_results
from synsetmine.runs.folder import Artefacts
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews
from tests.models.paper.test_classifier import VECTORS, make_scorer
from tests.support.webserver import Sets, serve, write_run


def checked(answer: httpx.Response) -> httpx.Response:
    """An answer that the OpenAPI document describes; else it fails."""
    document = openapi_document()
    path = document["paths"].get(answer.request.url.path)
    assert path is not None, answer.request.url
    responses = path[answer.request.method.lower()]["responses"]
    assert str(answer.status_code) in responses, (answer.status_code, answer.text)
    content = responses[str(answer.status_code)]["content"]
    kind = answer.headers["content-type"].partition(";")[0]
    schema = {**content[kind]["schema"], "components": document["components"]}
    Draft202012Validator(schema).validate(answer.json())
    return answer


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> MinedAnswers:
    return MinedAnswers.of_run(write_run(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def model() -> ModelAnswers:
    """Twelve terms of one surface, told apart by their senses."""
    prepared = make_scorer().prepare(VECTORS.terms, TermViews((VECTORS,)))
    return ModelAnswers(prepared, 0.5)


@pytest.fixture(scope="module")
def client(mined: MinedAnswers, model: ModelAnswers) -> Iterator[httpx.Client]:
    with (
        serve(serving_app(ServerState(Answers(mined, model)), AccessPolicy())) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        yield client


def get(client: httpx.Client, path: str, status: int = 200, **query: Any) -> Any:
    answer = checked(client.get(path, params=query))
    assert answer.status_code == status, answer.text
    return answer.json()


def problem(client: httpx.Client, path: str, status: int, **query: Any) -> tuple[str, str]:
    error = get(client, path, status, **query)["error"]
    return error["code"], error["message"]


# --- Answers ----------------------------------------------------------------------------------


def test_a_term_is_expanded_by_its_set(client: httpx.Client) -> None:
    found = get(client, "/v1/expand", term="heart attack")
    assert found["term"] == "heart attack"
    assert found["set"] == {"id": "D009203", "entity": "D009203", "name": "Myocardial Infarction"}
    assert found["synonyms"] == [
        {"term": "myocardial infarction", "probability": None, "count": 24, "known": True},
        {"term": "heart attacks", "probability": 0.93, "count": 16, "known": False},
        {"term": "cardiac arrest", "probability": 0.51, "count": 17, "known": False},
    ]


def test_a_new_name_comes_with_what_the_trace_has() -> None:
    evidence = Sentence("d1", "heart failure (HF)", 15, 17, "abbreviation")
    new = MinedTerm(
        "HF",
        3,
        "joined",
        False,
        0.9,
        kind="abbreviation",
        relation="exact",
        nearest="heart failure",
        evidence=(evidence,),
    )
    seed = MinedTerm("heart failure", 9, "seed", True)
    answers = MinedAnswers([MinedSet("D1", (seed, new), "D1")])
    with (
        serve(serving_app(ServerState(Answers(answers)), AccessPolicy())) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        (synonym,) = get(client, "/v1/expand", term="heart failure")["synonyms"]
        (plain,) = get(client, "/v1/expand", term="HF")["synonyms"]
    assert synonym == {
        "term": "HF",
        "probability": 0.9,
        "count": 3,
        "known": False,
        "kind": "abbreviation",
        "relation": "exact",
        "nearest": "heart failure",
        "evidence": [{"relation": "abbreviation", "document": "d1", "text": "heart failure (HF)"}],
    }
    assert set(plain) == {"term", "probability", "count", "known"}


@pytest.mark.parametrize("written", ["Heart-Attack", "HEART ATTACK", "heart_attack"])
def test_case_and_hyphens_make_no_difference(client: httpx.Client, written: str) -> None:
    assert get(client, "/v1/expand", term=written)["term"] == "heart attack"


def test_top_and_least_leave_terms_out(client: httpx.Client) -> None:
    def names(**query: Any) -> list[str]:
        found = get(client, "/v1/expand", term="heart attack", **query)
        return [synonym["term"] for synonym in found["synonyms"]]

    assert names(top=1) == ["myocardial infarction"]
    assert names(least=0.6) == ["myocardial infarction", "heart attacks"]
    assert get(client, "/v1/expand", term="fever")["synonyms"] == []


def test_ranks_and_scores_are_the_models(client: httpx.Client) -> None:
    scorer, members = make_scorer(), VECTORS.terms[:2]
    expected = rank(scorer, VECTORS, members, VECTORS.terms, top=3)
    found = get(client, "/v1/rank", set=list(map(str, members)), top=3)
    assert [entry["term"] for entry in found["terms"]] == [str(term) for term, _ in expected]
    given = [entry["probability"] for entry in found["terms"]]
    assert given == pytest.approx([p for _, p in expected], abs=1e-6)

    terms = VECTORS.terms[5:8]
    found = get(client, "/v1/score", set=list(map(str, members)), terms=list(map(str, terms)))
    given = [entry["probability"] for entry in found["terms"]]
    assert given == pytest.approx(probabilities(scorer, VECTORS, members, terms), abs=1e-6)
    assert found["threshold"] == 0.5


def test_a_bare_model_expands_by_ranking(model: ModelAnswers) -> None:
    app = serving_app(ServerState(Answers(model=model)), AccessPolicy())
    term = VECTORS.terms[3]
    with (
        serve(app) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        everyone = get(client, "/v1/expand", term=str(term), least=0, top=100)
        assert everyone["set"] is None
        assert len(everyone["synonyms"]) == 11
        likely = get(client, "/v1/expand", term=str(term), top=100)["synonyms"]
        assert likely == [s for s in everyone["synonyms"] if s["probability"] >= 0.5]
        assert get(client, "/v1/health")["mined"] is None


def test_what_reviewers_said_counts(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    state = ReviewState(read_results(run))
    with ReviewStore(Artefacts(run).reviews) as store:
        wrong = ["cardiac arrest"]
        store.add(state.decide("judge", "D009203", reviewer="A", terms=wrong, verdict="incorrect"))
        store.add(state.decide("reject", "s1", reviewer="A"))
    mined = MinedAnswers.of_run(run)

    def names(term: str) -> list[str]:
        return [synonym.term for synonym in mined.expand(ExpandQuestion(term)).synonyms]

    assert names("heart attack") == ["myocardial infarction", "heart attacks"]
    assert names("cardiac arrest") == []
    assert names("aspirin") == []
    assert names("chf") == ["cardiac failure", "heart failure"]


def test_health_says_what_there_is(client: httpx.Client) -> None:
    found = get(client, "/v1/health")
    assert found["mined"] == {"sets": 6, "terms": 14}
    assert found["model"] == {"terms": 12, "threshold": 0.5}


def test_a_batch_answers_each_question_by_itself(client: httpx.Client) -> None:
    questions = [
        {"expand": {"term": "aspirin"}},
        {"expand": {"term": "nothing"}},
        {"rank": {"set": ["name||sense 1"], "top": 2}},
        {"score": {"set": ["name||sense 1"]}},
    ]
    answer = checked(client.post("/v1/batch", json={"questions": questions}))
    first, second, third, fourth = answer.json()["answers"]
    assert first["answer"] == get(client, "/v1/expand", term="aspirin")
    assert (second["status"], second["error"]["code"]) == (404, "unknown_term")
    assert third["answer"] == get(client, "/v1/rank", set="name||sense 1", top=2)
    assert (fourth["status"], fourth["error"]["code"]) == (400, "missing_field")


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A run whose knowledge base has more than the run, with a model that has known sets."""
    sets: Sets = {
        "D1": {"United Kingdom": None, "U.K.": None, "Britain": 0.9},
        "D2": {"aspirin": None, "ASA": 0.97},
        "s1": {"WHO": None, "world health organisation": 0.8},
    }
    run = write_run(tmp_path_factory.mktemp("run"), sets, {"D1": "United Kingdom", "D2": "aspirin"})
    entities = [
        Entity("D1", "United Kingdom", ("U.K.", "Great Britain")),
        Entity("D2", "aspirin", ("acetylsalicylic acid",)),
        Entity("D3", "scurvy", ("scorbutus", "vitamin C deficiency")),
        Entity("D4", "US", ("United States",)),
        Entity("D5", "cold temperature", ("cold",)),
        Entity("D6", "common cold", ("cold",)),
    ]
    KnowledgeBase.of(entities).save(Artefacts(run).knowledge)
    mined = MinedAnswers.of_run(run)
    seeds = SynonymSets.of([map(Term, ("United Kingdom", "U.K.")), [Term("aspirin")]], ["D1", "D2"])
    new = list(map(Term, ("Britain", "ASA", "WHO", "world health organisation", "lack")))
    candidates = {
        Term("Britain"): [Candidate("D1", 0.9, "Britain")],
        Term("ASA"): [Candidate("D2", 0.97, "aspirin")],
        Term("lack"): [Candidate("D3", 0.25, "scurvy"), Candidate("D2", 0.05, "aspirin")],
    }
    known = KnownSets(seeds, candidates)
    prepared = load_general().prepare(new, TermViews(), known=known)
    answers = Answers(mined, ModelAnswers(prepared, 0.3, known, mined.kb))
    with (
        serve(serving_app(ServerState(answers), AccessPolicy())) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        yield client


@pytest.mark.parametrize("written", ["u.k.", "U.K.", "uk", "UK", "U K", "Great Britain"])
def test_an_abbreviation_is_found_however_it_is_written(
    letters: httpx.Client, written: str
) -> None:
    found = get(letters, "/v1/expand", term=written)
    assert found["set"]["id"] == "D1"
    assert found["source"] == "run"
    own = [found["term"], *(one["term"] for one in found["synonyms"])]
    assert {"United Kingdom", "U.K.", "Britain"} <= set(own)
    assert len(own) == len(set(own))
    ranked = get(letters, "/v1/rank", set=written)
    assert {one["term"] for one in ranked["terms"]} | set(ranked["set"]) == {
        *("United Kingdom", "U.K.", "Britain")
    }


def test_what_the_run_lacks_comes_from_the_knowledge_base(letters: httpx.Client) -> None:
    found = get(letters, "/v1/expand", term="Scurvy")
    assert found["source"] == "knowledge"
    assert found["set"] == {"id": "D3", "entity": "D3", "name": "scurvy"}
    assert [one["term"] for one in found["synonyms"]] == ["scorbutus", "vitamin C deficiency"]
    assert all(one["known"] and one["probability"] is None for one in found["synonyms"])
    assert [one["term"] for one in get(letters, "/v1/expand", term="u.s.")["synonyms"]] == [
        "United States"
    ]
    ranked = get(letters, "/v1/rank", set="scorbutus")
    assert [(one["term"], one["probability"]) for one in ranked["terms"]] == [
        *(("scurvy", 1), ("vitamin C deficiency", 1), ("lack", 0.25))
    ]
    assert ranked["from_knowledge"] == ["scorbutus"]
    terms = ["vitamin C deficiency", "aspirin", "lack"]
    scored = get(letters, "/v1/score", set="scurvy", terms=terms)
    assert [one["probability"] for one in scored["terms"]] == [1, 0, 0.25]
    scored = get(letters, "/v1/score", set="lack", terms=["scurvy", "acetylsalicylic acid"])
    assert [one["probability"] for one in scored["terms"]] == [0.25, 0.05]
    scored = get(letters, "/v1/score", set="aspirin", terms=["scurvy", "lack"])
    assert [one["probability"] for one in scored["terms"]] == [0, 0.05]


@pytest.mark.parametrize(
    ("written", "name"),
    [("United Kingdoms", "United Kingdom"), ("aspirins", "aspirin"), ("Scurvies", "scurvy")],
)
def test_an_unknown_plural_finds_its_singular(
    letters: httpx.Client, written: str, name: str
) -> None:
    found = get(letters, "/v1/expand", term=written)
    assert found["by_inflection"]
    assert found == {**get(letters, "/v1/expand", term=name), "by_inflection": True}
    ranked = get(letters, "/v1/rank", set=[written, "aspirin"])
    assert ranked["by_inflection"] == [written]
    for known in (name, name.upper(), "u.k.", "cold||D6"):
        assert not get(letters, "/v1/expand", term=known)["by_inflection"]
    assert get(letters, "/v1/expand", 404, term="aspirin overdose")["error"]["near"] == []
    assert get(letters, "/v1/expand", 409, term="colds")["error"]["near"] == [
        "cold||D5",
        "cold||D6",
    ]


def test_a_name_of_several_entities_is_kept_apart_by_its_entity(letters: httpx.Client) -> None:
    error = get(letters, "/v1/expand", 409, term="cold")["error"]
    assert error["near"] == ["cold||D5", "cold||D6"]
    found = get(letters, "/v1/expand", term="cold||D6")
    assert [one["term"] for one in found["synonyms"]] == ["common cold"]


def test_a_new_name_is_ranked_with_the_set_that_it_joined(letters: httpx.Client) -> None:
    ranked = get(letters, "/v1/rank", set="ASA")["terms"]
    assert (ranked[0]["term"], ranked[0]["probability"]) == ("aspirin", 0.97)
    assert all(one["term"] != "ASA" and one["probability"] > 0 for one in ranked)
    assert get(letters, "/v1/rank", set="WHO")["terms"][0]["term"] == "world health organisation"


def test_a_server_that_loads_says_what(mined: MinedAnswers) -> None:
    service = ServerState()
    app = serving_app(service, AccessPolicy(token="x" * 16))
    with (
        serve(app) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        assert get(client, "/healthz") == {"status": "ok"}
        service.report_progress("mined sets", 0, 3)
        reading = {"status": "loading", "loading": "mined sets", "done": 0, "total": 3}
        assert get(client, "/readyz", 503) == reading
        assert client.get("/v1/health").status_code == 401
        client.headers["authorization"] = f"Bearer {'x' * 16}"
        for path, query in (("/v1/health", {}), ("/v1/expand", {"term": "a"})):
            code, message = problem(client, path, 503, **query)
            assert (code, "mined sets" in message) == ("loading", True)
        page = client.get("/", headers={"accept": "text/html"})
        assert (page.status_code, "Not ready yet" in page.text) == (503, True)
        service.ready(Answers(mined), SearchPage(Answers(mined)))
        assert get(client, "/readyz")["status"] == "ready"
        assert get(client, "/v1/expand", term="aspirin")["source"] == "run"


# --- Problems ---------------------------------------------------------------------------------


def test_an_unknown_term_names_those_that_are_written_alike(client: httpx.Client) -> None:
    error = get(client, "/v1/expand", 404, term="asprin")["error"]
    assert error["near"] == ["aspirin"]
    assert error["message"] == "unknown term 'asprin'; similar: aspirin"
    assert get(client, "/v1/expand", 404, term="zzz")["error"]["near"] == []
    assert problem(client, "/v1/rank", 404, set="aspirin")[0] == "unknown_term"


def test_a_surface_with_several_senses_is_ambiguous(client: httpx.Client) -> None:
    error = get(client, "/v1/rank", 409, set="name")["error"]
    assert error["code"] == "ambiguous_term"
    assert "name||sense 0" in error["near"]


@pytest.mark.parametrize(
    ("path", "query", "said"),
    [
        ("/v1/expand", {}, "Object missing required field `term`"),
        ("/v1/expand", {"term": " "}, r"Expected `str` matching regex '\\S' - at `$.term`"),
        (
            "/v1/expand",
            {"term": "x" * 501},
            "Expected `str` of length <= 500 - at `$.term`",
        ),
        ("/v1/expand", {"term": ["a", "b"]}, "'term' must be given once"),
        ("/v1/expand", {"term": "a", "top": "many"}, "Expected `int`, got `str` - at `$.top`"),
        ("/v1/expand", {"term": "a", "top": 0}, "Expected `int` >= 1 - at `$.top`"),
        (
            "/v1/expand",
            {"term": "a", "top": "9" * 99},
            "Expected `int` <= 1000 - at `$.top`",
        ),
        (
            "/v1/expand",
            {"term": "a", "least": "nan"},
            "Expected `float` >= 0.0 - at `$.least`",
        ),
        (
            "/v1/expand",
            {"term": "a", "least": "2"},
            "Expected `float` <= 1.0 - at `$.least`",
        ),
        (
            "/v1/expand",
            {"term": "a", "least": "null"},
            "Expected `float`, got `str` - at `$.least`",
        ),
        ("/v1/expand", {"term": "a", "tpo": 3}, "Object contains unknown field `tpo`"),
        ("/v1/rank", {"set": ["a"] * 101}, "Expected `array` of length <= 100 - at `$.set`"),
        ("/v1/score", {"set": "a"}, "Object missing required field `terms`"),
        ("/v1/expand", {"term": "||x"}, "a term needs a surface"),
    ],
)
def test_a_wrong_question_is_answered_with_what_is_wrong(
    client: httpx.Client, path: str, query: dict[str, Any], said: str
) -> None:
    _, message = problem(client, path, 400, **query)
    assert said in message


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("nothing", 400, "not_json"),
        ('{"questions": [{"expand": ' + "[" * 100_000, 400, "not_json"),
        ('{"questions": [{"expand": {"term": "\\ud800"}}]}', 400, "not_json"),
        ("[" * 100_000, 400, "wrong_value"),
        ("[]", 400, "wrong_value"),
        ('{"questions": []}', 400, "wrong_value"),
        ('{"questions": [{}]}', 400, "wrong_value"),
        ('{"questions": [{"expand": {}, "rank": {}}]}', 400, "wrong_value"),
        ('{"questions": [{"mine": {}}]}', 400, "wrong_value"),
        ('{"questions": [{"expand": {"term": "a"}}], "more": 1}', 400, "wrong_value"),
        (json.dumps({"questions": [{"expand": {"term": "a"}}] * 101}), 400, "too_many"),
        ('{"questions": ["' + "x" * 2**20 + '"]}', 413, "too_large"),
    ],
)
def test_a_wrong_batch_is_refused(client: httpx.Client, body: str, status: int, code: str) -> None:
    headers = {"content-type": "application/json"}
    answer = checked(client.post("/v1/batch", content=body, headers=headers))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_a_body_that_does_not_say_its_size_is_limited_too(client: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        yield from [b"x" * 2**16] * 20

    headers = {"content-type": "application/json"}
    answer = checked(client.post("/v1/batch", content=endless(), headers=headers))
    assert answer.status_code == 413


def test_a_batch_must_be_json(client: httpx.Client) -> None:
    answer = checked(client.post("/v1/batch", data={"questions": "x"}))
    assert answer.status_code == 415
    assert "got 'application/x-www-form-urlencoded'" in answer.json()["error"]["message"]


def test_wrong_types_in_a_batch(client: httpx.Client) -> None:
    wrong = [
        {"expand": {"term": 3}},
        {"expand": {"term": "a", "top": True}},
        {"expand": {"term": "a", "top": 1.5}},
        {"expand": []},
        {"rank": {"set": "a"}},
        {"rank": {"set": ["a", 1]}},
        {"score": {"set": ["a"], "terms": []}},
        {"expand": {"term": "a", "least": None}},
    ]
    body = json.dumps({"questions": wrong})
    headers = {"content-type": "application/json"}
    answer = checked(client.post("/v1/batch", content=body, headers=headers))
    assert [entry["status"] for entry in answer.json()["answers"]] == [400] * len(wrong)


def test_other_addresses_and_methods_are_refused_in_the_same_form(client: httpx.Client) -> None:
    answer = client.get("/v2/expand")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == "no such path: /v2/expand; /openapi.json lists all"
    answer = client.post("/v1/expand", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "wrong_method")


def test_without_a_model_there_are_synonyms_only(mined: MinedAnswers) -> None:
    app = serving_app(ServerState(Answers(mined)), AccessPolicy())
    with (
        serve(app) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        assert get(client, "/v1/expand", term="aspirin")["synonyms"]
        assert problem(client, "/v1/rank", 501, set="aspirin")[0] == "no_model"
        assert get(client, "/v1/health")["model"] is None


def test_what_should_not_happen_is_a_plain_error(
    mined: MinedAnswers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(mined, "expand", fail)
    with (
        serve(serving_app(ServerState(Answers(mined)), AccessPolicy())) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=60) as client,
    ):
        answer = client.get("/v1/expand", params={"term": "x"})
        assert answer.status_code == 500
        assert answer.json()["error"]["code"] == "failed"
        assert "secret" not in answer.text
    assert "secret" in caplog.text


# --- The document -----------------------------------------------------------------------------


def test_the_document_is_openapi_and_is_served(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    validate(document)
    assert document == json.loads(json.dumps(openapi_document()))


def test_the_reference_page_has_every_address_field_and_code(client: httpx.Client) -> None:
    page = (Path(__file__).parents[3] / "docs/reference/http-api.md").read_text("utf-8")
    for path, methods in openapi_document()["paths"].items():
        (method,) = methods
        assert f"`{method.upper()} {path}`" in page
    sources = map(inspect.getsource, (api, schemas))
    raised = re.findall(r'ApiError\(\s*\d+,\s*"(\w+)"', "\n".join(sources))
    for code in {*raised, *api.ERROR_CODES.values(), "missing_field", "unknown_field", "failed"}:
        assert f"`{code}`" in page, code
    for question in QUESTIONS.values():
        for name in question.__struct_fields__:
            assert f"`{name}`" in page


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
fields = st.dictionaries(
    st.sampled_from(["term", "top", "least", "set", "terms", "x"]),
    st.sampled_from(["aspirin", "name||sense 1", ["aspirin"], ["name||sense 2"], 1, 5, 0.3])
    | anything,
)
questions = st.dictionaries(
    st.sampled_from(["expand", "rank", "score"]), fields, min_size=1, max_size=1
)


@given(st.lists(questions | anything, max_size=4))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_is_asked_the_answer_is_as_documented(
    client: httpx.Client, asked: list[Any]
) -> None:
    body = json.dumps({"questions": asked})
    headers = {"content-type": "application/json"}
    answer = checked(client.post("/v1/batch", content=body, headers=headers))
    assert answer.status_code in (200, 400)
