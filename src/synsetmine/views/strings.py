"""What the strings of two terms say about whether they name the same thing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz import distance, process

from synsetmine.errors import DataError
from synsetmine.text import tokens
from synsetmine.views.ngrams import ngram_weights
from synsetmine.workers import WorkerPool

Floats: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.int64]

# The columns of what `StringView` gives, each from 0 (nothing alike) to 1:
FEATURES = (
    "ngrams",  # cosine of the tf-idf weights of their character n-grams
    "jaccard",  # of their sets of words: shared by all
    "containment",  # the share of the shorter one's words that the other one has
    "edit",  # 2 x longest common subsequence / both lengths
    "sorted",  # the same, with the words of both in alphabetical order
    "jaro_winkler",
    "acronym",  # 1 where one is the initials of the other, with or without its stop words
    "digits",  # 1 where both hold the same numbers, or none
)
SLOW = ("edit", "sorted", "jaro_winkler")  # those that take longest
# fmt: off
STOP_WORDS = frozenset((
    "a", "an", "and", "at", "by", "de", "del", "der", "des", "di", "du", "et", "for", "from", "in",
    "la", "le", "les", "of", "on", "or", "the", "to", "und", "van", "von", "with",
))
# fmt: on
MEANINGS = 20  # that letters may have, to be taken for an acronym without more to go by
PIECE = 1 << 12  # pairs that are compared at a time: what they need stays in the cache


@dataclass(frozen=True, eq=False)
class StringView:
    """The similarities (`FEATURES`) of any two of some surfaces; case does not count.

    `pairs` and `block` give the same values, the one for lists of pairs, the other for all pairs
    between some rows and some columns. Words are those of `text.tokens`; a surface without any
    is a word of its own. `_` counts as a blank.
    """

    surfaces: Sequence[str]
    pool: WorkerPool | None = field(default=None, repr=False)  # for what takes long

    def __len__(self) -> int:
        return len(self.surfaces)

    def pairs(self, left: Numbers, right: Numbers) -> Floats:
        """The similarities of surface left[i] and surface right[i]: (pairs, features)."""
        if len(left) != len(right):
            raise DataError(f"{len(left)} left sides but {len(right)} right sides of pairs")
        result = np.empty((len(left), len(FEATURES)), np.float32)
        for start in range(0, len(left), PIECE):
            part = slice(start, start + PIECE)
            self._compare_pairs(left[part], right[part], result[part])
        return result

    def block(self, rows: Numbers, columns: Numbers | None = None, *, slow: bool = True) -> Floats:
        """The similarities of each row with each column, of all without: (rows, columns, features).

        It takes 4 bytes a value: keep to some hundred rows at a time. Those that are slow can be
        left out, and are zero then.
        """
        if columns is None:
            columns = np.arange(len(self))
        result = np.zeros((len(rows), len(columns), len(FEATURES)), np.float32)
        result[..., 0] = (self.ngrams[rows] @ self.ngrams[columns].T).toarray()
        shared = (self.words[rows] @ self.words[columns].T).toarray()
        self._word_shares(shared, rows[:, None], columns, result)
        for feature, texts, scorer in self._scorers() if slow else ():
            queries, choices = _picked(texts, rows), _picked(texts, columns)
            if len(rows) and len(columns):  # it asks for something to compare
                result[..., feature] = process.cdist(
                    queries, choices, scorer=scorer, dtype=np.float32
                )
        self._matches(rows[:, None], columns, result)
        return np.clip(result, 0, 1, out=result)

    def slow_pairs(self, left: Numbers, right: Numbers) -> Floats:
        """The slow similarities of surface left[i] and surface right[i]: (pairs, slow)."""
        result = np.empty((len(left), len(SLOW)), np.float32)
        for start in range(0, len(left), PIECE):
            part = slice(start, start + PIECE)
            for place, (_, texts, scorer) in enumerate(self._scorers()):
                ends = _picked(texts, left[part]), _picked(texts, right[part])
                result[part, place] = process.cpdist(*ends, scorer=scorer, dtype=np.float32)
        return result

    def acronym_pairs(self) -> tuple[Numbers, Numbers]:
        """Pairs of which the first is the initials of the second.

        Letters that could stand for many others tell nothing, and in a large vocabulary nearly
        all short ones could: those that are the initials of more than `MEANINGS` are left out.
        """
        joined, initials = self.acronyms
        whole: dict[int, list[int]] = {}
        for surface, number in enumerate(joined.tolist()):
            whole.setdefault(number, []).append(surface)
        found: list[tuple[int, int]] = []
        for letters in initials:
            meanings = np.bincount(letters[letters >= 0], minlength=1)
            few = (letters >= 0) & (meanings[letters] <= MEANINGS)
            for long in np.flatnonzero(few).tolist():
                found += [(short, long) for short in whole.get(int(letters[long]), ())]
        pairs = np.array(found, np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _compare_pairs(self, left: Numbers, right: Numbers, result: Floats) -> None:
        result[:, 0] = row_dots(self.ngrams, left, right)
        self._word_shares(row_dots(self.words, left, right), left, right, result)
        for feature, texts, scorer in self._scorers():
            queries, choices = _picked(texts, left), _picked(texts, right)
            result[:, feature] = process.cpdist(queries, choices, scorer=scorer, dtype=np.float32)
        self._matches(left, right, result)
        np.clip(result, 0, 1, out=result)

    def _word_shares(self, shared: Floats, left: Numbers, right: Numbers, result: Floats) -> None:
        ours, theirs = self.word_counts[left], self.word_counts[right]
        result[..., 1] = shared / (ours + theirs - shared)
        result[..., 2] = shared / np.minimum(ours, theirs)

    def _scorers(self) -> tuple[tuple[int, list[str], Any], ...]:
        similarity = distance.Indel.normalized_similarity
        texts = (self.texts, self.sorted_texts, self.texts)
        scorers = (similarity, similarity, distance.JaroWinkler.normalized_similarity)
        return tuple(zip(map(FEATURES.index, SLOW), texts, scorers, strict=True))

    def _matches(self, left: Numbers, right: Numbers, result: Floats) -> None:
        joined, initials = self.acronyms
        match = np.zeros(result.shape[:-1], np.bool_)
        for letters in initials:
            match |= joined[left] == letters[right]
            match |= letters[left] == joined[right]
        result[..., 6] = match
        result[..., 7] = self.digits[left] == self.digits[right]

    @cached_property
    def ngrams(self) -> Any:
        """The tf-idf weights of the character n-grams, rows of length one: (surfaces, n-grams)."""
        return ngram_weights(self.texts, self.pool)

    @cached_property
    def texts(self) -> list[str]:
        """The surfaces as they are compared."""
        return [plain(surface) for surface in self.surfaces]

    @cached_property
    def _tokens(self) -> list[tuple[str, ...]]:
        both = zip(self.surfaces, self.texts, strict=True)
        return [tokens(surface) or (text,) for surface, text in both]

    @cached_property
    def sorted_texts(self) -> list[str]:
        """The same with their words in alphabetical order."""
        return [" ".join(sorted(words)) for words in self._tokens]

    @cached_property
    def words(self) -> Any:
        """1 where a surface has a word: (surfaces, words)."""
        from scipy import sparse

        number_of: dict[str, int] = {}
        columns, ends = [], [0]
        for words in self._tokens:
            columns += [number_of.setdefault(word, len(number_of)) for word in dict.fromkeys(words)]
            ends.append(len(columns))
        shape = (len(self), max(len(number_of), 1))
        return sparse.csr_array((np.ones(len(columns), np.float32), columns, ends), shape=shape)

    @cached_property
    def word_counts(self) -> Floats:
        """How many different words each surface has: (surfaces,)."""
        return np.array([len(set(words)) for words in self._tokens], np.float32)

    @cached_property
    def acronyms(self) -> tuple[Numbers, tuple[Numbers, Numbers]]:
        """Numbers that are equal where one surface, joined, is the initials of another.

        The initials of a single word are none, and have the number -1.
        """
        number_of: dict[str, int] = {}
        joined = [number_of.setdefault("".join(w), len(number_of)) for w in self._tokens]

        def initials(words: Sequence[str]) -> int:
            letters = "".join(word[:1] for word in words)
            return number_of.get(letters, -1) if len(words) > 1 else -1

        every = [initials(words) for words in self._tokens]
        telling = [initials([w for w in words if w not in STOP_WORDS]) for words in self._tokens]
        return np.array(joined, np.int64), (
            np.array(every, np.int64),
            np.array(telling, np.int64),
        )

    @cached_property
    def digits(self) -> Numbers:
        """Equal numbers where the surfaces hold the same runs of digits, in any order."""
        number_of: dict[tuple[str, ...], int] = {}
        runs = (tuple(sorted(re.findall(r"\d+", text))) for text in self.texts)
        return np.array([number_of.setdefault(run, len(number_of)) for run in runs], np.int64)


def row_dots(matrix: Any, left: Numbers, right: Numbers) -> Any:
    """The dot product of row left[i] with row right[i] of a sparse matrix: (pairs,)."""
    return np.asarray(matrix[left].multiply(matrix[right]).sum(axis=1))


def plain(surface: str) -> str:
    """A surface as it is compared: case folded, `_` and runs of blanks as one blank."""
    return " ".join(surface.casefold().replace("_", " ").split())


def _picked(texts: Sequence[str], rows: Numbers) -> list[str]:
    return [texts[row] for row in rows.tolist()]
