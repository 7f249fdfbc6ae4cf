"""A corpus of any form as one stream of documents, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from synsetmine.corpus.mediawiki import read_articles
from synsetmine.corpus.pubtator import read_pubtator
from synsetmine.corpus.records import (
    Fields,
    read_jsonl,
    read_lines,
    read_paragraphs,
    read_parquet,
    read_table,
)
from synsetmine.corpus.sources import (
    CorpusFormat,
    Meter,
    Source,
    Where,
    find_sources,
    until_damaged,
)
from synsetmine.errors import Skipped
from synsetmine.types import Document, Progress


def read_corpus(
    source: Where,
    *,
    format: CorpusFormat | None = None,
    text_field: str = "text",
    id_field: str = "id",
    skipped: Skipped | None = None,
    progress: Progress | None = None,
) -> Iterator[Document]:
    """The documents of a file, a folder, a pattern such as `abstracts/*.jsonl.gz`, or a list.

    The ending of a file tells its form, after `.gz`, `.bz2` or `.zst` is taken off:

    - `text` (.txt, .text, .md): a document is a block of lines between blank lines, `notes.txt#1`;
      a block that grows over a million characters is cut at a line end;
    - `lines`: a document a line;
    - `jsonl` (.jsonl, .ndjson, .json): a JSON object a line;
    - `csv` and `tsv`: with a header; a TSV file knows no quotes;
    - `parquet`;
    - `pubtator` (.pubtator, .pubtator.txt): title and abstract, with the marked mentions;
    - `mediawiki` (.xml): the articles of a wiki's dump, with their links as mentions.

    Records have their text in `text_field`, which may name several fields: with "title,text" they
    are joined by a line end, and those that a record lacks are left out. Their id is in `id_field`;
    without one it is `file name:line`. Texts are brought into Unicode's form NFC, except those of
    PubTator files, whose offsets count characters as they stand.

    A broken record, an empty document, or a file that is damaged from some place on raises a
    DataError. With `skipped` it is kept there, and the next record or file is read. `progress` is
    called with the bytes read and the bytes of all files, as they lie on the disk.
    """
    sources = find_sources(source, format)
    fields = Fields.named(text_field, id_field)
    return _read_all(sources, fields, skipped, progress)


def _read_all(
    sources: list[Source],
    fields: Fields,
    skipped: Skipped | None,
    progress: Progress | None,
) -> Iterator[Document]:
    meter = Meter(sum(source.size for source in sources), progress)
    for source in sources:
        meter.start(source.size)
        yield from until_damaged(_read_one(source, fields, skipped, meter.add), skipped)
        meter.stop()
    meter.finish()


def _read_one(
    source: Source, fields: Fields, skipped: Skipped | None, on_read: Callable[[int], None]
) -> Iterator[Document]:
    path = source.path
    match source.format:
        case "text":
            return read_paragraphs(path, skipped=skipped, on_read=on_read)
        case "lines":
            return read_lines(path, skipped=skipped, on_read=on_read)
        case "jsonl":
            return read_jsonl(path, fields, skipped=skipped, on_read=on_read)
        case "csv" | "tsv":
            quotes = source.format == "csv"
            return read_table(path, fields, quotes=quotes, skipped=skipped, on_read=on_read)
        case "parquet":
            return read_parquet(path, fields, skipped=skipped, on_read=on_read)
        case "pubtator":
            return read_pubtator(path, skipped=skipped, on_read=on_read)
        case "mediawiki":
            return read_articles(path, skipped=skipped, on_read=on_read)
