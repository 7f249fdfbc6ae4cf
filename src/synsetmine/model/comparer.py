"""The comparer: from how alike two terms are in each view to the odds that they are synonyms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from synsetmine.errors import ModelError

Floats: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Comparer:
    """Log-odds of pairs: linear in their standardised signals, plus a small hidden layer."""

    mean: Floats  # (signals,)
    scale: Floats  # (signals,), to multiply with
    linear: Floats  # (signals,)
    bias: Floats  # (1,)
    inner: Floats  # (signals, hidden)
    inner_bias: Floats  # (hidden,)
    outer: Floats  # (hidden,)

    def __post_init__(self) -> None:
        signals, hidden = len(self.mean), len(self.outer)
        shapes = ((signals,),) * 3 + ((1,), (signals, hidden), (hidden,), (hidden,))
        found = tuple(getattr(self, field.name).shape for field in fields(self))
        if found != shapes:
            raise ModelError(f"the comparer's weights do not fit each other: {found}")

    @cached_property
    def _weights(self) -> dict[str, Tensor]:
        return {field.name: torch.from_numpy(getattr(self, field.name)) for field in fields(self)}

    def log_odds(self, signals: Tensor) -> Tensor:
        """(…, signals) -> (…)."""
        own = {name: weight.to(signals.device) for name, weight in self._weights.items()}
        x = (signals - own["mean"]) * own["scale"]
        hidden = torch.tanh(x @ own["inner"] + own["inner_bias"])
        result: Tensor = x @ own["linear"] + own["bias"] + hidden @ own["outer"]
        return result

    def highest(self, signals: Tensor, unknown: Sequence[int]) -> Tensor:
        """The most that the log-odds can be where some signals, from 0 to 1, are not known yet."""
        own = {name: weight.to(signals.device) for name, weight in self._weights.items()}
        known = torch.ones_like(own["mean"])
        known[list(unknown)] = 0
        x = (signals - own["mean"]) * own["scale"] * known  # (…, signals)
        ends = torch.stack([-own["mean"], 1 - own["mean"]]) * own["scale"] * (1 - known)
        linear = (ends * own["linear"]).amax(dim=0).sum()
        parts = ends[:, :, None] * own["inner"]  # (2, signals, hidden)
        inner = x @ own["inner"] + own["inner_bias"]
        least = torch.tanh(inner + parts.amin(dim=0).sum(dim=0))
        most = torch.tanh(inner + parts.amax(dim=0).sum(dim=0))
        outer = own["outer"]
        hidden = most @ outer.clamp(min=0) + least @ outer.clamp(max=0)
        result: Tensor = x @ own["linear"] + linear + own["bias"] + hidden
        return result
