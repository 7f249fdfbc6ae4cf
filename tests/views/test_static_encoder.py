"""The static name encoder."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from synsetmine.errors import ModelError
from synsetmine.text.tokens import name_words
from synsetmine.views.strings import (
    _NAMES_AT_ONCE,
    StaticEncoder,
    add_words,
    ngram_buckets,
    word_pieces,
)

PIECES = ("heart", "at", "##tack", "##s", "a", "##b")


def make_encoder(buckets: int = 50, dimension: int = 8) -> StaticEncoder:
    rng = np.random.default_rng(0)
    rows = len(PIECES) + buckets
    table = rng.integers(-127, 128, (rows, dimension)).astype(np.int8)
    return StaticEncoder(PIECES, table, rng.random(rows).astype(np.float32))


def test_words_are_folded() -> None:
    assert name_words("Café-Society, 2nd_ed. (C++)") == [
        *("cafe", "society", "2nd", "ed", "c", "+", "+"),
    ]
    assert name_words("...") == []
    assert name_words("U.S. Army, J.R.R. Tolkien e.g.") == ["us", "army", "jrr", "tolkien", "eg"]
    assert len(name_words("word " * 500_000)) <= 48


def test_the_longest_pieces_win() -> None:
    rows = {piece: row for row, piece in enumerate(PIECES)}
    assert word_pieces("attacks", rows) == [1, 2, 3]
    assert word_pieces("zab", rows) == [5]  # what no piece begins with is skipped
    assert word_pieces("", rows) == []


def test_ngrams_do_not_depend_on_the_process() -> None:
    assert list(ngram_buckets("ab", 1000)) == list(ngram_buckets("ab", 1000))
    assert len(list(ngram_buckets("ab", 1000))) == 2 + 1  # <ab ab> and <ab>


@given(st.lists(st.text(max_size=20), max_size=8))
def test_a_name_is_the_sum_of_its_words(names: list[str]) -> None:
    encoder = make_encoder()
    vectors = encoder.encode(names)
    assert vectors.shape == (len(names), 8)
    for name, vector in zip(names, vectors, strict=True):
        words = name_words(name)
        total = encoder.encode_words(words).sum(axis=0)
        length = np.linalg.norm(total)
        expected = total / length if length > 0 else total
        assert vector == pytest.approx(expected, abs=1e-4)


def test_sums_of_words_come_as_unit_rows_and_lengths() -> None:
    """Also in the second block of names, and for names without words."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((6, 4)).astype(np.float32)
    counts = rng.integers(2, size=(_NAMES_AT_ONCE + 50, 6)).astype(np.float32)
    rows, lengths = add_words(sparse.csr_array(counts), vectors)
    expected = counts @ vectors
    assert np.allclose(rows * lengths[:, None], expected, atol=1e-5)
    assert np.allclose(lengths, np.linalg.norm(expected, axis=1), atol=1e-5)
    empty = ~expected.any(axis=1)
    assert empty.any()
    assert not rows[empty].any()


def test_tables_without_room_for_ngrams_are_refused() -> None:
    with pytest.raises(ModelError, match="n-grams"):
        StaticEncoder(PIECES, np.zeros((6, 4), np.int8), np.zeros(6, np.float32))
    with pytest.raises(ModelError, match="scales"):
        StaticEncoder(PIECES, np.zeros((9, 4), np.int8), np.zeros(8, np.float32))


def test_marks_that_change_a_word_stay() -> None:
    """Accents of Latin letters go; vowel signs, voicing marks and other letters do not."""
    for words in (["दिन", "दान", "दीन"], ["パリ", "バリ"], ["мои", "мой"], ["कल", "काल"]):
        assert len({tuple(name_words(word)) for word in words}) == len(words)
    same = [("Besançon", "Besancon"), ("Łódź", "Łodz"), ("Nguyễn", "Nguyen"), ("مُحَمَّد", "محمد")]
    for one, other in same:
        assert name_words(one) == name_words(other)
    assert name_words("Lipitor™") == ["lipitor"]
    assert name_words("№5") == ["no5"]
