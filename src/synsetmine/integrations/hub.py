"""Models in the layout of the Hugging Face hub: safetensors, JSON, and a model card."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synsetmine.errors import ModelError, import_extra
from synsetmine.io.files import cache_root, write_text
from synsetmine.models import StoredModel, load_model, save_model
from synsetmine.models.storage import model_files

CARD = "README.md"
TAGS = ["entity-resolution", "knowledge-graph", "synonyms"]
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def save_pretrained(
    model: StoredModel,
    folder: str | Path,
    *,
    licence: str | None = None,
    language: str | Sequence[str] | None = None,
) -> None:
    """Write a model folder with a card, for `huggingface_hub.upload_folder`.

    A card that is there already is kept. `licence` and `language` are the hub's identifiers, such
    as `apache-2.0` and `en`.
    """
    hub, folder = _hub(), Path(folder)
    save_model(folder, model)
    if (folder / CARD).exists():
        return
    languages = [language] if isinstance(language, str) else language
    data = hub.ModelCardData(
        library_name="synsetmine",
        license=licence,
        language=None if languages is None else list(languages),
        tags=TAGS,
    )
    card = hub.ModelCard(
        f"---\n{data.to_yaml()}\n---\n\n{_description(model, folder.resolve().name)}"
    )
    write_text(folder / CARD, str(card))


def from_pretrained(
    name: str | Path,
    *,
    revision: str | None = None,
    token: str | bool | None = None,
    cache: str | Path | None = None,
) -> StoredModel:
    """Load a model from a folder, or from a repository of the hub such as `owner/model`.

    What the hub has is kept in the folder `cache`, and checked like every model folder.
    """
    if Path(name).exists() or not _REPOSITORY.fullmatch(str(name)):
        return load_model(name)
    hub = _hub()
    place = (Path(cache) if cache else cache_root() / "hub") / str(name).replace("/", "--")
    place /= revision or "main"
    # A folder of its own: the hub's cache consists of symbolic links, which no model may have.
    try:
        hub.snapshot_download(
            str(name),
            revision=revision,
            token=token,
            local_dir=place,
            allow_patterns=[path.name for path in model_files(place, tuned=True)],
        )
    except (OSError, ValueError) as error:  # errors of the hub are of these types
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        problem = f"{name} is no folder, and the Hugging Face hub does not send it: {reason}"
        raise ModelError(problem) from error
    return load_model(place)


def _hub() -> Any:
    return import_extra("huggingface_hub", "the Hugging Face hub", "hub")


def _description(model: StoredModel, title: str) -> str:
    views = ", ".join(model.views) or "none"
    return f"""# {title}

A model of synsetmine that groups names of the same entity.

- kind: {model.kind}
- views of a name: {views}
- threshold: {model.threshold:g}

```python
from synsetmine.integrations.hub import from_pretrained

model = from_pretrained("{title}")
```
"""
