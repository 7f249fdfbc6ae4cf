"""The knowledge base: which names each entity is known by, and which entities have a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synsetmine.errors import DataError, Skipped, raise_or_keep
from synsetmine.kb.building import KnowledgeBuilder
from synsetmine.kb.columns import Columns, read_columns, write_columns
from synsetmine.kb.names import Entity
from synsetmine.kb.strings import Texts
from synsetmine.text import normal_form, tokens

_NONE: Mapping[str, str] = {}


class KnowledgeBase:
    """Entities with their preferred and other known names, in Arrow and numpy arrays.

    Two names with the same normal form are one name. Entities have rows and normal forms have
    numbers, so that a linker can go from a form that it found in a text to entities without
    touching a string: the entities with a name of form number f stand in rows
    `form_entities[form_starts[f] : form_starts[f + 1]]`, those that prefer such a name first.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @classmethod
    def of(
        cls,
        entities: Iterable[Entity],
        *,
        replaced: Mapping[str, str] = _NONE,
        skipped: Skipped | None = None,
    ) -> KnowledgeBase:
        """Build from entities; `replaced` maps ids that are no longer used to those in use.

        Entities with the same id become one: their names are put together, and the first
        preferred name stays. Names without a letter or digit are left out, and entities that
        have no other; `skipped` counts them, and entities with a broken id or name, which
        otherwise raise a DataError.
        """
        builder = KnowledgeBuilder(skipped=skipped)
        for entity in entities:
            try:
                builder.add(entity.id, (entity.name, *entity.names))
            except DataError as error:
                raise_or_keep(error, skipped)
        for old, new in replaced.items():
            builder.replace(old, new)
        return cls(builder.columns())

    @classmethod
    def load(cls, path: str | Path) -> KnowledgeBase:
        """Open what `save` wrote; the arrays stay in the file and are read as they are needed."""
        return cls(read_columns(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write one file, whole or not at all."""
        write_columns(Path(path), self._columns)

    # --- Entities ---

    def __len__(self) -> int:
        return len(self._columns.ids)

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, str) and self.row(entity) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.ids)

    @property
    def name_count(self) -> int:
        return len(self._columns.names)

    def name(self, entity: str) -> str:
        """The preferred name."""
        return self._names[int(self._columns.name_starts[self._known_row(entity)])]

    def names(self, entity: str) -> tuple[str, ...]:
        """All known names, the preferred one first; no two have the same normal form."""
        start, end = self._columns.name_starts[(row := self._known_row(entity)) : row + 2].tolist()
        return tuple(self._names[number] for number in range(start, end))

    def knows(self, entity: str, surface: str) -> bool:
        """Whether a surface is among the known names of an entity: the paper's filter of links."""
        return self.known_form(entity, surface) is not None

    def known_form(self, entity: str, surface: str) -> str | None:
        """The normal form under which an entity has this surface as a name, or None.

        A name that is known as `usa` only may be written `USA`, as the dictionary has it too.
        """
        row = self.row(entity)
        for form in (normal_form(surface), " ".join(tokens(surface))):
            number = self.form_number(form)
            if number is not None and row in self._rows(number):
                return form
        return None

    def current(self, entity: str) -> str | None:
        """The id itself if it is known, the id that replaced it, or None."""
        if self.row(entity) is not None:
            return entity
        number = self._columns.replaced.find(entity)
        if number is None:
            return None
        return self._columns.ids[int(self._columns.replaced_rows[number])]

    def replaced(self) -> Iterator[tuple[str, str]]:
        """Ids that are no longer used, each with the one that replaced it."""
        rows = self._columns.replaced_rows.tolist()
        for old, row in zip(self._columns.replaced, rows, strict=True):
            yield old, self._columns.ids[row]

    # --- Names ---

    def entities_named(self, surface: str) -> tuple[str, ...]:
        """The entities with a name of the same normal form, those that prefer it first."""
        number = self.form_number(normal_form(surface))
        return () if number is None else self.entities_of_form(number)

    # --- Rows and form numbers ---

    def row(self, entity: str) -> int | None:
        """The position of an entity, or None."""
        return self._columns.ids.find(entity)

    def form_number(self, form: str) -> int | None:
        """The position of a normal form in `forms`, or None."""
        return self._columns.forms.find(form)

    def entities_of_form(self, number: int) -> tuple[str, ...]:
        return tuple(self._columns.ids[row] for row in self._rows(number))

    @property
    def ids(self) -> Any:
        """All entity ids by row: a pyarrow array."""
        return self._columns.ids.array

    @property
    def forms(self) -> Any:
        """All distinct normal forms by number: a pyarrow array."""
        return self._columns.forms.array

    @property
    def form_starts(self) -> NDArray[np.int64]:
        return self._columns.form_starts

    @property
    def form_entities(self) -> NDArray[np.int32]:
        return self._columns.form_entities

    @property
    def preferred_forms(self) -> NDArray[np.int32]:
        """By row: the number of the normal form of the preferred name."""
        return self._columns.preferred_forms

    @cached_property
    def ambiguous_forms(self) -> NDArray[np.int64]:
        """The numbers of the forms that more than one entity has."""
        return np.flatnonzero(np.diff(self._columns.form_starts) > 1)

    def _rows(self, number: int) -> list[int]:
        if not 0 <= number < len(self._columns.forms):
            raise IndexError(number)
        start, end = self._columns.form_starts[number : number + 2].tolist()
        rows: list[int] = self._columns.form_entities[start:end].tolist()
        return rows

    def _known_row(self, entity: str) -> int:
        row = self.row(entity)
        if row is None:
            raise DataError("the knowledge base has no such entity", value=entity)
        return row

    @cached_property
    def _names(self) -> Texts:
        return Texts(self._columns.names)

    def __getstate__(self) -> dict[str, object]:
        return {"_columns": self._columns}  # views into Arrow's buffers do not travel
