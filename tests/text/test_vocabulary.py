"""Which terms to mine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from synsetmine.engines import LocalEngine
from synsetmine.engines.base import FEW
from synsetmine.io.sets import read_vocabulary
from synsetmine.normalization import normal_form, tokens
from synsetmine.text.counters import count_together
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.vocabulary import (
    TermCounter,
    TermTable,
    by_frequency,
    candidate_terms,
    term_forms,
    word_variants,
    write_vocabulary,
)
from synsetmine.types import Term
from tests.support.corpusfiles import store_texts


def count_terms(
    documents: Path, terms: Sequence[Term], engine: LocalEngine | None = None
) -> dict[Term, int]:
    table = counted_terms(documents, term_forms(terms), engine)
    return {term: table.counts[normal_form(term.surface)] for term in terms}


def counted_terms(
    documents: Path, forms: Sequence[str], engine: LocalEngine | None = None
) -> TermTable:
    table, matcher = TermTable(forms), NameMatcher.build(forms)
    for counted in count_together(
        documents, {"terms": TermCounter()}, matcher=matcher, engine=engine
    ):
        table.add(counted.tables["terms"])
    return table


def test_terms_are_written_as_most_texts_write_them() -> None:
    texts = [
        ["Heart failure. Heart\n failure."],
        ["heart-failure", "a heart failure heart failure"],
    ]
    table = counted_terms(store_texts(texts), ["heart failure", "never"])
    assert table.spellings == {"heart failure": "Heart failure"}  # equal counts: by the alphabet
    assert table.counts == {"heart failure": 5, "never": 0}


def test_the_first_source_says_how_a_term_is_written() -> None:
    known = [Term("Heart failure"), Term("Mercury", "planet"), Term("Mercury", "element")]
    rejected = [Term("HEART-FAILURE"), Term("mercury"), Term("U.S. Steel"), Term("?!")]
    phrases = [Term("u s steel"), Term("blood pressure")]
    assert candidate_terms(known, rejected, phrases) == [
        *known,
        Term("U.S. Steel"),
        Term("blood pressure"),
    ]


def test_terms_with_one_normal_form_share_it() -> None:
    terms = [Term("Heart-Failure", "x"), Term("heart failure", "y"), Term("WHO"), Term("!")]
    assert term_forms(terms) == ["heart failure", "WHO"]


def test_inflections_of_known_names_of_one_word_are_terms() -> None:
    counts = {
        "platelets": 9,
        "platelet": 9,
        "leukaemias": 9,
        "erythrocytes": 2,
        "aids": 9,
        "cells": 9,
        "the": 9,
        "thes": 9,
    }
    known = ["platelet", "leukemia", "erythrocyte", "AIDS", "red cell", "the"]
    terms = word_variants(counts, known, min_count=5)
    assert terms == [Term("platelets"), Term("leukaemias")]


def test_the_most_frequent_come_first() -> None:
    counts = {Term("b"): 3, Term("a"): 3, Term("c"): 9, Term("d"): 1}
    assert list(by_frequency(counts, min_count=2).items()) == [
        (Term("c"), 9),
        (Term("a"), 3),
        (Term("b"), 3),
    ]
    assert list(by_frequency(counts, max_terms=1)) == [Term("c")]


@given(
    st.dictionaries(st.sampled_from("abcdefgh").map(Term), st.integers(0, 5)),
    st.sets(st.sampled_from("abcdefgh")),
    st.integers(0, 6),
    st.integers(0, 4),
)
def test_listed_terms_stay_however_rare(
    counts: dict[Term, int], always: set[str], min_count: int, max_terms: int
) -> None:
    chosen = by_frequency(counts, min_count=min_count, max_terms=max_terms, always=always)
    others = {term: n for term, n in counts.items() if term.surface not in always}
    expected = by_frequency(others, min_count=min_count, max_terms=max_terms)
    expected |= {term: n for term, n in counts.items() if term.surface in always}
    assert chosen == expected
    assert list(chosen) == list(by_frequency(expected))


def test_terms_are_counted_as_wholes() -> None:
    terms = [
        Term("heart"),
        Term("Heart failure"),
        Term("WHO"),
        Term("who"),
        Term("x", "1"),
        Term("x", "2"),
    ]
    texts = [["Heart failure, heart-failure; the heart."], ["WHO? Who knows; x"]]
    counts = count_terms(store_texts(texts), terms)
    assert counts == {
        Term("heart"): 1,
        Term("Heart failure"): 2,
        Term("WHO"): 1,
        Term("who"): 1,
        Term("x", "1"): 1,
        Term("x", "2"): 1,
    }


def test_places_that_are_not_whole_are_counted_apart() -> None:
    texts = ["ChIP sequencing (ChIP seq), IgG anti-CD3", "IgG anti; sequencing ChIP", "x-y z"]
    forms = ["sequencing chip", "igg anti", "y", "z", "y z"]
    table = counted_terms(store_texts([texts[:1], texts[1:]]), forms)
    assert table.counts == {"sequencing chip": 2, "igg anti": 2, "y": 0, "z": 0, "y z": 1}
    assert table.whole_counts == {"sequencing chip": 1, "igg anti": 1, "y": 0, "z": 0, "y z": 0}
    assert table.spellings == {"sequencing chip": "sequencing ChIP", "igg anti": "IgG anti"}


def test_workers_count_the_same() -> None:
    batches = [[f"heart failure {i}, a heart"] for i in range(FEW)]
    terms = [Term("heart"), Term("heart failure"), Term("3")]
    counts = count_terms(store_texts(batches), terms, engine=LocalEngine(2))
    assert counts == dict(zip(terms, (FEW, FEW, 1), strict=True))


@given(st.lists(st.sampled_from(["a b", "b", "c", "a", "b c"]), unique=True), st.text("abc. "))
def test_counts_are_those_of_a_naive_scan(surfaces: list[str], text: str) -> None:
    words, position, naive = tokens(text), 0, dict.fromkeys(map(Term, surfaces), 0)
    while position < len(words):
        for length in (2, 1):
            form = " ".join(words[position : position + length])
            if Term(form or "?") in naive and len(words) - position >= length:
                naive[Term(form)] += 1
                position += length
                break
        else:
            position += 1
    assert count_terms(store_texts([[text]]), [Term(s) for s in surfaces]) == naive
    assert all(normal_form(term.surface) == term.surface for term in naive)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    counts = {Term("heart failure"): 5, Term("x", "y"): 2}
    write_vocabulary(tmp_path / "v.tsv", counts)
    assert read_vocabulary(tmp_path / "v.tsv").counts == counts
