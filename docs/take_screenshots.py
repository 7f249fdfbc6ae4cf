"""Takes docs/report.png, docs/review.png and docs/review-phone.png from the demo's run.

    python -m docs.take_screenshots demo/run

In a real browser. The run is copied first, and some decisions are made on the copy, so that the
page of the reviewers shows a few.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from synsetmine.review import QueueFilter
from synsetmine.review.web.pages import QueueQuery, format_position
from synsetmine.review.web.routes import reviewing_app
from synsetmine.review.web.server import AccessPolicy, address_of, listen, make_server
from synsetmine.review.web.session import ReviewSession

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
OPENED = "Afroasiatic languages"
RIGHT, WRONG = ("Afroasiatic languages", "Afroasiatic"), "AfroAsiaticLanguages"


def main(run: Path, out: Path = HERE) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns("reviews.sqlite*"))
        bench = ReviewSession(copy)
        _decide_some(bench)
        listening = listen("127.0.0.1", 0)
        server = make_server(reviewing_app(bench, AccessPolicy(), title="demo/run"))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with sync_playwright() as playwright:
                flags = ["--no-sandbox", "--disable-gpu"]
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
                _take_report(browser, run / "report.html", out)
                _take(browser, address_of(listening, "127.0.0.1").rstrip("/"), _page(bench), out)
                browser.close()
        finally:
            server.should_exit = True
            thread.join()


def _decide_some(bench: ReviewSession) -> None:
    def decide(kind: str, set_id: str, **more: object) -> None:
        bench.decide(kind, set_id, seen=bench.state.number, reviewer="Bea", **more)  # type: ignore[arg-type]

    listed = bench.state.queue(QueueFilter(new_names=True), count=80).sets
    for number, found in enumerate(found for found in listed if found.id != OPENED):
        decide("reject" if number % 3 == 0 else "accept", found.id)
    decide("judge", OPENED, terms=RIGHT, verdict="correct", scope="exact")
    decide("judge", OPENED, terms=[WRONG], verdict="not-a-name", scope="exact")


def _page(bench: ReviewSession) -> str:
    """The list begins with the set that is open."""
    found = bench.state.get(OPENED)
    if found is None:
        raise SystemExit(f"this run has no set {OPENED!r}; take that of `synsetmine demo`")
    least, _ = found.position()
    return QueueQuery.of({"set": OPENED, "after": format_position((least - 1e-3, ""))}).address()


def _take_report(browser: Browser, report: Path, out: Path) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 1150})
    page.goto(report.resolve().as_uri())
    page.screenshot(path=out / "report.png")


def _take(browser: Browser, address: str, path: str, out: Path) -> None:
    laptop = browser.new_page(viewport={"width": 1280, "height": 800})
    _open(laptop, address, path)
    laptop.keyboard.press("j")  # the first term
    laptop.screenshot(path=out / "review.png")
    phone = browser.new_page(
        viewport={"width": 390, "height": 844},
        device_scale_factor=2,
        is_mobile=True,
        has_touch=True,
    )
    _open(phone, address, path)
    phone.screenshot(path=out / "review-phone.png")


def _open(page: Page, address: str, path: str) -> None:
    page.goto(address)
    page.get_by_label("Name", exact=True).fill("Ada")
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("#set-title")
    page.goto(address + path)
    page.wait_for_selector("html.live mark", timeout=60_000)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(Path, sys.argv[2:]))
