"""The contents of the review page, and its wording."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from typing import Any, cast, get_args
from urllib.parse import quote, unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from synsetmine.corpus.citations import document_page
from synsetmine.errors import DataError, quantity
from synsetmine.kb import page_of
from synsetmine.normalization import normal_form
from synsetmine.review import (
    TO_DO,
    Decision,
    QueueFilter,
    QueueOrder,
    QueuePage,
    QueuePosition,
    ReviewedSet,
    Status,
)
from synsetmine.review.web.session import TOGETHER, ReviewSession
from synsetmine.runs import MinedSet, MinedTerm, Scope, Sentence
from synsetmine.runs.results import ACTIONS, description, probability, share
from synsetmine.text.patterns import OPPOSING, Relation
from synsetmine.types import NameKind, Term

SHOWN: Mapping[str, tuple[str, frozenset[Status]]] = {
    "todo": ("To review", TO_DO),
    "accepted": ("Accepted", frozenset({"accepted"})),
    "rejected": ("Rejected", frozenset({"rejected"})),
    "unsure": ("Unsure", frozenset({"unsure"})),
    "changed": ("Begun", frozenset({"changed"})),
    "all": ("All sets", frozenset(get_args(Status))),
}
ORDERS: Mapping[str, str] = {
    "least": "Least certain first",
    "most": "Most certain first",
    "frequent": "Most frequent first",
    "useful": "Most useful to learn from first",
}
KINDS: Mapping[str, str] = {
    "spelling": "Spellings",
    "inflection": "Inflections",
    "word-order": "Other word orders",
    "abbreviation": "Abbreviations, long forms",
    "other-words": "Other words",
}


@dataclass(frozen=True)
class QueueQuery:
    """The parameters of an address, as texts; a missing one is empty."""

    show: str = ""
    q: str = ""  # a text that the sets have
    kind: str = ""  # only sets with a name of this kind
    sort: str = ""
    known: str = ""  # also sets without anything new
    seeded: str = ""  # only sets of a known entity
    after: str = ""  # the list begins behind this position
    set: str = ""  # the set that is open
    at: str = ""  # its position when it was opened (a set moves when it loses a term); alone: the
    # set behind this position is open
    terms: str = ""  # the page of its terms, if not the first
    find: str = ""  # a text for sets to merge with the open one
    made: str = ""  # the decision that brought the page here, which its message names

    @classmethod
    def of(cls, values: Mapping[str, str]) -> QueueQuery:
        query = cls(**{field.name: values.get(field.name, "") for field in fields(cls)})
        return replace(
            query,
            show=query.show if query.show in SHOWN else "todo",
            kind=query.kind if query.kind in KINDS else "",
            sort=query.sort if query.sort in ORDERS else "least",
        )

    @property
    def selection(self) -> QueueFilter:
        return QueueFilter(
            status=SHOWN[self.show][1],
            text=self.q.strip(),
            new_names=self.show == "todo" and not self.known,
            kind=cast("NameKind | None", self.kind or None),
            seeded=bool(self.seeded),
            min_size=1 if self.show == "all" else 2,
            order=cast("QueueOrder", self.sort),
        )

    @property
    def is_filtered(self) -> bool:
        """Whether some sets that are to be reviewed are not in the list."""
        return self.show != "todo" or bool(self.q or self.kind or self.seeded)

    def open_set(self, set_id: str) -> QueueQuery:
        """The same list with another set open."""
        return replace(self, set=set_id, at="", terms="", find="", made="")

    def show_decision(self, made: Decision) -> QueueQuery:
        """The same list with the set of a decision open, and a message on it."""
        return replace(self.open_set(made.set_id), made=made.id)

    def behind(self, position: QueuePosition) -> QueueQuery:
        """The same list, with the set open that comes after a position."""
        return replace(self, set="", at=format_position(position), terms="", find="", made="")

    def address(self, **changes: str) -> str:
        """The address of a page that differs in some values; defaults are left out."""
        then = replace(self, **changes)
        values = {field.name: getattr(then, field.name) for field in fields(then)}
        default = {"show": "todo", "sort": "least"}
        query = urlencode({k: v for k, v in values.items() if v and v != default.get(k)})
        return f"/?{query}" if query else "/"


def format_position(position: QueuePosition | None) -> str:
    """A position as a text for an address, which hides the probability from blind reviewers."""
    return "" if position is None else f"{struct.pack('>d', position[0]).hex()}{position[1]}"


def read_position(text: str) -> QueuePosition | None:
    """The inverse of `format_position`; None for any other text."""
    try:
        (least,) = struct.unpack(">d", bytes.fromhex(text[:16]))
    except (ValueError, struct.error):
        return None
    return None if math.isnan(least) else (least, text[16:])


LONGEST_NAME = 100
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
_BEFORE = re.compile(r"\A(https?://orcid\.org/|orcid:)", re.I)
_WRITTEN = re.compile(r"(?P<name>.*?)(?: \(orcid:(?P<orcid>[\dX-]{19})\))?", re.S)


@dataclass(frozen=True)
class Reviewer:
    """A person; decisions name them as `str()` does."""

    name: str
    orcid: str = ""

    @classmethod
    def of(cls, name: str, orcid: str = "") -> Reviewer:
        """A reviewer from what a person typed; a wrong name or ORCID is an error."""
        clean = " ".join(name.split())
        if not clean or len(clean) > LONGEST_NAME or not clean.isprintable():
            raise DataError(f"a name has 1 to {LONGEST_NAME} characters", value=name)
        number = _BEFORE.sub("", orcid.strip()).upper()
        if orcid.strip() and not (_ORCID.fullmatch(number) and _is_checked(number)):
            raise DataError("expected an ORCID such as 0000-0002-1825-0097", value=orcid)
        return cls(clean, number)

    @classmethod
    def from_cookie(cls, value: str) -> Reviewer | None:
        match = _WRITTEN.fullmatch(unquote(value))
        try:
            return None if match is None else cls.of(match["name"], match["orcid"] or "")
        except DataError:
            return None

    @property
    def cookie(self) -> str:
        return quote(str(self), safe="")

    def __str__(self) -> str:
        return f"{self.name} (orcid:{self.orcid})" if self.orcid else self.name


def _is_checked(orcid: str) -> bool:
    """Whether the check digit is right (ISO 7064, mod 11-2)."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == orcid[-1]


