"""How pages say things: numbers, times, what somebody decided."""

from __future__ import annotations

import math
from datetime import datetime

from synsetmine.results import MinedSet
from synsetmine.review import Decision
from synsetmine.types import Term

STATUS = {
    "open": "not reviewed",
    "changed": "begun",
    "accepted": "accepted",
    "rejected": "rejected",
    "unsure": "unsure",
}
ACTIONS = {
    "seed": "known before",
    "opened": "opened the set",
    "joined": "joined",
    "forced": "joined below the threshold",
    "no vector": "has no vector",
}
SHOWN_TERMS = 3


def title_of(mined: MinedSet) -> str:
    """What to call a set: what a reviewer chose, its entity's name, or its first term."""
    return mined.preferred or mined.name or mined.terms[0].text


def name_of(reviewer: str) -> str:
    """A reviewer without the ORCID that may stand behind the name."""
    return reviewer.partition(" (orcid:")[0]


def decided(decision: Decision) -> str:
    """A decision in a few words, such as `called “chf” incorrect`."""
    if decision.kind == "undo":
        return "took a decision back"
    terms = _some(decision.terms)
    scope = f" ({decision.scope})" if decision.scope and decision.scope != "exact" else ""
    return {
        "accept": "accepted it",
        "reject": "rejected it",
        "unsure": "was unsure of it",
        "judge": f"called {terms} {decision.verdict}{scope}",
        "remove": f"took out {terms}",
        "split": f"split off {terms}",
        "merge": f"merged it with {_some(decision.others)}",
        "rename": f"named it {terms}",
    }[decision.kind]


def _some(texts: tuple[str, ...]) -> str:
    named = ", ".join(f"“{Term.parse(text).surface}”" for text in texts[:SHOWN_TERMS])
    more = len(texts) - SHOWN_TERMS
    return f"{named} and {more} more" if more > 0 else named


def counted(value: int, noun: str) -> str:
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def probability(value: float | None) -> str:
    """Two digits; what is nearly certain does not look like certainty."""
    if value is None or not math.isfinite(value):
        return "–"
    if 0.995 <= value < 1:
        return "> 0.99"
    return "< 0.01" if 0 < value < 0.005 else f"{value:.2f}"


def share(part: float | None, whole: float = 1.0) -> str:
    """A share as a width of a hundred, for the small bars."""
    value = 100 * (part or 0) / whole if whole else 0.0
    return f"{min(max(value, 0), 100):.1f}" if math.isfinite(value) else "0"


def when(text: str) -> str:
    """An ISO time as people write it."""
    time = datetime.fromisoformat(text)
    return f"{time.day} {time:%b %Y, %H:%M} {time.tzname() or ''}".strip()
