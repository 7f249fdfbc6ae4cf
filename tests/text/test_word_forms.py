"""Many names at once against one name at a time: words, n-grams, and vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from synsetmine.models.general import load_general
from synsetmine.text.word_forms import SpelledNames, spelled_words
from synsetmine.views import strings
from synsetmine.views.strings import ngram_weights, word_ngram_weights

NAMES = st.lists(
    st.text(alphabet="aeipruIV12 -'β!", min_size=1, max_size=12)
    | st.sampled_from(["Type II β-Haemolysis", "II", "anti-tumour IL2", "! !", "Vitamin B12"]),
    max_size=12,
)


@given(NAMES, NAMES)
def test_spelled_names_have_the_words_of_each_name(names: list[str], others: list[str]) -> None:
    spelled = SpelledNames.of(names).extend(others)
    assert len(spelled) == len(names) + len(others)
    assert len(set(spelled.words)) == len(spelled.words)
    for number, name in enumerate([*names, *others]):
        assert tuple(spelled.words_of(number)) == spelled_words(name)


@given(NAMES)
def test_ngrams_of_counted_words_are_those_of_the_texts(names: list[str]) -> None:
    """Also of words with whitespace inside, as names without letters have."""
    spelled = SpelledNames.of(names)
    texts = [" ".join(spelled.words_of(number)) for number in range(len(names))]
    shape = (len(names), max(len(spelled.words), 1))
    counts = sparse.csr_array((np.ones(len(spelled.numbers)), spelled.numbers, spelled.ends), shape)
    weights = word_ngram_weights(counts, spelled.words or [""])
    np.testing.assert_allclose(weights.toarray(), ngram_weights(texts).toarray(), atol=1e-12)


def test_vectors_do_not_depend_on_how_many_names_are_encoded_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = load_general().encoder
    names = [f"name {number} of {number % 7} things" for number in range(50)]
    whole = encoder.encode(names)
    monkeypatch.setattr(strings, "_NAMES_AT_ONCE", 7)
    np.testing.assert_array_equal(encoder.encode(names), whole)
