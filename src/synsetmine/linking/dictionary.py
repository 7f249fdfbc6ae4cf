"""Links every known name of a knowledge base that a text holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from synsetmine.errors import DataError
from synsetmine.io.temporary import check_plain_file
from synsetmine.kb import KnowledgeBase
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import Ambiguous, Document, Mention

IntArray = NDArray[np.int64]


class DictionaryLinker:
    """Links names, the leftmost first and of those the longest, to the entities that have them.

    A name that several entities have is left out (`skip`), or goes to the one with the highest
    `prior` and to none if two are equal or no prior is above zero (`common`), or to each of them
    (`senses`). The prior is how often each entity was linked by names that it has alone.

    Names of fewer than `min_length` characters, blanks not counted, and names without a letter
    (`1984`, `3 4`) are never linked: in running text they hardly ever mean the entity. Whatever
    is left out still takes its place in the text: no shorter name is linked within it.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        *,
        ambiguous: Ambiguous = "skip",
        prior: Mapping[str, int] | None = None,
        min_length: int = 2,
        matcher: NameMatcher | None = None,
    ) -> None:
        if ambiguous not in get_args(Ambiguous):
            raise DataError(f"ambiguous must be one of {get_args(Ambiguous)}", value=ambiguous)
        if ambiguous == "common" and prior is None:
            raise DataError("ambiguous 'common' needs a prior: how often each entity was linked")
        if min_length < 1:
            raise DataError("the least length of a name must be 1 or more", value=min_length)
        if matcher is None:
            matcher = NameMatcher.build(kb.forms)
        elif not matcher.is_built_from(kb.forms):
            raise DataError("this matcher was built from the names of another knowledge base")
        self._kb, self._matcher = kb, matcher
        self._ambiguous, self._prior, self._min_length = ambiguous, prior, min_length
        self._files: tuple[Path, Path] | None = None
        self._starts, self._rows = self._targets()

    @classmethod
    def open(
        cls,
        knowledge: Path,
        names: Path,
        *,
        ambiguous: Ambiguous = "skip",
        prior: Mapping[str, int] | None = None,
        min_length: int = 2,
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
        linker = cls(kb, ambiguous=ambiguous, prior=prior, min_length=min_length, matcher=matcher)
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
        kept = _linkable(self._kb.forms, self._min_length)[form]
        if self._ambiguous == "skip":
            kept &= (sizes == 1)[form]
        elif self._ambiguous == "common" and len(form):
            count = self._counts()[rows]
            is_best = count == np.maximum.reduceat(count, starts[:-1])[form]
            alone = np.add.reduceat(is_best, starts[:-1], dtype=np.int64) == 1
            kept &= (sizes == 1)[form] | (is_best & alone[form] & (count > 0))
        ends = np.cumsum(np.bincount(form[kept], minlength=len(sizes)))
        return np.append(0, ends), rows[kept]

    def _counts(self) -> IntArray:
        counts = np.zeros(len(self._kb), np.int64)
        for entity, count in (self._prior or {}).items():
            if (row := self._kb.row(entity)) is not None:
                counts[row] = count
        return counts

    def __reduce__(self) -> tuple[object, ...]:
        options: dict[str, Any] = {
            "ambiguous": self._ambiguous,
            "prior": self._prior,
            "min_length": self._min_length,
        }
        if self._files is not None:
            return partial(DictionaryLinker.open, **options), self._files
        return partial(DictionaryLinker, matcher=self._matcher, **options), (self._kb,)


def _linkable(forms: Any, min_length: int) -> NDArray[np.bool_]:
    """Which forms are long enough and have a letter."""
    length = pc.utf8_length(pc.replace_substring(forms, " ", ""))
    has_letter: NDArray[np.bool_] = _numpy(pc.match_substring_regex(forms, "[A-Za-z]"))
    others = np.flatnonzero(~has_letter)  # few where names are in Latin letters
    for number, form in zip(others.tolist(), forms.take(others).to_pylist(), strict=True):
        has_letter[number] = any(map(str.isalpha, form))
    return has_letter & (_numpy(length) >= min_length)


def _numpy(array: Any) -> NDArray[Any]:
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values
