"""Figures for results pages: SVG files that stand alone and bring their colours along.

A value that cannot be drawn is an error: a figure that leaves a result out would mislead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from synsetmine.errors import DataError, shorten
from synsetmine.report.card import (
    LINE,
    PAD,
    SHAPES,
    WIDTH,
    Block,
    axis_below,
    figure,
    legend,
    text_lines,
    text_width,
    wrap,
)
from synsetmine.report.plot import Frame, Scale, drawable, short, tag, ticks

LABELS = 300  # at most so wide; longer labels take several lines
ROW, THICK = 30, 18  # height of a row, of the bar in it
FIELD = 300  # height of the field of a line chart
MOST_DOTS = 40  # more of them on a line hide each other


@dataclass(frozen=True)
class Bar:
    """A row of a bar chart; bars of one group share a colour, `reference` is marked in the row."""

    label: str
    value: float
    deviation: float = 0.0
    group: str = ""
    reference: float | None = None


@dataclass(frozen=True)
class Series:
    """A line; its points are (x, y, deviation of y)."""

    name: str
    points: tuple[tuple[float, float, float], ...]


def bar_chart(title: str, bars: Sequence[Bar], *, axis: str, reference: str = "paper") -> str:
    """Lying bars in the given order, with whiskers of one deviation to either side.

    `axis` says what is measured, `reference` whose values the marks of `Bar.reference` are.
    """
    if not bars:
        return figure(title, "Nothing to show: there are no bars.")
    for bar in bars:
        _check(f"bar {shorten(bar.label, 40)!r}", bar.value, bar.deviation, bar.reference)
    groups = list(dict.fromkeys(bar.group for bar in bars))
    _check_number(groups, "groups")
    marked = any(bar.reference is not None for bar in bars)
    samples = [(name, _swatch(i)) for i, name in enumerate(groups) if name and len(groups) > 1]
    samples += [(reference, _mark(6, 0, 8))] if marked else []
    values = _written([(bar.value, bar.deviation) for bar in bars])
    references = _written([(bar.reference or 0.0, 0.0) for bar in bars])
    said = [
        f"{bar.label}{f' ({bar.group})' if bar.group else ''}: {value}"
        + (f" ({reference} {other})" if bar.reference is not None else "")
        for bar, value, other in zip(bars, values, references, strict=True)
    ]
    body = _rows(bars, groups, values, said, axis)
    return figure(title, f"{axis}: {'; '.join(said)}.", legend(samples, 12), body)


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
    _check_number(series, "series")
    for one in series:
        for point in one.points:
            _check(f"series {shorten(one.name, 40)!r} at {point[0]}", *point[1:])
    for at in [p[0] for one in series for p in one.points] + list(x_ticks or ()):
        if not drawable(at) or (log_x and at <= 0):
            raise DataError(f"a figure cannot show this place on the axis {x!r}", value=at)
    if not any(one.points for one in series):
        return figure(title, "Nothing to show: there are no points.")
    series = [Series(one.name, tuple(sorted(one.points))) for one in series]
    names = [one.name if one.points else f"{one.name} (no points)" for one in series]
    body = _field(series, x, y, log_x, x_ticks)
    samples = [(name, _stroke(i)) for i, name in enumerate(names)]
    words = "; ".join(_in_words(one) for one in series if one.points)
    return figure(title, f"{y} against {x}. {words}.", legend(samples, 36), body)


# --- Bars -------------------------------------------------------------------------------------


def _rows(
    bars: Sequence[Bar], groups: list[str], values: list[str], said: list[str], axis: str
) -> Block:
    """Rows of label, bar, whisker, mark and value, with the axis below them."""
    labels = [wrap(bar.label, LABELS) for bar in bars]
    column = PAD + max(text_width(line) for lines in labels for line in lines)
    room = max(map(text_width, values)) + 16
    ends = [0.0, *(b.value + d for b in bars for d in (-b.deviation, b.deviation))]
    ends += [bar.reference for bar in bars if bar.reference is not None]
    left = column + 12 + (room if any(bar.value < 0 for bar in bars) else 0)
    x = Scale(min(ends), max(ends) if any(ends) else 1, left, WIDTH - PAD - room)
    marks = _within(x.low, x.high, 7)
    rows, top = Markup(""), 0.0
    for bar, lines, value, words in zip(bars, labels, values, said, strict=True):
        height = float(max(ROW, LINE * len(lines) + 8))
        y = top + height / 2
        label = text_lines(lines, column, y - LINE * (len(lines) - 1) / 2 + 4.5, "label end")
        drawn = _bar(bar, value, x, y, f"k{groups.index(bar.group)}")
        rows += tag("g", tag("title", words), label, drawn, class_="row") + "\n"
        top += height
    grid = Markup("").join(
        tag("line", x1=x(v), x2=x(v), y1=0, y2=top, class_="grid" if v else "axis") for v in marks
    )
    under, height = axis_below([(x(v), v) for v in marks], axis, x.stop, top)
    return grid + "\n" + rows + under, height


def _bar(bar: Bar, value: str, x: Scale, y: float, colour: str) -> Markup:
    start, stop = sorted((x(0), x(bar.value)))
    shape = {"x": start, "width": stop - start, "y": y - THICK / 2, "height": THICK}
    drawn = tag("rect", class_=f"bar {colour}", **shape)
    if bar.deviation:
        low, high = x(bar.value - bar.deviation), x(bar.value + bar.deviation)
        path = f"M{low:.1f} {y - 4:.1f}v8m0 -4H{high:.1f}m0 -4v8"
        drawn += tag("path", d=path, class_="halo") + tag("path", d=path, class_="whisker")
    side = -1 if bar.value < 0 else 1
    beside = x(bar.value + side * bar.deviation)
    if bar.reference is not None:
        mark = x(bar.reference)
        drawn += _mark(mark, y, THICK / 2 + 4)
        if -8 <= side * (mark - beside) <= text_width(value) + 16:  # it would lie on the value
            beside = side * max(side * mark, side * beside)
    class_ = "value" if side > 0 else "value end"
    return drawn + tag("text", value, x=beside + side * 8, y=y + 4.5, class_=class_)


def _mark(x: float, y: float, half: float) -> Markup:
    return Markup("").join(
        tag("line", x1=x, x2=x, y1=y - half, y2=y + half, class_=class_)
        for class_ in ("halo wide", "reference")
    )


def _swatch(number: int) -> Markup:
    return tag("rect", x=0, y=-6, width=12, height=12, class_=f"bar k{number}")


# --- Lines ------------------------------------------------------------------------------------


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
    frame = Frame(
        Scale(min(places), max(places), left + 14, right - 14),
        Scale(marks[0], marks[-1], bottom, top),
    )
    bands, lines, dots = Markup(""), Markup(""), Markup("")
    for number, one in enumerate(series):
        placed = [(place(p[0]), *p[1:]) for p in one.points]
        bands += _band(frame, placed, f"k{number}")
        lines += frame.line([(p[0], p[1]) for p in placed], f"k{number}") + "\n"
        words = _said(one)
        for i in range(0, len(placed), len(placed) // MOST_DOTS + 1):
            title = tag("title", f"{one.name}, {words[i]}")
            dots += _dot(frame.x(placed[i][0]), frame.y(placed[i][1]), number, title)
        dots += "\n"
    under, height = axis_below([(frame.x(place(v)), v) for v in across], x, right, bottom)
    grid = Frame(Scale(0, 1, left, right), frame.y).rows(marks)
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
        found = [v for v in _within(low, high, 6) if not whole or float(v).is_integer()]
    return found if len(found) > 1 else sorted({low, high})


def _band(frame: Frame, points: list[tuple[float, float, float]], colour: str) -> Markup:
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


def _said(series: Series) -> list[str]:
    written = _written([(y, deviation) for _, y, deviation in series.points])
    return [f"{p[0]:.6g}: {words}" for p, words in zip(series.points, written, strict=True)]


def _in_words(series: Series) -> str:
    said = _said(series)
    return f"{series.name}, {', '.join(said if len(said) <= 12 else [said[0], '…', said[-1]])}"


# --- What both have ---------------------------------------------------------------------------


def _check(what: str, value: float, deviation: float, reference: float | None = None) -> None:
    for number in (value, deviation, reference):
        if number is not None and not drawable(number):
            raise DataError(f"a figure cannot show this value of {what}", value=number)
    if deviation < 0:
        raise DataError(f"a deviation below zero at {what}", value=deviation)


def _check_number(things: Sequence[object], name: str) -> None:
    if len(things) > len(SHAPES):
        raise DataError(f"a figure shows at most {len(SHAPES)} {name}", value=len(things))


def _within(low: float, high: float, wanted: int) -> list[float]:
    slack = 1e-9 * (high - low)  # 3 * 0.1 is more than 0.3
    return [v for v in ticks(low, high, wanted) if low - slack <= v <= high + slack]


def _marks(values: list[float]) -> list[float]:
    """Round values that hold all others between them."""
    low, high = min(values), max(values)
    return ticks(low, high) if low or high else [0.0, 1.0]


def _written(values: Sequence[tuple[float, float]]) -> list[str]:
    """Values as `44.9 ± 2.2`: the same decimals for all, more where a small one needs them."""
    largest = max((max(abs(value), deviation) for value, deviation in values), default=0.0)
    common = max(_decimals(largest, 3), int(largest < 1000))
    written = []
    for value, deviation in values:
        needed = _decimals(value, 2)
        if deviation:  # it says how many digits of the value mean something
            needed = min(needed, _decimals(deviation, 2))
            needed = max(needed, min(_decimals(deviation, 1), common + 2))
        decimals = max(common, needed)
        form = ".3g" if decimals > 6 or max(abs(value), deviation) >= 1e9 else f"z,.{decimals}f"
        after = f" ± {deviation:{form}}" if deviation else ""
        written.append(f"{value:{form}}{after}")
    return written


def _decimals(number: float, digits: int) -> int:
    """How many decimals show so many digits of a number."""
    return max(0, digits - 1 - math.floor(math.log10(abs(number)))) if number else 0
