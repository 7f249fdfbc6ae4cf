"""f(S, t) = sigmoid(q(S ∪ {t}) − q(S)) for single sets: the probability that t belongs to S."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from synsetmine.errors import DataError
from synsetmine.model.scorer import SetScorer
from synsetmine.types import Term
from synsetmine.views import TermVectors

ROWS_AT_ONCE = 16_384


@torch.inference_mode()
def probabilities(
    scorer: SetScorer, vectors: TermVectors, members: Sequence[Term], terms: Sequence[Term]
) -> list[float]:
    """The probability of each term to belong to the set of the given members."""
    members = list(dict.fromkeys(members))  # a set: naming a term twice changes nothing
    if not members:
        raise DataError("a set needs at least one term")
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
    scorer: SetScorer,
    vectors: TermVectors,
    members: Sequence[Term],
    vocabulary: Sequence[Term],
    *,
    top: int = 10,
) -> list[tuple[Term, float]]:
    """The vocabulary's best terms for a set, best first; the set's own terms are left out."""
    own = frozenset(members)
    others = [term for term in vocabulary if term not in own]
    scored = zip(others, probabilities(scorer, vectors, members, others), strict=True)
    return sorted(scored, key=lambda pair: -pair[1])[: max(top, 0)]
