"""A corpus of any format as one stream of documents, in constant memory."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

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
from synsetmine.errors import DataError, Skipped, raise_or_keep
from synsetmine.io.files import plain_name
from synsetmine.io.source import Meter, Source
from synsetmine.types import Document, Progress

CorpusFormat = Literal["text", "lines", "jsonl", "csv", "tsv", "parquet", "pubtator", "mediawiki"]

# The longer ending stands first: `.pubtator.txt` is no plain text.
ENDINGS: dict[str, CorpusFormat] = {
    ".pubtator.txt": "pubtator",
    ".pubtator": "pubtator",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".xml": "mediawiki",
}

Where = str | Path | Sequence[str | Path]


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

    The ending of a file tells its format, after `.gz`, `.bz2` or `.zst` is taken off:

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
    files = corpus_files(source, format)
    fields = Fields.named(text_field, id_field)
    return _read_all(files, fields, skipped, progress)


def _read_all(
    files: Mapping[Path, CorpusFormat],
    fields: Fields,
    skipped: Skipped | None,
    progress: Progress | None,
) -> Iterator[Document]:
    sizes = {path: _size(path) for path in files}
    meter = Meter(sum(sizes.values()), progress)
    for path, format in files.items():
        with meter.reading(sizes[path]) as on_read:
            try:
                yield from _read_one(Source(path, skipped, on_read), format, fields)
            except DataError as error:  # the file cannot be read from here on
                raise_or_keep(error, skipped)
    meter.tell()


def _read_one(source: Source, format: CorpusFormat, fields: Fields) -> Iterator[Document]:
    match format:
        case "text":
            return read_paragraphs(source)
        case "lines":
            return read_lines(source)
        case "jsonl":
            return read_jsonl(source, fields)
        case "csv" | "tsv":
            return read_table(source, fields, quotes=format == "csv")
        case "parquet":
            return read_parquet(source, fields)
        case "pubtator":
            return read_pubtator(source)
        case "mediawiki":
            return read_articles(source)


def corpus_files(where: Where, format: CorpusFormat | None = None) -> dict[Path, CorpusFormat]:
    """The files of a corpus with their formats.

    They are named by a file, a folder, a pattern (`abstracts/*.jsonl.gz`), or a list of these.

    Of a folder come all files with a known ending, also from folders below, in sorted order;
    hidden ones are left out. A file that is named twice is read once. `format` overrules what the
    endings say.
    """
    if format is not None and format not in get_args(CorpusFormat):
        raise DataError(
            f"the corpus format must be one of {', '.join(get_args(CorpusFormat))}", value=format
        )
    parts = [where] if isinstance(where, str | Path) else list(where)
    if not parts:
        raise DataError("no corpus files are named")
    files: dict[Path, Path] = {}
    for path in (path for part in parts for path in _expand(part)):
        files.setdefault(path.resolve(), path)
    return {path: format or _format_of(path) for path in files.values()}


def _expand(part: str | Path) -> Iterator[Path]:
    path = Path(part)
    if os.path.isdir(path):  # noqa: PTH112 (a name that is too long is no folder, not an error)
        yield from _files_in(path)
    elif os.path.exists(path):  # noqa: PTH110
        yield path
    elif glob.has_magic(str(part)):
        matches = sorted(glob.glob(str(part), recursive=True))  # noqa: PTH207 (hides dot files)
        if not matches:
            raise DataError("no file matches this pattern", value=str(part))
        for match in map(Path, matches):
            yield from _files_in(match) if match.is_dir() else [match]
    else:
        raise DataError("no such file or folder", path=path)


def _files_in(folder: Path) -> list[Path]:
    """The files with known endings in a folder and below; there must be some."""

    def refuse(error: OSError) -> None:
        raise DataError(error.strerror or "cannot be read", path=error.filename) from error

    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [Path(parent, name) for name in names if not name.startswith(".")]
        found += [path for path in paths if _known_format(path) and path.exists()]
    if not found:
        endings = ", ".join(ENDINGS)
        raise DataError(f"no corpus files in this folder (extensions: {endings})", path=folder)
    return sorted(found)


def _format_of(path: Path) -> CorpusFormat:
    format = _known_format(path)
    if format is None:
        problem = f"unknown file extension; name the format or use one of {', '.join(ENDINGS)}"
        raise DataError(problem, path=path)
    return format


def _known_format(path: Path) -> CorpusFormat | None:
    # Wikipedia names the parts of a dump `…-pages-articles1.xml-p1p41242.bz2`.
    name = re.sub(r"\.xml-p[0-9]+p[0-9]+.*", ".xml", plain_name(path).lower())
    return next((format for ending, format in ENDINGS.items() if name.endswith(ending)), None)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise DataError(error.strerror or "cannot be read", path=path) from error
