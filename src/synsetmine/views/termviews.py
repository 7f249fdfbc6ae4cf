"""The views of terms together: tables of corpus vectors, an encoder's vectors, and strings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from synsetmine.errors import DataError
from synsetmine.evidence import Evidence
from synsetmine.views.vectors import TermVectors

View: TypeAlias = Literal["vectors", "strings", "encoder"]


@dataclass(frozen=True)
class TermViews:
    """What is known of terms beside their surfaces."""

    vectors: tuple[TermVectors, ...] = ()  # corpus vectors, the main table first
    encoder: TermVectors | None = None  # a sentence encoder's vectors of the surfaces
    learned: frozenset[str] = frozenset()  # surfaces that the encoder was tuned on
    strings: bool = True  # whether models may look at the surfaces
    evidence: Evidence | None = None  # what a corpus says of pairs of terms

    def table(self, view: View) -> TermVectors:
        """The table of a view that is one."""
        table = self.encoder if view == "encoder" else next(iter(self.vectors), None)
        if table is None or view == "strings":
            raise DataError("there is no table of this view", value=view)
        return table

    def has(self, view: View) -> bool:
        if view == "strings":
            return self.strings
        return bool(self.vectors) if view == "vectors" else self.encoder is not None

    def only(self, views: Collection[View]) -> TermViews:
        """These views and no others."""
        return replace(
            self,
            vectors=self.vectors if "vectors" in views else (),
            encoder=self.encoder if "encoder" in views else None,
            strings="strings" in views,
        )
