"""The site: it builds without a warning, has every page, and needs nothing from elsewhere."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

import pytest

import synsetmine
from docs.sitepages import OUTSIDE
from tests.support.localserver import LocalServer
from tests.support.walks import run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
NO_PAGES = {"results/medline-mesh/notes.md"}  # a part of the page above it
PAGES = sorted(
    {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")} - NO_PAGES
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    said = run(command, ROOT, {"NO_MKDOCS_2_WARNING": "1"}, stderr_too=True)
    assert "WARNING" not in said
    return folder


class Links(HTMLParser):
    """What a page links to and loads, and where one can jump to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        self.targets += [given[name] for name in ("href", "src") if tag == "a" and name in given]
        self.loaded += [given[name] for name in ("href", "src") if tag != "a" and name in given]


def test_every_page_is_on_the_site(site: Path) -> None:
    names = [re.sub("README$", "index", page.removesuffix(".md")) for page in PAGES]
    names += [f"project/{re.sub('README$', 'index', name[:-3])}" for name in OUTSIDE]
    missing = [name for name in names if not (site / f"{name}.html").is_file()]
    assert not missing


def test_the_page_of_the_python_api_has_every_name_with_its_docstring(site: Path) -> None:
    page = unescape((site / "reference/python.html").read_text("utf-8"))
    text = " ".join(re.sub("<[^>]*>", "", page).split())
    for name in synsetmine.__all__:
        assert f'id="synsetmine.{name}"' in page, name
        public = getattr(synsetmine, name)
        if callable(public):  # docstrings are Markdown: compare the text before any code
            first = (inspect.getdoc(public) or "").split("\n\n")[0]
            words = " ".join(first.split("`")[0].split())
            assert words, name
            assert words in text, name


def test_every_page_is_in_the_nav_and_in_the_index() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    index = (ROOT / "docs/README.md").read_text("utf-8")
    for page in PAGES:
        assert f" {page}\n" in nav, f"mkdocs.yml lacks {page}"
        assert page == "README.md" or f"]({page})" in index, f"docs/README.md lacks {page}"


def test_links_on_the_site_lead_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    for page, links in pages.items():
        for target in links.targets + links.loaded:
            address, anchor = urldefrag(target)
            if urlsplit(address).scheme:
                assert target in links.targets, f"{page} loads {target}"
                continue
            goal = (page.parent / address).resolve() if address else page
            assert goal.is_file(), f"{page}: {target}"
            if anchor and goal.suffix == ".html":
                assert anchor in pages[goal].anchors, f"{page}: {target}"


def test_the_site_shows_pages_as_the_repository_does(site: Path) -> None:
    """Two things that Markdown on the site would leave as they are written."""
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not re.search(r"<p>(?:(?!</p>).)*\n[-*] ", text, re.S), f"a list of {page}"
        assert not re.search(r"<code>[^<]*\\\|", text), f"an escaped bar of {page}"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Pages(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(site / urlsplit(path).path.lstrip("/"))

        def log_message(self, format: str, *args: object) -> None:
            pass

    with LocalServer(Pages).start() as server:
        yield f"{server.root}/"


@pytest.mark.browser
def test_search_copy_buttons_and_dark_mode_work_without_the_internet(
    browser: Browser, address: str
) -> None:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800},
        color_scheme="dark",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{address}how-to/search-engine.html")
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
    page.get_by_title("Light").click()
    page.wait_for_selector("body[data-md-color-scheme=default]")
    page.locator(".md-code__button").first.click()
    page.get_by_text("Copied to clipboard").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert copied[0] == "python docs/examples/make.py shop"
    assert not any(line.startswith("$") or "written" in line for line in copied)
    page.keyboard.press("/")
    page.keyboard.type("GraphRAG")
    page.locator(".md-search-result__link[href*='how-to/graphrag.html']").first.wait_for()
    assert not complaints
    assert all(url.startswith(address) for url in requests)
    context.close()
