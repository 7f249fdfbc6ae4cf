"""The parts of the review page on their own: near terms, sentences, places, people, words."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.review import Conflict, Decision, QueueFilter, ReviewState
from synsetmine.review.web.answers import TermFinder
from synsetmine.review.web.pages import (
    QueueQuery,
    Reviewer,
    describe_decision,
    format_position,
    name_of,
    read_position,
    render,
    title_of,
    when,
)
from synsetmine.review.web.routes import read_form
from synsetmine.review.web.schemas import ApiError
from synsetmine.review.web.session import Neighbours, ReviewSession
from synsetmine.runs import MinedSet, MinedTerm, Sentence
from synsetmine.runs.results import probability, share
from synsetmine.types import Term
from tests.support.webserver import write_near_vectors, write_run

texts = st.text(max_size=20)


@given(st.floats(allow_nan=False), texts)
def test_places_survive_an_address(least: float, set_id: str) -> None:
    assert read_position(format_position((least, set_id))) == (least, set_id)


@given(texts)
def test_anything_may_stand_in_an_address(text: str) -> None:
    place = read_position(text)
    assert place is None or not math.isnan(place[0])
    asked = QueueQuery.of({"show": text, "q": text, "after": text, "set": text, "x": text})
    assert asked.show in ("todo", "accepted", "rejected", "unsure", "changed", "all")


@given(st.lists(st.sampled_from(["q", "set", "after", "find", "new"]), unique=True), st.data())
def test_an_address_leads_back_to_what_was_asked(names: list[str], data: st.DataObject) -> None:
    whole = st.text(st.characters(codec="utf-8"), max_size=9)
    asked = QueueQuery.of({name: data.draw(whole) for name in names})
    query = parse_qs(urlsplit(asked.address()).query, keep_blank_values=True, strict_parsing=False)
    assert QueueQuery.of({name: values[0] for name, values in query.items()}) == asked


def test_people() -> None:
    ada = Reviewer.of(" Ada \t Lovelace ", "orcid:0000-0002-1694-233x")
    assert str(ada) == "Ada Lovelace (orcid:0000-0002-1694-233X)"
    assert Reviewer.from_cookie(ada.cookie) == ada
    assert name_of(str(ada)) == "Ada Lovelace"
    assert Reviewer.from_cookie("") is None
    assert Reviewer.from_cookie("Ada%20%28orcid%3A0000-0002-1825-0098%29") is None
    with pytest.raises(DataError):
        Reviewer.of("Ada\u202e")


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_names_survive_a_cookie(name: str) -> None:
    try:
        reviewer = Reviewer.of(name)
    except DataError:
        return
    assert reviewer.cookie.isascii()
    found = Reviewer.from_cookie(reviewer.cookie)
    assert found is not None
    assert str(found) == str(reviewer)


def test_forms() -> None:
    form = read_form(b"term=a&term=%C3%A4&set=s1&empty=")
    assert (form["set"], form.getlist("term"), form["empty"]) == ("s1", ["a", "ä"], "")
    with pytest.raises(DataError, match="this form cannot be read"):
        read_form(b"\xff=1")


def test_words_for_decisions() -> None:
    def said(kind: str, **more: object) -> str:
        given = {"reviewer": "A", "set_id": "s", "members": ("a", "b||x", "c", "d", "e")}
        return describe_decision(Decision(kind=kind, **{**given, **more}))  # type: ignore[arg-type]

    assert said("accept", terms=("a",)) == "accepted it"
    assert said("judge", terms=("b||x",), verdict="incorrect", scope="exact") == (
        "called “b” incorrect"
    )
    assert said("judge", terms=("a",), verdict="correct", scope="broad") == (
        "called “a” correct, broader"
    )
    assert said("split", terms=("a", "b||x", "c", "d"), other="t") == (
        "split off “a”, “b”, “c” and 1 more"
    )
    assert said("undo", undoes="x") == "undid a decision"


def test_words_for_numbers_and_times() -> None:
    assert [probability(p) for p in (None, math.nan, 0.999, 1.0, 0.004, 0.0, 0.5)] == [
        *("–", "–", "> 0.99", "1.00", "< 0.01", "0.00", "0.50")
    ]
    assert [share(None), share(0.5), share(3, 2), share(1, 0), share(math.nan)] == [
        *("0.0", "50.0", "100.0", "0.0", "0.0")
    ]
    assert when("2026-03-01T09:30:00.125Z") == "1 Mar 2026, 09:30 UTC"
    term = MinedTerm("a", 1, "", True)
    assert title_of(MinedSet("s", (term,))) == "a"
    assert title_of(MinedSet("s", (term,), "E", "Name")) == "Name"
    assert title_of(MinedSet("s", (term,), "E", "Name", preferred="a")) == "a"


def test_the_how_to_has_every_key() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/review.md").read_text("utf-8")
    box = render("keys.html")
    keys = re.findall(r"<kbd>(.*?)</kbd>", box)
    assert len(keys) == 24
    for key in keys:
        for single in key.split():
            assert f"`{single}`" in page, single


def test_the_script_and_the_templates_name_no_page_without_its_root() -> None:
    web = resources.files("synsetmine.review.web")
    script = (web / "static" / "review.js").read_text("utf-8")
    addresses = re.findall(r"""["'`](/[^"'`]*)["'`]""", re.sub(r"//.*", "", script))
    assert addresses == ["/"]  # the key of the search
    for template in (web / "templates").iterdir():
        found = re.findall(
            r'(?:href|src|action)="(?!\{\{ root \}\}|\{\{ page \}\}|#)[^"]*"', template.read_text()
        )
        assert found == [], template.name


# --- Lists ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_list_that_is_kept_is_the_one_that_is_made(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    bench = ReviewSession(write_run(tmp_path))
    wishes = [
        QueueFilter(),
        QueueFilter(text="card"),
        QueueFilter(status=frozenset({"accepted", "rejected"})),
        QueueFilter(new_names=True, min_size=1),
        QueueFilter(order="most"),
        QueueFilter(order="frequent", seeded=True),
        QueueFilter(order="useful"),
    ]
    for _ in range(60):
        fresh = ReviewState(bench.state._mined, bench.state._decisions.values()).queue
        for wanted in wishes:
            whole = fresh(wanted, count=99)
            assert bench.state.queue(wanted, count=99) == whole
            after = chance.choice([None, *map(wanted.position, whole.sets)])
            count = chance.randint(0, 3)
            assert bench.state.queue(wanted, after=after, count=count) == fresh(
                wanted, after=after, count=count
            )
        _decide_something(bench, chance)
    bench.close()


def _decide_something(bench: ReviewSession, chance: random.Random) -> None:
    found, other = chance.choices(bench.state.sets, k=2)
    kind = chance.choice(["accept", "reject", "judge", "remove", "split", "merge", "undo", "undo"])
    terms = chance.sample(found.keys, chance.randint(1, len(found.keys)))
    more = {"verdict": "incorrect"} if kind == "judge" else {"other": other.id}
    with suppress(DataError, Conflict):
        if kind == "undo":
            bench.undo("Ada")
            return
        bench.decide(kind, found.id, seen=bench.state.number, reviewer="Ada", terms=terms, **more)  # type: ignore[arg-type]


# --- Near terms -------------------------------------------------------------------------------


def test_words_that_are_shared_bring_terms_near(tmp_path: Path) -> None:
    keys = ["heart attack", "attack of the heart", "heart", "panic attack", "fever", "hay fever||x"]
    near = Neighbours(keys, tmp_path / "none")
    assert list(near.near(["fever"])) == []  # nothing is known yet
    near.fill()
    assert list(near.near(["fever"])) == ["hay fever||x"]
    assert next(near.near(["heart attack"])) == "heart"
    assert set(near.near(["heart attack"])) <= set(keys) - {"heart attack"}
    assert list(near.near(["unknown"])) == []


def test_vectors_bring_terms_near(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    write_near_vectors(run, [["aspirin", "albuterol"], ["fever", "chf"], ["stranger"]])
    near = Neighbours(["fever", "albuterol", "chf", "aspirin"], run / "vectors.safetensors")
    near.fill()
    assert next(near.near(["aspirin"])) == "albuterol"
    assert next(near.near(["chf"])) == "fever"
    assert "stranger" not in list(near.near(["chf"]))  # no term that was mined


def test_broken_vectors_are_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "v.safetensors").write_text("nothing")
    near = Neighbours(["hay fever", "fever"], tmp_path / "v.safetensors")
    near.fill()
    assert list(near.near(["fever"])) == ["hay fever"]
    assert "near sets by words only" in caplog.text


# --- Sentences --------------------------------------------------------------------------------


def test_a_run_without_documents_has_no_sentences(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    (run / "documents.parquet").unlink()
    assert _sentences(run) == {}


def test_broken_documents_are_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = write_run(tmp_path / "run")
    (run / "documents.parquet").write_text("nothing")
    assert _sentences(run) == {}
    assert "no sentences: " in caplog.text


def test_sentences_are_those_of_the_terms(tmp_path: Path) -> None:
    found = _sentences(write_run(tmp_path / "run"))
    assert [s.text for s in found["acetylsalicylic acid"]] == [
        "A patient with acetylsalicylic acid came in."
    ]


def _sentences(run: Path) -> Mapping[str, Sequence[Sentence]]:
    session = ReviewSession(run)
    try:
        return session.sentences(term.text for term in session.state["s1"].mined.terms)
    finally:
        session.close()


# --- Terms ------------------------------------------------------------------------------------


def test_what_a_text_means() -> None:
    index = TermFinder(map(Term.parse, ["Heart-Attack", "WHO", "who", "us||1", "us||2", "a b||x"]))

    def found(text: str) -> str:
        try:
            return str(index.find(text))
        except ApiError as error:
            return error.detail.code

    assert found("heart attack") == "Heart-Attack"
    assert found("WHO") == "WHO"
    assert found("who") == "who"
    assert found("us") == "ambiguous_term"
    assert found("us||2") == "us||2"
    assert found("us||3") == "unknown_term"
    assert found("A B") == "a b||x"
    assert found("…") == "unknown_term"
