"""Which merge of a plan an entity of a table belongs to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from synsetmine.errors import DataError
from synsetmine.normalization import name_key
from synsetmine.pipeline.plan import Plan


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
