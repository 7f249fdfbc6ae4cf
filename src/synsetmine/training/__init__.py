"""Training of the set-instance classifier, and the choice of its hyper-parameters.

What loads torch is imported when it is first used: a project file has settings for training, and
reading one must not take seconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synsetmine.training.settings import PRESETS, TrainingSettings

if TYPE_CHECKING:
    from synsetmine.training.loop import Epoch, Trained, train_scorer
    from synsetmine.training.validation import Validation

__all__ = ["PRESETS", "Epoch", "Trained", "TrainingSettings", "Validation", "train_scorer"]

_HOME_OF = {"Epoch": "loop", "Trained": "loop", "train_scorer": "loop", "Validation": "validation"}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'synsetmine.training' has no attribute {name!r}")
    return getattr(import_module(f"synsetmine.training.{_HOME_OF[name]}"), name)
