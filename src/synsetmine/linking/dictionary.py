"""Links every known name of a knowledge base that a text holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from synsetmine.errors import DataError
from synsetmine.io.temporary import check_plain_file
from synsetmine.kb import KnowledgeBase
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import Document, Mention

IntArray = NDArray[np.int64]


class DictionaryLinker:
    """Links names, the leftmost first and of those the longest, to the entities that have them.

    A name that several entities have is left out (`skip`) or linked to each of them (`senses`);
    `resolve_common` then keeps the most common one.

    Names of a single character, whitespace not counted, and names without a letter (`1984`,
    `3 4`) are never linked: in running text they hardly ever mean the entity. Whatever is left
    out still takes its place in the text: no shorter name is linked within it.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        *,
        ambiguous: Literal["skip", "senses"] = "skip",
        matcher: NameMatcher | None = None,
    ) -> None:
        if matcher is None:
            matcher = NameMatcher.build(kb.forms)
        elif not matcher.is_built_from(kb.forms):
            raise DataError("this matcher was built from the names of another knowledge base")
        self._kb, self._matcher, self._ambiguous = kb, matcher, ambiguous
        self._files: tuple[Path, Path] | None = None
        self._starts, self._rows = self._targets()

    @classmethod
    def open(
        cls, knowledge: Path, names: Path, *, ambiguous: Literal["skip", "senses"] = "skip"
    ) -> DictionaryLinker:
        """Open a saved knowledge base and the matcher of its names, which worker processes share.

        The matcher is built and saved if there is none yet, or one of other names. To a worker
        process only the two paths travel.
        """
        kb = KnowledgeBase.load(knowledge)
        check_plain_file(names)  # nobody has named it: it may come with the knowledge base
        matcher = NameMatcher.load(names) if names.exists() else None
        if matcher is None or not matcher.is_built_from(kb.forms):
            matcher = NameMatcher.build(kb.forms)
            matcher.save(names)
        linker = cls(kb, ambiguous=ambiguous, matcher=matcher)
        linker._files = (knowledge.absolute(), names.absolute())
        return linker

    def link(self, documents: Sequence[Document]) -> list[tuple[Mention, ...]]:
        found = self._matcher.find([document.text for document in documents])
        first, end = self._starts[found.form], self._starts[found.form + 1]
        match = np.repeat(np.arange(len(found)), end - first)  # (mentions,)
        # Counted from the last mention of its match, for which this is `end - 1`.
        target = end[match] + np.arange(len(match)) - np.cumsum(end - first)[match]
        rows, which = np.unique(self._rows[target], return_inverse=True)
        ids = self._kb.ids.take(rows).to_pylist()
        mentions = list(
            map(
                Mention,
                found.start[match].tolist(),
                found.end[match].tolist(),
                map(ids.__getitem__, which.tolist()),
            )
        )
        borders = np.searchsorted(found.text[match], np.arange(len(documents) + 1)).tolist()
        return [tuple(mentions[start:end]) for start, end in pairwise(borders)]

    def _targets(self) -> tuple[IntArray, NDArray[np.int32]]:
        """Which entities each form links to: form f to rows[starts[f] : starts[f + 1]]."""
        starts, rows = self._kb.form_starts, self._kb.form_entities
        sizes = np.diff(starts)
        form = np.repeat(np.arange(len(sizes)), sizes)  # (rows,)
        kept = _linkable(self._kb.forms)[form]
        if self._ambiguous == "skip":
            kept &= (sizes == 1)[form]
        ends = np.cumsum(np.bincount(form[kept], minlength=len(sizes)))
        return np.append(0, ends), rows[kept]

    def __reduce__(self) -> tuple[object, ...]:
        if self._files is not None:
            return partial(DictionaryLinker.open, ambiguous=self._ambiguous), self._files
        options: dict[str, Any] = {"ambiguous": self._ambiguous, "matcher": self._matcher}
        return partial(DictionaryLinker, **options), (self._kb,)


def _linkable(forms: Any) -> NDArray[np.bool_]:
    """Which forms are long enough and have a letter."""
    length = pc.utf8_length(pc.replace_substring(forms, " ", ""))
    has_letter: NDArray[np.bool_] = _numpy(pc.match_substring_regex(forms, "[A-Za-z]"))
    others = np.flatnonzero(~has_letter)  # few where names are in Latin letters
    for number, form in zip(others.tolist(), forms.take(others).to_pylist(), strict=True):
        has_letter[number] = any(map(str.isalpha, form))
    return has_letter & (_numpy(length) > 1)


def _numpy(array: Any) -> NDArray[Any]:
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values