STATUS = {
    "open": "not reviewed",
    "changed": "begun",
    "accepted": "accepted",
    "rejected": "rejected",
    "unsure": "unsure",
}
# What a sentence says of two names.
EVIDENCE: Mapping[Relation, str] = {
    "abbreviation": "abbreviation",
    "alias": "alias (“also called”)",
    "parenthesis": "one in brackets after the other",
    "slash": "slash between them",
    "conjunction": "“and” between them",
    "list": "side by side in a list",
    "such as": "one is an example of the other",
    "versus": "compared with each other",
}
SHOWN_TERMS = 3
# What the page calls a scope and a verdict.
SCOPES: Mapping[Scope, str] = {
    "exact": "exact",
    "broad": "broader",
    "narrow": "narrower",
    "related": "related",
}
VERDICTS: Mapping[str, str] = {
    "correct": "correct",
    "incorrect": "incorrect",
    "not-a-name": "not a name",
    "unsure": "unsure",
}


def title_of(mined: MinedSet) -> str:
    """What to call a set: what a reviewer chose, its entity's name, or its first term."""
    return mined.preferred or mined.name or mined.terms[0].text


def name_of(reviewer: str) -> str:
    """A reviewer without the ORCID that may follow the name."""
    return reviewer.partition(" (orcid:")[0]


def describe_decision(decision: Decision, what: str = "it") -> str:
    """A decision in a few words, such as `called “chf” incorrect`."""
    if decision.kind == "undo":
        return "undid a decision"
    terms = _list_terms(decision.terms)
    verdict = VERDICTS.get(decision.verdict or "", "")
    if decision.verdict in ("correct", "incorrect") and decision.scope not in (None, "exact"):
        verdict += f", {SCOPES[decision.scope]}"
    together = decision.note.startswith(TOGETHER)
    return {
        "accept": f"accepted {what}{', ' if together else ''}"
        f"{decision.note.rpartition(' (')[0] if together else ''}",
        "reject": f"rejected {what}",
        "unsure": f"was unsure of {what}",
        "judge": f"called {terms} {verdict}",
        "remove": f"took out {terms}",
        "split": f"split off {terms}",
        "merge": f"merged {what} with {_list_terms(decision.others)}",
        "rename": f"named {what} {terms}",
    }[decision.kind]


def message_on(session: ReviewSession, made: Decision) -> str:
    """What the page says of the decision that was just made, such as `Accepted heart attack.`"""
    if made.kind == "undo":
        undone = session.state.decision(made.undoes)
        if undone is None:
            return "Undone."
        left = len(session.made_with(undone)) if undone.note.startswith(TOGETHER) else 0
        rest = f", except {left} decided on since" if left else ""
        return f"Undone: {_describe_act(session, undone)}{rest}."
    text = _describe_act(session, made).removeprefix("was ")
    return f"{text[0].upper()}{text[1:]}."


def _describe_act(session: ReviewSession, made: Decision) -> str:
    if made.note.startswith(TOGETHER):
        return f"accepted {made.note.removeprefix(TOGETHER).rpartition(' (')[0]}"
    reviewed = session.state.get(made.set_id) or session.state.home(made.members[0])
    return describe_decision(made, title_of(reviewed.mined) if reviewed else made.set_id)


def _list_terms(texts: tuple[str, ...]) -> str:
    named = ", ".join(f"“{Term.parse(text).surface}”" for text in texts[:SHOWN_TERMS])
    more = len(texts) - SHOWN_TERMS
    return f"{named} and {more} more" if more > 0 else named


def when(text: str) -> str:
    """An ISO time as people write it."""
    time = datetime.fromisoformat(text)
    return f"{time.day} {time:%b %Y, %H:%M} {time.tzname() or ''}".strip()


