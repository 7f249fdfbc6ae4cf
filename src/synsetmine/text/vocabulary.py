"""The terms to mine, and the corpus as units: each term and each other word is one unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from synsetmine.engines import Engine
from synsetmine.io.files import write_text
from synsetmine.io.tables import read_table, write_table
from synsetmine.normalization import SIGN, WORD, fold, is_whole, normal_form
from synsetmine.text.counters import BatchCounter, TextBatch, count_together
from synsetmine.text.matcher import Matches, NameMatcher
from synsetmine.text.tokens import BORDER, STOP_WORDS, tokens_of
from synsetmine.text.word_forms import stem
from synsetmine.types import Term


def candidate_terms(*sources: Iterable[Term]) -> list[Term]:
    """The terms of several sources, each normal form once: as the first source has it.

    The senses of a name are all kept if one source has them.
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


def word_variants(counts: Mapping[str, int], known: Iterable[str], *, min_count: int) -> list[Term]:
    """The frequent words that are a known name of one word in another number or spelling.

    Both are normal forms. Those in capitals are abbreviations: *aids* is no plural of *AIDS*.
    """
    words = {form for form in known if form.isalpha() and form.islower()} - STOP_WORDS
    stems = {*map(stem, words)}
    return [
        Term(word)
        for word, count in counts.items()
        if count >= min_count and word not in words and stem(word) in stems
    ]


