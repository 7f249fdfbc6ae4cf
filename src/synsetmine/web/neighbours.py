"""Terms near those of a set: by the words that they share, and by their vectors.

Both are cheap tables that a thread fills while the first pages are shown already.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from threading import Thread

import numpy as np
import numpy.typing as npt

from synsetmine.errors import SynsetmineError
from synsetmine.text import tokens
from synsetmine.types import Term
from synsetmine.views import read_vectors, unit_rows

COMMON = 500  # a word of more terms than this says little
ALIKE = 0.45  # the least share of words, from 0 to 1
LOOKED_AT = 60  # terms that are near, of each kind


class Neighbours:
    """The terms of a run, all that were mined, by what brings them near each other."""

    def __init__(self, keys: Sequence[str], vectors: Path) -> None:
        self._keys = keys
        self._vectors = vectors
        self._words: dict[str, list[int]] = {}  # the terms with each word
        self._rows: dict[str, int] = {}  # of those that have a vector
        self._unit: npt.NDArray[np.float32] | None = None  # (rows, dimension)
        self._named: list[str] = []  # (rows,)

    def start(self) -> None:
        Thread(target=self.fill, daemon=True).start()

    def fill(self) -> None:
        words: dict[str, list[int]] = {}
        for number, key in enumerate(self._keys):
            for word in _words(key):
                words.setdefault(word, []).append(number)
        self._words = words
        if self._vectors.exists():
            try:
                self._read_vectors()
            except SynsetmineError as error:  # the page does without
                logging.getLogger(__name__).warning("near sets by words only: %s", error)

    def near(self, keys: Sequence[str]) -> Iterator[str]:
        """Other terms, the nearest first: one by vectors, one by words, and so on."""
        given = set(keys)
        for pair in zip_longest(self._by_vectors(keys), self._by_words(keys)):
            for key in pair:
                if key is not None and key not in given:
                    given.add(key)
                    yield key

    def _read_vectors(self) -> None:
        table = read_vectors(self._vectors)
        wanted = [term for term in map(Term.parse, self._keys) if term in table]
        self._named = list(map(str, wanted))
        self._rows = {key: row for row, key in enumerate(self._named)}
        self._unit = unit_rows(table.matrix[table.rows(wanted)])

    def _by_vectors(self, keys: Sequence[str]) -> list[str]:
        own = [self._rows[key] for key in keys if key in self._rows]
        if self._unit is None or not own:
            return []
        closeness = self._unit @ self._unit[own].mean(axis=0)  # (terms,)
        closeness[own] = -np.inf
        count = min(LOOKED_AT, len(closeness))
        best = np.argpartition(-closeness, count - 1)[:count]
        return [self._named[row] for row in best[np.argsort(-closeness[best])].tolist()]

    def _by_words(self, keys: Sequence[str]) -> list[str]:
        """Terms that share words with one of these: most of them, and rare ones count more."""
        found: dict[int, float] = {}
        for key in keys:
            shared: dict[int, float] = {}
            for word in _words(key):
                having = self._words.get(word, ())
                for number in having if len(having) <= COMMON else ():
                    shared[number] = shared.get(number, 0.0) + self._weight(word)
            own = sum(map(self._weight, _words(key)))
            for number, weight in shared.items():
                theirs = sum(map(self._weight, _words(self._keys[number])))
                alike = weight / math.sqrt(own * theirs)
                if alike > found.get(number, ALIKE):
                    found[number] = alike
        best = sorted(found, key=lambda number: (-found[number], number))
        return [self._keys[number] for number in best[: LOOKED_AT + len(keys)]]

    def _weight(self, word: str) -> float:
        return math.log(1 + len(self._keys) / (1 + len(self._words.get(word, ()))))


def _words(key: str) -> set[str]:
    return set(tokens(Term.parse(key).surface))
