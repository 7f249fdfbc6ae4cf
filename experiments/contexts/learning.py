"""A logistic regression over names and contexts, learned from mentions of known entities."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from experiments.contexts.mentions import Row
from synsetmine.models.general.contexts import ContextClassifier, ContextPairs
from synsetmine.models.general.features import Positions
from synsetmine.models.general.linkage import Linkage, pair_graph, sigmoid
from synsetmine.models.general.model import GeneralModel
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.task import log_odds
from synsetmine.normalization import name_key
from synsetmine.pipeline.grouping import Encode, vectors_in_context
from synsetmine.types import Term
from synsetmine.views import TermViews

MENTIONS = (1, 2, 4, 8, 16)  # contexts of a node; one of these numbers is drawn for each
PENALTY = 0.01  # of the squared weights of features of deviation 1, beside the mean loss
SLOPE_PENALTY = 1e-3  # of a source's slope, around 1
BIAS_PENALTY = 1e-4  # of a source's bias: one without any pair that is different has no limit
UNRELATED = 10_000  # random pairs of a draw, at most
SAME_NAME = 1.0  # log-odds that two mentions of one name are one thing; 3.0 joins no more of them


class Nodes:
    """The names of some rows, each with some of its contexts, as the model compares them."""

    def __init__(
        self, rows: Sequence[Row], model: GeneralModel, encode: Encode | None, seed: int
    ) -> None:
        rng = random.Random(seed)  # noqa: S311
        mentions: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            mentions.setdefault((name_key(row.name), row.entity), []).append(row)
        names, contexts, self.entities = [], [], []
        for (_, entity), own in mentions.items():
            while own:
                size = rng.choice(MENTIONS)
                some, own = own[:size], own[size:]
                names.append(some[0].name)
                contexts.append([row.context for row in some])
                self.entities.append(entity)
        terms = [Term(name, str(position)) for position, name in enumerate(names)]
        vectors = vectors_in_context(dict(zip(terms, contexts, strict=True)), encode)
        rows_in_context = None if vectors is None else vectors.select(terms)
        self.pairs = ContextPairs(names, contexts, model.encoder, rows_in_context)
        forms = [Term(form) for form in self.pairs.forms]
        views = TermViews(encoder=None if encode is None else encode(forms))
        named = model.pairs(forms, views, tables=())
        self.compare = partial(named.log_odds, adaptation=None)
        self.left, self.right = self.pairs.candidates(*named.candidates())
        self.known = self.pairs.pairs(self.left, self.right, self.compare)
        number = {entity: place for place, entity in enumerate(dict.fromkeys(self.entities))}
        own_numbers = np.array([number[entity] for entity in self.entities])
        self.true = own_numbers[self.left] == own_numbers[self.right]
        self.function = model.function

    def sets(self, classifier: ContextClassifier, threshold: float) -> list[int]:
        """The set of each node."""

        def compare(left: Positions, right: Positions, _: object) -> Floats:
            return self.pairs.log_odds(left, right, self.compare, classifier)

        graph = pair_graph(self.pairs.count, self.left, self.right, compare)
        linkage = Linkage(graph, self.function)
        linkage.merge(log_odds(threshold))
        return [int(number) for number in linkage.set_of]


class Pairs(NamedTuple):
    """The pairs of one source."""

    features: Floats  # (pairs, width)
    names: Floats  # (pairs,)
    true: npt.NDArray[np.bool_]  # (pairs,)


def learn(sources: Mapping[str, Sequence[Nodes]], *, prior: float = SAME_NAME) -> ContextClassifier:
    """Learn from the nodes of several sources; all sources count alike."""
    return ContextClassifier(_learn_different(sources), _learn_same(sources, prior))


def _learn_different(sources: Mapping[str, Sequence[Nodes]]) -> Floats:
    """The weights of contexts of two different names, the bias first.

    How many pairs are true differs between sources, and contexts cannot tell. So in training each
    source has a bias and a slope of the log-odds of names for itself. The bias of the result is how
    much these biases move when the contexts are added.
    """
    parts = [_pairs(nodes) for nodes in sources.values()]
    deviations = np.concatenate([part.features for part in parts]).std(axis=0) + 1e-3
    without, _ = _fit(parts, deviations, contexts=False)
    biases, weights = _fit(parts, deviations, contexts=True)
    return np.array([float(np.mean(biases - without)), *weights], np.float32)


def _learn_same(sources: Mapping[str, Sequence[Nodes]], prior: float) -> Floats:
    """The weights of contexts of one name, the bias first: `prior` and a log-likelihood ratio.

    Names of several entities are few, and most of these entities are related. So contexts of one
    name and entity are compared with those of unrelated names, as many of either.
    """
    parts, sizes = [], []
    for nodes in sources.values():
        used = nodes[0].pairs.similarities
        true = np.concatenate([n.known.features[n.known.same & n.true] for n in nodes])
        unrelated = np.concatenate([n.pairs.random_features(UNRELATED) for n in nodes])
        for features, label in ((true, True), (unrelated, False)):
            parts.append((features[:, :used], np.full(len(features), label)))
            sizes.append(np.full(len(features), 1 / max(len(features), 1)))
    features = np.concatenate([part[0] for part in parts])
    labels = np.concatenate([part[1] for part in parts]).astype(np.float32)
    deviations = features.std(axis=0) + 1e-3
    count = len(sizes)
    shares = np.concatenate(sizes) / count
    one = Pairs(features, np.zeros(len(features), np.float32), labels > 0)
    biases, weights = _fit([one], deviations, contexts=True, shares=shares)
    further = np.zeros(nodes[0].known.features.shape[1] - used)
    return np.array([prior + biases[0], *weights, *further], np.float32)


def _pairs(nodes: Sequence[Nodes]) -> Pairs:
    kept = [~one.known.same for one in nodes]
    columns = zip(*((one.known.features, one.known.names, one.true) for one in nodes), strict=True)
    features, names, true = (
        np.concatenate([column[k] for column, k in zip(own, kept, strict=True)]) for own in columns
    )
    return Pairs(features, names, true)


def _fit(
    parts: Sequence[Pairs],
    deviations: Floats,
    *,
    contexts: bool,
    shares: npt.NDArray[np.float64] | None = None,  # of the only part's pairs
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The bias of each source, and the weights, by logistic regression."""
    count = len(parts)
    scaled = [part.features / deviations for part in parts]

    def loss(values: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        biases, slopes, weights = np.split(values, [count, 2 * count])
        total = PENALTY * np.sum(weights**2) + SLOPE_PENALTY * np.sum((slopes - 1) ** 2)
        total += BIAS_PENALTY * np.sum(biases**2)
        slope = np.concatenate(
            [2 * BIAS_PENALTY * biases, 2 * SLOPE_PENALTY * (slopes - 1), 2 * PENALTY * weights]
        )
        for place, (part, features) in enumerate(zip(parts, scaled, strict=True)):
            score = biases[place] + slopes[place] * part.names
            if contexts:
                score = score + features @ weights
            share = 1 / max(len(score), 1) / count if shares is None else shares
            total += np.sum(share * (np.logaddexp(0, score) - part.true * score))
            error = share * (sigmoid(score) - part.true)
            slope[place] += error.sum()
            slope[count + place] += (error * part.names).sum()
            if contexts:
                slope[2 * count :] += features.T @ error
        return float(total), slope

    start = np.concatenate([np.zeros(count), np.ones(count), np.zeros(len(deviations))])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return best[:count], best[2 * count :] / deviations


def pair_scores(labels: Sequence[object], truth: Sequence[object]) -> tuple[float, float, float]:
    """Precision, recall and F1 of pairs."""

    def pairs(groups: Sequence[object]) -> int:
        return sum(count * (count - 1) // 2 for count in Counter(groups).values())

    right = pairs([*zip(labels, truth, strict=True)])
    precision = right / max(pairs(labels), 1)
    recall = right / max(pairs(truth), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)
