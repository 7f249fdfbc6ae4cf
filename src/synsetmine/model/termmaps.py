"""Learned maps of a term: from what a view knows to a unit vector where synonyms lie close."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.errors import ModelError
from synsetmine.views import unit_rows
from synsetmine.views.strings import plain
from synsetmine.workers import WorkerPool

Floats: TypeAlias = npt.NDArray[np.float32]

LENGTHS = (2, 3, 4)  # of character n-grams
ROWS = 25_000  # of surfaces that are looked at a time


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x -> (x + shift) · matrix, to length one; rows of zeros, for terms that have none, stay."""

    shift: Floats  # (dimension,)
    matrix: Floats  # (dimension, dimension)

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.shift.shape != (len(self.matrix),):
            raise ModelError(f"a map of {self.shift.shape} and {self.matrix.shape} does not fit")

    def __call__(self, unit: Floats) -> Floats:
        known = (unit != 0).any(axis=1, keepdims=True)
        return unit_rows(((unit + self.shift) @ self.matrix * known).astype(np.float32))


@dataclass(frozen=True, eq=False)
class NgramMap:
    """The sum of a vector for each word and character n-gram of a string, to length one.

    It starts from nothing, so it learns which parts of names are mere variation ("syndrome",
    "inc") and which ones mean the same ("renal", "kidney").
    """

    ngrams: tuple[str, ...]
    idf: Floats  # (ngrams,)
    weights: Floats  # (ngrams, width)

    def __post_init__(self) -> None:
        if not len(self.ngrams) == len(self.idf) == len(self.weights) or self.weights.ndim != 2:
            shapes = f"{len(self.ngrams)}, {self.idf.shape} and {self.weights.shape}"
            raise ModelError(f"n-grams, their idf and their vectors differ in number: {shapes}")

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return {ngram: number for number, ngram in enumerate(self.ngrams)}

    def bags(self, surfaces: Sequence[str], pool: WorkerPool | None = None) -> Iterator[Any]:
        """tf-idf of the known n-grams, rows of length one: scipy.sparse, some rows at a time."""
        parts = [surfaces[start : start + ROWS] for start in range(0, len(surfaces), ROWS)]
        known = partial(weighted_bags, number_of=self._number_of, idf=self.idf)
        return (pool or WorkerPool()).map(known, parts)

    def __call__(self, surfaces: Sequence[str], pool: WorkerPool | None = None) -> Floats:
        none = np.zeros((0, self.weights.shape[1]), np.float32)
        sums = (np.asarray(bags @ self.weights, np.float32) for bags in self.bags(surfaces, pool))
        return np.concatenate([none, *map(unit_rows, sums)])


def weighted_bags(surfaces: Iterable[str], number_of: dict[str, int], idf: Floats) -> Any:
    """tf-idf of some n-grams in surfaces, rows of length one: (surfaces, n-grams)."""
    from scipy import sparse

    columns: list[int] = []
    ends = [0]
    for surface in surfaces:
        columns += [number_of[n] for n in ngrams_of(surface) if n in number_of]
        ends.append(len(columns))
    shape = (len(ends) - 1, len(number_of))
    bags = sparse.csr_array((np.ones(len(columns), np.float32), columns, ends), shape=shape)
    bags.sum_duplicates()
    bags.data *= idf[bags.indices]
    lengths = np.sqrt(bags.multiply(bags).sum(axis=1))
    bags.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(bags.indptr))
    return bags.astype(np.float32)


def ngrams_of(surface: str) -> list[str]:
    """The words of a surface, with a blank on both sides, and the character n-grams of those."""
    found: list[str] = []
    for word in plain(surface).split():
        padded = f" {word} "
        found.append(padded)
        for length in LENGTHS:
            if length < len(padded):
                found += [padded[i : i + length] for i in range(len(padded) - length + 1)]
    return found
