"""What a language model decides about the unsure names of a list and the unsure sets of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from synsetmine.cli import app
from synsetmine.pipeline.grouping import group
from synsetmine.pipeline.judge import KEY, Judge
from synsetmine.pipeline.name_sets import Grouping
from synsetmine.pipeline.unsure_names import NOTE, Pair, _Links, judge_run
from synsetmine.review import ReviewState, ReviewStore
from synsetmine.review.feedback import Constraints, find_decisions, training_sets
from synsetmine.runs import read_results
from synsetmine.runs.folder import Artefacts
from synsetmine.types import SynonymSets, Term
from tests.support.faultyserver import Fault
from tests.support.judgeserver import JudgeServer, settings_of
from tests.support.webserver import write_run

NAMES = [
    *("renal failure", "kidney failure", "acute renal failure", "IBM", "IBM Corp"),
    *("type 1 diabetes", "type 2 diabetes", "heart attack", "myocardial infarction"),
]

pytestmark = pytest.mark.usefixtures("no_proxy")


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer().start() as running:
        yield running


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


def grouped(
    server: JudgeServer, folder: Path, names: list[str] = NAMES, **options: Any
) -> Grouping:
    judge = settings_of(server, folder / "judge.sqlite", band=0.5, **options.pop("settings", {}))
    return group(names, judge=judge, **options)


def are_together(grouping: Grouping, one: str, other: str) -> bool:
    return grouping.mapping[one] == grouping.mapping[other]


def unjudged(grouping: Grouping) -> Grouping:
    return replace(grouping, judged=None)


# --- A list of names --------------------------------------------------------------------------


def test_the_judge_decides_on_unsure_names(server: JudgeServer, tmp_path: Path) -> None:
    plain = group(NAMES)
    assert are_together(plain, "renal failure", "acute renal failure")
    assert not are_together(plain, "type 1 diabetes", "type 2 diabetes")
    server.key_of = lambda name: "acute" if "acute" in name else name.split()[-1]
    judged = grouped(server, tmp_path)
    assert are_together(judged, "renal failure", "kidney failure")
    assert not are_together(judged, "renal failure", "acute renal failure")
    assert are_together(judged, "type 1 diabetes", "type 2 diabetes")
    report = judged.judged
    assert report is not None
    decided = {frozenset(pair[:2]): pair.together for pair in report.pairs}
    assert decided[frozenset({"type 1 diabetes", "type 2 diabetes"})]
    assert not decided[frozenset({"renal failure", "acute renal failure"})]
    assert report.together == sum(decided.values())
    assert report.apart == len(decided) - report.together
    unsure = {frozenset(pair[:2]) for pair in judged.unsure}
    assert not unsure & decided.keys()


def test_whole_sets_stand_in_one_question(server: JudgeServer, tmp_path: Path) -> None:
    grouped(server, tmp_path)
    asked = [frozenset(seen.names) for seen in server.seen]
    assert any({"renal failure", "kidney failure", "acute renal failure"} <= one for one in asked)
    assert sum(map(len, asked)) == len(frozenset().union(*asked))  # each name in one question


def test_only_pairs_stand_in_a_question_where_sets_are_large(
    server: JudgeServer, tmp_path: Path
) -> None:
    grouped(server, tmp_path, settings={"names_per_question": 2})
    assert server.seen
    assert {len(seen.names) for seen in server.seen} == {2}


def test_what_is_sure_is_not_asked(server: JudgeServer, tmp_path: Path) -> None:
    judge = settings_of(server, tmp_path / "judge.sqlite", band=0.01)
    result = group(NAMES, judge=judge)
    assert not server.seen
    assert unjudged(result) == group(NAMES)
    assert result.judged is not None
    assert result.judged.questions == 0


@pytest.mark.parametrize(
    "content",
    [None, "no idea", '{"sets": [[1]]}', '{"sets": [[99]]}', "<html></html>"],
)
def test_without_a_usable_answer_nothing_changes(
    server: JudgeServer, tmp_path: Path, content: str | None
) -> None:
    server.content = content
    if content is None:
        server.fail(*[Fault(status=500)] * 99)
    result = grouped(server, tmp_path)
    assert server.seen
    assert unjudged(result) == group(NAMES)
    assert result.judged is not None
    assert result.judged.answered == 0


def test_a_dry_run_changes_nothing(server: JudgeServer, tmp_path: Path) -> None:
    result = grouped(server, tmp_path, settings={"dry_run": True})
    assert not server.seen
    assert unjudged(result) == group(NAMES)
    assert result.judged is not None
    assert result.judged.questions > 0


def test_the_same_list_and_cache_give_the_same_result(server: JudgeServer, tmp_path: Path) -> None:
    first = grouped(server, tmp_path)
    requests = len(server.seen)
    again = grouped(server, tmp_path, NAMES[::-1])
    assert unjudged(again) == unjudged(first)
    assert len(server.seen) == requests


def test_pairs_of_the_user_count_more(server: JudgeServer, tmp_path: Path) -> None:
    server.key_of = lambda _: "all one"
    never = [("renal failure", "acute renal failure"), ("kidney failure", "acute renal failure")]
    result = grouped(server, tmp_path, never=never)
    assert not are_together(result, "renal failure", "acute renal failure")
    assert not are_together(result, "kidney failure", "acute renal failure")
    server.key_of = lambda name: name
    always = [("renal failure", "kidney failure"), ("kidney failure", "acute renal failure")]
    result = grouped(server, tmp_path / "other", always=always)
    assert are_together(result, "renal failure", "acute renal failure")


def test_known_sets_stay_as_they_are(server: JudgeServer, tmp_path: Path) -> None:
    server.key_of = lambda _: "all one"
    known = [["renal failure", "kidney failure"], ["acute renal failure", "ARF"]]
    result = grouped(server, tmp_path, known=known)
    assert not are_together(result, "renal failure", "acute renal failure")
    server.key_of = lambda name: name
    result = grouped(server, tmp_path / "other", known=known)
    assert are_together(result, "renal failure", "kidney failure")


def test_types_and_contexts(server: JudgeServer, tmp_path: Path) -> None:
    server.key_of = lambda _: "all one"
    types = ["disease", "disease", "film", *[None] * 6]
    contexts = [f"A sentence on {name}." for name in NAMES]
    result = grouped(server, tmp_path, types=types, contexts=contexts)
    assert not are_together(result, "renal failure", "acute renal failure")
    entries = [entry for seen in server.seen for entry in seen.entries]
    kidney = next(entry for entry in entries if entry["name"] == "kidney failure")
    assert kidney["type"] == "disease"
    assert kidney["contexts"] == ["A sentence on kidney failure."]


TERMS = [Term(letter) for letter in "abcdef"]
PAIRS = st.lists(
    st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS)).filter(lambda p: p[0] != p[1]),
    max_size=6,
)


@given(must=PAIRS, cannot=PAIRS, answers=st.lists(st.tuples(PAIRS, st.booleans()), max_size=8))
def test_decisions_contradict_nothing(
    must: list[Pair], cannot: list[Pair], answers: list[tuple[list[Pair], bool]]
) -> None:
    """Compared with a plain computation: the classes of all must-link pairs."""

    def classes(pairs: list[Pair]) -> dict[Term, frozenset[Term]]:
        own = {term: frozenset({term}) for term in TERMS}
        for one, other in pairs:
            merged = own[one] | own[other]
            own |= dict.fromkeys(merged, merged)
        return own

    def contradictions(must: list[Pair], cannot: list[Pair]) -> set[Pair]:
        own = classes(must)
        return {pair for pair in cannot if own[pair[0]] == own[pair[1]]}

    if contradictions(must, cannot):
        return
    links = _Links(cannot, must)
    for pairs, together in answers:
        before = [*links.together], [*links.apart]
        new = ([*must, *before[0], *pairs], [*cannot, *before[1]])
        if not together:
            new = ([*must, *before[0]], [*cannot, *before[1], *pairs])
        assert links.add(pairs, together=together) == (not contradictions(*new))
        assert not contradictions([*must, *links.together], [*cannot, *links.apart])
        if contradictions(*new):
            assert (links.together, links.apart) == before


# --- The sets of a run ------------------------------------------------------------------------


def judged_run(server: JudgeServer, run: Path, **changed: Any) -> Any:
    return judge_run(
        run, Judge(settings_of(server, run / "judge.sqlite", model="small", **changed))
    )


def test_the_judge_reviews_the_unsure_sets_of_a_run(server: JudgeServer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    server.key_of = lambda name: name if name == "cardiac arrest" else "one"
    done = judged_run(server, run)
    asked = {frozenset(seen.names) for seen in server.seen}
    assert frozenset({"heart failure", "cardiac failure", "chf"}) in asked
    assert not any("hypertension" in names for names in asked)  # its least term has 0.97
    assert all(entry["contexts"] for seen in server.seen for entry in seen.entries)
    decisions = find_decisions(run)
    assert decisions == list(done.decisions)
    assert {decision.reviewer for decision in decisions} == {"small"}
    assert {decision.note for decision in decisions} == {NOTE}
    state = ReviewState(read_results(run), decisions)
    assert state["D009203"].keys == ("myocardial infarction", "heart attack", "heart attacks")
    assert state["D009203"].status == "accepted"
    assert state["D006973"].status == "open"
    # They train the next model.
    constraints = Constraints.from_decisions(decisions)
    learned = training_sets(SynonymSets.of([]), constraints).sets
    assert learned.label_of(Term("heart attacks")) == learned.label_of(Term("heart attack"))
    assert Term("cardiac arrest") in constraints.alone


def test_a_second_time_only_open_sets_are_asked(server: JudgeServer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    mined = read_results(run)
    with ReviewStore(Artefacts(run).reviews) as store:
        store.add(ReviewState(mined).decide("accept", "s1", reviewer="ann"))
    server.key_of = lambda _: "one"
    first = judged_run(server, run)
    assert not any("aspirin" in seen.names for seen in server.seen)
    assert len(first.decisions) == len(server.seen) == 3
    again = judged_run(server, run)
    assert not again.decisions
    assert len(server.seen) == 3


def test_known_names_never_leave_their_set(server: JudgeServer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    server.key_of = lambda name: name
    judged_run(server, run)
    state = ReviewState(read_results(run), find_decisions(run))
    assert set(state["D009203"].keys) == {"myocardial infarction", "heart attack"}
    assert set(state["D006333"].keys) == {"heart failure", "cardiac failure"}
    assert state["s1"].keys == ("aspirin",)


def test_of_a_large_set_the_unsure_names_are_asked_and_judged(
    server: JudgeServer, tmp_path: Path
) -> None:
    known = {f"known name {number}": None for number in range(30)}
    new = {"new name": 0.5, "other thing": 0.6}
    run = write_run(tmp_path / "run", {"E1": {**known, **new}}, {"E1": "known name 0"})
    server.key_of = lambda name: "other" if name == "other thing" else "one"
    judged_run(server, run, names_per_question=6)
    (seen,) = server.seen
    assert len(seen.names) == 6
    assert {*new} <= {*seen.names}
    state = ReviewState(read_results(run), find_decisions(run))
    assert state["E1"].status == "changed"
    judged = {term.text: term.verdict for term in state["E1"].mined.terms}
    assert "other thing" not in judged
    assert len(judged) == 31


def test_unusable_answers_leave_a_run_as_it_is(server: JudgeServer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    server.content = "I do not know."
    done = judged_run(server, run)
    assert not done.decisions
    assert done.report.invalid == 4
    with ReviewStore(Artefacts(run).reviews) as store:
        assert not store.decisions()


def test_sets_that_somebody_changes_meanwhile_are_left_alone(
    server: JudgeServer, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run")
    mined = read_results(run)

    def decide_first(name: str) -> str:
        with ReviewStore(Artefacts(run).reviews) as store:
            if not store.decisions():
                store.add(ReviewState(mined).decide("reject", "s2", reviewer="ann"))
        return "one" if name else ""

    server.key_of = decide_first
    done = judged_run(server, run)
    assert done.conflicts == 1
    state = ReviewState(mined, find_decisions(run))
    assert state["s2"].status == "rejected"
    assert state["s1"].status == "accepted"


def test_older_decisions_that_come_in_meanwhile_are_put_in_place_at_once(
    server: JudgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run")
    mined = read_results(run)
    decision = ReviewState(mined).decide("accept", "s3", reviewer="ann")
    older = [decision.stamp(f"2020-01-01T00:00:{second:02}.000Z") for second in range(50)]
    folds: list[ReviewState] = []
    fold = ReviewState._fold

    def counted(state: ReviewState) -> None:
        folds.append(state)
        fold(state)

    monkeypatch.setattr(ReviewState, "_fold", counted)

    def import_first(name: str) -> str:
        with ReviewStore(Artefacts(run).reviews) as store:
            store.take_in(older)
        return "one" if name else ""

    server.key_of = import_first
    with ReviewStore(Artefacts(run).reviews) as store:
        store.add(ReviewState(mined).decide("accept", "D006973", reviewer="ann"))
    folds.clear()
    assert judged_run(server, run).decisions
    assert len(folds) == 2  # at the start, and for all fifty


# --- Commands ---------------------------------------------------------------------------------


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_group_with_a_judge(server: JudgeServer, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(NAMES))
    command = ["group", names, "--judge", server.url, "--judge-band", "0.5"]
    command += ["--judge-cache", tmp_path / "cache.sqlite", "--judge-price", "1"]
    dry = call(*command, "--judge-dry-run")
    assert not server.seen
    assert "dry run: 0 in the cache, at most about" in dry.stderr
    assert ", cost 0.0" in dry.stderr
    done = call(*command)
    assert done.exit_code == 0
    assert "answered (0 from the cache)" in done.stderr
    assert "type 1 diabetes\ttype 2 diabetes" in done.stdout
    without = call("group", names, "--judge-dry-run")
    assert "need the address of a language model: --judge URL" in str(without.exception)


def test_judge_of_a_run(server: JudgeServer, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    command = ["judge", run, "--judge", server.url, "--judge-cache", tmp_path / "cache.sqlite"]
    dry = call(*command, "--judge-dry-run")
    assert "4 questions on probabilities from 0.00 to 0.90; dry run" in dry.stderr
    assert not find_decisions(run)
    done = call(*command, "--below", "0.6", "--judge-model", "small")
    assert "small: 1 question on probabilities from 0.00 to 0.60; 1 answered" in done.stderr
    assert f"{len(find_decisions(run))} decisions of small" in done.stderr
    assert "name the endpoint" in str(call("judge", run).exception)
