"""What tests of corpora share: files that a test writes, and what is read of them."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from synsetmine.corpus import (
    batch_of,
    read_corpus,
)
from synsetmine.corpus.documents import document_schema
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.runs.results import PlaceCounter, PlaceTable
from synsetmine.text.counters import count_together
from synsetmine.text.matcher import NameMatcher
from synsetmine.types import CorpusFormat, Document


def store(folder: Path, content: str | bytes, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def store_texts(batches: Sequence[Sequence[str]]) -> Path:
    """A stored corpus of these texts, a row group for each batch that has any."""
    handle, name = tempfile.mkstemp(dir=_folder(), suffix=".parquet")
    os.close(handle)
    first = 0
    with pq.ParquetWriter(name, document_schema()) as writer:
        for texts in filter(len, batches):
            numbered = enumerate(texts, start=first)
            writer.write_batch(batch_of([Document(f"d{n}", text) for n, text in numbered]))
            first += len(texts)
    return Path(name)


def store_places(documents: Path, places: Path, forms: Sequence[str]) -> None:
    """Write the first places of these forms in a stored corpus, as a run does."""
    table = PlaceTable(forms)
    counters = {"places": PlaceCounter()}
    for counted in count_together(documents, counters, matcher=NameMatcher.build(forms)):
        table.add(counted.tables["places"], first=counted.first)
    table.write(places)


@cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="synsetmine-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def read(
    path: str | Path, format: CorpusFormat | None = None, **fields: str
) -> list[tuple[str, str]]:
    return [(d.id, d.text) for d in read_corpus(path, format=format, **fields)]  # type: ignore[arg-type]


def read_broken(path: Path, format: CorpusFormat | None = None) -> tuple[list[str], list[str]]:
    """(Texts that are read, errors that are kept); without `skipped` the first one is raised."""
    skipped = ErrorCounts()
    texts = [d.text for d in read_corpus(path, format=format, skipped=skipped)]
    errors = [str(error) for kind in skipped.examples.values() for error in kind]
    with pytest.raises(DataError) as caught:
        list(read_corpus(path, format=format))
    assert str(caught.value) in errors
    return texts, [error.removeprefix(str(path)) for error in errors]


def wiki(text: str) -> str:
    revision = f"<revision><text>{text}</text></revision>"
    return f"<mediawiki><page><title>A</title><id>1</id>{revision}</page></mediawiki>"
