"""Which words change the meaning of a name, learned from the sets of a knowledge base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.views.strings import STOP_WORDS
from synsetmine.wordforms import SpelledNames, stem

Numbers: TypeAlias = npt.NDArray[np.int64]
Counts: TypeAlias = tuple[int, int]  # of entities with both names, of pairs of two entities

STRENGTH = 2.0  # what the mean of all words counts in the share of one word, in observations
DISTINCT = 2  # two words conflict if they tell apart at least so many pairs of entities
LARGEST_GROUP = 100  # names alike but for one word; a larger group says little of two of its words


@dataclass(frozen=True, eq=False)
class DifferingWords:
    """Which words change the meaning of a name, learned from sets of names.

    For a word that one of two names has in addition, and for two words by which two names differ:
    the number of entities that have both names, and of pairs of entities that have one each. Two
    words that tell apart fewer than `DISTINCT` pairs of entities, and nothing else, are left out.
    """

    words: Mapping[str, Counts] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Counts] = field(default_factory=dict)  # in alphabetical order

    @classmethod
    def learn(cls, sets: Iterable[Iterable[str]]) -> DifferingWords:
        """Count over the sets of a knowledge base, in time in proportion to its words."""
        members = [list(names) for names in sets]
        labels = np.repeat(np.arange(len(members)), [len(names) for names in members])
        return cls.learn_spelled(
            SpelledNames.of(name for names in members for name in names), labels
        )

    @classmethod
    def learn_spelled(cls, names: SpelledNames, labels: Numbers) -> DifferingWords:
        """The same for spelled names and the number of each one's set, in ascending order."""
        return _Bags(names, labels).count()

    def __repr__(self) -> str:
        return f"DifferingWords({len(self.words)} words, {len(self.pairs)} pairs)"

    def optional(self, word: str) -> float | None:
        """How likely a name means the same without this word; None if the sets do not tell.

        (same + s * mean) / (same + different + s), where s is `STRENGTH`.
        """
        counts = self.words.get(stem(word))
        if counts is None:
            return None
        same, different = counts
        return (same + STRENGTH * self._mean) / (same + different + STRENGTH)

    def distinguish(self, word: str, other: str) -> bool:
        """Whether the two words often tell entities apart, and never two names of one entity."""
        same, different = self._pair(word, other)
        return not same and different >= DISTINCT

    def unite(self, word: str, other: str) -> bool:
        """Whether the two words are more often the difference of one entity's names."""
        same, different = self._pair(word, other)
        return same > different

    def _pair(self, word: str, other: str) -> Counts:
        first, second = sorted((stem(word), stem(other)))
        return self.pairs.get((first, second), (0, 0))

    @cached_property
    def _mean(self) -> float:
        same, different = np.array([*self.words.values()]).reshape(-1, 2).sum(axis=0)
        return float(same / max(same + different, 1))


