"""The review page over HTTP: every button, what stands on the page, and what is refused."""

from __future__ import annotations

import html
import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from synsetmine.errors import DataError
from synsetmine.io.sets import Quote, read_trace, write_trace
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.review import Decision, QueueFilter, ReviewStore
from synsetmine.review.feedback import reviewed_sets
from synsetmine.review.web.pages import format_position
from synsetmine.review.web.routes import reviewing_app
from synsetmine.review.web.server import LOOPBACK, AccessPolicy
from synsetmine.review.web.session import ReviewSession
from synsetmine.runs import read_results
from synsetmine.runs.folder import Artefacts
from synsetmine.types import Term
from tests.support.webserver import Sets, Visitor, serve, write_near_vectors, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@contextmanager
def reviewing(run: Path) -> Iterator[Callable[..., Visitor]]:
    """A server for a run, and how to visit it."""
    visitors: list[Visitor] = []
    with serve(reviewing_app(ReviewSession(run), AccessPolicy(), title="a run")) as address:

        def visit(name: str = "Ada", orcid: str = "") -> Visitor:
            visitors.append(Visitor(address, name, orcid))
            return visitors[-1]

        try:
            yield visit
        finally:
            for visitor in visitors:
                visitor.close()


def decisions(run: Path) -> list[Decision]:
    with ReviewStore(Artefacts(run).reviews) as store:
        return store.decisions()


def listed(page: str) -> list[str]:
    """The names of the sets in the list."""
    return [html.unescape(name) for name in re.findall(r'class="name"><bdi>(.*?)</bdi>', page)]


def title(page: str) -> str:
    match = re.search(r'id="set-title" tabindex="-1">(?:<bdi>)?(.*?)(?:</bdi>)?</h1>', page)
    assert match
    return html.unescape(match[1])


def alert(page: str) -> str:
    match = re.search(r'class="alert" role="alert"[^>]*>(.*?)</(?:div|p)>', page, re.S)
    return " ".join(html.unescape(re.sub("<.*?>", "", match[1])).split()) if match else ""


def test_with_a_token_all_is_below_the_path_of_the_token(run: Path) -> None:
    door = AccessPolicy(LOOPBACK, "a-token-of-some-length")
    with serve(reviewing_app(ReviewSession(run), door, title="a run")) as address:
        ada = Visitor(f"{address}/?token={door.token}")
        pages = [ada.open(), ada.open(set="s1", find="heart"), ada.client.get("/reviewer").text]
        pages += [ada.decide("incorrect", "s1", term="aspirin").text, ada.send("/undo").text]
        pages.append(ada.client.get("/nothing").text)
        for page in pages:
            links = re.findall(r'(?:href|src|action)="([^"#][^"]*)"', page)
            assert links
            outside = {link for link in links if not link.startswith(f"{door.root}/")}
            assert outside <= {"https://meshb.nlm.nih.gov/record/ui?ui=D009203"}
            assert "a-token-of-some-length" not in page
        for name in ("static/review.css", "static/review.js", "palette.css"):
            assert ada.client.get(name).status_code == 200
        paths = {cookie.name.split("_")[1]: cookie.path for cookie in ada.client.cookies.jar}
        assert paths == {"token": door.root, "form": door.root, "reviewer": "/"}
        ada.close()
    assert [d.kind for d in decisions(run)] == ["judge", "undo"]


# --- The list ---------------------------------------------------------------------------------


