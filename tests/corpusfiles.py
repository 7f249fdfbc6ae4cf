"""What tests of corpora share: files that a test writes, and what is read of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from synsetmine.corpus import (
    Form,
    read_corpus,
)
from synsetmine.errors import DataError, Skipped


def stored(folder: Path, content: str | bytes, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: str | Path, form: Form | None = None, **fields: str) -> list[tuple[str, str]]:
    return [(d.id, d.text) for d in read_corpus(path, form=form, **fields)]  # type: ignore[arg-type]


def refused(path: Path, form: Form | None = None) -> tuple[list[str], list[str]]:
    """(Texts that are read, errors that are kept); without `skipped` the first one is raised."""
    skipped = Skipped()
    texts = [d.text for d in read_corpus(path, form=form, skipped=skipped)]
    errors = [str(error) for kind in skipped.examples.values() for error in kind]
    with pytest.raises(DataError) as caught:
        list(read_corpus(path, form=form))
    assert str(caught.value) in errors
    return texts, [error.removeprefix(str(path)) for error in errors]


def wiki(text: str) -> str:
    revision = f"<revision><text>{text}</text></revision>"
    return f"<mediawiki><page><title>A</title><id>1</id>{revision}</page></mediawiki>"
