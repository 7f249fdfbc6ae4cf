"""Assigns new names to known sets: which set a name belongs to, and how likely.

The known sets teach it by a rehearsal. Some of their names are hidden, and some sets are removed
as a whole. The hidden names are then looked for among the names that are left, as new names will
be: a hidden name should find its set, a name of a removed set should find none.

A network compares a name with each of its candidates; two networks learn from one half of the
hidden names each and judge the other half. A logistic regression then judges the best sets of a
name: by what the network says of the best name of a set, of the best name of another set, by the
names' features, and by what the corpus says. So the probability is calibrated on names that the
network has not learned from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.differing import DifferingWords
from synsetmine.evidence import Evidence
from synsetmine.kinds import conflicting, is_abbreviation
from synsetmine.models.general.name_table import NameTable, Positions
from synsetmine.models.general.neighbours import Floats, filled_rows
from synsetmine.models.general.pair_evidence import StemWeights, TextEvidence, long_forms
from synsetmine.models.rehearsal import Rehearsal
from synsetmine.types import Progress
from synsetmine.wordforms import SpelledNames

Truth: TypeAlias = npt.NDArray[np.bool_]
Doubles: TypeAlias = npt.NDArray[np.float64]

SHORT_FORM = 10  # letters of a name that may abbreviate another one
LEAST = 1e-4  # probabilities of the networks are kept above this, and below 1 minus it
CLIP = 6.0  # standard deviations of a feature
NO_SET = -1
NO_NAME = -1
_LIMIT = float(np.log((1 - LEAST) / LEAST))  # of log-odds


@dataclass(frozen=True, kw_only=True)
class AssignmentSettings:
    """The numbers that shape the rehearsal; docs/decisions/0020-assignment.md has the reasons."""

    seed: int = 0
    neighbours: int = 10  # candidates of a name in each representation
    hidden_share: float = 0.3  # of the names beside the first of a set, the preferred one
    removed_share: float = 0.1  # of the sets
    seen_queries: int = 4000  # hidden names that the corpus has, at most; as many of removed sets
    unseen_queries: int = 8000  # hidden names that it has not, at most
    unseen_removed: int = 3000  # the same of removed sets
    seen_weight: float = 10.0  # of names that the corpus has: new names are such
    unknown_share: float = 0.7  # of candidates that belong to no known set, in the calibration
    hidden_layers: tuple[int, ...] = (64, 32)
    epochs: int = 12
    penalty: float = 10.0  # of the logistic regression
    fewest_queries: int = 300  # hidden names; with fewer the general model judges new names


@dataclass(frozen=True, eq=False)
class KnownNames:
    """Names of known sets and what is known of them; the names of a set stand together."""

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
class Assignments:
    """The sets that new names may belong to: one entry for each name and set, by name.

    Those of name i are at starts[i] to starts[i + 1], the most likely first.
    """

    starts: Positions  # (names + 1,)
    sets: Positions  # (entries,)
    probabilities: Doubles  # (entries,)
    nearest: Positions  # (entries,), the number of the nearest known name of the set
    rehearsal: Rehearsal

    def of(self, number: int) -> Iterator[tuple[int, float, int]]:
        """The sets of a name, with their probabilities and nearest names, the likeliest first."""
        entries = slice(self.starts[number], self.starts[number + 1])
        columns = (self.sets, self.probabilities, self.nearest)
        return zip(*(column[entries].tolist() for column in columns), strict=True)


def assign(
    known: KnownNames,
    terms: Sequence[str],
    encode: Callable[[Sequence[str]], Sequence[Floats]],  # tables of the unit vectors of names
    *,
    contexts: Sequence[Floats] = (),  # from a corpus: rows of the known names, then of the terms
    evidence: Evidence | None = None,
    settings: AssignmentSettings | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Assignments | None:
    """Rehearse on the known names, then assign the terms; None if there are too few to rehearse."""
    from threadpoolctl import threadpool_limits

    settings = settings or AssignmentSettings()
    tell = progress or (lambda _done, _total: None)
    drawn = _draw(known, _is_seen(contexts, len(known.names) + len(terms)), settings)
    if drawn is None:
        return None
    names = [*known.names, *terms]
    long_of = long_forms(names, evidence) if evidence is not None else {}
    names += dict.fromkeys(long_of.values())
    spelled = known.spelled.extended(names[len(known.names) :])
    table = NameTable(names, encode(names), spelled=spelled, threads=threads)
    tell(1, 5)
    first = len(known.names) + len(terms)
    number_of = {form: number for number, form in enumerate(names[first:], start=first)}
    long_positions = {position: number_of[form] for position, form in long_of.items()}
    view = _View(table, known, contexts, evidence, long_positions, drawn.references, settings.seed)
    pairs = view.pairs(drawn.queries, drawn.references, settings.neighbours)
    if not _has_both_outcomes(pairs, known.labels, drawn):
        return None
    tell(2, 5)
    with threadpool_limits(1, "blas"):  # sums of several threads differ in their last digits
        networks, scores = _cross_fit(pairs, known.labels, drawn, settings)
        tell(3, 5)
        calibration = _Calibration.fit(view.sets(pairs, scores), drawn, settings)
    new = len(known.names) + np.arange(len(terms))
    every = np.arange(len(known.names))
    final = view.pairs(new, every, settings.neighbours)
    tell(4, 5)
    scored = np.mean([network.log_odds(final.features) for network in networks], axis=0)
    result = view.sets(final, scored)
    probabilities = calibration.probabilities(result.features)
    tell(5, 5)
    order = np.lexsort((result.labels, -probabilities, result.queries))
    starts = np.searchsorted(result.queries[order], np.append(new, len(known.names) + len(terms)))
    return Assignments(
        starts,
        result.labels[order],
        probabilities[order],
        result.names[order],
        calibration.rehearsal,
    )


def _is_seen(contexts: Sequence[Floats], count: int) -> Truth:
    """Which names the corpus has."""
    seen = np.zeros(count, np.bool_)
    for table in contexts:
        seen[: len(table)] |= filled_rows(table)
    return seen


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The names that a rehearsal looks for, and the names among which it does."""

    queries: Positions
    labels: Positions  # (queries,): the set of each, or NO_SET
    weights: Doubles  # (queries,)
    seen: Truth  # (queries,)
    folds: Positions  # (queries,): 0 or 1; the names of a set are in one fold
    references: Positions


