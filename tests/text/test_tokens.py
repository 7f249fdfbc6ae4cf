"""The tokens of many texts at once, against `text.tokens` text by text."""

from __future__ import annotations

import re
import sys
from itertools import groupby

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.normalization import fold, token_spans
from synsetmine.text import tokens as tokens_module
from synsetmine.text.tokens import BORDER, name_words, tokens_of

Found = list[list[tuple[str, int, int]]]  # by text: word, start, end

# Signs, blanks, letters that fold to one or more others, scripts without blanks, half characters.
PIECES = [
    *"abAB1+#_- .\n\0\x01\x1c\xa0²½ßİıẞŉﬁKéЖжΣςᾳꭰᎠ漢字々〇ア\u3099ｱ😀𝕏𐐀𠀀𱍐\U000e0001\ud800",
    *"ʼ\u00ad\u200b\u0640مَאָﻻﾊﾞＷ＋กเา้កម្ពမင်္한",
    "e\u0301",
]


def one_by_one(texts: list[str]) -> Found:
    return [[(fold(text[a:b]), a, b) for a, b in token_spans(text)] for text in texts]


def at_once(texts: list[str]) -> Found:
    found: dict[int, list[tuple[str, int, int]]] = {}
    for piece in tokens_of(texts):
        spans = zip(piece.words, piece.starts.tolist(), piece.ends.tolist(), strict=True)
        split = groupby(spans, lambda span: span[0] == BORDER)
        # Where two borders follow each other, a text between them has no token.
        offsets = piece.offsets.tolist()
        for number in piece.numbers.tolist():
            found[number] = []
        for is_border, group in split:
            for word, start, end in () if is_border else group:
                text = max(i for i, offset in enumerate(offsets) if offset <= start)
                place = found[int(piece.numbers[text])]
                place.append((word, start - offsets[text], end - offsets[text]))
        assert piece.words.count(BORDER) == len(offsets) - 1
    return [found[number] for number in range(len(texts))]


@given(
    st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=5),
    st.sampled_from([1, 8, 1 << 19]),
)
@example(["c++", "c++d", "c+d", "c+#+ d", "+c", "#", "a_+", "漢+", "漢+a", "a+漢", "ß+#x"], 8)
@example(["", "", "a", "", "漢", ""], 1 << 19)
@settings(max_examples=500, deadline=None)
def test_many_texts_have_the_tokens_of_each(texts: list[str], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens_module, "_PIECE", size)
        assert at_once(texts) == one_by_one(texts)


@given(st.lists(st.text(), max_size=4))
@settings(max_examples=200, deadline=None)
def test_any_text_at_all(texts: list[str]) -> None:
    assert at_once(texts) == one_by_one(texts)


@pytest.mark.slow
def test_every_character_of_unicode_in_a_word_before_a_sign_and_alone() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    letters = "".join(filter(str.isalnum, every))
    jamo = re.findall("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]", letters)
    letters = letters.translate(dict.fromkeys(map(ord, jamo)))
    text = "".join(f"a{char}b {char}+ {char}\n" for char in letters)
    parts = "".join(f"a{char}b " for char in jamo)
    others = " x".join(char for char in every if not char.isalnum())
    for piece in tokens_of([text, parts, others]):
        expected = list(token_spans(piece.joined))
        found = zip(piece.words, piece.starts.tolist(), piece.ends.tolist(), strict=True)
        kept = [(word, start, end) for word, start, end in found if word != BORDER]
        assert [(start, end) for _, start, end in kept] == expected
        assert [word for word, _, _ in kept] == [fold(piece.joined[a:b]) for a, b in expected]


def test_no_texts_have_no_tokens() -> None:
    assert list(tokens_of([])) == []
    assert at_once([""]) == [[]]


def test_invisible_characters_are_in_no_word_of_a_name() -> None:
    assert name_words("Herz\u00adinfarkt Aspi\u200brin") == ["herzinfarkt", "aspirin"]
