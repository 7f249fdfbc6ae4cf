"""The lists that people look at, kept from page to page.

To filter a hundred thousand sets takes longer than a page should. So a list is made once, and a
decision changes only the sets that it touches.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from synsetmine.review import Page, Place, ReviewedSet, ReviewState, Wanted, page_of

KEPT = 8  # lists; each holds a reference for each of its sets


class Listings:
    """The wanted sets of a state in their order, for the last few that somebody wanted."""

    def __init__(self, state: ReviewState) -> None:
        self._state = state
        self._lists: dict[Wanted, list[ReviewedSet]] = {}

    def page(self, wanted: Wanted, *, after: Place | None, count: int) -> Page:
        """What `ReviewState.queue` gives."""
        found = self._lists.pop(wanted, None)
        if found is None:
            found = list(self._state.queue(wanted, count=len(self._state)).sets)
        self._lists[wanted] = found  # the last one that was used stands last
        if len(self._lists) > KEPT:
            del self._lists[next(iter(self._lists))]
        return page_of(found, after, count)

    def change(self, before: Iterable[ReviewedSet], after: Iterable[ReviewedSet]) -> None:
        """Some sets went, others came, or the same ones are different now."""
        gone, come = list(before), list(after)
        for wanted, found in self._lists.items():
            for old in gone:
                place = bisect_left(found, old.place, key=_place)
                if place < len(found) and found[place].id == old.id:
                    del found[place]
            for new in come:
                if new in wanted:
                    found.insert(bisect_left(found, new.place, key=_place), new)

    def clear(self) -> None:
        self._lists.clear()


def _place(found: ReviewedSet) -> Place:
    return found.place
