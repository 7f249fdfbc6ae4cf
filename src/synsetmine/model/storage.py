"""A trained model on disk: a folder with `config.json` and `model.safetensors`.

Nothing in the folder is executed. `config.json` is written last and names the checksum of the
weights, so a folder that was not finished or has been damaged is told from a good one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from synsetmine.errors import DataError, ModelError, shorten
from synsetmine.files import atomic_write, read_json, sha256, write_text
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
# What building a scorer raises where a config tells of another one than the weights are of.
_MISFITS = (
    *(KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError),
    *(SafetensorError, ModelError),
)
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
            problem = f"the model was trained on vectors of {self.scorer.dimension} dimensions"
            raise DataError(f"{problem}, these have", path=vectors.source, value=vectors.dimension)
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
    except _MISFITS as error:
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
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelError(f"{name!r} holds what is no number")
    if described.get("kind") == "views":
        return viewweights.from_arrays(described, arrays)
    _check_size(described, sum(array.size for array in arrays.values()))
    scorer = SetScorer(**{name: described[name] for name in ARCHITECTURE})
    scorer.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return scorer.eval()


def _check_size(described: Mapping[str, Any], stored: int) -> None:
    """Refuse a network that is larger than its weights, before memory is taken for it."""
    embed = [described["dimension"], *described["embed_sizes"]]
    layers = (*pairwise(embed), *pairwise([embed[-1], *described["post_sizes"], 1]))
    if any(width < 1 for layer in layers for width in layer):
        raise ModelError("a layer without a width")
    if (needed := sum(width * following for width, following in layers)) > stored:
        raise ModelError(f"{needed} weights are described, {stored} are there")


def model_files(folder: Path, *, tuned: bool) -> list[Path]:
    """The files of a stored model; `tuned` if its vectors were trained too."""
    return [folder / name for name in (CONFIG, WEIGHTS, *([VECTORS] if tuned else []))]


def is_model(folder: Path) -> bool:
    """Whether the folder holds a finished model."""
    return (folder / CONFIG).is_file()


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not folder.exists():
        raise ModelError(f"{folder} does not exist; a model is a folder")
    if not folder.is_dir():
        raise ModelError(f"{folder} is not a folder, as a model is")
    if not path.exists():
        problem = f"{folder} holds no finished model: there is no {CONFIG}"
        raise ModelError(f"{problem}; if its training broke off, train again")
    try:
        config = read_json(path)
    except DataError as error:
        raise ModelError(f"{path} cannot be read ({error.problem})") from error
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
    if not 0 <= config["threshold"] <= 1:
        shown = shorten(str(config["threshold"]))
        raise ModelError(f"{path} is damaged: the threshold is no probability ({shown})")
    if WEIGHTS not in config["sha256"]:
        raise ModelError(f"{path} is damaged: {WEIGHTS!r} is missing")
    return config