ROWS = 25  # sets in the list
TERMS = 200  # of the open set on one page
ACTS_SHOWN = 50  # decisions in its history, the last ones


@dataclass(frozen=True)
class TermRow:
    """A term of the open set."""

    key: str
    term: MinedTerm
    quotes: tuple[Sentence, ...]  # evidence first


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
        "quantity": quantity,
        "document_page": document_page,
        "probability": probability,
        "share": share,
        "description": description,
        "when": when,
        "title": title_of,
        "decided": describe_decision,
        "reviewer": name_of,
    }
    environment.globals |= {
        "actions": ACTIONS,
        "statuses": STATUS,
        "scopes": SCOPES,
        "orders": ORDERS,
        "kinds": KINDS,
        "verdicts": VERDICTS,
        "evidence": EVIDENCE,
        "opposing": OPPOSING,
        "document_prefix": "",  # the review page has its own
        "shown": {name: label for name, (label, _) in SHOWN.items()},
    }
    return environment


def work_page(
    session: ReviewSession, query: QueueQuery, reviewer: Reviewer, *, blind: bool, **values: Any
) -> str:
    """The list of sets and the one that is open, as they are now."""
    listed = session.state.queue(query.selection, after=read_position(query.after), count=ROWS)
    position = read_position(query.at)
    reviewed = (
        session.state.get(query.set) if query.set else _behind(session, query, listed, position)
    )
    if reviewed is None:
        reviewed = next(iter(listed.sets), None)
    if reviewed is not None and (position is None or not query.set):
        position = reviewed.position(query.selection.order)
    to_do = session.state.queue(QueueFilter(new_names=True), count=0).total
    undoable = session.undoable(str(reviewer), reviewed.id if reviewed else "", query.made)
    made = session.state.decision(query.made)
    progress = session.state.progress
    done = sum(count for status, count in progress.items() if status not in TO_DO)
    context = {
        "query": query,
        "reviewer": reviewer,
        "blind": blind,
        "progress": progress,
        "total": done + to_do,
        "done": done,
        "listed": listed,
        "next_page": format_position(listed.after),
        "at": format_position(position),
        "undoable": undoable,
        "last": session.last_of(str(reviewer)),
        "message": message_on(session, made)
        if made and session.is_shown(made, str(reviewer))
        else "",
        "seen": session.state.number,
        "reviewed": reviewed,
        **(
            {} if reviewed is None else _open_set(session, query, listed, reviewed, position, blind)
        ),
    }
    return render("review.html", **context, **values)


def _open_set(
    session: ReviewSession,
    query: QueueQuery,
    listed: QueuePage,
    reviewed: ReviewedSet,
    position: QueuePosition | None,
    blind: bool,
) -> dict[str, Any]:
    pairs = zip(reviewed.keys, reviewed.mined.terms, strict=True)
    ordered = sorted(pairs, key=lambda pair: not pair[1].is_new)
    pages = -(-len(ordered) // TERMS)
    page = min(int(query.terms), pages) if re.fullmatch(r"[1-9]\d{0,8}", query.terms, re.A) else 1
    shown = ordered[(page - 1) * TERMS : page * TERMS]
    sentences = session.sentences(term.text for _, term in shown)
    ids = [other.id for other in listed.sets]
    number = ids.index(reviewed.id) if reviewed.id in ids else 0
    following = _behind(session, query, listed, position)
    history = session.history(reviewed.id)
    return {
        "rows": [
            TermRow(key, term, term.quotes(sentences.get(normal_form(term.text), ())))
            for key, term in shown
        ],
        "terms_page": page,
        "terms_pages": pages,
        "document_prefix": session.document_prefix,
        "definition": session.definition(reviewed),
        "page": page_of(reviewed.mined.entity or ""),
        "previous": ids[number - 1] if number else "",
        "following": "" if following is None else following.id,
        "hidden": blind and reviewed.status in TO_DO,
        "history": [(decision, session.stands(decision)) for decision in history[:ACTS_SHOWN]],
        "older": max(len(history) - ACTS_SHOWN, 0),
        "disputed": _is_disputed(session, history),
        "nearest": session.nearest(reviewed),
        "matches": session.search(query.find, reviewed) if query.find.strip() else [],
    }


def _behind(
    session: ReviewSession, query: QueueQuery, listed: QueuePage, position: QueuePosition | None
) -> ReviewedSet | None:
    """The first wanted set behind a position; most of the time it is in the list."""
    if position is None:
        return None
    for other in listed.sets:
        if query.selection.position(other) > position:
            return other
    return next(iter(session.state.queue(query.selection, after=position, count=1).sets), None)


def _is_disputed(session: ReviewSession, history: list[Decision]) -> bool:
    """Whether standing decisions of two people accept and reject the whole set."""
    verdicts = {}
    for decision in reversed(history):
        if decision.kind in ("accept", "reject") and session.stands(decision):
            verdicts[decision.reviewer] = decision.kind
    return len(set(verdicts.values())) > 1
