"""The words of a surface."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.text import tokens
from synsetmine.types import Term
from tests.strategies import terms


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("U.S._Steel", ("u", "s", "steel")),
        ("new_york", ("new", "york")),
        ("__new__york__", ("new", "york")),
        ("New York\tCity\u00a0Hall", ("new", "york", "city", "hall")),
        ("o'brien-smith (jr.)", ("o", "brien", "smith", "jr")),
        ("vitamin_b12", ("vitamin", "b12")),
        ("new new", ("new", "new")),
        ("STRASSE", ("strasse",)),
        ("Straße", ("strasse",)),
        ("東京_都", ("東京", "都")),
        ("שלום עולם", ("שלום", "עולם")),
        ("_ ,'😀", ()),
        ("", ()),
    ],
)
def test_words(surface: str, expected: tuple[str, ...]) -> None:
    assert tokens(surface) == expected


@given(terms())
def test_words_are_folded_and_hold_letters_and_digits_only(term: Term) -> None:
    for token in tokens(term.surface):
        assert token.isalnum()
        assert token.casefold() == token


@given(terms(), st.sampled_from(["_", " ", ", ", "\t"]))
def test_the_words_joined_again_have_the_same_words(term: Term, separator: str) -> None:
    words = tokens(term.surface)
    assert tokens(separator.join(words)) == words


@given(terms())
def test_case_does_not_matter(term: Term) -> None:
    assert tokens(term.surface.casefold()) == tokens(term.surface)
