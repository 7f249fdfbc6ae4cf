"""Line charts of the paper's pages, as SVG files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from experiments.figures import (
    LINE,
    PAD,
    SHAPES,
    WIDTH,
    Block,
    axis_below,
    check_count,
    check_value,
    figure,
    format_values,
    legend,
    text_lines,
    text_width,
    ticks_between,
    wrap,
)
from synsetmine.errors import DataError, shorten
from synsetmine.io.svg import PlotFrame, Scale, drawable, short, tag, ticks

FIELD = 300  # height of the field of a line chart
MOST_DOTS = 40  # more of them on a line hide each other


@dataclass(frozen=True)
class Series:
    """A line; its points are (x, y, deviation of y)."""

    name: str
    points: tuple[tuple[float, float, float], ...]


def line_chart(
    title: str,
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    log_x: bool = False,
    x_ticks: Sequence[float] | None = None,
) -> str:
    """Lines with dots, and a band of one deviation to either side; `x` and `y` name the axes."""
    check_count(series, "series")
    for one in series:
        for point in one.points:
            check_value(f"series {shorten(one.name, 40)!r} at {point[0]}", *point[1:])
    for at in [p[0] for one in series for p in one.points] + list(x_ticks or ()):
        if not drawable(at) or (log_x and at <= 0):
            raise DataError(f"a figure cannot show this place on the axis {x!r}", value=at)
    if not any(one.points for one in series):
        return figure(title, "Nothing to show: there are no points.")
    series = [Series(one.name, tuple(sorted(one.points))) for one in series]
    names = [one.name if one.points else f"{one.name} (no points)" for one in series]
    body = _field(series, x, y, log_x, x_ticks)
    samples = [(name, _stroke(i)) for i, name in enumerate(names)]
    words = "; ".join(_line_words(one) for one in series if one.points)
    return figure(title, f"{y} against {x}. {words}.", legend(samples, 36), body)


def _field(
    series: Sequence[Series], x: str, y: str, log_x: bool, x_ticks: Sequence[float] | None
) -> Block:
    """The field with bands below, lines above them and dots on top."""
    points = [point for one in series for point in one.points]
    across = list(x_ticks or _x_ticks([point[0] for point in points], log_x))
    place = math.log10 if log_x else float
    places = [place(at) for at in [*(point[0] for point in points), *across]]
    marks = _marks([p[1] + d for p in points for d in (-p[2], p[2])])
    left = PAD + max(text_width(short(mark)) for mark in marks) + 8
    name = wrap(y, WIDTH - 2 * PAD)
    top, right = 11 + LINE * len(name), WIDTH - PAD
    bottom = top + FIELD
    frame = PlotFrame(
        Scale(min(places), max(places), left + 14, right - 14),
        Scale(marks[0], marks[-1], bottom, top),
    )
    bands, lines, dots = Markup(""), Markup(""), Markup("")
    for number, one in enumerate(series):
        placed = [(place(p[0]), *p[1:]) for p in one.points]
        bands += _band(frame, placed, f"k{number}")
        lines += frame.line([(p[0], p[1]) for p in placed], f"k{number}") + "\n"
        words = _point_words(one)
        for i in range(0, len(placed), len(placed) // MOST_DOTS + 1):
            title = tag("title", f"{one.name}, {words[i]}")
            dots += _dot(frame.x(placed[i][0]), frame.y(placed[i][1]), number, title)
        dots += "\n"
    under, height = axis_below([(frame.x(place(v)), v) for v in across], x, right, bottom)
    grid = PlotFrame(Scale(0, 1, left, right), frame.y).rows(marks)
    named = text_lines(name, PAD, 12, "name")
    return Markup("\n").join([named, grid, bands, lines, dots, under]), height


def _x_ticks(values: list[float], log_x: bool) -> list[float]:
    """Round values among those of the axis; on a logarithmic axis 1, 2, 5, 10 and so on."""
    low, high = min(values), max(values)
    if log_x:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        found = [value for value in found if low <= value * 1.000001 and value <= high * 1.000001]
        if len(found) > 8:
            found = [v for v in found if round(math.log10(v), 6).is_integer()]
    else:
        whole = all(value.is_integer() for value in map(float, values))
        found = [v for v in ticks_between(low, high, 6) if not whole or float(v).is_integer()]
    return found if len(found) > 1 else sorted({low, high})


def _band(frame: PlotFrame, points: list[tuple[float, float, float]], colour: str) -> Markup:
    """One deviation to either side; a point alone has a whisker, since a band has no width."""
    if not any(deviation for *_, deviation in points):
        return Markup("")
    if len(points) == 1:
        ((x, y, deviation),) = points
        low, high = frame.y(y - deviation), frame.y(y + deviation)
        path = f"M{frame.x(x) - 4:.1f} {low:.1f}h8m-4 0V{high:.1f}m-4 0h8"
        return tag("path", d=path, class_=f"whisker {colour}")
    edge = [(x, y + d) for x, y, d in points] + [(x, y - d) for x, y, d in reversed(points)]
    corners = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in edge)
    return tag("polygon", points=corners, class_=f"band {colour}") + "\n"


def _dot(x: float, y: float, number: int, title: str = "") -> Markup:
    move = f"translate({x:.1f} {y:.1f})"
    return tag("path", title, d=SHAPES[number], transform=move, class_=f"dot k{number}")


def _stroke(number: int) -> Markup:
    line = tag("line", x1=0, x2=36, y1=0, y2=0, class_=f"line k{number}")
    return line + _dot(18, 0, number)


def _point_words(series: Series) -> list[str]:
    written = format_values([(y, deviation) for _, y, deviation in series.points])
    return [f"{p[0]:.6g}: {words}" for p, words in zip(series.points, written, strict=True)]


def _line_words(series: Series) -> str:
    said = _point_words(series)
    return f"{series.name}, {', '.join(said if len(said) <= 12 else [said[0], '…', said[-1]])}"


def _marks(values: list[float]) -> list[float]:
    """Round values that hold all others between them."""
    low, high = min(values), max(values)
    return ticks(low, high) if low or high else [0.0, 1.0]
