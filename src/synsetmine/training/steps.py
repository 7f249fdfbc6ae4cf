"""Gradient steps over an epoch's pairs; on a GPU captured once and replayed."""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from synsetmine.model.scorer import SetScorer
from synsetmine.training.sampling import Pairs

WARM_UPS = 3


class Steps:
    """Adam steps on batches of `batch_sets` sets; `table` (terms, dimension) holds the vectors.

    A step is some sixty small kernels, which a GPU finishes faster than they can be launched one
    by one. There a full batch is captured as a CUDA graph; what is left over at the end of an
    epoch runs as on a CPU.
    """

    def __init__(
        self,
        scorer: SetScorer,
        table: Tensor,
        *,
        batch_sets: int,
        learning_rate: float,
        amsgrad: bool,
    ) -> None:
        self.scorer = scorer
        self.table = table
        self.batch_sets = batch_sets
        on_gpu = table.device.type == "cuda"
        learned = [*scorer.parameters(), *([table] if table.requires_grad else [])]
        self.optimizer = torch.optim.Adam(
            learned, lr=learning_rate, amsgrad=amsgrad, fused=True, capturable=on_gpu
        )
        self._total = torch.zeros((), device=table.device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._capture_next = on_gpu

    def run(self, pairs: Pairs) -> float:
        """One step for each batch of an epoch; the mean loss."""
        device = self.table.device
        with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
            return self._run(pairs)

    def _run(self, pairs: Pairs) -> float:
        self.scorer.train()
        self._total.zero_()
        for start in range(0, len(pairs), self.batch_sets):
            members, mask, candidates = (
                tensor[start : start + self.batch_sets]
                for tensor in (pairs.members, pairs.mask, pairs.candidates)
            )
            full = len(members) == self.batch_sets
            if full and self._capture_next:
                self._capture(members, mask, candidates)
            if full and self._graph is not None:
                torch._foreach_copy_(self._inputs, [members, mask, candidates])
                self._graph.replay()
            else:
                self._step(members, mask, candidates)
        return float(self._total) / len(pairs)

    def _step(self, members: Tensor, mask: Tensor, candidates: Tensor) -> None:
        # Gradients keep their memory, since a captured step writes to fixed places.
        self.optimizer.zero_grad(set_to_none=False)
        loss = self._loss(members, mask, candidates)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self._total += loss.detach() * len(members)

    def _loss(self, members: Tensor, mask: Tensor, candidates: Tensor) -> Tensor:
        """The mean binary log loss of a batch's set-instance pairs."""
        embedded = self.scorer.embed(self.table[members])  # (sets, widest, hidden)
        sums = self.scorer.pool(embedded, mask)  # (sets, hidden)
        terms = self.scorer.embed(self.table[candidates])  # (sets, 1 + K, hidden)
        logits = self.scorer.logits(sums, terms)  # (sets, 1 + K)
        labels = torch.zeros_like(logits)
        labels[:, 0] = 1
        return binary_cross_entropy_with_logits(logits, labels)

    def _capture(self, *batch: Tensor) -> None:
        """Record one step on fixed inputs, and undo what the recording's warm-up learned."""
        self._capture_next = False
        self._inputs = [tensor.clone() for tensor in batch]
        kept, random = self._learned(), torch.cuda.get_rng_state()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                self._step(*self._inputs)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step(*self._inputs)
        self._restore(kept)
        torch.cuda.set_rng_state(random)
        self._total.zero_()
        self._graph = graph

    def _learned(self) -> list[tuple[Tensor, Tensor, dict[str, Tensor]]]:
        return [
            (p, p.detach().clone(), {k: v.clone() for k, v in self.optimizer.state[p].items()})
            for group in self.optimizer.param_groups
            for p in group["params"]
        ]

    def _restore(self, kept: list[tuple[Tensor, Tensor, dict[str, Tensor]]]) -> None:
        with torch.no_grad():
            for parameter, value, state in kept:
                parameter.copy_(value)
                for name, tensor in self.optimizer.state[parameter].items():
                    # Before the first step Adam has no state, and its state starts at zero.
                    tensor.copy_(state[name]) if name in state else tensor.zero_()
