"""Line charts: where dots, bands and ticks stand."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.line_chart import Series, line_chart
from synsetmine.errors import DataError
from tests.support.figureparts import (
    LINES,
    NEAR,
    SVG,
    finite,
    line_figure,
    number,
    of_class,
    offset_of,
    texts,
)

quick = settings(max_examples=60, deadline=None)


points = st.tuples(finite, finite, st.floats(0, 1e6))
lines = st.lists(
    st.builds(Series, st.text(max_size=40), st.lists(points, max_size=6).map(tuple)), max_size=8
)


def dots(root: ElementTree.Element, colour: int) -> list[tuple[float, float]]:
    """Those of the field; the one in the legend has nothing to say."""
    return [
        offset_of(e)
        for e in of_class(root, "dot", f"k{colour}")
        if e.find(f"{SVG}title") is not None
    ]


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
