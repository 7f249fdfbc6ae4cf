"""The review page in a real browser: hostile text, phones, no script, colours, names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from synsetmine.review.web.routes import reviewing_app
from synsetmine.review.web.server import AccessPolicy
from synsetmine.review.web.session import ReviewSession
from tests.review.web.test_review import decisions
from tests.review.web.test_review_browser import (
    Show,
    row,
    show_in,
    wait_for_kinds,
    wait_for_title,
)
from tests.support.findings import NASTY
from tests.support.webserver import Sets, serve, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture
def address(run: Path) -> Iterator[str]:
    with serve(reviewing_app(ReviewSession(run), AccessPolicy(), title="a run")) as address:
        yield address


@pytest.fixture
def show(browser: Browser) -> Show:
    return show_in(browser)


@pytest.mark.slow
@pytest.mark.parametrize("text", NASTY)
def test_hostile_terms_are_shown_as_text(show: Show, tmp_path: Path, text: str) -> None:
    sets: Sets = {
        text: {text: None, "plain": 0.4, "other": 0.6},
        "s1": {text + "s": None, "x": 0.9},
    }
    run = write_run(tmp_path / "bad", sets, {}, texts=[f"Here is {text} and plain again."])
    app = reviewing_app(ReviewSession(run), AccessPolicy(), title=text)
    with serve(app) as address, show(address, "<b>Ada</b>") as page:
        assert page.locator("#set-title").text_content() == text
        assert page.locator(".text strong").first.text_content() == text
        page.keyboard.press("j")
        page.keyboard.press("c")
        page.wait_for_selector("#term-1.correct")
        assert page.get_by_role("status").text_content() == (
            f"Called “{text}” correct. 0 of 2 sets reviewed, 1 partly."
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_page_of_another_site_can_do_nothing(
    show: Show, browser: Browser, address: str, run: Path
) -> None:
    with show(address) as page, serve(_other_site(address)) as elsewhere:
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


@pytest.mark.slow
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
        page.locator("#queue > summary").tap()
        page.locator(".list a").last.tap()
        wait_for_title(page, "Hypertension")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wait_for_kinds(run, "judge", "split", "accept")


TARGETS = """() => [...document.querySelectorAll("a, button, input, select, summary")]
    .filter((e) => e.checkVisibility() && e.type !== "hidden" && !e.matches(".skip"))
    .map((e) => [e.closest("label") ?? e, e.outerHTML])
    .map(([e, html]) => [e.getBoundingClientRect(), html])
    .filter(([box]) => box.width < 43.5 || box.height < 43.5)
    .map(([box, html]) => [box.width, box.height, html.slice(0, 100)])"""


def test_all_that_is_tapped_has_44_pixels(show: Show, address: str) -> None:
    with show(address, viewport=PHONE, is_mobile=True, has_touch=True) as page:
        page.locator("#queue > summary").tap()
        page.locator(".several > summary").tap()
        page.locator("#correct-1").tap()
        page.locator("#toast-undo").wait_for()
        assert page.evaluate(TARGETS) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_it_works_without_its_script(show: Show, address: str, run: Path) -> None:
    with show(address, java_script_enabled=False) as page:
        row(page, "cardiac arrest").get_by_role("button", name="Incorrect").click()
        assert page.locator(".term.incorrect").count() == 1
        page.get_by_role("button", name="Accept").click()
        assert page.locator("#set-title").inner_text() == "salbutamol"
        page.get_by_label("Search terms, ids and names").fill("chf")
        page.get_by_role("button", name="Apply").click()
        assert page.locator("#set-title").inner_text() == "Heart Failure"
        page.go_back()
        said = page.get_by_role("status").inner_text()
        assert said == "Accepted Myocardial Infarction. 1 of 5 sets reviewed."
        page.locator("#toast-undo").click()
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


@pytest.mark.slow
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


@pytest.mark.slow
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
