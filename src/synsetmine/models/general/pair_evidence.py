"""What distinguishes two names, and what a corpus says of both."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process

from synsetmine.models.general.name_table import CACHED, NameTable, Positions, changes, stem_key
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.settings import AssignmentSettings
from synsetmine.models.general.substitutions import BagCodes, Substitutions, differing_stems
from synsetmine.models.known import Doubles, Truth
from synsetmine.normalization import normal_form
from synsetmine.text.evidence import Evidence
from synsetmine.text.kinds import (
    SHORT_FORM,
    DifferingWords,
    name_opposites,
    names_conflict,
    pair_kind,
)
from synsetmine.text.patterns import OPPOSING
from synsetmine.types import VARIANTS


@dataclass(frozen=True, eq=False)
class StemWeights:
    """How much the stems by which two names differ speak for one meaning, learned from the sets.

    log((same + s) / (different + s)), where `same` counts pairs of names of one set that differ by
    a stem, and `different` near pairs of two sets.
    """

    weights: Floats  # (stems,)
    substitutions: Substitutions

    @classmethod
    def learn(
        cls,
        table: NameTable,
        labels: Positions,
        references: Positions,
        near: tuple[Positions, Positions],
        settings: AssignmentSettings,
    ) -> StemWeights:
        """Learn from the reference names, whose sets are `labels`.

        `near` are pairs of near names; those of two references in two sets count.
        """
        is_reference = np.zeros(len(table), np.bool_)
        is_reference[references] = True
        left, right = near
        other = is_reference[left] & is_reference[right]
        other[other] = labels[left[other]] != labels[right[other]]
        same = _pairs_of_sets(labels, references, np.random.default_rng(settings.seed), settings)
        different = left[other], right[other]
        counts = _count(table, *same, settings.taught_stems)
        opposed = _count(table, *different, settings.taught_stems)
        scale = max(counts.sum(), 1) / max(opposed.sum(), 1)  # both are samples
        substitutions = Substitutions.learn(
            table, BagCodes(table, settings.seed), same, labels[same[0]], different, scale, settings
        )
        return cls(_log_ratio(counts, scale * opposed, settings.smoothing), substitutions)

    def features(self, table: NameTable, left: Positions, right: Positions) -> Floats:
        """Smallest weight and sum of the stems of either side alone, and substitutions."""
        own, theirs = differing_stems(table, left, right)
        values = np.zeros((len(left), 4), np.float32)
        for column, side in zip((0, 2), (own, theirs), strict=True):
            weights = self.weights[side.indices]
            filled = np.flatnonzero(np.diff(side.indptr))
            if len(filled):
                starts = side.indptr[filled]
                values[filled, column] = np.minimum.reduceat(weights, starts)
                values[filled, column + 1] = np.add.reduceat(weights, starts)
        return np.concatenate([values, self.substitutions.features(table, left, right)], axis=1)


def near_pairs(
    table: NameTable, known: int, settings: AssignmentSettings
) -> tuple[Positions, Positions]:
    """Pairs of near names; those on the left are drawn from the first, known names of the table."""
    drawn = np.random.default_rng(settings.seed).permutation(known)[: settings.taught_names]
    return table.candidates(drawn, np.arange(known), settings.taught_neighbours)


def _log_ratio(same: npt.NDArray[Any], different: npt.NDArray[Any], smoothing: float) -> Floats:
    ratio: Floats = np.log((same + smoothing) / (different + smoothing)).astype(np.float32)
    return ratio


def _count(table: NameTable, left: Positions, right: Positions, most: int) -> Doubles:
    """How often names differ by each stem, of those that differ by at most so many.

    Of several differing stems each counts a part. Names without a shared stem teach nothing.
    """
    own, theirs = differing_stems(table, left, right)
    sizes = np.diff(own.indptr) + np.diff(theirs.indptr)
    shares_stem = np.diff(table.bags.indptr)[left] > np.diff(own.indptr)
    taught = shares_stem & (sizes > 0) & (sizes <= most)
    counts = np.zeros(table.bags.shape[1])
    for side in (own, theirs):
        row = np.repeat(np.arange(side.shape[0]), np.diff(side.indptr))
        kept = taught[row]
        np.add.at(counts, side.indices[kept], 1 / sizes[row[kept]])
    return counts


def _pairs_of_sets(
    labels: Positions,
    references: Positions,
    rng: np.random.Generator,
    settings: AssignmentSettings,
) -> tuple[Positions, Positions]:
    """The pairs of the first names of random sets; the names of a set stand together."""
    own = labels[references]
    starts = np.flatnonzero(changes(own))
    sizes = np.minimum(np.diff(np.append(starts, len(own))), settings.taught_set_names)
    several = rng.permutation(np.flatnonzero(sizes > 1))[: settings.taught_sets]
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for size in range(2, settings.taught_set_names + 1):
        begins = starts[several[sizes[several] == size]]
        one, other = np.triu_indices(size, 1)
        left.append((begins[:, None] + one).ravel())
        right.append((begins[:, None] + other).ravel())
    return references[np.concatenate(left)], references[np.concatenate(right)]


def long_forms(names: Sequence[str], evidence: Evidence) -> dict[int, str]:
    """What the corpus says that a name is short for, most often, by the name's position."""
    longest_of: dict[str, tuple[int, str]] = {}
    for abbreviation in evidence.abbreviations():
        key, entry = short_key(abbreviation.short), (abbreviation.count, abbreviation.long)
        longest_of[key] = max(entry, longest_of.get(key, entry))
    return {
        position: longest_of[key][1]
        for position, name in enumerate(names)
        if (key := short_key(name)) in longest_of
    }


