"""Targets: corpora of all forms, and wiki markup."""

from __future__ import annotations

from pathlib import Path

from fuzz.ontologies import WIKI, XML_WORDS
from fuzz.tables import bytes_of
from fuzz.target import Form, Target, both_ways, require
from synsetmine.corpus import (
    batch_of,
    documents_of,
    read_batches,
    read_corpus,
    write_documents,
)
from synsetmine.corpus.wikitext import Site, plain_text
from synsetmine.linking import MarkedLinker, PubtatorLinker
from synsetmine.types import CorpusFormat, Document, Mention

DOCUMENTS = [
    Document("d1", "Paris is the capital.", (Mention(0, 5, "Q90"),)),
    Document("d2", "naïve 😀\nlines"),
]
_PUBTATOR = """1|t|Copper toxicosis in dogs.
1|a|Abnormal copper, é.
1\t0\t16\tCopper toxicosis\tDisease\tOMIM:215600
1\t26\t34\tAbnormal\tX\tMESH:D1|D2
1\tCID\tD1\tD2

2|t|No abstract
""".encode()


def _form(name: str, form: CorpusFormat, *examples: bytes) -> Form:
    return Form(name, lambda path: check_corpus(path, form), lambda: examples)


def check_corpus(path: Path, form: CorpusFormat) -> None:
    found = both_ways(lambda skipped: list(read_corpus(path, format=form, skipped=skipped)))
    for document in found:
        require(bool(document.text.strip()) and bool(document.id), "an empty document")
        spans = [0 <= m.start < m.end <= len(document.text) for m in document.mentions]
        require(all(spans), "a mention beyond its text")
    require(documents_of(batch_of(found)) == found, "documents that are others when stored")
    if form == "pubtator":
        marked = PubtatorLinker().link(found)
    else:
        marked = MarkedLinker().link(found)
        require([len(m) for m in marked] == [len(d.mentions) for d in found], "a mention is lost")
    for document, mentions in zip(found, marked, strict=True):
        check_mentions(document.text, mentions)


def check_mentions(text: str, mentions: tuple[Mention, ...]) -> None:
    for mention in mentions:
        require(0 <= mention.start < mention.end <= len(text), "a mention beyond its text")
        require(bool(mention.entity), "a mention of nothing")


CORPORA = Target(
    "corpora",
    (
        _form("a.txt", "text", "One block\nof lines.\n\nAnother é.\n".encode()),
        _form("b.txt", "lines", b"a line\nanother\n"),
        _form("a.md", "markdown", b"---\nx: y\n---\n# A *text*\n\n- [b](c)\n\n|a|\n|-|\n|b|\n"),
        _form("a.html", "html", b"<meta charset=utf-8><p>A <b>text</b>&amp;<!-- c --><svg/>"),
        _form(
            "a.jsonl", "jsonl", b'{"id": 7.0, "text": "A text."}\n{"text": "\\u00e9", "x": []}\n'
        ),
        _form("a.csv", "csv", b'id,text\n1,"a, ""b""\nc"\n2,d\n'),
        _form("a.tsv", "tsv", b'id\ttext\n1\ta "b\n'),
        _form("a.pubtator", "pubtator", _PUBTATOR),
    ),
    words=('"text"', '"id"', "|t|", "|a|", "\t0\t1\t", "id,text\n", "MESH:", '""', '"\n', "\n\n"),
)


# --- Wikis ---


def _check_markup(path: Path) -> None:
    wikitext = path.read_bytes().decode("utf-8", "replace")
    text, mentions = plain_text(wikitext, Site())
    require(text == text.strip(), "blanks around the text")
    check_mentions(text, mentions)
    ends = [0, *(mention.end for mention in mentions)]
    require(all(m.start >= end for m, end in zip(mentions, ends, strict=False)), "mentions overlap")


_MARKUP = b"""'''Cat''' [[animal|living]]s &nbsp; <ref name="x">r</ref><nowiki>[[x]]</nowiki>
{{t|{{u}}|a=[[b]]}} {| class=x
| a
|}
== Head ==
* [[File:x|thumb|a [[dog|]] ]] [http://x y] <math>x</math> <!-- c --> ({{x}}, ) __TOC__ ---- -{a}-
"""

WIKIS = Target(
    "wikis",
    (
        Form("page.wiki", _check_markup, lambda: [_MARKUP]),
        Form("dump.xml", lambda p: check_corpus(p, "mediawiki"), lambda: [WIKI]),
    ),
    words=(
        *XML_WORDS,
        *("[[", "]]", "{{", "}}", "{|", "\n|}", "<ref>", "</ref>", "<nowiki>", "<!--", "-->", "''"),
        *(
            "[http://",
            "&lt;",
            "&#x",
            "__TOC__",
            "[[File:",
            "|]]",
            "<br/>",
            "<math>",
            "\n==",
            "e\u0301",
        ),
    ),
)


# --- What pyarrow reads ---


def _check_stored(path: Path) -> None:
    for batch in read_batches(path):
        documents_of(batch)


PARQUET = Target(
    "parquet",
    (
        Form(
            "documents.parquet",
            _check_stored,
            lambda: [bytes_of(lambda p: write_documents(p, DOCUMENTS), "documents.parquet")],
        ),
        Form(
            "a.parquet",
            lambda p: check_corpus(p, "parquet"),
            lambda: [bytes_of(lambda p: write_documents(p, DOCUMENTS), "a.parquet")],
        ),
    ),
    words=("PAR1", "ARROW:schema", "mentions", "entity", "\x15\x04\x15", "parquet-cpp-arrow"),
)
