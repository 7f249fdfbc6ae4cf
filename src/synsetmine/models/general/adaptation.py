"""What training adds to the general model: a correction of the log-odds of pairs.

The log-odds of the general comparer stay as they are. Training adds a linear function of the
features of a pair, also in tables of vectors that the general model does not know. Its weights
are learned with a ridge penalty, so that without evidence they are zero, and a model with zero
weights is the general model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from synsetmine.errors import ModelError
from synsetmine.models.base import Arrays
from synsetmine.models.general.neighbours import Floats

ARRAYS = ("means", "deviations", "weights")


@dataclass(frozen=True, eq=False)
class Adaptation:
    """The weights of standardised features, and the views that the features are of."""

    strings: bool  # whether the names are one of the views
    tables: tuple[int, ...]  # the dimension of each table of vectors
    means: Floats  # (features,)
    deviations: Floats  # (features,)
    weights: Floats  # (1 + features,), the bias first

    def __post_init__(self) -> None:
        width = (len(self.means),)
        if (self.means.shape, self.deviations.shape) != (width, width):
            shapes = f"{self.means.shape} and {self.deviations.shape}"
            raise ModelError(f"means and deviations of the adaptation have the shapes {shapes}")
        if self.weights.shape != (1 + width[0],):
            raise ModelError(f"the weights of the adaptation have the shape {self.weights.shape}")

    @property
    def width(self) -> int:
        """The number of features that it takes."""
        return len(self.means)

    def log_odds(self, features: Floats) -> Floats:
        """The correction of the log-odds: (pairs, features) -> (pairs,)"""
        standard = (features - self.means) / self.deviations
        log_odds: Floats = (standard @ self.weights[1:] + self.weights[0]).astype(np.float32)
        return log_odds

    def state(self) -> tuple[dict[str, Any], Arrays]:
        description = {"strings": self.strings, "tables": list(self.tables)}
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return description, {f"adaptation.{name}": array for name, array in arrays.items()}

    @classmethod
    def from_state(cls, description: Mapping[str, Any], arrays: Arrays) -> Adaptation:
        if not isinstance(description["strings"], bool):
            raise ModelError("`strings` of the adaptation must be true or false")
        means, deviations, weights = (arrays[f"adaptation.{name}"] for name in ARRAYS)
        return cls(
            description["strings"],
            tuple(int(dimension) for dimension in description["tables"]),
            means,
            deviations,
            weights,
        )
