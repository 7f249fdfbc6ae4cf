"""The words for details of terms on the report and on the review page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synsetmine.results.sets import MinedTerm

ACTIONS = {
    "seed": "known before",
    "opened": "opened the set",
    "joined": "joined",
    "forced": "joined below the threshold",
    "no vector": "stands alone, has no vector",
}

RELATIONS = {
    "exact": "means the same",
    "narrow": "narrower",
    "broad": "broader",
    "related": "related",
}


def description(term: MinedTerm, *, relation: bool = True) -> str:
    """What a new name is, in a few words: `abbreviation of “heart failure”, means the same`."""
    is_long = term.kind == "abbreviation" and len(term.text) > len(term.nearest) > 0
    kind = "long form" if is_long else (term.kind or "").replace("-", " ")
    if kind and term.nearest:
        kind += f"{' for' if term.kind == 'other-words' else ' of'} “{term.nearest}”"
    proposed = RELATIONS[term.relation] if relation and term.relation else ""
    return ", ".join(filter(None, (kind, proposed)))


def counted(value: int, noun: str) -> str:
    """`1 term`, `2,000 terms`, `2 entities`."""
    plural = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{value:,} {noun if value == 1 else plural}"


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
