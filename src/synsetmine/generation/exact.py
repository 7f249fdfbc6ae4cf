"""Logits in float64, each pair (S, t) computed by itself.

Every row goes through the same arithmetic wherever it stands in a batch, so the value of a pair
depends on the pair alone: not on the block it is scored in, the number of threads or the device.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from synsetmine.model.scorer import SetScorer

ROWS_AT_ONCE = 64

Layer = tuple[Tensor, Tensor]  # weight (out, in), bias (out,), in float64


class ExactLogits:
    """q(S ∪ {t}) − q(S) in float64 on the CPU, with embedded terms and sums of sets cached."""

    def __init__(self, scorer: SetScorer, vectors: npt.NDArray[np.float32]) -> None:
        self._embed = layers(scorer.embed)
        self._post = layers(scorer.post)
        self._vectors = vectors
        self._embedded: dict[int, Tensor] = {}
        self._sums: dict[int, tuple[int, Tensor]] = {}

    def __call__(
        self, members: Sequence[Sequence[int]], numbers: Sequence[int], term: int
    ) -> npt.NDArray[np.float64]:
        """The logits of a term for the sets of these numbers; `members` are the sets' terms."""
        candidate = self._embedded_term(term)
        found: list[Tensor] = []
        for start in range(0, len(numbers), ROWS_AT_ONCE):
            chunk = numbers[start : start + ROWS_AT_ONCE]
            sums = torch.stack([self._sum(n, members[n]) for n in chunk])  # (sets, hidden)
            found.append(self._q(sums + candidate) - self._q(sums))
        return torch.cat(found).numpy()

    def _embedded_term(self, term: int) -> Tensor:
        if term not in self._embedded:
            x = torch.from_numpy(self._vectors[term].astype(np.float64)).unsqueeze(0)
            for layer in self._embed:
                x = torch.relu(_rowwise(layer, x))
            self._embedded[term] = x[0]
        return self._embedded[term]

    def _sum(self, number: int, members: Sequence[int]) -> Tensor:
        """The sum of a set's embedded terms, added up in the order in which they joined."""
        count, total = self._sums.get(number, (0, torch.zeros((), dtype=torch.float64)))
        for member in members[count:]:
            total = total + self._embedded_term(member)
        self._sums[number] = (len(members), total)
        return total

    def _q(self, sums: Tensor) -> Tensor:
        x = _rowwise(self._post[0], sums)
        for layer in self._post[1:]:
            x = _rowwise(layer, torch.relu(x))
        return x.squeeze(1)


def layers(transformer: nn.Sequential) -> list[Layer]:
    """The linear maps of a transformer in float64 on the CPU; ReLU stands between them."""
    found = []
    for module in transformer:
        if isinstance(module, nn.Linear):
            weight = module.weight.detach().cpu().double()
            bias = torch.zeros(len(weight)).double() if module.bias is None else module.bias
            found.append((weight, bias.detach().cpu().double()))
    return found


def _rowwise(layer: Layer, x: Tensor) -> Tensor:
    # Not a matrix product: there the rounding of a row depends on its place in the batch.
    weight, bias = layer
    return (x.unsqueeze(1) * weight).sum(dim=2) + bias
