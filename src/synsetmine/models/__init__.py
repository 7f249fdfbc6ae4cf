"""Models of synonym sets behind one interface, `SetModel`.

Names are imported when they are first used, so that settings load without numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from synsetmine.models.storage import (
        DEFAULT_PRESET,
        load_model,
        preset_names,
        save_model,
        settings_of,
    )
    from synsetmine.models.task import MiningResult

__all__ = [
    "DEFAULT_PRESET",
    "MiningResult",
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
_STORAGE = ("DEFAULT_PRESET", "load_model", "preset_names", "save_model", "settings_of")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "storage" if name in _STORAGE else "task" if name == "MiningResult" else "base"
    return getattr(import_module(f"{__name__}.{module}"), name)
