"""A logistic regression over names and contexts, learned from mentions of known entities."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.contexts.mentions import Row, entities_of
from synsetmine.models.general.contexts import ContextClassifier, ContextPairs
from synsetmine.models.general.features import Positions
from synsetmine.models.general.linkage import Linkage, SetFunction, pair_graph
from synsetmine.models.general.model import GeneralModel
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pairs import PairClassifier
from synsetmine.models.general.settings import PRECISION
from synsetmine.models.task import log_odds
from synsetmine.normalization import name_key
from synsetmine.types import Term
from synsetmine.views import TermViews, encode_terms, unit_rows

ROWS = 1000  # of a vocabulary
SINGLE = 0.5  # share of entities with one name
NAMES = 6  # of an entity
MENTIONS = (1, 2, 4)  # contexts of a node in training; one drawn for each
PENALTY = 10.0  # of the squared weights of standardised features
BIASES = np.arange(-1.0, 2.01, 0.25)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Rows of a source, each with its entity."""

    source: str
    rows: tuple[Row, ...]
    contexts: tuple[str, ...]

    @property
    def entities(self) -> list[str]:
        return [row.entity for row in self.rows]


def is_for_tests(entity: str) -> bool:
    """One half of the entities, by a hash of the id, is kept from training."""
    return bool(hashlib.sha256(entity.encode()).digest()[0] & 1)


def vocabularies(
    source: str, rows: Sequence[Row], *, tests: bool, count: int, paragraphs: bool, seed: int = 0
) -> Iterator[Vocabulary]:
    """Random vocabularies of a source, with up to two mentions of each name.

    Every other one has, beside each entity, those that share a name with it.
    """
    entities = {e: names for e, names in entities_of(rows).items() if is_for_tests(e) == tests}
    sharing: dict[str, list[str]] = {}
    for entity, names in entities.items():
        for name in names:
            sharing.setdefault(name, []).append(entity)
    for number in range(count):
        rng = random.Random(f"{source} {seed} {number} {tests}")  # noqa: S311
        rows_drawn = _draw(entities, sharing, rng, with_namesakes=number % 2 == 0)
        texts = [row.paragraph if paragraphs else row.sentence for row in rows_drawn]
        yield Vocabulary(source, tuple(rows_drawn), tuple(texts))


def _draw(
    entities: Mapping[str, Mapping[str, Sequence[Row]]],
    sharing: Mapping[str, Sequence[str]],
    rng: random.Random,
    *,
    with_namesakes: bool,
) -> list[Row]:
    several = [entity for entity, names in entities.items() if len(names) > 1]
    single = [entity for entity, names in entities.items() if len(names) == 1]
    rng.shuffle(several)
    rng.shuffle(single)
    drawn: set[str] = set()
    rows: list[Row] = []
    for limit, own in ((ROWS * (1 - SINGLE), several), (ROWS, single)):
        for entity in own:
            if len(rows) >= limit:
                break
            namesakes = [other for name in entities[entity] for other in sharing[name]]
            for one in (entity, *namesakes) if with_namesakes and own is several else (entity,):
                if one not in drawn:
                    drawn.add(one)
                    rows += _mentions(entities[one], rng)
    return rows


def _mentions(names: Mapping[str, Sequence[Row]], rng: random.Random) -> list[Row]:
    """One or two mentions of each of a few names."""
    few = rng.sample(list(names), min(NAMES, len(names)))
    return [row for n in few for row in rng.sample(names[n], min(rng.randint(1, 2), len(names[n])))]


