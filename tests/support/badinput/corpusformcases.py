"""Bad corpora of forms with a structure: tables, marked articles and wikis."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.badinput.corpuscases import read
from tests.support.badinput.inputs import DEEP, bomb, files, gzip_text


def _table(columns: dict[str, object]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


PUBTATOR = "1|t|A title.\n1|a|An abstract.\n"
DUMP = (
    "<mediawiki><siteinfo></siteinfo><page><title>T</title><ns>0</ns><id>1</id>"
    "<revision><id>2</id><text>{}</text></revision></page></mediawiki>"
)

_TABLES = (
    read("c.csv", "", "an empty CSV file", 1, "c.csv: no documents; name files with text"),
    read(
        "c.csv",
        "id,body\n1,A\n",
        "CSV without the column",
        1,
        "c.csv: no documents; 1 left out, such as c.csv: a text column is missing: 'text…",
    ),
    read(
        "c.csv",
        'id,text\n1,A\n2,"B\n3,C\n',
        "CSV with a quote that is never closed",
        0,
        "1 left out: c.csv:3: malformed row: 'unexpected end of data'",
    ),
    read(
        "c.csv",
        "id,text\n1,A\n2,B,C\n",
        "CSV with a row that is too long",
        0,
        "1 left out: c.csv:3: number of columns differs from the header: 3",
    ),
    read(
        "c.csv",
        b"id,text\n1,A\n2,Z\xfcr\n",
        "CSV in Latin-1",
        0,
        "1 left out: c.csv:3: not UTF-8: b'Z\\xfcr'",
    ),
    read(
        "c.csv.gz",
        files({"c.csv.gz": lambda: gzip_text('id,text\n1,A\n2,"') + bomb(b"a" * 65535 + b"\n", 4)}),
        "a gzip bomb in a CSV field",
        0,
        "1 left out: c.csv.gz:3: a record is longer than 64 MiB: b'aaaaaaaaaaaaaaaaaaaaaa…",
    ),
    read(
        "c.tsv",
        "id\ttext\n1\tA\n2\n",
        "TSV with a row that is too short",
        0,
        "1 left out: c.tsv:3: number of columns differs from the header: 1",
    ),
    read(
        "c.parquet",
        "id,text\n",
        "a Parquet file that is not one",
        1,
        "c.parquet: no documents; 1 left out, such as c.parquet: damaged Parquet file: 'P…",
    ),
    read(
        "c.parquet",
        _table({"text": ["A"]})[:-9],
        "a Parquet file that is cut",
        1,
        "c.parquet: no documents; 1 left out, such as c.parquet: damaged Parquet file: 'P…",
    ),
    read(
        "c.parquet",
        _table({"body": ["A"]}),
        "Parquet without the column",
        1,
        "c.parquet: no documents; 1 left out, such as c.parquet: a text column is missing…",
    ),
    read(
        "c.parquet",
        _table({"text": [7]}),
        "Parquet with numbers for texts",
        1,
        "c.parquet: no documents; 1 left out, such as c.parquet:1: the text is not a stri…",
    ),
    read(
        "c.parquet",
        _table({"text": ["A", None]}),
        "Parquet with a null",
        0,
        "1 left out: c.parquet:2: the record has no text field: 'text'",
    ),
)
_MARKED = (
    read(
        "c.pubtator",
        "An abstract.\n",
        "PubTator without a title",
        1,
        "c.pubtator: no documents; 1 left out, such as c.pubtator:1: expected a title: `i…",
    ),
    read(
        "c.pubtator",
        f"{PUBTATOR}1\t2\t99\ttitle\tDisease\tD1\n",
        "PubTator with wrong offsets",
        0,
        "1 left out: c.pubtator:3: the offsets do not match the surface: '1\\t2\\t99\\ttit…",
    ),
    read(
        "c.pubtator",
        f"{PUBTATOR}1\t2\t7\ttitle\tDisease\t-1\n",
        "PubTator: a mention without an entity",
        0,
        "",
    ),
    read(
        "c.pubtator",
        f"{PUBTATOR}2\t2\t7\ttitle\tDisease\tD1\n",
        "PubTator: a mention of another article",
        0,
        "1 left out: c.pubtator:3: the mention belongs to another article: '2'",
    ),
    read(
        "c.pubtator",
        f"{PUBTATOR}1\t2\n",
        "PubTator: a mention that is cut",
        0,
        "1 left out: c.pubtator:3: neither a mention nor a relation: '1\\t2'",
    ),
    read(
        "c.pubtator.gz",
        files({"c.pubtator.gz": lambda: gzip_text(PUBTATOR) + bomb(b"1\t" + b"x" * 1021 + b"\n")}),
        "a gzip bomb in a PubTator article",
        1,
        "c.pubtator.gz: no documents; 1 left out, such as c.pubtator.gz:1: an article is…",
    ),
    read(
        "c.xml",
        "<html></html>",
        "XML that is no dump",
        1,
        "c.xml: no documents; 1 left out, such as c.xml:1: not a MediaWiki dump; its firs…",
    ),
    read(
        "c.xml",
        "A text.",
        "a dump that is no XML",
        1,
        "c.xml: no documents; 1 left out, such as c.xml:1: not well-formed XML: 'syntax e…",
    ),
    read(
        "c.xml",
        "",
        "an empty dump",
        1,
        "c.xml: no documents; 1 left out, such as c.xml:1: not well-formed XML: 'no eleme…",
    ),
    read(
        "c.xml",
        DUMP.format("A text.")[:-12],
        "a dump that is cut",
        0,
        "1 left out: c.xml:1: not well-formed XML: 'no element found'",
    ),
    read(
        "c.xml",
        '<!DOCTYPE m [<!ENTITY a "b">]>' + DUMP.format("&a;"),
        "a dump with XML entities",
        1,
        "c.xml: no documents; 1 left out, such as c.xml:1: a document type declaration is…",
    ),
    read(
        "c.xml",
        "<mediawiki>" + "<a>" * DEEP,
        "XML nested 100,000 deep",
        1,
        "c.xml: no documents; 1 left out, such as c.xml:1: more than 100 nested elements: 'a'",
    ),
    read(
        "c.xml",
        DUMP.format("A text. " + "{{a|" * DEEP),
        "wikitext with 100,000 open templates",
        0,
        "",
    ),
    read(
        "c.xml", DUMP.format("A text. " + "[[a|" * DEEP), "wikitext with 100,000 open links", 0, ""
    ),
    read(
        "c.xml",
        DUMP.format("A text. " + "{|\n|" * DEEP),
        "wikitext with 100,000 open tables",
        0,
        "",
    ),
    read(
        "c.xml",
        DUMP.format("A text. " + "&lt;ref&gt;" * DEEP),
        "wikitext with 100,000 open tags",
        0,
        "",
    ),
    read(
        "c.xml.gz",
        files({"c.xml.gz": lambda: gzip_text("<mediawiki>") + bomb(b"<a>")}),
        "a gzip bomb of XML elements",
        1,
        "c.xml.gz: no documents; 1 left out, such as c.xml.gz:1: more than 100 nested elements: …",
    ),
    read(
        "c.xml.gz",
        files(
            {
                "c.xml.gz": lambda: (
                    gzip_text(DUMP.format("A text.")[:-12] + "<page><id>2</id><title>") + bomb()
                )
            }
        ),
        "a gzip bomb in a page",
        0,
        "1 left out: c.xml.gz:1: not well-formed XML: 'no element found'",
    ),
)
CORPUS_FORM_CASES = (*_TABLES, *_MARKED)