def definitions(evidence: Evidence) -> dict[str, dict[str, int]]:
    """How often the corpus defines each short form as a long form with these stems."""
    counts: dict[str, dict[str, int]] = {}
    for abbreviation in evidence.abbreviations():
        own = counts.setdefault(short_key(abbreviation.short), {})
        long = stem_key(abbreviation.long)
        own[long] = own.get(long, 0) + abbreviation.count
    return counts


class Meanings:
    """Which abbreviations the corpus defines, but never as what a known set means.

    "PVA" for the set of *polyvinyl alcohol*, where the corpus has "pulmonary valve agenesis (PVA)".
    A definition means the set if its stems have a similarity of `least` with those of a name of the
    set. A set that has the abbreviation in another spelling ("IL6" for "IL-6"), or nothing but
    abbreviations, is never ruled out.
    """

    def __init__(
        self,
        names: Sequence[str],  # of known sets; those of a set stand together
        labels: Positions,
        evidence: Evidence | None,
        least: float,
    ) -> None:
        self._names = names
        self._labels = labels
        self._least = 100 * least
        self._definitions = definitions(evidence) if evidence is not None else {}

    def rule_out(self, names: Sequence[str], sets: Positions) -> Truth:
        """Whether the corpus means something else than the set beside each name: (names,)"""
        defined = [
            (row, list(forms))
            for row, name in enumerate(names)
            if (forms := self._definitions.get(short_key(name)))
        ]
        ruled_out = np.zeros(len(names), np.bool_)
        for row, long in defined:
            others = [other for other in self._members(int(sets[row])) if other != names[row]]
            spellings = {short_key(other) for other in others}
            if short_key(names[row]) in spellings or all(map(_is_short, others)):
                continue
            keys = [stem_key(other) for other in others]
            similar = process.cdist(long, keys, scorer=fuzz.ratio, score_cutoff=self._least)
            ruled_out[row] = not similar.any()
        return ruled_out

    def _members(self, label: int) -> Sequence[str]:
        first, last = np.searchsorted(self._labels, [label, label + 1]).tolist()
        return self._names[first:last]


def _is_short(name: str) -> bool:
    """Whether a name is written like an abbreviation: mostly capitals and digits."""
    key = short_key(name)
    capitals = sum(letter.isupper() or letter.isdigit() for letter in key)
    return len(key) <= SHORT_FORM and 2 * capitals >= len(key)


