"""The set scorer q(Z) of the paper and the set-instance classifier f(S, t) on top of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from synsetmine.errors import DataError, ModelError
from synsetmine.models.base import Arrays
from synsetmine.models.known import KnownSets
from synsetmine.models.paper.generate import PreparedScorer
from synsetmine.types import Progress, SynonymSets, Term, TermLike, terms_of
from synsetmine.views import TermVectors, TermViews, View

ARCHITECTURE = ("dimension", "embed_sizes", "post_sizes", "dropout")


class SetScorer(nn.Module):
    """q(Z) = post(Σ embed(x_z)): how complete and coherent a set of terms is.

    `embed` (the embedding transformer) acts on each term's vector, the sum makes the score
    independent of the order of the terms, `post` (the post transformer) acts on the sum.
    `Both-X-Y` of the paper is `embed_sizes=(50, X), post_sizes=(Y, X)`. Empty `embed_sizes` or
    `post_sizes` leave that transformer out; the last linear map to one score always stays.

    It implements `SetModel`; probabilities do not depend on the vocabulary.
    """

    kind = "paper"
    uses_torch = True
    views: tuple[View, ...] = ("vectors",)

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

    def __repr__(self) -> str:
        return (
            f"SetScorer(dimension={self.dimension}, embed_sizes={self.embed_sizes}, "
            f"post_sizes={self.post_sizes})"
        )

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

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def check(self, views: TermViews) -> None:
        """Raise a DataError unless there is one table of vectors of the right dimension."""
        if len(views.vectors) != 1:
            problem = f"the model needs one table of vectors; got {len(views.vectors)}"
            raise DataError(problem)
        table = views.vectors[0]
        if table.dimension != self.dimension:
            problem = f"the model was trained on vectors of {self.dimension} dimensions, these have"
            raise DataError(problem, path=table.source, value=table.dimension)

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        """The terms that have a vector."""
        table = views.table("vectors")
        return [term for term in terms if term in table]

    def assign(
        self,
        terms: Sequence[Term],
        sets: SynonymSets,
        views: TermViews,
        *,
        progress: Progress | None = None,
    ) -> None:
        """Known sets take part in the one pass; nothing more is learned from them."""

    def prepare(
        self,
        vocabulary: Iterable[TermLike],
        views: TermVectors | TermViews,
        *,
        known: KnownSets | None = None,  # noqa: ARG002
        device: str | None = None,
        progress: Progress | None = None,  # noqa: ARG002
    ) -> PreparedScorer:
        """The model over a vocabulary, on `device` or where its weights are."""
        views = TermViews.of(views)
        self.check(views)
        scorer = self
        if device is not None and torch.device(device).type != self.device.type:
            scorer = deepcopy(self).to(device)
        return PreparedScorer(scorer, terms_of(vocabulary), views.vectors[0])

    def state(self) -> tuple[dict[str, Any], Arrays]:
        description = {name: getattr(self, name) for name in ARCHITECTURE}
        weights = {name: tensor.cpu().numpy() for name, tensor in self.state_dict().items()}
        return description, weights

    @classmethod
    def from_state(cls, description: Mapping[str, Any], arrays: Arrays) -> SetScorer:
        """The network that `state` describes, ready for use."""
        _check_size(description, sum(array.size for array in arrays.values()))
        scorer = cls(**{name: description[name] for name in ARCHITECTURE})
        scorer.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
        return scorer.eval()


def _check_size(description: Mapping[str, Any], stored: int) -> None:
    """Refuse a network that is larger than its weights, before memory is taken for it."""
    embed = [description["dimension"], *description["embed_sizes"]]
    layers = (*pairwise(embed), *pairwise([embed[-1], *description["post_sizes"], 1]))
    if any(width < 1 for layer in layers for width in layer):
        raise ModelError("a layer without a width")
    if (needed := sum(width * following for width, following in layers)) > stored:
        raise ModelError(f"config.json describes {needed} weights, the file has {stored}")
