"""The pages as HTML, and what stands on the page of the reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined

from synsetmine.results import MinedTerm, Scope, Sentence
from synsetmine.results.wording import ACTIONS, counted, description, probability, share
from synsetmine.review import TO_DO, Decision, Page, Place, ReviewedSet
from synsetmine.reviewers import Reviewer
from synsetmine.web import wording
from synsetmine.web.asked import SHOWN, Asked, read_place, written_place
from synsetmine.web.workbench import Workbench

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
        loader=PackageLoader("synsetmine.web"),
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
        "when": wording.when,
        "title": wording.title_of,
        "decided": wording.decided,
        "reviewer": wording.name_of,
    }
    environment.globals |= {
        "actions": ACTIONS,
        "statuses": wording.STATUS,
        "scopes": get_args(Scope),
        "shown": {name: label for name, (label, _) in SHOWN.items()},
    }
    return environment


def work_page(
    bench: Workbench, asked: Asked, reviewer: Reviewer, *, blind: bool, **values: Any
) -> str:
    """The list of sets and the one that is open, as they are now."""
    listed = bench.queue(asked.wanted, after=read_place(asked.after), count=ROWS)
    place = read_place(asked.at)
    found = bench.get(asked.set) if asked.set else _behind(bench, asked, listed, place)
    if found is None:
        found = next(iter(listed.sets), None)
    if found is not None and (place is None or not asked.set):
        place = found.place
    progress = bench.progress
    context = {
        "asked": asked,
        "reviewer": reviewer,
        "blind": blind,
        "progress": progress,
        "total": sum(progress.values()),
        "done": sum(count for status, count in progress.items() if status not in TO_DO),
        "listed": listed,
        "next_page": written_place(listed.after),
        "at": written_place(place),
        "last": bench.last_of(str(reviewer)),
        "seen": bench.seen,
        "found": found,
        **({} if found is None else _open_set(bench, asked, listed, found, place, blind)),
    }
    return render("review.html", **context, **values)


def _open_set(
    bench: Workbench,
    asked: Asked,
    listed: Page,
    found: ReviewedSet,
    place: Place | None,
    blind: bool,
) -> dict[str, Any]:
    sentences = bench.sentences(found)
    ids = [other.id for other in listed.sets]
    number = ids.index(found.id) if found.id in ids else 0
    following = _behind(bench, asked, listed, place)
    history = bench.history(found.id)
    return {
        "rows": [
            Row(key, term, term.quotes((sentences or {}).get(term.text, [])), sentences is None)
            for key, term in zip(found.keys, found.mined.terms, strict=True)
        ],
        "previous": ids[number - 1] if number else "",
        "following": "" if following is None else following.id,
        "hidden": blind and found.status in TO_DO,
        "history": [(decision, bench.stands(decision)) for decision in history],
        "disputed": _disputed(bench, history),
        "nearest": bench.nearest(found),
        "matches": bench.search(asked.find, found) if asked.find.strip() else [],
    }


def _behind(
    bench: Workbench, asked: Asked, listed: Page, place: Place | None
) -> ReviewedSet | None:
    """The first wanted set behind a place; most of the time it is in the list."""
    if place is None:
        return None
    for other in listed.sets:
        if other.place > place:
            return other
    return next(iter(bench.queue(asked.wanted, after=place, count=1).sets), None)


def _disputed(bench: Workbench, history: list[Decision]) -> bool:
    """Whether two people say something else of the whole set, as far as they still stand by it."""
    said = {}
    for decision in reversed(history):
        if decision.kind in ("accept", "reject") and bench.stands(decision):
            said[decision.reviewer] = decision.kind
    return len(set(said.values())) > 1
