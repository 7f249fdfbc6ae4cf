"""The review page in a real browser: mouse, keys, two people, a killed server, phones."""

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

from synsetmine.web.guard import Door
from synsetmine.web.reviewing import reviewing_app
from synsetmine.web.workbench import Workbench
from tests.findings import NASTY
from tests.test_web_review import decisions
from tests.webserver import Sets, served, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
Show = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture
def address(run: Path) -> Iterator[str]:
    with served(reviewing_app(Workbench(run), Door(), title="a run")) as address:
        yield address


@pytest.fixture
def show(browser: Browser) -> Show:
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
        page.get_by_role("button", name="Undo").click()
        wait_for_title(page, "salbutamol")
        page.get_by_role("button", name="Unsure u").click()
        wait_for_title(page, "aspirin")
        page.get_by_label("Show", exact=True).select_option("Accepted")
        wait_for_title(page, "heart attack")
        assert page.locator(".list .name").all_inner_texts() == ["heart attack"]
    last = decisions(run)[1]
    assert (last.terms, last.verdict, last.scope) == (("heart attacks",), "correct", "narrow")


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
        wait_for_title(page, "No set is found")
        page.get_by_role("link", name="go back to the sets to review").click()
        wait_for_title(page, "Myocardial Infarction")
        page.get_by_label("Of a known entity").check()
        page.wait_for_function("() => document.querySelectorAll('.list li').length === 3")
        assert focused(page) == "seeded"


def test_sentences_come_in_by_themselves(show: Show, address: str) -> None:
    with show(address) as page:
        row(page, "heart attack").locator("mark").wait_for(timeout=30_000)
        assert row(page, "heart attack").locator("mark").inner_text() == "heart attack"
        assert page.locator("[data-waiting]").count() == 0


# --- By keys ----------------------------------------------------------------------------------


