"""The general model, which groups names without any training data."""

from synsetmine.models.general.model import GeneralModel, PreparedNames
from synsetmine.models.general.pretrained import load_general
from synsetmine.models.general.settings import PRECISION

__all__ = ["PRECISION", "GeneralModel", "PreparedNames", "load_general"]
