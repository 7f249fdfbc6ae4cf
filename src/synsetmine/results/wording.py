"""The words for details of terms on the report and on the review page."""

from __future__ import annotations

import math

ACTIONS = {
    "seed": "known before",
    "opened": "opened the set",
    "joined": "joined",
    "forced": "joined below the threshold",
    "no vector": "stands alone, has no vector",
}


def counted(value: int, noun: str) -> str:
    """`1 term`, `2,000 terms`."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def probability(value: float | None) -> str:
    """Two digits; what is nearly certain does not look like certainty."""
    if value is None or not math.isfinite(value):
        return "–"
    if 0.995 <= value < 1:
        return "> 0.99"
    return "< 0.01" if 0 < value < 0.005 else f"{value:.2f}"


def share(part: float | None, whole: float = 1.0) -> str:
    """A share as a width of a hundred, for small bars."""
    value = 100 * (part or 0) / whole if whole else 0.0
    return f"{min(max(value, 0), 100) if math.isfinite(value) else 0:.1f}"
