"""The charts of a report: everything can be drawn, and shows what it says."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.io.svg import short, tag, ticks
from synsetmine.pipeline.report.charts import (
    reliability_curve,
    size_histogram,
    size_table,
    term_scatter,
    threshold_curve,
    training_curve,
)
from synsetmine.pipeline.report.findings import Epochs, Penalties
from tests.support.findings import nasty_texts

quick = settings(max_examples=40, deadline=None)


numbers = st.floats(allow_nan=True, allow_infinity=True)
histories = st.lists(st.tuples(st.integers(0, 10**6), numbers, st.none() | numbers), max_size=80)


def check_drawing(markup: str) -> ET.Element:
    """Well formed, with words for those who cannot see it, and everything where it can be seen."""
    drawing = ET.fromstring(markup)
    if drawing.tag == "p":
        assert drawing.text is not None
        assert drawing.text.startswith("Nothing to show: ")
        return drawing
    assert drawing.attrib["role"] == "img"
    assert len(drawing.attrib["aria-label"]) > 20
    left, top, right, bottom = map(float, drawing.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    places = {"x": right, "x1": right, "x2": right, "cx": right, "width": right}
    places |= {"y": bottom, "y1": bottom, "y2": bottom, "cy": bottom, "height": bottom}
    for element in drawing.iter():
        for name, value in element.attrib.items():
            if name in places:
                assert -1 <= float(value) <= places[name] + 1, f"{element.tag} {name}={value}"
        for x, y in re.findall(r"([^ ,]+),([^ ,]+)", element.attrib.get("points", "")):
            assert 0 <= float(x) <= right
            assert 0 <= float(y) <= bottom
    return drawing


def classes(drawing: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in drawing.iter() if name in e.attrib.get("class", "").split()]


def words(element: ET.Element) -> str:
    return "".join(element.itertext())


@given(histories, st.integers(-1, 10**6))
@example([(3, 0.5, None)], 3)
@example([(1, 5e-324, 1e-310), (2, 0.0, 0.0)], 1)
@example([(1, 1e308, -1e308), (2, -1e308, 1e308)], 1)
@example([(1, 1e99, -1e99), (2, -1e99, 1e99)], 1)
@quick
def test_any_training_can_be_drawn(
    history: list[tuple[int, float, float | None]], best: int
) -> None:
    check_drawing(training_curve(Epochs(history, best, "a < b")))


def test_the_training_curve_shows_both_lines_and_the_best_epoch() -> None:
    history = [(1, 0.7, None), (2, 0.4, 0.5), (3, 0.3, 0.8), (4, 0.25, 0.6)]
    drawing = check_drawing(training_curve(Epochs(history, 3, "ARI")))
    assert [words(e) for e in classes(drawing, "name")] == ["validation ARI", "loss"]
    score, loss = classes(drawing, "line")
    assert len(score.attrib["points"].split()) == 3
    heights = [float(place.split(",")[1]) for place in loss.attrib["points"].split()]
    assert heights == sorted(heights)  # the loss falls, and the y of a drawing points down
    (marker,) = classes(drawing, "marker")
    best = loss.attrib["points"].split()[2].split(",")[0]
    assert float(marker.attrib["x1"]) == float(best)
    assert [words(e) for e in classes(drawing, "note")] == ["best: 3"]
    assert drawing.attrib["aria-label"] == (
        "Training curve. The loss goes from 0.7 to 0.25 in epoch 4. "
        "Validation ARI is best in epoch 3 with 0.8."
    )


def test_a_single_epoch_is_seen_as_a_dot() -> None:
    drawing = check_drawing(training_curve(Epochs([(1, 0.7, 0.5)], 1, "ARI")))
    assert len(classes(drawing, "only")) == 2


@given(st.lists(st.tuples(st.none() | st.integers(1, 10**6), numbers), max_size=80))
@example([(10, 1e99), (1, -1e99)])
@example([(None, 0.5)])
@example([(3, 1e100), (1, 0.0), (2, 0.0)])  # the loss of the chosen one cannot be drawn
@quick
def test_any_penalties_can_be_drawn(losses: list[tuple[int | None, float]]) -> None:
    check_drawing(training_curve(Penalties(losses, losses[0][0] if losses else None)))


def test_the_curve_shows_the_penalty_that_was_chosen() -> None:
    losses = [(None, 1.5), (100, 0.6), (1, 0.4), (10, 0.3)]
    drawing = check_drawing(training_curve(Penalties(losses, 10)))
    (line,) = classes(drawing, "line")
    places = [float(place.split(",")[0]) for place in line.attrib["points"].split()]
    assert places == sorted(places)
    (marker,) = classes(drawing, "marker")
    assert float(marker.attrib["x1"]) == places[1]
    assert [words(e) for e in classes(drawing, "note")] == ["chosen: 10"]
    assert drawing.attrib["aria-label"].endswith("The penalty chosen is 10.")


@given(st.lists(st.integers(0, 300) | st.integers(0, 10**6), max_size=50))
@example([2] * 3 + [150] * 40_000)
@quick
def test_any_sizes_can_be_drawn(sizes: list[int]) -> None:
    check_drawing(size_histogram(sizes))
    assert sum(count for _, count in size_table(sizes)) == sum(size > 1 for size in sizes)


def test_bars_are_as_high_as_they_say() -> None:
    drawing = check_drawing(size_histogram([1] * 500 + [2] * 40 + [3] * 20 + [12] * 10))
    bars = classes(drawing, "bar")
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert heights[0] == pytest.approx(4 * heights[-1], abs=0.2)
    assert [words(e) for e in classes(drawing, "value")] == ["40", "20", "10"]
    assert [words(bar) for bar in bars][-1] == "10 sets of 11–15 terms"
    assert "40 of 2, 20 of 3, 0 of 4" in drawing.attrib["aria-label"]


rows = st.tuples(numbers, numbers, numbers, numbers)


@given(st.lists(rows, max_size=30), numbers)
@example([(0.5, 0.5, 0.5, 0.5)], 0.5)
@example([(0.5, -0.1, 0.5, 0.5)], 7.0)
@quick
def test_any_thresholds_can_be_drawn(
    thresholds: list[tuple[float, float, float, float]], used: float
) -> None:
    check_drawing(threshold_curve(thresholds, used))


def test_the_threshold_curve_has_three_lines_and_the_used_threshold() -> None:
    drawing = check_drawing(threshold_curve([(0.9, 0.1, 0.2, 0.3), (0.1, 0.4, 0.5, 0.6)], 0.5))
    assert [words(e) for e in classes(drawing, "name")] == ["ARI", "FMI", "pair F1"]
    lines = [e for e in classes(drawing, "line") if e.tag == "polyline"]
    assert len(lines) == 3
    for line in lines:  # sorted by θ, whatever the order in which they were tried
        first, last = (float(place.split(",")[0]) for place in line.attrib["points"].split())
        assert first < last
    assert [words(e) for e in classes(drawing, "note")] == ["θ = 0.5"]


points = st.tuples(nasty_texts.map(lambda t: t.replace("\0", "")), numbers, numbers, st.text("ab"))


@given(st.lists(points, max_size=30))
@quick
def test_any_points_can_be_drawn(places: list[tuple[str, float, float, str]]) -> None:
    # XML cannot hold control characters even when escaped; HTML can.
    clean = [(re.sub(r"[^ -\ud7ff\ue000-\ufffd]", "", t), x, y, s) for t, x, y, s in places]
    drawing = check_drawing(term_scatter(clean, {"a": "A & B"}))
    drawn = [p for p in clean if all(math.isfinite(v) and abs(v) < 1e100 for v in p[1:3])]
    assert len([e for e in drawing.iter() if e.tag == "circle"]) == len(drawn)


def test_terms_of_a_set_are_tied_and_named() -> None:
    places = [("x", 0.0, 0.0, "c1"), ("y", 1.0, 1.0, "c1"), ("z", 2.0, 0.5, "c2")]
    drawing = check_drawing(term_scatter(places, {"c1": "Ex", "c2": "z"}))
    assert [words(e) for e in drawing.iter("circle")] == ["z", "x · Ex", "y · Ex"]
    assert [e.attrib["data-set"] for e in drawing.iter("circle")] == ["c2", "c1", "c1"]
    assert len(classes(drawing, "tie")) == 1
    assert [words(e) for e in classes(drawing, "label")] == ["Ex"]


def test_a_map_of_too_many_terms_shows_the_first() -> None:
    drawing = check_drawing(term_scatter([(f"t{i}", i, -i, "c") for i in range(20_000)], {}))
    assert len(list(drawing.iter("circle"))) == 3000
    assert "Map of 3,000 terms." in drawing.attrib["aria-label"]


def test_names_on_the_map_do_not_cover_each_other() -> None:
    crowd = [(f"t{i}", i % 20 / 7, i // 20 / 3, f"c{i // 2}") for i in range(400)]
    drawing = check_drawing(term_scatter(crowd, {f"c{i}": f"a long name {i}" for i in range(200)}))
    boxes = []
    for label in classes(drawing, "label"):
        size = 26 if "first" in label.attrib["class"] else 13
        x, y = float(label.attrib["x"]), float(label.attrib["y"])
        half = len(words(label)) * size * 0.25
        boxes.append((x - half, x + half, y - size, y))
    assert len(boxes) > 5
    for i, (left, right, top, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            apart = right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
            assert apart


shares = st.floats(0, 1)


@given(st.lists(st.tuples(shares, shares, st.integers(1, 10**9)), max_size=10))
@quick
def test_any_rehearsal_can_be_drawn(rows: list[tuple[float, float, int]]) -> None:
    check_drawing(reliability_curve(rows))


def test_the_reliability_plot_has_a_dot_for_each_bin() -> None:
    drawing = check_drawing(reliability_curve([(0.1, 0.2, 100), (0.9, 0.8, 1)]))
    first, second = classes(drawing, "bin")
    assert float(first.attrib["r"]) > float(second.attrib["r"])
    assert float(first.attrib["cy"]) > float(second.attrib["cy"])
    assert words(second) == "probability 0.90: 80% of 1 name right"
    assert len(classes(drawing, "ideal")) == 1


moderate = st.floats(-1e12, 1e12, allow_subnormal=True)


@given(moderate, moderate, st.integers(2, 10))
@example(0.0, 5e-324, 5)
@example(0.1, 0.1, 5)
@quick
def test_ticks_are_even_and_cover_the_range(one: float, other: float, wanted: int) -> None:
    low, high = min(one, other), max(one, other)
    values = ticks(low, high, wanted)
    steps = [b - a for a, b in pairwise(values)]
    assert values[0] <= low + 1e-6 * steps[0]
    assert values[-1] >= high - 1e-6 * steps[0]
    assert 2 <= len(values) <= wanted + 3
    assert max(steps) == pytest.approx(min(steps), rel=1e-6)
    mantissa = steps[0] / 10 ** math.floor(math.log10(steps[0] * 1.0000001))
    assert min(abs(mantissa - nice) for nice in (1, 2, 5)) < 1e-5


def test_short_numbers() -> None:
    given_ = [0, -0.0, 0.1 + 0.2, 12, 1500, 12_500, 3_000_000, -2e9]
    assert [short(v) for v in given_] == ["0", "0", "0.3", "12", "1,500", "12.5k", "3M", "-2G"]


def test_elements_are_escaped() -> None:
    assert str(tag("text", "a<b", data_x='"&', x=-0.01)) == (
        '<text data-x="&#34;&amp;" x="0">a&lt;b</text>'
    )
    with pytest.raises(ValueError, match="nan"):
        tag("rect", x=math.nan)
