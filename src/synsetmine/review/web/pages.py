"""What the review page shows, and in which words."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from typing import Any, get_args
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from synsetmine.errors import counted
from synsetmine.review import TO_DO, Decision, Page, QueueFilter, QueuePosition, ReviewedSet, Status
from synsetmine.review.web.session import ReviewSession
from synsetmine.runs import MinedSet, MinedTerm, Scope, Sentence
from synsetmine.runs.results import ACTIONS, Reviewer, description, probability, share
from synsetmine.types import Term

SHOWN: Mapping[str, tuple[str, frozenset[Status]]] = {
    "todo": ("To review", TO_DO),
    "accepted": ("Accepted", frozenset({"accepted"})),
    "rejected": ("Rejected", frozenset({"rejected"})),
    "unsure": ("Unsure", frozenset({"unsure"})),
    "changed": ("Begun", frozenset({"changed"})),
    "all": ("All sets", frozenset(get_args(Status))),
}


@dataclass(frozen=True)
class QueueQuery:
    """The values of an address, as texts; what is not there is empty."""

    show: str = ""
    q: str = ""  # a text that the sets have
    new: str = ""  # only sets with a new name
    seeded: str = ""  # only sets of a known entity
    after: str = ""  # the list begins behind this place
    set: str = ""  # the set that is open
    at: str = ""  # its place when it was opened (a set moves when it loses a term); alone: the
    # set behind this place is open
    find: str = ""  # a text for sets to merge with the open one

    @classmethod
    def of(cls, given: Mapping[str, str]) -> QueueQuery:
        asked = cls(**{field.name: given.get(field.name, "") for field in fields(cls)})
        return asked if asked.show in SHOWN else replace(asked, show="todo")

    @property
    def wanted(self) -> QueueFilter:
        return QueueFilter(
            status=SHOWN[self.show][1],
            text=self.q.strip(),
            new_names=bool(self.new),
            seeded=bool(self.seeded),
            min_size=1 if self.show == "all" else 2,
        )

    @property
    def is_filtered(self) -> bool:
        """Whether some sets that are to be reviewed are not in the list."""
        return self.show != "todo" or bool(self.q or self.new or self.seeded)

    def opened(self, set_id: str) -> QueueQuery:
        """The same list with another set open."""
        return replace(self, set=set_id, at="", find="")

    def behind(self, place: QueuePosition) -> QueueQuery:
        """The same list, with the set open that comes after a place."""
        return replace(self, set="", at=written_position(place), find="")

    def address(self, **changes: str) -> str:
        """The address of a page that differs in some values; what is usual is left out."""
        then = replace(self, **changes)
        values = {field.name: getattr(then, field.name) for field in fields(then)}
        if values["show"] == "todo":
            del values["show"]
        query = urlencode({name: value for name, value in values.items() if value})
        return f"/?{query}" if query else "/"


def written_position(place: QueuePosition | None) -> str:
    """A place for an address; its probability is not for the eye, which may want to be blind."""
    return "" if place is None else f"{struct.pack('>d', place[0]).hex()}{place[1]}"


def read_position(text: str) -> QueuePosition | None:
    """The place that was written so; anything else is none."""
    try:
        (least,) = struct.unpack(">d", bytes.fromhex(text[:16]))
    except (ValueError, struct.error):
        return None
    return None if math.isnan(least) else (least, text[16:])


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


ROWS = 25  # sets in the list


@dataclass(frozen=True)
class Row:
    """A term of the open set."""

    key: str
    term: MinedTerm
    quotes: tuple[Sentence, ...]  # evidence first
    waiting: bool  # whether examples are still looked up


def render(name: str, **values: Any) -> str:
    """A page from its template; every value in it is escaped."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("synsetmine.review.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": lambda value: f"{value:,}",
        "counted": counted,
        "probability": probability,
        "share": share,
        "description": description,
        "when": when,
        "title": title_of,
        "decided": decided,
        "reviewer": name_of,
    }
    environment.globals |= {
        "actions": ACTIONS,
        "statuses": STATUS,
        "scopes": get_args(Scope),
        "shown": {name: label for name, (label, _) in SHOWN.items()},
    }
    return environment


def work_page(
    session: ReviewSession, asked: QueueQuery, reviewer: Reviewer, *, blind: bool, **values: Any
) -> str:
    """The list of sets and the one that is open, as they are now."""
    listed = session.queue(asked.wanted, after=read_position(asked.after), count=ROWS)
    place = read_position(asked.at)
    found = session.get(asked.set) if asked.set else _behind(session, asked, listed, place)
    if found is None:
        found = next(iter(listed.sets), None)
    if found is not None and (place is None or not asked.set):
        place = found.place
    progress = session.progress
    context = {
        "asked": asked,
        "reviewer": reviewer,
        "blind": blind,
        "progress": progress,
        "total": sum(progress.values()),
        "done": sum(count for status, count in progress.items() if status not in TO_DO),
        "listed": listed,
        "next_page": written_position(listed.after),
        "at": written_position(place),
        "last": session.last_of(str(reviewer)),
        "seen": session.seen,
        "found": found,
        **({} if found is None else _open_set(session, asked, listed, found, place, blind)),
    }
    return render("review.html", **context, **values)


def _open_set(
    session: ReviewSession,
    asked: QueueQuery,
    listed: Page,
    found: ReviewedSet,
    place: QueuePosition | None,
    blind: bool,
) -> dict[str, Any]:
    sentences = session.sentences(found)
    ids = [other.id for other in listed.sets]
    number = ids.index(found.id) if found.id in ids else 0
    following = _behind(session, asked, listed, place)
    history = session.history(found.id)
    return {
        "rows": [
            Row(key, term, term.quotes((sentences or {}).get(term.text, [])), sentences is None)
            for key, term in zip(found.keys, found.mined.terms, strict=True)
        ],
        "previous": ids[number - 1] if number else "",
        "following": "" if following is None else following.id,
        "hidden": blind and found.status in TO_DO,
        "history": [(decision, session.stands(decision)) for decision in history],
        "disputed": _disputed(session, history),
        "nearest": session.nearest(found),
        "matches": session.search(asked.find, found) if asked.find.strip() else [],
    }


def _behind(
    session: ReviewSession, asked: QueueQuery, listed: Page, place: QueuePosition | None
) -> ReviewedSet | None:
    """The first wanted set behind a place; most of the time it is in the list."""
    if place is None:
        return None
    for other in listed.sets:
        if other.place > place:
            return other
    return next(iter(session.queue(asked.wanted, after=place, count=1).sets), None)


def _disputed(session: ReviewSession, history: list[Decision]) -> bool:
    """Whether two people say something else of the whole set, as far as they still stand by it."""
    said = {}
    for decision in reversed(history):
        if decision.kind in ("accept", "reject") and session.stands(decision):
            said[decision.reviewer] = decision.kind
    return len(set(said.values())) > 1
