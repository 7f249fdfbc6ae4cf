"""Which terms to mine: known names, rejected surfaces, frequent phrases, and a user's list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from synsetmine.io.files import write_text
from synsetmine.normalization import is_whole, normal_form
from synsetmine.text.counters import TextBatch
from synsetmine.types import Term


def candidate_terms(*sources: Iterable[Term]) -> list[Term]:
    """The terms of several sources, each normal form once: as the first source has it.

    The senses of a name stand beside each other if one source has them.
    """
    source_of: dict[str, int] = {}
    chosen: dict[Term, None] = {}
    for number, source in enumerate(sources):
        for term in source:
            form = normal_form(term.surface)
            if form and source_of.setdefault(form, number) == number:
                chosen[term] = None
    return list(chosen)


def term_forms(terms: Iterable[Term]) -> list[str]:
    """The distinct normal forms of terms; the senses of one surface share theirs."""
    return list(dict.fromkeys(form for term in terms if (form := normal_form(term.surface))))


def by_frequency(
    counts: Mapping[Term, int],
    *,
    min_count: int = 0,
    max_terms: int | None = None,
    always: Iterable[str] = (),
) -> dict[Term, int]:
    """The terms seen often enough, most frequent first; equal counts by the alphabet.

    Terms whose normal form is in `always` stay however rare they are, beyond `max_terms`.
    """
    forms = frozenset(always)
    chosen = [term for term in counts if normal_form(term.surface) in forms]
    often = [term for term in counts.keys() - chosen if counts[term] >= min_count]

    def rank(term: Term) -> tuple[int, Term]:
        return -counts[term], term

    chosen += sorted(often, key=rank)[:max_terms]
    return {term: counts[term] for term in sorted(chosen, key=rank)}


@dataclass(frozen=True)
class TermCounter:
    """How often each name stands in a batch in which way, as a whole and not within a longer one.

    A surface has runs of whitespace as one space. It is null for places of several words that
    are not whole (`text.is_whole`), such as "sequencing (ChIP" and "IgG anti" of "IgG anti-CD3".
    """

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        texts = batch.texts
        places = zip(*(column.tolist() for column in batch.matches.columns), strict=True)
        counts = Counter(
            (form, _surface(texts[text], start, end)) for text, start, end, form in places
        )
        forms, surfaces = zip(*counts, strict=True) if counts else ((), ())
        columns = [
            pa.array(forms, pa.int64()),
            pa.array(surfaces, pa.string()),
            pa.array(counts.values(), pa.int64()),
        ]
        return pa.record_batch(columns, ["form", "surface", "count"])


class TermTable:
    """Adds up what `TermCounter` finds in a corpus; the number of a form is its position."""

    def __init__(self, forms: Sequence[str]) -> None:
        self._forms = forms
        self._surfaces: list[Counter[str]] = [Counter() for _ in forms]
        self._not_whole: Counter[int] = Counter()

    def add(self, counted: pa.RecordBatch) -> None:
        columns = (column.to_pylist() for column in counted.columns)
        for form, surface, count in zip(*columns, strict=True):
            if surface is None:
                self._not_whole[form] += count
            else:
                self._surfaces[form][surface] += count

    @property
    def counts(self) -> dict[str, int]:
        """How often each form stands in the corpus."""
        whole = self.whole_counts
        return {form: whole[form] + self._not_whole[i] for i, form in enumerate(self._forms)}

    @property
    def whole_counts(self) -> dict[str, int]:
        """How often each form stands in the corpus with sound borders."""
        return {f: c.total() for f, c in zip(self._forms, self._surfaces, strict=True)}

    @property
    def spellings(self) -> dict[str, str]:
        """How each form that stands in the corpus with sound borders is written most often."""
        return {
            form: min(counts, key=lambda surface: (-counts[surface], surface))
            for form, counts in zip(self._forms, self._surfaces, strict=True)
            if counts
        }


def _surface(text: str, start: int, end: int) -> str | None:
    surface = text[start:end]
    if surface.isalnum():  # most are: a single word, which is whole
        return surface
    if " " in normal_form(surface) and not is_whole(text, start, end):
        return None
    return " ".join(surface.split())


def write_vocabulary(path: Path, counts: Mapping[Term, int]) -> None:
    """One term a line, a tab and its count: what `read_vocabulary` reads."""
    write_text(path, "".join(f"{term}\t{count}\n" for term, count in counts.items()))
