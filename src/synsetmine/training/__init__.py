"""Training of the set-instance classifier, and the choice of its hyper-parameters."""

from synsetmine.training.loop import Epoch, Trained, train_scorer
from synsetmine.training.settings import PRESETS, TrainingSettings
from synsetmine.training.validation import Validation

__all__ = ["PRESETS", "Epoch", "Trained", "TrainingSettings", "Validation", "train_scorer"]
