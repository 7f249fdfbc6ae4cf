"""The charts of the report, as inline SVG whose colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from synsetmine.errors import quantity
from synsetmine.io.svg import PlotFrame, Scale, drawable, drawing, short, tag, ticks, whole_ticks
from synsetmine.pipeline.report.findings import Epochs, Penalties

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, BOTTOM = 52, 466, 258

# Sizes of one bar each, then ranges: few sets are large, and they still want to be seen.
_BINS = [(n, n) for n in range(2, 11)]
_BINS += [(11, 15), (16, 20), (21, 30), (31, 50), (51, 100), (101, 10**9)]

SERIES = ("ARI", "FMI", "pair F1")

MAP_WIDTH, MAP_HEIGHT, MARGIN = 900, 560, 24
COLOURS = 10  # classes k0 to k9 of the style sheet
MOST_POINTS = 3000  # more dots hide each other, and a browser grows slow

# Names are written next to the largest sets while they do not cover each other. A phone shows the
# first few only, in larger letters.
LARGE_NAMES, LARGE = 7, 26.0
SMALL_NAMES, SMALL = 40, 13.0


def empty_chart(why: str) -> Markup:
    """The text in place of a chart without data."""
    return tag("p", why, class_="nothing")


def training_curve(training: Epochs | Penalties) -> Markup:
    """The figure of either kind of training."""
    return epoch_curve(training) if isinstance(training, Epochs) else penalty_curve(training)


def penalty_curve(training: Penalties) -> Markup:
    """The held-out loss against the penalty, with the one that was chosen."""
    finite = [(penalty, loss) for penalty, loss in training.losses if penalty is not None]
    points = sorted((math.log10(penalty), loss) for penalty, loss in finite if drawable(loss))
    if not points:
        return empty_chart("Nothing to show: too few sets to hold some out.")
    # A loss too large to draw, even that of the penalty chosen, still is on the axis.
    positions = [math.log10(penalty) for penalty, _ in finite]
    positions += [math.log10(training.chosen)] if training.chosen is not None else []
    x = Scale(min(positions), max(positions), LEFT, RIGHT)
    frame, marks = _panel(x, points, 34, BOTTOM)
    dots = [
        (position, loss, f"penalty {10**position:.4g}: loss {loss:.4g}")
        for position, loss in points
    ]
    parts = [
        tag("text", "loss", x=LEFT, y=18, class_="name a"),
        frame.rows(marks),
        frame.columns([position for position, _ in points]),
        tag("text", "log of the penalty", x=RIGHT, y=HEIGHT - 4, class_="tick end"),
        frame.line(points, "a"),
        frame.dots(_at_most(dots), "dot a"),
    ]
    label = "Held-out loss by penalty."
    if training.chosen is not None:
        position = math.log10(training.chosen)
        parts.append(frame.marker(position, f"chosen: {training.chosen:g}", top=34))
        label += f" The penalty chosen is {training.chosen:g}."
    return drawing(label, WIDTH, HEIGHT, *parts)


def epoch_curve(training: Epochs) -> Markup:
    """The validation score above, the loss below, on one axis of epochs."""
    history, best_epoch, select_by = training.history, training.best, training.select_by
    losses = [(float(epoch), loss) for epoch, loss, _ in history if drawable(loss)]
    scores = [(float(e), s) for e, _, s in history if s is not None and drawable(s)]
    if not losses and not scores:
        return empty_chart("Nothing to show: no epoch was recorded.")
    epochs = [epoch for epoch, *_ in history]
    x = Scale(min(epochs), max(epochs), LEFT, RIGHT)
    panels = [(f"validation {select_by}", scores, "a"), ("loss", losses, "b")]
    panels = [panel for panel in panels if panel[1]]
    parts: list[Markup] = []
    for number, (name, points, class_) in enumerate(panels):
        top, bottom = _share_of_height(number, len(panels))
        frame, marks = _panel(x, points, top, bottom)
        dots = [(e, v, f"epoch {e:.0f}: {name} {v:.4g}") for e, v in points]
        parts += [
            tag("text", name, x=LEFT, y=top - 10, class_=f"name {class_}"),
            frame.rows(marks),
            frame.line(points, class_),
            frame.dots(_at_most(dots), f"dot {class_}"),
        ]
    frame = PlotFrame(x, Scale(0, 1, BOTTOM, 0))
    parts.append(frame.columns(whole_ticks(min(epochs), max(epochs))))
    parts.append(tag("text", "epoch", x=RIGHT, y=HEIGHT - 4, class_="tick end"))
    if min(epochs) <= best_epoch <= max(epochs):
        parts.append(frame.marker(best_epoch, f"best: {best_epoch}", top=_share_of_height(0, 1)[0]))
    label = _training_in_words(losses, scores, best_epoch, select_by)
    return drawing(label, WIDTH, HEIGHT, *parts)


def _at_most(
    dots: Sequence[tuple[float, float, str]],
) -> Sequence[tuple[float, float, str]]:
    """All dots, or every n-th of more than 60."""
    return dots if len(dots) <= 60 else dots[:: len(dots) // 60 + 1]


def _share_of_height(number: int, panels: int) -> tuple[float, float]:
    """Top and bottom of one of the panels, which are above each other."""
    gap, top = 36, 28
    height = (BOTTOM - top - gap * (panels - 1)) / panels
    start = top + number * (height + gap)
    return start, start + height


def _panel(
    x: Scale, points: Sequence[tuple[float, float]], top: float, bottom: float
) -> tuple[PlotFrame, list[float]]:
    values = [value for _, value in points]
    marks = ticks(min(values), max(values), 3)
    return PlotFrame(x, Scale(marks[0], marks[-1], bottom, top)), marks


def _training_in_words(
    losses: Sequence[tuple[float, float]],
    scores: Sequence[tuple[float, float]],
    best_epoch: int,
    select_by: str,
) -> str:
    sentences = ["Training curve."]
    if losses:
        (_, first), (epoch, last) = losses[0], losses[-1]
        sentences.append(f"The loss goes from {first:.4g} to {last:.4g} in epoch {epoch:.0f}.")
    if scores:
        at_best = dict(scores).get(float(best_epoch))
        value = "" if at_best is None else f" with {at_best:.4g}"
        sentences.append(f"Validation {select_by} is best in epoch {best_epoch}{value}.")
    return " ".join(sentences)


def size_histogram(sizes: Iterable[int]) -> Markup:
    """How many sets have two terms, three terms, and so on."""
    rows = size_table(sizes)
    if not rows:
        return empty_chart("Nothing to show: no set has two or more terms.")
    marks = [v for v in ticks(0, max(count for _, count in rows), 4) if float(v).is_integer()]
    y = Scale(0, marks[-1], BOTTOM, 34)
    frame = PlotFrame(Scale(0, len(rows), LEFT, RIGHT), y)
    parts = [frame.rows(marks), tag("text", "sets", x=LEFT - 8, y=18, class_="tick end")]
    for number, (name, count) in enumerate(rows):
        left, right = frame.x(number + 0.12), frame.x(number + 0.88)
        middle = (left + right) / 2
        tooltip = tag("title", f"{count:,} sets of {name} terms")
        bar = {"x": left, "y": y(count), "width": right - left, "height": BOTTOM - y(count)}
        parts.append(tag("rect", tooltip, rx=2, class_="bar", **bar))
        if count:
            parts.append(tag("text", short(count), x=middle, y=y(count) - 6, class_="value middle"))
        parts.append(tag("text", name, x=middle, y=BOTTOM + 20, class_="tick middle"))
    parts.append(tag("text", "terms in a set", x=RIGHT, y=HEIGHT - 4, class_="tick end"))
    words = ", ".join(f"{count:,} of {name}" for name, count in rows)
    return drawing(f"Histogram of set sizes: sets by number of terms, {words}.", WIDTH, 300, *parts)


def size_table(sizes: Iterable[int]) -> list[tuple[str, int]]:
    """The bars: (number of terms, number of sets), up to the largest set there is."""
    counts = Counter(sizes)
    largest = max((size for size in counts if size > 1), default=0)
    rows = []
    for low, high in _BINS:
        if low > largest:
            break
        name = str(low) if low == high else f"{low}–{high}" if high < 10**9 else f"{low}+"
        rows.append((name, sum(n for size, n in counts.items() if low <= size <= high)))
    return rows


def threshold_curve(thresholds: Sequence[tuple[float, float, float, float]], used: float) -> Markup:
    """ARI, FMI and pair F1 on held-out entities against θ, with the θ that was used."""
    rows = sorted(row for row in thresholds if all(map(drawable, row)))
    if not rows:
        return empty_chart("Nothing to show: no other thresholds were tried.")
    at = [row[0] for row in rows] + ([used] if drawable(used) else [])
    values = [value for row in rows for value in row[1:]]
    across = [v for v in ticks(min(at), max(at), 6) if min(at) <= v <= max(at)]
    marks = ticks(min(0.0, *values), max(values), 5)
    frame = PlotFrame(Scale(min(at), max(at), LEFT, RIGHT), Scale(marks[0], marks[-1], BOTTOM, 44))
    parts = [frame.rows(marks), frame.columns(across), _legend(SERIES)]
    if drawable(used):
        parts.append(frame.marker(used, f"θ = {used:.4g}", top=36))
    for number, (name, class_) in enumerate(zip(SERIES, "abc", strict=True), start=1):
        points = [(row[0], row[number]) for row in rows]
        dots = [(x, y, f"θ {x:.4g}: {name} {y:.4g}") for x, y in points]
        parts.append(frame.line(points, class_))
        parts.append(frame.dots(dots if len(dots) <= 60 else [], f"dot {class_}"))
    parts.append(tag("text", "threshold θ", x=RIGHT, y=HEIGHT - 4, class_="tick end"))
    best = max(rows, key=lambda row: row[1])
    label = (
        f"Scores against the threshold from {rows[0][0]:.4g} to {rows[-1][0]:.4g}. "
        f"ARI is best at {best[0]:.4g} with {best[1]:.4g}; the run used {used:.4g}."
    )
    return drawing(label, WIDTH, HEIGHT, *parts)


def reliability_curve(rows: Sequence[tuple[float, float, int]]) -> Markup:
    """The share that is right against the mean probability of each bin, larger for more names."""
    if not rows:
        return empty_chart("Nothing to show: there was no rehearsal.")
    frame = PlotFrame(Scale(0, 1, LEFT, RIGHT), Scale(0, 1, BOTTOM, 34))
    marks, most = [0, 0.2, 0.4, 0.6, 0.8, 1], max(count for *_, count in rows)
    bins = [
        tag(
            "circle",
            tag("title", f"probability {mean:.2f}: {right:.0%} of {quantity(count, 'name')} right"),
            cx=frame.x(mean),
            cy=frame.y(right),
            r=3 + 9 * math.sqrt(count / most),
            class_="bin",
        )
        for mean, right, count in rows
    ]
    words = ", ".join(f"{right:.2f} at {mean:.2f}" for mean, right, _ in rows)
    return drawing(
        f"Reliability: the share of names that are right by their mean probability, {words}.",
        WIDTH,
        HEIGHT,
        tag("text", "share that is right", x=LEFT, y=18, class_="name"),
        frame.rows(marks),
        frame.columns(marks),
        frame.line([(0, 0), (1, 1)], "ideal"),
        frame.line([(mean, right) for mean, right, _ in rows], "a"),
        *bins,
        tag("text", "probability", x=RIGHT, y=HEIGHT - 4, class_="tick end"),
    )


def _legend(names: Sequence[str]) -> Markup:
    parts = Markup("")
    for number, (name, class_) in enumerate(zip(names, "abc", strict=True)):
        x = LEFT + 100 * number
        parts += tag("line", x1=x, x2=x + 22, y1=13, y2=13, class_=f"line {class_}")
        parts += tag("text", name, x=x + 28, y=18, class_="name")
    return parts


class _Dot(NamedTuple):
    term: str
    x: float
    y: float


def term_scatter(
    points: Sequence[tuple[str, float, float, str]], names: Mapping[str, str]
) -> Markup:
    """Points (term, x, y, set); sets with two or more of them have a colour and a name."""
    finite = [p for p in points if drawable(p[1]) and drawable(p[2])][:MOST_POINTS]
    if not finite:
        return empty_chart("Nothing to show: no term has a place on the map.")
    sets = _dots_by_set(finite)
    several = {set_id: dots for set_id, dots in sets.items() if len(dots) > 1}
    colour = {set_id: f"k{number % COLOURS}" for number, set_id in enumerate(several)}
    alone = [
        _circle(dots[0], set_id, 2.5, "alone", names)
        for set_id, dots in sets.items()
        if set_id not in several
    ]
    ties = [_ties(dots, colour[set_id]) for set_id, dots in several.items()]
    tied = [
        _circle(dot, set_id, 4, colour[set_id], names)
        for set_id, dots in several.items()
        for dot in dots
    ]
    label = (
        f"Map of {len(finite):,} terms. Terms with similar vectors lie close together; "
        f"{len(several):,} sets of two or more terms are coloured and connected."
    )
    drawn = (*alone, *ties, *tied, _labels(several, names))
    return drawing(label, MAP_WIDTH, MAP_HEIGHT, *drawn, class_="chart map")


def _dots_by_set(points: Sequence[tuple[str, float, float, str]]) -> dict[str, list[_Dot]]:
    """The dots of each set, in coordinates of the drawing."""
    xs, ys = [p[1] for p in points], [p[2] for p in points]
    x = Scale(min(xs), max(xs), MARGIN, MAP_WIDTH - MARGIN)
    y = Scale(min(ys), max(ys), MAP_HEIGHT - MARGIN, MARGIN)
    sets: dict[str, list[_Dot]] = {}
    for term, right, up, set_id in points:
        sets.setdefault(set_id, []).append(_Dot(term, x(right), y(up)))
    return sets


def _circle(dot: _Dot, set_id: str, r: float, class_: str, names: Mapping[str, str]) -> Markup:
    name = names.get(set_id, set_id)
    tooltip = dot.term if name == dot.term else f"{dot.term} · {name}"
    return tag(
        "circle", tag("title", tooltip), cx=dot.x, cy=dot.y, r=r, class_=class_, data_set=set_id
    )


def _centre(dots: Sequence[_Dot]) -> tuple[float, float]:
    return sum(d.x for d in dots) / len(dots), sum(d.y for d in dots) / len(dots)


def _ties(dots: Sequence[_Dot], class_: str) -> Markup:
    """A line from the middle of a set to each of its terms: a long one makes you look twice."""
    x, y = _centre(dots)
    path = "".join(f"M{x:.1f},{y:.1f}L{dot.x:.1f},{dot.y:.1f}" for dot in dots)
    return tag("path", d=path, class_=f"tie {class_}")


def _labels(sets: Mapping[str, Sequence[_Dot]], names: Mapping[str, str]) -> Markup:
    """Names for the largest sets, each where it covers no other."""
    largest = sorted(sets, key=lambda set_id: -len(sets[set_id]))
    taken: list[tuple[float, float, float, float]] = []
    parts = Markup("")
    shown = 0
    for set_id in largest:
        if shown == SMALL_NAMES:
            break
        size, class_ = (LARGE, "label first") if shown < LARGE_NAMES else (SMALL, "label")
        name = _shorten(names.get(set_id, set_id))
        x, y = _centre(sets[set_id])
        half = max(len(name) * size * 0.28, 1)
        x = min(max(x, half + 4), MAP_WIDTH - half - 4)
        y = max(y - 10, size)
        box = (x - half, y - size, x + half, y + 4)
        if any(_overlap(box, other) for other in taken):
            continue
        taken.append(box)
        parts += tag("text", name, x=x, y=y, class_=class_)
        shown += 1
    return parts


def _shorten(name: str) -> str:
    return name if len(name) <= 26 else name[:25].rstrip() + "…"


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
