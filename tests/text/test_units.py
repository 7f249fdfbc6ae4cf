"""Texts as units, against a plain reading of the same rules."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.engines import LocalEngine
from synsetmine.engines.base import FEW
from synsetmine.normalization import normal_form, token_spans, tokens
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.vocabulary import UnitCounter, count_forms
from tests.support.corpusfiles import store_texts
from tests.support.textunits import read_units

quick = settings(max_examples=150, deadline=None)

WORDS = ["heart", "failure", "Heart", "WHO", "who", "C++", "c", "+x", "#", "心", "病", "3", "İst"]
GLUE = [" ", "-", ". ", ", ", "\n", "\n\n", "", "\0", "\1", "_", "。", "+", "' ", ".) "]
FORMS = ["heart failure", "failure", "WHO", "c++", "x", "心 病", "3 heart", "failure c", "ist who"]

texts_of_words = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from(GLUE)), max_size=12
).map(lambda parts: "".join(word + glue for word, glue in parts))
any_texts = st.lists(texts_of_words | st.text(max_size=30), max_size=5)


def read(texts: list[str], forms: list[str]) -> list[list[str]]:
    """The units of each text."""
    units = read_units(texts, forms)
    found: list[list[str]] = [[] for _ in texts]
    for unit, text in zip(units.unit.tolist(), units.text.tolist(), strict=True):
        found[text].append(units.forms[unit])
    return found


def read_plainly(text: str, forms: set[str]) -> list[str]:
    """At each token the longest term that starts there, or else the token."""
    spans = [*token_spans(text)]
    found, at = [], 0
    while at < len(spans):
        for size in range(len(spans) - at, 0, -1):
            surface = text[spans[at][0] : spans[at + size - 1][1]]
            form = normal_form(surface)
            if form not in forms and size == 1:
                form = " ".join(tokens(surface))
            if form in forms:
                break
        found.append(form)
        at += size
    return found


@given(any_texts, st.sets(st.sampled_from(FORMS)))
@example(["c+x y"], {"x"})
@example(["c++\0x"], {"c++", "x"})
@quick
def test_units_are_those_of_a_plain_reading(texts: list[str], forms: set[str]) -> None:
    assert read(texts, sorted(forms)) == [read_plainly(text, forms) for text in texts]


@given(any_texts)
@quick
def test_without_terms_units_are_tokens(texts: list[str]) -> None:
    assert read(texts, []) == [[*tokens(text)] for text in texts]


def test_capitals_keep_their_case_only_as_a_term() -> None:
    text = "WHO, who and US told us"
    assert read([text], ["WHO"]) == [["WHO", "who", "and", "us", "told", "us"]]
    assert read([text], ["who"]) == [["who", "who", "and", "us", "told", "us"]]
    assert read([text], ["WHO", "US"]) == [["WHO", "who", "and", "US", "told", "us"]]


def test_units_have_the_number_of_their_text() -> None:
    units = read_units(["a b", "", "cc. D", "e", "一。\n\n二"])
    assert units.text.tolist() == [0, 0, 2, 2, 3, 4, 4]


def test_counts_are_of_the_forms() -> None:
    units = read_units(["A b, c. a-B a"], ["a b"])
    assert dict(zip(units.forms, units.counts.tolist(), strict=True)) == {"a b": 2, "c": 1, "a": 1}


@pytest.mark.parametrize("workers", [1, 2])
def test_units_are_counted_through_all_batches(workers: int) -> None:
    batches = [["Heart failure is a failure."], ["!"], ["a heart", "A."], *[["."]] * FEW]
    done: list[int] = []
    counts = count_forms(
        store_texts(batches),
        UnitCounter(["heart failure"]),
        matcher=NameMatcher.build(["heart failure"]),
        engine=LocalEngine(workers),
        progress=done.append,
    )
    assert counts == {"heart failure": 1, "is": 1, "a": 3, "failure": 1, "heart": 1}
    assert done == [1, 2, *range(4, FEW + 5)]


def test_the_rarest_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.text.vocabulary.MOST_FORMS", 3)
    batches = [["a a a b b c"], ["d e f"], ["a b d"]]
    counts = count_forms(store_texts(batches), UnitCounter([]))
    assert counts == {"a": 4, "b": 3, "d": 2}
    assert Counter(counts).most_common(1) == [("a", 4)]
