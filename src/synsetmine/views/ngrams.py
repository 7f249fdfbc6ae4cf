"""The weights of the character n-grams of strings.

The same as scikit-learn's `CountVectorizer(analyzer="char_wb")` with its `TfidfTransformer`, to
the last digits, without its import: that would take as long as all else that a question to a
saved model needs, but torch.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from synsetmine.workers import WorkerPool

LENGTHS = (2, 3, 4)
WORDS = 25_000  # whose n-grams are counted at a time
TEXTS = 25_000  # that are weighed at a time


def ngram_weights(
    texts: Sequence[str], pool: WorkerPool | None = None, dtype: npt.DTypeLike = np.float64
) -> Any:
    """tf-idf of the character n-grams within words, rows of length one: a scipy.sparse.csr_array.

    A text of blanks only has a row of zeros. The weights are computed in float64: in float32 a sum
    over many n-grams would depend on their order in the sixth digit.
    """
    number_of: dict[str, int] = {}
    words = _counts((text.split() for text in texts), number_of)  # (texts, words)
    return word_ngram_weights(words, list(number_of), pool, dtype)


def word_ngram_weights(
    counts: Any,
    words: Sequence[str],
    pool: WorkerPool | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> Any:
    """The same for texts of which is known how often each has each word: (texts, words)"""
    from scipy import sparse

    distinct, of_words = _word_ngrams(words, pool or WorkerPool())
    if not distinct:
        return sparse.csr_array((counts.shape[0], 1), dtype=dtype)
    ngrams = counts @ of_words  # N-grams do not cross words: (texts, n-grams)
    ngrams.sort_indices()
    return _weigh(ngrams, dtype)


def _word_ngrams(words: Sequence[str], pool: WorkerPool) -> tuple[list[str], Any]:
    """The distinct n-grams of words, sorted, and how often each word has each."""
    from scipy import sparse

    parts = [words[start : start + WORDS] for start in range(0, len(words), WORDS)]
    counted = list(pool.map(_count_ngrams, parts))
    distinct = sorted({ngram for ngrams, _ in counted for ngram in ngrams})
    number_of = {ngram: number for number, ngram in enumerate(distinct)}
    for ngrams, counts in counted:
        numbers = np.array([number_of[ngram] for ngram in ngrams], np.int32)
        counts.indices = numbers[counts.indices]
        counts.resize((counts.shape[0], len(distinct)))
    return distinct, sparse.vstack([part for _, part in counted], format="csr") if parts else None


def _count_ngrams(words: Sequence[str]) -> tuple[list[str], Any]:
    """The distinct n-grams of some words, and how often each word has each."""
    number_of: dict[str, int] = {}
    pieces = (chain.from_iterable(map(_ngrams, word.split())) for word in words)
    counts = _counts(pieces, number_of)
    return list(number_of), counts


def _counts(rows: Iterable[Iterable[str]], number_of: dict[str, int]) -> Any:
    """How often each row has each string: a scipy.sparse.csr_array. Fills `number_of`."""
    from scipy import sparse

    columns = array("i")
    ends = array("q", [0])
    for row in rows:
        columns.extend([number_of.setdefault(string, len(number_of)) for string in row])
        ends.append(len(columns))
    ones = np.ones(len(columns), np.float32)
    shape = (len(ends) - 1, len(number_of))
    counts = sparse.csr_array((ones, np.array(columns), np.array(ends)), shape=shape)
    counts.sum_duplicates()
    return counts


def _ngrams(word: str) -> Iterator[str]:
    """Of a word with a blank on both sides; if it is too short for a length, once."""
    padded = f" {word} "
    for length in LENGTHS:
        for start in range(max(1, len(padded) - length + 1)):
            yield padded[start : start + length]
        if len(padded) <= length:
            break


def _weigh(counts: Any, dtype: npt.DTypeLike) -> Any:
    """Turn counts into weights: those that many texts have count less, then rows of length one."""
    from scipy import sparse

    texts = counts.shape[0]
    shared = np.bincount(counts.indices, minlength=counts.shape[1])  # texts that have an n-gram
    idf = np.log((texts + 1) / (shared + 1)) + 1
    is_same = counts.data.dtype == np.dtype(dtype)
    values = counts.data if is_same else np.empty(len(counts.data), dtype)
    for start in range(0, texts, TEXTS):
        ends = counts.indptr[start : start + TEXTS + 1]
        part = slice(ends[0], ends[-1])
        weights = counts.data[part] * idf[counts.indices[part]]
        owner = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        lengths = np.sqrt(np.bincount(owner, weights**2, minlength=len(ends) - 1))
        values[part] = weights / lengths[owner]
    return sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
