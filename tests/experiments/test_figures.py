"""What all figures of results pages share: well-formed files, words for them, clear errors."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.figures import Bar, bar_chart
from experiments.line_chart import Series, line_chart
from synsetmine.errors import DataError
from tests.support.figureparts import (
    LINES,
    NYT,
    SVG,
    bar_figure,
    line_figure,
    of_class,
    texts,
)

NASTY = "<script>alert(1)</script> & \"quoted\" 'too' ]]> \x00\x0b\ud800"


quick = settings(max_examples=60, deadline=None)


@given(st.text(max_size=80), st.text(max_size=80))
@quick
def test_any_words_make_a_well_formed_file(one: str, other: str) -> None:
    for figure in (
        bar_chart(one, [Bar(other, 1, 0.5, one, 2), Bar(one, 2, 0, other)], axis=one),
        line_chart(one, [Series(other, ((1, 2, 3), (2, 3, 1)))], x=other, y=one),
    ):
        root = ElementTree.fromstring(figure.encode())
        assert root.tag == f"{SVG}svg"


def test_markup_in_words_is_only_words() -> None:
    figures = (
        bar_chart(NASTY, [Bar(NASTY, 1, 1, NASTY, 1), Bar("x", 2)], axis=NASTY),
        line_chart(NASTY, [Series(NASTY, ((1, 2, 3),))], x=NASTY, y=NASTY),
        bar_chart(NASTY, [], axis=NASTY),
    )
    shown = NASTY.replace("\x00", "\ufffd").replace("\x0b", "\ufffd").replace("\ud800", "\ufffd")
    for figure in figures:
        root = ElementTree.fromstring(figure.encode())
        assert "<script" not in figure
        assert root.findtext(f"{SVG}title") == shown
        assert shown in root.attrib["aria-label"]
        known = {
            "svg",
            "title",
            "style",
            "g",
            "rect",
            "line",
            "path",
            "text",
            "polyline",
            "polygon",
        }
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= known


@pytest.mark.parametrize(
    "figure", [bar_chart("NYT", NYT, axis="ARI"), line_chart("NYT", LINES, x="K", y="ARI")]
)
def test_a_figure_is_said_in_words_and_stands_alone(figure: str) -> None:
    root = ElementTree.fromstring(figure)
    assert root.attrib["role"] == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == "NYT"
    assert root.attrib["aria-label"].startswith("NYT. ARI")
    assert "44.9" in root.attrib["aria-label"]
    width, height = root.attrib["width"], root.attrib["height"]
    assert root.attrib["viewBox"] == f"0 0 {width} {height}"
    assert "@media (prefers-color-scheme:dark)" in figure
    assert "url(" not in figure
    assert "http" not in figure.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_the_words_for_bars_and_lines() -> None:
    assert bar_figure(NYT).attrib["aria-label"] == (
        "A title. ARI: Kmeans (others): 30.0 ± 2.0 (paper 28.9); Louvain (others): 21.8; "
        "SynSetMine, 20 random orders a seed (this project): 40.0 ± 2.5 (paper 44.9)."
    )
    assert line_figure(LINES).attrib["aria-label"] == (
        "A title. ARI against K. NYT, 10: 30.0 ± 2.0, 20: 36.0 ± 1.0, 50: 44.9 ± 2.2, "
        "100: 41.0 ± 0.5; Wiki, 10: 50.0, 100: 56.4 ± 1.3."
    )


def test_nothing_to_show_is_said() -> None:
    for root, why in (
        (bar_figure([]), "Nothing to show: there are no bars."),
        (line_figure([]), "Nothing to show: there are no points."),
        (line_figure([Series("empty", ())]), "Nothing to show: there are no points."),
    ):
        assert texts(root) == ["A title", why]
        assert root.attrib["aria-label"] == f"A title. {why}"
    assert "empty (no points)" in texts(line_figure([*LINES, Series("empty", ())]))


def test_figures_of_zeros_have_an_axis() -> None:
    ticks = of_class(bar_figure([Bar("x", 0)]), "tick")
    assert (ticks[0].text, ticks[-1].text) == ("0", "1")
    root = line_figure([Series("s", ((0, 0, 0), (1, 0, 0)))])
    assert [e.text for e in of_class(root, "tick", "end")] == ["0", "1"]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200])
def test_values_that_cannot_be_drawn_are_refused_by_name(bad: float) -> None:
    quoted = re.escape(repr(bad))
    for bar in (Bar("Kmeans", bad), Bar("Kmeans", 1, bad), Bar("Kmeans", 1, 1, "", bad)):
        with pytest.raises(DataError, match=f"this value of bar 'Kmeans': {quoted}$"):
            bar_figure([*NYT, bar])
    for point in ((5.0, bad, 0.0), (5.0, 0.0, bad)):
        with pytest.raises(DataError, match=rf"this value of series 'NYT' at 5\.0: {quoted}$"):
            line_figure([Series("NYT", ((1, 1, 1), point))])
    with pytest.raises(DataError, match=f"this place on the axis 'K': {quoted}$"):
        line_figure([Series("NYT", ((bad, 1, 0),))])
    with pytest.raises(DataError, match=f"this place on the axis 'K': {quoted}$"):
        line_figure(LINES, x_ticks=[10, bad])


def test_deviations_below_zero_and_logarithms_of_nothing_are_refused() -> None:
    with pytest.raises(DataError, match=r"^a deviation below zero at bar 'x': -1$"):
        bar_figure([Bar("x", 3, -1)])
    with pytest.raises(DataError, match=r"^a figure cannot show this place on the axis 'K': 0$"):
        line_figure([Series("s", ((0, 1, 0),))], log_x=True)
    line_figure([Series("s", ((0, 1, 0),))])
