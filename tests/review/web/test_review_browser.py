"""The review page in a real browser: mouse, keys, two people, a killed server."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from synsetmine.review.web.routes import reviewing_app
from synsetmine.review.web.server import AccessPolicy
from synsetmine.review.web.session import ReviewSession
from tests.review.web.test_review import decisions
from tests.support.webserver import serve, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

LAPTOP = {"width": 1280, "height": 800}
Show = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture
def address(run: Path) -> Iterator[str]:
    with serve(reviewing_app(ReviewSession(run), AccessPolicy(), title="a run")) as address:
        yield address


def show_in(browser: Browser) -> Show:
    """Open the page as a reviewer; the browser may complain only of what is expected."""

    @contextmanager
    def opened(
        address: str, name: str = "Ada", complaints: tuple[str, ...] = (), **options: Any
    ) -> Iterator[Page]:
        options.setdefault("viewport", LAPTOP)
        context = browser.new_context(**options)
        page = context.new_page()
        page.set_default_timeout(10_000)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        try:
            page.goto(address)
            page.get_by_label("Name", exact=True).fill(name)
            page.get_by_role("button", name="Begin").click()
            page.wait_for_selector("#set-title")
            if options.get("java_script_enabled", True):
                page.wait_for_selector("html.live")
            yield page
            unexpected = [text for text in said if not any(c in text for c in complaints)]
            assert unexpected == []
        finally:
            context.close()

    return opened


@pytest.fixture
def show(browser: Browser) -> Show:
    return show_in(browser)


def wait_for_title(page: Page, title: str) -> None:
    page.wait_for_function(
        "t => document.querySelector('#set-title')?.textContent === t", arg=title
    )


def wait_for_kinds(run: Path, *kinds: str) -> None:
    """Until these decisions, and no others, are on disk."""
    until = time.monotonic() + 10
    while [d.kind for d in decisions(run)] != list(kinds):
        assert time.monotonic() < until, [d.kind for d in decisions(run)]
        time.sleep(0.02)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def row(page: Page, text: str) -> Any:
    """The row of a term."""
    exact = page.locator(".text strong").filter(has_text=re.compile(f"^{re.escape(text)}$"))
    return page.locator(".term").filter(has=exact)


# --- By mouse ---------------------------------------------------------------------------------


def test_the_whole_way_by_mouse(show: Show, address: str, run: Path) -> None:
    with show(address) as page:
        assert page.locator("#set-title").inner_text() == "Myocardial Infarction"
        wrong = row(page, "cardiac arrest")
        wrong.get_by_role("button", name="Incorrect", exact=True).click()
        page.wait_for_selector(".term.incorrect")
        assert wrong.locator(".incorrect[aria-pressed=true]").count() == 1
        row(page, "heart attacks").get_by_label("Scope of heart attacks").select_option("narrow")
        wait_for_kinds(run, "judge", "judge")
        row(page, "heart attack").get_by_role("button", name="Use as name").click()
        wait_for_title(page, "heart attack")
        wrong.get_by_role("button", name="Take out").click()
        wrong.wait_for(state="detached")
        page.get_by_role("button", name="Accept").click()
        wait_for_title(page, "salbutamol")
        assert page.locator("#progress").inner_text() == "1 of 5 sets reviewed"
        said = page.get_by_role("status").inner_text()
        assert said == "Accepted heart attack. 1 of 5 sets reviewed."
        page.get_by_placeholder("Find another set to merge").fill("aspi")
        page.get_by_role("button", name="Find").click()
        page.get_by_role("button", name="Merge aspirin into this set").click()
        row(page, "acetylsalicylic acid").wait_for()
        for text in ("aspirin", "acetylsalicylic acid"):
            page.get_by_label(f"Tick {text} to split it off").check()
        page.get_by_role("button", name="Split off ticked").click()
        row(page, "aspirin").wait_for(state="detached")
        page.get_by_role("button", name="Reject", exact=False).click()
        wait_for_title(page, "aspirin")
        wait_for_kinds(
            run, *("judge", "judge", "rename", "remove", "accept", "merge", "split", "reject")
        )
        page.locator("#toast-undo").click()
        wait_for_title(page, "salbutamol")
        page.get_by_role("button", name="Unsure u").click()
        wait_for_title(page, "aspirin")
        page.get_by_label("Show", exact=True).select_option("Accepted")
        wait_for_title(page, "heart attack")
        assert page.locator(".list .name").all_inner_texts() == ["heart attack"]
    last = decisions(run)[1]
    assert (last.terms, last.verdict, last.scope) == (("heart attacks",), "correct", "narrow")


@pytest.mark.slow
def test_search_filters_and_the_way_back(show: Show, address: str) -> None:
    with show(address) as page:
        search = page.get_by_label("Search terms, ids and names")
        search.fill("cardiac")
        search.press("Enter")
        page.wait_for_function("() => document.querySelectorAll('.list li').length === 2")
        assert focused(page) == "q"
        assert page.locator("#count").inner_text() == "2"
        page.locator(".list a").nth(1).click()
        wait_for_title(page, "Heart Failure")
        assert "set=D006333" in page.url
        assert page.locator(".list [aria-current]").inner_text().startswith("Heart Failure")
        page.go_back()
        wait_for_title(page, "Myocardial Infarction")
        page.get_by_label("Search terms, ids and names").fill("nothing of the kind")
        page.get_by_label("Search terms, ids and names").press("Enter")
        wait_for_title(page, "No set matches")
        page.get_by_role("link", name="go back to the sets to review").click()
        wait_for_title(page, "Myocardial Infarction")
        page.get_by_label("Of a known entity").check()
        page.wait_for_function("() => document.querySelectorAll('.list li').length === 3")
        assert focused(page) == "seeded"


@pytest.mark.slow
def test_a_page_marks_terms_in_sentences(show: Show, address: str) -> None:
    with show(address) as page:
        row(page, "heart attack").locator("mark").wait_for(timeout=30_000)
        assert row(page, "heart attack").locator("mark").inner_text() == "heart attack"


def test_a_message_names_the_decision_and_undoes_it(show: Show, address: str, run: Path) -> None:
    with show(address) as page:
        said, undo = page.get_by_role("status"), page.locator("#toast-undo")
        assert not undo.is_visible()
        page.keyboard.press("a")
        wait_for_title(page, "salbutamol")
        assert said.inner_text() == "Accepted Myocardial Infarction. 1 of 5 sets reviewed."
        toast, bar = page.locator("#toast").bounding_box(), page.locator(".bar").bounding_box()
        assert toast is not None
        assert bar is not None
        assert not bar["y"] - toast["height"] < toast["y"] < bar["y"] + bar["height"]
        undo.click()
        wait_for_title(page, "Myocardial Infarction")
        text = "Undone: accepted Myocardial Infarction. 0 of 5 sets reviewed."
        assert said.inner_text() == text
        assert not undo.is_visible()
        page.keyboard.press("s")
        assert said.inner_text() == "Tick the terms to split off first."
    wait_for_kinds(run, "accept", "undo")


def test_undo_touches_no_set_that_the_page_does_not_name(
    show: Show, address: str, run: Path
) -> None:
    with show(address) as page:
        page.keyboard.press("a")
        wait_for_title(page, "salbutamol")
        page.keyboard.press("n")  # the message with the accepted set goes
        wait_for_title(page, "aspirin")
        page.keyboard.press("z")  # it only shows the decision
        wait_for_title(page, "Myocardial Infarction")
        said = page.get_by_role("status").inner_text()
        assert said == "Accepted Myocardial Infarction. 1 of 5 sets reviewed."
        wait_for_kinds(run, "accept")
        page.keyboard.press("z")
        undone = "Undone: accepted Myocardial Infarction."
        page.get_by_role("status").filter(has_text=undone).wait_for()
        page.keyboard.press("z")
        nothing = "There is no decision of yours to undo."
        page.get_by_role("status").filter(has_text=nothing).wait_for()
    wait_for_kinds(run, "accept", "undo")


def test_several_sets_are_accepted_and_undone_at_once(show: Show, address: str, run: Path) -> None:
    with show(address) as page:
        page.get_by_text("Accept several sets").click()
        page.get_by_label("All sets of this list").fill("0.7")
        page.get_by_role("button", name="Accept all").click()
        said = page.get_by_role("status")
        said.filter(has_text="Accepted 3 sets at 0.7 or above. 3 of 5 sets reviewed.").wait_for()
        titles = page.locator(".list .name").all_inner_texts()
        assert titles == ["Myocardial Infarction", "salbutamol"]
        page.keyboard.press("z")
        said.filter(has_text="Undone: accepted 3 sets at 0.7 or above.").wait_for()
        assert len(page.locator(".list .name").all_inner_texts()) == 5
    wait_for_kinds(run, *["accept"] * 3, *["undo"] * 3)


def test_sorting_and_kinds_by_mouse(show: Show, address: str) -> None:
    with show(address) as page:
        page.get_by_label("Sort").select_option("Most certain first")
        wait_for_title(page, "Hypertension")
        page.get_by_label("Kind of name").select_option("Spellings")
        wait_for_title(page, "No set matches")


# --- By keys ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_keys_alone_are_enough(browser: Browser, address: str, run: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    press = page.keyboard.press
    page.keyboard.type("Ada")  # the field has the focus
    press("Enter")
    page.wait_for_selector("html.live #set-title")
    press("?")
    assert page.get_by_role("dialog", name="Keyboard shortcuts").is_visible()
    press("Escape")
    assert not page.locator("#keys").is_visible()
    for _ in range(2):
        press("j")
    assert focused(page) == "term-2"
    press("x")
    page.wait_for_selector("#term-2.incorrect")
    assert focused(page) == "term-2"  # the focus stays where it was
    press("k")
    press("3")
    page.wait_for_selector("#term-1.correct")
    assert page.locator("#scope-1").input_value() == "narrow"
    said = page.get_by_role("status").inner_text()
    assert said.startswith("Called “heart attacks” correct, narrower.")
    press("h")
    wait_for_title(page, "heart attacks")
    press("j")
    press("t")
    assert page.locator("#tick-2").is_checked()
    press("s")
    page.locator("#term-4").wait_for(state="detached")
    press("a")
    wait_for_title(page, "salbutamol")
    assert focused(page) == "set-title"
    press("n")
    wait_for_title(page, "aspirin")
    press("p")
    wait_for_title(page, "salbutamol")
    press("z")  # shows the decision, since the page no longer names it
    wait_for_title(page, "heart attacks")
    press("z")
    page.get_by_role("status").filter(has_text="Undone: accepted heart attacks.").wait_for()
    press("r")
    wait_for_title(page, "Hypertension")  # the set lost its least certain term, so it moved
    press("/")
    page.keyboard.type("chf")
    press("Enter")
    wait_for_title(page, "Heart Failure")
    press("a")  # still in the field: a letter, not a decision
    assert page.locator("#q").input_value() == "chfa"
    press("Escape")
    press("u")
    wait_for_kinds(run, "judge", "judge", "rename", "split", "accept", "undo", "reject", "unsure")
    page.goto(f"{address}/?set=s1")
    page.wait_for_selector("html.live")
    press("m")
    page.keyboard.type("albut")
    press("Enter")
    page.wait_for_selector("#matches")
    for _ in range(6):
        press("Tab")
        if focused(page) == "merge-1":
            break
    press("Enter")
    row(page, "salbutamol").wait_for()
    press("b")
    page.wait_for_selector("#blind[aria-pressed=true]")
    assert page.locator(".meter").count() == 0
    context.close()


@pytest.mark.slow
def test_keys_can_be_switched_off(show: Show, address: str, run: Path) -> None:
    with show(address) as page:
        page.keyboard.press("?")
        page.get_by_label("Use keyboard shortcuts").uncheck()
        page.get_by_role("button", name="Close").click()
        page.keyboard.press("a")
        page.reload()
        page.wait_for_selector("html.live")
        page.keyboard.press("a")
        page.wait_for_timeout(200)
        assert decisions(run) == []
        page.keyboard.press("?")  # the only way to switch them on again
        page.get_by_label("Use keyboard shortcuts").check()
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        wait_for_kinds(run, "accept")


@pytest.mark.slow
def test_fast_fingers_lose_nothing_and_decide_nothing_unseen(
    show: Show, address: str, run: Path
) -> None:
    with show(address) as page:

        def slowly(route: Any) -> None:
            time.sleep(0.2)
            route.continue_()

        page.route("**/decide", slowly)
        for key in ("j", "c", "j", "c", "j", "x"):
            page.keyboard.press(key)
        page.wait_for_selector("#term-3.incorrect")
        wait_for_kinds(run, "judge", "judge", "judge")
        page.keyboard.press("a")
        page.keyboard.press("a")  # it would be about a set that nobody has looked at
        wait_for_title(page, "salbutamol")
        page.wait_for_timeout(600)
        wait_for_kinds(run, "judge", "judge", "judge", "accept")
        page.keyboard.press("r")
        page.keyboard.press("z")  # it takes back what is still on its way
        undone = "() => document.querySelector('#announcement').textContent.includes('Undone')"
        page.wait_for_function(undone)
        wait_for_kinds(run, "judge", "judge", "judge", "accept", "reject", "undo")
    terms = [decision.terms for decision in decisions(run)[:3]]
    assert terms == [("heart attacks",), ("cardiac arrest",), ("myocardial infarction",)]


@pytest.mark.slow
def test_the_focus_can_be_seen(show: Show, address: str) -> None:
    with show(address) as page:
        page.keyboard.press("Tab")
        seen = set()
        for _ in range(40):
            style = page.evaluate(
                """() => {
                    const style = getComputedStyle(document.activeElement);
                    return [document.activeElement.tagName, style.outlineStyle, style.outlineWidth];
                }"""
            )
            if style[0] != "BODY":
                assert style[1:] == ["solid", "2px"], style
                seen.add(style[0])
            page.keyboard.press("Tab")
        assert {"A", "BUTTON", "INPUT", "SELECT", "SUMMARY"} <= seen


# --- Two people, and a server that dies -------------------------------------------------------


@pytest.mark.slow
def test_two_reviewers_at_once(show: Show, address: str, run: Path) -> None:
    with show(address, "Ada") as ada, show(address, "Bea", ("409",)) as bea:
        ada.keyboard.press("a")
        wait_for_title(ada, "salbutamol")
        bea.keyboard.press("r")
        bea.wait_for_selector(".alert")
        said = bea.get_by_role("alert").inner_text()
        assert said.startswith("Ada accepted it on ")
        assert "Your decision (reject) was not recorded" in said
        wait_for_title(bea, "Myocardial Infarction")
        assert bea.locator(".state").inner_text() == "accepted"
        wait_for_kinds(run, "accept")
        bea.keyboard.press("r")
        wait_for_title(bea, "salbutamol")
        bea.goto(f"{address}/?set=D009203")
        assert bea.locator(".state").inner_text() == "disputed rejected"
        history = bea.locator(".history li p").all_inner_texts()
        assert [line.split(" it ")[0] for line in history] == ["Bea rejected", "Ada accepted"]
        assert bea.locator("#progress").inner_text() == "1 of 5 sets reviewed"


@pytest.mark.slow
def test_a_killed_server_loses_nothing(show: Show, run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "synsetmine", "review", str(run), "--no-open"]
        command += ["--no-token"]
        server = subprocess.Popen(
            [*command, "--port", str(port)], stderr=subprocess.PIPE, text=True
        )
        assert server.stderr is not None
        assert server.stderr.readline() == "reading …\n"
        assert "reviewing " in server.stderr.readline()
        return server

    def kill(server: subprocess.Popen[str]) -> None:
        server.send_signal(signal.SIGKILL)
        server.communicate()

    server = start()
    try:
        with show(f"http://127.0.0.1:{port}", complaints=("net::ERR_",)) as page:
            page.keyboard.press("a")
            wait_for_title(page, "salbutamol")
            kill(server)
            page.keyboard.press("r")
            trouble = page.locator("#trouble")
            trouble.wait_for()
            assert "The server does not answer. Nothing was recorded." in trouble.inner_text()
            assert page.locator("#set-title").inner_text() == "salbutamol"
            wait_for_kinds(run, "accept")
            server = start()
            page.get_by_role("button", name="Try again").click()
            wait_for_title(page, "aspirin")
            assert not trouble.is_visible()
            assert page.locator("#progress").inner_text() == "2 of 5 sets reviewed"
            wait_for_kinds(run, "accept", "reject")
    finally:
        kill(server)