class _Bags:
    """The names of sets as bags of stems, each once a set.

    A bag's code is the sum of random codes of its words. So the code of a bag without one of its
    words is a difference, and sorting by it brings bags together that are alike but for one word.
    """

    def __init__(self, names: SpelledNames, labels: Numbers) -> None:
        number_of: dict[str, int] = {}
        stems = [number_of.setdefault(stem(word), len(number_of)) for word in names.words]
        is_content = np.array([word not in STOP_WORDS for word in names.words], np.bool_)
        owners = np.repeat(np.arange(len(names)), np.diff(names.ends))
        kept = is_content[names.numbers]
        keys = (
            owners[kept] * max(len(number_of), 1) + np.array(stems, np.int64)[names.numbers[kept]]
        )
        owners, words = np.divmod(np.unique(keys), max(len(number_of), 1))  # each word once
        codes = np.random.default_rng(0).integers(2**63, size=max(len(number_of), 1))
        sums = np.zeros(len(names), np.int64)  # they wrap around
        np.add.at(sums, owners, codes[words])
        filled = np.unique(owners)
        order = filled[np.lexsort((sums[filled], labels[filled]))]
        first = np.append(True, (np.diff(sums[order]) != 0) | (np.diff(labels[order]) != 0))
        bags = np.sort(order[first[: len(order)]])  # of equal bags of an entity one
        number = np.full(len(names), -1, np.int64)
        number[bags] = np.arange(len(bags))
        entries = number[owners] >= 0
        self._vocabulary = [*number_of]
        self._entities = labels[bags]  # (bags,)
        self._words = words[entries]  # (entries,)
        self._bags = number[owners[entries]]  # (entries,)
        self._codes = sums[bags]  # (bags,)
        self._rests = self._codes[self._bags] - codes[self._words]  # (entries,)

    def count(self) -> DifferingWords:
        word_of = self._vocabulary.__getitem__
        words = {word_of(word): counts for word, counts in self._count_words().items()}
        pairs: dict[tuple[str, str], Counts] = {}
        for code, counts in self._count_pairs().items():
            one, other = sorted(map(word_of, divmod(code, len(self._vocabulary))))
            pairs[one, other] = counts
        return DifferingWords(words, pairs)

    def _count_words(self) -> dict[int, Counts]:
        """Of each word: how often one of two names has it in addition."""
        order = np.argsort(self._codes, kind="stable")
        first = np.searchsorted(self._codes[order], self._rests, "left")
        count = np.searchsorted(self._codes[order], self._rests, "right") - first
        entry = np.repeat(np.arange(len(count)), count)
        within = np.arange(len(entry)) - np.repeat(count.cumsum() - count, count)
        rest = order[first[entry] + within]
        return self._tally(self._words[entry], self._bags[entry], rest)

    def _count_pairs(self) -> dict[int, Counts]:
        """Of each pair of words: how often they are the difference of two names."""
        entities = self._entities[self._bags]
        alone = self._rests == 0  # names of one word differ by it, whatever they mean
        apart = self._neighbours(np.where(alone, entities, -1))
        together = self._neighbours(entities)
        one, other = np.concatenate([apart, together], axis=1)
        words = self._words[one], self._words[other]
        differs = words[0] != words[1]
        codes = np.minimum(*words) * len(self._vocabulary) + np.maximum(*words)
        bags = self._bags[one[differs]], self._bags[other[differs]]
        return self._tally(codes[differs], *bags, least=DISTINCT)

    def _neighbours(self, parts: Numbers) -> Numbers:
        """Pairs of entries with the same rest and the same part: (2, pairs)."""
        order = np.lexsort((parts, self._rests))
        rests, parts = self._rests[order], parts[order]
        same = (rests[1:] == rests[:-1]) & (parts[1:] == parts[:-1])
        starts = np.flatnonzero(np.concatenate([[True], ~same])) if len(order) else order
        sizes = np.diff(np.append(starts, len(order)))
        group = np.repeat(np.arange(len(starts)), sizes)
        small = np.repeat(sizes <= LARGEST_GROUP, sizes)
        order, group = order[small], group[small]
        pairs = [np.zeros((2, 0), np.int64)]
        for step in range(1, LARGEST_GROUP):
            near = np.flatnonzero(group[step:] == group[: len(group) - step])
            if not len(near):
                break
            pairs.append(np.stack([order[near], order[near + step]]))
        return np.concatenate(pairs, axis=1)

    def _tally(
        self, keys: Numbers, bags: Numbers, others: Numbers, *, least: int = 1
    ) -> dict[int, Counts]:
        """Of each key: its entities with both bags, and its pairs of entities with one each.

        Keys without an entity need at least so many pairs, since most of them have a single one.
        """
        ends = self._entities[bags], self._entities[others]
        first, second = np.minimum(*ends), np.maximum(*ends)
        order = np.lexsort((second, first, keys))
        keys, first, second = keys[order], first[order], second[order]
        new = np.ones(len(keys), np.bool_)
        new[1:] = (np.diff(keys) != 0) | (np.diff(first) != 0) | (np.diff(second) != 0)
        keys, same = keys[new], (first == second)[new]
        unique, inverse = np.unique(keys, return_inverse=True)
        totals = np.bincount(inverse, minlength=len(unique))
        sames = np.bincount(inverse, same, minlength=len(unique)).astype(np.int64)
        kept = (sames > 0) | (totals >= least)
        counts = zip(sames[kept].tolist(), (totals - sames)[kept].tolist(), strict=True)
        return dict(zip(unique[kept].tolist(), counts, strict=True))
