"""The state of a training run in one safetensors file, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from synsetmine.errors import CheckpointError
from synsetmine.files import atomic_write
from synsetmine.training.settings import TrainingSettings
from synsetmine.types import SynonymSets

FORMAT = "synsetmine-checkpoint-1"


class Checkpoint:
    """A checkpoint file that belongs to one run, known by its fingerprint."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.fingerprint = fingerprint

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
            with safe_open(self.path, framework="pt") as stored:
                meta = stored.metadata() or {}
                tensors = {n: stored.get_tensor(n).to(device) for n in stored.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{self.path} is damaged ({error})") from error
        if meta.get("format") != FORMAT:
            raise CheckpointError(f"{self.path} is not a checkpoint of this version")
        if meta.get("fingerprint") != self.fingerprint:
            raise CheckpointError(f"{self.path} belongs to a run with other data or settings")
        return tensors, json.loads(meta["progress"])


def fingerprint(
    sets: SynonymSets,
    table: Tensor,
    settings: TrainingSettings,
    validation_orders: Sequence[Sequence[str]],
) -> str:
    """A digest of all that decides the result of a training run."""
    digest = hashlib.sha256()
    described = [
        settings.to_dict(),
        [[str(term) for term in members] for members in sets],
        validation_orders,
        list(table.shape),
    ]
    digest.update(json.dumps(described, sort_keys=True).encode())
    digest.update(table.detach().cpu().numpy().tobytes())
    return digest.hexdigest()
