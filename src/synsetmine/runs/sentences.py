"""Example sentences for terms, from the first places at which each stands in the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synsetmine.corpus.documents import documents_at
from synsetmine.errors import DataError
from synsetmine.io.files import atomic_write, parquet_error
from synsetmine.text.counters import TextBatch
from synsetmine.text.sentences import Sentence, sentence_around
from synsetmine.types import Progress

PLACES = 5  # of a form, each in another document
LONGEST = 300  # characters of a sentence; a longer one is cut around the term
SCHEMA = pa.schema(
    [
        ("form", pa.string()),
        ("document", pa.int64()),  # its number in the corpus, from 0
        ("start", pa.int64()),
        ("end", pa.int64()),
    ]
)


class PlaceCounter:
    """The first places of each name in a batch, each in another document, by number of form."""

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        matches = batch.matches
        key = matches.form * len(batch) + matches.text
        _, chosen = np.unique(key, return_index=True)  # by form, then by text
        chosen = chosen[_rank(matches.form[chosen]) < PLACES]
        return pa.record_batch(
            {
                "form": matches.form[chosen],
                "document": matches.text[chosen],
                "start": matches.start[chosen],
                "end": matches.end[chosen],
            }
        )


class PlaceTable:
    """The first places of each form in a corpus."""

    def __init__(self, forms: Sequence[str]) -> None:
        self._forms = forms
        self._seen = np.zeros(len(forms), np.int64)
        self._parts: list[pa.Table] = []

    def add(self, counted: pa.RecordBatch, *, first: int) -> None:
        """Add what `PlaceCounter` found in a batch; `first` is the number of its first document."""
        form = counted.column("form").to_numpy()
        chosen = np.flatnonzero(self._seen[form] + _rank(form) < PLACES)
        np.add.at(self._seen, form[chosen], 1)
        part = pa.Table.from_batches([counted.take(pa.array(chosen))])
        self._parts.append(part.set_column(1, "document", pc.add(part["document"], first)))

    def write(self, path: Path) -> None:
        """Write a Parquet file, whole or not at all, in the order of the forms."""
        table = pa.concat_tables(self._parts) if self._parts else _no_places()
        table = table.sort_by([("form", "ascending"), ("document", "ascending")])
        names = pa.array(self._forms, pa.string()).take(table["form"].combine_chunks())
        with atomic_write(path) as temporary:
            pq.write_table(table.set_column(0, "form", names).cast(SCHEMA), temporary)


def find_sentences(
    documents: Path,
    places: Path,
    forms: Sequence[str],
    *,
    per_term: int = 3,
    progress: Progress | None = None,
) -> dict[str, list[Sentence]]:
    """Up to `per_term` different sentences for each form, each of another document.

    `places` is what `PlaceTable` wrote of this corpus. Only the documents that are needed are
    read.
    """
    table = _read_places(places)
    table = table.filter(pc.is_in(table["form"], pa.array(forms, pa.string())))
    table = table.sort_by([("document", "ascending"), ("start", "ascending")])
    sentences: dict[str, list[Sentence]] = {}
    numbers = list(dict.fromkeys(table["document"].to_pylist()))
    rows = iter(table.to_pylist())
    row = next(rows, None)
    for done, (number, document, text) in enumerate(documents_at(documents, numbers), start=1):
        while row is not None and row["document"] == number:
            kept = sentences.setdefault(row["form"], [])
            if len(kept) < per_term:
                sentence = sentence_around(document, text, row["start"], row["end"], LONGEST)
                if all(sentence.text != other.text for other in kept):
                    kept.append(sentence)
            row = next(rows, None)
        if progress is not None:
            progress(done, len(numbers))
    return {form: sentences[form] for form in forms if form in sentences}


def _rank(form: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the same form stand before each entry; equal forms stand beside each other."""
    begins = np.flatnonzero(np.diff(form, prepend=-1))
    sizes = np.diff(np.append(begins, len(form)))
    return np.arange(len(form)) - np.repeat(begins, sizes)


def _no_places() -> pa.Table:
    return pa.table({name: pa.array([], pa.int64()) for name in SCHEMA.names})


def _read_places(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(error, path) from error
    if not table.schema.equals(SCHEMA):
        columns = ", ".join(table.schema.names)
        raise DataError("not a table of places; its columns", path=path, value=columns)
    return table
