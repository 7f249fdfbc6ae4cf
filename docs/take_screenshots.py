"""Takes docs/review.png and docs/review-phone.png from a run, in a real browser.

    python -m docs.take_screenshots demo/run

The run is copied first; a few decisions are made on the copy, so that the page shows some.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from synsetmine.web.guard import Door
from synsetmine.web.reviewing import reviewing_app
from synsetmine.web.running import address_of, listen, make_server
from synsetmine.web.workbench import Workbench

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
OPENED = "heart"  # what is searched for


def main(run: Path, out: Path = HERE) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(run, copy, ignore=shutil.ignore_patterns("reviews.sqlite*"))
        listening = listen("127.0.0.1", 0)
        app = reviewing_app(Workbench(copy), Door(), title=run.resolve().parent.name)
        server = make_server(app)
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
                )
                _take(browser, address_of(listening, "127.0.0.1"), out)
        finally:
            server.should_exit = True
            thread.join()


def _take(browser: Browser, address: str, out: Path) -> None:
    laptop = browser.new_page(viewport={"width": 1280, "height": 800})
    _begin(laptop, address)
    laptop.screenshot(path=out / "review.png")
    phone = browser.new_page(
        viewport={"width": 390, "height": 844}, device_scale_factor=2, is_mobile=True
    )
    _begin(phone, address)
    phone.screenshot(path=out / "review-phone.png")


def _begin(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_label("Name", exact=True).fill("Ada")
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("#card")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(Path, sys.argv[2:]))
