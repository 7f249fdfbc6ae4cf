"""The pool of detected sets, with everything cached that fast scoring needs.

The first layer of the post transformer is linear, so its value for S ∪ {t} is a part of S plus a
part of t. Both are computed once: a term's when the pool is made, a set's when the set changes.
What remains for a pair (S, t) is the rest of the post transformer, in float32, with a bound on
the rounding error, so that the one pass knows where float64 has to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from synsetmine.models.paper.network import SetScorer

# The unit roundoff of "float32" matrix products, which torch can be set to compute with less.
UNIT_ROUNDOFF = {"highest": 2.0**-24, "high": 2.0**-11, "medium": 2.0**-8}

SMALL = 4096  # terms

Layer = tuple[Tensor, Tensor]  # weight (out, in), bias (out,), in float64


class SetPool:
    """Growing sets over a fixed vocabulary of `vectors` (terms, dimension)."""

    def __init__(
        self, scorer: SetScorer, vectors: npt.NDArray[np.float32], *, block_size: int
    ) -> None:
        # With few terms, waiting for a GPU term by term takes longer than the work itself.
        self.device = scorer.device if len(vectors) > SMALL else torch.device("cpu")
        (first_weight, first_bias), *rest = _layers(scorer.post)
        x = torch.tensor(vectors, dtype=torch.float64, device=self.device)
        for weight, bias in _layers(scorer.embed):
            x = torch.relu(x @ weight.T.to(self.device) + bias.to(self.device))
        self._first_bias = first_bias.to(self.device)
        self._of_term = x @ first_weight.T.to(self.device)  # (terms, width)
        self._of_term32 = self._of_term.float()
        self._rest = [(w.T.float().to(self.device), b.float().to(self.device)) for w, b in rest]
        self._rest64 = [(w.T.to(self.device), b.to(self.device)) for w, b in rest]
        slope, constant, self._longest = _error_bound(rest)
        self._slope = slope
        norms = self._of_term.norm(dim=1).cpu().numpy()
        self._term_error = np.where(
            norms > self._longest, np.inf, 2 * slope * norms + 2 * constant
        )  # (terms,)

        self.members: list[list[int]] = []
        width = self._of_term.shape[1]
        self._of_set = torch.empty(64, width, dtype=torch.float64, device=self.device)
        self._of_set32 = torch.empty(64, width, device=self.device)
        self._q = torch.empty(64, device=self.device)
        self._set_error = np.empty(64)
        # On a CPU the products are fastest while their operands stay in the cache.
        values = 2**29 if self.device.type == "cuda" else 2**20
        widths = [width, *(len(bias) for _, bias in self._rest)]
        self._pairs_at_once = max(values // max(widths), block_size + 1)
        self._scratch = [torch.empty(self._pairs_at_once, w, device=self.device) for w in widths]

    def __len__(self) -> int:
        return len(self.members)

    def open(self, terms: list[int], following: slice) -> npt.NDArray[np.float32]:
        """Add a set of these terms; its logits for the following terms."""
        if len(self) == len(self._of_set):
            self._grow()
        self._of_set[len(self)] = self._of_term[terms].sum(dim=0) + self._first_bias
        self.members.append(list(terms))
        return self._column(len(self) - 1, following)

    def join(self, number: int, term: int, following: slice) -> npt.NDArray[np.float32]:
        """Add a term to a set; the set's logits for the following terms."""
        self._of_set[number] += self._of_term[term]
        self.members[number].append(term)
        return self._column(number, following)

    def _column(self, number: int, following: slice) -> npt.NDArray[np.float32]:
        """Cache a changed set's scores anew, together with its logits: (following,)."""
        of_set = self._of_set[number]
        self._of_set32[number] = of_set
        norm = float(torch.linalg.vector_norm(of_set))
        self._set_error[number] = np.inf if norm > self._longest else 2 * self._slope * norm
        of_term = self._of_term32[following]
        first = self._scratch[0][: len(of_term) + 1]
        first[0] = self._of_set32[number]
        torch.add(of_term, self._of_set32[number], out=first[1:])
        q = self._finish32(first)
        self._q[number] = q[0]
        logits: npt.NDArray[np.float32] = (q[1:] - q[0]).cpu().numpy()
        return logits

    def block(self, terms: slice) -> npt.NDArray[np.float32]:
        """The logits q(S ∪ {t}) − q(S) of a block of terms for all sets: (terms, sets)."""
        of_term = self._of_term32[terms].unsqueeze(1)  # (terms, 1, width)
        of_set, q = self._of_set32[: len(self)], self._q[: len(self)]
        sets_at_once = max(min(len(self), self._pairs_at_once), 1)
        terms_at_once = max(self._pairs_at_once // sets_at_once, 1)
        logits = torch.empty(len(of_term), len(self), device=self.device)
        for i in range(0, len(of_term), terms_at_once):
            for j in range(0, len(self), sets_at_once):
                tile = logits[i : i + terms_at_once, j : j + sets_at_once]
                first = self._scratch[0][: tile.numel()]  # (pairs, width)
                pairs = first.view(*tile.shape, -1)
                torch.add(of_set[j : j + sets_at_once], of_term[i : i + terms_at_once], out=pairs)
                joined = self._finish32(first).view(tile.shape)
                torch.sub(joined, q[j : j + sets_at_once], out=tile)
        values: npt.NDArray[np.float32] = logits.cpu().numpy()
        return values

    def parts(self, numbers: npt.NDArray[np.intp]) -> Tensor:
        """A copy of what scoring needs of some sets, as they are now: (sets, width)."""
        return self._of_set[torch.from_numpy(numbers).to(self.device)]

    def closer(
        self, parts: Tensor, terms: list[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Logits in float64, and the size of the scores in them, of sets that were copied.

        There is one term for each set, or one for all.
        """
        x = torch.cat([parts + self._of_term[terms], parts])
        for weight, bias in self._rest64:
            x = torch.addmm(bias, x.relu_(), weight)
        joined, alone = x.squeeze(1).chunk(2)
        sizes = torch.maximum(joined.abs(), alone.abs())
        return (joined - alone).cpu().numpy(), sizes.cpu().numpy()

    def error(self, term: int) -> npt.NDArray[np.float64]:
        """A bound on the rounding error of this term's logit for each set: (sets,).

        It is infinite where float32 may overflow.
        """
        bound: npt.NDArray[np.float64] = self._set_error[: len(self)] + self._term_error[term]
        return bound

    def _finish32(self, x: Tensor) -> Tensor:
        """The post transformer after its first layer: (rows, width) -> (rows,); x is used up."""
        for depth, (weight, bias) in enumerate(self._rest, start=1):
            x = torch.addmm(bias, x.relu_(), weight, out=self._scratch[depth][: len(x)])
        return x.squeeze(1)

    def _grow(self) -> None:
        self._of_set = torch.cat([self._of_set, torch.empty_like(self._of_set)])
        self._of_set32 = torch.cat([self._of_set32, torch.empty_like(self._of_set32)])
        self._q = torch.cat([self._q, torch.empty_like(self._q)])
        self._set_error = np.concatenate([self._set_error, np.empty_like(self._set_error)])


def _layers(transformer: nn.Sequential) -> list[Layer]:
    """The linear maps of a transformer in float64 on the CPU; ReLU stands between them."""
    layers = []
    for module in transformer:
        if isinstance(module, nn.Linear):
            weight = module.weight.detach().cpu().double()
            bias = torch.zeros(len(weight)) if module.bias is None else module.bias
            layers.append((weight, bias.detach().cpu().double()))
    return layers


def _error_bound(rest: list[Layer]) -> tuple[float, float, float]:
    """(slope, constant, longest): a float32 q is off by at most slope · (‖of_set‖ + ‖of_term‖) +
    constant, unless one of the two parts is longer than `longest` and float32 may overflow.

    Standard forward analysis: a product over n terms is off by at most γ_n = n·u / (1 − n·u)
    times the product of absolute values. Magnitudes and errors are linear in the norms of the
    two parts, so their slopes and constants go through the layers one after the other.
    """
    try:
        unit = UNIT_ROUNDOFF[torch.get_float32_matmul_precision()]
    except RuntimeError:  # set by torch's newer, finer switches, which this one does not know
        unit = max(UNIT_ROUNDOFF.values())
    # Rounding both parts, their sum, and the difference of two scores.
    size, offset = torch.ones(1).double(), torch.zeros(1).double()
    error, error_offset = 4 * unit * size, offset
    sizes, offsets = [size], [offset]
    for depth, (weight, bias) in enumerate(rest):
        reach = weight.norm(dim=1, keepdim=True) if depth == 0 else weight.abs()  # (out, in or 1)
        gamma = (weight.shape[1] + 4) * unit / max(1 - (weight.shape[1] + 4) * unit, 0.5)
        size, offset = reach @ size, reach @ offset + bias.abs()
        error = reach @ error + gamma * size
        error_offset = reach @ error_offset + gamma * offset
        sizes.append(size)
        offsets.append(offset)
    # Half of the largest float32, since a logit is the difference of two scores.
    room = torch.finfo(torch.float32).max / 2 - torch.cat(offsets)
    longest = float((room / torch.cat(sizes)).min()) / 2  # each part may have half of the sum
    return float(error.sum()), float(error_offset.sum()), longest