def test_keys_alone_are_enough(browser: Browser, address: str, run: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    press = page.keyboard.press
    page.keyboard.type("Ada")  # the field has the focus
    press("Enter")
    page.wait_for_selector("html.live #set-title")
    press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    press("Escape")
    assert not page.locator("#keys").is_visible()
    for _ in range(4):
        press("j")
    assert focused(page) == "term-4"
    press("x")
    page.wait_for_selector("#term-4.incorrect")
    assert focused(page) == "term-4"  # the focus stays where it was
    press("k")
    press("3")
    page.wait_for_selector("#term-3.correct")
    assert page.locator("#scope-3").input_value() == "narrow"
    press("h")
    wait_for_title(page, "heart attacks")
    press("j")
    press("t")
    assert page.locator("#tick-4").is_checked()
    press("s")
    page.locator("#term-4").wait_for(state="detached")
    press("a")
    wait_for_title(page, "salbutamol")
    assert focused(page) == "set-title"
    press("n")
    wait_for_title(page, "aspirin")
    press("p")
    wait_for_title(page, "salbutamol")
    press("z")
    wait_for_title(page, "heart attacks")
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


def test_keys_can_be_switched_off(show: Show, address: str, run: Path) -> None:
    with show(address) as page:
        page.keyboard.press("?")
        page.get_by_label("Single keys work").uncheck()
        page.get_by_role("button", name="Close").click()
        page.keyboard.press("a")
        page.reload()
        page.wait_for_selector("html.live")
        page.keyboard.press("a")
        page.wait_for_timeout(200)
        assert decisions(run) == []
        page.keyboard.press("?")  # the only way to switch them on again
        page.get_by_label("Single keys work").check()
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        wait_for_kinds(run, "accept")


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
        page.wait_for_function("() => document.querySelector('#said').textContent.includes('back')")
        wait_for_kinds(run, "judge", "judge", "judge", "accept", "reject", "undo")
    terms = [decision.terms for decision in decisions(run)[:3]]
    assert terms == [("myocardial infarction",), ("heart attack",), ("heart attacks",)]


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


def test_two_reviewers_at_once(show: Show, address: str, run: Path) -> None:
    with show(address, "Ada") as ada, show(address, "Bea", ("409",)) as bea:
        ada.keyboard.press("a")
        wait_for_title(ada, "salbutamol")
        bea.keyboard.press("r")
        bea.wait_for_selector(".alert")
        said = bea.get_by_role("alert").inner_text()
        assert said.startswith("Ada accepted it on ")
        assert "What you decided (reject) was not recorded" in said
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


def test_a_killed_server_loses_nothing(show: Show, run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "synsetmine", "review", str(run), "--no-open"]
        server = subprocess.Popen(
            [*command, "--port", str(port)], stderr=subprocess.PIPE, text=True
        )
        assert server.stderr is not None
        assert server.stderr.readline() == "reading …\n"
        assert "is reviewed at" in server.stderr.readline()
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


# --- Hostile text, phones, colours ------------------------------------------------------------


@pytest.mark.parametrize("text", NASTY)
def test_hostile_terms_are_shown_as_text(show: Show, tmp_path: Path, text: str) -> None:
    sets: Sets = {
        text: {text: None, "plain": 0.4, "other": 0.6},
        "s1": {text + "s": None, "x": 0.9},
    }
    run = write_run(tmp_path / "bad", sets, {}, texts=[f"Here is {text} and plain again."])
    app = reviewing_app(Workbench(run), Door(), title=text)
    with served(app) as address, show(address, "<b>Ada</b>") as page:
        assert page.locator("#set-title").text_content() == text
        assert page.locator(".text strong").first.text_content() == text
        page.keyboard.press("j")
        page.keyboard.press("c")
        page.wait_for_selector("#term-1.correct")
        assert page.get_by_role("status").text_content() == (
            f"{text} is correct. 0 of 2 sets reviewed, 1 begun."
        )
        page.keyboard.press("k")
        page.keyboard.press("x")
        page.wait_for_selector("#term-1.incorrect")
        page.locator("#find").fill(text)
        page.locator("#find").press("Enter")
        page.wait_for_selector("#matches")
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        page.wait_for_function(
            "() => document.querySelector('#progress').textContent.startsWith('1')"
        )
        assert page.locator(".who").inner_text() == "<b>Ada</b>"
        assert page.locator("script").count() == 1
        assert page.locator("img, iframe").count() == 0


def test_the_policy_stops_what_slips_in(show: Show, address: str) -> None:
    with show(address, complaints=("Content Security Policy",)) as page:
        page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.harm = 1";
                document.body.append(script);
                const button = document.createElement("button");
                button.setAttribute("onclick", "window.harm = 2");
                document.body.append(button);
                button.click();
            }"""
        )
        assert page.evaluate("window.harm") is None
        framed = page.evaluate(
            """async (address) => {
                const frame = document.createElement("iframe");
                frame.src = address;
                document.body.append(frame);
                await new Promise((done) => setTimeout(done, 300));
                try { return frame.contentDocument?.title ?? ""; } catch { return ""; }
            }""",
            address,
        )
        assert "synsetmine" not in framed


def test_a_page_of_another_site_can_do_nothing(
    show: Show, browser: Browser, address: str, run: Path
) -> None:
    with show(address) as page, served(_other_site(address)) as elsewhere:
        other = page.context.new_page()  # the same browser, with all its cookies
        other.goto(elsewhere.replace("127.0.0.1", "localhost"))
        other.wait_for_url(f"{address}/decide")
        assert "page of another site" in other.get_by_role("alert").inner_text()
        other.close()
    assert decisions(run) == []


def _other_site(address: str) -> Any:
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    page = f"""<form method=post action="{address}/decide"><input name=act value=accept>
    <input name=set value=s1><input name=seen value=0></form>
    <script>document.forms[0].submit()</script>"""

    async def attack(_: object) -> HTMLResponse:
        return HTMLResponse(page)

    return Starlette(routes=[Route("/", attack)])


def test_a_phone_shows_all_of_it(show: Show, address: str, run: Path) -> None:
    with show(address, viewport=PHONE, is_mobile=True, has_touch=True) as page:
        assert not page.locator(".list").is_visible()  # behind one tap
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        for button in ("Accept", "Reject", "Next"):
            box = page.locator(".bar").get_by_text(button).bounding_box()
            assert box is not None
            assert box["height"] >= 44 - 1
            assert box["y"] + box["height"] <= 844
        row(page, "cardiac arrest").get_by_role("button", name="Incorrect").tap()
        page.wait_for_selector(".term.incorrect")
        assert not page.locator("#split").is_visible()
        page.get_by_label("Tick cardiac arrest to split it off").tap()
        page.locator("#split").tap()
        row(page, "cardiac arrest").wait_for(state="detached")
        page.get_by_role("button", name="Accept").tap()
        wait_for_title(page, "salbutamol")
        assert page.evaluate("scrollY") == 0
        page.locator("#queue summary").tap()
        page.locator(".list a").last.tap()
        wait_for_title(page, "Hypertension")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wait_for_kinds(run, "judge", "split", "accept")


def test_it_works_without_its_script(show: Show, address: str, run: Path) -> None:
    with show(address, java_script_enabled=False) as page:
        row(page, "cardiac arrest").get_by_role("button", name="Incorrect").click()
        assert page.locator(".term.incorrect").count() == 1
        page.get_by_role("button", name="Accept").click()
        assert page.locator("#set-title").inner_text() == "salbutamol"
        page.get_by_label("Search terms, ids and names").fill("chf")
        page.get_by_role("button", name="Apply").click()
        assert page.locator("#set-title").inner_text() == "Heart Failure"
        page.get_by_role("button", name="Undo").click()
        assert page.locator("#set-title").inner_text() == "Myocardial Infarction"
    wait_for_kinds(run, "judge", "accept", "undo")


CONTRAST = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => {
    v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  }).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || e.closest(".unseen")) continue;
    if (!e.checkVisibility()) continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push([walk.currentNode.textContent.trim(), ratio]);
  }
  return bad;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_enough_contrast(show: Show, address: str, scheme: str) -> None:
    with show(address, color_scheme=scheme) as page:
        for keys in ("jcjxjdj2", "a"):
            for key in keys:
                page.keyboard.press(key)
                page.wait_for_timeout(150)
            assert page.evaluate(CONTRAST) == []
        page.goto(f"{address}/?show=all&set=D009203")
        assert page.evaluate(CONTRAST) == []
        page.keyboard.press("?")
        assert page.evaluate(CONTRAST) == []


def test_everything_that_can_be_used_has_a_name(show: Show, address: str) -> None:
    with show(address) as page:
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, a, input:not([type=hidden]), select")]
                .filter((e) => !(e.getAttribute("aria-label") || e.labels?.[0]?.textContent.trim()
                    || e.textContent.trim()))
                .map((e) => e.outerHTML)"""
        )
        assert nameless == []
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        assert len(ids) == len(set(ids))
        assert page.locator("h1").count() == 1
        assert page.locator("html").get_attribute("lang") == "en"
