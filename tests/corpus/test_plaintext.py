"""Reading plain text: by paragraphs and by lines."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from synsetmine.corpus import (
    read_corpus,
)
from synsetmine.types import Document, Mention
from tests.support.corpusfiles import read, read_broken, store, wiki


def test_blank_lines_part_the_documents_of_a_text(tmp_path: Path) -> None:
    content = "\ufeff\n\nOne,\r\nstill one.\r\n \t\r\n\r\nTwo\n\n"
    path = store(tmp_path, content, "notes.txt")
    assert read(path) == [("notes.txt#1", "One,\nstill one."), ("notes.txt#2", "Two")]


def test_a_text_without_blank_lines_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.corpus.documents.LONGEST_BLOCK", 20)
    path = store(tmp_path, "one two\nthree\nfour\nfive\n" + "x" * 30 + "\n\nsix", "x.txt")
    texts = [text for _, text in read(path)]
    assert texts == ["one two\nthree\nfour", "five", "x" * 30, "six"]


def test_broken_lines_of_a_text_are_reported(tmp_path: Path) -> None:
    content = b"good\n\nM\xfcnchen\nrest\n\nnul \0 byte\n\n  \nlast"
    path = store(tmp_path, content, "x.txt")
    texts, errors = read_broken(path)
    assert texts == ["good", "rest", "last"]
    assert errors == [
        r":3: not UTF-8: b'M\xfcnchen\n'; save the file as UTF-8",
        r":6: the text contains a NUL character: 'nul \x00 byte'",
    ]
    texts, errors = read_broken(path, "lines")
    assert texts == ["good", "rest", "last"]
    assert errors[0] == ":2: the document is empty"
    assert read(store(tmp_path, "a\r\n b \n", "y.txt"), "lines") == [
        ("y.txt:1", "a"),
        ("y.txt:2", " b "),
    ]


def test_texts_are_normalised_except_where_offsets_count(tmp_path: Path) -> None:
    loose, normal = "cafe\u0301", "café"
    assert unicodedata.normalize("NFC", loose) == normal
    for name, content in {
        "a.txt": loose,
        "a.jsonl": json.dumps({"text": loose}),
        "a.csv": f"text\n{loose}\n",
        "a.xml": wiki(loose),
    }.items():
        assert [text for _, text in read(store(tmp_path, content, name))] == [normal]
    pubtator = store(tmp_path, f"1|t|{loose} x\n1\t6\t7\tx\tT\tD1\n", "a.pubtator")
    (document,) = read_corpus(pubtator)
    assert document == Document("1", f"{loose} x", (Mention(6, 7, "D1"),))
