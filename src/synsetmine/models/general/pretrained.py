"""The weights of the general model: those that come with the package, or of a folder."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from synsetmine.errors import ModelError, shorten
from synsetmine.models.general.contexts import ContextClassifier
from synsetmine.models.general.features import WordWeights
from synsetmine.models.general.linkage import SetFunction
from synsetmine.models.general.model import GeneralModel
from synsetmine.models.general.pairs import PairClassifier
from synsetmine.views.strings import StaticEncoder


def load_general(*, encoder: bool = False, folder: str | Path | None = None) -> GeneralModel:
    """The general model; with `encoder` the one that takes a sentence encoder's view too.

    `folder` holds other weights, written by `python -m experiments.general_model`.
    """
    if folder is None:
        return _load_packaged(encoder)
    try:
        return _read(Path(folder), encoder)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError, ModelError) as error:
        reason = shorten(" ".join(str(error).split()))
        raise ModelError(f"{folder} does not hold weights of a general model ({reason})") from error


@cache
def _load_packaged(encoder: bool) -> GeneralModel:
    return _read(Path(str(resources.files("synsetmine.models.general") / "weights")), encoder)


def _read(folder: Path, encoder: bool) -> GeneralModel:
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf8"))
    pieces = (folder / "pieces.txt").read_text(encoding="utf8").splitlines()
    static = load_file(folder / "encoder.safetensors")
    kind = "encoder" if encoder else "strings"
    contexts = folder / f"contexts-{kind}.safetensors"  # not in folders of earlier versions
    return GeneralModel(
        StaticEncoder(tuple(pieces), static["table"], static["scales"].astype(np.float32)),
        WordWeights(static["word_weights"].astype(np.float32)),
        PairClassifier.from_arrays(load_file(folder / f"comparer-{kind}.safetensors")),
        SetFunction(**config["set_function"][kind]),
        uses_encoder=encoder,
        contexts=ContextClassifier.from_arrays(load_file(contexts)) if contexts.exists() else None,
    )
