"""The weights of n-grams against those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from synsetmine.views import strings as ngrams
from synsetmine.views.strings import LENGTHS, ngram_weights

texts = st.lists(
    st.text(st.sampled_from(["a", "b", "é", "7", "-", " ", "\u00a0"]), max_size=12),
    min_size=1,
    max_size=9,
)


@given(texts)
def test_the_weights_are_those_of_scikit_learn(some: list[str]) -> None:
    some = [*some, "word"]  # it refuses a list without any
    reference = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(LENGTHS[0], LENGTHS[-1]), lowercase=False
    )
    expected = reference.fit_transform(some).toarray()
    np.testing.assert_allclose(ngram_weights(some).toarray(), expected, rtol=1e-12)


@given(texts)
def test_parts_make_no_difference(some: list[str]) -> None:
    whole = ngram_weights(some).toarray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "TEXTS_AT_ONCE", 2)
        assert np.array_equal(ngram_weights(some).toarray(), whole)


@pytest.mark.parametrize("some", [[], ["", " "]])
def test_nothing_has_no_weight(some: list[str]) -> None:
    weights = ngram_weights(some)
    assert (weights.shape, weights.nnz) == ((len(some), 1), 0)
