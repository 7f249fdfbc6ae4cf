"""A score for a scorer: how well the sets it generates agree with known ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synsetmine.generation import generate_sets
from synsetmine.metrics import evaluate
from synsetmine.model.scorer import SetScorer
from synsetmine.training.settings import Metric
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermVectors


@dataclass(frozen=True)
class Validation:
    """Known sets and the vocabulary orders to mine their terms in; the score is the mean."""

    gold: SynonymSets
    orders: Sequence[Sequence[Term]]
    metric: Metric = "fmi"
    threshold: float = 0.5

    @classmethod
    def with_random_orders(
        cls, gold: SynonymSets, *, orders: int, seed: int, metric: Metric, threshold: float
    ) -> Validation:
        # Never the order of the sets themselves: synonyms side by side would leak.
        walks = [order_terms(gold.terms, "random", seed=seed + i) for i in range(orders)]
        return cls(gold, walks, metric, threshold)

    def score(self, scorer: SetScorer, vectors: TermVectors) -> float:
        total = 0.0
        for order in self.orders:
            mined = generate_sets(scorer, vectors, order, threshold=self.threshold)
            total += float(getattr(evaluate(mined.sets, self.gold), self.metric))
        return total / len(self.orders)
