"""The weights of the character n-grams of strings.

The same as scikit-learn's `CountVectorizer(analyzer="char_wb")` with its `TfidfTransformer`, to
the last digits, without its import: that would take as long as all else that a question to a
saved model needs, but torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from synsetmine.workers import WorkerPool

LENGTHS = (2, 3, 4)
TEXTS = 25_000  # whose n-grams are counted at a time


def ngram_weights(texts: Sequence[str], pool: WorkerPool | None = None) -> Any:
    """tf-idf of the character n-grams within words, rows of length one: a scipy.sparse.csr_array.

    A text of blanks only has a row of zeros. The weights are float64: in float32 a sum over many
    n-grams would depend on their order in the sixth digit.
    """
    from scipy import sparse

    pool = pool or WorkerPool()
    parts = [texts[start : start + TEXTS] for start in range(0, len(texts), TEXTS)]
    counted = list(pool.map(_count_ngrams, parts))
    distinct = sorted({ngram for ngrams, _ in counted for ngram in ngrams})
    if not distinct:
        return sparse.csr_array((len(texts), 1))
    number_of = {ngram: number for number, ngram in enumerate(distinct)}
    for ngrams, counts in counted:
        numbers = np.array([number_of[ngram] for ngram in ngrams], np.int32)
        counts.indices = numbers[counts.indices]
        counts.resize((counts.shape[0], len(distinct)))
    weights = sparse.vstack([part for _, part in counted], format="csr", dtype=np.float64)
    counted.clear()  # a million texts have a gigabyte of n-grams
    _weigh(weights)
    return weights


def _count_ngrams(texts: Sequence[str]) -> tuple[list[str], Any]:
    """The distinct n-grams of some texts, sorted, and how often each text has each."""
    from scipy import sparse

    number_of: dict[str, int] = {}
    columns: list[int] = []
    ends = [0]
    for text in texts:
        columns += [number_of.setdefault(n, len(number_of)) for n in _ngrams(text)]
        ends.append(len(columns))
    distinct = sorted(number_of)
    place = np.empty(len(distinct), np.int32)
    place[[number_of[ngram] for ngram in distinct]] = np.arange(len(distinct))
    ones = np.ones(len(columns), np.float32)
    shape = (len(texts), len(distinct))
    counts = sparse.csr_array((ones, place[columns], np.array(ends, np.int32)), shape=shape)
    counts.sum_duplicates()
    return distinct, counts


def _ngrams(text: str) -> Iterator[str]:
    """Of each word with a blank on both sides; one that is too short for a length, once."""
    for word in text.split():
        padded = f" {word} "
        for length in LENGTHS:
            for start in range(max(1, len(padded) - length + 1)):
                yield padded[start : start + length]
            if len(padded) <= length:
                break


def _weigh(counts: Any) -> None:
    """Turn counts into weights: those that many texts have count less, then rows of length one."""
    texts = counts.shape[0]
    shared = np.bincount(counts.indices, minlength=counts.shape[1])  # texts that have an n-gram
    idf = np.log((texts + 1) / (shared + 1)) + 1
    counts.data *= idf[counts.indices]
    owner = np.repeat(np.arange(texts), np.diff(counts.indptr))
    lengths = np.sqrt(np.bincount(owner, counts.data**2, minlength=texts))
    counts.data /= lengths[owner]
