"""A trained model on disk: a folder with `config.json` and `model.safetensors`.

Nothing in the folder is executed. `config.json` is written last and names the checksum of the
weights, so a folder that was not finished or has been damaged is told from a good one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from synsetmine.errors import ModelError, shorten
from synsetmine.files import atomic_write, sha256, write_text
from synsetmine.model import viewweights
from synsetmine.model.scorer import SetScorer
from synsetmine.model.viewscorer import ViewScorer
from synsetmine.views import TermVectors, TermViews, read_vectors, write_vectors

FORMAT = "synsetmine-model"
VERSION = 1
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
VECTORS = "vectors.safetensors"
ARCHITECTURE = ("dimension", "embed_sizes", "post_sizes", "dropout")
KINDS: dict[str, type | tuple[type, ...]] = {
    "scorer": dict,
    "threshold": (int, float),
    "training": dict,
    "sha256": dict,
}


@dataclass(frozen=True)
class StoredModel:
    """A scorer with what was recorded of its training, and its own vectors if it tuned any."""

    scorer: SetScorer | ViewScorer
    threshold: float
    training: Mapping[str, Any]
    tuned_vectors: TermVectors | None = None

    def to(self, device: str) -> StoredModel:
        """This model with a set scorer on that device; a view scorer is moved when it is used."""
        if isinstance(self.scorer, SetScorer):
            self.scorer.to(device)
        return self

    def see(self, views: TermViews) -> TermViews:
        """The views to use with this scorer: checked, and tuned where it has its own vectors."""
        if isinstance(self.scorer, ViewScorer):
            self.scorer.check(views)
            return views
        if len(views.vectors) != 1:
            raise ModelError(f"the model takes one table of vectors, not {len(views.vectors)}")
        return TermViews((self.apply_to(views.vectors[0]),))

    def apply_to(self, vectors: TermVectors) -> TermVectors:
        """A table of vectors as the model sees it: tuned where it has its own."""
        if isinstance(self.scorer, SetScorer) and vectors.dimension != self.scorer.dimension:
            raise ModelError(
                f"the model was trained on vectors of {self.scorer.dimension} dimensions, "
                f"these have {vectors.dimension}"
            )
        return vectors if self.tuned_vectors is None else vectors.replaced(self.tuned_vectors)


def save_model(folder: Path, model: StoredModel) -> None:
    """Write the folder; `config.json` comes last and makes it complete."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).unlink(missing_ok=True)
    with atomic_write(folder / WEIGHTS) as temporary:
        save_file(_arrays(model.scorer), temporary)
    files = [WEIGHTS]
    if model.tuned_vectors is not None:
        write_vectors(folder / VECTORS, model.tuned_vectors)
        files.append(VECTORS)
    config = {
        "format": FORMAT,
        "version": VERSION,
        "scorer": _description(model.scorer),
        "threshold": model.threshold,
        "training": dict(model.training),
        "sha256": {name: sha256(folder / name) for name in files},
    }
    write_text(folder / CONFIG, json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def load_model(folder: Path) -> StoredModel:
    """Read a model folder, checked against its own checksums."""
    config = _read_config(folder)
    for name, expected in config["sha256"].items():
        if name not in (WEIGHTS, VECTORS):
            raise ModelError(f"{folder / CONFIG} names {name!r}, which is no file of a model")
        if not (folder / name).is_file():
            raise ModelError(f"{folder}: {name!r} is missing")
        if sha256(folder / name) != expected:
            raise ModelError(f"{folder / name} is damaged: its checksum differs from {CONFIG}")
    try:
        scorer = _scorer(config["scorer"], load_file(folder / WEIGHTS))
    except (KeyError, TypeError, ValueError, RuntimeError, SafetensorError, ModelError) as error:
        problem = f"{folder}: the weights do not fit {CONFIG}"
        reason = " ".join(str(error).split())  # torch writes a line for each layer
        raise ModelError(f"{problem} ({shorten(reason)})") from error
    tuned = read_vectors(folder / VECTORS) if VECTORS in config["sha256"] else None
    return StoredModel(scorer, float(config["threshold"]), config["training"], tuned)


def _description(scorer: SetScorer | ViewScorer) -> dict[str, Any]:
    if isinstance(scorer, ViewScorer):
        return viewweights.describe(scorer)
    return {name: getattr(scorer, name) for name in ARCHITECTURE}


def _arrays(scorer: SetScorer | ViewScorer) -> dict[str, np.ndarray[Any, Any]]:
    if isinstance(scorer, ViewScorer):
        return viewweights.to_arrays(scorer)
    return {name: tensor.cpu().numpy() for name, tensor in scorer.state_dict().items()}


def _scorer(
    described: Mapping[str, Any], arrays: dict[str, np.ndarray[Any, Any]]
) -> SetScorer | ViewScorer:
    if described.get("kind") == "views":
        return viewweights.from_arrays(described, arrays)
    scorer = SetScorer(**{name: described[name] for name in ARCHITECTURE})
    scorer.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return scorer.eval()


def model_files(folder: Path, *, tuned: bool) -> list[Path]:
    """The files of a stored model; `tuned` if its vectors were trained too."""
    return [folder / name for name in (CONFIG, WEIGHTS, *([VECTORS] if tuned else []))]


def is_model(folder: Path) -> bool:
    """Whether the folder holds a finished model."""
    return (folder / CONFIG).is_file()


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not folder.exists():
            raise ModelError(f"{folder} does not exist; a model is a folder") from None
        problem = f"{folder} holds no finished model: there is no {CONFIG}"
        raise ModelError(f"{problem}; if its training broke off, train again") from None
    except NotADirectoryError:
        raise ModelError(f"{folder} is not a folder, as a model is") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read ({shorten(str(error))})") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelError(f"{path} is not the config of a synsetmine model")
    if config.get("version") != VERSION:
        raise ModelError(
            f"{path} has version {config.get('version')!r}; this synsetmine reads {VERSION}"
        )
    for name, kind in KINDS.items():
        if not isinstance(config.get(name), kind):
            problem = f"{name!r} is missing or of the wrong kind"
            raise ModelError(f"{path} is damaged: {problem} ({shorten(repr(config.get(name)))})")
    if WEIGHTS not in config["sha256"]:
        raise ModelError(f"{path} is damaged: {WEIGHTS!r} is missing")
    return config
