"""Many words looked up at once, against a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synsetmine.text.tokens import WordTable

# Lengths around 8 and 16 bytes, where a word is one number, two, or too long for that.
some_words = st.text(st.sampled_from("aäb漢𝕏"), min_size=1, max_size=20) | st.builds(
    str.__mul__, st.sampled_from("abä"), st.integers(1, 20)
)


def looked_up(table: WordTable, asked: list[str]) -> list[int]:
    """The words stand in a text with others around them."""
    letters = " ".join(["", *asked, ""]).encode()
    size = np.array([len(word.encode()) for word in asked], np.int64)
    ends = np.cumsum(size + 1)
    return [*map(int, table.find(np.frombuffer(letters, np.uint8), ends - size, ends))]


@given(st.lists(some_words, unique=True, max_size=30), st.lists(some_words, max_size=30))
@example(["a" * 16], ["a" * 15, "a" * 16, "a" * 17])
@example(["a" * 17, "a" * 9], ["a" * 8, "a" * 9, "a" * 16, "a" * 17, "a" * 18])
@settings(max_examples=500, deadline=None)
def test_the_number_of_a_word_is_its_position(words: list[str], others: list[str]) -> None:
    number_of = {word: number for number, word in enumerate(words)}
    asked = [*others, *reversed(words)]
    assert looked_up(WordTable(words), asked) == [number_of.get(word, -1) for word in asked]


def test_many_words_that_want_the_same_slots() -> None:
    words = [f"{letter}{number}" for letter in "abcd" for number in range(5000)]
    table = WordTable(words)
    assert looked_up(table, words) == list(range(len(words)))
    assert set(looked_up(table, [f"e{number}" for number in range(20_000)])) == {-1}


def test_slots_beyond_the_last_one_are_the_first_ones() -> None:
    # With so few words in so many tables, some word ends up behind the last slot.
    for number in range(300):
        words = [f"{number}x{i}" for i in range(7)]
        assert looked_up(WordTable(words), words) == list(range(7))


def test_an_empty_table_and_no_questions() -> None:
    assert looked_up(WordTable([]), ["a", "b" * 20]) == [-1, -1]
    assert looked_up(WordTable(["a"]), []) == []
