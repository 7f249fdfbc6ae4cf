"""The words of a surface."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from synsetmine.text import fold, normal_form, token_spans, tokens
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
        ("東京_都", ("東", "京", "都")),
        ("C++, C# and A+B", ("c++", "c#", "and", "a", "b")),
        ("CD4+ Na+/K+", ("cd4+", "na+", "k+")),
        ("İzmir", ("izmir",)),
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
        assert token.rstrip("+#").isalnum()
        assert token.casefold() == token


@given(terms(), st.sampled_from(["_", " ", ", ", "\t"]))
def test_the_words_joined_again_have_the_same_words(term: Term, separator: str) -> None:
    words = tokens(term.surface)
    assert tokens(separator.join(words)) == words


@given(terms())
def test_case_does_not_matter(term: Term) -> None:
    """But for letters that fold to a letter and a mark, such as `İ`; a mark ends a word."""
    letters = [char for char in term.surface if char.isalnum()]
    assume(all(char.casefold().isalnum() for char in letters))
    assert tokens(term.surface.casefold()) == tokens(term.surface)


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("Heart-Failure", "heart failure"),
        ("WHO", "WHO"),
        ("(WHO)", "WHO"),
        ("who", "who"),
        ("Who", "who"),
        ("UNICEF", "unicef"),
        ("WHO report", "who report"),
        ("U.S.", "u s"),
        ("B12", "B12"),
        ("12", "12"),
        ("C++", "C++"),
        ("--", ""),
    ],
)
def test_normal_form(surface: str, expected: str) -> None:
    assert normal_form(surface) == expected


@given(st.text())
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)


@given(st.text())
def test_spans_are_where_the_tokens_stand(text: str) -> None:
    assert tuple(fold(text[start:end]) for start, end in token_spans(text)) == tokens(text)