def _draw(known: KnownNames, seen: Truth, settings: AssignmentSettings) -> _Drawn | None:
    rng = np.random.default_rng(settings.seed)
    labels, count = known.labels, len(known.names)
    sets = int(labels.max()) + 1 if count else 0
    removed = (rng.random(sets) < settings.removed_share)[labels]
    first = np.append(True, labels[1:] != labels[:-1])[:count]
    hidden = ~first & (rng.random(count) < settings.hidden_share) & ~removed
    seen = seen[:count]
    parts = [
        _sample(hidden & seen, settings.seen_queries, rng),
        _sample(hidden & ~seen, settings.unseen_queries, rng),
        _sample(removed & seen, settings.seen_queries, rng),
        _sample(removed & ~seen, settings.unseen_removed, rng),
    ]
    if len(parts[0]) + len(parts[1]) < settings.fewest_queries:
        return None
    queries = np.concatenate(parts)
    order = np.argsort(queries)
    queries = queries[order]
    is_home = ~removed[queries]
    weights = np.where(seen[queries], settings.seen_weight, 1.0)
    for part, share in ((is_home, 1 - settings.unknown_share), (~is_home, settings.unknown_share)):
        weights[part] *= share * len(queries) / max(weights[part].sum(), 1e-9)
    return _Drawn(
        queries,
        np.where(is_home, labels[queries], NO_SET),
        weights,
        seen[queries],
        rng.integers(2, size=sets)[labels[queries]],
        np.flatnonzero(~hidden & ~removed),
    )


def _sample(chosen: Truth, most: int, rng: np.random.Generator) -> Positions:
    places = np.flatnonzero(chosen)
    return rng.permutation(places)[:most]


@dataclass(frozen=True, eq=False)
class _Pairs:
    left: Positions  # (pairs,), a query
    right: Positions  # (pairs,), a reference
    features: Floats  # (pairs, features)


@dataclass(frozen=True, eq=False)
class _Sets:
    """The candidate sets of each query, each with its best name."""

    queries: Positions  # (entries,)
    labels: Positions  # (entries,)
    names: Positions  # (entries,)
    features: Floats  # (entries, features)
    first: Truth  # (entries,): the set that the networks put first


