"""The search page and the page of the API in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.review.web.answers import Answers, MinedAnswers
from synsetmine.review.web.api import SearchPage, ServerState, serving_app
from synsetmine.review.web.server import AccessPolicy
from synsetmine.runs.folder import Artefacts
from tests.support.webserver import MEDICAL, serve, write_near_vectors, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
HOSTILE = "<img src=x onerror=alert(1)>"
Show = Callable[..., Any]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    sets = {**MEDICAL, "s9": {HOSTILE: None, "long" * 60: None}}
    run = write_run(tmp_path_factory.mktemp("runs") / "run", sets)
    write_near_vectors(run, [["heart attack", "heart failure"], ["aspirin", "salbutamol"]])
    about = "Death of a part of the heart."
    entities = [
        Entity("D009203", "Myocardial Infarction", ("heart attack",), about),
        Entity("D012614", "Scurvy", ("Scorbutus",), "A lack of vitamin C."),
        Entity("D1", "cold temperature", ("cold",)),
        Entity("D2", "common cold", ("cold",)),
    ]
    KnowledgeBase.of(entities).save(Artefacts(run).knowledge)
    answers = Answers(MinedAnswers.of_run(run))
    service = ServerState(answers, SearchPage(answers, run, title="a run"))
    with serve(serving_app(service, AccessPolicy())) as address:
        yield address


@pytest.fixture
def show(browser: Browser, address: str) -> Show:
    """Open a page; the browser may complain of nothing, and ask no other server."""

    @contextmanager
    def opened(path: str = "/", **options: Any) -> Iterator[Page]:
        context = browser.new_context(**{"viewport": LAPTOP, **options})
        page = context.new_page()
        page.set_default_timeout(10_000)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda r: said.append(r.url) if not r.url.startswith(address) else None)
        page.goto(address + path)
        try:
            yield page
            assert said == []
        finally:
            context.close()

    return opened


def names(page: Page) -> list[str]:
    return page.get_by_role("list", name="Names").locator("strong").all_inner_texts()


def search(page: Page, text: str) -> None:
    """By keys alone: the field has the focus on the empty page, and one Tab away elsewhere."""
    page.get_by_role("searchbox", name="Term").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.wait_for_selector("#set-title")


def test_a_term_shows_its_set_entity_evidence_and_near_terms(show: Show) -> None:
    with show() as page:
        assert page.evaluate("document.activeElement.id") == "q"
        page.keyboard.type("Heart-Attack")
        page.keyboard.press("Enter")
        page.wait_for_selector("#set-title")
        assert page.locator("#set-title").inner_text() == "heart attack"
        assert names(page) == [
            *("heart attack", "myocardial infarction", "heart attacks", "cardiac arrest")
        ]
        assert page.locator("#definition").inner_text() == "Death of a part of the heart."
        link = page.locator("#entity")
        assert str(link.get_attribute("href")).endswith("?ui=D009203")
        new = page.locator(".term").filter(has_text="heart attacks")
        assert "new name" in new.inner_text()
        assert new.locator("b").inner_text() == "0.93"
        quote = new.locator("blockquote")
        assert quote.locator("p").inner_text() == "A patient with heart attacks came in."
        assert quote.locator("mark").inner_text() == "heart attacks"
        near = page.locator("#near-title + ul a")
        near.filter(has_text="heart failure").click()
        page.wait_for_function("document.querySelector('#q').value === 'heart failure'")
        assert page.locator("#set-title").inner_text() == "heart failure"
        page.go_back()
        assert page.locator("#set-title").inner_text() == "heart attack"


def test_names_that_the_run_lacks_come_from_the_knowledge_base(show: Show) -> None:
    with show("/?q=scurvy") as page:
        assert "from the knowledge base" in page.locator(".state").inner_text()
        assert names(page) == ["Scorbutus"]
        assert page.locator("#definition").inner_text() == "A lack of vitamin C."
        search(page, "cold")
        assert page.locator("#set-title").inner_text() == "Which one?"
        page.get_by_role("link", name="cold||D2").click()
        page.wait_for_selector("article")
        assert names(page) == ["common cold"]
        search(page, "asprin")
        page.get_by_role("link", name="aspirin").click()
        page.wait_for_selector("article")
        assert names(page) == ["aspirin", "acetylsalicylic acid"]


def test_hostile_names_are_text(show: Show) -> None:
    with show() as page:
        search(page, HOSTILE)
        assert page.locator("#set-title").inner_text() == HOSTILE
        search(page, "<script>alert(1)</script>")
        assert page.locator("#set-title").inner_text() == "Not found"


@pytest.mark.parametrize("path", ["/", "/?q=heart+attack", f"/?q={'long' * 60}", "/docs"])
def test_nothing_sticks_out_at_the_side_of_a_phone(show: Show, path: str) -> None:
    with show(path, viewport=PHONE, is_mobile=True, has_touch=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_light_and_dark_follow_the_reader(show: Show) -> None:
    colours = []
    for scheme in ("light", "dark"):
        with show("/?q=aspirin", color_scheme=scheme) as page:
            style = "getComputedStyle(document.body).backgroundColor"
            colours.append(page.evaluate(style))
    assert colours == ["rgb(246, 246, 243)", "rgb(18, 21, 23)"]


def test_without_javascript_one_can_search(show: Show) -> None:
    with show(java_script_enabled=False) as page:
        page.get_by_role("searchbox", name="Term").fill("chf")
        page.get_by_role("button", name="Search").click()
        page.wait_for_selector("#set-title")
        assert names(page)[0] == "chf"


def test_each_operation_can_be_tried(show: Show) -> None:
    with show("/docs") as page:
        titles = page.locator(".operation h2 code").all_inner_texts()
        assert {"/v1/expand", "/v1/batch", "/readyz"} <= set(titles)
        form = page.locator("#expand")
        form.get_by_label("term").fill("aspirin")
        form.get_by_role("button", name="Send").click()
        page.wait_for_selector("#expand + output:not([hidden])")
        shown = page.locator("#expand + output").inner_text()
        assert shown.startswith("200 · /v1/expand?term=aspirin&top=10")
        assert "acetylsalicylic acid" in shown
        page.locator("#batch").get_by_role("button", name="Send").click()
        page.wait_for_selector("#batch + output:not([hidden])")
        assert '"status": 200' in page.locator("#batch + output").inner_text()