def test_the_least_certain_sets_come_first(run: Path) -> None:
    with reviewing(run) as visit:
        page = visit().open()
        assert listed(page) == [
            "Myocardial Infarction",
            "salbutamol",
            "aspirin",
            "Heart Failure",
            "Hypertension",
        ]
        assert title(page) == "Myocardial Infarction"
        assert "<b>0</b> of 5 sets reviewed" in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "cardiac"}, ["Myocardial Infarction", "Heart Failure"]),
        ({"q": "D006973"}, ["Hypertension"]),
        ({"q": "ALBUT"}, ["salbutamol"]),
        ({"q": "nothing"}, []),
        ({"seeded": "1"}, ["Myocardial Infarction", "Heart Failure", "Hypertension"]),
        ({"show": "accepted"}, []),
        ({"show": "all", "q": "fever"}, ["fever"]),
        ({"show": "nonsense", "q": "chf"}, ["Heart Failure"]),
        ({"after": format_position((0.72, "s1"))}, ["Heart Failure", "Hypertension"]),
        ({"after": "rubbish", "q": "chf"}, ["Heart Failure"]),
        ({"after": format_position((math.nan, "s1")), "q": "chf"}, ["Heart Failure"]),
        ({"after": "0" * 15, "q": "chf"}, ["Heart Failure"]),
    ],
)
def test_filters_and_search(run: Path, query: dict[str, str], found: list[str]) -> None:
    with reviewing(run) as visit:
        page = visit().open(**query)
        assert listed(page) == found
        assert title(page) == (found[0] if found else "No set matches")


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("least", ["Infarction", "salbutamol", "aspirin", "Failure", "Hypertension"]),
        ("most", ["Hypertension", "Failure", "aspirin", "salbutamol", "Infarction"]),
        # Occurrences of new names: 16 + 17, 10 + 23, 13 + 12, 22 and 6
        ("frequent", ["Infarction", "aspirin", "salbutamol", "Hypertension", "Failure"]),
        # p (1 - p) log(1 + n): .72, .64, .58, .24 and .09
        ("useful", ["Infarction", "aspirin", "salbutamol", "Failure", "Hypertension"]),
        ("nonsense", ["Infarction", "salbutamol", "aspirin", "Failure", "Hypertension"]),
    ],
)
def test_orders(run: Path, sort: str, names: list[str]) -> None:
    with reviewing(run) as visit:
        ada = visit()
        page = ada.open(sort=sort)
        assert [name.split()[-1] for name in listed(page)] == names
        ada.page = ada.send("/decide", act="accept", **_fields(page))
        assert title(ada.page.text).split()[-1] == names[1]  # the next one in the same order