@dataclass(frozen=True)
class TermCounter:
    """How often each name occurs in a batch, by spelling, as a whole and not within a longer one.

    A surface has runs of whitespace as one space. It is null for places of several words that
    are not whole (`text.is_whole`), such as "sequencing (ChIP" and "IgG anti" of "IgG anti-CD3".
    """

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        texts = batch.texts
        matches = zip(*(column.tolist() for column in batch.matches.columns), strict=True)
        counts = Counter(
            (form, _surface(texts[text], start, end)) for text, start, end, form in matches
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

    def add(self, batch: pa.RecordBatch) -> None:
        columns = (column.to_pylist() for column in batch.columns)
        for form, surface, count in zip(*columns, strict=True):
            if surface is None:
                self._not_whole[form] += count
            else:
                self._surfaces[form][surface] += count

    @property
    def counts(self) -> dict[str, int]:
        """How often each form occurs in the corpus."""
        whole = self.whole_counts
        return {form: whole[form] + self._not_whole[i] for i, form in enumerate(self._forms)}

    @property
    def whole_counts(self) -> dict[str, int]:
        """How often each form occurs in the corpus with sound borders."""
        return {f: c.total() for f, c in zip(self._forms, self._surfaces, strict=True)}

    @property
    def spellings(self) -> dict[str, str]:
        """The most frequent spelling of each form that occurs with sound borders."""
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


TERM, TEXT_END = "\0", "\1"
_COLUMNS = ["form", "count"]
MOST_FORMS = 4_000_000  # distinct units that are counted at a time; then the rare ones go

# Words as in `text.tokens`, where a mark counts as a letter after `+` and `#`.
_PARTS = re.compile(rf"(?=[^\W_])(?:{SIGN}|{WORD}(?:[+#]+(?![^\W_]|{TERM}))?)|[{TERM}{TEXT_END}]")


@dataclass(frozen=True, eq=False)
class Units:
    """The units of some texts from left to right: one entry of the arrays for each."""

    forms: tuple[str, ...]  # the distinct units
    unit: NDArray[np.int32]  # the number of the form
    text: NDArray[np.int32]  # the number of the text

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each form occurs."""
        return np.bincount(self.unit, minlength=len(self.forms))


def units_of(texts: Sequence[str], matches: Matches, forms: Sequence[str]) -> Units:
    """The units of some texts, where the names of these forms were matched.

    Each match is replaced by a mark, and one regular expression cuts what remains into words and
    marks.
    """
    marked = _mark_terms(texts, matches)
    parts = _PARTS.findall(marked)
    distinct = {part: number for number, part in enumerate(dict.fromkeys(parts))}
    part = np.fromiter(map(distinct.__getitem__, parts), np.int32, len(parts))
    number_of: dict[str, int] = {}
    unit_of = np.array([_unit(word, number_of) for word in distinct], np.int32)
    unit = unit_of[part]  # of the ends of texts: -1
    if TERM in distinct:
        known, form = np.unique(matches.form, return_inverse=True)
        names = [forms[number] for number in known.tolist()]
        numbers = [number_of.setdefault(name, len(number_of)) for name in names]
        unit[part == distinct[TERM]] = np.array(numbers, np.int32)[form]
    stays = unit >= 0
    return Units(
        forms=tuple(number_of),
        unit=unit[stays],
        text=np.cumsum(~stays, dtype=np.int32)[stays],
    )


def _mark_terms(texts: Sequence[str], matches: Matches) -> str:
    """All texts in one string with a mark for each match."""
    # Same lengths, so that the places of the matches stay right.
    joined = TEXT_END.join(text.replace(TERM, " ").replace(TEXT_END, " ") for text in texts)
    begins = np.cumsum([0, *(len(text) + 1 for text in texts)])[matches.text]
    starts, ends = (begins + matches.start).tolist(), (begins + matches.end).tolist()
    between = zip([0, *ends], [*starts, len(joined)], strict=True)
    return TERM.join(joined[start:end] for start, end in between)


def count_forms(
    documents: Path,
    counter: BatchCounter,
    *,
    matcher: NameMatcher | None = None,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """How often a `WordCounter` or `UnitCounter` finds each form in a stored corpus."""
    totals = FormCounts()
    for batch in count_together(
        documents, {"forms": counter}, matcher=matcher, engine=engine, progress=progress
    ):
        totals.add(batch.tables["forms"])
    return totals.counts


@dataclass(frozen=True)
class UnitCounter:
    """How often each unit occurs in a batch; the matcher knows these forms."""

    forms: Sequence[str]

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        units = units_of(batch.texts, batch.matches, self.forms)
        return pa.record_batch([pa.array(units.forms, pa.string()), units.counts], _COLUMNS)


@dataclass(frozen=True)
class WordCounter:
    """How often each word occurs in a batch, within names too."""

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        counts: Counter[str] = Counter()
        for piece in tokens_of(batch.texts):
            counts.update(piece.words)
        del counts[BORDER]
        columns = [pa.array(counts.keys(), pa.string()), pa.array(counts.values(), pa.int64())]
        return pa.record_batch(columns, _COLUMNS)


class FormCounts:
    """Adds up tables of forms and counts in bounded memory.

    Where there are more than `MOST_FORMS` distinct forms, the rarest are dropped on the way,
    which in a counter of bounded size look like misspellings.
    """

    def __init__(self) -> None:
        self._table = pa.table([pa.array([], pa.string()), pa.array([], pa.int64())], _COLUMNS)
        self._waiting: list[pa.Table] = []

    def add(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(pa.Table.from_batches([batch]))
        if sum(map(len, self._waiting)) > max(len(self._table), MOST_FORMS // 4):
            self._merge()
        floor = 1
        while len(self._table) > MOST_FORMS:
            self._table = self._table.filter(pc.greater(self._table["count"], floor))
            floor *= 2

    @property
    def counts(self) -> dict[str, int]:
        """How often each form was counted."""
        self._merge()
        forms, counts = (self._table[name].to_pylist() for name in _COLUMNS)
        return dict(zip(forms, counts, strict=True))

    def _merge(self) -> None:
        every = pa.concat_tables([self._table, *self._waiting])
        self._waiting = []
        summed = every.group_by("form").aggregate([("count", "sum")])
        self._table = summed.select(["form", "count_sum"]).rename_columns(_COLUMNS)

    def save(self, path: Path) -> None:
        """Write a Parquet file, whole or not at all, most frequent first."""
        self._merge()
        order = [("count", "descending"), ("form", "ascending")]
        write_table(path, self._table.sort_by(order))

    @classmethod
    def load(cls, path: Path) -> FormCounts:
        """Read what `save` wrote."""
        counts = cls()
        counts._table = read_table(path, counts._table.schema, "counts")
        return counts


def frequent_units(counts: Mapping[str, int], min_count: int) -> list[str]:
    """The units seen often enough, most frequent first; equal counts by the alphabet."""
    often = (form for form, count in counts.items() if count >= min_count)
    return sorted(often, key=lambda form: (-counts[form], form))


def _unit(part: str, number_of: dict[str, int]) -> int:
    """The number of a word's form; -1 for the end of a text. Marks of terms get theirs later."""
    if part == TERM:
        return 0
    if part == TEXT_END:
        return -1
    return number_of.setdefault(fold(part), len(number_of))
