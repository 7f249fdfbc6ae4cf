"""A logistic regression over names and contexts, learned from mentions of known entities."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from experiments.contexts.mentions import Row
from synsetmine.models.general.contexts import ContextClassifier, ContextPairs
from synsetmine.models.general.features import Positions
from synsetmine.models.general.linkage import Linkage, SetFunction, pair_graph
from synsetmine.models.general.model import GeneralModel
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pairs import PairClassifier
from synsetmine.models.general.settings import PRECISION
from synsetmine.models.task import log_odds
from synsetmine.normalization import name_key
from synsetmine.pipeline.grouping import Encode, vectors_in_context
from synsetmine.types import Term
from synsetmine.views import TermViews

MENTIONS = (1, 2, 4, 8, 16)  # contexts of a node; one of these numbers is drawn for each
PENALTY = 10.0  # of the squared weights of standardised features
BIASES = np.arange(-1.0, 2.01, 0.25)


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
        self.features = self.pairs.features(self.left, self.right, self.compare)
        number = {entity: place for place, entity in enumerate(dict.fromkeys(self.entities))}
        own_numbers = np.array([number[entity] for entity in self.entities])
        self.true = own_numbers[self.left] == own_numbers[self.right]

    def sets(self, classifier: ContextClassifier, threshold: float) -> list[int]:
        """The set of each node."""

        def compare(left: Positions, right: Positions, _: object) -> Floats:
            return self.pairs.log_odds(left, right, self.compare, classifier.pairs)

        graph = pair_graph(self.pairs.count, self.left, self.right, compare)
        linkage = Linkage(graph, classifier.function)
        linkage.merge(log_odds(threshold))
        return [int(number) for number in linkage.set_of]


def learn(sources: Mapping[str, Sequence[Nodes]]) -> ContextClassifier:
    """Learn from the nodes of several sources; all sources count alike.

    The bias of the set function is the one with the highest pairwise F1 at the default threshold.
    """
    from sklearn.linear_model import LogisticRegression

    nodes = [one for own in sources.values() for one in own]
    features = np.concatenate([one.features for one in nodes])
    true = np.concatenate([one.true for one in nodes])
    pairs = [
        len(one.true) / sum(len(o.true) for o in own) for own in sources.values() for one in own
    ]
    weights = np.concatenate(
        [
            np.full(len(one.true), share / len(one.true))
            for one, share in zip(nodes, pairs, strict=True)
        ]
    )
    weights *= len(weights) / weights.sum()
    means, deviations = features.mean(axis=0), features.std(axis=0) + 1e-3
    fitted = LogisticRegression(C=1 / PENALTY, max_iter=2000)
    fitted.fit((features - means) / deviations, true, weights)
    classifier = PairClassifier(
        means.astype(np.float32),
        deviations.astype(np.float32),
        (fitted.coef_.T.astype(np.float32),),
        (fitted.intercept_.astype(np.float32),),
    )

    def quality(bias: float) -> float:
        of_bias = ContextClassifier(classifier, SetFunction(bias, 1.0))
        return float(
            np.mean([np.mean([f1(one, of_bias) for one in own]) for own in sources.values()])
        )

    return ContextClassifier(classifier, SetFunction(max(map(float, BIASES), key=quality), 1.0))


def f1(nodes: Nodes, classifier: ContextClassifier) -> float:
    """The pairwise F1 of the nodes at the default threshold."""
    return pair_scores(nodes.sets(classifier, PRECISION["balanced"]), nodes.entities)[2]


def pair_scores(labels: Sequence[object], truth: Sequence[object]) -> tuple[float, float, float]:
    """Precision, recall and F1 of pairs."""

    def pairs(groups: Sequence[object]) -> int:
        return sum(count * (count - 1) // 2 for count in Counter(groups).values())

    right = pairs([*zip(labels, truth, strict=True)])
    precision = right / max(pairs(labels), 1)
    recall = right / max(pairs(truth), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)