class TextEvidence:
    """What the corpus says of pairs of names: definitions, aliases, lists."""

    def __init__(self, table: NameTable, evidence: Evidence) -> None:
        self._table = table
        self._long = definitions(evidence)
        self._short: dict[str, dict[str, int]] = {}  # the other way round
        for short, counts in self._long.items():
            for long, count in counts.items():
                self._short.setdefault(long, {})[short] = count
        self._counts: dict[tuple[str, str], list[int]] = {}  # for and against, by normal forms
        for first, second, relation, count in evidence.pairs():
            if relation != "abbreviation":
                for pair in ((first, second), (second, first)):
                    sides = self._counts.setdefault(pair, [0, 0])
                    sides[relation in OPPOSING] += count
        self._partners: dict[str, list[str]] = {}
        for (first, second), (supporting, _) in self._counts.items():
            if supporting:
                self._partners.setdefault(first, []).append(second)
        mentioned = {form for pair in self._counts for form in pair}
        self._keys = _Values(table.stem_keys, self._short)
        self._short_keys = _Values(map(short_key, table.names), self._long)
        self._forms = _Values(map(normal_form, table.names), mentioned)

    def candidates(self, queries: Positions, references: Positions) -> tuple[Positions, Positions]:
        """Pairs that a definition or an alias connects."""
        is_reference = np.zeros(len(self._table), np.bool_)
        is_reference[references] = True
        left: list[int] = []
        right: list[int] = []
        for position in queries.tolist():
            long = self._long.get(self._short_keys.value(position), ())
            short = self._short.get(self._keys.value(position), ())
            partners = self._partners.get(self._forms.value(position), ())
            others = [p for key in long for p in self._keys.positions(key)]
            others += [p for key in short for p in self._short_keys.positions(key)]
            others += [p for form in partners for p in self._forms.positions(form)]
            others = [other for other in others if is_reference[other]]
            left += [position] * len(others)
            right += others
        return np.array(left, np.int64), np.array(right, np.int64)

    def features(self, left: Positions, right: Positions) -> Floats:
        """Definitions of both, their share of the definitions of either, aliases, and lists."""
        values = np.zeros((len(left), 6), np.float32)
        indexes = (self._keys, self._short_keys, self._forms)
        mentioned = np.zeros(len(self._table), np.bool_)
        for index in indexes:
            mentioned[[*index.value_of]] = True
        rows = np.flatnonzero(mentioned[left])
        strings_of = {
            position: [index.value(position) for index in indexes]
            for position in np.unique(np.concatenate([left[rows], right[rows]])).tolist()
        }
        for row, one, other in np.stack([rows, left[rows], right[rows]], axis=1).tolist():
            key, short, form = strings_of[one]
            other_key, other_short, other_form = strings_of[other]
            if long := self._long.get(short):
                count, total = long.get(other_key, 0), sum(long.values())
                values[row, :4] = count, count / total, 0, np.log1p(total)
            if count := self._short.get(key, {}).get(other_short, 0):
                values[row, 0] += count
                values[row, 2] = count / sum(self._short[key].values())
            if counts := self._counts.get((form, other_form)):
                values[row, 4:] = np.log1p(counts)
        values[:, 0] = np.log1p(values[:, 0])
        return values


class _Values:
    """Strings of names, those alone that the corpus has too: few of millions."""

    def __init__(self, values: Iterable[str], kept: Container[str]) -> None:
        self.value_of = {position: value for position, value in enumerate(values) if value in kept}
        self._positions_of: dict[str, list[int]] = {}
        for position, value in self.value_of.items():
            self._positions_of.setdefault(value, []).append(position)

    def value(self, position: int) -> str:
        """The string of a name; empty if the corpus does not have it."""
        return self.value_of.get(position, "")

    def positions(self, value: str) -> Sequence[int]:
        """The positions of the names with this string."""
        return self._positions_of.get(value, ())