def _fields(page: str) -> dict[str, str]:
    form = page.partition('id="whole"')[2].partition("</form>")[0]
    fields = re.findall(r'name="(\w+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in fields if name != "act"}


def test_a_filter_by_kind_of_name(run: Path) -> None:
    at = Artefacts(run)
    trace = [
        replace(one, kind="abbreviation") if one.term == Term("chf") else one
        for one in read_trace(at.trace)
    ]
    write_trace(at.trace, trace)
    with reviewing(run) as visit:
        assert listed(visit().open(kind="abbreviation")) == ["Heart Failure"]
        assert listed(visit().open(kind="inflection")) == []
        assert len(listed(visit().open(kind="nonsense"))) == 5


def test_sets_without_anything_new_are_left_out(tmp_path: Path) -> None:
    sets: Sets = {"D1": {"fever": None, "pyrexia": None}, "D2": {"pain": None, "ache": 0.8}}
    run = write_run(tmp_path / "run", sets, {"D1": "Fever", "D2": "Pain"})
    with reviewing(run) as visit:
        ada = visit()
        page = ada.open()
        assert listed(page) == ["Pain"]
        assert "<b>0</b> of 1 set reviewed" in page
        assert listed(ada.open(known="1")) == ["Pain", "Fever"]
        assert listed(ada.open(show="all")) == ["Pain", "Fever"]
        ada.open(set="D2")
        page = ada.decide("accept", "D2").text
        assert title(page) == "All sets are reviewed"
        assert "<b>1</b> of 1 set reviewed" in page
        assert 'href="/?known=1">Show the sets without new names' in page


def test_new_names_stand_on_top_of_their_set(run: Path) -> None:
    with reviewing(run) as visit:
        page = visit().open(set="D009203")
        names = re.findall(r"<strong><bdi>(.*?)</bdi></strong>", page)
        assert names == ["heart attacks", "cardiac arrest", "myocardial infarction", "heart attack"]
        assert "<bdi>heart attacks</bdi> · <bdi>cardiac arrest</bdi> · <bdi>myocardial" in page


def test_many_sets_come_in_pages(tmp_path: Path) -> None:
    many: Sets = {f"s{i:03}": {f"one {i}": None, f"two {i}": 0.5 + i / 1000} for i in range(60)}
    with reviewing(write_run(tmp_path / "run", many, {})) as visit:
        visitor = visit()
        page, seen = visitor.open(), []
        while True:
            seen += listed(page)
            following = re.search(r'id="next-page" href="(.*?)"', page)
            if following is None:
                break
            page = visitor.client.get(html.unescape(following[1])).text
        assert seen == [f"one {i}" for i in range(60)]
        assert "First page" in page


def test_a_set_shows_what_is_known_of_it(run: Path) -> None:
    with reviewing(run) as visit:
        page = visit().open(set="D009203")
        text = " ".join(html.unescape(re.sub("<.*?>", " ", page)).split())
        assert "Entity D009203 · 4 terms · 72 occurrences · least certain 0.51" in text
        assert "heart attacks new name 0.93 · joined · seen 16 times" in text
        assert "myocardial infarction known before · seen 24 times" in text


def test_an_entity_has_its_definition_and_a_link(run: Path) -> None:
    entity = Entity("D006333", "Heart Failure", ("cardiac failure",), "The heart <fails>.")
    KnowledgeBase.of([entity, Entity("my id", "Fever")]).save(Artefacts(run).knowledge)
    with reviewing(run) as visit:
        page = visit().open(set="D006333")
        assert 'dir="auto">The heart &lt;fails&gt;.</p>' in page
        address = "https://meshb.nlm.nih.gov/record/ui?ui=D006333"
        assert f'href="{address}" target="_blank" rel="noreferrer"' in page
        assert 'id="definition"' not in visit().open(set="s1")


def test_kind_relation_and_evidence_of_a_name(run: Path) -> None:
    at = Artefacts(run)
    evidence = (Quote("abbreviation", "d<9>", "A heart failure (CHF) <b>of</b> sorts."),)
    told = [
        replace(
            decision,
            kind="abbreviation",
            relation="narrow",
            nearest="heart <failure>",
            evidence=evidence,
        )
        if decision.term == Term("chf")
        else decision
        for decision in read_trace(at.trace)
    ]
    write_trace(at.trace, told)
    with reviewing(run) as visit:
        ada = visit()
        page = ada.open(set="D006333")
        text = " ".join(html.unescape(re.sub("<.*?>", " ", page)).split())
        assert "0.88 · abbreviation of “heart <failure>”, narrower · joined" in text
        assert "evidence: abbreviation A heart failure ( CHF ) <b>of</b> sorts. d<9>" in text
        assert "(<mark>CHF</mark>) &lt;b&gt;of&lt;/b&gt; sorts." in page
        assert page.count('<option value="narrow" selected>narrower</option>') == 1
        assert page.count('<option value="exact" selected>exact</option>') == 2
        ada.send("/blind", blind="1", set="D006333")
        page = ada.open(set="D006333")
        assert "abbreviation of" in page
        shown = page.partition('<dialog id="keys"')[0]
        assert "narrower" not in shown.replace('<option value="narrow">narrower</option>', "")
        assert page.count('<option value="exact" selected>exact</option>') == 3
        ada.send("/blind", blind="", set="D006333")
        ada.decide("accept", "D006333")
    left = reviewed_sets(read_results(run), decisions(run))
    (found,) = [term for mined in left for term in mined.terms if term.text == "chf"]
    assert found.judgement is not None
    assert (found.judgement.verdict, found.judgement.scope) == ("correct", "narrow")


def test_a_set_shows_sentences_of_its_terms(run: Path) -> None:
    with reviewing(run) as visit:
        page = visit().open(set="s1")
        assert "A patient with <mark>acetylsalicylic acid</mark> came in." in page
        assert "<cite><bdi>d10</bdi></cite>" in page


def test_near_sets_by_words_and_by_vectors(run: Path) -> None:
    write_near_vectors(run, [["aspirin", "albuterol"], ["fever"], ["heart attack"]])
    with reviewing(run) as visit:
        visitor = visit()
        for _ in range(100):
            page = visitor.open(set="s1")
            near = page.partition('id="near-title"')[2]
            if "salbutamol" in near:
                break
            time.sleep(0.05)
        assert near.index("salbutamol") < near.index("fever")  # the nearer one comes first
        near = visitor.open(set="D006333").partition('id="near-title"')[2]
        assert "Myocardial Infarction" in near  # cardiac arrest, cardiac failure


# --- Decisions --------------------------------------------------------------------------------


def test_the_whole_way_of_a_set(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit("Ada", "https://orcid.org/0000-0002-1825-0097")
        ada.open()
        ada.decide("incorrect", "D009203", term="cardiac arrest", scope="related")
        assert title(ada.page.text) == "Myocardial Infarction"
        ada.decide("doubt", "D009203", term="heart attacks")
        ada.decide("correct", "D009203", term="heart attacks", scope="narrow")
        ada.decide("rename", "D009203", term="heart attack")
        assert title(ada.page.text) == "heart attack"
        ada.decide("remove", "D009203", term="cardiac arrest")
        ada.decide("accept", "D009203")
        assert title(ada.page.text) == "salbutamol"
        assert "<b>1</b> of 5 sets reviewed" in ada.page.text
        ada.decide("merge", "s2", other="s1")
        ada.decide("split", "s2", term=["aspirin", "acetylsalicylic acid"])
        ada.decide("reject", "s2")
        ada.decide("unsure", "D006333")
        page = ada.open(show="accepted")
    assert listed(page) == ["heart attack"]
    made = decisions(run)
    assert [d.kind for d in made] == [
        *("judge", "judge", "judge", "rename", "remove", "accept", "merge", "split"),
        *("reject", "unsure"),
    ]
    assert {d.reviewer for d in made} == {"Ada (orcid:0000-0002-1825-0097)"}
    assert (made[0].terms, made[0].verdict, made[0].scope) == (
        ("cardiac arrest",),
        "incorrect",
        "related",
    )
    assert (made[2].verdict, made[2].scope) == ("correct", "narrow")
    assert set(made[5].terms) == {"myocardial infarction", "heart attack", "heart attacks"}
    assert made[6].others == ("aspirin", "acetylsalicylic acid")
    assert set(made[7].terms) == {"aspirin", "acetylsalicylic acid"}


def test_the_next_set_is_the_one_behind_and_not_the_first(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit()
        ada.open(set="s1")
        ada.decide("accept", "s1")
        assert title(ada.page.text) == "Heart Failure"
        ada.decide("accept", "D006333")
        ada.decide("accept", "D006973")
        assert title(ada.page.text) == "Myocardial Infarction"  # from the start again
        ada.decide("reject", "D009203")
        ada.decide("reject", "s2")
        assert title(ada.page.text) == "All sets are reviewed"


def test_undo_takes_back_the_last_one_and_shows_its_set(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit()
        ada.open()
        ada.decide("accept", "D009203")
        ada.decide("reject", "s2")
        for name, done in (("salbutamol", 1), ("Myocardial Infarction", 0)):
            page = ada.send("/undo").text
            assert title(page) == name
            assert f"<b>{done}</b> of 5 sets reviewed" in page
        answer = ada.send("/undo")
        assert answer.status_code == 400
        assert alert(answer.text) == "there is no decision to undo by: 'Ada'"
    assert [d.kind for d in decisions(run)] == ["accept", "reject", "undo", "undo"]


def test_one_decision_of_several_is_taken_back(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit()
        ada.open(set="s1")
        ada.decide("rename", "s1", term="acetylsalicylic acid")
        page = ada.decide("correct", "s1", term="aspirin").text
        assert "<strong><bdi>Ada</bdi></strong> called “aspirin” correct" in page
        assert "named it “acetylsalicylic acid”" in page
        first, second = decisions(run)
        answer = ada.send("/undo", target=first.id, set="s1")
        assert answer.status_code == 409  # a later one depends on it
        assert alert(answer.text).startswith("Ada called “aspirin” correct on ")
        ada.send("/undo", target=second.id, set="s1")
        page = ada.send("/undo", target=first.id, set="s1").text
        assert title(page) == "aspirin"
        assert page.count(", undone") == 2


def test_several_sets_are_accepted_and_undone_by_one_act(run: Path) -> None:
    with reviewing(run) as visit:
        ada, bea = visit("Ada"), visit("Bea")
        bea.open(set="D006333")
        bea.decide("unsure", "D006333")
        page = ada.send("/accept-all", least="0.7").text
        made = decisions(run)
        assert [d.set_id for d in made] == ["D006333", "s1", "D006973"]  # not the one of Bea
        assert len({d.note for d in made[1:]}) == 1
        assert "Accepted 2 sets at 0.7 or above. 3 of 5 sets reviewed." in page
        assert "accepted it, together with 2 sets at 0.7 or above" in ada.open(set="s1")
        bea.open(set="s1")
        bea.decide("correct", "s1", term="aspirin")
        last = made[-1].id
        page = ada.send("/undo", set="s2", last=last).text
        assert "Undone: accepted 2 sets at 0.7 or above, except 1 decided on since." in page
        undone = decisions(run)[-1]
        assert (undone.kind, undone.undoes) == ("undo", last)
        for wrong in ("", "0", "2", "nan", "-1", "x"):
            answer = ada.send("/accept-all", least=wrong)
            assert answer.status_code == 400
            assert alert(answer.text).startswith("expected a probability above 0 and up to 1")
        answer = ada.send("/accept-all", least="0.99")
        assert alert(answer.text).startswith("no set of this list has all its terms at")
        assert len(decisions(run)) == 5


def test_several_sets_are_accepted_within_the_filter_only(run: Path) -> None:
    with reviewing(run) as visit:
        visit().send("/accept-all", least="0.7", seeded="1")
    assert {d.set_id for d in decisions(run)} == {"D006333", "D006973"}


def test_undo_needs_a_decision_that_the_page_names(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit()
        ada.open(set="s1")
        ada.decide("accept", "s1")
        page = ada.open(set="s2")
        assert 'name="last" value=""' in page
        answer = ada.send("/undo", set="s2", last="")
        assert answer.status_code == 400
        assert alert(answer.text).startswith("you have decided nothing on this set")
        bea = visit("Bea")
        answer = bea.send("/undo", set="s1", last=decisions(run)[0].id)  # of another person
        assert answer.status_code == 409
    assert [d.kind for d in decisions(run)] == ["accept"]


def test_a_term_that_is_not_a_name(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit()
        ada.open(set="D009203")
        page = ada.decide("no-name", "D009203", term="heart attacks").text
        assert "Called “heart attacks” not a name." in page
        assert 'class="term not-a-name"' in page
        ada.decide("accept", "D009203")
    judged, accepted = decisions(run)
    assert judged.verdict == "not-a-name"
    assert "heart attacks" not in accepted.terms


def test_two_reviewers_conflict_and_nothing_is_lost(run: Path) -> None:
    with reviewing(run) as visit:
        ada, bea = visit("Ada"), visit("Bea")
        ada.open(set="s1")
        bea.open(set="s1")
        ada.decide("accept", "s1")
        answer = bea.decide("reject", "s1")
        assert answer.status_code == 409
        said = alert(answer.text)
        assert said.startswith("Ada accepted it on ")
        assert "Your decision (reject) was not recorded." in said
        assert title(answer.text) == "aspirin"
        assert [d.kind for d in decisions(run)] == ["accept"]
        bea.decide("reject", "s1")  # now she has seen it
        page = bea.open(set="s1")
        assert 'class="status disputed">disputed<' in page
        assert 'class="status rejected">rejected<' in page
        assert "<bdi>Ada</bdi></strong> accepted it" in page
        assert "<bdi>Bea</bdi></strong> rejected it" in page
    assert [(d.reviewer, d.kind) for d in decisions(run)] == [("Ada", "accept"), ("Bea", "reject")]


def test_others_may_decide_on_other_sets_meanwhile(run: Path) -> None:
    with reviewing(run) as visit:
        ada, bea = visit("Ada"), visit("Bea")
        ada.open(set="s1")
        bea.open(set="s2")
        ada.decide("accept", "s1")
        assert bea.decide("accept", "s2").status_code == 200


def test_a_set_that_was_merged_meanwhile(run: Path) -> None:
    with reviewing(run) as visit:
        ada, bea = visit("Ada"), visit("Bea")
        ada.open(set="s1")
        bea.open(set="s2")
        ada.decide("merge", "s1", other="s2")
        answer = bea.decide("accept", "s2")
        assert answer.status_code == 409
        assert title(answer.text) == "aspirin"  # where its terms are now
        assert "merged it with “salbutamol”, “albuterol”" in alert(answer.text)
        page = bea.open(set="s2")
        assert alert(page) == "The set s2 no longer exists; this is the next one."


def test_what_another_process_decides_is_seen(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit("Ada")
        ada.open(set="s1")
        bench = ReviewSession(run)
        bench.decide("accept", "s1", seen=0, reviewer="Cid")
        bench.close()
        answer = ada.decide("reject", "s1")
        assert answer.status_code == 409
        assert alert(answer.text).startswith("Cid accepted it")
        assert "<b>1</b> of 5 sets reviewed" in ada.open()


def test_what_came_in_just_before_ones_own_decision_is_seen_too(run: Path) -> None:
    ours, theirs = ReviewSession(run), ReviewSession(run)
    theirs.decide("accept", "s2", seen=0, reviewer="Bea")
    ours.decide("accept", "s1", seen=0, reviewer="Ada")  # it knew nothing of Bea's
    assert ours.state.progress["accepted"] == 2
    assert [found.id for found in ours.state.queue(QueueFilter(), count=9).sets] == [
        *("D009203", "D006333", "D006973")
    ]
    ours.close()
    theirs.close()


def test_blind_reviewers_see_no_scores_before_they_decide(run: Path) -> None:
    with reviewing(run) as visit:
        ada = visit()
        assert "0.51" in ada.open(set="D009203")
        ada.send("/blind", blind="1", set="D009203")
        page = ada.open(set="D009203")
        for hint in ("0.51", "0.93", "joined", "known before", "least certain 0", 'class="meter"'):
            assert hint not in page
        assert "seen 16 times" in page
        ada.decide("accept", "D009203")
        page = ada.open(set="D009203", show="accepted")
        assert "0.93" in page
        ada.send("/blind", blind="")
        assert "0.66" in ada.open(set="s2")


def test_any_set_can_be_found_to_merge(run: Path) -> None:
    with reviewing(run) as visit:
        page = visit().open(set="s1", find="fev")
        near = page.partition('id="near-title"')[2]
        assert "1 set with “<bdi>fev</bdi>”" in near
        assert 'aria-label="Merge fever into this set"' in near
        assert "None matches." in visit().open(set="s1", find="aspirin")  # not with itself


@pytest.mark.parametrize(("prefix", "linked"), [("", False), ("GEO", False), ("DOI", True)])
def test_ids_of_documents_are_links_where_they_have_a_page(
    run: Path, prefix: str, linked: bool
) -> None:
    session = ReviewSession(run, document_prefix=prefix)
    with serve(reviewing_app(session, AccessPolicy(), title="a run")) as address:
        visitor = Visitor(address)
        try:
            page = visitor.open(set="s1")
        finally:
            visitor.close()
    links = re.findall(r'<cite><a href="(.*?)" target="_blank" rel="noreferrer">', page)
    assert bool(links) == linked
    assert all(re.fullmatch(r"https://doi\.org/d\d+", link) for link in links)


def test_a_wrong_prefix_of_documents_is_refused(run: Path) -> None:
    with pytest.raises(DataError, match="expected a prefix"):
        ReviewSession(run, document_prefix="a b")


def test_the_button_says_what_is_rejected(run: Path) -> None:
    with reviewing(run) as visit:
        assert "the known names stay" in visit().open(set="D006333")
        assert "None of the terms are synonyms of each other" in visit().open(set="s1")