class _View:
    """All that is known of the names of a table and of pairs of them."""

    def __init__(
        self,
        table: NameTable,
        known: KnownNames,
        contexts: Sequence[Floats],
        evidence: Evidence | None,
        long_of: Mapping[int, int],  # positions of what names are short for
        references: Positions,
        seed: int,
    ) -> None:
        self._table = table
        self._known = known
        self._contexts = contexts
        self._seen = _is_seen(contexts, len(table))
        self._is_short = np.array([len(name) <= SHORT_FORM for name in table.names], np.bool_)
        self._long = np.full(len(table), NO_NAME)  # the position of what a name is short for
        self._stems = StemWeights.learn(table, known.labels, references, seed)
        self._texts = TextEvidence(table, evidence) if evidence is not None else None
        for position, long in long_of.items():
            self._long[position] = long

    def pairs(self, queries: Positions, references: Positions, count: int) -> _Pairs:
        left, right = self._table.candidates(queries, references, count, self._contexts)
        if self._texts is not None:
            stated = self._texts.candidates(queries, references)
            spelled_out = self._spelled_out(queries, references, count)
            keys = np.concatenate([left, stated[0], spelled_out[0]]) * len(self._table)
            keys = np.unique(keys + np.concatenate([right, stated[1], spelled_out[1]]))
            left, right = keys // len(self._table), keys % len(self._table)
        parts = [
            self._table.features(left, right),
            self._stems.features(self._table, left, right),
            self._abbreviations(left, right)[:, None],
            *(self._context(rows, left, right, references) for rows in self._contexts),
        ]
        if self._texts is not None:
            parts += [self._texts.features(left, right), self._long_features(left, right)]
        return _Pairs(left, right, np.concatenate(parts, axis=1))

    def _spelled_out(
        self, queries: Positions, references: Positions, count: int
    ) -> tuple[Positions, Positions]:
        """Pairs of a query and a reference that is near to what the query is short for."""
        short = queries[self._long[queries] >= 0]
        long, right = self._table.candidates(np.unique(self._long[short]), references, count)
        order = np.argsort(long, kind="stable")
        first = np.searchsorted(long[order], self._long[short])
        sizes = np.searchsorted(long[order], self._long[short], side="right") - first
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.repeat(short, sizes), right[order[np.repeat(first, sizes) + within]]

    def _long_features(self, left: Positions, right: Positions) -> Floats:
        """The features of what the left name is short for, and the right name; else zeros."""
        short = np.flatnonzero(self._long[left] >= 0)
        values = self._table.features(self._long[left[short]], right[short])
        features = np.zeros((len(left), values.shape[1]), np.float32)
        features[short] = values
        return features

    def sets(self, pairs: _Pairs, log_odds: Doubles) -> _Sets:
        """The best name of each set for each query, and features of query and set."""
        labels = self._known.labels[pairs.right]
        order = np.lexsort((-log_odds, labels, pairs.left))
        left, label, value = pairs.left[order], labels[order], log_odds[order]
        starts = np.flatnonzero(_changes(left) | _changes(label))
        sizes = np.diff(np.append(starts, len(left)))
        best = value[starts]
        second = np.where(sizes > 1, value[np.minimum(starts + 1, len(value) - 1)], -_LIMIT)
        total = np.add.reduceat(_sigmoid(value), starts)
        queries = left[starts]
        other, first = _best_other(queries, best)
        maxima = np.maximum.reduceat(pairs.features[order], starts, axis=0)
        rows = order[starts]
        columns = [best, second, other, best - other, np.minimum(sizes, 10), np.minimum(total, 5)]
        columns.append(self._seen[queries])
        names = pairs.right[rows]
        conflicts = self._conflicts(queries, names, first)
        margins = maxima - _largest_other(queries, maxima)
        features = np.concatenate(
            [np.stack([*columns, conflicts], axis=1), pairs.features[rows], maxima, margins],
            axis=1,
        )
        return _Sets(queries, label[starts], names, features.astype(np.float32), first)

    def _conflicts(self, queries: Positions, names: Positions, first: Truth) -> Floats:
        """Whether the names of the best sets tell siblings apart, such as type 1 and type 2."""
        values = np.zeros(len(queries), np.float32)
        surfaces, words = self._table.names, self._known.words
        for entry in np.flatnonzero(first).tolist():
            pair = surfaces[queries[entry]], surfaces[names[entry]]
            values[entry] = conflicting(*pair, words)
        return values

    def _abbreviations(self, left: Positions, right: Positions) -> Floats:
        """Whether one name is a short form of the other, where one is short enough to be."""
        values = np.zeros(len(left), np.float32)
        names, short = self._table.names, self._is_short
        for pair in np.flatnonzero(short[left] != short[right]).tolist():
            values[pair] = is_abbreviation(names[left[pair]], names[right[pair]])
        return values

    def _context(
        self, rows: Floats, left: Positions, right: Positions, references: Positions
    ) -> Floats:
        """Cosines in a table of the corpus: of both names, and of the name and its set's mean."""
        seen = filled_rows(rows)
        labels = self._known.labels
        targets, place = np.unique(labels[right], return_inverse=True)
        known = references[seen[references]]
        at = np.minimum(np.searchsorted(targets, labels[known]), max(len(targets) - 1, 0))
        of_target = targets[at] == labels[known] if len(targets) else np.zeros(len(known), np.bool_)
        means = np.zeros((len(targets), rows.shape[1]), np.float32)
        np.add.at(means, at[of_target], rows[known[of_target]])
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        means /= np.maximum(lengths, 1e-9)
        values = np.zeros((len(left), 4), np.float32)
        values[:, 0] = np.einsum("ij,ij->i", rows[left], rows[right])
        values[:, 1] = np.einsum("ij,ij->i", rows[left], means[place])
        values[:, 2] = seen[left] & seen[right]
        values[:, 3] = seen[left] & (lengths[place, 0] > 0)
        return values


