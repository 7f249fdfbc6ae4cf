"""The log-odds that two terms are synonyms.

The pair classifier is a network over the features of a pair. An adaptation, learned from sets of
the user, adds a linear correction:

    log-odds = network(standardised features) + w · standardised features of the adaptation + b
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from synsetmine.errors import ModelError
from synsetmine.models.base import Arrays
from synsetmine.models.general.features import (
    STRING_FEATURES,
    TABLE_FEATURES,
    NameFeatures,
    NeighbourTable,
    Positions,
    holds_places,
    mean_levels,
    near_pairs,
    unique_pairs,
)
from synsetmine.models.general.neighbours import Floats
from synsetmine.views.vectors import unit_rows

COMPARED_AT_ONCE = 1 << 17
WIDTH = 256  # of a layer; with wider ones fewer pairs are compared at once


@dataclass(frozen=True, eq=False)
class PairClassifier:
    """Log-odds of pairs: x_0 = (x - means) / deviations, x_(i+1) = ReLU(x_i W_i + b_i).

    The last layer has one output and no ReLU.
    """

    means: Floats  # (features,)
    deviations: Floats  # (features,)
    weights: tuple[Floats, ...]  # of each layer: (inputs, outputs)
    biases: tuple[Floats, ...]  # of each layer: (outputs,)

    def __post_init__(self) -> None:
        width = len(self.means)
        if self.deviations.shape != (width,) or len(self.weights) != len(self.biases):
            raise ModelError("means, deviations and layers of the pair classifier do not match")
        if not (self.deviations > 0).all():
            raise ModelError("the pair classifier has a deviation that is not above 0")
        for weights, bias in zip(self.weights, self.biases, strict=True):
            if weights.ndim != 2 or len(weights) != width or bias.shape != (weights.shape[1],):
                raise ModelError(f"a layer of the pair classifier has the shape {weights.shape}")
            width = weights.shape[1]
        if width != 1:
            raise ModelError(f"the pair classifier ends in {width} outputs; expected 1")

    @property
    def width(self) -> int:
        """The number of features that it takes."""
        return len(self.means)

    def log_odds(self, features: Floats) -> Floats:
        """(pairs, features) -> (pairs,)"""
        parts = [np.zeros(0, np.float32)]
        widest = max(self.width, *(len(bias) for bias in self.biases))
        step = max(COMPARED_AT_ONCE * min(WIDTH, widest) // widest, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(features), step):
                hidden = (features[start : start + step] - self.means) / self.deviations
                layers = enumerate(zip(self.weights, self.biases, strict=True))
                for layer, (weights, bias) in layers:
                    hidden = hidden @ weights + bias
                    if layer + 1 < len(self.weights):
                        np.maximum(hidden, 0, out=hidden)
                parts.append(hidden[:, 0])
        return _finite(np.concatenate(parts))

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        layers = enumerate(zip(self.weights, self.biases, strict=True))
        named = {
            f"{n}.{i}": a for i, layer in layers for n, a in zip(("w", "b"), layer, strict=True)
        }
        return {"means": self.means, "deviations": self.deviations, **named}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray[Any, Any]]) -> PairClassifier:
        layers = sum(name.startswith("w.") for name in arrays)
        return cls(
            arrays["means"],
            arrays["deviations"],
            tuple(arrays[f"w.{layer}"] for layer in range(layers)),
            tuple(arrays[f"b.{layer}"] for layer in range(layers)),
        )


def _finite(log_odds: Floats) -> Floats:
    """Log-odds, unless the weights of the model are so large that they overflow."""
    if not np.isfinite(log_odds).all():
        raise ModelError("the weights of the model give log-odds that are not finite")
    return log_odds


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
        if not (self.deviations > 0).all():
            raise ModelError("the adaptation has a deviation that is not above 0")

    @property
    def width(self) -> int:
        """The number of features that it takes."""
        return len(self.means)

    def log_odds(self, features: Floats) -> Floats:
        """The correction of the log-odds: (pairs, features) -> (pairs,)"""
        with np.errstate(over="ignore", invalid="ignore"):
            standard = (features - self.means) / self.deviations
            log_odds: Floats = (standard @ self.weights[1:] + self.weights[0]).astype(np.float32)
        return _finite(log_odds)

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


PAIRS_AT_ONCE = 1 << 16
NO_NAMES = -3.0  # base log-odds without names: about the share of true pairs among candidates
STRING_COLUMNS = [
    column for column, name in enumerate(STRING_FEATURES) if "neighbourhood" not in name
]


class PairFeatures:
    """The candidate pairs of a vocabulary, in the views of the general model and in others.

    An adaptation takes features of its own. In the tables of the general model, a similarity is
    compared with that of the nearest neighbours that are unlikely to be synonyms. With all
    neighbours, as the general model has it, sets of two would teach that a name has one synonym.
    """

    def __init__(
        self,
        count: int,
        names: NameFeatures | None,  # None: the strings are not looked at
        classifier: PairClassifier,
        tables: Sequence[Floats] = (),  # unit rows beside the names; zeros where unknown
    ) -> None:
        self.count = count
        if names is not None and names.width != classifier.width:
            problem = f"the pair classifier takes {classifier.width} features of a pair"
            raise ModelError(f"{problem}; the names have {names.width}")
        self._names = names
        self._classifier = classifier
        self._tables = [NeighbourTable(rows) for rows in _with_joint(names, tables)]

    def candidates(self) -> tuple[Positions, Positions]:
        """Pairs that are near in some view."""
        parts = [] if self._names is None else [self._names.candidates()]
        parts += [near_pairs(table.nearest) for table in self._tables]
        return unique_pairs(parts, self.count)

    def log_odds(self, left: Positions, right: Positions, adaptation: Adaptation | None) -> Floats:
        """The log-odds of the pairs left[i], right[i]: (pairs,)"""
        if adaptation is None:
            return self.base(left, right)
        base, features = self.features(left, right)
        return base + adaptation.log_odds(features)

    def base(self, left: Positions, right: Positions) -> Floats:
        """The log-odds of the general model: (pairs,)"""
        if self._names is None:
            return np.full(len(left), NO_NAMES, np.float32)
        parts = [np.zeros(0, np.float32)]
        for start in range(0, len(left), PAIRS_AT_ONCE):
            stop = start + PAIRS_AT_ONCE
            features = self._names.features(left[start:stop], right[start:stop])
            parts.append(self._classifier.log_odds(features))
        return np.concatenate(parts)

    def features(self, left: Positions, right: Positions) -> tuple[Floats, Floats]:
        """The general model's log-odds, and the features of an adaptation: (pairs, width)"""
        tables = [table.features(left, right) for table in self._feature_tables]
        if self._names is None:
            return self.base(left, right), np.concatenate(tables, axis=1)
        names = self._names.features(left, right)
        strings = names[:, self._names.string_columns][:, STRING_COLUMNS]
        return self._classifier.log_odds(names), np.concatenate([strings, *tables], axis=1)

    @property
    def width(self) -> int:
        """The number of features that an adaptation takes."""
        if self._names is None:
            return len(TABLE_FEATURES) * len(self._tables)
        tables = len(self._tables) + len(self._names.tables)
        return len(STRING_COLUMNS) + len(TABLE_FEATURES) * tables

    @cached_property
    def _feature_tables(self) -> list[NeighbourTable]:
        """The general model's tables with the levels of unlikely synonyms, and the others."""
        if self._names is None:
            return self._tables
        general = (_without(table, self._likely_pairs) for table in self._names.tables)
        return [*general, *self._tables]

    @cached_property
    def _likely_pairs(self) -> Any:
        """Whether a pair is likely for the general model: scipy.sparse.csr_array (names, names)"""
        from scipy import sparse

        left, right = self.candidates()
        kept = self.base(left, right) > 0
        ends = np.concatenate([left[kept], right[kept]]), np.concatenate([right[kept], left[kept]])
        shape = (self.count, self.count)
        return sparse.csr_array((np.ones(len(ends[0]), np.bool_), ends), shape=shape)


