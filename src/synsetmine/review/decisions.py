"""What a person decided on a set: one value for each click."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from synsetmine.errors import DataError, require
from synsetmine.normalization import is_unicode
from synsetmine.runs import Scope, Verdict
from synsetmine.types import Term, first_repeated

Kind = Literal["accept", "reject", "unsure", "judge", "remove", "split", "merge", "rename", "undo"]

# Milliseconds and no other zone: then times sort as texts.
_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_FORM = "%Y-%m-%dT%H:%M:%S.%f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision of one person, with all that is needed to carry it out on later runs.

    Terms are texts, `str(Term)`. What `terms` and `other` are:

    - accept: the terms that are right together; `scope` is that of those not judged yet
    - reject: none of the members are synonyms of each other
    - unsure: of the whole set
    - judge: the terms to which `verdict` and `scope` apply
    - remove, split: the terms that go, one or several; `other` is the id of their new set
    - merge: `other` is the set that is taken in, `others` are its members
    - rename: the term that stands for the set
    - undo: `undoes` is the id of the decision that is taken back; the rest is that one's
    """

    kind: Kind
    reviewer: str
    set_id: str
    members: tuple[str, ...]  # of the set when this was decided
    terms: tuple[str, ...] = ()
    other: str = ""
    others: tuple[str, ...] = ()
    verdict: Verdict | None = None
    scope: Scope | None = None
    undoes: str = ""
    note: str = ""
    when: str = ""  # UTC, such as 2026-03-01T09:30:00.125Z; the store gives it
    id: str = ""  # the store gives it, or `stamped`
    number: int = field(default=0, compare=False)  # the place in its store; others differ

    def __post_init__(self) -> None:
        require(self.kind in get_args(Kind), f"kind must be one of {_options(Kind)}", self.kind)
        require(bool(self.reviewer.strip()), "a decision needs a reviewer", self.reviewer)
        require(bool(self.set_id), "a decision needs the id of a set", self.set_id)
        require(bool(self.members), "a decision needs the members of its set", self.set_id)
        for text in (self.reviewer, self.set_id, self.other, self.note, self.undoes, self.id):
            require(is_unicode(text), "not valid Unicode", text)
        if self.when:
            _check_time(self.when)
        for texts in (self.members, self.terms, self.others):
            for text in texts:
                Term.parse(text)
            again = first_repeated(texts)
            require(again is None, "a term occurs twice", again)
        if self.verdict is not None:
            require(
                self.verdict in get_args(Verdict),
                f"verdict must be one of {_options(Verdict)}",
                self.verdict,
            )
        if self.scope is not None:
            require(
                self.scope in get_args(Scope), f"scope must be one of {_options(Scope)}", self.scope
            )
        strange = next((text for text in self.terms if text not in self.members), None)
        require(strange is None, "the set has no such term", strange)
        _CHECKS[self.kind](self)

    @property
    def sets(self) -> tuple[str, ...]:
        """The ids of the sets that it touches."""
        return (self.set_id, self.other) if self.other else (self.set_id,)

    @property
    def place(self) -> tuple[str, str]:
        """By which decisions are sorted, in any store and any file."""
        return self.when, self.id

    def stamped(self, when: str) -> Decision:
        """The same with its time, and an id made of all that it says."""
        said = asdict(replace(self, when=when, id="", number=0))
        return replace(self, when=when, id=_hash(said)[:16])


def standing(decisions: Iterable[Decision]) -> list[Decision]:
    """Those that were not taken back, first made first."""
    given = sorted(decisions, key=lambda decision: decision.place)
    undone = {decision.undoes for decision in given if decision.kind == "undo"}
    return [d for d in given if d.kind != "undo" and d.id not in undone]


def digest(decisions: Iterable[Decision]) -> str:
    """What tells some decisions from others, wherever they are stored."""
    found = sorted(decisions, key=lambda decision: decision.place)
    return _hash([asdict(replace(decision, number=0)) for decision in found])


def now(after: str = "") -> str:
    """The time, or a millisecond later than `after` where a clock goes wrong or is too coarse."""
    here = _written(datetime.now(UTC))
    if here > after:
        return here
    return _written(_later(after))


def _hash(said: object) -> str:
    text = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _later(when: str) -> datetime:
    return datetime.strptime(when, f"{_FORM}Z").replace(tzinfo=UTC) + timedelta(milliseconds=1)


def _written(time: datetime) -> str:
    return f"{time.strftime(_FORM)[:-3]}Z"


def _check_time(when: str) -> None:
    problem = "expected a time such as 2026-03-01T09:30:00.125Z"
    require(bool(_WHEN.fullmatch(when)), problem, when)
    try:
        _later(when)  # the end of all time has none, and nothing could be decided after it
    except (ValueError, OverflowError):
        raise DataError(problem, value=when) from None


def _options(choice: object) -> str:
    return ", ".join(map(str, get_args(choice)))


def _check_some(decision: Decision) -> None:
    require(bool(decision.terms), f"{decision.kind} needs a term", decision.set_id)


def _check_judge(decision: Decision) -> None:
    _check_some(decision)
    require(decision.verdict is not None, "judge needs a verdict", decision.set_id)


def _check_one(decision: Decision) -> None:
    require(len(decision.terms) == 1, f"{decision.kind} takes one term", list(decision.terms))


def _check_leaving(decision: Decision) -> None:
    _check_some(decision)
    if decision.kind == "remove":
        _check_one(decision)
    stays = len(decision.members) > len(decision.terms)
    require(stays, f"{decision.kind} must leave a term in the set", list(decision.terms))
    new = decision.other not in ("", decision.set_id)
    require(new, f"{decision.kind} needs the id of the new set", decision.other)


def _check_merge(decision: Decision) -> None:
    another = decision.other not in ("", decision.set_id)
    require(another, "merge needs another set", decision.other)
    require(bool(decision.others), "merge needs the members of the other set", decision.other)
    both = next((text for text in decision.others if text in decision.members), None)
    require(both is None, "a term is in both sets", both)


def _check_undo(decision: Decision) -> None:
    require(bool(decision.undoes), "undo needs the id of a decision", decision.undoes)


def _check_nothing(decision: Decision) -> None:
    pass


_CHECKS = {
    "accept": _check_some,
    "reject": _check_nothing,
    "unsure": _check_nothing,
    "judge": _check_judge,
    "remove": _check_leaving,
    "split": _check_leaving,
    "merge": _check_merge,
    "rename": _check_one,
    "undo": _check_undo,
}
