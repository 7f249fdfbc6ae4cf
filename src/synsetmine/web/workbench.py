"""The sets of a run on a reviewer's table: what was decided, what is next, what is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, get_args

from synsetmine.errors import DataError, SynsetmineError
from synsetmine.results import Sentence, read_results
from synsetmine.review import (
    Conflict,
    Decision,
    Kind,
    Page,
    Place,
    ReviewedSet,
    ReviewState,
    ReviewStore,
    Status,
    Wanted,
)
from synsetmine.runfolder import Artefacts
from synsetmine.web.listing import Listings
from synsetmine.web.neighbours import Neighbours
from synsetmine.web.sentences import SentenceShelf

NEAREST = 6
FOUND = 12  # sets that a search for one to merge shows
ANY: frozenset[Status] = frozenset(get_args(Status))


class NotShownError(SynsetmineError):
    """A decision was made on a page that showed something else than there is now."""


class Workbench:
    """A run under review. One thread at a time; other processes may write to the same store."""

    def __init__(self, run: Path) -> None:
        at = Artefacts(run)
        mined = read_results(run)
        self._store = ReviewStore(at.reviews)
        made = self._store.decisions()
        self._state = ReviewState(mined, made)
        self._listings = Listings(self._state)
        self._made_on: dict[str, list[Decision]] = {}  # by the sets that they touch
        self._made_by: dict[str, dict[str, Decision]] = {}  # by reviewer and id; those that stand
        self._homes: dict[str, str] = {}  # the set of each term, as far as we were told
        for found in self._state.sets:
            self._homes.update(dict.fromkeys(found.keys, found.id))
        for decision in made:
            self._note(decision)
        surfaces = [term.text for found in mined if len(found.terms) > 1 for term in found.terms]
        self._sentences = SentenceShelf(run, surfaces)
        self._neighbours = Neighbours(list(self._homes), at.vectors)

    def open(self) -> None:
        """Make the first list; begin the search for sentences and near terms beside the page."""
        self.queue(Wanted(), count=0)
        self._neighbours.start()
        self._sentences.start()

    def close(self) -> None:
        self._sentences.close()
        self._store.close()

    # --- What there is ---

    def sync(self, own: Decision | None = None) -> None:
        """Take in what was stored since: our own, and what another process decided meanwhile."""
        self._store.check_in_place()
        for decision in self._store.decisions(since=self._state.number):
            self._take_in(decision)
            if decision != own:  # it may touch any sets
                self._listings.clear()

    @property
    def seen(self) -> int:
        """The number of the last decision; whoever decides next tells what they had seen."""
        return int(self._state.number)

    @property
    def progress(self) -> dict[Status, int]:
        """How many sets of two or more terms are of which status."""
        return self._state.progress

    def queue(self, wanted: Wanted, *, after: Place | None = None, count: int) -> Page:
        return self._listings.page(wanted, after=after, count=count)

    def get(self, set_id: str) -> ReviewedSet | None:
        return self._state[set_id] if set_id in self._state else None  # noqa: SIM401

    def history(self, set_id: str) -> list[Decision]:
        """What was decided on a set, last first."""
        return self._made_on.get(set_id, [])[::-1]

    def stands(self, decision: Decision) -> bool:
        """Whether it was not taken back."""
        return decision.id in self._made_by.get(decision.reviewer, {})

    def last_of(self, reviewer: str) -> Decision | None:
        """What the next undo of a reviewer takes back."""
        return next(reversed(self._made_by.get(reviewer, {}).values()), None)

    def sentences(self, found: ReviewedSet) -> dict[str, list[Sentence]] | None:
        """Where the terms of a set occur, by their texts; None while that is looked up."""
        return self._sentences.get([term.text for term in found.mined.terms])

    def nearest(self, found: ReviewedSet) -> list[ReviewedSet]:
        """Other sets that share words with this one, or occur in alike places."""
        homes = (self._homes.get(key, "") for key in self._neighbours.near(found.keys))
        near = dict.fromkeys(home for home in homes if home in self._state and home != found.id)
        return [self._state[home] for home in list(near)[:NEAREST]]

    def search(self, text: str, found: ReviewedSet) -> list[ReviewedSet]:
        """Other sets that have a text in them, of any size and status."""
        page = self.queue(Wanted(status=ANY, text=text, min_size=1), count=FOUND + 1)
        return [other for other in page.sets if other.id != found.id][:FOUND]

    # --- What is decided ---

    def decide(
        self,
        kind: Kind,
        set_id: str,
        *,
        seen: int,
        shown: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Decision:
        """Record a decision and carry it out; `Conflict` if somebody else was faster.

        `shown` has the digests of the sets as the reviewer's page showed them, by id. If one of
        them is different now, that is a `NotShownError` and nothing is recorded.
        """
        same = shown is None or (seen <= self.seen and self._digests(shown) == shown)
        try:
            decision = self._state.decide(kind, set_id, **more)
        except DataError:
            if not same and shown and all(shown.values()):
                self._refuse_stale(shown, seen)
            raise
        if not same:
            self._refuse_stale(shown or {}, seen)
        made = self._store.add(decision, seen=seen)
        self.sync(made)
        return made

    def _digests(self, sets: Iterable[str]) -> dict[str, str]:
        return {name: self._state[name].digest for name in sets if name in self._state}

    def _refuse_stale(self, shown: Iterable[str], seen: int) -> NoReturn:
        """Say why a page is out of date: somebody's decision, or else another run."""
        later = {d.number: d for name in shown for d in self.history(name) if d.number > seen}
        if later and seen <= self.seen:
            raise Conflict([later[number] for number in sorted(later)])
        raise NotShownError(
            "The set on your page is not the one that this server has: the run was mined anew, "
            "or the server was started for another run."
        )

    def undo(
        self, reviewer: str, target: str | None = None, *, shown: str | None = None
    ) -> Decision:
        """Take back a decision, by its id, or one's own last.

        `shown` is the id of the last decision on the reviewer's page; None: any.
        """
        last = self.last_of(reviewer)
        if target is None and shown is not None and shown != (last.id if last else ""):
            raise NotShownError(
                "Your last decision is not the one on your page: you decided on another page, or "
                "the server was started for another run."
            )
        made = self._store.undo(reviewer, target)
        self.sync(made)
        return made

    def _take_in(self, decision: Decision) -> None:
        before = self._there(decision)
        self._state.apply(decision)
        after = self._there(decision)
        self._listings.change(before, after)
        for found in after:
            self._homes.update(dict.fromkeys(found.keys, found.id))
        self._note(decision)

    def _there(self, decision: Decision) -> list[ReviewedSet]:
        names = dict.fromkeys(decision.sets)
        return [self._state[name] for name in names if name in self._state]

    def _note(self, decision: Decision) -> None:
        for set_id in decision.sets:
            self._made_on.setdefault(set_id, []).append(decision)
        if decision.kind != "undo":
            self._made_by.setdefault(decision.reviewer, {})[decision.id] = decision
            return
        for theirs in self._made_by.values():
            theirs.pop(decision.undoes, None)