def _with_joint(names: NameFeatures | None, tables: Sequence[Floats]) -> list[Floats]:
    """The tables, and all views of a name together where each knows it."""
    rows = [*([] if names is None else [names.tables[-1].rows]), *tables]
    if not tables or len(rows) < 2:
        return list(tables)
    known = np.all([(table != 0).any(axis=1) for table in rows], axis=0)
    return [*tables, unit_rows(np.concatenate(rows, axis=1)) * known[:, None]]


def _without(table: NeighbourTable, likely: Any) -> NeighbourTable:
    """The table with the levels of those neighbours that are not likely."""
    left = np.repeat(np.arange(len(table.nearest)), table.nearest.shape[1])
    right = table.nearest.ravel().astype(np.int64)
    known = np.flatnonzero(right >= 0)
    known = known[~holds_places(likely, left[known], right[known])]
    cosines = np.full(len(left), -np.inf, np.float32)
    for start in range(0, len(known), PAIRS_AT_ONCE):
        some = known[start : start + PAIRS_AT_ONCE]
        cosines[some] = np.einsum("ij,ij->i", table.rows[left[some]], table.rows[right[some]])
    changed = copy(table)
    changed.levels = mean_levels(-np.sort(-cosines.reshape(table.nearest.shape), axis=1))
    return changed
