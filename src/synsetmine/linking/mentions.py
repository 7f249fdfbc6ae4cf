"""The mentions of a corpus as a table, and the links that they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from synsetmine.corpus.store import documents_of, read_batches
from synsetmine.engines import LocalEngine
from synsetmine.errors import DataError
from synsetmine.files import atomic_write, numbered_lines, write_text
from synsetmine.linking.base import Linker
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
    engine: LocalEngine,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Link a stored corpus and write its mentions as Parquet; the number of mentions.

    `progress` is told how many documents are done.
    """
    total = done = 0
    batches = _numbered(read_batches(documents))
    with atomic_write(out) as temporary, pq.ParquetWriter(temporary, SCHEMA) as writer:
        for size, mentions in engine.map(_LinkBatch(linker), batches):
            writer.write_batch(mentions)
            total += len(mentions)
            done += size
            if progress:
                progress(done)
    return total


def count_links(mentions: Path) -> list[Link]:
    """How often each surface was linked to each entity, most frequent first."""
    query = """
        SELECT surface, entity, count(*) AS n FROM read_parquet(?)
        GROUP BY surface, entity ORDER BY n DESC, surface, entity
    """
    with duckdb.connect() as database:
        return [Link(*row) for row in database.execute(query, [str(mentions)]).fetchall()]


def count_entities(mentions: Path) -> dict[str, int]:
    """How often each entity was linked."""
    query = "SELECT entity, count(*) FROM read_parquet(?) GROUP BY entity"
    with duckdb.connect() as database:
        return dict(database.execute(query, [str(mentions)]).fetchall())


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
            case [surface, entity, count] if surface and entity and count.isdecimal():
                links.append(Link(surface, entity, int(count)))
            case _:
                problem = "expected surface, entity and count"
                raise DataError(problem, path=path, line=number, value=line)
    return links


@dataclass(frozen=True)
class _LinkBatch:
    """A batch of documents to the table of its mentions: what an engine maps."""

    linker: Linker

    def __call__(self, numbered: tuple[int, pa.RecordBatch]) -> tuple[int, pa.RecordBatch]:
        first, batch = numbered
        documents = documents_of(batch)
        rows = [
            (first + i, m.start, m.end, " ".join(document.text[m.start : m.end].split()), m.entity)
            for i, (document, mentions) in enumerate(
                zip(documents, self.linker.link(documents), strict=True)
            )
            for m in mentions
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
        return len(documents), pa.record_batch(list(map(list, columns)), schema=SCHEMA)


def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Each batch with the number of its first document."""
    first = 0
    for batch in batches:
        yield first, batch
        first += len(batch)
