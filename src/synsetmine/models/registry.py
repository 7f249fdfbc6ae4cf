"""The kinds of models by name: classes for loading, presets of settings for training."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from synsetmine.devices import require_torch
from synsetmine.errors import DataError, ModelError
from synsetmine.models.base import Arrays, ModelSettings, SetModel
from synsetmine.models.general.settings import AdaptationSettings
from synsetmine.models.paper.settings import PRESETS as PAPER_PRESETS

DEFAULT_PRESET = "general"

_PRESETS: Mapping[str, ModelSettings] = {"general": AdaptationSettings(), **PAPER_PRESETS}

# The module and class of each kind, imported when a model of that kind is loaded.
_CLASSES = {
    "general": ("synsetmine.models.general.model", "GeneralModel"),
    "paper": ("synsetmine.models.paper.network", "SetScorer"),
}


class ModelClass(Protocol):
    """The class of a `SetModel`."""

    def from_state(self, description: Mapping[str, Any], arrays: Arrays) -> SetModel:
        """The model that `SetModel.state` describes; raises a ModelError if the two do not fit."""
        ...


def model_class(kind: str) -> ModelClass:
    """The class of a kind of model."""
    if kind not in _CLASSES:
        raise ModelError(f"no such kind of model: {kind!r}; there are {', '.join(_CLASSES)}")
    if kind == "paper":
        require_torch("the paper's model")
    module, name = _CLASSES[kind]
    return cast("ModelClass", getattr(import_module(module), name))


def preset_names() -> tuple[str, ...]:
    return tuple(_PRESETS)


def settings_of(preset: str = DEFAULT_PRESET) -> ModelSettings:
    """The training settings of a preset."""
    if preset not in preset_names():  # which may be asked about any value
        raise DataError(f"no such preset; there are {', '.join(_PRESETS)}", value=preset)
    return _PRESETS[preset]
