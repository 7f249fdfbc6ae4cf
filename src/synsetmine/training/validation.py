"""A score for a scorer: how well the sets it generates agree with known ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from synsetmine.generation import generate_sets
from synsetmine.generation.together import walk_together
from synsetmine.metrics import compare_labels, evaluate
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
        if next(scorer.parameters()).device.type == "cuda":
            return self._score_together(scorer, vectors)
        total = 0.0
        for order in self.orders:
            mined = generate_sets(scorer, vectors, order, threshold=self.threshold)
            total += float(getattr(evaluate(mined.sets, self.gold), self.metric))
        return total / len(self.orders)

    def _score_together(self, scorer: SetScorer, vectors: TermVectors) -> float:
        """All orders at the same time, where one after the other would keep a GPU waiting."""
        device = next(scorer.parameters()).device
        terms = [term for term in self.gold.terms if term in vectors]
        number_of = {term: number for number, term in enumerate(terms)}
        orders = [[number_of[term] for term in order if term in number_of] for order in self.orders]
        table = torch.from_numpy(vectors.select(terms)).to(device)
        found = walk_together(
            scorer, table, torch.tensor(orders, device=device), threshold=self.threshold
        )
        # Terms without a vector stand alone, here as in `generate_sets`.
        others = [term for term in self.gold.terms if term not in number_of]
        gold = np.array(self.gold.labels([*terms, *others]), np.int64)
        alone = len(terms) + np.arange(len(others))
        scores = [
            getattr(compare_labels(np.concatenate([labels, alone]), gold), self.metric)
            for labels in found.cpu().numpy()
        ]
        return float(np.mean(scores))
