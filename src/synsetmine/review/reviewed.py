"""A set with what people said of it, and which ones are wanted."""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from synsetmine.results import MinedSet, MinedTerm
from synsetmine.types import SENSE_MARK

# changed: somebody judged, removed, split or merged, but has not accepted it as a whole
Status = Literal["open", "changed", "accepted", "rejected", "unsure"]
TO_DO: frozenset[Status] = frozenset({"open", "changed"})

Place = tuple[float, str]  # in the queue: the lowest probability, the id


@dataclass(frozen=True)
class ReviewedSet:
    """A set as it is now: its terms with their judgements, and how far its review is."""

    mined: MinedSet
    status: Status = "open"

    @property
    def id(self) -> str:
        return self.mined.id

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Its terms as decisions write them."""
        return tuple(map(key_of, self.mined.terms))

    @cached_property
    def digest(self) -> str:
        """A hash of what a reviewer sees of it: its terms, what was said of them, and its name."""
        judged = [
            t.judgement and (t.judgement.verdict, t.judgement.scope) for t in self.mined.terms
        ]
        proposed = [term.relation for term in self.mined.terms]
        content = [self.id, self.mined.preferred, *zip(self.keys, judged, proposed, strict=True)]
        text = json.dumps(content)  # ASCII, so that a half of a surrogate pair does no harm
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @cached_property
    def text(self) -> str:
        """What a search looks through."""
        texts = (self.mined.id, self.mined.name, *(term.text for term in self.mined.terms))
        return "\n".join(texts).casefold()

    @cached_property
    def place(self) -> Place:
        least = self.mined.least
        return math.inf if least is None else least, self.mined.id


@dataclass(frozen=True)
class Wanted:
    """Which sets the queue is to show."""

    status: frozenset[Status] = TO_DO
    text: str = ""  # in a term, in the knowledge base's name, or the id
    new_names: bool = False  # only sets with a term that the knowledge base does not know
    seeded: bool = False  # only sets that grew from an entity of the knowledge base
    min_size: int = 2
    max_size: int | None = None

    def __contains__(self, found: ReviewedSet) -> bool:
        mined = found.mined
        size = len(mined.terms)
        return (
            found.status in self.status
            and size >= self.min_size
            and (self.max_size is None or size <= self.max_size)
            and (not self.seeded or mined.entity is not None)
            and (not self.new_names or not all(term.known for term in mined.terms))
            and (not self.text or self._sought in found.text)
        )

    @cached_property
    def _sought(self) -> str:
        return self.text.casefold()


@dataclass(frozen=True)
class Page:
    """Some sets of the queue; `after` is where the next page begins, None on the last."""

    sets: tuple[ReviewedSet, ...]
    total: int  # of all that are wanted
    after: Place | None


def page_of(found: Sequence[ReviewedSet], after: Place | None, count: int) -> Page:
    """Some sets of a list that is in the order of their places, from behind a place on."""
    first = 0 if after is None else bisect_right(found, after, key=lambda one: one.place)
    shown = tuple(found[first : first + count])
    more = first + count < len(found)
    return Page(shown, len(found), shown[-1].place if shown and more else None)


def key_of(term: MinedTerm) -> str:
    """The term as decisions write it."""
    if not term.sense and SENSE_MARK not in term.text:  # as most are, and there may be millions
        return term.text
    return str(term.term)
