"""Drawing tools for the charts: elements, scales and axes of an inline SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

Point = tuple[float, float]


def tag(name: str, /, *content: str, **attributes: str | float | None) -> Markup:
    """An element; content and attributes are escaped unless they are Markup.

    `class_` is written `class`, `text_anchor` is `text-anchor`; an attribute that is None is left
    out. Numbers must be finite and are rounded to a tenth.

    >>> str(tag("text", "a < b", x=1.25, class_="tick"))
    '<text x="1.2" class="tick">a &lt; b</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(str(escape(part)) for part in content)
    return Markup(f"<{name}{written}>{inside}</{name}>")  # noqa: S704


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        raise ValueError(f"cannot draw at {value}")
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")  # + 0.0 turns -0.0 into 0.0


def drawing(label: str, width: int, height: int, *content: str, class_: str = "chart") -> Markup:
    """A chart that fills the available width; `label` describes it for screen readers."""
    return tag(
        "svg",
        *content,
        class_=class_,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=label,
    )


@dataclass(frozen=True)
class Scale:
    """Maps values from `low` to `high` onto positions from `start` to `stop`."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.stop) / 2
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)


@dataclass(frozen=True)
class PlotFrame:
    """The field of a chart with a scale on either side."""

    x: Scale
    y: Scale

    def line(self, points: Iterable[Point], class_: str) -> Markup:
        coordinates = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        return tag("polyline", points=coordinates, class_=f"line {class_}")

    def dots(self, points: Sequence[tuple[float, float, str]], class_: str) -> Markup:
        """A dot for each (x, y, tooltip); a single one is always visible."""
        class_ += " only" if len(points) == 1 else ""
        return Markup("").join(
            tag("circle", tag("title", tooltip), cx=self.x(x), cy=self.y(y), r=3, class_=class_)
            for x, y, tooltip in points
        )

    def rows(self, values: Sequence[float]) -> Markup:
        """Grid lines with their values on the left."""
        left, right = self.x.start, self.x.stop
        return Markup("").join(
            tag("line", x1=left, x2=right, y1=self.y(v), y2=self.y(v), class_="grid")
            + tag("text", short(v), x=left - 8, y=self.y(v) + 4, class_="tick end")
            for v in values
        )

    def columns(self, values: Sequence[float]) -> Markup:
        """Values under the field."""
        bottom = self.y.start
        return Markup("").join(
            tag("text", short(v), x=self.x(v), y=bottom + 20, class_="tick middle") for v in values
        )

    def marker(self, value: float, note: str, *, top: float) -> Markup:
        """An upright line at a value, with words on the side where there is room."""
        x = self.x(value)
        right = x < (self.x.start + self.x.stop) / 2
        return tag("line", x1=x, x2=x, y1=top, y2=self.y.start, class_="marker") + tag(
            "text",
            note,
            x=x + 6 if right else x - 6,
            y=top + 10,
            class_="note" if right else "note end",
        )


def drawable(value: float) -> bool:
    """Whether a value can be drawn on an axis; a loss that has diverged cannot."""
    return math.isfinite(value) and abs(value) < 1e100


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values from at or below `low` to at or above `high`, about `count` of them."""
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):  # a flat line is drawn in the middle
        margin = max(abs(low), 1e-6) / 2
        low, high = low - margin, high + margin
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def whole_ticks(low: int, high: int) -> list[float]:
    """Round whole numbers between two of them."""
    return [v for v in ticks(low, high, 6) if low <= v <= high and float(v).is_integer()]


def short(value: float) -> str:
    """A number as short as an axis needs it.

    >>> short(0.30000000000000004), short(1500.0), short(20000.0), short(2500000.0)
    ('0.3', '1,500', '20k', '2.5M')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            divisor = 1e3 if letter == "k" else size
            return f"{value / divisor:.4g}{letter}"
    if abs(value) >= 1000 and float(value).is_integer():
        return f"{value:,.0f}"
    return f"{round(value, 10) + 0.0:.4g}"
