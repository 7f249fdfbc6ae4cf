"""Training of the general model on public name lists."""

from experiments.general_model.settings import GeneralSettings
from experiments.general_model.training import learn

__all__ = ["GeneralSettings", "learn"]
