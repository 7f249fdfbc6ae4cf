"""Several counts from one pass over a stored corpus.

Each counter makes a table of a batch of documents. All of them see the same batch, so that texts
are read once and names are matched once, whatever is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from synsetmine.corpus.documents import batch_sizes, documents_of, texts_of
from synsetmine.engines import Engine, LocalEngine
from synsetmine.text.matcher import Matches, NameMatcher
from synsetmine.types import Document


class TextBatch:
    """Some documents of a corpus, and where the names of a matcher occur in them."""

    def __init__(self, batch: pa.RecordBatch, matcher: NameMatcher | None = None) -> None:
        self._batch = batch
        self._matcher = matcher or NameMatcher.build([])

    def __len__(self) -> int:
        return len(self._batch)

    @cached_property
    def ids(self) -> list[str]:
        ids: list[str] = self._batch.column("id").to_pylist()
        return ids

    @cached_property
    def texts(self) -> list[str]:
        return texts_of(self._batch)

    @cached_property
    def documents(self) -> list[Document]:
        return documents_of(self._batch)

    @cached_property
    def matches(self) -> Matches:
        return self._matcher.find(self.texts)


class BatchCounter(Protocol):
    """What is counted in one batch; pure and picklable, since it travels to worker processes."""

    def __call__(self, batch: TextBatch, /) -> pa.RecordBatch: ...


class BatchCounts(NamedTuple):
    """What the counters made of one batch."""

    first: int  # the number of its first document in the corpus
    size: int  # documents
    tables: Mapping[str, pa.RecordBatch]  # by the name of the counter


def one_row(arrays: Mapping[str, np.ndarray[Any, Any]]) -> pa.RecordBatch:
    """A table of one row that has each array as a list."""
    return pa.record_batch(
        {
            name: pa.LargeListArray.from_arrays([0, len(values)], pa.array(values))
            for name, values in arrays.items()
        }
    )


def count_together(
    documents: Path,
    counters: Mapping[str, BatchCounter],
    *,
    matcher: NameMatcher | None = None,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[BatchCounts]:
    """Read a stored corpus once; `progress` gets the number of documents done."""
    function = _JointCounter(matcher, dict(counters))
    first = 0
    tables = (engine or LocalEngine(1)).map_batches(function, documents)
    for size, table in zip(batch_sizes(documents), tables, strict=True):
        rows = {name: table.column(name).flatten() for name in counters}
        yield BatchCounts(
            first, size, {n: pa.RecordBatch.from_struct_array(row) for n, row in rows.items()}
        )
        first += size
        if progress:
            progress(first)


@dataclass(frozen=True)
class _JointCounter:
    """The tables of all counters, each as one list of records."""

    matcher: NameMatcher | None
    counters: Mapping[str, BatchCounter]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        texts = TextBatch(batch, self.matcher)
        tables = {name: counter(texts) for name, counter in self.counters.items()}
        return pa.record_batch(
            {
                name: pa.LargeListArray.from_arrays([0, len(table)], table.to_struct_array())
                for name, table in tables.items()
            }
        )
