"""The teacher: a sentence encoder of mean-pooled BERT, such as MiniLM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from experiments.general_model.encoder import Floats, deterministic
from experiments.general_model.settings import GeneralSettings

NAMES_AT_ONCE = 256


class MiniLM:
    """Unit vectors of names by a transformer, each name once; see `encoder.Teacher`."""

    def __init__(self, tokenizer: Any, model: Any, device: str, tokens: int) -> None:
        self._tokenizer = tokenizer
        self._model = model
        self._device = device
        self._tokens = tokens
        self._known: dict[str, Floats] = {}

    @classmethod
    def load(cls, folder: Path, device: str, settings: GeneralSettings) -> MiniLM:
        from transformers import AutoModel, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model: Any = AutoModel.from_pretrained(
            folder,
            local_files_only=True,
            dtype=torch.float32,
            attn_implementation="eager",  # the faster ones differ from run to run on a GPU
        )
        return cls(tokenizer, model.to(device), device, settings.teacher_tokens)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The word pieces of letters and digits, in the order of the tokenizer."""
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        ordered = sorted(vocabulary, key=vocabulary.__getitem__)
        return tuple(piece for piece in ordered if piece.removeprefix("##").isalnum())

    def __call__(self, names: Sequence[str]) -> Floats:
        """Names of similar length go together, so that few tokens are padding."""
        self._model.eval()
        new = sorted({*names} - self._known.keys(), key=lambda name: (len(name), name))
        with torch.no_grad(), deterministic(self._device):
            for start in range(0, len(new), NAMES_AT_ONCE):
                some = new[start : start + NAMES_AT_ONCE]
                self._known.update(zip(some, self._encode(some).cpu().numpy(), strict=True))
        return np.stack([self._known[name] for name in names])

    def _encode(self, names: Sequence[str]) -> torch.Tensor:
        """Mean of the last layer over the tokens, scaled to length one: (names, dimension)."""
        tokens = self._tokenizer(
            list(names),
            padding=True,
            truncation=True,
            max_length=self._tokens,
            return_tensors="pt",
        ).to(self._device)
        cuda = self._device.startswith("cuda")
        with torch.autocast(self._device.split(":")[0], torch.bfloat16, enabled=cuda):
            hidden = self._model(**tokens).last_hidden_state  # (names, tokens, dimension)
        mask = tokens["attention_mask"][..., None].float()
        return functional.normalize((hidden.float() * mask).sum(1) / mask.sum(1), dim=1)
