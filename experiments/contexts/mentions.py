"""Mentions of known entities in real text, each with the sentence in which it stands.

Three sources: the mentions of the NCBI Disease corpus by concept, the links of Wikipedia articles
by the page that they lead to, and names of MeSH in abstracts of MEDLINE.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.name_lists.base import package_file
from experiments.name_lists.wikipedia import DUMP
from synsetmine.corpus import read_corpus
from synsetmine.errors import Skipped
from synsetmine.kb import read_kb
from synsetmine.linking.linkers import DictionaryLinker
from synsetmine.normalization import name_key
from synsetmine.text.tokens import one_space, sentence_around
from synsetmine.types import Document, Mention

SENTENCE = 400  # characters of a sentence at most
AROUND = 700  # characters of a paragraph on either side of a mention
PER_NAME = 30  # mentions of a name of an entity that are kept


class Row(NamedTuple):
    """A mention: what a list of extracted entities has, and the entity that it should find."""

    name: str
    sentence: str
    paragraph: str  # the text around: of an abstract all of it
    entity: str
    document: str


def ncbi_rows(folder: Path) -> list[Row]:
    """Mentions of one concept in the NCBI Disease corpus, training, development and test part."""

    def documents() -> Iterator[Document]:
        for path in sorted(folder.glob("*.PubTator")):
            for document in read_corpus([path], format="pubtator", skipped=Skipped()):
                kept = [m for m in document.mentions if not set(m.entity) & set("|+,;")]
                yield Document(document.id, document.text, tuple(kept))

    return list(_rows(documents()))


def wikipedia_rows() -> list[Row]:
    """Links of the articles inside gensim; a redirect stands for the page that it leads to."""
    path = package_file("gensim", f"gensim/test/test_data/{DUMP}")
    kb = read_kb(path)

    def documents() -> Iterator[Document]:
        for document in read_corpus([path], format="mediawiki", skipped=Skipped()):
            mentions = []
            for start, end, title in ((m.start, m.end, m.entity) for m in document.mentions):
                entity = kb.current(title) or title
                if not any(map(str.isalpha, document.text[start:end])):
                    continue
                mentions.append(Mention(start, end, entity))
            yield Document(document.id, document.text, tuple(mentions))

    return list(_rows(documents()))


def mesh_rows(folder: Path, *, seed: int = 0) -> list[Row]:
    """Names of MeSH, each of one entity, in abstracts of MEDLINE."""
    linker = DictionaryLinker(read_kb(folder / "mesh.jsonl.gz"))
    documents = list(read_corpus([folder / "corpus.jsonl.gz"], text_field="title,text"))
    random.Random(seed).shuffle(documents)  # noqa: S311

    def linked() -> Iterator[Document]:
        for start in range(0, len(documents), 1000):
            some = documents[start : start + 1000]
            for document, mentions in zip(some, linker.link(some), strict=True):
                yield Document(document.id, document.text, mentions)

    return list(_rows(linked()))


def _rows(documents: Iterable[Document]) -> Iterator[Row]:
    """The first mention of each name in each document, with its sentence."""
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for document in documents:
        seen = set()
        for mention in document.mentions:
            name = " ".join(document.text[mention.start : mention.end].split())
            key = name_key(name), mention.entity
            if key in seen or counts[key] >= PER_NAME or not name:
                continue
            seen.add(key)
            counts[key] += 1
            sentence = sentence_around(
                document.id, document.text, mention.start, mention.end, SENTENCE
            )
            first, last = max(mention.start - AROUND, 0), mention.end + AROUND
            paragraph = one_space(document.text[first:last])
            yield Row(name, sentence.text, paragraph, mention.entity, document.id)


SOURCES: Mapping[str, Callable[[Path], list[Row]]] = {
    "ncbi": lambda data: ncbi_rows(data / "ncbi-disease"),
    "mesh": lambda data: mesh_rows(data / "medline"),
    "wikipedia": lambda _: wikipedia_rows(),
}


def entities_of(rows: Sequence[Row]) -> dict[str, dict[str, list[Row]]]:
    """The rows of each name of each entity."""
    names: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        names.setdefault(row.entity, {}).setdefault(name_key(row.name), []).append(row)
    return names