def _changes(values: Positions) -> Truth:
    """Where a value differs from the one before it; the first does."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def _best_other(queries: Positions, best: Doubles) -> tuple[Doubles, Truth]:
    """The best log-odds of another set of the same query, and whether an entry is the first."""
    order = np.lexsort((-best, queries))
    starts = np.flatnonzero(_changes(queries[order]))
    group = np.cumsum(_changes(queries[order])) - 1
    sizes = np.diff(np.append(starts, len(order)))
    value = best[order]
    following = value[np.minimum(starts + 1, max(len(value) - 1, 0))]
    runner_up = np.where(sizes > 1, following, -_LIMIT)
    is_first = np.arange(len(order)) == starts[group]
    other, first = np.empty(len(best)), np.empty(len(best), np.bool_)
    other[order] = np.where(is_first, runner_up[group], value[starts][group])
    first[order] = is_first
    return other, first


def _largest_other(queries: Positions, values: Floats) -> Floats:
    """The largest value of another entry of the same query, in each column; 0 for none.

    The entries of a query stand together.
    """
    starts = np.flatnonzero(_changes(queries))
    group = np.cumsum(_changes(queries)) - 1
    largest = np.maximum.reduceat(values, starts, axis=0)[group]
    at_top = values == largest
    count = np.add.reduceat(at_top, starts, axis=0, dtype=np.int64)[group]
    second = np.maximum.reduceat(np.where(at_top, -np.inf, values), starts, axis=0)[group]
    other: Floats = np.where(at_top & (count == 1), second, largest)
    return np.where(np.isfinite(other), other, 0)


@dataclass(frozen=True, eq=False)
class _Network:
    """Log-odds that two names belong to one set, from the features of the pair."""

    means: Floats
    deviations: Floats
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]

    @classmethod
    def fit(
        cls, features: Floats, true: Truth, weights: Doubles, settings: AssignmentSettings
    ) -> _Network:
        from sklearn.neural_network import MLPClassifier

        means, deviations = features.mean(axis=0), features.std(axis=0) + np.float32(1e-3)
        network = MLPClassifier(
            settings.hidden_layers,
            batch_size=512,
            learning_rate_init=2e-3,
            max_iter=settings.epochs,
            n_iter_no_change=settings.epochs + 1,
            random_state=settings.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of epochs is meant
            network.fit(_standard(features, means, deviations), true, sample_weight=weights)
        return cls(means, deviations, tuple(network.coefs_), tuple(network.intercepts_))

    def log_odds(self, features: Floats) -> Doubles:
        hidden = _standard(features, self.means, self.deviations)
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weights + biases, 0)
        logits = (hidden @ self.weights[-1] + self.biases[-1])[:, 0].astype(np.float64)
        return np.clip(logits, -_LIMIT, _LIMIT)


def _standard(features: Floats, means: Floats, deviations: Floats) -> Floats:
    standard: Floats = np.clip((features - means) / deviations, -CLIP, CLIP)
    return standard


def _is_right(pairs: _Pairs, labels: Positions, drawn: _Drawn) -> tuple[Truth, Positions]:
    """Whether both names of a pair belong to one set, and the place of the query of each pair."""
    place = np.searchsorted(drawn.queries, pairs.left)
    return drawn.labels[place] == labels[pairs.right], place


def _has_both_outcomes(pairs: _Pairs, labels: Positions, drawn: _Drawn) -> bool:
    """Whether each fold has right and wrong pairs; a few large sets may lack one."""
    right, place = _is_right(pairs, labels, drawn)
    return len(np.unique(2 * drawn.folds[place] + right)) == 4


def _cross_fit(
    pairs: _Pairs, labels: Positions, drawn: _Drawn, settings: AssignmentSettings
) -> tuple[list[_Network], Doubles]:
    """Two networks, each of which judges the pairs that the other has learned from."""
    true, place = _is_right(pairs, labels, drawn)
    weights, fold = drawn.weights[place], drawn.folds[place]
    networks = [
        _Network.fit(
            pairs.features[fold == number],
            true[fold == number],
            weights[fold == number],
            settings,
        )
        for number in (0, 1)
    ]
    scores = np.empty(len(true))
    for number in (0, 1):
        scores[fold == number] = networks[1 - number].log_odds(pairs.features[fold == number])
    return networks, scores


@dataclass(frozen=True, eq=False)
class _Calibration:
    """The probability that a name belongs to a set, from the features of both."""

    means: Floats
    deviations: Floats
    weights: Doubles  # (1 + features,), the bias first
    rehearsal: Rehearsal

    @classmethod
    def fit(cls, sets: _Sets, drawn: _Drawn, settings: AssignmentSettings) -> _Calibration:
        """Learn from all candidate sets of the hidden names.

        The rehearsal reports what a regression says that has learned from the other fold.
        """
        place = np.searchsorted(drawn.queries, sets.queries)
        true, weights = drawn.labels[place] == sets.labels, drawn.weights[place]
        fold = drawn.folds[place]
        means = sets.features.mean(axis=0)
        deviations = sets.features.std(axis=0) + np.float32(1e-3)
        standard = _standard(sets.features, means, deviations)
        held_out = np.empty(len(true))
        for number in (0, 1):
            learned = fold != number
            values = _regression(standard[learned], true[learned], weights[learned], settings)
            held_out[~learned] = _sigmoid(standard[~learned] @ values[1:] + values[0])
        best = np.lexsort((-held_out, sets.queries))
        best = best[_changes(sets.queries[best])]
        probabilities = np.zeros(len(drawn.queries))
        right = np.zeros(len(drawn.queries), np.bool_)
        probabilities[place[best]], right[place[best]] = held_out[best], true[best]
        rehearsal = Rehearsal(
            probabilities, right, drawn.labels != NO_SET, drawn.seen, drawn.weights
        )
        return cls(means, deviations, _regression(standard, true, weights, settings), rehearsal)

    def probabilities(self, features: Floats) -> Doubles:
        standard = _standard(features, self.means, self.deviations)
        return _sigmoid(standard @ self.weights[1:] + self.weights[0])


def _regression(
    features: Floats, true: Truth, weights: Doubles, settings: AssignmentSettings
) -> Doubles:
    """Logistic regression with a ridge penalty: the bias, then a weight for each feature."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1 / settings.penalty, max_iter=500)
    fitted.fit(features, true, sample_weight=weights)
    values: Doubles = np.concatenate([fitted.intercept_, fitted.coef_[0]]).astype(np.float64)
    return values


def _sigmoid(logits: Doubles) -> Doubles:
    values: Doubles = 1 / (1 + np.exp(-np.clip(logits, -500, 500)))
    return values
