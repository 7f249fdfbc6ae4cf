"""The set-instance classifier: its network, its use on single sets, its form on disk."""

from synsetmine.model.classifier import probabilities, rank
from synsetmine.model.prepared import PreparedModel
from synsetmine.model.scorer import SetScorer
from synsetmine.model.storage import StoredModel, load_model, save_model
from synsetmine.model.viewscorer import ViewScorer

__all__ = [
    "PreparedModel",
    "SetScorer",
    "StoredModel",
    "ViewScorer",
    "load_model",
    "probabilities",
    "rank",
    "save_model",
]
