"""Takes the pictures of the docs from the demo's run, in a real browser.

    python -m docs.take_screenshots demo/run
    python -m docs.take_screenshots demo/run OUT

The report, the review page and the search page, each light and dark, on a desktop and on a phone:
`review.png`, `review-dark.png`, `review-phone.png`, `review-phone-dark.png` and so on. Without OUT
only the pictures that the docs show are renewed. The run is copied first, and some decisions are
made on the copy, so that the page of the reviewers shows a few.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

from playwright.sync_api import sync_playwright

from synsetmine.review import QueueFilter
from synsetmine.review.web.answers import Answers, MinedAnswers
from synsetmine.review.web.api import SearchPage, ServerState, serving_app
from synsetmine.review.web.pages import QueueQuery, format_position
from synsetmine.review.web.routes import reviewing_app
from synsetmine.review.web.server import AccessPolicy, address_of, listen, make_server
from synsetmine.review.web.session import ReviewSession

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from starlette.types import ASGIApp

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DEVICES: dict[str, Any] = {
    "": {"viewport": {"width": 1280, "height": 800}},
    "-phone": {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 2,
        "is_mobile": True,
        "has_touch": True,
    },
}
SEARCHED = "European Union"
OPENED = "Afroasiatic languages"
RIGHT, WRONG = ("Afroasiatic languages", "Afroasiatic"), "AfroAsiaticLanguages"


def main(run: Path, out: Path | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns("reviews.sqlite*"))
        bench = ReviewSession(copy)
        _decide_some(bench)
        answers = Answers(MinedAnswers.of_run(copy))
        service = ServerState(answers, SearchPage(answers, copy, title="demo/run"))
        with (
            _serve(reviewing_app(bench, AccessPolicy(), title="demo/run")) as reviewing,
            _serve(serving_app(service, AccessPolicy())) as serving,
            sync_playwright() as playwright,
        ):
            flags = ["--no-sandbox", "--disable-gpu"]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
            pages: dict[str, Callable[[Page], None]] = {
                "report": lambda page: _open_report(page, run / "report.html"),
                "review": lambda page: _open_review(page, reviewing, _page(bench)),
                "search": lambda page: _open_search(page, serving),
            }
            for name, open_page in pages.items():
                _take(browser, name, open_page, out)
            browser.close()


def _take(browser: Browser, name: str, open_page: Callable[[Page], None], out: Path | None) -> None:
    """One page in four pictures; without a folder for them those that the docs have."""
    for (device, options), scheme in product(DEVICES.items(), SCHEMES):
        path = (out or HERE) / f"{name}{device}{'' if scheme == 'light' else '-dark'}.png"
        if out is None and not path.exists():
            continue
        page = browser.new_page(color_scheme=scheme, **options)
        open_page(page)
        page.screenshot(path=path)
        page.close()


@contextmanager
def _serve(app: ASGIApp) -> Iterator[str]:
    """The address of an application that is being served."""
    listening = listen("127.0.0.1", 0)
    server = make_server(app)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield address_of(listening, "127.0.0.1").rstrip("/")
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


def _open_report(page: Page, report: Path) -> None:
    if page.evaluate("innerWidth > 1000"):
        page.set_viewport_size({"width": 1200, "height": 1150})  # with the first new names
    page.goto(report.resolve().as_uri())


def _open_review(page: Page, address: str, path: str) -> None:
    page.goto(address)
    if page.get_by_label("Name", exact=True).count():
        page.get_by_label("Name", exact=True).fill("Ada")
        page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("#set-title")
    page.goto(address + path)
    page.wait_for_selector("html.live mark", timeout=60_000)
    if not page.evaluate("matchMedia('(pointer: coarse)').matches"):
        page.keyboard.press("j")  # the first term


def _open_search(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("searchbox").fill(SEARCHED)
    page.keyboard.press("Enter")
    page.wait_for_selector("mark", timeout=60_000)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(Path, sys.argv[2:]))
