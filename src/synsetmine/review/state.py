"""The current sets: the mined sets, changed by reviewers' decisions.

A state is the fold of all decisions that stand, first made first, over the mined sets.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from synsetmine.errors import DataError
from synsetmine.io.sets import new_id
from synsetmine.review.changes import (
    Draft,
    Extent,
    QueueOrder,
    QueuePosition,
    ReviewedSet,
    Status,
    carry_out,
)
from synsetmine.review.decisions import Decision, Kind, standing_decisions
from synsetmine.runs import MinedSet, Scope, Verdict
from synsetmine.types import NameKind, Term

TO_DO: frozenset[Status] = frozenset({"open", "changed"})
KEPT = 8  # queues; each holds a reference for each of its sets


@dataclass(frozen=True)
class QueueFilter:
    """Which sets the queue is to show, and in which order."""

    status: frozenset[Status] = TO_DO
    text: str = ""  # in a term, in the knowledge base's name, or the id
    new_names: bool = False  # only sets with a term that is new
    kind: NameKind | None = None  # only sets with a term of this kind
    seeded: bool = False  # only sets that grew from an entity of the knowledge base
    min_size: int = 2
    order: QueueOrder = "least"

    def position(self, reviewed: ReviewedSet) -> QueuePosition:
        return reviewed.position(self.order)

    def __contains__(self, reviewed: ReviewedSet) -> bool:
        mined = reviewed.mined
        return (
            reviewed.status in self.status
            and len(mined.terms) >= self.min_size
            and (not self.seeded or mined.entity is not None)
            and (not self.new_names or any(term.is_new for term in mined.terms))
            and (self.kind is None or any(term.kind == self.kind for term in mined.terms))
            and (not self.text or self.text.casefold() in reviewed.text)
        )


@dataclass(frozen=True)
class QueuePage:
    """Some sets of the queue; `after` is where the next page begins, None on the last."""

    sets: tuple[ReviewedSet, ...]
    total: int  # of all sets that pass the filter
    after: QueuePosition | None


class ReviewState:
    """Mined sets under review. A decision takes time in proportion to the sets concerned, an undo
    in proportion to all.

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

    def decision(self, decision_id: str) -> Decision | None:
        """A decision by its id, whether it stands or not."""
        return self._decisions.get(decision_id)

    def home(self, key: str) -> ReviewedSet | None:
        """The set that holds a term."""
        return self._sets.get(self._homes.get(key, ""))

    @property
    def sets(self) -> list[ReviewedSet]:
        """All sets, least certain first."""
        return sorted(self._sets.values(), key=ReviewedSet.position)

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
        """Some of the wanted sets in the order of the filter, from behind a place on.

        Places last: a page begins where the one before ended, whatever was decided meanwhile.
        The lists that were asked for last are kept, and follow each change.
        """
        queue = self._queues.pop(selection, None)
        if queue is None:
            matching = (one for one in self._sets.values() if one in selection)
            queue = sorted(matching, key=selection.position)
        self._queues[selection] = queue  # the last one that was used comes last
        if len(self._queues) > KEPT:
            del self._queues[next(iter(self._queues))]
        first = 0 if after is None else bisect_right(queue, after, key=selection.position)
        shown = tuple(queue[first : first + count])
        more = first + count < len(queue)
        return QueuePage(
            shown, len(queue), selection.position(shown[-1]) if shown and more else None
        )

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

        To accept without `terms` is to accept all that were not judged incorrect or unsure. To
        reject the set of a known entity is to reject its new names, if it has known ones too. The
        id of the new set of a remove or a split is found here; a merge names its `other` set.
        """
        reviewed = self[set_id]
        chosen = tuple(terms)
        others: tuple[str, ...] = ()
        if kind == "accept" and not chosen:
            pairs = zip(reviewed.keys, reviewed.mined.terms, strict=True)
            chosen = tuple(key for key, term in pairs if term.verdict in (None, "correct"))
        elif kind == "reject" and not chosen:
            chosen = reviewed.rejected_alone
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

    def apply(self, *decisions: Decision) -> None:
        """Carry out decisions that the store has taken in."""
        new = [decision for decision in decisions if decision.id not in self._decisions]
        self._decisions |= {decision.id: decision for decision in new}
        self.number = max([self.number, *(decision.number for decision in new)])
        keys = [self._latest, *(decision.sort_key for decision in new)]
        # An undo, or a decision that was taken in late.
        if any(decision.kind == "undo" for decision in new) or keys != sorted(keys):
            self._fold()
        else:
            for decision in new:
                self._carry_out(decision)
            self._latest = keys[-1]

    def _fold(self) -> None:
        self._sets: dict[str, ReviewedSet] = {}
        self._homes: dict[str, str] = {}
        self._progress: Counter[Status] = Counter()
        self._numbers: Counter[str] = Counter()
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
        draft = Draft(self._sets, self._homes, self._numbers)
        self._extents[decision.id] = carry_out(decision, draft)
        self._put(draft.after)

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
                    place = selection.position(before)
                    del queue[bisect_left(queue, place, key=selection.position)]
                if then is not None and then in selection:
                    insort(queue, then, key=selection.position)

    def _count(self, reviewed: ReviewedSet, change: int) -> None:
        if len(reviewed.mined.terms) > 1:
            self._progress[reviewed.status] += change
