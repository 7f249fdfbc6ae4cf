"""Which terms to mine: known names, rejected surfaces, frequent phrases, and a user's list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from synsetmine.corpus.store import batch_sizes, texts_of
from synsetmine.dictionary import NameMatcher
from synsetmine.engines import Engine, LocalEngine
from synsetmine.files import write_text
from synsetmine.text import normal_form
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


def count_terms(
    documents: Path,
    terms: Sequence[Term],
    *,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[Term, int]:
    """How often each term stands in a stored corpus, as a whole and not within a longer one."""
    forms = term_forms(terms)
    counter = _TermCounter(NameMatcher.build(forms))
    totals = np.zeros(len(forms), dtype=np.int64)
    read = 0
    found = (engine or LocalEngine(1)).map_batches(counter, documents, ["text"])
    for size, counts in zip(batch_sizes(documents), found, strict=True):
        totals[counts.column("form").to_numpy()] += counts.column("count").to_numpy()
        read += size
        if progress:
            progress(read)
    count_of = Counter(dict(zip(forms, totals.tolist(), strict=True)))
    return {term: count_of[normal_form(term.surface)] for term in terms}


@dataclass(frozen=True)
class _TermCounter:
    """Texts to the numbers of the forms that stand there, with how often each does."""

    matcher: NameMatcher

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        found = self.matcher.find(texts_of(batch)).form
        forms, counts = np.unique(found.astype(np.int64), return_counts=True)
        return pa.record_batch({"form": forms, "count": counts})


def write_vocabulary(path: Path, counts: Mapping[Term, int]) -> None:
    """One term a line, a tab and its count: what `read_vocabulary` reads."""
    write_text(path, "".join(f"{term}\t{count}\n" for term, count in counts.items()))
