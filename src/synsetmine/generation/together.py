"""The one pass over several orders of a vocabulary at the same time, for a GPU.

A GPU waits for nothing here: all that a term decides stays on it. A step is some twenty small
kernels for all orders, recorded once and replayed. The scores are float32 without a closer look,
so two sets that fit equally well may be taken for each other; `onepass` is exact.
"""

from __future__ import annotations

import torch
from torch import Tensor

from synsetmine.generation.mined import log_odds
from synsetmine.model.scorer import SetScorer

STEPS = 256  # for which there is room before the host asks how many sets there are


@torch.inference_mode()
def walk_together(
    scorer: SetScorer, vectors: Tensor, orders: Tensor, *, threshold: float
) -> Tensor:
    """The set of each term in each order: vectors (terms, dimension), orders (orders, terms)."""
    scorer.eval()
    walks = _Walks(scorer, vectors, orders, log_odds(threshold))
    for start in range(0, orders.shape[1], STEPS):
        steps = min(STEPS, orders.shape[1] - start)
        walks.advance(steps, width=int(walks.opened.max()) + steps)
    return walks.set_of


class _Walks:
    def __init__(self, scorer: SetScorer, vectors: Tensor, orders: Tensor, bar: float) -> None:
        self.scorer = scorer
        self.bar = bar
        self.terms = orders.T.contiguous()  # (terms, orders): a row is one step
        self.step = torch.zeros(1, dtype=torch.int64, device=orders.device)
        self.walks = torch.arange(len(orders), device=orders.device)
        self.embedded = scorer.embed(vectors)  # (terms, hidden)
        self.alone = scorer.score(self.embedded)  # (terms,)
        count, length = orders.shape
        self.sums = self.embedded.new_zeros(count, length, self.embedded.shape[1])
        # Those of sets that are not opened yet lose against all.
        self.scores = self.embedded.new_full((count, length), torch.inf)
        self.opened = torch.zeros_like(self.walks)
        self.set_of = torch.zeros_like(orders)

    def advance(self, steps: int, width: int) -> None:
        """Walk on, with at most so many sets in any of the orders."""
        self._advance(width)
        if self.step.device.type != "cuda":
            for _ in range(steps - 1):
                self._advance(width)
            return
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._advance(width)
        for _ in range(steps - 1):
            graph.replay()

    def _advance(self, width: int) -> None:
        terms = self.terms.index_select(0, self.step).squeeze(0)  # (orders,)
        embedded = self.embedded[terms]
        joined = self.scorer.score(self.sums[:, :width] + embedded.unsqueeze(1))  # (orders, sets)
        logit, best = (joined - self.scores[:, :width]).max(dim=1)
        joins = logit > self.bar
        home = torch.where(joins, best, self.opened)
        self.scores[self.walks, home] = torch.where(
            joins, joined[self.walks, best], self.alone[terms]
        )
        self.sums[self.walks, home] += embedded
        self.set_of[self.walks, terms] = home
        self.opened += ~joins
        self.step += 1
