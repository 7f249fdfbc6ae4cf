"""The set scorer q(Z) of the paper and the set-instance classifier on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class SetScorer(nn.Module):
    """q(Z) = post(Σ embed(x_z)): how complete and coherent a set of terms is.

    `embed` (the embedding transformer) acts on each term's vector, the sum makes the score
    independent of the order of the terms, `post` (the post transformer) acts on the sum.
    `Both-X-Y` of the paper is `embed_sizes=(50, X), post_sizes=(Y, X)`. Empty `embed_sizes` or
    `post_sizes` leave that transformer out; the last linear map to one score always stays.
    """

    def __init__(
        self,
        *,
        dimension: int,
        embed_sizes: Sequence[int] = (50, 250),
        post_sizes: Sequence[int] = (500, 250),
        dropout: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.dimension = dimension
        self.embed_sizes = tuple(embed_sizes)
        self.post_sizes = tuple(post_sizes)
        self.dropout = dropout

        widths = [dimension, *embed_sizes]
        embed: list[nn.Module] = []
        for i, (width, following) in enumerate(pairwise(widths)):
            embed += [nn.Linear(width, following, bias=i > 0), nn.ReLU()]
        self.embed = nn.Sequential(*embed)

        post: list[nn.Module] = []
        for width, following in pairwise([widths[-1], *post_sizes]):
            post += [nn.Linear(width, following), nn.ReLU()]
        post += [nn.Dropout(dropout), nn.Linear([widths[-1], *post_sizes][-1], 1)]
        self.post = nn.Sequential(*post)
        self._initialise(seed)

    def _initialise(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_normal_(module.weight, generator=generator)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """q of a padded batch of sets: vectors (sets, terms, dimension), mask (sets, terms)."""
        return self.score(self.pool(self.embed(vectors), mask))  # (sets,)

    def pool(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """The sum over each set's terms: embedded (sets, terms, hidden), mask (sets, terms)."""
        return (embedded * mask.unsqueeze(-1)).sum(dim=-2)  # (sets, hidden)

    def score(self, sums: Tensor) -> Tensor:
        """q from the sums of embedded terms: (…, hidden) -> (…)."""
        scores: Tensor = self.post(sums)
        return scores.squeeze(-1)

    def logits(self, sums: Tensor, candidates: Tensor) -> Tensor:
        """q(S ∪ {t}) − q(S): sums (sets, hidden), candidates (sets, terms, hidden)."""
        joined = self.score(sums.unsqueeze(-2) + candidates)  # (sets, terms)
        return joined - self.score(sums).unsqueeze(-1)
