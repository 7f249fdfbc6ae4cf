"""A map of terms: their positions in the plane, and the drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from synsetmine.io.svg import Scale, drawable, drawing, tag
from synsetmine.pipeline.report.charts import empty_chart
from synsetmine.types import Term
from synsetmine.views import TermVectors

FEW = 30  # below this many terms t-SNE has no neighbourhoods to keep
PERPLEXITY = 30.0
STEPS = 500  # after these the neighbourhoods stand; more only widens the gaps


def term_map(
    vectors: TermVectors, terms: Sequence[Term], *, seed: int, most: int = 1500
) -> list[tuple[Term, float, float]]:
    """Place the first `most` of the terms that have a vector; the rest is left out.

    The same seed gives the same map on any number of cores. Angles count, lengths do not.
    """
    chosen = [term for term in dict.fromkeys(terms) if term in vectors][:most]
    if not chosen:
        return []
    directions = _unit(vectors.select(chosen))  # (terms, dimension)
    if len(chosen) < FEW or vectors.dimension < 2 or _all_equal(directions):
        positions = _principal_axes(directions)
    else:
        positions = _neighbourhoods(directions, seed)
    return [
        (term, float(x), float(y)) for term, (x, y) in zip(chosen, positions.tolist(), strict=True)
    ]


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Vectors of length one; a zero vector stays as it is."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    directions: npt.NDArray[np.float64] = rows / np.where(lengths > 0, lengths, 1)
    return directions


def _all_equal(rows: npt.NDArray[np.float64]) -> bool:
    return bool(np.allclose(rows, rows[0]))


def _principal_axes(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The two directions in which the rows differ most: (terms, 2)."""
    centred = rows - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    # The sign of an axis is arbitrary: its largest entry shall be positive.
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(left.shape[1])])
    positions = np.zeros((len(rows), 2))
    positions[:, : min(2, len(sizes))] = (left * sizes * signs)[:, :2]
    return positions


def _neighbourhoods(rows: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """t-SNE on cosine distances: (terms, 2)."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    tsne = TSNE(
        metric="cosine",
        init="pca",
        perplexity=perplexity,
        max_iter=STEPS,
        random_state=seed,
        n_jobs=1,
    )
    with threadpool_limits(limits=1):  # sums in another order would give another map
        return np.asarray(tsne.fit_transform(rows), dtype=np.float64)


WIDTH, HEIGHT, MARGIN = 900, 560, 24
COLOURS = 10  # classes k0 to k9 of the style sheet
MOST = 3000  # more dots hide each other, and a browser grows slow

# Names are written beside the largest sets while they do not cover each other. A phone shows the
# first few only, in larger letters.
LARGE_NAMES, LARGE = 7, 26.0
SMALL_NAMES, SMALL = 40, 13.0


@dataclass(frozen=True)
class _Dot:
    term: str
    x: float
    y: float


def term_scatter(
    points: Sequence[tuple[str, float, float, str]], names: Mapping[str, str]
) -> Markup:
    """Points (term, x, y, set); sets with two or more of them have a colour and a name."""
    finite = [p for p in points if drawable(p[1]) and drawable(p[2])][:MOST]
    if not finite:
        return empty_chart("Nothing to show: no term has a place on the map.")
    sets = _placed(finite)
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
        f"{len(several):,} sets of two or more terms are coloured and tied."
    )
    drawn = (*alone, *ties, *tied, _labels(several, names))
    return drawing(label, WIDTH, HEIGHT, *drawn, class_="chart map")


def _placed(points: Sequence[tuple[str, float, float, str]]) -> dict[str, list[_Dot]]:
    """The dots of each set, in coordinates of the drawing."""
    xs, ys = [p[1] for p in points], [p[2] for p in points]
    x = Scale(min(xs), max(xs), MARGIN, WIDTH - MARGIN)
    y = Scale(min(ys), max(ys), HEIGHT - MARGIN, MARGIN)
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
        name = _shortened(names.get(set_id, set_id))
        x, y = _centre(sets[set_id])
        half = max(len(name) * size * 0.28, 1)
        x = min(max(x, half + 4), WIDTH - half - 4)
        y = max(y - 10, size)
        box = (x - half, y - size, x + half, y + 4)
        if any(_overlap(box, other) for other in taken):
            continue
        taken.append(box)
        parts += tag("text", name, x=x, y=y, class_=class_)
        shown += 1
    return parts


def _shortened(name: str, width: int = 26) -> str:
    return name if len(name) <= width else name[: width - 1].rstrip() + "…"


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
