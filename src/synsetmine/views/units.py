"""The corpus as units: a term of the vocabulary is one unit, any other word one of its own.

Terms are found by `NameMatcher`, so what counts as an occurrence here is what counts as one
everywhere. Each match is then replaced by a mark, and one regular expression cuts what remains
into words, marks and the ends of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from synsetmine.corpus.store import texts_of
from synsetmine.dictionary import NameMatcher
from synsetmine.engines import Engine
from synsetmine.text import SIGN, WORD, fold

Within = Literal["text", "sentence"]

TERM, TEXT_END = "\0", "\1"
MOST_FORMS = 4_000_000  # distinct units that are counted at a time; then the rare ones go

# Words as in `text.tokens`, where a mark counts as a letter after `+` and `#`. A sentence ends
# with a mark and a blank, unless a small letter follows or a single letter stands before it.
_PARTS = re.compile(
    rf"(?=[^\W_])(?:{SIGN}|{WORD}(?:[+#]+(?![^\W_]|{TERM}))?)|[{TERM}{TEXT_END}。！？]"
    r"|(?<!\W[^\W\d_])[.!?]['\"”’)\]]*\s(?!\s*['\"“‘(\[]*[a-zß-öø-ÿ])|\n\s*\n"
)


@dataclass(frozen=True, eq=False)
class Units:
    """The units of some texts from left to right: one entry of the arrays for each."""

    forms: tuple[str, ...]  # the distinct units
    unit: NDArray[np.int32]  # the number of the form
    sentence: NDArray[np.int32]  # from 0, through all the texts
    text: NDArray[np.int32]  # the number of the text

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each form stands there."""
        return np.bincount(self.unit, minlength=len(self.forms))

    def place(self, within: Within) -> NDArray[np.int32]:
        """The number of the text or of the sentence in which each unit stands."""
        return self.text if within == "text" else self.sentence


class UnitReader:
    """Cuts texts into units; a pure function of the texts that can travel to worker processes."""

    def __init__(self, forms: Sequence[str]) -> None:
        self._forms = forms
        self._matcher = NameMatcher.build(forms)

    def __call__(self, texts: Sequence[str]) -> Units:
        # Same lengths, so that the places of the matches stay right.
        clean = [text.replace(TERM, " ").replace(TEXT_END, " ") for text in texts]
        marked, found = self._mark(clean)
        parts = _PARTS.findall(marked)
        distinct = {part: number for number, part in enumerate(dict.fromkeys(parts))}
        part = np.fromiter(map(distinct.__getitem__, parts), np.int32, len(parts))
        number_of: dict[str, int] = {}
        unit_of = np.array([_unit(word, number_of) for word in distinct], np.int32)
        unit = unit_of[part]  # of ends: -1
        if TERM in distinct:
            known, form = np.unique(found, return_inverse=True)
            names = [self._forms[number] for number in known.tolist()]
            numbers = [number_of.setdefault(name, len(number_of)) for name in names]
            unit[part == distinct[TERM]] = np.array(numbers, np.int32)[form]
        stays = unit >= 0
        return Units(
            forms=tuple(number_of),
            unit=unit[stays],
            sentence=np.cumsum(~stays, dtype=np.int32)[stays],
            text=np.cumsum(part == distinct.get(TEXT_END, -1), dtype=np.int32)[stays],
        )

    def _mark(self, texts: Sequence[str]) -> tuple[str, NDArray[np.int64]]:
        """All texts in one string with a mark for each match, and the forms of the marks."""
        matches = self._matcher.find(texts)
        joined = TEXT_END.join(texts)
        begins = np.cumsum([0, *(len(text) + 1 for text in texts)])[matches.text]
        starts, ends = (begins + matches.start).tolist(), (begins + matches.end).tolist()
        between = zip([0, *ends], [*starts, len(joined)], strict=True)
        return TERM.join(joined[start:end] for start, end in between), matches.form


def count_units(
    documents: Path,
    reader: UnitReader,
    *,
    engine: Engine,
    progress: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """How often each unit stands in a stored corpus; `progress` is told the batches done.

    Where there are more than `MOST_FORMS` distinct ones, the rarest are forgotten on the way,
    those that a counter of bounded size can not tell from misspellings.
    """
    totals: dict[str, int] = {}
    found = engine.map_batches(_Counter(reader), documents, ["text"])
    for done, batch in enumerate(found, start=1):
        forms, counts = (column.to_pylist() for column in batch.columns)
        for form, count in zip(forms, counts, strict=True):
            totals[form] = totals.get(form, 0) + count
        floor = 1
        while len(totals) > MOST_FORMS:
            totals = {form: count for form, count in totals.items() if count > floor}
            floor *= 2
        if progress:
            progress(done)
    return totals


def frequent_units(counts: Mapping[str, int], min_count: int) -> list[str]:
    """The units seen often enough, most frequent first; equal counts by the alphabet."""
    often = (form for form, count in counts.items() if count >= min_count)
    return sorted(often, key=lambda form: (-counts[form], form))


@dataclass(frozen=True)
class _Counter:
    reader: UnitReader

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        units = self.reader(texts_of(batch))
        forms = pa.array(units.forms, pa.string())
        return pa.record_batch({"form": forms, "count": units.counts})


def _unit(part: str, number_of: dict[str, int]) -> int:
    """The number of a word's form; -1 for an end. The mark of a term is no end."""
    if part == TERM:
        return 0
    if not part[0].isalnum():
        return -1
    return number_of.setdefault(fold(part), len(number_of))
