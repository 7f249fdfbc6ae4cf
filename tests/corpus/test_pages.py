"""Files that are one document each: plain text, Markdown, HTML and PDF."""

from __future__ import annotations

import gzip
import sys
from html import escape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter

from synsetmine.corpus import read_corpus
from synsetmine.corpus.pages import html_text, markdown_text
from synsetmine.errors import ErrorCounts, SynsetmineError
from tests.support.corpusfiles import read, read_broken, store
from tests.support.officefiles import pdf_of

MARKDOWN = """---
title: secret matter
---
# Heart *failure*

A **heart attack** ([MI](http://example.org "title"), see [this][1]) and `aspirin`,
<https://example.org/secret>, ![a picture](secret.png) <!-- secret --> AT&amp;T.\\*

```python
secret = 1
```

    secret too

- first
- second

| a | b |
|---|---|
| c | d |

<div>block <b>of</b> HTML</div>

[1]: http://example.org/secret
"""
HTML = """<!DOCTYPE html><html><head><title>Title &amp; co</title><style>secret{}</style></head>
<body><nav>secret <b>menu</b></nav><h1>Head</h1><p>Para<b>cetamol</b>,<br>a
drug&#33;<p>Next<script>var x = "<p>secret";</script><svg><text>secret</text></svg>
<ul><li>one<li>two</ul><!-- secret <p> --><img alt="x"/>end</body></html>"""


def test_each_file_of_a_folder_is_a_document(tmp_path: Path) -> None:
    store(tmp_path, "One.\n\nTwo.\n", "a.txt")
    store(tmp_path, "# Head\n\nbody", "sub/b.md")
    store(tmp_path, gzip.compress(b"<p>page"), "sub/deep/c.html.gz")
    store(tmp_path, pdf_of(["The heart at-", "tack of Non-", "Hodgkin"], ["Next page"]), "d.pdf")
    store(tmp_path, '{"text": "record"}', "sub/e.jsonl")
    store(tmp_path, "PNG", "sub/f.png")
    store(tmp_path, "# hidden", "sub/.g.md")
    expected = [
        ("a.txt", "One.\n\nTwo."),
        ("d.pdf", "The heart attack of Non-\nHodgkin\n\nNext page"),
        ("sub/b.md", "Head\n\nbody"),
        ("sub/deep/c.html", "page"),
        ("sub/e.jsonl:1", "record"),
    ]
    skipped = ErrorCounts()
    documents = read_corpus([str(tmp_path)], skipped=skipped)
    assert [(d.id, d.text) for d in documents] == expected
    assert skipped.counts == {"a file of an unknown kind": 1}
    assert read(tmp_path) == expected  # an unknown kind is no error
    assert read(tmp_path / "sub/b.md") == [("b.md", "Head\n\nbody")]
    assert read(tmp_path / "a.txt", "document") == [("a.txt", "One.\n\nTwo.")]


def test_a_long_text_is_read_by_paragraphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.corpus.pages.LONGEST_BLOCK", 10)
    store(tmp_path, "one\n\ntwo", "sub/a.txt")
    store(tmp_path, "one\n\ntwo, three", "sub/b.txt")
    assert read(tmp_path) == [
        ("sub/a.txt", "one\n\ntwo"),
        ("sub/b.txt#1", "one"),
        ("sub/b.txt#2", "two, three"),
    ]


def test_markdown_without_its_mark_up() -> None:
    assert markdown_text(MARKDOWN.replace("\n", "\r\n")) == (
        "Heart failure\n\n"
        "A heart attack (MI, see this) and aspirin,\n, a picture  AT&T.*\n\n"
        "first\n\nsecond\n\na\n\nb\n\nc\n\nd\n\nblock of HTML"
    )
    assert markdown_text("a <!-- b") == "a  b"  # as CommonMark has it, no comment
    assert markdown_text("text\n\n---\nno: front matter\n---\n") == "text\n\nno: front matter"


