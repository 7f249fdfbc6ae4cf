"""The forms of the review page: read, and carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args
from urllib.parse import parse_qs

from synsetmine.errors import DataError
from synsetmine.results import Scope, Verdict
from synsetmine.review import Conflict, Kind
from synsetmine.web.asked import Asked, read_place
from synsetmine.web.workbench import Workbench

FIELDS = 10_000  # of a form, at most
# What a button asks for, and the kind of decision that it is.
ACTS: Mapping[str, tuple[Kind, Verdict | None]] = {
    "accept": ("accept", None),
    "reject": ("reject", None),
    "unsure": ("unsure", None),
    "correct": ("judge", "correct"),
    "incorrect": ("judge", "incorrect"),
    "doubt": ("judge", "unsure"),
    "remove": ("remove", None),
    "split": ("split", None),
    "merge": ("merge", None),
    "rename": ("rename", None),
}
LAST: frozenset[Kind] = frozenset({"accept", "reject", "unsure"})  # then comes the next set
WITH_TERMS: frozenset[Kind] = frozenset({"judge", "remove", "split", "rename"})


@dataclass(frozen=True)
class Form:
    """The fields of a form, each with all its values."""

    fields: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, body: bytes) -> Form:
        try:
            return cls(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=FIELDS))
        except ValueError as error:
            raise DataError(f"this form cannot be read ({error})") from None

    def __getitem__(self, name: str) -> str:
        return next(iter(self.fields.get(name, ())), "")

    def all(self, name: str) -> Sequence[str]:
        return self.fields.get(name, ())

    @property
    def asked(self) -> Asked:
        """The page from which the form was sent."""
        return Asked.of({name: values[0] for name, values in self.fields.items()})


def decide(bench: Workbench, form: Form, reviewer: str) -> Asked:
    """Record what a button asks for; where to go then.

    `Conflict` if somebody was faster, `NotShownError` if the page showed other sets.
    """
    asked, set_id = form.asked, form["set"]
    if form["act"] not in ACTS:
        raise DataError(f"act must be one of {', '.join(ACTS)}", value=form["act"])
    kind, verdict = ACTS[form["act"]]
    found = bench.get(set_id)
    if found is None:
        if gone := [d for d in bench.history(set_id) if d.kind != "undo"]:
            raise Conflict(gone[:1])
        raise DataError("there is no such set", value=set_id)
    shown = {set_id: form["shown"]}
    if kind == "merge":
        shown[form["other"]] = form["shown_other"]
    bench.decide(
        kind,
        set_id,
        seen=_number(form["seen"]),
        shown=shown,
        reviewer=reviewer,
        terms=form.all("term") if kind in WITH_TERMS else (),
        other=form["other"] if kind == "merge" else "",
        verdict=verdict,
        scope=_scope(form["scope"]) if kind == "judge" else None,
    )
    if kind not in LAST:
        return replace(asked, set=set_id, find="")
    return asked.behind(read_place(asked.at) or found.place)


def undo(bench: Workbench, form: Form, reviewer: str) -> Asked:
    """Take back a decision, or one's own last; the set that it was about is shown."""
    shown = form["last"] if "last" in form.fields else None
    taken = bench.undo(reviewer, form["target"] or None, shown=shown)
    return form.asked.opened(taken.set_id)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise DataError("seen must be a number", value=text)
    return int(text)


def _scope(text: str) -> Scope:
    for scope in get_args(Scope):
        if scope == text:
            return scope  # type: ignore[no-any-return]
    raise DataError(f"scope must be one of {', '.join(get_args(Scope))}", value=text)
