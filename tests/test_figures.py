"""The figures of results pages: what stands in the file, where it stands, how it looks."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.report.card import DARK, LIGHT
from synsetmine.report.figures import Bar, Series, bar_chart, line_chart

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SVG = "{http://www.w3.org/2000/svg}"
CHROMIUM = Path("/usr/bin/chromium")
NASTY = "<script>alert(1)</script> & \"quoted\" 'too' ]]> \x00\x0b\ud800"
NEAR = 0.11  # places are written in tenths
quick = settings(max_examples=60, deadline=None)

NYT = (
    Bar("Kmeans", 30.0, 2.0, "others", 28.87),
    Bar("Louvain", 21.8, 0.0, "others"),
    Bar("SynSetMine, 20 random orders a seed", 40.0, 2.5, "this project", 44.91),
)
LINES = (
    Series("NYT", ((10, 30.0, 2.0), (20, 36.0, 1.0), (50, 44.91, 2.16), (100, 41.0, 0.5))),
    Series("Wiki", ((10, 50.0, 0.0), (100, 56.43, 1.31))),
)

finite = st.floats(-1e6, 1e6, allow_nan=False)
bars = st.lists(
    st.builds(
        Bar,
        st.text(max_size=60),
        finite,
        st.just(0.0) | st.floats(0, 1e6),
        st.sampled_from(["", "a", "b"]),
        st.none() | finite,
    ),
    min_size=1,
    max_size=6,
)
points = st.tuples(finite, finite, st.floats(0, 1e6))
lines = st.lists(
    st.builds(Series, st.text(max_size=40), st.lists(points, max_size=6).map(tuple)), max_size=8
)


def bar_figure(given: Sequence[Bar], **options: str) -> ElementTree.Element:
    return ElementTree.fromstring(bar_chart("A title", given, **{"axis": "ARI", **options}))


def line_figure(given: Sequence[Series], **options: Any) -> ElementTree.Element:
    return ElementTree.fromstring(line_chart("A title", given, x="K", y="ARI", **options))


def of_class(root: ElementTree.Element, *classes: str) -> list[ElementTree.Element]:
    return [e for e in root.iter() if set(classes) <= set(e.get("class", "").split())]


def rows(root: ElementTree.Element) -> list[ElementTree.Element]:
    return of_class(root, "row")


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.attrib[name])


def length(row: ElementTree.Element) -> float:
    """How far a bar reaches from the zero line, below zero to the left."""
    (bar,) = of_class(row, "bar")
    return number(bar, "width")


def whisker(row: ElementTree.Element) -> tuple[float, float]:
    (drawn,) = of_class(row, "whisker")
    found = re.fullmatch(r"M([\d.-]+) [\d.-]+v8m0 -4H([\d.-]+)m0 -4v8", drawn.attrib["d"])
    assert found
    return float(found[1]), float(found[2])


def zero(root: ElementTree.Element) -> float:
    """Where the bars begin."""
    return next(number(e, "x1") for e in of_class(root, "axis") if number(e, "y1") == 0)


def moved(element: ElementTree.Element) -> tuple[float, float]:
    x, y = re.findall(r"-?[\d.]+", element.attrib["transform"])
    return float(x), float(y)


def dots(root: ElementTree.Element, colour: int) -> list[tuple[float, float]]:
    """Those of the field; the one in the legend has nothing to say."""
    return [
        moved(e) for e in of_class(root, "dot", f"k{colour}") if e.find(f"{SVG}title") is not None
    ]


# --- Bars -------------------------------------------------------------------------------------


def test_the_values_of_bars_are_written_at_their_ends_in_the_given_order() -> None:
    values = ["".join(of_class(row, "value")[0].itertext()) for row in rows(bar_figure(NYT))]
    assert values == ["30.0 ± 2.0", "21.8", "40.0 ± 2.5"]
    labels = ["".join(of_class(row, "label")[0].itertext()) for row in rows(bar_figure(NYT))]
    assert labels == [bar.label for bar in NYT]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ([(44.91, 2.16), (100.0, 0), (3.64, 0.42)], ["44.9 ± 2.2", "100.0", "3.6 ± 0.4"]),
        ([(58.91, 0.08), (0.82, 0.0), (0.0, 0.0)], ["58.91 ± 0.08", "0.82", "0.0"]),
        ([(0.463, 0.01), (0.5, 0.0)], ["0.463 ± 0.010", "0.500"]),
        ([(1254.4, 30), (0.852, 0.02)], ["1,254 ± 30", "0.85 ± 0.02"]),
        ([(-3.5, 1.2), (-0.04, 2.5), (-0.0, 0.0)], ["-3.50 ± 1.20", "-0.04 ± 2.50", "0.00"]),
        ([(2.5e-9, 0.0)], ["2.5e-09"]),
        ([(3e50, 1e49)], ["3e+50 ± 1e+49"]),
    ],
)
def test_numbers_have_the_decimals_they_need(
    given: list[tuple[float, float]], written: list[str]
) -> None:
    root = bar_figure([Bar("x", *pair) for pair in given])
    assert ["".join(value.itertext()) for value in of_class(root, "value")] == written


@given(bars)
@quick
def test_a_bar_is_as_long_as_its_value(given: list[Bar]) -> None:
    root = bar_figure(given)
    drawn = rows(root)
    assert len(drawn) == len(given)
    start = zero(root)
    row, longest = max(zip(drawn, given, strict=True), key=lambda pair: abs(pair[1].value))
    whole = length(row)
    for row, bar in zip(drawn, given, strict=True):
        (rect,) = of_class(row, "bar")
        share = abs(bar.value / longest.value) if longest.value else 0.0
        assert number(rect, "width") == pytest.approx(share * whole, abs=2 * NEAR)
        near_zero = number(rect, "x") + (number(rect, "width") if bar.value < 0 else 0)
        assert near_zero == pytest.approx(start, abs=2 * NEAR)


def test_bars_have_the_measures_of_their_values() -> None:
    root = bar_figure([Bar("a", 10), Bar("b", -20, 5), Bar("c", 40, 8, reference=30)])
    a, b, c = rows(root)
    start, unit = zero(root), length(c) / 40
    assert unit > 3  # the field is wide enough to see something
    assert length(a) == pytest.approx(10 * unit, abs=NEAR)
    assert length(b) == pytest.approx(20 * unit, abs=NEAR)
    assert whisker(b) == pytest.approx((start - 25 * unit, start - 15 * unit), abs=2 * NEAR)
    assert whisker(c) == pytest.approx((start + 32 * unit, start + 48 * unit), abs=2 * NEAR)
    assert not of_class(a, "whisker")
    (mark,) = of_class(c, "reference")
    assert number(mark, "x1") == number(mark, "x2")
    assert number(mark, "x1") == pytest.approx(start + 30 * unit, abs=2 * NEAR)


@given(bars)
@quick
def test_all_marks_of_bars_stay_in_the_figure(given: list[Bar]) -> None:
    root = bar_figure(given)
    ends = [end for row in rows(root) for e in of_class(row, "whisker") for end in whisker(row)]
    ends += [number(e, "x1") for row in rows(root) for e in of_class(row, "reference")]
    ends += [number(e, "x") + number(e, "width") for e in of_class(root, "bar")]
    assert all(0 <= end <= number(root, "width") for end in ends)


def test_the_axis_has_round_values_in_their_places() -> None:
    root = bar_figure(NYT)
    start, unit = zero(root), length(rows(root)[2]) / 40
    at = {"".join(e.itertext()): number(e, "x") for e in of_class(root, "tick")}
    assert list(at) == ["0", "10", "20", "30", "40"]
    assert list(at.values()) == pytest.approx([start + n * 10 * unit for n in range(5)], abs=0.3)
    assert "ARI" in texts(root)
    assert of_class(bar_figure([Bar("x", 0.3)]), "tick")[-1].text == "0.3"  # 6 * 0.05 is more


def test_groups_have_colours_and_a_legend_when_there_are_several() -> None:
    root = bar_figure(NYT)
    colours = [of_class(row, "bar")[0].attrib["class"] for row in rows(root)]
    assert colours == ["bar k0", "bar k0", "bar k1"]
    assert {"others", "this project", "paper"} <= set(texts(root))
    assert len(of_class(root, "bar")) == 3 + 2
    alone = bar_figure([replace(bar, group="others", reference=None) for bar in NYT])
    assert not {"others", "this project", "paper"} & set(texts(alone))
    assert "a table" in texts(bar_figure(NYT, reference="a table"))


def test_more_groups_than_colours_are_refused() -> None:
    bar_figure([Bar("x", 1, group=str(n)) for n in range(8)])
    with pytest.raises(DataError, match=r"^a figure shows at most 8 groups: 9$"):
        bar_figure([Bar("x", 1, group=str(n)) for n in range(9)])


def test_long_labels_take_several_lines() -> None:
    words = "one two three four five six seven eight nine ten eleven twelve thirteen " * 3
    root = bar_figure([Bar(words, 1), Bar("x" * 300, 2), Bar("short", 3)])
    first, second, third = ([*row.iter(f"{SVG}text")][:-1] for row in rows(root))
    assert " ".join(line.text or "" for line in first) == words.strip()
    assert "".join(line.text or "" for line in second) == "x" * 300
    assert len(third) == 1
    heights = [number(line, "y") for lines in (first, second, third) for line in lines]
    assert all(b - a >= 15 for a, b in pairwise(heights))


def test_a_mark_beside_a_bar_does_not_lie_on_its_value() -> None:
    for value, reference in ((40, 42), (40, 44), (40, 39), (-40, -44), (-40, -41), (40, 90)):
        root = bar_figure([Bar("x", value, 1.5, reference=reference), Bar("y", 100), Bar("z", -90)])
        (said,) = of_class(rows(root)[0], "value")
        at = number(of_class(rows(root)[0], "reference")[0], "x1")
        if value > 0:
            assert at < number(said, "x") - 3 or at > number(said, "x") + 75
            assert number(said, "x") > whisker(rows(root)[0])[1]
        else:
            assert at > number(said, "x") + 3
            assert number(said, "x") < whisker(rows(root)[0])[0]


# --- Lines ------------------------------------------------------------------------------------


def test_a_line_has_a_dot_for_each_point_where_it_belongs() -> None:
    root = line_figure(LINES, x_ticks=(10, 20, 50, 100))
    places = dots(root, 0)
    assert len(places) == 4
    assert len(dots(root, 1)) == 2
    a, *_, b = (number(e, "x") for e in of_class(root, "middle"))
    assert [x for x, _ in places] == pytest.approx(
        [a + (b - a) * (k - 10) / 90 for k in (10, 20, 50, 100)], abs=2 * NEAR
    )
    height = {text.text: number(text, "y") - 4 for text in of_class(root, "tick", "end")}
    unit = (height["30"] - height["50"]) / 20
    assert [y for _, y in places] == pytest.approx(
        [height["30"] - unit * (y - 30) for y in (30, 36, 44.91, 41)], abs=2 * NEAR
    )
    (line, _) = root.iter(f"{SVG}polyline")
    corners = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
    assert corners == pytest.approx(np.array(places), abs=NEAR)


def test_a_band_is_one_deviation_high_on_either_side() -> None:
    root = line_figure(LINES)
    (band, _) = of_class(root, "band")
    corners = [tuple(map(float, pair.split(","))) for pair in band.attrib["points"].split()]
    upper, lower = corners[:4], corners[:3:-1]
    places = dots(root, 0)
    unit = (places[0][1] - places[1][1]) / 6
    for (x, y), (_, _, deviation), above, below in zip(
        places, LINES[0].points, upper, lower, strict=True
    ):
        assert above == pytest.approx((x, y - unit * deviation), abs=3 * NEAR)
        assert below == pytest.approx((x, y + unit * deviation), abs=3 * NEAR)


def test_a_point_alone_has_a_whisker() -> None:
    root = line_figure([Series("one", ((5, 10.0, 2.0),)), Series("two", ((1, 0.0, 0), (9, 20, 0)))])
    assert not of_class(root, "band")
    (drawn,) = of_class(root, "whisker")
    found = re.fullmatch(r"M([\d.]+) ([\d.]+)h8m-4 0V([\d.]+)m-4 0h8", drawn.attrib["d"])
    assert found
    ((x, y),), ((_, bottom), (_, top)) = dots(root, 0), dots(root, 1)
    tenth = (bottom - top) / 10
    assert [float(part) for part in found.groups()] == pytest.approx(
        [x - 4, y + tenth, y - tenth], abs=2 * NEAR
    )


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors() -> None:
    series = Series("s", tuple((10.0**n, float(n), 0.0) for n in range(-2, 4)))
    root = line_figure([series], log_x=True)
    steps = np.diff([x for x, _ in dots(root, 0)])
    assert steps == pytest.approx(np.full(5, steps[0]), abs=2 * NEAR)
    ticks = [e.text for e in of_class(root, "middle")]
    assert ticks == ["0.01", "0.1", "1", "10", "100", "1,000"]
    near = line_figure([Series("s", ((5, 1, 0), (200, 2, 0)))], log_x=True)
    assert [e.text for e in of_class(near, "middle")] == ["5", "10", "20", "50", "100", "200"]


def test_wished_ticks_are_shown_where_they_do_not_touch() -> None:
    root = line_figure(LINES, x_ticks=(1, 2, 3, 50, 1000))
    assert [e.text for e in of_class(root, "middle")] == ["1", "50", "1,000"]
    assert len(of_class(root, "axis")) == 5
    assert max(x for x, _ in dots(root, 0)) < 200  # the axis reaches to 1,000


def test_whole_numbers_have_whole_ticks() -> None:
    root = line_figure([Series("s", ((1, 1, 0), (2, 2, 0), (3, 1, 0)))])
    assert [e.text for e in of_class(root, "middle")] == ["1", "2", "3"]


def test_points_are_joined_from_left_to_right() -> None:
    mixed = [replace(one, points=one.points[::-1]) for one in LINES]
    assert line_chart("t", mixed, x="x", y="y") == line_chart("t", LINES, x="x", y="y")


def test_long_lines_keep_their_points_but_not_every_dot() -> None:
    root = line_figure([Series("loss", tuple((float(n), 1 / n, 0.0) for n in range(1, 501)))])
    (line,) = root.iter(f"{SVG}polyline")
    assert len(line.attrib["points"].split()) == 500
    assert 20 <= len(dots(root, 0)) <= 40


def test_eight_lines_have_eight_colours_shapes_and_legend_entries() -> None:
    series = [Series(f"line {n}", ((1, n, 0), (2, n + 1, 0))) for n in range(8)]
    root = line_figure(series)
    shapes = {dot.attrib["d"]: dot.attrib["class"] for dot in of_class(root, "dot")}
    assert len(shapes) == len(set(shapes.values())) == 8
    assert {one.name for one in series} <= set(texts(root))
    with pytest.raises(DataError, match=r"^a figure shows at most 8 series: 9$"):
        line_figure([*series, Series("one more", ())])


@given(lines, st.booleans())
@quick
def test_any_lines_can_be_drawn_inside_the_figure(given: list[Series], log_x: bool) -> None:
    if log_x:
        given = [
            Series(one.name, tuple((abs(x) + 1e-6, y, d) for x, y, d in one.points))
            for one in given
        ]
    root = line_figure(given, log_x=log_x)
    for colour, one in enumerate(given):
        assert len(dots(root, colour)) == len(one.points)
        for x, y in dots(root, colour):
            assert 0 < x < number(root, "width")
            assert 0 < y < number(root, "height")


# --- Both -------------------------------------------------------------------------------------


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
        bar_chart(NASTY, [Bar(NASTY, 1, 1, NASTY, 1), Bar("x", 2)], axis=NASTY, reference=NASTY),
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


# --- Colours ----------------------------------------------------------------------------------

# How dichromats see linear RGB (Machado, Oliveira and Fernandes 2009, full strength).
SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(colour: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """CIE L*a*b* for D65."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    share = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_all_pairs_of_colours_can_be_told_apart(palette: Sequence[str], sight: str) -> None:
    seen = [lab(SIGHT[sight] @ linear(colour)) for colour in palette[4:]]
    assert len(seen) == 8
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 10


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_colours_and_words_stand_out_from_the_card(palette: Sequence[str]) -> None:
    card, ink, quiet, _, *colours = (
        float(np.array([0.2126, 0.7152, 0.0722]) @ linear(colour)) for colour in palette
    )

    def contrast(light: float) -> float:
        return (max(light, card) + 0.05) / (min(light, card) + 0.05)

    assert min(map(contrast, colours)) >= 3
    assert min(contrast(ink), contrast(quiet)) >= 4.5


# --- In a browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip("chromium is not at hand")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


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


@pytest.mark.browser
def test_a_page_shows_it_as_an_image(browser: Browser) -> None:
    figure = bar_chart("One bar", [Bar("x", 10), Bar("y", 5, 0, "other")], axis="ARI")
    bar, other = (of_class(row, "bar")[0] for row in rows(ElementTree.fromstring(figure)))
    blocks = ElementTree.fromstring(figure).findall(f"{SVG}g")
    top = moved(blocks[-1])[1]
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
