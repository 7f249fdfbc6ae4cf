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

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from synsetmine.errors import ModelError, shorten
from synsetmine.files import atomic_write, sha256, write_text
from synsetmine.model.scorer import SetScorer
from synsetmine.views import TermVectors, read_vectors, write_vectors

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

    scorer: SetScorer
    threshold: float
    training: Mapping[str, Any]
    tuned_vectors: TermVectors | None = None

    def apply_to(self, vectors: TermVectors) -> TermVectors:
        """The vectors to use with this scorer: checked, and tuned where it has its own."""
        if vectors.dimension != self.scorer.dimension:
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
        state = {name: tensor.cpu() for name, tensor in model.scorer.state_dict().items()}
        save_file(state, temporary)
    files = [WEIGHTS]
    if model.tuned_vectors is not None:
        write_vectors(folder / VECTORS, model.tuned_vectors)
        files.append(VECTORS)
    config = {
        "format": FORMAT,
        "version": VERSION,
        "scorer": {name: getattr(model.scorer, name) for name in ARCHITECTURE},
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
        scorer = SetScorer(**{name: config["scorer"][name] for name in ARCHITECTURE})
        scorer.load_state_dict(load_file(folder / WEIGHTS))
    except (KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        problem = f"{folder}: the weights do not fit {CONFIG}"
        reason = " ".join(str(error).split())  # torch writes a line for each layer
        raise ModelError(f"{problem} ({shorten(reason)})") from error
    scorer.eval()
    tuned = read_vectors(folder / VECTORS) if VECTORS in config["sha256"] else None
    return StoredModel(scorer, float(config["threshold"]), config["training"], tuned)


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
