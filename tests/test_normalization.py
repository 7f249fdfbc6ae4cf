"""The words of a surface."""

from __future__ import annotations

from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.normalization import fold, normal_form, token_spans, tokens
from synsetmine.types import Term
from tests.support.strategies import terms

# Letters and marks that go together, or seem to.
COMPOSING = "aeiİIıJHnй\u0301\u0307\u030c\u0323\u0331\u0345\u3099かαΐᾳ一 +-\u1100\u1161"

# Letters of several scripts that change with their neighbours, and invisible characters.
SEVERAL = "ab+é\u0301ʼ\u00ad\u200b\u200f\u0640مאָَﻻﾊﾞＷกเา้ๆກໄាម្ពုမင်္ကုំ한ᄒ漢\ufe0f๒"


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
        ("İzmir".lower(), ("izmir",)),
        ("cafe\u0301s", ("cafés",)),
        ("CAFE\u0301", ("café",)),
        ("ÉTÉ", ("été",)),
        ("x\u0301y\u0302+ z", ("x\u0301ŷ+", "z")),
        ("\u0301a \u0301", ("a",)),
        ("हिन्दी भाषा", ("हिन्दी", "भाषा")),
        ("ภาษาไทย ปี๒๕๖๗", ("ภา", "ษา", "ไท", "ย", "ปี", "๒๕๖๗")),
        ("ປະເທດລາວ", ("ປະ", "ເທ", "ດ", "ລາ", "ວ")),
        ("កម្ពុជា", ("ក", "ម្ពុ", "ជា")),
        ("မြန်မာ သီရိလင်္ကာ", ("မြန်", "မာ", "သီ", "ရိ", "လင်္ကာ")),
        ("שָׁלוֹם", ("שלום",)),
        ("مُحَمَّد محـــمد ﻻ", ("محمد", "محمد", "لا")),
        ("Herz\u00adinfarkt \u200bAspi\u200brin\u200b", ("herzinfarkt", "aspirin")),
        ("می\u200cخواهم", ("میخواهم",)),
        ("ＣＯ２ ＷＨＯ ｼﾞｬﾊﾟﾝ", ("co2", "who", "ジ", "ャ", "パ", "ン")),
        ("Кам'янка Камʼянка", ("кам", "янка", "кам", "янка")),
        ("か\u3099き", ("が", "き")),
        ("\u1112\u1161\u11ab글", ("한글",)),
        ("ΐ", ("ΐ",)),
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
        assert all(category(char)[0] in "LNM" for char in token.rstrip("+#"))
        assert fold(token) == token


@given(terms(), st.sampled_from(["_", " ", ", ", "\t"]))
def test_the_words_joined_again_have_the_same_words(term: Term, separator: str) -> None:
    words = tokens(term.surface)
    assert tokens(separator.join(words)) == words


@given(terms())
def test_case_does_not_matter(term: Term) -> None:
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
        ("ＷＨＯ", "WHO"),
        ("W\u00adHO", "WHO"),
    ],
)
def test_normal_form(surface: str, expected: str) -> None:
    assert normal_form(surface) == expected


@given(st.text() | st.text(st.sampled_from(SEVERAL)))
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)


@given(st.text(st.sampled_from(COMPOSING)))
def test_composed_or_not_a_text_has_the_same_words(text: str) -> None:
    composed, apart = normalize("NFC", text), normalize("NFD", text)
    assert tokens(text) == tokens(composed) == tokens(apart)
    assert normal_form(text) == normal_form(composed) == normal_form(apart)
    for words in (tokens(text), normal_form(text).split()):
        assert all(normalize("NFC", word) == word for word in words)


@given(st.text() | st.text(st.sampled_from(SEVERAL)))
def test_spans_are_where_the_tokens_stand(text: str) -> None:
    assert tuple(fold(text[start:end]) for start, end in token_spans(text)) == tokens(text)
