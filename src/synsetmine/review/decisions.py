"""A reviewer's decision on a set, and the TSV file of decisions."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args
from unicodedata import category

from synsetmine.errors import DataError, require, skip_broken
from synsetmine.io.files import numbered_lines, write_text
from synsetmine.io.tables import formula_starts
from synsetmine.normalization import is_unicode
from synsetmine.runs import Scope, Verdict
from synsetmine.types import Term, first_duplicate

Kind = Literal["accept", "reject", "unsure", "judge", "remove", "split", "merge", "rename", "undo"]

# Milliseconds and no other zone: then times sort as texts.
_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_END = "9000"  # no decision is later: there is always a time after the last one
_FORM = "%Y-%m-%dT%H:%M:%S.%f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision of one person, with all that is needed to carry it out on later runs.

    Terms are texts, `str(Term)`. What `terms` and `other` are:

    - accept: the terms that are right together; `scope` is that of those not judged yet
    - reject: the terms that do not belong to the set, the new names of a known entity; without
      terms, none of the members are synonyms of each other
    - unsure: of the whole set
    - judge: the terms to which `verdict` and `scope` apply
    - remove, split: the terms that go, one or several; `other` is the id of their new set
    - merge: `other` is the set that is taken in, `others` are its members
    - rename: the term that represents the set
    - undo: `undoes` is the id of the decision that is undone; the rest is that one's
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
        _check_choice("kind", self.kind, Kind)
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
            again = first_duplicate(texts)
            require(again is None, "a term occurs twice", again)
        if self.verdict is not None:
            _check_choice("verdict", self.verdict, Verdict)
        if self.scope is not None:
            _check_choice("scope", self.scope, Scope)
        members = set(self.members)
        strange = next((text for text in self.terms if text not in members), None)
        require(strange is None, "the set has no such term", strange)
        _check_kind(self)

    @property
    def sets(self) -> tuple[str, ...]:
        """The ids of the sets that it touches."""
        return (self.set_id, self.other) if self.other else (self.set_id,)

    @property
    def sort_key(self) -> tuple[str, str]:
        """The order of decisions, in any store and any file."""
        return self.when, self.id

    def stamp(self, when: str) -> Decision:
        """The same with its time, and an id made of all that it says."""
        content = asdict(replace(self, when=when, id="", number=0))
        return replace(self, when=when, id=_hash(content)[:16])


def in_order(decisions: Iterable[Decision]) -> list[Decision]:
    """First made first."""
    return sorted(decisions, key=lambda decision: decision.sort_key)


def standing_decisions(decisions: Iterable[Decision]) -> list[Decision]:
    """Those that were not undone, first made first."""
    ordered = in_order(decisions)
    undone = {decision.undoes for decision in ordered if decision.kind == "undo"}
    return [d for d in ordered if d.kind != "undo" and d.id not in undone]


def digest(decisions: Iterable[Decision]) -> str:
    """A hash of some decisions, the same wherever they are stored."""
    return _hash([asdict(replace(decision, number=0)) for decision in in_order(decisions)])


def now(after: str = "") -> str:
    """The time, or a millisecond later than `after` where a clock goes wrong or is too coarse."""
    here = _format_time(datetime.now(UTC))
    return here if here > after else _format_time(_later(after))


def tomorrow() -> str:
    """The time in a day: decisions of machines whose clocks differ are earlier."""
    return _format_time(datetime.now(UTC) + timedelta(days=1))


def _hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _later(when: str) -> datetime:
    return datetime.strptime(when, f"{_FORM}Z").replace(tzinfo=UTC) + timedelta(milliseconds=1)


def _format_time(time: datetime) -> str:
    return f"{time.strftime(_FORM)[:-3]}Z"


def is_time(when: object) -> bool:
    """Whether a value is a time that a decision may have."""
    if not isinstance(when, str) or not _WHEN.fullmatch(when) or when >= _END:
        return False
    try:
        _later(when)
    except ValueError:  # such as the 30th of February
        return False
    return True


def _check_time(when: str) -> None:
    problem = "expected a time such as 2026-03-01T09:30:00.125Z"
    require(is_time(when), problem, when)


def _check_choice(name: str, value: str, choice: object) -> None:
    options = get_args(choice)
    require(value in options, f"{name} must be one of {', '.join(options)}", value)


def _check_kind(decision: Decision) -> None:
    """What each kind of decision needs."""
    kind, set_id, terms = decision.kind, decision.set_id, decision.terms
    other_set = decision.other not in ("", set_id)
    if kind in ("accept", "judge", "remove", "split"):
        require(bool(terms), f"{kind} needs a term", set_id)
    if kind in ("remove", "rename"):
        require(len(terms) == 1, f"{kind} takes one term", list(terms))
    if kind in ("remove", "split"):
        stays = len(decision.members) > len(terms)
        require(stays, f"{kind} must leave a term in the set", list(terms))
        require(other_set, f"{kind} needs the id of the new set", decision.other)
    if kind == "judge":
        require(decision.verdict is not None, "judge needs a verdict", set_id)
    if kind == "merge":
        require(other_set, "merge needs another set", decision.other)
        require(bool(decision.others), "merge needs the members of the other set", decision.other)
        members = set(decision.members)
        both = next((text for text in decision.others if text in members), None)
        require(both is None, "a term is in both sets", both)
    if kind == "undo":
        require(bool(decision.undoes), "undo needs the id of a decision", decision.undoes)


# --- The TSV file ---

COLUMNS: tuple[str, ...] = (
    *("when", "id", "reviewer", "kind", "set_id", "terms", "other", "verdict", "scope"),
    *("undoes", "note", "members", "others"),
)
LISTS = ("terms", "members", "others")
BETWEEN = ";"  # the terms of a list

_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}
_MEANT = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\", BETWEEN: BETWEEN}
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.|\Z)", re.S)
_ITEM = re.compile(rf"(?:\\.|[^\\{BETWEEN}])+", re.S)


def write_decisions(path: Path, decisions: Iterable[Decision]) -> None:
    """Write one decision a line, first made first; the same ones always give the same bytes.

    Files of two git branches may be merged line by line: a repeated line counts once.
    """
    rows = [COLUMNS, *map(_cells, in_order(decisions))]
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))


def read_decisions(path: Path, *, until: str = "") -> list[Decision]:
    """Read what `write_decisions` wrote, or a merge of such files; first made first.

    A line without an id gets the one that the store would have given. A time after `until` is an
    error: the last decision on a set counts, so one of the future would overrule all others.
    """
    lines = numbered_lines(path)
    number, header = next(lines, (None, ""))
    if number is None:
        raise DataError("the file is empty; expected at least the header", path=path)
    if header != "\t".join(COLUMNS):
        problem = f"expected the columns {' '.join(COLUMNS)}"
        raise DataError(problem, path=path, line=number, value=header)
    by_id: dict[str, tuple[int, Decision]] = {}
    for number, line in lines:
        if not line:
            continue
        with skip_broken(path, number, None):
            decision = _decision(line.split("\t"))
            if until and decision.when > until:
                hint = "correct the time, or the clock of this machine"
                raise DataError("a time in the future", value=decision.when, hint=hint)
            first, known = by_id.setdefault(decision.id, (number, decision))
            if known != decision:
                problem = f"line {first} is another decision with this id"
                raise DataError(problem, value=decision.id)
    return in_order(decision for _, decision in by_id.values())


def _cells(decision: Decision) -> list[str]:
    if not decision.id or not decision.when:
        raise DataError("a decision has no id or time yet", value=decision.set_id)
    cells = []
    for name in COLUMNS:
        value = getattr(decision, name)
        if name in LISTS:
            texts = (_escape(text).replace(BETWEEN, f"\\{BETWEEN}") for text in value)
            cells.append(BETWEEN.join(texts))
        else:
            cells.append(_escape(value or ""))
    return [_escape_cell(cell) for cell in cells]


def _escape_cell(cell: str) -> str:
    """What people typed, as a spreadsheet shows it rather than runs it."""
    for place in reversed(formula_starts(cell)):
        cell = f"{cell[:place]}\\u{ord(cell[place]):04x}{cell[place + 1 :]}"
    return cell


def _decision(cells: Sequence[str]) -> Decision:
    if len(cells) != len(COLUMNS):
        raise DataError(f"expected {len(COLUMNS)} columns; got", value=len(cells))
    values: dict[str, Any] = {
        name: _texts(cell) if name in LISTS else _unescape(cell)
        for name, cell in zip(COLUMNS, cells, strict=True)
    }
    for name in ("verdict", "scope"):
        values[name] = values[name] or None
    if not values["when"]:
        raise DataError("a decision needs its time, in the column", value="when")
    decision = Decision(**values)
    return decision if decision.id else decision.stamp(decision.when)


def _escape(text: str) -> str:
    return "".join(
        _NAMED.get(char) or (f"\\u{ord(char):04x}" if _is_control(char) else char) for char in text
    )


def _is_control(character: str) -> bool:
    # What ends a line for some program, or makes git take the file for a binary one.
    return category(character) in ("Cc", "Zl", "Zp") or character == "\ufeff"


def _unescape(text: str) -> str:
    def meant(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        if code not in _MEANT:
            raise DataError("unknown escape; write a backslash twice", value=match[0])
        return _MEANT[code]

    return _ESCAPE.sub(meant, text)


def _texts(cell: str) -> tuple[str, ...]:
    items = _ITEM.findall(cell)
    if BETWEEN.join(items) != cell:
        raise DataError(f"expected terms with {BETWEEN} between them", value=cell)
    return tuple(map(_unescape, items))
