"""The comparer: from how alike two terms are in each view to the odds that they are synonyms."""

from __future__ import annotations

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
