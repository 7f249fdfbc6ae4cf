"""The tools for language models, called by the official client in one process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.server import Server

import synsetmine
from synsetmine.pipeline.explanation import explain
from synsetmine.pipeline.mcp.server import mcp_server
from synsetmine.pipeline.mcp.tools import MAX_NAMES, MAX_TEXT
from synsetmine.review.web.answers import Answers, MinedAnswers, ModelAnswers
from synsetmine.views import TermViews
from tests.models.paper.test_classifier import VECTORS, make_scorer
from tests.support.strategies import PIECES
from tests.support.webserver import write_run

NAMES = ["IBM", "I.B.M.", "International Business Machines", "Apple", "heart attack"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Server[Any]:
    """The tools over a run with a model, whose twelve terms have one surface."""
    mined = MinedAnswers.of_run(write_run(tmp_path_factory.mktemp("runs") / "run"))
    prepared = make_scorer().prepare(VECTORS.terms, TermViews((VECTORS,)))
    return mcp_server(Answers(mined, ModelAnswers(prepared, 0.5)), "run")


def call_all(
    server: Server[Any], calls: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[mcp_types.CallToolResult]:
    """The results of calls; the client checks each against the schema of its tool."""

    async def talk() -> list[mcp_types.CallToolResult]:
        async with Client(server) as client:
            await client.list_tools()
            return [await client.call_tool(name, dict(arguments)) for name, arguments in calls]

    return anyio.run(talk)


def call(server: Server[Any], tool: str, /, **arguments: Any) -> Any:
    (result,) = call_all(server, [(tool, arguments)])
    assert not result.is_error, result.content
    (text,) = result.content
    assert isinstance(text, mcp_types.TextContent)
    assert json.loads(text.text) == result.structured_content
    return result.structured_content


def problem(server: Server[Any], tool: str, /, **arguments: Any) -> str:
    (result,) = call_all(server, [(tool, arguments)])
    assert result.is_error
    assert result.structured_content is None
    (text,) = result.content
    assert isinstance(text, mcp_types.TextContent)
    return text.text


def test_each_tool_says_what_it_takes_and_returns() -> None:
    async def talk() -> mcp_types.ListToolsResult:
        async with Client(mcp_server()) as client:
            return await client.list_tools()

    tools = {tool.name: tool for tool in anyio.run(talk).tools}
    assert set(tools) == {"group", "expand", "score", "explain"}
    for tool in tools.values():
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            assert schema["type"] == "object"
            Draft202012Validator.check_schema(schema)
        for field in tool.input_schema["properties"].values():
            assert "type" in field or "anyOf" in field


def test_names_are_grouped_as_the_library_groups_them() -> None:
    grouped = call(mcp_server(), "group", names=NAMES, precision="bold", unsure=3)
    expected = synsetmine.group(NAMES, precision="bold", unsure=3)
    assert [[one["name"] for one in s["names"]] for s in grouped["sets"]] == [
        list(s.members) for s in expected.sets
    ]
    assert [(s["id"], s["name"], s["probability"]) for s in grouped["sets"]] == [
        (s.id, s.name, s.probability) for s in expected.sets
    ]
    assert [one["name"] for one in grouped["alone"]] == [one.name for one in expected.alone]
    assert [tuple(pair.values()) for pair in grouped["unsure"]] == list(expected.unsure)
    places = [(place, s["id"]) for s in grouped["sets"] for place in s["positions"]]
    places += [(place, one["id"]) for one in grouped["alone"] for place in one["positions"]]
    assert sorted(places) == list(enumerate(expected.ids))
    assert grouped["threshold"] == expected.threshold


def test_names_of_two_types_are_two_sets_each_with_its_positions() -> None:
    names = [{"name": "Paris", "type": "city"}, {"name": "Paris", "type": "person"}, "Berlin"]
    grouped = call(mcp_server(), "group", names=names)
    assert grouped["sets"] == []
    assert [(one["name"], one["positions"]) for one in grouped["alone"]] == [
        ("Berlin", [2]),
        ("Paris", [0]),
        ("Paris", [1]),
    ]


def test_contexts_reach_the_grouping() -> None:
    """One context or several, exactly as `synsetmine.group` takes them."""
    texts: list[Any] = ["A planet.", ["A god of Rome.", "A messenger."], "The planet near the sun."]
    names = [{"name": "Mercury", "contexts": text} for text in texts]
    grouped = call(mcp_server(), "group", names=names)
    expected = synsetmine.group(["Mercury"] * 3, contexts=texts)
    assert sorted(
        [s["id"] for s in grouped["sets"]] + [one["id"] for one in grouped["alone"]]
    ) == sorted({id_ for id_ in expected.ids if id_ is not None})


def test_a_term_has_the_synonyms_of_its_mined_set(run: Server[Any]) -> None:
    expanded = call(run, "expand", term="Heart attack")
    assert expanded["set"]["id"] == "D009203"
    assert [one["term"] for one in expanded["synonyms"]][:2] == [
        "myocardial infarction",
        "heart attacks",
    ]
    assert len(call(run, "expand", term="heart attack", top=1)["synonyms"]) == 1


def test_a_list_comes_before_the_run(run: Server[Any]) -> None:
    expanded = call(run, "expand", term="heart attack", among=["Heart Attacks", "hepatitis"])
    assert expanded["set"] is None
    assert [one["term"] for one in expanded["synonyms"]] == ["Heart Attacks"]


def test_scores_are_the_models_of_the_run_or_the_general_ones(run: Server[Any]) -> None:
    of_run = call(run, "score", set=["name||sense 1"], terms=["name||sense 2"])
    assert of_run["threshold"] == 0.5
    sets: dict[str, Any] = {"set": NAMES[:2], "terms": NAMES[2:]}
    for server, arguments in ((mcp_server(), sets), (run, {**sets, "among": []})):
        scored = call(server, "score", **arguments)
        near, *far = (one["probability"] for one in scored["terms"])
        assert near > 0.9
        assert max(far) < 0.1


def test_a_pair_is_explained_as_the_library_explains_it() -> None:
    contexts = ["Big Blue (IBM) sells mainframes and servers."]
    others = "IBM was founded in New York, and makes mainframes."
    arguments = {"name": "Big Blue", "other": "IBM", "contexts": contexts, "other_contexts": others}
    explained = call(mcp_server(), "explain", **arguments)
    expected = explain("Big Blue", "IBM", contexts=contexts, other_contexts=others)
    for field in ("probability", "names_probability", "context_log_odds", "kind", "relation"):
        assert explained[field] == getattr(expected, field)
    assert explained["sentence"] == expected.sentence == contexts[0]
    assert explained["statement"] == expected.statement
    assert explained["shared_words"] == list(expected.shared_words)
    assert explained["threshold"] == synsetmine.group(["a"]).threshold
    apart = call(mcp_server(), "explain", **arguments, type="colour", other_type="company")
    assert apart["probability"] == 0
    alone = call(mcp_server(), "explain", name="lung cancer", other="cancer of the lung")
    assert alone["kind"] == "word-order"
    assert alone["context_log_odds"] is None


def test_a_server_without_a_run_asks_for_a_list() -> None:
    assert "pass `among`" in problem(mcp_server(), "expand", term="IBM")


def test_an_unknown_term_names_those_that_are_written_alike(run: Server[Any]) -> None:
    assert "heart attack" in problem(run, "expand", term="heart atack")


LONG = "x" * 501


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("group", {}, "missing required field `names`; the arguments are names, precision, unsure"),
        ("group", {"names": []}, "length >= 1"),
        ("group", {"names": "IBM"}, "Expected `array`, got `str` - at `$.names`"),
        ("group", {"names": ["a", 7]}, "Expected `str | object`, got `int` - at `$.names[1]`"),
        ("group", {"names": ["a", LONG]}, "length <= 500 - at `$.names[1]`"),
        ("group", {"names": [" "]}, "$.names[0]"),
        ("group", {"names": ["a"], "precision": "high"}, "$.precision"),
        ("group", {"names": ["a"], "precision": 2}, "<= 1"),
        ("group", {"names": ["a"], "column": "b"}, "unknown field `column`"),
        ("group", {"names": ["a"] * (MAX_NAMES + 1)}, f"length <= {MAX_NAMES}"),
        ("group", {"names": [{"name": "a", "contexts": ["x" * 2001]}]}, "contexts"),
        ("group", {"names": [{"name": "a", "contexts": "x" * MAX_TEXT}]}, "pass fewer names"),
        ("group", {"names": ["a\ud800"]}, "Unicode"),
        ("expand", {"term": LONG}, "length <= 500"),
        ("expand", {"term": "a", "among": ["a"] * (MAX_NAMES + 1)}, f"length <= {MAX_NAMES}"),
        ("expand", {"term": "||", "among": ["a"]}, "a term needs a surface"),
        ("score", {"set": ["a"]}, "missing required field `terms`"),
        ("score", {"set": ["a"] * 101, "terms": ["b"]}, "length <= 100"),
        ("explain", {"name": "a"}, "missing required field `other`"),
        ("explain", {"name": "a\ud800", "other": "b"}, "Unicode"),
    ],
)
def test_a_wrong_call_is_an_error_that_says_what_to_pass(
    name: str, arguments: dict[str, Any], message: str
) -> None:
    assert message in problem(mcp_server(), name, **arguments)


def test_an_unknown_tool_is_an_error_of_the_protocol() -> None:
    async def talk() -> None:
        async with Client(mcp_server()) as client:
            with pytest.raises(MCPError, match="no such tool: 'merge'; expected one of group"):
                await client.call_tool("merge", {})

    anyio.run(talk)


def test_what_should_not_happen_is_a_plain_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret path")

    monkeypatch.setattr("synsetmine.pipeline.mcp.tools.group", fail)
    assert problem(mcp_server(), "group", names=["a"]) == (
        "group failed; the log of the server says more"
    )
    assert "secret path" in caplog.text


hostile = st.lists(
    st.lists(st.sampled_from([*PIECES, "\x1b[2J", "<script>"]), min_size=1, max_size=3).map(
        "".join
    ),
    min_size=1,
    max_size=6,
)


@given(hostile)
@settings(max_examples=5, deadline=None)
def test_any_strings_are_answered(names: list[str]) -> None:
    """A name may be refused, but then by an error with a reason; none breaks the protocol."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("group", {"names": names}),
        ("group", {"names": [{"name": n, "contexts": n, "type": n} for n in names]}),
        ("expand", {"term": names[0], "among": names}),
        ("score", {"set": names[:1], "terms": names}),
        ("explain", {"name": names[0], "other": names[-1], "contexts": names}),
    ]
    for result in call_all(mcp_server(), calls):
        (text,) = result.content
        assert isinstance(text, mcp_types.TextContent)
        assert "failed" not in text.text or not result.is_error
        if not result.is_error:
            assert json.loads(text.text) == result.structured_content


def test_the_server_says_what_answers(run: Server[Any]) -> None:
    async def talk(server: Server[Any]) -> str:
        async with Client(server) as client:
            return client.instructions or ""

    assert "answer from run" in anyio.run(talk, run)
    assert "answer from" not in anyio.run(talk, mcp_server())


def test_reviews_of_the_run_count(tmp_path: Path) -> None:
    from synsetmine.review import ReviewState, ReviewStore
    from synsetmine.runs import read_results
    from synsetmine.runs.folder import Artefacts

    folder = write_run(tmp_path / "run")
    state = ReviewState(read_results(folder), ())
    with ReviewStore(Artefacts(folder).reviews) as store:
        store.add(state.decide("reject", "D009203", reviewer="Ada"))
    server = mcp_server(Answers(MinedAnswers.of_run(folder)), "run")
    known = call(server, "expand", term="heart attack")["synonyms"]
    assert [synonym["term"] for synonym in known] == ["myocardial infarction"]
