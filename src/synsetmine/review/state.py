"""The current sets: the mined sets, changed by reviewers' decisions.

A state is the fold of all decisions that stand, first made first, over the mined sets.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import attrgetter
from typing import get_args

from synsetmine.errors import DataError
from synsetmine.io.sets import new_id
from synsetmine.review.changes import Draft, Extent, QueuePosition, ReviewedSet, Status, carry_out
from synsetmine.review.decisions import Decision, Kind, standing_decisions
from synsetmine.runs import MinedSet, Scope, Verdict
from synsetmine.types import Term

TO_DO: frozenset[Status] = frozenset({"open", "changed"})
KEPT = 8  # queues; each holds a reference for each of its sets
_position = attrgetter("position")

Change = Mapping[str, tuple[ReviewedSet | None, ReviewedSet | None]]  # of each set: before, after


@dataclass(frozen=True)
class QueueFilter:
    """Which sets the queue is to show."""

    status: frozenset[Status] = TO_DO
    text: str = ""  # in a term, in the knowledge base's name, or the id
    new_names: bool = False  # only sets with a term that the knowledge base does not know
    seeded: bool = False  # only sets that grew from an entity of the knowledge base
    min_size: int = 2

    def __contains__(self, reviewed: ReviewedSet) -> bool:
        mined = reviewed.mined
        return (
            reviewed.status in self.status
            and len(mined.terms) >= self.min_size
            and (not self.seeded or mined.entity is not None)
            and (not self.new_names or not all(term.known for term in mined.terms))
            and (not self.text or self.text.casefold() in reviewed.text)
        )


@dataclass(frozen=True)
class QueuePage:
    """Some sets of the queue; `after` is where the next page begins, None on the last."""

    sets: tuple[ReviewedSet, ...]
    total: int  # of all sets that pass the filter
    after: QueuePosition | None


class ReviewState:
    """Mined sets under review. A change takes time in proportion to the sets concerned.

    `number` is that of the last decision in here: what `ReviewStore.add` wants to know as `seen`.
    """

    number: int
    _latest: tuple[str, str]  # the sort key of the last decision

    def __init__(self, mined: Sequence[MinedSet], decisions: Iterable[Decision] = ()) -> None:
        self._mined = mined
        self._decisions = {decision.id: decision for decision in decisions}
        self._fold()

    def __len__(self) -> int:
        return len(self._sets)

    def __contains__(self, set_id: object) -> bool:
        return set_id in self._sets

    def __getitem__(self, set_id: str) -> ReviewedSet:
        try:
            return self._sets[set_id]
        except KeyError:
            raise DataError("there is no such set", value=set_id) from None

    def get(self, set_id: str) -> ReviewedSet | None:
        return self._sets.get(set_id)

    def home(self, key: str) -> ReviewedSet | None:
        """The set that holds a term."""
        return self._sets.get(self._homes.get(key, ""))

    @property
    def sets(self) -> list[ReviewedSet]:
        """All sets, least certain first."""
        return sorted(self._sets.values(), key=_position)

    @property
    def progress(self) -> dict[Status, int]:
        """How many sets of two or more terms there are of each status."""
        return {status: self._progress[status] for status in get_args(Status)}

    @property
    def extents(self) -> dict[str, Extent]:
        """How much of each decision that stands holds for these sets, by its id."""
        return dict(self._extents)

    def queue(
        self, selection: QueueFilter, *, after: QueuePosition | None = None, count: int = 50
    ) -> QueuePage:
        """Some of the wanted sets, least certain first, from behind a place on.

        Places last: a page begins where the one before ended, whatever was decided meanwhile.
        The lists that were asked for last are kept, and follow each change.
        """
        queue = self._queues.pop(selection, None)
        if queue is None:
            queue = sorted((one for one in self._sets.values() if one in selection), key=_position)
        self._queues[selection] = queue  # the last one that was used comes last
        if len(self._queues) > KEPT:
            del self._queues[next(iter(self._queues))]
        first = 0 if after is None else bisect_right(queue, after, key=_position)
        shown = tuple(queue[first : first + count])
        more = first + count < len(queue)
        return QueuePage(shown, len(queue), shown[-1].position if shown and more else None)

    def decide(
        self,
        kind: Kind,
        set_id: str,
        *,
        reviewer: str,
        terms: Sequence[str] = (),
        other: str = "",
        verdict: Verdict | None = None,
        scope: Scope | None = None,
        note: str = "",
    ) -> Decision:
        """A decision on a set as it is now, ready for `ReviewStore.add`; nothing changes here.

        To accept without `terms` is to accept all that were not judged incorrect or unsure. The
        id of the new set of a remove or a split is found here; a merge names its `other` set.
        """
        reviewed = self[set_id]
        chosen = tuple(terms)
        others: tuple[str, ...] = ()
        if kind == "accept" and not chosen:
            pairs = zip(reviewed.keys, reviewed.mined.terms, strict=True)
            chosen = tuple(key for key, term in pairs if term.verdict in (None, "correct"))
        if kind in ("remove", "split"):
            other = new_id([Term.parse(text) for text in chosen], self._sets)
        elif kind == "merge":
            others = self[other].keys
        return Decision(
            kind=kind,
            reviewer=reviewer,
            set_id=set_id,
            members=reviewed.keys,
            terms=chosen,
            other=other,
            others=others,
            verdict=verdict,
            scope=scope,
            note=note,
        )

    def apply(self, decision: Decision) -> None:
        """Carry out a decision that the store has taken in."""
        if decision.id in self._decisions:
            return
        self._decisions[decision.id] = decision
        self.number = max(self.number, decision.number)
        if decision.sort_key < self._latest:  # made elsewhere, and taken in late
            self._fold()
        elif decision.kind == "undo":
            self._undo(decision)
        else:
            self._carry_out(decision)
        self._latest = max(self._latest, decision.sort_key)

    def _fold(self) -> None:
        self._sets: dict[str, ReviewedSet] = {}
        self._homes: dict[str, str] = {}
        self._progress: Counter[Status] = Counter()
        self._changes: dict[str, Change] = {}
        self._extents: dict[str, Extent] = {}
        everything = self._decisions.values()
        self._latest = max((d.sort_key for d in everything), default=("", ""))
        self.number = max((d.number for d in everything), default=0)
        for mined in self._mined:
            reviewed = ReviewedSet(mined)
            self._sets[mined.id] = reviewed
            self._homes.update(dict.fromkeys(reviewed.keys, mined.id))
            self._count(reviewed, 1)
        self._queues: dict[QueueFilter, list[ReviewedSet]] = {}  # each in order
        for decision in standing_decisions(everything):
            self._carry_out(decision)

    def _carry_out(self, decision: Decision) -> None:
        draft = Draft(self._sets, self._homes)
        self._extents[decision.id] = carry_out(decision, draft)
        change = {name: (self._sets.get(name), then) for name, then in draft.after.items()}
        self._changes[decision.id] = change
        self._put({name: then for name, (_, then) in change.items()})

    def _undo(self, decision: Decision) -> None:
        self._extents.pop(decision.undoes, None)
        if decision.undoes not in self._changes:
            return
        later = list(takewhile(lambda made: made != decision.undoes, reversed(self._changes)))
        change = self._changes.pop(decision.undoes)
        if any(_concerns(self._decisions[made], change) for made in later):
            self._fold()
        else:
            self._put({name: before for name, (before, _) in change.items()})

    def _put(self, after: Mapping[str, ReviewedSet | None]) -> None:
        """Put sets in the place of those with the same ids."""
        for name, then in after.items():
            before = self._sets.pop(name, None)
            if before is not None:
                self._count(before, -1)
            if then is not None:
                self._sets[name] = then
                self._homes.update(dict.fromkeys(then.keys, name))
                self._count(then, 1)
            for selection, queue in self._queues.items():
                if before is not None and before in selection:
                    del queue[bisect_left(queue, before.position, key=_position)]
                if then is not None and then in selection:
                    insort(queue, then, key=_position)

    def _count(self, reviewed: ReviewedSet, change: int) -> None:
        if len(reviewed.mined.terms) > 1:
            self._progress[reviewed.status] += change


def _concerns(decision: Decision, change: Change) -> bool:
    """Whether a decision may look at one of these sets; it need not have changed it."""
    if decision.set_id in change or decision.other in change:
        return True
    sets = [reviewed for pair in change.values() for reviewed in pair if reviewed is not None]
    keys = {key for reviewed in sets for key in reviewed.keys}
    return not keys.isdisjoint([*decision.members, *decision.terms, *decision.others])
