"""Assigns new names to known sets: which set a name belongs to, and how likely.

The known sets teach it by a rehearsal of several rounds. In each, some of their names are hidden,
and some sets are removed as a whole. The hidden names are then looked for among the names that are
left, as new names will be: a hidden name should find its set, a name of a removed set should find
none. An abbreviation that the corpus defines as something else than its set teaches nothing, and
joins no such set.

The vectors of words are tuned to the known sets, without the names that are looked for. A network
compares a name with each of its candidates; two networks learn from one half of the
hidden names each and judge the other half. A logistic regression then judges the best sets of a
name: by what the network says of the best name of a set, of the best name of another set, by the
names' features, and by what the corpus says. So the probability is calibrated on names that the
network has not learned from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synsetmine.models.general.candidate_sets import (
    CandidatePairs,
    CandidateSets,
    CandidateView,
    KnownNames,
    is_seen,
)
from synsetmine.models.general.linkage import sigmoid
from synsetmine.models.general.name_table import NameTable, Positions, changes
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pair_evidence import Meanings, long_forms
from synsetmine.models.general.settings import AssignmentSettings
from synsetmine.models.general.word_vectors import TunedWords
from synsetmine.models.known import Doubles, Rehearsal, Truth
from synsetmine.text.evidence import Evidence
from synsetmine.types import Progress
from synsetmine.views.strings import StaticEncoder

NO_SET = -1


@dataclass(frozen=True, eq=False)
class Assignments:
    """The sets that names may belong to: one entry for each name and set, by name.

    Those of name i are at starts[i] to starts[i + 1], the most likely first.
    """

    names: Positions  # (names,), positions among the known names and the terms behind them
    starts: Positions  # (names + 1,)
    sets: Positions  # (entries,)
    probabilities: Doubles  # (entries,)
    nearest: Positions  # (entries,), the number of the nearest known name of the set
    rehearsal: Rehearsal
    # Without the sets held out: their names are assigned too, and the terms to other sets only
    without_held_out: Assignments | None = None

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
    encoder: StaticEncoder | None = None,  # its vectors are tuned to the known sets
    contexts: Sequence[Floats] = (),  # from a corpus: rows of the known names, then of the terms
    evidence: Evidence | None = None,
    held_out: Container[int] = (),  # numbers of sets that teach nothing; see `Assignments`
    settings: AssignmentSettings | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Assignments | None:
    """Rehearse on the known names, then assign the terms; None if there are too few to rehearse."""
    settings = settings or AssignmentSettings()
    tell = progress or (lambda _done, _total: None)
    meanings = Meanings(known.names, known.labels, evidence, settings.same_meaning)
    taught = np.array([label not in held_out for label in known.labels.tolist()], np.bool_)
    seen = is_seen(contexts, len(known.names) + len(terms))[: len(known.names)]
    rounds = _rounds(known, seen, taught, meanings, settings)
    if not rounds:
        return None
    words = None
    if encoder is not None:
        words = _tune_words(encoder, known, rounds, taught, settings)
    view = _view(known, terms, encode, words, contexts, evidence, meanings, settings, threads)
    steps = len(rounds) + 4
    tell(1, steps)
    report = lambda done: tell(1 + done, steps)  # noqa: E731
    assigner = _rehearse(view, rounds, known.labels, settings, report)
    if assigner is None:
        return None
    new = len(known.names) + np.arange(len(terms))
    every = np.arange(len(known.names))
    view.learn(every)  # the hidden names teach words too
    pairs = view.pairs(new, every, settings.neighbours)
    tell(steps - 1, steps)
    result = assigner.assign(view, new, pairs)
    if not taught.all():
        unknown = np.flatnonzero(~taught)
        view.learn(every[taught])
        of_unknown = view.pairs(unknown, every[taught], settings.neighbours)
        pairs = of_unknown.followed_by(pairs.of(taught[pairs.right]))
        without = assigner.assign(view, np.concatenate([unknown, new]), pairs)
        result = replace(result, without_held_out=without)
    tell(steps, steps)
    return result


def _view(
    known: KnownNames,
    terms: Sequence[str],
    encode: Callable[[Sequence[str]], Sequence[Floats]],
    words: TunedWords | None,
    contexts: Sequence[Floats],
    evidence: Evidence | None,
    meanings: Meanings,
    settings: AssignmentSettings,
    threads: int,
) -> CandidateView:
    """The known names, the terms, and the long forms that the corpus has for any of them."""
    names = [*known.names, *terms]
    long_of = long_forms(names, evidence) if evidence is not None else {}
    first = len(names)
    names += dict.fromkeys(long_of.values())
    number_of = {form: number for number, form in enumerate(names[first:], start=first)}
    long_positions = {position: number_of[form] for position, form in long_of.items()}
    spelled = known.spelled.extend(names[len(known.names) :])
    tables, compared = [*encode(names)], []
    if words is not None:
        tuned, static = words.encode(names)
        tables, compared = [tuned, *tables], [static]
    table = NameTable(names, tables, compared, spelled=spelled, threads=threads)
    return CandidateView(table, known, contexts, evidence, long_positions, meanings, settings)


def _rehearse(
    view: CandidateView,
    rounds: Sequence[_Round],
    labels: Positions,
    settings: AssignmentSettings,
    tell: Callable[[int], None],  # how many of the rounds, and of the networks, are done
) -> _Assigner | None:
    """Learn from all rounds; None if right or wrong pairs are missing."""
    from threadpoolctl import threadpool_limits

    pairs = []
    for done, drawn in enumerate(rounds, start=1):
        view.learn(drawn.references)
        pairs.append(view.pairs(drawn.queries, drawn.references, settings.neighbours))
        tell(done)
    examples = _Examples.of(rounds, pairs, labels)
    if not examples.have_both_outcomes:
        return None
    with threadpool_limits(1, "blas"):  # sums of several threads differ in their last digits
        networks, scores = _cross_fit(examples, settings)
        tell(len(rounds) + 1)
        starts = np.cumsum([len(one.left) for one in pairs])[:-1]
        parts = zip(pairs, np.split(scores, starts), strict=True)
        sets = [view.sets(*part) for part in parts]
        return _Assigner(networks, _Calibration.fit(rounds, sets, settings))


@dataclass(frozen=True, eq=False)
class _Assigner:
    """What a rehearsal has learned."""

    networks: Sequence[_Network]
    calibration: _Calibration

    def assign(self, view: CandidateView, names: Positions, pairs: CandidatePairs) -> Assignments:
        """The sets of these names, in order, by their candidate pairs."""
        scores = np.mean([network.log_odds(pairs.features) for network in self.networks], axis=0)
        sets = view.sets(pairs, scores)
        probabilities = self.calibration.probabilities(sets.features)
        order = np.lexsort((sets.labels, -probabilities, sets.queries))
        queries = sets.queries[order]
        return Assignments(
            names,
            np.append(np.searchsorted(queries, names), len(queries)),
            sets.labels[order],
            probabilities[order],
            sets.names[order],
            self.calibration.rehearsal,
        )


@dataclass(frozen=True, eq=False)
class _Round:
    """The names that a round of the rehearsal looks for, and the names among which it does."""

    queries: Positions
    labels: Positions  # (queries,): the set of each, or NO_SET
    weights: Doubles  # (queries,)
    seen: Truth  # (queries,)
    folds: Positions  # (queries,): 0 or 1; the names of a set are in one fold in all rounds
    references: Positions


def _rounds(
    known: KnownNames,
    seen: Truth,
    taught: Truth,  # (names,): whether the set of each is not held out
    meanings: Meanings,
    settings: AssignmentSettings,
) -> list[_Round]:
    usable = taught & ~_have_other_meaning(known, seen, meanings)
    return _draw(known, seen, taught, usable, settings)


def _tune_words(
    encoder: StaticEncoder,
    known: KnownNames,
    rounds: Sequence[_Round],
    taught: Truth,
    settings: AssignmentSettings,
) -> TunedWords:
    """Vectors of words from taught names that no round looks for, as no new name teaches them."""
    from threadpoolctl import threadpool_limits

    taught = taught.copy()
    for drawn in rounds:
        taught[drawn.queries] = False
        removed = known.labels[drawn.queries[drawn.labels == NO_SET]]
        taught &= ~np.isin(known.labels, removed)
    rows = np.flatnonzero(taught)
    names = [known.names[row] for row in rows.tolist()]
    with threadpool_limits(1, "blas"):  # sums of several threads differ in their last digits
        return TunedWords.learn(encoder, names, known.labels[rows], settings.tuning)


def _have_other_meaning(known: KnownNames, seen: Truth, meanings: Meanings) -> Truth:
    """Names by which the corpus means something else than their sets."""
    other = np.zeros(len(known.names), np.bool_)
    own = np.flatnonzero(seen)
    other[own] = meanings.rule_out([known.names[name] for name in own.tolist()], known.labels[own])
    return other


def _draw(
    known: KnownNames, seen: Truth, taught: Truth, usable: Truth, settings: AssignmentSettings
) -> list[_Round]:
    """The rounds; none if there are too few names.

    Only usable names are looked for, among those that are `taught`.
    """
    labels, count = known.labels, len(known.names)
    sets = int(labels.max()) + 1 if count else 0
    rng = np.random.default_rng(settings.seed)
    folds = rng.integers(2, size=sets)
    first = changes(labels)
    rounds: list[_Round] = []
    ever_hidden = np.zeros(count, np.bool_)
    for _ in range(settings.rounds):
        removed = (rng.random(sets) < settings.removed_share)[labels]
        hidden = ~first & (rng.random(count) < settings.hidden_share) & ~removed
        parts = [
            _sample(chosen & usable, most // settings.rounds, rng)
            for chosen, most in (
                (hidden & seen, settings.seen_queries),
                (hidden & ~seen, settings.unseen_queries),
                (removed & seen, settings.seen_queries),
                (removed & ~seen, settings.unseen_removed),
            )
        ]
        ever_hidden[np.concatenate(parts[:2])] = True
        queries = np.sort(np.concatenate(parts))
        rounds.append(
            _Round(
                queries,
                np.where(removed[queries], NO_SET, labels[queries]),
                np.where(seen[queries], settings.seen_weight, 1.0),
                seen[queries],
                folds[labels[queries]],
                np.flatnonzero(taught & ~hidden & ~removed),
            )
        )
    if ever_hidden.sum() < settings.fewest_queries:
        return []
    _balance(rounds, settings.unknown_share)
    return rounds


def _sample(chosen: Truth, most: int, rng: np.random.Generator) -> Positions:
    rows = np.flatnonzero(chosen)
    return rng.permutation(rows)[:most]


def _balance(rounds: Sequence[_Round], unknown_share: float) -> None:
    """Scale the weights, so that names of removed sets have this share of them."""
    count = sum(len(drawn.queries) for drawn in rounds)
    for is_home, share in ((True, 1 - unknown_share), (False, unknown_share)):
        parts = [(drawn.labels != NO_SET) == is_home for drawn in rounds]
        pairs = [*zip(rounds, parts, strict=True)]
        total = sum(float(drawn.weights[part].sum()) for drawn, part in pairs)
        for drawn, part in pairs:
            drawn.weights[part] *= share * count / max(total, 1e-9)


@dataclass(frozen=True, eq=False)
class _Examples:
    """The pairs of all rounds, from which the networks learn."""

    features: Floats  # (pairs, features)
    true: Truth  # (pairs,): whether both names belong to one set
    weights: Doubles  # (pairs,)
    folds: Positions  # (pairs,)

    @classmethod
    def of(
        cls, rounds: Sequence[_Round], pairs: Sequence[CandidatePairs], labels: Positions
    ) -> _Examples:
        columns = []
        for drawn, some in zip(rounds, pairs, strict=True):
            row = np.searchsorted(drawn.queries, some.left)
            true = drawn.labels[row] == labels[some.right]
            columns.append((some.features, true, drawn.weights[row], drawn.folds[row]))
        return cls(*map(np.concatenate, zip(*columns, strict=True)))

    @property
    def have_both_outcomes(self) -> bool:
        """Whether each fold has right and wrong pairs; a few large sets may lack one."""
        return len(np.unique(2 * self.folds + self.true)) == 4


@dataclass(frozen=True, eq=False)
class _Scale:
    """Standardises features; outliers are clipped."""

    means: Floats
    deviations: Floats
    clip: float

    @classmethod
    def fit(cls, features: Floats, clip: float) -> _Scale:
        return cls(features.mean(axis=0), features.std(axis=0) + np.float32(1e-3), clip)

    def __call__(self, features: Floats) -> Floats:
        standard: Floats = np.clip((features - self.means) / self.deviations, -self.clip, self.clip)
        return standard


@dataclass(frozen=True, eq=False)
class _Network:
    """Log-odds that two names belong to one set, from the features of the pair."""

    scale: _Scale
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    settings: AssignmentSettings

    @classmethod
    def fit(
        cls, features: Floats, true: Truth, weights: Doubles, settings: AssignmentSettings
    ) -> _Network:
        from sklearn.neural_network import MLPClassifier

        scale = _Scale.fit(features, settings.clip)
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
            network.fit(scale(features), true, sample_weight=weights)
        return cls(scale, tuple(network.coefs_), tuple(network.intercepts_), settings)

    def log_odds(self, features: Floats) -> Doubles:
        hidden = self.scale(features)
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weights + biases, 0)
        logits = (hidden @ self.weights[-1] + self.biases[-1])[:, 0].astype(np.float64)
        return np.clip(logits, -self.settings.limit, self.settings.limit)


def _cross_fit(examples: _Examples, settings: AssignmentSettings) -> tuple[list[_Network], Doubles]:
    """Two networks, each of which judges the pairs that the other has learned from."""
    features, folds = examples.features, examples.folds
    networks = [
        _Network.fit(features[own], examples.true[own], examples.weights[own], settings)
        for own in (folds == 0, folds == 1)
    ]
    scores = np.empty(len(folds))
    for number in (0, 1):
        scores[folds == number] = networks[1 - number].log_odds(features[folds == number])
    return networks, scores


@dataclass(frozen=True, eq=False)
class _Calibration:
    """The probability that a name belongs to a set, from the features of both."""

    scale: _Scale
    weights: Doubles  # (1 + features,), the bias first
    rehearsal: Rehearsal

    @classmethod
    def fit(
        cls,
        rounds: Sequence[_Round],
        candidates: Sequence[CandidateSets],  # of each round
        settings: AssignmentSettings,
    ) -> _Calibration:
        """Learn from all candidate sets of the hidden names.

        The penalty is the one of the smallest loss on sets that a regression has not learned from.
        The rehearsal reports what that regression says.
        """
        offsets = np.cumsum([0, *(len(drawn.queries) for drawn in rounds)])
        queries = np.concatenate(
            [
                np.searchsorted(drawn.queries, sets.queries) + offset
                for drawn, sets, offset in zip(rounds, candidates, offsets[:-1], strict=True)
            ]
        )
        labels, weights, seen, folds = (
            np.concatenate([getattr(drawn, column) for drawn in rounds])
            for column in ("labels", "weights", "seen", "folds")
        )
        true = labels[queries] == np.concatenate([sets.labels for sets in candidates])
        features = np.concatenate([sets.features for sets in candidates])
        scale = _Scale.fit(features, settings.clip)
        standard = scale(features)
        fold, weight = folds[queries], weights[queries]

        def held_out(penalty: float) -> Doubles:
            values = np.empty(len(true))
            for own in (fold == 0, fold == 1):
                fitted = _regression(standard[~own], true[~own], weight[~own], penalty)
                values[own] = sigmoid(standard[own] @ fitted[1:] + fitted[0])
            return values

        def loss(values: Doubles) -> float:
            right = np.where(true, values, 1 - values)
            return -float(weight @ np.log(np.maximum(right, 1e-9)))

        choices = {penalty: held_out(penalty) for penalty in settings.penalties}
        penalty = min(choices, key=lambda choice: loss(choices[choice]))
        values = choices[penalty]
        best = np.lexsort((-values, queries))
        best = best[changes(queries[best])]
        probabilities, right = np.zeros(len(labels)), np.zeros(len(labels), np.bool_)
        probabilities[queries[best]], right[queries[best]] = values[best], true[best]
        rehearsal = Rehearsal(probabilities, right, labels != NO_SET, seen, weights)
        fitted = _regression(standard, true, weight, penalty)
        return cls(scale, fitted, rehearsal)

    def probabilities(self, features: Floats) -> Doubles:
        return sigmoid(self.scale(features) @ self.weights[1:] + self.weights[0])


def _regression(features: Floats, true: Truth, weights: Doubles, penalty: float) -> Doubles:
    """Logistic regression with a ridge penalty: the bias, then a weight for each feature."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1 / penalty, max_iter=500)
    fitted.fit(features, true, sample_weight=weights)
    values: Doubles = np.concatenate([fitted.intercept_, fitted.coef_[0]]).astype(np.float64)
    return values
