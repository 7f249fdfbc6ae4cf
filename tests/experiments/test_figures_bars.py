"""Bar charts: how long bars are, where marks stand, what is written beside them."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.figures import Bar
from synsetmine.errors import DataError
from tests.support.figureparts import (
    NEAR,
    NYT,
    SVG,
    bar_figure,
    finite,
    number,
    of_class,
    rows,
    texts,
)

quick = settings(max_examples=60, deadline=None)


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
