"""A corpus of any format as one stream of documents, in constant memory."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from synsetmine.corpus.documents import (
    Fields,
    check_text,
    read_jsonl,
    read_lines,
    read_paragraphs,
    read_parquet,
    read_table,
)
from synsetmine.corpus.mediawiki import read_articles
from synsetmine.corpus.pages import read_page
from synsetmine.errors import DataError, ErrorCounts, raise_or_keep
from synsetmine.io.files import LONGEST, Meter, Source, cannot_open, plain_name
from synsetmine.types import CorpusFormat, Document, Mention, Progress

# The longer ending comes first: `.pubtator.txt` is no plain text.
ENDINGS: dict[str, CorpusFormat] = {
    ".pubtator.txt": "pubtator",
    ".pubtator": "pubtator",
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
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
    skipped: ErrorCounts | None = None,
    progress: Progress | None = None,
) -> Iterator[Document]:
    """The documents of a file, a folder, a pattern such as `abstracts/*.jsonl.gz`, or a list.

    The file extension, without `.gz`, `.bz2` or `.zst`, determines the format:

    - `text` (.txt, .text): a document is a block of lines between blank lines, `notes.txt#1`;
      blocks of more than a million characters are split at a line break;
    - `lines`: one document per line;
    - `document` (.txt and .text in a folder): a file of plain text is one document;
    - `markdown` (.md, .markdown), `html` (.html, .htm, .xhtml) and `pdf` (extra `pdf`): the text of
      a file without its mark-up is one document;
    - `jsonl` (.jsonl, .ndjson, .json): one JSON object per line;
    - `csv`, `tsv` and `xlsx` (first sheet; extra `xlsx`): with a header; quotes have no meaning in
      TSV;
    - `parquet`;
    - `pubtator` (.pubtator, .pubtator.txt): title and abstract, with the annotated mentions;
    - `mediawiki` (.xml): the articles of a wiki's dump, with their links as mentions.

    `text_field` names the field with the text, or several fields ("title,text"), which are joined
    by a line break; missing ones are left out. `id_field` names the field with the id; the default
    id is `file name:line`. In a folder, the file name is the path within the folder. Texts are
    normalised to Unicode NFC, except those of PubTator files, whose offsets count characters of the
    file.

    A broken record, an empty document or a damaged file raises a DataError. With `skipped` the
    error goes there, and the next record or file is read; so do files of unknown kinds in a folder.
    `progress` is called with the bytes read and the bytes of all files, as stored on disk.
    """
    files = _files_of(source, format, skipped)
    fields = Fields.of(text_field, id_field)
    return _read_all(files, fields, skipped, progress)


def _read_all(
    files: Mapping[Path, _CorpusFile],
    fields: Fields,
    skipped: ErrorCounts | None,
    progress: Progress | None,
) -> Iterator[Document]:
    sizes = {path: _size(path) for path in files}
    meter = Meter(sum(sizes.values()), progress)
    for path, (format, folder) in files.items():
        with meter.start_file(sizes[path]) as on_read:
            try:
                yield from _read_one(Source(path, skipped, on_read, folder), format, fields)
            except DataError as error:  # the file cannot be read from here on
                raise_or_keep(error, skipped)
    meter.report()


def _read_one(source: Source, format: CorpusFormat, fields: Fields) -> Iterator[Document]:
    match format:
        case "text":
            return read_paragraphs(source)
        case "lines":
            return read_lines(source)
        case "jsonl":
            return read_jsonl(source, fields)
        case "csv" | "tsv" | "xlsx":
            return read_table(source, fields, format)
        case "document" | "markdown" | "html" | "pdf":
            return read_page(source, format)
        case "parquet":
            return read_parquet(source, fields)
        case "pubtator":
            return read_pubtator(source)
        case "mediawiki":
            return read_articles(source)


def corpus_files(where: Where, format: CorpusFormat | None = None) -> dict[Path, CorpusFormat]:
    """The files of a corpus with their formats.

    The path is a file, a folder, a pattern (`abstracts/*.jsonl.gz`), or a list of these.

    A folder stands for all files with a known extension, also in its subfolders, in sorted order,
    without hidden ones. A file that is named twice is read once. `format` overrides the
    extensions.
    """
    return {path: file.format for path, file in _files_of(where, format, None).items()}


class _CorpusFile(NamedTuple):
    format: CorpusFormat
    folder: Path | None  # in which it was looked for


def _files_of(
    where: Where, format: CorpusFormat | None, skipped: ErrorCounts | None
) -> dict[Path, _CorpusFile]:
    if format is not None and format not in get_args(CorpusFormat):
        raise DataError(
            f"the corpus format must be one of {', '.join(get_args(CorpusFormat))}", value=format
        )
    parts = [where] if isinstance(where, str | Path) else list(where)
    if not parts:
        raise DataError("no corpus files are named")
    files: dict[Path, tuple[Path, Path | None]] = {}
    for path, folder in (pair for part in parts for pair in _expand(part, skipped)):
        files.setdefault(path.resolve(), (path, folder))
    return {
        path: _CorpusFile(format or _format_of(path, folder), folder)
        for path, folder in files.values()
    }


def _expand(part: str | Path, skipped: ErrorCounts | None) -> Iterator[tuple[Path, Path | None]]:
    """Files, each with the folder in which it was looked for."""
    path = Path(part)
    if os.path.isdir(path):  # noqa: PTH112 (a name that is too long is no folder, not an error)
        yield from ((file, path) for file in _files_in(path, skipped))
    elif os.path.exists(path):  # noqa: PTH110
        yield path, None
    elif glob.has_magic(str(part)):
        matches = sorted(glob.glob(str(part), recursive=True))  # noqa: PTH207 (hides dot files)
        if not matches:
            raise DataError("no file matches this pattern", value=str(part))
        for match in map(Path, matches):
            if match.is_dir():
                yield from ((file, match) for file in _files_in(match, skipped))
            else:
                yield match, None
    else:
        raise cannot_open(path)


def _files_in(folder: Path, skipped: ErrorCounts | None) -> list[Path]:
    """The files with known endings in a folder and below; there must be some.

    The other files, but not hidden ones, go to `skipped`.
    """

    def refuse(error: OSError) -> None:
        raise DataError(error.strerror or "cannot be read", path=error.filename) from error

    files: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [Path(parent, name) for name in names if not name.startswith(".")]
        for path in filter(Path.exists, paths):
            if _known_format(path):
                files.append(path)
            elif skipped is not None:
                skipped.append(DataError("a file of an unknown kind", path=path))
    if not files:
        endings = ", ".join(ENDINGS)
        raise DataError(f"no corpus files in this folder (extensions: {endings})", path=folder)
    return sorted(files)


def _format_of(path: Path, folder: Path | None) -> CorpusFormat:
    format = _known_format(path)
    if format == "text" and folder is not None:
        return "document"
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


_PASSAGE = re.compile(r"([^|\t]+)\|([ta])\|(.*)", re.S)
_OFFSET = re.compile(r"-?[0-9]{1,9}")
_OF_A_LINE = 128  # bytes that a line takes in memory besides its characters


def read_pubtator(source: Source) -> Iterator[Document]:
    """The articles with their mentions; a mention's entity is its id field as the file has it.

        9949209|t|Genetic mapping of the copper toxicosis locus.
        9949209|a|Abnormal hepatic copper accumulation is …
        9949209<tab>23<tab>39<tab>copper toxicosis<tab>Modifier<tab>OMIM:215600

    A blank line ends an article. Offsets count the characters of title, one line end, and abstract.

    A field may have no id or several; `linking.linkers` reads it. A mention whose offsets do
    not lead to its surface is an error; with `skipped` it is left out and the article stays.
    Relations between entities are passed over.
    """
    for article, size in _articles(source.lines()):
        try:
            if size > LONGEST:
                raise DataError("an article is longer than 64 MiB", value=article[0][1][:80])
            name, text, marks = _passages(article)
            check_text(text)
        except DataError as error:
            source.reject(error, article[0][0])
            continue
        mentions: list[Mention] = []
        for number, line in marks:
            with source.skip_broken(number):
                mentions += _mentions(line, name, text)
        yield Document(name, text, tuple(mentions))


def _articles(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[list[tuple[int, str]], int]]:
    """The numbered lines of each article, and its size; of one that is too long the first only.

    Some files lack the blank line before a title.
    """
    article: list[tuple[int, str]] = []
    size = 0
    for number, line in lines:
        blank = not line or line.isspace()
        passage = None if blank else _PASSAGE.fullmatch(line)
        if article and (blank or (passage and passage[2] == "t")):
            yield article, size
            article, size = [], 0
        if not blank:
            size += len(line) + _OF_A_LINE
            if size <= LONGEST or not article:
                article.append((number, line))
    if article:
        yield article, size


def _passages(article: list[tuple[int, str]]) -> tuple[str, str, list[tuple[int, str]]]:
    """Id and text of an article, and the lines after them."""
    title = _PASSAGE.fullmatch(article[0][1])
    if title is None or title[2] != "t":
        raise DataError("expected a title: `id|t|text`", value=article[0][1][:80])
    abstract = _PASSAGE.fullmatch(article[1][1]) if len(article) > 1 else None
    if abstract is None:
        return title[1], title[3], article[1:]
    if abstract[1] != title[1]:
        raise DataError("title and abstract have different ids", value=abstract[1])
    # The line end counts as one character, and keeps words of the two apart.
    text = f"{title[3]}\n{abstract[3]}" if abstract[3] else title[3]
    return title[1], text, article[2:]


def _mentions(line: str, name: str, text: str) -> list[Mention]:
    """The mention on this line; none for a relation."""
    columns = line.split("\t")
    if len(columns) < 4:
        raise DataError("neither a mention nor a relation", value=line[:80])
    if not (_OFFSET.fullmatch(columns[1]) and _OFFSET.fullmatch(columns[2])):
        return []  # a relation, such as `id CID D1 D2`
    if columns[0] != name:
        raise DataError("the mention belongs to another article", value=columns[0])
    start, end, surface = int(columns[1]), int(columns[2]), columns[3]
    if not (0 <= start < end <= len(text) and text[start:end] == surface):
        raise DataError("the offsets do not match the surface", value=line[:120])
    return [Mention(start, end, columns[5].strip() if len(columns) > 5 else "")]