class Nodes:
    """The names of a vocabulary, each with some of its contexts, as the model compares them."""

    def __init__(
        self, vocabulary: Vocabulary, model: GeneralModel, encoder: str | None, seed: int
    ) -> None:
        rng = random.Random(seed)  # noqa: S311
        mentions: dict[tuple[str, str], list[int]] = {}
        for place, row in enumerate(vocabulary.rows):
            mentions.setdefault((name_key(row.name), row.entity), []).append(place)
        names, contexts, self.entities = [], [], []
        for (_, entity), places in mentions.items():
            while places:
                size = rng.choice(MENTIONS)
                some, places = places[:size], places[size:]
                names.append(vocabulary.rows[some[0]].name)
                contexts.append([vocabulary.contexts[place] for place in some])
                self.entities.append(entity)
        rows = None
        views = TermViews()
        if encoder is not None:
            rows = in_context(names, contexts, encoder)
        self.pairs = ContextPairs(names, contexts, model.encoder, rows)
        terms = [Term(form) for form in self.pairs.forms]
        if encoder is not None:
            views = TermViews(encoder=encode_terms(terms, encoder))
        self.forms = model.pairs(terms, views, tables=())
        self.compare = partial(self.forms.log_odds, adaptation=None)
        self.left, self.right = self.pairs.candidates(*self.forms.candidates())
        self.features = self.pairs.features(self.left, self.right, self.compare)
        own = np.array([hash(entity) for entity in self.entities])
        self.true = own[self.left] == own[self.right]

    def sets(self, classifier: ContextClassifier, threshold: float) -> list[int]:
        """The set of each node."""

        def compare(left: Positions, right: Positions, _: object) -> Floats:
            return self.pairs.log_odds(left, right, self.compare, classifier.pairs)

        graph = pair_graph(self.pairs.count, self.left, self.right, compare)
        linkage = Linkage(graph, classifier.function)
        linkage.merge(log_odds(threshold))
        return [int(number) for number in linkage.set_of]


def in_context(
    names: Sequence[str], contexts: Sequence[Sequence[str]], encoder: str, cache: str | None = None
) -> Floats:
    """The mean vector of each name with its contexts."""
    texts = [[Term(f"{n}: {text}") for text in own] for n, own in zip(names, contexts, strict=True)]
    table = encode_terms([text for own in texts for text in own], encoder, cache=cache)
    return np.array([unit_rows(table.select(own)).mean(axis=0) for own in texts], np.float32)


def learn(nodes: Sequence[tuple[str, Nodes]]) -> ContextClassifier:
    """Learn from nodes of several sources; all sources count alike."""
    from sklearn.linear_model import LogisticRegression

    features = np.concatenate([one.features for _, one in nodes])
    true = np.concatenate([one.true for _, one in nodes])
    sizes: dict[str, int] = {}
    for source, one in nodes:
        sizes[source] = sizes.get(source, 0) + len(one.true)
    weights = np.concatenate([np.full(len(one.true), 1 / sizes[s]) for s, one in nodes])
    weights *= len(weights) / weights.sum()
    means, deviations = features.mean(axis=0), features.std(axis=0) + 1e-3
    fitted = LogisticRegression(C=1 / PENALTY, max_iter=2000)
    fitted.fit((features - means) / deviations, true, weights)
    pairs = PairClassifier(
        means.astype(np.float32),
        deviations.astype(np.float32),
        (fitted.coef_.T.astype(np.float32),),
        (fitted.intercept_.astype(np.float32),),
    )
    threshold = PRECISION["balanced"]
    scores = {}
    for bias in BIASES:
        classifier = ContextClassifier(pairs, SetFunction(float(bias), 1.0))
        values: dict[str, list[float]] = {}
        for source, one in nodes:
            found = pair_scores(one.sets(classifier, threshold), one.entities)
            values.setdefault(source, []).append(found[2])
        scores[float(bias)] = np.mean([np.mean(own) for own in values.values()])
    best = max(scores, key=lambda bias: scores[bias])
    return ContextClassifier(pairs, SetFunction(best, 1.0))


def pair_scores(labels: Sequence[object], truth: Sequence[object]) -> tuple[float, float, float]:
    """Precision, recall and F1 of pairs."""
    from collections import Counter

    def pairs(groups: Sequence[object]) -> int:
        return sum(count * (count - 1) // 2 for count in Counter(groups).values())

    right = pairs([*zip(labels, truth, strict=True)])
    precision = right / max(pairs(labels), 1)
    recall = right / max(pairs(truth), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)
