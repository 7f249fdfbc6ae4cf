"""The state of a training run in one safetensors file, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from synsetmine.errors import CheckpointError
from synsetmine.files import atomic_write

FORMAT = "synsetmine-checkpoint-1"


class Checkpoint:
    """A checkpoint file that belongs to one run, known by its fingerprint.

    One of another run is an error, or, with `replace`, as good as none.
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
