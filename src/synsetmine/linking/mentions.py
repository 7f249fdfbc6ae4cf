"""The mentions that linkers find in a corpus, and how often each name is linked to an entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synsetmine.engines import Engine, LocalEngine
from synsetmine.errors import DataError, skipping
from synsetmine.io.files import atomic_write, numbered_lines, write_text
from synsetmine.io.sets import parse_count
from synsetmine.linking.linkers import Linker
from synsetmine.text.counters import TextBatch, count_together
from synsetmine.types import Link

SCHEMA = pa.schema(
    [
        ("document", pa.int64()),  # its number in the corpus, from 0
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("surface", pa.string()),  # as written, runs of blanks as one
        ("entity", pa.string()),
    ]
)
HEADER = "surface\tentity\tcount"


def link_corpus(
    documents: Path,
    linker: Linker,
    out: Path,
    *,
    engine: Engine,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Link a stored corpus and write its mentions as Parquet; the number of mentions.

    `progress` is called with the number of documents done.
    """
    counters = {"mentions": MentionCounter(linker)}
    with open_mentions(out) as write:
        return sum(
            write(counted.tables["mentions"], counted.first)
            for counted in count_together(documents, counters, engine=engine, progress=progress)
        )


@contextmanager
def open_mentions(out: Path) -> Iterator[Callable[[pa.RecordBatch, int], int]]:
    """A function that writes what `MentionCounter` makes of a batch, and returns how many.

    Its second argument is the number of the batch's first document. The file is written whole or
    not at all.
    """
    with atomic_write(out) as temporary, pq.ParquetWriter(temporary, SCHEMA) as writer:

        def write(mentions: pa.RecordBatch, first: int) -> int:
            numbers = pc.add(mentions.column(0), first)
            writer.write_batch(mentions.set_column(0, SCHEMA.field(0), numbers))
            return len(mentions)

        yield write


def resolve_common(mentions: Path) -> int:
    """Give each mention of several entities to the most common one; the number that stays.

    Common is the entity that has most mentions of its own. Where two are equal or none has any,
    the mention goes. The mentions of one place are adjacent in the file.
    """
    prior: Counter[str] = Counter()
    for table in _row_groups(mentions):
        sizes = _place_sizes(table)
        alone = table.filter(pa.array(np.repeat(sizes == 1, sizes)))
        for count in pc.value_counts(alone["entity"].combine_chunks()).to_pylist():
            prior[count["values"]] += count["counts"]
    total = 0
    with atomic_write(mentions) as temporary, pq.ParquetWriter(temporary, SCHEMA) as writer:
        for table in _row_groups(mentions):
            kept = table.filter(pa.array(_is_common(table, prior)))
            writer.write_table(kept)
            total += len(kept)
    return total


def _row_groups(mentions: Path) -> Iterator[pa.Table]:
    with pq.ParquetFile(mentions) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group)


def _place_sizes(table: pa.Table) -> NDArray[np.int64]:
    """How many mentions each place has."""
    keys = np.stack([table[name].to_numpy() for name in ("document", "start", "end")])
    begins = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(table)]
    return np.diff(np.append(np.flatnonzero(begins), len(table)))


def _is_common(table: pa.Table, prior: Mapping[str, int]) -> NDArray[np.bool_]:
    sizes = _place_sizes(table)
    if not len(sizes):
        return np.zeros(0, np.bool_)
    starts = np.cumsum(sizes) - sizes
    entities = table["entity"].to_pylist()
    count = np.fromiter((prior.get(entity, 0) for entity in entities), np.int64, len(entities))
    is_best = count == np.repeat(np.maximum.reduceat(count, starts), sizes)
    is_only_best = np.repeat(np.add.reduceat(is_best, starts, dtype=np.int64) == 1, sizes)
    is_common = is_best & is_only_best & (count > 0)
    stays: NDArray[np.bool_] = is_common | np.repeat(sizes == 1, sizes)
    return stays


def count_links(mentions: Path, *, engine: Engine | None = None) -> list[Link]:
    """How often each surface was linked to each entity, most frequent first."""
    query = """
        SELECT surface, entity, count(*) AS n FROM mentions
        GROUP BY surface, entity ORDER BY n DESC, surface, entity
    """
    table = (engine or LocalEngine(1)).sql(query, mentions=mentions)
    return list(map(Link, *(column.to_pylist() for column in table.columns)))


def write_links(path: Path, links: Iterable[Link]) -> None:
    """Write `surface, entity, count`, tab-separated, under a header."""
    lines = (f"{link.surface}\t{link.entity}\t{link.count}\n" for link in links)
    write_text(path, f"{HEADER}\n" + "".join(lines))


def read_links(path: Path) -> list[Link]:
    """Read what `write_links` wrote, or a person in the same format."""
    lines = numbered_lines(path)
    number, first = next(lines, (1, ""))
    if first != HEADER:
        raise DataError(f"expected the header {HEADER!r}", path=path, line=number, value=first)
    links = []
    for number, line in lines:
        with skipping(path, number, None):
            match line.split("\t"):
                case [surface, entity, count] if surface and entity:
                    links.append(Link(surface, entity, parse_count(count)))
                case _:
                    raise DataError("expected surface, entity and count", value=line)
    return links


@dataclass(frozen=True)
class MentionCounter:
    """A batch of documents to the table of its mentions, where documents are numbered from 0."""

    linker: Linker

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        documents = batch.documents
        rows = [
            (i, m.start, m.end, " ".join(document.text[m.start : m.end].split()), m.entity)
            for i, (document, mentions) in enumerate(
                zip(documents, self.linker.link(documents), strict=True)
            )
            for m in mentions
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
        return pa.record_batch(list(map(list, columns)), schema=SCHEMA)
