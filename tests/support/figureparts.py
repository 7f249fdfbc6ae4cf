"""What tests of figures share: some figures, and readers of what stands in their files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from hypothesis import strategies as st

from experiments.figures import Bar, bar_chart
from experiments.line_chart import Series, line_chart

SVG = "{http://www.w3.org/2000/svg}"
NEAR = 0.11  # places are written in tenths


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


def offset_of(element: ElementTree.Element) -> tuple[float, float]:
    x, y = re.findall(r"-?[\d.]+", element.attrib["transform"])
    return float(x), float(y)
