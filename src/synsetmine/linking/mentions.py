"""The mentions of a corpus as a table, and the links that they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synsetmine.corpus.store import batch_sizes, documents_of
from synsetmine.engines import Engine, LocalEngine
from synsetmine.errors import DataError
from synsetmine.files import atomic_write, numbered_lines, write_text
from synsetmine.linking.base import Linker
from synsetmine.setfiles import parse_count
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

    `progress` is told how many documents are done.
    """
    total = done = 0
    sizes = batch_sizes(documents)
    with atomic_write(out) as temporary, pq.ParquetWriter(temporary, SCHEMA) as writer:
        found = engine.map_batches(_LinkBatch(linker), documents)
        for size, mentions in zip(sizes, found, strict=True):
            writer.write_batch(_numbered(mentions, first=done))
            total += len(mentions)
            done += size
            if progress:
                progress(done)
    return total


def count_links(mentions: Path, *, engine: Engine | None = None) -> list[Link]:
    """How often each surface was linked to each entity, most frequent first."""
    query = """
        SELECT surface, entity, count(*) AS n FROM mentions
        GROUP BY surface, entity ORDER BY n DESC, surface, entity
    """
    found = (engine or LocalEngine(1)).sql(query, mentions=mentions)
    return list(map(Link, *(column.to_pylist() for column in found.columns)))


def count_entities(mentions: Path, *, engine: Engine | None = None) -> dict[str, int]:
    """How often each entity was linked."""
    query = "SELECT entity, count(*) AS n FROM mentions GROUP BY entity ORDER BY entity"
    found = (engine or LocalEngine(1)).sql(query, mentions=mentions)
    return dict(zip(*(column.to_pylist() for column in found.columns), strict=True))


def write_links(path: Path, links: Iterable[Link]) -> None:
    """Write `surface, entity, count`, tab-separated, under a header."""
    lines = (f"{link.surface}\t{link.entity}\t{link.count}\n" for link in links)
    write_text(path, f"{HEADER}\n" + "".join(lines))


def read_links(path: Path) -> list[Link]:
    """Read what `write_links` wrote, or a person in the same form."""
    lines = numbered_lines(path)
    number, first = next(lines, (1, ""))
    if first != HEADER:
        raise DataError(f"expected the header {HEADER!r}", path=path, line=number, value=first)
    links = []
    for number, line in lines:
        match line.split("\t"):
            case [surface, entity, count] if surface and entity:
                try:
                    links.append(Link(surface, entity, parse_count(count)))
                except DataError as error:
                    raise error.at(path, number) from None
            case _:
                problem = "expected surface, entity and count"
                raise DataError(problem, path=path, line=number, value=line)
    return links


@dataclass(frozen=True)
class _LinkBatch:
    """A batch of documents to the table of its mentions, where they are numbered from 0."""

    linker: Linker

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        documents = documents_of(batch)
        rows = [
            (i, m.start, m.end, " ".join(document.text[m.start : m.end].split()), m.entity)
            for i, (document, mentions) in enumerate(
                zip(documents, self.linker.link(documents), strict=True)
            )
            for m in mentions
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
        return pa.record_batch(list(map(list, columns)), schema=SCHEMA)


def _numbered(mentions: pa.RecordBatch, *, first: int) -> pa.RecordBatch:
    """With the numbers of the documents in the corpus instead of those in their batch."""
    return mentions.set_column(0, SCHEMA.field(0), pc.add(mentions.column(0), first))
