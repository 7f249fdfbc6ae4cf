"""The general model, which groups names without any training data."""

from synsetmine.models.general.model import GeneralModel
from synsetmine.models.general.prepared_names import PreparedNames
from synsetmine.models.general.settings import PRECISION
from synsetmine.models.general.training import load_general

__all__ = ["PRECISION", "GeneralModel", "PreparedNames", "load_general"]
