"""Bar charts as SVG files that follow the reader's light or dark scheme."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from synsetmine.errors import DataError, require, shorten
from synsetmine.io.svg import Scale, drawable, short, tag, ticks

WIDTH, PAD = 800, 24  # of the figure, of the space around all that is in it
SIZE, LINE = 13, 17  # height of the letters, from one line of words to the next

# The card, strong words, other words, the grid; then eight colours that people with any of the
# common forms of colour blindness can tell apart, with a contrast of 3 or more to the card.
LIGHT = (
    *("#ffffff", "#1b2025", "#59626c", "#e2e3de"),
    *("#0a7d76", "#c4552d", "#5a4fc0", "#d37e06", "#125073", "#c468cc", "#58a077", "#834236"),
)
DARK = (
    *("#1a1e21", "#e7e9ea", "#a0a9b1", "#33393e"),
    *("#4fc3b8", "#ef8a63", "#a39bf0", "#fbc55b", "#96ddf3", "#b57596", "#d4fbb3", "#9c645c"),
)
DASHES = ("none", "8 4", "2 4", "11 4 2 4")
SHAPES = (  # circle, square, triangle, diamond, triangle upside down, plus, hexagon, cross
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.6 -3.6h7.2v7.2h-7.2z",
    "M0 -5L4.8 3.6H-4.8z",
    "M0 -5.2L5.2 0L0 5.2L-5.2 0z",
    "M0 5L4.8 -3.6H-4.8z",
    "M-1.6 -5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
    "M-5 0L-2.5 -4.3H2.5L5 0L2.5 4.3H-2.5z",
    "M-4.7 -2.4L-2.4 -4.7L0 -2.3L2.4 -4.7L4.7 -2.4L2.3 0L4.7 2.4L2.4 4.7L0 2.3L-2.4 4.7L-4.7 2.4"
    "L-2.3 0z",
)

Block = tuple[Markup, float]  # a part of the figure, drawn from y = 0 on, and its height


def figure(title: str, description: str, *blocks: Block) -> str:
    """The file: the card, the title and the blocks below each other."""
    heading = wrap(title, (WIDTH - 2 * PAD) * SIZE / 19)  # it is written larger and bold
    parts = [text_lines(heading, PAD, PAD + 10, "title", 22)]
    top = PAD + 22.0 * len(heading) + 10
    if not blocks:
        blocks = ((text_lines(wrap(description, WIDTH - 2 * PAD), PAD, 12, "note"), 14),)
    for drawn, height in blocks:
        parts.append(tag("g", drawn, transform=f"translate(0 {top:.1f})"))
        top += height
    height = math.ceil(top + 18)
    card = tag("rect", x=0.5, y=0.5, width=WIDTH - 1, height=height - 1, rx=8, class_="card")
    svg = tag(
        "svg",
        Markup("\n").join([Markup(""), tag("title", title), _style(), card, *parts, Markup("")]),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
        role="img",
        aria_label=f"{title}. {description}",
    )
    # Characters that XML cannot hold, even escaped.
    allowed = "\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff"
    return re.sub(f"[^{allowed}]", "\ufffd", svg) + "\n"


def axis_below(at: Iterable[tuple[float, float]], name: str, right: float, top: float) -> Block:
    """Values under a field, where they do not touch each other, and what they are."""
    drawn, taken = Markup(""), -math.inf
    for position, value in sorted(at):
        drawn += tag("line", x1=position, x2=position, y1=top, y2=top + 5, class_="axis")
        half = text_width(short(value)) / 2
        if position - half >= taken + 6:
            drawn += tag("text", short(value), x=position, y=top + 20, class_="tick middle")
            taken = position + half
    lines = wrap(name, right - PAD)
    drawn += text_lines(lines, right, top + 42, "name end")
    return drawn, top + 42 + LINE * (len(lines) - 1)


def legend(samples: Sequence[tuple[str, Markup]], wide: float) -> Block:
    """Samples with their names side by side, in as many lines as they need."""
    drawn, x, y, below = Markup(""), float(PAD), 0.0, 0.0
    for name, sample in samples:
        lines = wrap(name, WIDTH - 2 * PAD - wide - 8)
        width = wide + 8 + max(map(text_width, lines))
        if x > PAD and x + width > WIDTH - PAD:
            x, y = PAD, below
        drawn += tag("g", sample, transform=f"translate({x:.1f} {y + 6:.1f})")
        drawn += text_lines(lines, x + wide + 8, y + 10.5, "label") + "\n"
        x, below = x + width + 24, max(below, y + LINE * len(lines) + 5)
    return drawn, below + 12 if samples else 0


def _style() -> Markup:
    dashes = "".join(
        f".line.k{number}{{stroke-dasharray:{DASHES[number % len(DASHES)]}}}"
        for number in range(len(SHAPES))
    )
    return tag(
        "style",
        Markup(  # noqa: S704
            'text{font:13px -apple-system,"Segoe UI",Roboto,Cantarell,Ubuntu,"Noto Sans",'
            '"Liberation Sans","Helvetica Neue",Arial,sans-serif}'
            ".title{font-size:16px;font-weight:600}.middle{text-anchor:middle}"
            ".end{text-anchor:end}.tick,.value{font-variant-numeric:tabular-nums}"
            ".value{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}"
            ".line{fill:none;stroke-width:2;stroke-linejoin:round}.band{fill-opacity:.14}"
            ".whisker{fill:none;stroke-width:1.5}.halo{fill:none;stroke-width:4.5}"
            f".reference{{stroke-width:3}}.halo.wide{{stroke-width:6}}{dashes}\n"
            f"{_colours(LIGHT)}\n@media (prefers-color-scheme:dark){{{_colours(DARK)}}}"
        ),
    )


def _colours(palette: Sequence[str]) -> str:
    card, ink, quiet, grid, *colours = palette
    rules = (
        f".card{{fill:{card};stroke:{grid}}}text{{fill:{quiet}}}"
        f".title,.label,.value{{fill:{ink}}}.grid{{stroke:{grid}}}.axis{{stroke:{quiet}}}"
        f".whisker,.reference{{stroke:{ink}}}.value,.halo,.dot{{stroke:{card}}}"
    )
    for number, colour in enumerate(colours):
        rules += f".bar.k{number},.dot.k{number},.band.k{number}{{fill:{colour}}}"
        rules += f".line.k{number},.whisker.k{number}{{stroke:{colour}}}"
    return rules


def text_lines(lines: Sequence[str], x: float, y: float, class_: str, step: float = LINE) -> Markup:
    return Markup("").join(
        tag("text", line, x=x, y=y + step * i, class_=class_) for i, line in enumerate(lines)
    )


def wrap(text: str, room: float) -> list[str]:
    """Break words into lines that fit; a word that is longer than a line is cut."""
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        if text_width(joined) <= room:
            lines[-1] = joined
            continue
        lines += [""] if lines[-1] else []
        for character in word:
            if text_width(lines[-1] + character) > room:
                lines.append("")
            lines[-1] += character
    return lines


def text_width(text: str) -> float:
    """About how wide words become: no font is at hand here, so rather too wide than too narrow."""
    return SIZE * sum(map(_ems, text))


def _ems(character: str) -> float:
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 1
    if character in "mwMW@%—…":
        return 0.95
    if character in " ijlftrI.,:;'|!()[]-":
        return 0.38
    return 0.7 if character.isupper() else 0.61


REFERENCE = "paper"  # where the values that `Bar.reference` marks are from
LABELS = 300  # at most so wide; longer labels take several lines
ROW, THICK = 30, 18  # height of a row, of the bar in it


@dataclass(frozen=True)
class Bar:
    """A row of a bar chart; bars of one group share a colour, `reference` is marked in the row."""

    label: str
    value: float
    deviation: float = 0.0
    group: str = ""
    reference: float | None = None


def bar_chart(title: str, bars: Sequence[Bar], *, axis: str) -> str:
    """Horizontal bars with whiskers of one deviation to either side; `axis` is the measure."""
    if not bars:
        return figure(title, "Nothing to show: there are no bars.")
    for bar in bars:
        check_value(f"bar {shorten(bar.label, 40)!r}", bar.value, bar.deviation, bar.reference)
    groups = list(dict.fromkeys(bar.group for bar in bars))
    check_count(groups, "groups")
    marked = any(bar.reference is not None for bar in bars)
    samples = [(name, _swatch(i)) for i, name in enumerate(groups) if name and len(groups) > 1]
    samples += [(REFERENCE, _mark(6, 0, 8))] if marked else []
    values = format_values([(bar.value, bar.deviation) for bar in bars])
    references = format_values([(bar.reference or 0.0, 0.0) for bar in bars])
    descriptions = [
        f"{bar.label}{f' ({bar.group})' if bar.group else ''}: {value}"
        + (f" ({REFERENCE} {other})" if bar.reference is not None else "")
        for bar, value, other in zip(bars, values, references, strict=True)
    ]
    body = _rows(bars, groups, values, descriptions, axis)
    return figure(title, f"{axis}: {'; '.join(descriptions)}.", legend(samples, 12), body)


def _rows(
    bars: Sequence[Bar], groups: list[str], values: list[str], descriptions: list[str], axis: str
) -> Block:
    """Rows of label, bar, whisker, mark and value, with the axis below them."""
    labels = [wrap(bar.label, LABELS) for bar in bars]
    column = PAD + max(text_width(line) for lines in labels for line in lines)
    room = max(map(text_width, values)) + 16
    ends = [0.0, *(b.value + d for b in bars for d in (-b.deviation, b.deviation))]
    ends += [bar.reference for bar in bars if bar.reference is not None]
    left = column + 12 + (room if any(bar.value < 0 for bar in bars) else 0)
    x = Scale(min(ends), max(ends) if any(ends) else 1, left, WIDTH - PAD - room)
    marks = ticks_between(x.low, x.high, 7)
    rows, top = Markup(""), 0.0
    for bar, lines, value, words in zip(bars, labels, values, descriptions, strict=True):
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


def check_value(what: str, value: float, deviation: float, reference: float | None = None) -> None:
    for number in (value, deviation, reference):
        if number is not None and not drawable(number):
            raise DataError(f"a figure cannot show this value of {what}", value=number)
    require(deviation >= 0, f"a deviation below zero at {what}", deviation)


def check_count(things: Sequence[object], name: str) -> None:
    require(len(things) <= len(SHAPES), f"a figure shows at most {len(SHAPES)} {name}", len(things))


def ticks_between(low: float, high: float, count: int) -> list[float]:
    slack = 1e-9 * (high - low)  # 3 * 0.1 is more than 0.3
    return [v for v in ticks(low, high, count) if low - slack <= v <= high + slack]


def format_values(values: Sequence[tuple[float, float]]) -> list[str]:
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
