"""The known sets that a name may belong to, with all features of the name and each set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from synsetmine.models.general.linkage import sigmoid
from synsetmine.models.general.name_table import NameTable, Positions, changes, find_all
from synsetmine.models.general.neighbours import Floats, filled_rows
from synsetmine.models.general.pair_evidence import (
    Meanings,
    StemWeights,
    TextEvidence,
    near_pairs,
)
from synsetmine.models.general.settings import AssignmentSettings
from synsetmine.models.known import Doubles, Truth
from synsetmine.text.evidence import Evidence
from synsetmine.text.kinds import DifferingWords, is_abbreviation, names_conflict
from synsetmine.text.word_forms import SpelledNames

NO_NAME = -1
BITS = 63  # of an integer, without its sign
INITIAL = re.compile(r"(?<![^\W_])[^\W_]")


@dataclass(frozen=True, eq=False)
class KnownNames:
    """The names of known sets; those of a set stand together."""

    names: Sequence[str]
    labels: Positions  # (names,): the number of the set
    spelled: SpelledNames
    words: DifferingWords

    @classmethod
    def of(cls, sets: Sequence[Sequence[str]]) -> KnownNames:
        names = [name for members in sets for name in members]
        sizes = [len(members) for members in sets]
        labels = np.repeat(np.arange(len(sizes)), sizes)
        spelled = SpelledNames.of(names)
        return cls(names, labels, spelled, DifferingWords.learn_spelled(spelled, labels))


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    left: Positions  # (pairs,), a query
    right: Positions  # (pairs,), a reference
    features: Floats  # (pairs, features)

    def of(self, kept: Truth) -> CandidatePairs:
        """Some of the pairs."""
        return CandidatePairs(self.left[kept], self.right[kept], self.features[kept])

    def followed_by(self, other: CandidatePairs) -> CandidatePairs:
        """These pairs, then the others."""
        return CandidatePairs(
            np.concatenate([self.left, other.left]),
            np.concatenate([self.right, other.right]),
            np.concatenate([self.features, other.features]),
        )


@dataclass(frozen=True, eq=False)
class CandidateSets:
    """The candidate sets of each query, each with its best name."""

    queries: Positions  # (entries,)
    labels: Positions  # (entries,)
    names: Positions  # (entries,)
    features: Floats  # (entries, features)
    first: Truth  # (entries,): the set that the networks put first


class CandidateView:
    """All that is known of the names of a table and of pairs of them; first it has to `learn`."""

    _stems: StemWeights

    def __init__(
        self,
        table: NameTable,
        known: KnownNames,
        contexts: Sequence[Floats],
        evidence: Evidence | None,
        long_of: Mapping[int, int],  # positions of what names are short for
        meanings: Meanings,
        settings: AssignmentSettings,
    ) -> None:
        self._settings = settings
        self._table = table
        self._known = known
        self._meanings = meanings
        self._contexts = contexts
        self._seen = is_seen(contexts, len(table))
        self._is_short = np.array(
            [len(name) <= settings.short_form for name in table.names], np.bool_
        )
        self._long = np.full(len(table), NO_NAME)  # the position of what a name is short for
        self._texts = TextEvidence(table, evidence) if evidence is not None else None
        for position, long in long_of.items():
            self._long[position] = long

    def learn(self, references: Positions) -> None:
        """Learn from these names which differing words matter, and which replace each other."""
        self._stems = StemWeights.learn(
            self._table, self._known.labels, references, self._near_pairs, self._settings
        )

    @cached_property
    def _near_pairs(self) -> tuple[Positions, Positions]:
        """Once for all rounds, since the search takes long."""
        return near_pairs(self._table, len(self._known.names), self._settings)

    def pairs(self, queries: Positions, references: Positions, count: int) -> CandidatePairs:
        stems = self._stems
        near = [
            self._table.candidates(queries, references, count, self._contexts),
            stems.substitutions.candidates(self._table, queries, references),
        ]
        if self._texts is not None:
            near.append(self._texts.candidates(queries, references))
            near.append(self._spelled_out(queries, references, count))
        keys = [left * len(self._table) + right for left, right in near]
        left, right = np.divmod(np.unique(np.concatenate(keys)), len(self._table))
        parts = [
            self._table.features(left, right),
            stems.features(self._table, left, right),
            self._abbreviations(left, right)[:, None],
            *(self._context(rows, left, right, references) for rows in self._contexts),
        ]
        if self._texts is not None:
            parts += [self._texts.features(left, right), self._long_features(left, right)]
        return CandidatePairs(left, right, np.concatenate(parts, axis=1))

    def _spelled_out(
        self, queries: Positions, references: Positions, count: int
    ) -> tuple[Positions, Positions]:
        """Pairs of a query and a reference that is near to what the query is short for."""
        short = queries[self._long[queries] >= 0]
        long, right = self._table.candidates(np.unique(self._long[short]), references, count)
        order = np.argsort(long, kind="stable")
        entries, owner = find_all(long[order], self._long[short])
        return short[owner], right[order[entries]]

    def _long_features(self, left: Positions, right: Positions) -> Floats:
        """The features of what the left name is short for, and the right name; else zeros."""
        short = np.flatnonzero(self._long[left] >= 0)
        values = self._table.features(self._long[left[short]], right[short])
        features = np.zeros((len(left), values.shape[1]), np.float32)
        features[short] = values
        return features

    def sets(self, pairs: CandidatePairs, log_odds: Doubles) -> CandidateSets:
        """The best name of each set for each query, and features of query and set."""
        labels = self._known.labels[pairs.right]
        order = np.lexsort((-log_odds, labels, pairs.left))
        order = order[self._are_possible(pairs.left[order], labels[order], log_odds[order])]
        left, label, value = pairs.left[order], labels[order], log_odds[order]
        starts = np.flatnonzero(changes(left) | changes(label))
        sizes = np.diff(np.append(starts, len(left)))
        best = value[starts]
        limit = self._settings.limit
        second = np.where(sizes > 1, value[np.minimum(starts + 1, len(value) - 1)], -limit)
        total = np.add.reduceat(sigmoid(value), starts)
        queries = left[starts]
        other = _largest_other(queries, best[:, None], -limit)[:, 0]
        by_query = np.lexsort((-best, queries))
        first = np.zeros(len(best), np.bool_)
        first[by_query[changes(queries[by_query])]] = True
        maxima = np.maximum.reduceat(pairs.features[order], starts, axis=0)
        rows = order[starts]
        columns = [best, second, other, best - other, np.minimum(sizes, 10), np.minimum(total, 5)]
        columns.append(self._seen[queries])
        names = pairs.right[rows]
        conflicts = self._conflicts(queries, names, first)
        margins = maxima - _largest_other(queries, maxima, 0)
        of_sets = np.stack([*columns, conflicts], axis=1, dtype=np.float32, casting="same_kind")
        features = np.concatenate([of_sets, pairs.features[rows], maxima, margins], axis=1)
        return CandidateSets(queries, label[starts], names, features, first)

    def _are_possible(self, queries: Positions, labels: Positions, log_odds: Doubles) -> Truth:
        """Which pairs stand for a set that the corpus may mean; unlikely sets are not looked at.

        The pairs of a query and a set stand together, the best first.
        """
        starts = np.flatnonzero(changes(queries) | changes(labels))
        likely = starts[log_odds[starts] >= self._settings.doubtful]
        names = [self._table.names[query] for query in queries[likely].tolist()]
        possible = np.ones(len(starts), np.bool_)
        row = np.searchsorted(starts, likely)
        possible[row] = ~self._meanings.rule_out(names, labels[likely])
        return np.repeat(possible, np.diff(np.append(starts, len(queries))))

    def _conflicts(self, queries: Positions, names: Positions, first: Truth) -> Floats:
        """Whether the names of the best sets tell siblings apart, such as type 1 and type 2."""
        values = np.zeros(len(queries), np.float32)
        surfaces, words = self._table.names, self._known.words
        for entry in np.flatnonzero(first).tolist():
            pair = surfaces[queries[entry]], surfaces[names[entry]]
            values[entry] = names_conflict(*pair, words)
        return values

    def _abbreviations(self, left: Positions, right: Positions) -> Floats:
        """Whether one name is a short form of the other, where one is short enough to be."""
        values = np.zeros(len(left), np.float32)
        names, short = self._table.names, self._is_short
        short_name, long_name = np.where(short[left], (left, right), (right, left))
        first, initials = self._letters
        possible = (short[left] != short[right]) & ((first[short_name] & initials[long_name]) != 0)
        for pair in np.flatnonzero(possible).tolist():
            values[pair] = is_abbreviation(names[left[pair]], names[right[pair]])
        return values

    @cached_property
    def _letters(self) -> tuple[Positions, Positions]:
        """Bits of the first letter of each name, and of the first letters of all its words.

        A short form begins with a letter of the second kind. Names beyond ASCII have all bits,
        since α may stand for "alpha".
        """
        first, initials = np.full((2, len(self._table)), -1, np.int64)
        for number, name in enumerate(self._table.names):
            if name.isascii():
                bits = [1 << (ord(letter) % BITS) for letter in INITIAL.findall(name.casefold())]
                first[number], initials[number] = sum(bits[:1]), sum(set(bits))
        return first, initials

    def _context(
        self, rows: Floats, left: Positions, right: Positions, references: Positions
    ) -> Floats:
        """Cosines in a table of the corpus: of both names, and of the name and its set's mean."""
        seen = filled_rows(rows)
        labels = self._known.labels
        targets, inverse = np.unique(labels[right], return_inverse=True)
        known = references[seen[references]]
        at = np.minimum(np.searchsorted(targets, labels[known]), max(len(targets) - 1, 0))
        of_target = targets[at] == labels[known] if len(targets) else np.zeros(len(known), np.bool_)
        means = np.zeros((len(targets), rows.shape[1]), np.float32)
        np.add.at(means, at[of_target], rows[known[of_target]])
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        means /= np.maximum(lengths, 1e-9)
        values = np.zeros((len(left), 4), np.float32)
        values[:, 0] = np.einsum("ij,ij->i", rows[left], rows[right])
        values[:, 1] = np.einsum("ij,ij->i", rows[left], means[inverse])
        values[:, 2] = seen[left] & seen[right]
        values[:, 3] = seen[left] & (lengths[inverse, 0] > 0)
        return values


def _largest_other(queries: Positions, values: npt.NDArray[Any], none: float) -> npt.NDArray[Any]:
    """The largest value of another entry of the same query, in each column; or `none`.

    The entries of a query stand together.
    """
    starts = np.flatnonzero(changes(queries))
    group = np.cumsum(changes(queries)) - 1
    largest = np.maximum.reduceat(values, starts, axis=0)  # (queries, columns)
    at_top = values == largest[group]
    several = np.add.reduceat(at_top, starts, axis=0, dtype=np.int32) > 1
    lower = np.where(at_top, values.dtype.type(-np.inf), values)
    second = np.where(several, largest, np.maximum.reduceat(lower, starts, axis=0))
    second = np.where(np.isfinite(second), second, none)
    other: npt.NDArray[Any] = np.where(at_top, second[group], largest[group])
    return other


def is_seen(contexts: Sequence[Floats], count: int) -> Truth:
    """Which names the corpus has."""
    seen = np.zeros(count, np.bool_)
    for table in contexts:
        seen[: len(table)] |= filled_rows(table)
    return seen
