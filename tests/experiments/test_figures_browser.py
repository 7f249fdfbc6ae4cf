"""Figures in a browser: what touches what, which colours are seen."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from experiments.figures import DARK, LIGHT, Bar, bar_chart
from experiments.line_chart import Series, line_chart

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
from tests.support.figureparts import NYT, SVG, number, of_class, offset_of, rows


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    contexts = []

    def opened(figure: str, **options: Any) -> Page:
        path = tmp_path / "figure.svg"
        path.write_text(figure, encoding="utf-8")
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


BOXES = """() => [...document.querySelectorAll('text')].filter(e => e.textContent.trim()).map(e => {
  const box = e.getBoundingClientRect();
  return [e.textContent, box.left, box.right, box.top, box.bottom];
})"""

# Colours of the image at some places.
PIXELS = """async (image, places) => {
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  return places.map(([x, y]) => '#' + [...context.getImageData(x, y, 1, 1).data.slice(0, 3)]
    .map(n => n.toString(16).padStart(2, '0')).join(''));
}"""

CROWDED = {
    "bars": bar_chart(
        "A long title, which says in many words what is measured, on which data and how often " * 2,
        [
            *NYT,
            Bar("MAXIMUM WORDS IN CAPITALS, WWWWWWW MMMMMM", -33.333, 12.5, "Third group", -35),
            Bar("a label that goes on and on until it takes three lines of the column " * 2, 1e-3),
            Bar("x" * 100, 44, 20.25, "a group with a name of many words " * 4, 50),
        ],
        axis="ARI, percent, mean and standard deviation of five seeds and twenty orders " * 2,
    ),
    "lines": line_chart(
        "A long title, which says in many words what is measured, on which data and how often " * 2,
        [Series(f"NUMBER {n}, WITH A NAME", ((10, n, 1), (1000, -n, 2))) for n in range(8)],
        x="K",
        y="ARI, percent, mean and standard deviation of five seeds and twenty orders " * 2,
        x_ticks=(10, 20, 30, 500, 510, 990, 1000),
    ),
}


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("font", ["-apple-system", "DejaVu Sans"])  # the reader's own; a wide one
@pytest.mark.parametrize("name", CROWDED)
def test_words_neither_touch_each_other_nor_leave_the_figure(
    name: str, font: str, show: Callable[..., Page]
) -> None:
    figure = CROWDED[name].replace("13px -apple-system", f"13px {font}")
    assert f"13px {font}" in figure
    root = ElementTree.fromstring(figure)
    page = show(figure, viewport={"width": 900, "height": 1200})
    boxes = page.evaluate(BOXES)
    assert len(boxes) > 20
    for text, left, right, top, bottom in boxes:
        assert left >= 8, text
        assert right <= number(root, "width") - 8, text
        assert top >= 8, text
        assert bottom <= number(root, "height") - 4, text
    for one, other in combinations(boxes, 2):
        beside = one[2] <= other[1] or other[2] <= one[1]
        below = one[4] <= other[3] + 2 or other[4] <= one[3] + 2
        assert beside or below, (one, other)


@pytest.mark.slow
@pytest.mark.browser
def test_the_colours_follow_the_scheme_of_the_reader(show: Callable[..., Page]) -> None:
    fill = "e => '#' + getComputedStyle(e).fill.match(/\\d+/g)" + (
        ".map(n => (+n).toString(16).padStart(2, '0')).join('')"
    )
    for scheme, palette in (("light", LIGHT), ("dark", DARK)):
        page = show(CROWDED["bars"], color_scheme=scheme)
        assert page.eval_on_selector(".card", fill) == palette[0]
        assert page.eval_on_selector(".title", fill) == palette[1]
        assert page.eval_on_selector(".tick", fill) == palette[2]
        assert page.eval_on_selector(".bar.k1", fill) == palette[5]


@pytest.mark.slow
@pytest.mark.browser
def test_a_page_shows_it_as_an_image(browser: Browser) -> None:
    figure = bar_chart("One bar", [Bar("x", 10), Bar("y", 5, 0, "other")], axis="ARI")
    bar, other = (of_class(row, "bar")[0] for row in rows(ElementTree.fromstring(figure)))
    blocks = ElementTree.fromstring(figure).findall(f"{SVG}g")
    top = offset_of(blocks[-1])[1]
    places = [[400, 10]] + [
        [round(number(e, "x")) + 20, round(top + number(e, "y")) + 9] for e in (bar, other)
    ]
    source = base64.b64encode(figure.encode()).decode()
    for scheme, palette in (("light", LIGHT), ("dark", DARK)):
        options: dict[str, Any] = {"color_scheme": scheme}
        page = browser.new_page(**options)
        page.set_content(f'<img src="data:image/svg+xml;base64,{source}">')
        image = page.locator("img")
        assert image.evaluate(PIXELS, places) == [palette[0], palette[4], palette[5]]
        assert image.evaluate("e => e.naturalWidth") == 800
        page.close()
