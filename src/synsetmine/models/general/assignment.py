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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.models.general.candidate_sets import (
    CandidatePairs,
    CandidateSets,
    CandidateView,
    KnownNames,
    changes,
    is_seen,
)
from synsetmine.models.general.linkage import sigmoid
from synsetmine.models.general.name_table import NameTable, Positions
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pair_evidence import long_forms
from synsetmine.models.general.settings import AssignmentSettings
from synsetmine.models.known import Rehearsal
from synsetmine.text.evidence import Evidence
from synsetmine.types import Progress

Truth: TypeAlias = npt.NDArray[np.bool_]
Doubles: TypeAlias = npt.NDArray[np.float64]

NO_SET = -1


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
    drawn = _draw(known, is_seen(contexts, len(known.names) + len(terms)), settings)
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
    view = CandidateView(table, known, contexts, evidence, long_positions, settings)
    view.learn(drawn.references)
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
    view.learn(every)  # the hidden names teach words too
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


@dataclass(frozen=True, eq=False)
class _RehearsalNames:
    """The names that a rehearsal looks for, and the names among which it does."""

    queries: Positions
    labels: Positions  # (queries,): the set of each, or NO_SET
    weights: Doubles  # (queries,)
    seen: Truth  # (queries,)
    folds: Positions  # (queries,): 0 or 1; the names of a set are in one fold
    references: Positions


def _draw(known: KnownNames, seen: Truth, settings: AssignmentSettings) -> _RehearsalNames | None:
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
    return _RehearsalNames(
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
class _Network:
    """Log-odds that two names belong to one set, from the features of the pair."""

    means: Floats
    deviations: Floats
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    settings: AssignmentSettings

    @classmethod
    def fit(
        cls, features: Floats, true: Truth, weights: Doubles, settings: AssignmentSettings
    ) -> _Network:
        from sklearn.neural_network import MLPClassifier

        means, deviations = features.mean(axis=0), features.std(axis=0) + np.float32(1e-3)
        network = MLPClassifier(
            settings.hidden_layers,
            batch_size=settings.batch_pairs,
            learning_rate_init=settings.learning_rate,
            max_iter=settings.epochs,
            n_iter_no_change=settings.epochs + 1,
            random_state=settings.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of epochs is meant
            network.fit(
                _standard(features, means, deviations, settings.clip), true, sample_weight=weights
            )
        return cls(means, deviations, tuple(network.coefs_), tuple(network.intercepts_), settings)

    def log_odds(self, features: Floats) -> Doubles:
        hidden = _standard(features, self.means, self.deviations, self.settings.clip)
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weights + biases, 0)
        logits = (hidden @ self.weights[-1] + self.biases[-1])[:, 0].astype(np.float64)
        return np.clip(logits, -self.settings.limit, self.settings.limit)


def _standard(features: Floats, means: Floats, deviations: Floats, clip: float) -> Floats:
    standard: Floats = np.clip((features - means) / deviations, -clip, clip)
    return standard


def _is_right(
    pairs: CandidatePairs, labels: Positions, drawn: _RehearsalNames
) -> tuple[Truth, Positions]:
    """Whether both names of a pair belong to one set, and the place of the query of each pair."""
    place = np.searchsorted(drawn.queries, pairs.left)
    return drawn.labels[place] == labels[pairs.right], place


def _has_both_outcomes(pairs: CandidatePairs, labels: Positions, drawn: _RehearsalNames) -> bool:
    """Whether each fold has right and wrong pairs; a few large sets may lack one."""
    right, place = _is_right(pairs, labels, drawn)
    return len(np.unique(2 * drawn.folds[place] + right)) == 4


def _cross_fit(
    pairs: CandidatePairs, labels: Positions, drawn: _RehearsalNames, settings: AssignmentSettings
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
    clip: float
    rehearsal: Rehearsal

    @classmethod
    def fit(
        cls, sets: CandidateSets, drawn: _RehearsalNames, settings: AssignmentSettings
    ) -> _Calibration:
        """Learn from all candidate sets of the hidden names.

        The rehearsal reports what a regression says that has learned from the other fold.
        """
        place = np.searchsorted(drawn.queries, sets.queries)
        true, weights = drawn.labels[place] == sets.labels, drawn.weights[place]
        fold = drawn.folds[place]
        means = sets.features.mean(axis=0)
        deviations = sets.features.std(axis=0) + np.float32(1e-3)
        standard = _standard(sets.features, means, deviations, settings.clip)
        held_out = np.empty(len(true))
        for number in (0, 1):
            learned = fold != number
            values = _regression(standard[learned], true[learned], weights[learned], settings)
            held_out[~learned] = sigmoid(standard[~learned] @ values[1:] + values[0])
        best = np.lexsort((-held_out, sets.queries))
        best = best[changes(sets.queries[best])]
        probabilities = np.zeros(len(drawn.queries))
        right = np.zeros(len(drawn.queries), np.bool_)
        probabilities[place[best]], right[place[best]] = held_out[best], true[best]
        rehearsal = Rehearsal(
            probabilities, right, drawn.labels != NO_SET, drawn.seen, drawn.weights
        )
        values = _regression(standard, true, weights, settings)
        return cls(means, deviations, values, settings.clip, rehearsal)

    def probabilities(self, features: Floats) -> Doubles:
        standard = _standard(features, self.means, self.deviations, self.clip)
        return sigmoid(standard @ self.weights[1:] + self.weights[0])


def _regression(
    features: Floats, true: Truth, weights: Doubles, settings: AssignmentSettings
) -> Doubles:
    """Logistic regression with a ridge penalty: the bias, then a weight for each feature."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1 / settings.penalty, max_iter=500)
    fitted.fit(features, true, sample_weight=weights)
    values: Doubles = np.concatenate([fitted.intercept_, fitted.coef_[0]]).astype(np.float64)
    return values
