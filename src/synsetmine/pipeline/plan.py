"""A plan of merges: which names become one, under which name and id, and why.

A plan is a file of JSON lines, a merge a line, that people read and edit before `apply-plan` maps
tables by it: a line that they delete is a merge that does not happen.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from synsetmine.corpus.name_lists import ids_in
from synsetmine.errors import DataError, quantity, skip_broken
from synsetmine.io.files import numbered_lines, parse_json, write_json_lines
from synsetmine.normalization import is_unicode, name_key
from synsetmine.notebook import Library, ShowProgress, frame_of, open_progress
from synsetmine.pipeline.explanation import Explanation
from synsetmine.text.kinds import pair_kind

if TYPE_CHECKING:
    from synsetmine.pipeline.name_sets import ComparedTerms, Grouping, Member
    from synsetmine.pipeline.registry import KnownEntity


# What tells a member from other entities of the list that have its name.
IdentifiedBy: TypeAlias = Literal["name", "type", "row"]
DIGITS = 6  # of probabilities and log-odds


@dataclass(frozen=True)
class PlannedMember:
    """A name that a merge maps to its canonical name."""

    name: str
    count: int = 0  # how often the list has it
    probability: float | None = None  # that it belongs to the other names; see `Member`
    known: bool = False
    type: str = ""
    identified_by: IdentifiedBy = "name"
    rows: tuple[int, ...] = ()  # of the list, from 0 on; empty if the list has ids
    ids: tuple[str, ...] = ()
    why: Explanation | None = None  # against the nearest other member


@dataclass(frozen=True)
class Merge:
    """Names that become one."""

    id: str  # of the set: the same in every run
    canonical: str
    members: tuple[PlannedMember, ...]  # the canonical name first
    type: str = ""
    probability: float | None = None  # the lowest of the members

    def __repr__(self) -> str:
        return f"Merge({', '.join(repr(member.name) for member in self.members)})"


@dataclass(frozen=True, repr=False)
class Plan:
    """Merges, sorted by their canonical names."""

    merges: tuple[Merge, ...]

    def __len__(self) -> int:
        return len(self.merges)

    def __iter__(self) -> Iterator[Merge]:
        return iter(self.merges)

    def __repr__(self) -> str:
        return f"Plan({quantity(len(self.merges), 'merge')})"

    def to_frame(self, library: Library = "pandas") -> Any:
        """A DataFrame of pandas or polars with a row for each member, to look at."""
        rows = [(merge, member) for merge in self.merges for member in merge.members]
        why = [member.why for _, member in rows]
        columns = {
            "id": [merge.id for merge, _ in rows],
            "canonical": [merge.canonical for merge, _ in rows],
            "name": [member.name for _, member in rows],
            "type": [member.type for _, member in rows],
            "probability": [member.probability for _, member in rows],
            "nearest": [None if one is None else one.other for one in why],
            "kind": [None if one is None else one.kind for one in why],
            "sentence": [None if one is None else one.sentence for one in why],
        }
        return frame_of(columns, library)

    def write(self, path: str | Path) -> None:
        """Write JSON lines, whole or not at all."""
        write_json_lines(Path(path), map(_record, self.merges))


def plan_of(grouping: Grouping, ids: Any = None, *, progress: ShowProgress = None) -> Plan:
    """The merges of a grouping: its sets of several names.

    `ids` are those of the rows of the list. With them each row is an entity, so rows of one name
    that are one thing are a merge too, and so are a row and one that a registry has.
    """
    ids = None if ids is None else ids_in(ids)
    if ids is not None and len(ids) != len(grouping.rows):
        raise DataError(f"{len(ids):,} ids for {len(grouping.rows):,} names")
    compared = grouping.compared
    if compared is None:
        raise DataError("this grouping has no rows to plan for; call `group`")
    identify = _identified_by(grouping, compared.known)
    known_ids = {} if ids is None else {known.id: known.ids for known in compared.known}
    rows: dict[tuple[int, int], list[int]] = defaultdict(list)  # of each member of each place
    for row, (place, position) in enumerate(zip(grouping.rows, compared.members, strict=True)):
        if place is not None and position is not None:
            rows[place, position].append(row)
    if ids is not None:
        _check_ids(grouping, ids, known_ids)
    merges = []
    sets = grouping.sets if ids is None else grouping.every_set
    with open_progress(progress, "explaining") as bar:
        for place, one in enumerate(sets):
            several = len(one.entries) > 1
            members = []
            for number, member in enumerate(one.entries):
                own = rows.get((place, number), [])
                own_ids = () if ids is None else tuple(dict.fromkeys(ids[r] for r in own if ids[r]))
                if not number:
                    own_ids = tuple(dict.fromkeys((*known_ids.get(one.id, ()), *own_ids)))
                members.append(
                    PlannedMember(
                        member.name,
                        member.count,
                        member.probability,
                        member.known,
                        member.type,
                        identify[_key(member)],
                        tuple(own) if ids is None else (),
                        own_ids,
                        _why(compared, place, one.entries, number) if several else None,
                    )
                )
            if len(members) > 1 or len(members[0].ids) > 1:
                merges.append(_merge(one.id, members))
            if bar is not None:
                bar(place + 1, len(sets))
    merges.sort(key=lambda merge: (name_key(merge.canonical), merge.canonical, merge.id))
    return Plan(tuple(merges))


def _merge(set_id: str, members: Sequence[PlannedMember]) -> Merge:
    chances = [m.probability for m in members if m.probability is not None]
    type_ = next((m.type for m in members if m.type), "")
    return Merge(set_id, members[0].name, tuple(members), type_, min(chances, default=None))


def _check_ids(
    grouping: Grouping, ids: Sequence[str], known_ids: Mapping[str, Sequence[str]]
) -> None:
    place_of: dict[str, int] = {}
    owner = {row_id: set_id for set_id, own in known_ids.items() for row_id in own}
    for row_id, set_id in zip(ids, grouping.ids, strict=True):
        if set_id is not None and owner.get(row_id, set_id) != set_id:
            hint = "new rows need ids that the graph does not have"
            raise DataError("the registry has this id for another entity", value=row_id, hint=hint)
    for row_id, place in zip(ids, grouping.rows, strict=True):
        if row_id and place is not None and place_of.setdefault(row_id, place) != place:
            raise DataError("two rows with different names have this id", value=row_id)


def _key(member: Member) -> tuple[str, str]:
    return name_key(member.name), name_key(member.type)


def _identified_by(
    grouping: Grouping, known: Sequence[KnownEntity]
) -> Mapping[tuple[str, str], IdentifiedBy]:
    """For the name and type of each member, what tells it from other and from known entities."""
    by_name: dict[str, set[str]] = defaultdict(set)
    by_type: dict[tuple[str, str], set[str]] = defaultdict(set)
    owned = [(one.id, _key(member)) for one in grouping.every_set for member in one.entries]
    owned += [(one.id, name.key[:2]) for one in known for name in one.names]
    for set_id, key in owned:
        by_name[key[0]].add(set_id)
        by_type[key].add(set_id)
    return {
        key: "name" if len(by_name[key[0]]) == 1 else "type" if len(by_type[key]) == 1 else "row"
        for key in by_type
    }


def _why(
    compared: ComparedTerms, place: int, entries: Sequence[Member], number: int
) -> Explanation | None:
    """The explanation of a member against the nearest other one."""
    terms = compared.terms[place]
    term, first = terms[number], terms.index(terms[number])
    others = [other for other in dict.fromkeys(terms) if other != term]
    if number != first or not others:  # a spelling of a name that the set has already
        one, other = entries[number].name, entries[first if number != first else 1].name
        return Explanation(one, other, 1.0, 1.0, None, None, pair_kind(one, other), "exact")
    rivals = [other for other in others if other in compared.explainer]
    if term not in compared.explainer or not rivals:
        return None  # known names that are too long
    return compared.explainer.explain(term, compared.explainer.nearest(term, rivals))


def _record(merge: Merge) -> dict[str, Any]:
    return {
        "id": merge.id,
        "canonical": merge.canonical,
        "type": merge.type,
        "probability": _round(merge.probability),
        "members": [*map(_member_record, merge.members)],
    }


def _member_record(member: PlannedMember) -> dict[str, Any]:
    record = {name: _round(value) for name, value in vars(member).items() if name != "why"}
    del record["rows" if member.ids else "ids"]
    if member.why is not None:
        why = asdict(member.why)
        del why["name"], why["types"], why["pair_alone"]
        record["why"] = {
            ("nearest" if name == "other" else name): _round(value)
            for name, value in why.items()
            if value not in (None, "", ())
        }
    return record


def _round(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def plan_in(plan: object) -> Plan:
    """The plan, or the one in the file of this path."""
    if isinstance(plan, Plan):
        return plan
    if not isinstance(plan, str | Path):
        problem = "expected a plan, as `Grouping.plan` makes it, or its path"
        raise DataError(problem, value=type(plan).__name__)
    return read_plan(plan)


def read_plan(path: str | Path) -> Plan:
    """Read a plan, which people may have edited: each line needs `id`, `canonical`, `members`."""
    path = Path(path)
    merges = []
    line_of: dict[str, int] = {}
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        with skip_broken(path, number, None):
            merge = _parse_merge(parse_json(line))
            if merge.id in line_of:
                raise DataError(f"line {line_of[merge.id]} already has this id", value=merge.id)
            line_of[merge.id] = number
            merges.append(merge)
    return Plan(tuple(merges))


def _parse_merge(record: Any) -> Merge:
    match record:
        case {"id": str(set_id), "canonical": str(name), "members": [_, *_] as members}:
            if not set_id or not name.strip() or not is_unicode(set_id + name):
                raise DataError("expected an id and a canonical name", value=f"{set_id} {name}")
            parsed = tuple(map(_parse_member, members))
            type_, chance = _text(record.get("type")), _number(record.get("probability"))
            return Merge(set_id, name, parsed, type_, chance)
    problem = 'expected {"id": "…", "canonical": "…", "members": [{"name": "…"}, …]}'
    raise DataError(problem, value=json.dumps(record, ensure_ascii=False))


def _parse_member(record: Any) -> PlannedMember:
    """A member without its explanation, which is for people."""
    match record:
        case {"name": str(name)} if name.strip() and is_unicode(name):
            rows, ids = record.get("rows", []), record.get("ids", [])
            identified_by = record.get("identified_by", "name")
            count = record.get("count", 0)
            if not isinstance(rows, list) or not all(type(row) is int and row >= 0 for row in rows):
                raise DataError("expected row numbers, from 0 on", value=rows)
            if not isinstance(ids, list) or not all(isinstance(i, str) and i for i in ids):
                raise DataError("expected ids of rows", value=ids)
            if identified_by not in get_args(IdentifiedBy):
                allowed = ", ".join(get_args(IdentifiedBy))
                raise DataError(f"identified_by must be one of {allowed}", value=identified_by)
            return PlannedMember(
                name,
                count if type(count) is int else 0,
                _number(record.get("probability")),
                record.get("known") is True,
                _text(record.get("type")),
                identified_by,
                tuple(rows),
                tuple(ids),
            )
    raise DataError('expected {"name": "…"}', value=json.dumps(record, ensure_ascii=False))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not is_unicode(value):
        raise DataError("expected a string", value=value)
    return value


def _number(value: Any) -> float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise DataError("expected a number", value=value)


class MergeResolver:
    """Finds the merge of an entity by its name, type, id and row."""

    def __init__(self, plan: Plan) -> None:
        self.merges = plan.merges
        self._by_name: dict[str, dict[int, None]] = defaultdict(dict)
        self._by_type: dict[tuple[str, str], int] = {}
        self._by_id: dict[str, int] = {}
        self._by_row: dict[int, tuple[int, str]] = {}
        self._ambiguous: set[str] = set()  # names that other entities have too
        self._not_by_type: set[str] = set()  # of these the ones that types do not tell apart
        for number, merge in enumerate(plan.merges):
            for member in merge.members:
                name = name_key(member.name)
                self._by_name[name][number] = None
                if member.identified_by != "name":
                    self._ambiguous.add(name)
                if member.identified_by == "type":
                    self._by_type[name, name_key(member.type)] = number
                else:
                    self._not_by_type.add(name)
                for row in member.rows:
                    self._add(self._by_row, row, (number, name))
                for row_id in member.ids:
                    self._add(self._by_id, row_id, number)
        self._ambiguous |= {name for name, numbers in self._by_name.items() if len(numbers) > 1}

    @staticmethod
    def _add(places: dict[Any, Any], key: object, value: object) -> None:
        if places.setdefault(key, value) != value:
            raise DataError("two merges of the plan have this row", value=key)

    def is_ambiguous(self, name: str) -> bool:
        return name_key(name) in self._ambiguous

    def has_name(self, number: int, name: str) -> bool:
        return number in self._by_name.get(name_key(name), ())

    def canonical(self, name: str, used: set[int]) -> str | None:
        """The canonical name of a name that only one entity has."""
        key = name_key(name)
        if key in self._ambiguous or key not in self._by_name:
            return None
        (number,) = self._by_name[key]
        canonical = self.merges[number].canonical
        if canonical != name:
            used.add(number)
        return canonical

    def rows_fit(self, names: Sequence[str]) -> bool:
        """Whether the rows of the plan are rows of a table with these names."""
        return bool(self._by_row) and all(
            row < len(names) and name_key(names[row]) == name
            for row, (_, name) in self._by_row.items()
        )

    def find(self, name: str, type_: str, row_id: str, row: int | None) -> int | None:
        """The merge of an entity, None if it has none, -1 if nothing tells which."""
        if row_id in self._by_id:
            return self._by_id[row_id]
        key = name_key(name)
        if key not in self._by_name:
            return None
        if key not in self._ambiguous:
            (number,) = self._by_name[key]
            return number if self._has_type(number, key, type_) else None
        if row is not None:
            place = self._by_row.get(row)
            return None if place is None else place[0]
        if self._by_id and row_id:
            return None  # a row of the list that stands alone, or a new one
        if (key, name_key(type_)) in self._by_type:
            return self._by_type[key, name_key(type_)]
        return -1 if key in self._not_by_type or not type_ else None

    def _has_type(self, number: int, key: str, type_: str) -> bool:
        """Whether the plan has the name with this type, or does not say."""
        types = {name_key(m.type) for m in self.merges[number].members if name_key(m.name) == key}
        return not type_ or name_key(type_) in types or "" in types
