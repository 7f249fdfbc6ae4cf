"""What every linker does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from synsetmine.types import Document, Mention


class Linker(Protocol):
    """Finds where documents name entities."""

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        """The mentions in each document, in the order of the text.

        The same documents give the same mentions, however they are put into batches.
        """
        ...
