"""A model made ready for many questions about one vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from synsetmine.errors import DataError
from synsetmine.model.classifier import ROWS_AT_ONCE
from synsetmine.model.comparer import Floats
from synsetmine.model.scorer import SetScorer
from synsetmine.model.viewscorer import ViewScorer
from synsetmine.types import Term
from synsetmine.views import TermVectors, TermViews

# The numbers of the members, the numbers of the terms -> the log-odds of each term.
Fit: TypeAlias = Callable[[Tensor, Tensor], Floats]


class PreparedModel:
    """A scorer with the terms that it is asked about, all of which it must know.

    What does not depend on the question is computed once: with the view scorer that is how crowded
    it is around each term, which takes seconds where an answer takes milliseconds.
    """

    def __init__(
        self, scorer: SetScorer | ViewScorer, views: TermViews, terms: Sequence[Term]
    ) -> None:
        self.terms = tuple(terms)
        self._number_of = {term: number for number, term in enumerate(self.terms)}
        self._fit = (
            _fit_of_views(scorer, views, self.terms)
            if isinstance(scorer, ViewScorer)
            else _fit_of_sets(scorer, views.table("vectors"), self.terms)
        )

    def probabilities(self, members: Sequence[Term], terms: Sequence[Term]) -> list[float]:
        """The probability of each term to belong to the set of the given members."""
        found: list[float] = self._probabilities(members, self._numbers(terms)).tolist()
        return found

    def rank(self, members: Sequence[Term], *, top: int = 10) -> list[tuple[Term, float]]:
        """The best terms for a set, best first; the set's own terms are left out."""
        found = self._probabilities(members, torch.arange(len(self.terms)))
        found[self._numbers(members).numpy()] = -1
        best = np.argsort(-found, kind="stable")[: max(top, 0)].tolist()
        return [(self.terms[number], float(found[number])) for number in best if found[number] >= 0]

    @torch.inference_mode()
    def _probabilities(self, members: Sequence[Term], terms: Tensor) -> Floats:
        own = self._numbers(list(dict.fromkeys(members)))  # naming a term twice changes nothing
        if not len(own):
            raise DataError("a set needs at least one term")
        found: Floats = torch.sigmoid(torch.from_numpy(self._fit(own, terms))).numpy()
        return found

    def _numbers(self, terms: Sequence[Term]) -> Tensor:
        try:
            return torch.tensor([self._number_of[term] for term in terms], dtype=torch.int64)
        except KeyError as error:
            raise DataError("the model does not know this term", value=str(error.args[0])) from None


def _fit_of_views(scorer: ViewScorer, views: TermViews, terms: Sequence[Term]) -> Fit:
    scene = scorer.scene(terms, views)
    return lambda members, others: scorer.fit(scene, members, others) - scorer.bar.at


@torch.inference_mode()
def _fit_of_sets(scorer: SetScorer, vectors: TermVectors, terms: Sequence[Term]) -> Fit:
    scorer.eval()
    device = next(scorer.parameters()).device
    embedded = scorer.embed(torch.from_numpy(vectors.select(terms)).to(device))  # (terms, hidden)

    def fit(members: Tensor, others: Tensor) -> Floats:
        sums = embedded[members].sum(dim=0, keepdim=True)  # (1, hidden)
        parts = [
            scorer.logits(sums, embedded[chunk].unsqueeze(0))[0].cpu()
            for chunk in torch.split(others, ROWS_AT_ONCE)
        ]
        found: Floats = torch.cat(parts).numpy()
        return found

    return fit
