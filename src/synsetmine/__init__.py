"""Entity synonym sets: groups of terms that name the same thing.

Names are imported on first use, so `import synsetmine` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synsetmine.corpus import read_corpus
    from synsetmine.corpus.name_lists import read_names
    from synsetmine.errors import DataError, ModelError, SynsetmineError
    from synsetmine.estimator import SynSetMiner
    from synsetmine.io.downloads import fetch_dataset
    from synsetmine.io.sets import read_sets, read_vocabulary, write_sets
    from synsetmine.kb import Entity, KnowledgeBase, read_kb
    from synsetmine.linking.supervision import Supervision, split_entities, supervise
    from synsetmine.metrics import ClusterReport, evaluate
    from synsetmine.models import (
        MiningResult,
        PreparedModel,
        SetModel,
        StoredModel,
        generate_sets,
        load_model,
        probabilities,
        rank,
        save_model,
        settings_of,
    )
    from synsetmine.models.paper.network import SetScorer
    from synsetmine.models.paper.settings import PRESETS, TrainingSettings
    from synsetmine.models.paper.train import TrainedScorer, Validation, train_scorer
    from synsetmine.pipeline.explanation import Explanation, explain
    from synsetmine.pipeline.grouping import group
    from synsetmine.pipeline.merging import AppliedPlan, apply_plan
    from synsetmine.pipeline.name_sets import Grouping, NameSet
    from synsetmine.pipeline.plan import Merge, Plan, read_plan
    from synsetmine.pipeline.project import Project, read_project
    from synsetmine.pipeline.registry import Registry, read_registry
    from synsetmine.pipeline.restoration import RestoredGraph, undo_plan
    from synsetmine.pipeline.run import run_project
    from synsetmine.pipeline.settings import GraphColumns, JudgeSettings
    from synsetmine.types import Document, Link, Mention, SynonymSets, Term, order_terms
    from synsetmine.views import TermVectors, TermViews, read_vectors, write_vectors

__version__ = "0.1.0"

_HOMES = {
    "corpus": ["read_corpus"],
    "io.downloads": ["fetch_dataset"],
    "errors": ["DataError", "ModelError", "SynsetmineError"],
    "estimator": ["SynSetMiner"],
    "pipeline.explanation": ["Explanation", "explain"],
    "pipeline.grouping": ["group"],
    "pipeline.name_sets": ["Grouping", "NameSet"],
    "pipeline.merging": ["AppliedPlan", "apply_plan"],
    "pipeline.plan": ["Merge", "Plan", "read_plan"],
    "pipeline.registry": ["Registry", "read_registry"],
    "pipeline.restoration": ["RestoredGraph", "undo_plan"],
    "kb": ["Entity", "KnowledgeBase", "read_kb"],
    "metrics": ["ClusterReport", "evaluate"],
    "models": [
        "MiningResult",
        "PreparedModel",
        "SetModel",
        "StoredModel",
        "generate_sets",
        "load_model",
        "probabilities",
        "rank",
        "save_model",
        "settings_of",
    ],
    "models.paper.network": ["SetScorer"],
    "models.paper.settings": ["PRESETS", "TrainingSettings"],
    "models.paper.train": ["TrainedScorer", "Validation", "train_scorer"],
    "corpus.name_lists": ["read_names"],
    "pipeline.project": ["Project", "read_project"],
    "pipeline.run": ["run_project"],
    "pipeline.settings": ["GraphColumns", "JudgeSettings"],
    "io.sets": ["read_sets", "read_vocabulary", "write_sets"],
    "linking.supervision": ["Supervision", "split_entities", "supervise"],
    "types": ["Document", "Link", "Mention", "SynonymSets", "Term", "order_terms"],
    "views": ["TermVectors", "TermViews", "read_vectors", "write_vectors"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "PRESETS",
    "AppliedPlan",
    "ClusterReport",
    "DataError",
    "Document",
    "Entity",
    "Explanation",
    "GraphColumns",
    "Grouping",
    "JudgeSettings",
    "KnowledgeBase",
    "Link",
    "Mention",
    "Merge",
    "MiningResult",
    "ModelError",
    "NameSet",
    "Plan",
    "PreparedModel",
    "Project",
    "Registry",
    "RestoredGraph",
    "SetModel",
    "SetScorer",
    "StoredModel",
    "Supervision",
    "SynSetMiner",
    "SynonymSets",
    "SynsetmineError",
    "Term",
    "TermVectors",
    "TermViews",
    "TrainedScorer",
    "TrainingSettings",
    "Validation",
    "apply_plan",
    "evaluate",
    "explain",
    "fetch_dataset",
    "generate_sets",
    "group",
    "load_model",
    "order_terms",
    "probabilities",
    "rank",
    "read_corpus",
    "read_kb",
    "read_names",
    "read_plan",
    "read_project",
    "read_registry",
    "read_sets",
    "read_vectors",
    "read_vocabulary",
    "run_project",
    "save_model",
    "settings_of",
    "split_entities",
    "supervise",
    "train_scorer",
    "undo_plan",
    "write_sets",
    "write_vectors",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'synsetmine' has no attribute {name!r}")
    try:
        home = import_module(f"synsetmine.{_HOME_OF[name]}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        problem = f"synsetmine.{name} needs the extra: pip install 'synsetmine[torch]'"
        raise ImportError(problem) from None
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted(__all__)
