"""f(S, t) for single sets: the probability that t belongs to S."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from synsetmine.errors import DataError
from synsetmine.model.scorer import SetScorer
from synsetmine.model.viewscorer import ViewScorer
from synsetmine.types import Term
from synsetmine.views import TermVectors, TermViews

ROWS_AT_ONCE = 16_384
NEIGHBOURS = 5000  # terms at most, evenly taken, that make the neighbourhood of a single set


def probabilities(
    scorer: SetScorer | ViewScorer,
    views: TermVectors | TermViews,
    members: Sequence[Term],
    terms: Sequence[Term],
) -> list[float]:
    """The probability of each term to belong to the set of the given members.

    The view scorer looks at how crowded it is around them, among the terms of the first table.
    """
    members = list(dict.fromkeys(members))  # a set: naming a term twice changes nothing
    if not members:
        raise DataError("a set needs at least one term")
    views = TermViews((views,)) if isinstance(views, TermVectors) else views
    if isinstance(scorer, SetScorer):
        return _of_set_scorer(scorer, views.table("vectors"), members, terms)
    known = views.vectors[0].terms if views.vectors else ()
    crowd = known[:: max(len(known) // NEIGHBOURS, 1)]
    fit = scorer.log_mean_odds(members, terms, views, vocabulary=crowd) - scorer.bar.at
    return torch.sigmoid(torch.from_numpy(fit)).tolist()


@torch.inference_mode()
def _of_set_scorer(
    scorer: SetScorer, vectors: TermVectors, members: Sequence[Term], terms: Sequence[Term]
) -> list[float]:
    """sigmoid(q(S ∪ {t}) − q(S)) of each term t."""
    scorer.eval()
    device = next(scorer.parameters()).device
    embedded = scorer.embed(torch.from_numpy(vectors.select(members)).to(device))
    sums = embedded.sum(dim=0, keepdim=True)  # (1, hidden)
    found: list[float] = []
    for start in range(0, len(terms), ROWS_AT_ONCE):
        chunk = torch.from_numpy(vectors.select(terms[start : start + ROWS_AT_ONCE])).to(device)
        logits = scorer.logits(sums, scorer.embed(chunk).unsqueeze(0))  # (1, terms)
        found += torch.sigmoid(logits[0]).tolist()
    return found


def rank(
    scorer: SetScorer | ViewScorer,
    views: TermVectors | TermViews,
    members: Sequence[Term],
    vocabulary: Sequence[Term],
    *,
    top: int = 10,
) -> list[tuple[Term, float]]:
    """The vocabulary's best terms for a set, best first; the set's own terms are left out."""
    own = frozenset(members)
    others = [term for term in vocabulary if term not in own]
    scored = zip(others, probabilities(scorer, views, members, others), strict=True)
    return sorted(scored, key=lambda pair: -pair[1])[: max(top, 0)]
