"""Entity synonym sets: groups of terms that name the same thing.

Names are imported when they are first used, so that `import synsetmine` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synsetmine.corpus import read_corpus
    from synsetmine.datasets import fetch_dataset
    from synsetmine.errors import DataError, ModelError, SynsetmineError
    from synsetmine.estimator import SynSetMiner
    from synsetmine.generation import Mined, generate_sets
    from synsetmine.kb import Entity, KnowledgeBase, read_kb
    from synsetmine.metrics import ClusterReport, evaluate
    from synsetmine.model import SetScorer, StoredModel, load_model, probabilities, rank, save_model
    from synsetmine.model.viewscorer import ViewScorer
    from synsetmine.pipeline import Project, read_project
    from synsetmine.pipeline.run import run_project
    from synsetmine.setfiles import read_sets, read_vocabulary, write_sets
    from synsetmine.supervision import Supervision, split_entities, supervise
    from synsetmine.training import PRESETS, Trained, TrainingSettings, Validation, train_scorer
    from synsetmine.training.viewtraining import TrainedViews, ViewSettings, train_views
    from synsetmine.types import Document, Link, Mention, SynonymSets, Term, order_terms
    from synsetmine.views import TermVectors, TermViews, read_vectors, write_vectors

__version__ = "0.1.0"

_HOMES = {
    "corpus": ["read_corpus"],
    "datasets": ["fetch_dataset"],
    "errors": ["DataError", "ModelError", "SynsetmineError"],
    "estimator": ["SynSetMiner"],
    "generation": ["Mined", "generate_sets"],
    "kb": ["Entity", "KnowledgeBase", "read_kb"],
    "metrics": ["ClusterReport", "evaluate"],
    "model": ["SetScorer", "StoredModel", "load_model", "probabilities", "rank", "save_model"],
    "model.viewscorer": ["ViewScorer"],
    "pipeline": ["Project", "read_project"],
    "pipeline.run": ["run_project"],
    "setfiles": ["read_sets", "read_vocabulary", "write_sets"],
    "supervision": ["Supervision", "split_entities", "supervise"],
    "training": ["PRESETS", "Trained", "TrainingSettings", "Validation", "train_scorer"],
    "training.viewtraining": ["TrainedViews", "ViewSettings", "train_views"],
    "types": ["Document", "Link", "Mention", "SynonymSets", "Term", "order_terms"],
    "views": ["TermVectors", "TermViews", "read_vectors", "write_vectors"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "PRESETS",
    "ClusterReport",
    "DataError",
    "Document",
    "Entity",
    "KnowledgeBase",
    "Link",
    "Mention",
    "Mined",
    "ModelError",
    "Project",
    "SetScorer",
    "StoredModel",
    "Supervision",
    "SynSetMiner",
    "SynonymSets",
    "SynsetmineError",
    "Term",
    "TermVectors",
    "TermViews",
    "Trained",
    "TrainedViews",
    "TrainingSettings",
    "Validation",
    "ViewScorer",
    "ViewSettings",
    "evaluate",
    "fetch_dataset",
    "generate_sets",
    "load_model",
    "order_terms",
    "probabilities",
    "rank",
    "read_corpus",
    "read_kb",
    "read_project",
    "read_sets",
    "read_vectors",
    "read_vocabulary",
    "run_project",
    "save_model",
    "split_entities",
    "supervise",
    "train_scorer",
    "train_views",
    "write_sets",
    "write_vectors",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'synsetmine' has no attribute {name!r}")
    return getattr(import_module(f"synsetmine.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
