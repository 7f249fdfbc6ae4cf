"""Linking by the mentions that wiki dumps carry."""

from __future__ import annotations

import bz2
import pickle
import re
from collections import Counter
from html import unescape
from pathlib import Path

from synsetmine.corpus import read_corpus
from synsetmine.errors import ErrorCounts
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.linking import Linker, MarkedLinker
from synsetmine.linking.supervision import UNKNOWN_ENTITY, supervise
from synsetmine.types import Document, Link, Mention


def surfaces(document: Document, mentions: tuple[Mention, ...]) -> list[tuple[str, str]]:
    return [(document.text[m.start : m.end], m.entity) for m in mentions]


# --- Ids --------------------------------------------------------------------------------------

TEXT = "Grippe, flu and influenza; rare disease."
MARKED = Document(
    "d",
    TEXT,
    (
        Mention(0, 6, "D1old"),
        Mention(8, 11, "D1"),
        Mention(16, 25, "D1older"),
        Mention(27, 39, "X"),
    ),
)
KB = KnowledgeBase.of(
    [Entity("D1", "Influenza", ("flu", "grippe"))], replacements={"D1old": "D1", "D1older": "D1old"}
)


def test_without_a_knowledge_base_mentions_stay_as_they_are() -> None:
    assert MarkedLinker().link([MARKED, Document("e", "nothing")]) == [MARKED.mentions, ()]
    assert MarkedLinker().link([]) == []


def test_replaced_ids_become_current_and_unknown_ids_stay() -> None:
    (mentions,) = MarkedLinker(KB).link([MARKED])
    assert [(m.start, m.end) for m in mentions] == [(m.start, m.end) for m in MARKED.mentions]
    assert [m.entity for m in mentions] == ["D1", "D1", "D1", "X"]


def test_mentions_come_in_the_order_of_the_text() -> None:
    linker: Linker = MarkedLinker()
    shuffled = Document("d", TEXT, MARKED.mentions[2:] + MARKED.mentions[:2])
    assert linker.link([shuffled]) == [MARKED.mentions]


def test_supervision_counts_the_unknown() -> None:
    (mentions,) = MarkedLinker(KB).link([MARKED])
    links = [Link(*pair, 1) for pair in surfaces(MARKED, mentions)]
    result = supervise(links, KB, min_count=1)
    assert [str(term) for term in result.sets.terms] == ["Grippe", "flu", "influenza"]
    assert result.dropped[UNKNOWN_ENTITY].links == 1


def test_it_travels_to_other_processes() -> None:
    linker = pickle.loads(pickle.dumps(MarkedLinker(KB)))
    assert linker.link([MARKED]) == MarkedLinker(KB).link([MARKED])


# --- Wiki links -------------------------------------------------------------------------------

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
  <siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname><case>first-letter</case>
    <namespaces><namespace key="0" case="first-letter" />
    <namespace key="6" case="first-letter">File</namespace></namespaces>
  </siteinfo>
  <page><title>Heart attack</title><ns>0</ns><id>1</id><redirect title="Myocardial infarction" />
    <revision><id>10</id><model>wikitext</model><format>text/x-wiki</format>
    <text>#REDIRECT [[Myocardial infarction]]</text></revision></page>
  <page><title>Smoking</title><ns>0</ns><id>2</id>
    <revision><id>20</id><model>wikitext</model><format>text/x-wiki</format>
    <text>Smoking may lead to a [[heart attack]], to a [[myocardial infarction|cardiac infarct]]
and to [[stroke]]s. It is common in [[New_York_City|New York]].</text></revision></page>
</mediawiki>
"""


def test_the_links_of_a_wiki_with_its_redirects(tmp_path: Path) -> None:
    path = tmp_path / "dump.xml"
    path.write_text(DUMP, "utf-8")
    (document,) = read_corpus(path)
    kb = KnowledgeBase.of(
        [Entity("Myocardial infarction", "Myocardial infarction", ("heart attack",))],
        replacements={"Heart attack": "Myocardial infarction"},
    )
    (marked,) = MarkedLinker().link([document])
    assert surfaces(document, marked) == [
        ("heart attack", "Heart attack"),
        ("cardiac infarct", "Myocardial infarction"),
        ("strokes", "Stroke"),
        ("New York", "New York City"),
    ]
    (current,) = MarkedLinker(kb).link([document])
    assert [m.entity for m in current] == [
        "Myocardial infarction",
        "Myocardial infarction",
        "Stroke",
        "New York City",
    ]


def title(target: str) -> str:
    name = " ".join(target.partition("#")[0].replace("_", " ").split())
    return name if name.startswith("ß") else name[:1].upper() + name[1:]  # ß has no capital


def naive_links(wikitext: str) -> Counter[tuple[str, str]]:
    """The links of a page that need no knowledge of markup: `[[target]]s` and `[[target|label]]`.

    Links to other namespaces, and labels with markup of their own, are left out.
    """
    plain = r"\[\[([^\[\]|<>{}:&%]+)(?:\|([^\[\]|<>{}'&]+))?\]\]([a-z]*)"
    return Counter(
        (" ".join(((label or target) + tail).split()), title(target))
        for target, label, tail in re.findall(plain, wikitext)
    )


def naive_targets(wikitext: str) -> set[str]:
    return {title(unescape(target)) for target in re.findall(r"\[\[([^\[\]|]+)", wikitext)}


def test_the_links_of_a_real_wiki() -> None:
    from gensim.test.utils import datapath

    name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
    path = Path(datapath(name))
    wikitext: dict[str, str] = {}
    redirects: dict[str, str] = {}
    for page in bz2.decompress(path.read_bytes()).decode().split("<page>")[1:]:
        called = unescape(page.partition("<title>")[2].partition("</title>")[0])
        if "<redirect title=" in page:
            redirects[called] = unescape(page.partition('<redirect title="')[2].partition('"')[0])
        else:
            text = page.partition('<text xml:space="preserve">')[2].partition("</text>")[0]
            wikitext[called] = unescape(text)
    documents = list(read_corpus(path, format="mediawiki", skipped=ErrorCounts()))
    linked = MarkedLinker().link(documents)
    assert [document.id for document in documents] == list(wikitext)

    total = agreeing = expected = 0
    for document, mentions in zip(documents, linked, strict=True):
        found = Counter((" ".join(s.split()), entity) for s, entity in surfaces(document, mentions))
        assert {entity for _, entity in found} <= naive_targets(wikitext[document.id])
        naive = naive_links(wikitext[document.id])
        total += found.total()
        agreeing += (found & naive).total()
        expected += naive.total()
    assert agreeing / total > 0.98  # the rest has markup or entities in its label
    assert agreeing / expected > 0.7  # the rest stands in tables, notes and templates

    entities = {*wikitext, *redirects.values()} - set(redirects)
    kb = KnowledgeBase.of([Entity(name, name) for name in entities], replacements=redirects)
    before = Counter(mention.entity for mentions in linked for mention in mentions)
    after = Counter(m.entity for mentions in MarkedLinker(kb).link(documents) for m in mentions)
    assert set(redirects) & set(before)
    for old in set(redirects) & set(before):
        before[redirects[old]] += before.pop(old)
    assert after == before
