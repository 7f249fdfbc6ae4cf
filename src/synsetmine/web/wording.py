"""How the page says things: what sets are called, what somebody decided and when."""

from __future__ import annotations

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


def when(text: str) -> str:
    """An ISO time as people write it."""
    time = datetime.fromisoformat(text)
    return f"{time.day} {time:%b %Y, %H:%M} {time.tzname() or ''}".strip()
