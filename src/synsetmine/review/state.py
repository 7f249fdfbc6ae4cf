"""The current sets: the mined sets, changed by reviewers' decisions.

A state is the fold of all decisions that stand, first made first, over the mined sets.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

from synsetmine.errors import DataError
from synsetmine.io.sets import new_id
from synsetmine.review.decisions import Decision, Kind, standing_decisions
from synsetmine.runs import Judgement, MinedSet, MinedTerm, Scope, Verdict
from synsetmine.types import SENSE_MARK, NameKind, Term

# changed: somebody judged, removed, split or merged, but has not accepted it as a whole
Status = Literal["open", "changed", "accepted", "rejected", "unsure"]

QueueOrder = Literal["least", "most", "frequent", "useful"]
QueuePosition = tuple[float, str]  # in the queue: the value of its order, the id


def _certainty(mined: MinedSet) -> float:
    """The lowest probability of a term; sets without any come last in every order."""
    return math.inf if mined.least is None else mined.least


def _frequency(mined: MinedSet) -> float:
    """Occurrences of the new terms; those of known names say nothing about the find."""
    return sum(term.count for term in mined.terms if term.is_new)


def _usefulness(mined: MinedSet) -> float:
    """What a judgement of the most useful term teaches: p (1 - p) log(1 + occurrences).

    A term teaches most where the model knows least, at p = 1/2, and where it is frequent.
    """
    joined = ((term.probability, term.count) for term in mined.terms)
    return max(
        (p * (1 - p) * math.log1p(n) for p, n in joined if p is not None and math.isfinite(p)),
        default=-math.inf,
    )


_VALUES: Mapping[QueueOrder, Callable[[MinedSet], float]] = {
    "least": _certainty,
    "most": lambda mined: abs(_certainty(mined) - 1),
    "frequent": lambda mined: -_frequency(mined),
    "useful": lambda mined: -_usefulness(mined),
}


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

    @property
    def is_void(self) -> bool:
        """Whether it was rejected as a whole: none of its terms are synonyms of each other."""
        return self.status == "rejected" and not any(term.is_wrong for term in self.mined.terms)

    @property
    def rejected_alone(self) -> tuple[str, ...]:
        """The new names of a known entity, which to reject leaves the known ones; else none."""
        pairs = zip(self.keys, self.mined.terms, strict=True)
        new = tuple(key for key, term in pairs if term.is_new)
        return new if self.mined.entity is not None and len(new) < len(self.keys) else ()

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

    def position(self, order: QueueOrder = "least") -> QueuePosition:
        return _VALUES[order](self.mined), self.mined.id


def key_of(term: MinedTerm) -> str:
    """The term as decisions write it."""
    if not term.sense and SENSE_MARK not in term.text:  # as most are, and there may be millions
        return term.text
    return str(term.term)


# How much of a decision holds for the sets that there are: all it says, something, nothing.
Extent = Literal["whole", "part", "none"]


@dataclass
class Draft:
    """A partition of terms and what is to change in it; a set that goes is None."""

    sets: Mapping[str, ReviewedSet]
    homes: Mapping[str, str]  # the id of each term's set
    numbers: Counter[str] = field(default_factory=Counter)  # the last that an id got behind it
    after: dict[str, ReviewedSet | None] = field(default_factory=dict)

    def get(self, set_id: str) -> ReviewedSet | None:
        return self.after[set_id] if set_id in self.after else self.sets.get(set_id)

    def owners(self, keys: Iterable[str]) -> Counter[str]:
        """The ids of the sets that hold these terms now, and how many each."""
        return Counter(self.homes[key] for key in keys if key in self.homes)

    def find(self, set_id: str, members: tuple[str, ...]) -> ReviewedSet | None:
        """The set that a decision means: the one that holds most of the members."""
        held = self.owners(members)
        best = max(held, key=lambda name: (held[name], name == set_id, name), default=None)
        return None if best is None else self.get(best)

    def put(self, changed: ReviewedSet) -> None:
        self.after[changed.id] = changed if changed.mined.terms else None


def carry_out(decision: Decision, draft: Draft) -> Extent:
    """Write into the draft what a decision changes; how much of it holds here."""
    done, whole = _KINDS[decision.kind](decision, draft)
    return "whole" if done == whole else "part" if done else "none"


def _accept(decision: Decision, draft: Draft) -> tuple[int, int]:
    target = draft.find(decision.set_id, decision.members)
    if target is None:
        return 0, len(decision.terms)
    gathered = _gather(draft, target, decision.terms)
    right = set(decision.terms)

    def accept(key: str, term: MinedTerm) -> MinedTerm:
        if key not in right or term.verdict == "correct":
            return term
        scope = decision.scope or term.relation or "exact"
        return replace(
            term, judgement=Judgement("correct", scope, decision.reviewer, decision.when)
        )

    terms = map(accept, gathered.keys, gathered.mined.terms)
    seen_all = set(gathered.keys) <= set(decision.members)
    draft.put(_with(gathered, terms, "accepted" if seen_all else "changed"))
    return len(right & set(gathered.keys)), len(decision.terms)


def _reject(decision: Decision, draft: Draft) -> tuple[int, int]:
    if decision.terms:  # the known names stay together
        return _judge(decision, draft)
    members = set(decision.members)
    held = draft.owners(decision.members)
    mixed = 0
    for set_id, count in held.items():
        home = draft.sets[set_id]
        if set(home.keys) <= members and (count > 1 or len(members) == 1):
            unjudged = (replace(term, judgement=None) for term in home.mined.terms)
            draft.put(_with(home, unjudged, "rejected"))
        elif count > 1:
            mixed += count
    matching = held.total() - mixed
    return matching if matching > 1 or len(members) == 1 else 0, len(members)


def _unsure(decision: Decision, draft: Draft) -> tuple[int, int]:
    target = draft.find(decision.set_id, decision.members)
    if target is None or not set(target.keys) <= set(decision.members):
        return 0, len(decision.members)
    draft.put(replace(target, status="unsure"))
    return len(target.keys), len(decision.members)


def _judge(decision: Decision, draft: Draft) -> tuple[int, int]:
    rejects = decision.kind == "reject"
    verdict = "incorrect" if rejects else decision.verdict or "unsure"
    judgement = Judgement(verdict, decision.scope or "exact", decision.reviewer, decision.when)
    in_home: dict[str, set[str]] = {}
    for key in decision.terms:
        if key in draft.homes:
            in_home.setdefault(draft.homes[key], set()).add(key)
    done = 0
    for set_id in _homes_in_context(draft, in_home, decision):
        home, keys = draft.sets[set_id], in_home[set_id]
        terms = (
            replace(term, judgement=judgement)
            if key in keys and not (rejects and term.is_wrong)
            else term
            for key, term in zip(home.keys, home.mined.terms, strict=True)
        )
        seen_all = set(home.keys) <= set(decision.members)
        draft.put(_with(home, terms, ("rejected" if seen_all else "changed") if rejects else None))
        done += len(keys)
    return done, len(decision.terms)


def _leave(decision: Decision, draft: Draft) -> tuple[int, int]:
    """Remove and split: the terms that go leave each set in which they are with some that stay."""
    going = set(decision.terms)
    staying = set(decision.members) - going
    held = draft.owners(decision.members)
    if not draft.owners(going) or not draft.owners(staying):
        return 0, len(decision.members)
    for set_id in sorted(held, key=lambda name: (name != decision.set_id, name)):
        home = draft.sets[set_id]
        if going.isdisjoint(home.keys) or staying.isdisjoint(home.keys):
            continue
        pairs = list(zip(home.keys, home.mined.terms, strict=True))
        draft.put(_with(home, (term for key, term in pairs if key not in going)))
        gone = tuple(replace(term, judgement=None) for key, term in pairs if key in going)
        draft.put(ReviewedSet(MinedSet(_free_id(decision.other, draft), gone), "changed"))
    return held.total(), len(decision.members)


def _merge(decision: Decision, draft: Draft) -> tuple[int, int]:
    target = draft.find(decision.set_id, decision.members)
    other = draft.find(decision.other, decision.others)
    members = (*decision.members, *decision.others)
    if target is None or other is None:
        return 0, len(members)
    both = target.status == other.status == "accepted"
    gathered = _gather(draft, target, members)
    whole = gathered.mined
    if whole.entity is None:
        whole = replace(whole, entity=other.mined.entity, name=other.mined.name)
    if not whole.preferred:
        whole = replace(whole, preferred=other.mined.preferred)
    draft.put(_with(ReviewedSet(whole), whole.terms, "accepted" if both else "changed"))
    return len({*members} & set(gathered.keys)), len(members)


def _rename(decision: Decision, draft: Draft) -> tuple[int, int]:
    homes = [draft.homes[key] for key in decision.terms if key in draft.homes]
    if not _homes_in_context(draft, homes, decision):
        return 0, 1
    home = draft.sets[homes[0]]
    preferred = Term.parse(decision.terms[0]).surface
    draft.put(replace(home, mined=replace(home.mined, preferred=preferred)))
    return 1, 1


_KINDS: Mapping[str, Callable[[Decision, Draft], tuple[int, int]]] = {  # done, of how much
    "accept": _accept,
    "reject": _reject,
    "unsure": _unsure,
    "judge": _judge,
    "remove": _leave,
    "split": _leave,
    "merge": _merge,
    "rename": _rename,
}


def _gather(draft: Draft, into: ReviewedSet, keys: Iterable[str]) -> ReviewedSet:
    """The set with all of these terms in it, which leave the sets where they are."""
    coming = dict.fromkeys(key for key in keys if draft.homes.get(key, into.id) != into.id)
    terms: dict[str, MinedTerm] = {}
    for set_id in draft.owners(coming):
        home = draft.sets[set_id]
        own = dict(zip(home.keys, home.mined.terms, strict=True))
        terms |= own
        draft.put(_with(home, (term for key, term in own.items() if key not in coming)))
    gathered = (*into.mined.terms, *(terms[key] for key in coming))
    return replace(into, mined=replace(into.mined, terms=gathered))


def _homes_in_context(draft: Draft, homes: Iterable[str], decision: Decision) -> list[str]:
    """Those of the sets that hold at least two of the members, or the only one.

    It looks at no more members than it must: there may be thousands.
    """
    left = dict.fromkeys(homes, min(len(decision.members), 2))
    shared = []
    for home in filter(None, map(draft.homes.get, decision.members)):
        if home in left:
            left[home] -= 1
            if not left[home]:
                shared.append(home)
                del left[home]
        if not left:
            break
    return shared


def _with(
    reviewed: ReviewedSet, terms: Iterable[MinedTerm], status: Status | None = None
) -> ReviewedSet:
    """The set with other terms; by default an accepted one stays so, and any other is changed.

    The preferred term of the set stays preferred only while it is in the set.
    """
    kept = tuple(terms)
    preferred = reviewed.mined.preferred
    if preferred and all(term.text != preferred for term in kept):
        preferred = ""
    if status is None:
        status = "accepted" if reviewed.status == "accepted" else "changed"
    return ReviewedSet(replace(reviewed.mined, terms=kept, preferred=preferred), status)


def _free_id(name: str, draft: Draft) -> str:
    """The name, or the name with a number: thousands of decisions may name the same id."""
    free = name
    while draft.get(free) is not None:
        draft.numbers[name] += 1
        free = f"{name}-{draft.numbers[name] + 1}"
    return free


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
            wanted = (one for one in self._sets.values() if one in selection)
            queue = sorted(wanted, key=selection.position)
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
