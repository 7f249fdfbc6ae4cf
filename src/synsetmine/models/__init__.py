"""Models of synonym sets behind one interface, `SetModel`; torch loads when one needs it."""

from synsetmine.models.base import (
    ModelSettings,
    PreparedModel,
    SetModel,
    StoredModel,
    TrainingResult,
    TrainingStep,
    generate_sets,
    probabilities,
    rank,
)
from synsetmine.models.registry import DEFAULT_PRESET, preset_names, settings_of
from synsetmine.models.storage import load_model, save_model
from synsetmine.models.task import Mined

__all__ = [
    "DEFAULT_PRESET",
    "Mined",
    "ModelSettings",
    "PreparedModel",
    "SetModel",
    "StoredModel",
    "TrainingResult",
    "TrainingStep",
    "generate_sets",
    "load_model",
    "preset_names",
    "probabilities",
    "rank",
    "save_model",
    "settings_of",
]
