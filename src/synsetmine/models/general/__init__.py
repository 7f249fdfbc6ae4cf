"""The general model, which groups names without any training data."""

from synsetmine.models.general.model import GeneralModel, PreparedNames
from synsetmine.models.general.pretrained import PRECISION, load_general

__all__ = ["PRECISION", "GeneralModel", "PreparedNames", "load_general"]