def test_html_without_its_mark_up() -> None:
    assert html_text(HTML) == (
        "Title & co\n\nHead\n\nParacetamol, a drug!\n\nNext\n\none\n\ntwo\n\nend"
    )


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("a<!-- b", "a"),
        ("a<p", "a"),
        ("a < b & c", "a < b & c"),
        ("<nav>a<nav>b</nav>c</nav>d", "d"),
        ("<svg/>a</nav>b", "a\n\nb"),
        ("a<![CDATA[b]]>c", "ac"),
        ("a<![x[b]>c", "ac"),
        (f"a&#{'9' * 5000};b", "a\ufffd;b"),
        ("<?php x ?>a", "a"),
    ],
)
def test_odd_html_is_read(page: str, text: str) -> None:
    assert html_text(page) == text


@given(st.lists(st.text("ab<>&;!-#/ \u00e9'\"=]["), max_size=5))
def test_text_between_tags_comes_back(blocks: list[str]) -> None:
    page = "".join(f"<p>{escape(block)}</p>" for block in blocks)
    words = (" ".join(block.split()) for block in blocks)
    assert html_text(page) == "\n\n".join(filter(None, words))


@given(st.text("ab<>&;!-/ '\"=[]`*_#\n|", max_size=60))
def test_any_text_is_read(text: str) -> None:
    html_text(text)
    markdown_text(text)


def test_the_encoding_of_a_page_is_the_one_that_it_names(tmp_path: Path) -> None:
    text = "naïve “quotes”"
    for name, encoding in (("iso-8859-1", "cp1252"), ("utf-8", "utf-8"), ("UTF-8", "utf-8-sig")):
        page = f"<meta charset={name}><p>{text}"
        assert read(store(tmp_path, page.encode(encoding), "a.html")) == [("a.html", text)]
    assert read(store(tmp_path, f"<p>{text}".encode("utf-16"), "a.html")) == [("a.html", text)]


def test_broken_files_are_left_out_and_reported(tmp_path: Path) -> None:
    store(tmp_path, b"<p>M\xfcnchen", "a.html")
    store(tmp_path, "<meta charset=rot13><p>x", "b.html")
    store(tmp_path, "ok\n\nM\u00fcnchen".encode("latin-1"), "c.md")
    store(tmp_path, "```\ncode\n```", "d.md")
    store(tmp_path, b"one\nM\xfcnchen", "e.txt")
    store(tmp_path, "good", "f.md")
    store(tmp_path, b"x" * (4 * 2**20 + 1), "g.md")
    texts, errors = read_broken(tmp_path)
    assert texts == ["good"]
    assert sorted(error.partition(": ")[0] + ": " + error.split(": ")[1] for error in errors) == [
        "/a.html: not utf-8",
        "/b.html: an unknown encoding",
        "/c.md:3: not UTF-8",
        "/d.md: the document is empty",
        "/e.txt:2: not UTF-8",
        "/g.md: a page longer than 4 MiB",
    ]


def test_broken_pdfs_are_left_out_and_reported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sound = pdf_of(["heart"])
    store(tmp_path, b"%PDF-1.7\nnothing", "a.pdf")
    store(tmp_path, b"", "b.pdf")
    store(tmp_path, pdf_of([]), "c.pdf")
    store(tmp_path, sound, "d.pdf")
    for name, password in (("e.pdf", "secret"), ("f.pdf", "")):
        writer = PdfWriter(clone_from=tmp_path / "d.pdf")
        writer.encrypt(password, owner_password="owner")
        writer.write(tmp_path / name)
    store(tmp_path, sound[:-200], "g.pdf")
    texts, errors = read_broken(tmp_path)
    assert texts == ["heart", "heart"]
    assert sorted(error.split(";")[0].split(": '")[0] for error in errors) == [
        "/a.pdf: damaged PDF file",
        "/b.pdf: damaged PDF file",
        "/c.pdf: a PDF without text",
        "/e.pdf: an encrypted PDF",
        "/g.pdf: damaged PDF file",
    ]
    assert capfd.readouterr().err == ""


def test_a_missing_package_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, pdf_of(["heart"]), "a.pdf")
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(SynsetmineError, match=r"PDF files needs the extra: .*'synsetmine\[pdf\]'"):
        list(read_corpus(path, skipped=ErrorCounts()))
