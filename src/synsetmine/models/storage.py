"""The models there are, and their folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from synsetmine.devices import require_torch
from synsetmine.errors import DataError, ModelError, choose_among, require_type, shorten
from synsetmine.io.files import atomic_write, check_plain, read_json, sha256, write_text
from synsetmine.models.base import Arrays, ModelSettings, SetModel, StoredModel
from synsetmine.models.general.settings import AdaptationSettings
from synsetmine.models.paper.settings import PRESETS as PAPER_PRESETS
from synsetmine.views import read_vectors, write_vectors

DEFAULT_PRESET = "general"

_PRESETS: Mapping[str, ModelSettings] = {"general": AdaptationSettings(), **PAPER_PRESETS}

# The module and class of each kind, imported when a model of that kind is loaded.
_CLASSES = {
    "general": ("synsetmine.models.general.model", "GeneralModel"),
    "paper": ("synsetmine.models.paper.network", "SetScorer"),
}


def preset_names() -> tuple[str, ...]:
    return tuple(_PRESETS)


def settings_of(preset: str = DEFAULT_PRESET) -> ModelSettings:
    """The training settings of a preset."""
    if preset not in preset_names():  # a tuple, since the value may not be hashable
        raise DataError("no such preset", value=preset, hint=choose_among(preset, _PRESETS))
    return _PRESETS[preset]


FORMAT = "synsetmine-model"
VERSION = 1
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
VECTORS = "vectors.safetensors"
LARGEST_WEIGHT = 1e9  # sums of larger ones may overflow; those of training are below 1,000
# What building a model raises where its description does not fit its weights.
_MISFITS = (
    *(KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError),
    *(SafetensorError, ModelError),
)
_TYPES: dict[str, type | tuple[type, ...]] = {
    "scorer": dict,
    "threshold": (int, float),
    "training": dict,
    "sha256": dict,
}


def save_model(folder: str | Path, model: StoredModel) -> None:
    """Write the folder; `config.json` comes last and makes it complete."""
    folder = Path(folder)
    require_type(model, StoredModel, "expected a StoredModel, such as the .model of a training")
    _check_files(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).unlink(missing_ok=True)
    description, arrays = model.state()
    with atomic_write(folder / WEIGHTS) as temporary:
        save_file(arrays, temporary)
    files = [WEIGHTS]
    if model.tuned_vectors is not None:
        write_vectors(folder / VECTORS, model.tuned_vectors)
        files.append(VECTORS)
    config = {
        "format": FORMAT,
        "version": VERSION,
        "scorer": {"kind": model.kind, **description},
        "threshold": model.threshold,
        "training": dict(model.training),
        "sha256": {name: sha256(folder / name) for name in files},
    }
    write_text(folder / CONFIG, json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def load_model(folder: str | Path) -> StoredModel:
    """Read a model folder, checked against its own checksums."""
    folder = Path(folder)
    config = _read_config(folder)
    for name, expected in config["sha256"].items():
        if name not in (WEIGHTS, VECTORS):
            shown = shorten(repr(name))
            raise ModelError(f"{folder / CONFIG} names {shown}, which is not a model file")
        if not (folder / name).is_file():
            raise ModelError(f"{folder}: {name!r} is missing")
        if sha256(folder / name) != expected:
            raise ModelError(f"{folder / name} is damaged: its checksum differs from {CONFIG}")
    try:
        model = _model(config["scorer"], load_file(folder / WEIGHTS))
    except _MISFITS as error:
        problem = f"{folder}: the weights do not fit {CONFIG}"
        reason = " ".join(str(error).split())  # torch writes a line for each layer
        raise ModelError(f"{problem} ({shorten(reason)})") from error
    tuned = read_vectors(folder / VECTORS) if VECTORS in config["sha256"] else None
    return StoredModel(model, float(config["threshold"]), config["training"], tuned)


def _model(description: Mapping[str, Any], arrays: Arrays) -> SetModel:
    for name, array in arrays.items():
        if array.dtype.kind not in "fiu":
            raise ModelError(f"{name!r} contains values of the type {array.dtype}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelError(f"{name!r} contains a value that is not a number")
        if array.dtype.kind == "f" and float(np.abs(array).max(initial=0)) > LARGEST_WEIGHT:
            raise ModelError(f"{name!r} contains a value beyond {LARGEST_WEIGHT:g}")
    kind = description.get("kind", "paper")  # older models do not name theirs
    if kind not in _CLASSES:
        raise ModelError(f"no such kind of model: {kind!r}; expected one of {', '.join(_CLASSES)}")
    if kind == "paper":
        require_torch("the paper's model")
    module, name = _CLASSES[kind]
    model: SetModel = getattr(import_module(module), name).from_state(description, arrays)
    return model


def model_files(folder: Path, *, tuned: bool) -> list[Path]:
    """The files of a stored model; `tuned` if it has vectors of its own."""
    return [folder / name for name in (CONFIG, WEIGHTS, *([VECTORS] if tuned else []))]


def is_model(folder: Path) -> bool:
    """Whether the folder holds a finished model."""
    return (folder / CONFIG).is_file()


def _check_files(folder: Path) -> None:
    for name in (CONFIG, WEIGHTS, VECTORS):
        check_plain(folder / name)


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not folder.is_dir():
        problem = "not a folder" if folder.exists() else "no such folder"
        hint = "name a model of `synsetmine train`, or a run folder where the command takes one"
        raise ModelError(f"{folder}: {problem}; {hint}")
    _check_files(folder)
    if not path.exists():
        problem = f"{folder} contains no finished model: {CONFIG} is missing"
        raise ModelError(f"{problem}; if training was interrupted, train again")
    try:
        config = read_json(path)
    except DataError as error:
        raise ModelError(f"{path} cannot be read ({error.problem})") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise ModelError(f"{path} is not the config of a synsetmine model")
    if config.get("version") != VERSION:
        shown = shorten(repr(config.get("version")))
        raise ModelError(f"{path} has version {shown}; this synsetmine reads {VERSION}")
    for name, kind in _TYPES.items():
        if not isinstance(config.get(name), kind):
            problem = f"{name!r} is missing or has the wrong type"
            raise ModelError(f"{path} is damaged: {problem} ({shorten(repr(config.get(name)))})")
    if not 0 <= config["threshold"] <= 1:
        shown = shorten(str(config["threshold"]))
        raise ModelError(f"{path} is damaged: the threshold is not a probability ({shown})")
    if WEIGHTS not in config["sha256"]:
        raise ModelError(f"{path} is damaged: {WEIGHTS!r} is missing")
    return config
