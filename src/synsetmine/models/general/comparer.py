"""The pair comparer: a small network from the features of a pair to its log-odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from synsetmine.errors import ModelError
from synsetmine.models.general.neighbours import Floats

PAIRS_AT_ONCE = 1 << 17


@dataclass(frozen=True, eq=False)
class Comparer:
    """Standardised features through layers with ReLU between them."""

    means: Floats  # (features,)
    deviations: Floats  # (features,)
    weights: tuple[Floats, ...]  # of each layer: (inputs, outputs)
    biases: tuple[Floats, ...]  # of each layer: (outputs,)

    def __post_init__(self) -> None:
        width = len(self.means)
        if self.deviations.shape != (width,) or len(self.weights) != len(self.biases):
            raise ModelError("the comparer's means, deviations and layers do not fit together")
        for weights, bias in zip(self.weights, self.biases, strict=True):
            if weights.ndim != 2 or len(weights) != width or bias.shape != (weights.shape[1],):
                raise ModelError(f"a layer of the comparer has the shape {weights.shape}")
            width = weights.shape[1]
        if width != 1:
            raise ModelError(f"the comparer ends in {width} outputs; expected 1")

    @property
    def width(self) -> int:
        """The number of features that it takes."""
        return len(self.means)

    def log_odds(self, features: Floats) -> Floats:
        """(pairs, features) -> (pairs,)"""
        parts = [np.zeros(0, np.float32)]
        for start in range(0, len(features), PAIRS_AT_ONCE):
            hidden = (features[start : start + PAIRS_AT_ONCE] - self.means) / self.deviations
            for layer, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
                hidden = hidden @ weights + bias
                if layer + 1 < len(self.weights):
                    np.maximum(hidden, 0, out=hidden)
            parts.append(hidden[:, 0])
        return np.concatenate(parts)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        layers = enumerate(zip(self.weights, self.biases, strict=True))
        named = {
            f"{n}.{i}": a for i, layer in layers for n, a in zip(("w", "b"), layer, strict=True)
        }
        return {"means": self.means, "deviations": self.deviations, **named}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray[Any, Any]]) -> Comparer:
        layers = sum(name.startswith("w.") for name in arrays)
        return cls(
            arrays["means"],
            arrays["deviations"],
            tuple(arrays[f"w.{layer}"] for layer in range(layers)),
            tuple(arrays[f"b.{layer}"] for layer in range(layers)),
        )
