"""The changes that decisions make to a draft of the reviewed sets."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from synsetmine.review.decisions import Decision
from synsetmine.runs import Judgement, MinedSet, MinedTerm
from synsetmine.types import SENSE_MARK, Term

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
