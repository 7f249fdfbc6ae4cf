"""Which terms to mine: known names, rejected surfaces, frequent phrases, or a list of one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from synsetmine.dictionary import NameMatcher
from synsetmine.files import write_text
from synsetmine.text import normal_form
from synsetmine.types import Term


def candidate_terms(
    known: Mapping[Term, int],
    *others: Mapping[Term, int],
    min_count: int = 5,
    max_terms: int | None = None,
) -> dict[Term, int]:
    """One vocabulary of several sources with their counts, most frequent first.

    Of the terms with one normal form the first source's stays, with the largest count that any
    source gives it; the senses of a known name stay beside each other.
    """
    counts: dict[Term, int] = dict(known)
    term_of: dict[str, Term] = {}
    for term in known:
        term_of.setdefault(normal_form(term.surface), term)
    for source in others:
        for term, count in source.items():
            form = normal_form(term.surface)
            if not form:
                continue
            shown = term_of.setdefault(form, term)
            counts[shown] = max(counts.get(shown, 0), count)
    often = [term for term, count in counts.items() if count >= min_count]
    often.sort(key=lambda term: (-counts[term], term))
    return {term: counts[term] for term in often[:max_terms]}


def count_terms(
    batches: Iterable[Sequence[str]],
    terms: Sequence[Term],
    *,
    progress: Callable[[int], None] | None = None,
) -> dict[Term, int]:
    """How often each term stands in the texts, as a whole and not within a longer one."""
    forms = list(dict.fromkeys(form for term in terms if (form := normal_form(term.surface))))
    matcher = NameMatcher.build(forms)
    totals = np.zeros(len(forms), dtype=np.int64)
    read = 0
    for texts in batches:
        totals += np.bincount(matcher.find(texts).form, minlength=len(forms))
        read += len(texts)
        if progress:
            progress(read)
    count_of = Counter(dict(zip(forms, totals.tolist(), strict=True)))
    return {term: count_of[normal_form(term.surface)] for term in terms}


def write_vocabulary(path: Path, counts: Mapping[Term, int]) -> None:
    """One term a line, a tab and its count: what `read_vocabulary` reads."""
    write_text(path, "".join(f"{term}\t{count}\n" for term, count in counts.items()))