@lru_cache(CACHED)
def short_key(name: str) -> str:
    """The letters and digits of a short form; their case counts: "pH" is not "Ph"."""
    return "".join(filter(str.isalnum, name))


RULED_OUT = -20.0  # log-odds of a pair that is two things
DEFINED = 3.0  # log-odds of a defined pair: 95 in 100 definitions that were read are right
EQUATED = 1000  # one "A (B)" outweighs any number of "A and B"
POSSIBLE = -1.0  # log-odds from which on pairs of a mere list of names are looked at
DOUBTFUL = -3.0  # log-odds below which a pair needs no look at its words


def rule_out_opposites(
    names: Sequence[str], left: Positions, right: Positions, log_odds: Floats
) -> Floats:
    """The log-odds of pairs, where nothing but the names is known: no opposites mean the same."""
    judged = log_odds.copy()
    for pair in np.flatnonzero(log_odds >= POSSIBLE).tolist():
        if name_opposites(names[left[pair]], names[right[pair]]):
            judged[pair] = RULED_OUT
    return judged


class Statements:
    """The definitions and oppositions of a corpus, for the names of a vocabulary.

    `ruled_out` has the pairs that were judged to be two things.
    """

    def __init__(self, names: Sequence[str], evidence: Evidence, words: DifferingWords) -> None:
        self.ruled_out: list[tuple[int, int]] = []
        self._names = names
        self._forms = [normal_form(name) for name in names]
        self._short_keys = [short_key(name) for name in names]
        self._words = words
        self._long = definitions(evidence)
        self._is_short = np.array([key in self._long for key in self._short_keys], np.bool_)
        self._balance: dict[tuple[str, str], int] = {}  # how often equated less how often opposed
        for first, second, relation, count in evidence.pairs():
            signed = -count if relation in OPPOSING else count * EQUATED
            self._balance[first, second] = self._balance.get((first, second), 0) + signed

    def judge(self, left: Positions, right: Positions, log_odds: Floats) -> Floats:
        """The log-odds of pairs as the text and the words change them."""
        judged = log_odds.copy()
        judgeable = self._is_short[left] | self._is_short[right] | (log_odds >= DOUBTFUL)
        for pair in np.flatnonzero(judgeable).tolist():
            one, other = int(left[pair]), int(right[pair])
            if self._is_defined(one, other) or self._is_defined(other, one):
                judged[pair] = max(judged[pair], DEFINED)
            elif log_odds[pair] >= DOUBTFUL and self._is_ruled_out(one, other):
                judged[pair] = RULED_OUT
                self.ruled_out.append((one, other))
        return judged

    def definitions(self) -> list[tuple[int, int]]:
        """The pairs of names that the corpus defines as short and long form."""
        positions_of: dict[str, list[int]] = {}
        for position, name in enumerate(self._names):
            positions_of.setdefault(stem_key(name), []).append(position)
        return [
            (int(short), long)
            for short in np.flatnonzero(self._is_short)
            for form in self._long[self._short_keys[short]]
            for long in positions_of.get(form, ())
            if long != short
        ]

    def share(self, one: int, other: int) -> float | None:
        """The share of the short form's definitions that name the other; None without any."""
        for short, long in ((one, other), (other, one)):
            if self._is_defined(short, long):
                forms = self._long[self._short_keys[short]]
                return forms[stem_key(self._names[long])] / sum(forms.values())
        return None

    def _is_defined(self, short: int, long: int) -> bool:
        forms = self._long.get(self._short_keys[short])
        return forms is not None and stem_key(self._names[long]) in forms

    def _is_ruled_out(self, one: int, other: int) -> bool:
        forms = self._long.get(self._short_keys[one])
        others = self._long.get(self._short_keys[other])
        if forms and others and forms.keys().isdisjoint(others):
            return True
        pair = sorted((self._forms[one], self._forms[other]))
        if self._balance.get((pair[0], pair[1]), 0) < 0:  # "platelet and platelets" opposes nothing
            return pair_kind(self._names[one], self._names[other]) not in VARIANTS
        return names_conflict(self._names[one], self._names[other], self._words)
