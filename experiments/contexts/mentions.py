"""Mentions of known entities in real text, each with the text in which it stands.

Four sources: the mentions of the NCBI Disease corpus by concept and the links of Wikipedia
articles by the page that they lead to, both with their sentences; names of MeSH with the abstracts
of MEDLINE; and things that two glossaries define, with the definition of each.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.contexts.glossaries import read_definitions
from experiments.name_lists.base import package_file
from experiments.name_lists.wikipedia import DUMP
from synsetmine.corpus import read_corpus
from synsetmine.errors import ErrorCounts
from synsetmine.kb import read_kb
from synsetmine.linking.linkers import DictionaryLinker
from synsetmine.normalization import name_key, tokens
from synsetmine.text.tokens import one_space, sentence_around
from synsetmine.text.word_forms import stem
from synsetmine.types import Document, Mention

SENTENCE = 400  # characters of a sentence at most
AROUND = 700  # characters of an abstract on either side of a mention
PER_NAME = 30  # mentions of a name of an entity that are kept

Context = Callable[[Document, Mention], str]


class Row(NamedTuple):
    """A mention: what a list of extracted entities has, and the entity that it should find."""

    name: str
    context: str
    entity: str


def ncbi_rows(folder: Path) -> list[Row]:
    """Mentions of one concept in the NCBI Disease corpus, training, development and test part."""

    def documents() -> Iterator[Document]:
        for path in sorted(folder.glob("*.PubTator")):
            for document in read_corpus([path], format="pubtator", skipped=ErrorCounts()):
                kept = [m for m in document.mentions if not set(m.entity) & set("|+,;")]
                yield Document(document.id, document.text, tuple(kept))

    return list(_rows(documents(), _sentence))


def wikipedia_rows() -> list[Row]:
    """Links of the articles inside gensim.

    A redirect stands for the page that it leads to. Titles of the same stems are one page, since
    most redirects ("Gametes", "Gamete") are not among the articles.
    """
    path = package_file("gensim", f"gensim/test/test_data/{DUMP}")
    kb = read_kb(path)

    def documents() -> Iterator[Document]:
        for document in read_corpus([path], format="mediawiki", skipped=ErrorCounts()):
            mentions = []
            for start, end, title in ((m.start, m.end, m.entity) for m in document.mentions):
                if any(map(str.isalpha, document.text[start:end])):
                    page = kb.current(title) or title
                    stems = " ".join(map(stem, tokens(page)))
                    mentions.append(Mention(start, end, stems or page))
            yield Document(document.id, document.text, tuple(mentions))

    return list(_rows(documents(), _sentence))


def mesh_rows(folder: Path, *, seed: int = 0) -> list[Row]:
    """Names of MeSH, each of one entity, in abstracts of MEDLINE."""
    linker = DictionaryLinker(read_kb(folder / "mesh.jsonl.gz"))
    documents = list(read_corpus([folder / "corpus.jsonl.gz"], text_field="title,text"))
    random.Random(seed).shuffle(documents)  # noqa: S311

    def link() -> Iterator[Document]:
        for start in range(0, len(documents), 1000):
            some = documents[start : start + 1000]
            for document, mentions in zip(some, linker.link(some), strict=True):
                yield Document(document.id, document.text, mentions)

    return list(_rows(link(), _abstract))


def _sentence(document: Document, mention: Mention) -> str:
    span = mention.start, mention.end
    return sentence_around(document.id, document.text, *span, SENTENCE).text


def _abstract(document: Document, mention: Mention) -> str:
    return one_space(document.text[max(mention.start - AROUND, 0) : mention.end + AROUND])


def _rows(documents: Iterable[Document], context: Context) -> Iterator[Row]:
    """The first mention of each name in each document."""
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
            yield Row(name, context(document, mention), mention.entity)


SOURCES: Mapping[str, Callable[[Path], list[Row]]] = {
    "NCBI Disease": lambda data: ncbi_rows(data / "ncbi-disease"),
    "MeSH in MEDLINE": lambda data: mesh_rows(data / "medline"),
    "Wikipedia links": lambda _: wikipedia_rows(),
    "Definitions": lambda _: [Row(*own) for own in read_definitions()],
}


def entities_of(rows: Sequence[Row]) -> dict[str, dict[str, list[Row]]]:
    """The rows of each name of each entity."""
    names: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        names.setdefault(row.entity, {}).setdefault(name_key(row.name), []).append(row)
    return names


def draw(rows: Sequence[Row], *, count: int, per_name: int, seed: int) -> list[Row]:
    """Mentions of random entities: half of them of entities with several names, if there are.

    An entity comes with all of its names, and a name with up to `per_name` mentions.
    """
    entities = entities_of(rows)
    rng = random.Random(seed)  # noqa: S311
    several = [entity for entity, names in entities.items() if len(names) > 1]
    single = [entity for entity, names in entities.items() if len(names) == 1]
    rng.shuffle(several)
    rng.shuffle(single)
    drawn: list[Row] = []
    for limit, own in ((count / 2, several), (count, single)):
        for entity in own:
            if len(drawn) >= limit:
                break
            for mentions in entities[entity].values():
                drawn += rng.sample(mentions, min(per_name, len(mentions)))
    return drawn
