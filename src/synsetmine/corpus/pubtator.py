"""PubTator files: title and abstract of an article, and the entities that are marked in them.

    9949209|t|Genetic mapping of the copper toxicosis locus.
    9949209|a|Abnormal hepatic copper accumulation is …
    9949209<tab>23<tab>39<tab>copper toxicosis<tab>Modifier<tab>OMIM:215600

A blank line ends an article. Offsets count the characters of title, one line end, and abstract.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from synsetmine.corpus.documents import check_text
from synsetmine.errors import DataError
from synsetmine.io.files import LONGEST
from synsetmine.io.source import Source
from synsetmine.types import Document, Mention

_PASSAGE = re.compile(r"([^|\t]+)\|([ta])\|(.*)", re.S)
_OFFSET = re.compile(r"-?[0-9]{1,9}")
_OF_A_LINE = 128  # bytes that a line takes in memory beside its characters


def read_pubtator(source: Source) -> Iterator[Document]:
    """The articles with their mentions; a mention's entity is its id field as the file has it.

    A field may have no id or several; `linking.identifiers` reads it. A mention whose offsets do
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
            try:
                mention = _mention(line, name, text)
            except DataError as error:
                source.reject(error, number)
            else:
                mentions += [mention] if mention else []
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


def _mention(line: str, name: str, text: str) -> Mention | None:
    """The mention on this line; None for a relation."""
    columns = line.split("\t")
    if len(columns) < 4:
        raise DataError("neither a mention nor a relation", value=line[:80])
    if not (_OFFSET.fullmatch(columns[1]) and _OFFSET.fullmatch(columns[2])):
        return None  # a relation, such as `id CID D1 D2`
    if columns[0] != name:
        raise DataError("the mention belongs to another article", value=columns[0])
    start, end, surface = int(columns[1]), int(columns[2]), columns[3]
    if not (0 <= start < end <= len(text) and text[start:end] == surface):
        raise DataError("the offsets do not match the surface", value=line[:120])
    return Mention(start, end, columns[5].strip() if len(columns) > 5 else "")
