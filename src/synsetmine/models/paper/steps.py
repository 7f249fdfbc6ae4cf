"""Steps of training, and the checkpoint that they resume from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from synsetmine.errors import CheckpointError
from synsetmine.io.files import atomic_write
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.pairs import SetInstancePairs

FORMAT = "synsetmine-checkpoint-1"


class Checkpoint:
    """A checkpoint file that belongs to one run, known by its fingerprint.

    One of another run is an error, or, with `replace`, ignored.
    """

    def __init__(self, path: Path, fingerprint: str, *, replace: bool = False) -> None:
        self.path = path
        self.fingerprint = fingerprint
        self.replace = replace

    def save(self, tensors: Mapping[str, Tensor], progress: Mapping[str, Any]) -> None:
        meta = {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "progress": json.dumps(progress),
        }
        with atomic_write(self.path) as temporary:
            save_file({k: v.cpu().contiguous() for k, v in tensors.items()}, temporary, meta)

    def load(self, device: torch.device) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """(tensors, progress) of this run, or None where there is no checkpoint yet."""
        if not self.path.exists():
            return None
        try:
            tensors, meta = self._read(device)
        except CheckpointError:
            if self.replace:
                return None
            raise
        return tensors, json.loads(meta["progress"])

    def _read(self, device: torch.device) -> tuple[dict[str, Tensor], dict[str, str]]:
        try:
            with safe_open(self.path, framework="pt") as stored:
                meta = stored.metadata() or {}
                names = stored.keys()
                tensors = {name: stored.get_tensor(name).to(device) for name in names}
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{self.path} is damaged ({error})") from error
        if meta.get("format") != FORMAT:
            raise CheckpointError(f"{self.path} is not a checkpoint of this version")
        if meta.get("fingerprint") != self.fingerprint:
            raise CheckpointError(f"{self.path} belongs to a run with other data or settings")
        return tensors, meta


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

    def run(self, pairs: SetInstancePairs) -> float:
        """One step for each batch of an epoch; the mean loss."""
        device = self.table.device
        if device.type != "cuda":
            return self._run(pairs)
        with torch.cuda.device(device), _tensor_cores():
            return self._run(pairs)

    def _run(self, pairs: SetInstancePairs) -> float:
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
        self.optimizer.zero_grad()
        loss = self._loss(members, mask, candidates)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self._total += loss.detach() * len(members)

    def _loss(self, members: Tensor, mask: Tensor, candidates: Tensor) -> Tensor:
        """The mean binary log loss of a batch's set-instance pairs."""
        # Members and candidates go through one embedding, S and S ∪ {t} through one scoring.
        embedded = self.scorer.embed(self.table[torch.cat([members, candidates], dim=1)])
        of_set, of_term = embedded.split([members.shape[1], candidates.shape[1]], dim=1)
        sums = self.scorer.pool(of_set, mask).unsqueeze(1)  # (sets, 1, hidden)
        scores = self.scorer.score(torch.cat([sums, sums + of_term], dim=1))  # (sets, 2 + K)
        logits = scores[:, 1:] - scores[:, :1]  # (sets, 1 + K)
        labels = torch.zeros_like(logits)
        labels[:, 0] = 1
        return binary_cross_entropy_with_logits(logits, labels)

    def _capture(self, *batch: Tensor) -> None:
        """Record one step on fixed inputs, and undo what the recording's warm-up learned."""
        self._capture_next = False
        self._inputs = [tensor.clone() for tensor in batch]
        kept, random = self._copy_state(), torch.cuda.get_rng_state()
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

    def _copy_state(self) -> list[tuple[Tensor, Tensor, dict[str, Tensor]]]:
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


@contextmanager
def _tensor_cores() -> Iterator[None]:
    """Products in TF32 (ten bits of fraction, sums in float32), which only training does."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
