"""Reading a corpus: which files it is made of, packed and damaged ones, progress and memory."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synsetmine.corpus import (
    read_corpus,
)
from synsetmine.errors import DataError, ErrorCounts
from synsetmine.types import CorpusFormat
from tests.support.corpusfiles import read, read_broken, store, wiki


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd,
}


# --- Which files ------------------------------------------------------------------------------

FORMS = {
    "a.txt": "one",
    "b.text.gz": "one",
    "c.md": "one",
    "c.html.gz": "<p>one</p>",
    "d.jsonl": '{"text": "one"}',
    "e.ndjson.bz2": '{"text": "one"}',
    "f.json.zst": '{"text": "one"}',
    "g.csv": "text\none\n",
    "h.tsv.gz": "text\none\n",
    "i.PubTator": "1|t|one\n",
    "j.PubTator.txt": "1|t|one\n",
    "k.XML.GZ": wiki("one"),
    "l.xml-p1p42.bz2": wiki("one"),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_ending_tells_form_and_packing(tmp_path: Path, name: str) -> None:
    pack = PACKINGS.get(Path(name).suffix.lower(), bytes)
    path = store(tmp_path, pack(FORMS[name].encode()), name)
    assert [text for _, text in read(path)] == ["one"]


def test_a_folder_is_read_in_order_without_what_is_hidden_or_unknown(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "c.txt.gz"):
        pack = PACKINGS[".gz"] if name.endswith(".gz") else bytes
        store(tmp_path, pack(name.encode()), name)
    for name in (".hidden.txt", ".git/x.txt", "a/.x/y.txt", "notes.doc", "Makefile", "x.gz"):
        store(tmp_path, "no", name)
    (tmp_path / "dangling.txt").symlink_to("nowhere")
    assert [text for _, text in read(tmp_path)] == ["a/b/c.txt", "a/z.txt", "b.txt", "c.txt.gz"]
    assert [name for name, _ in read(str(tmp_path))] == ["a/b/c.txt", "a/z.txt", "b.txt", "c.txt"]
    skipped = ErrorCounts()
    assert len([*read_corpus(tmp_path, skipped=skipped)]) == 4
    assert skipped.counts == {"a file of an unknown kind": 3}


def test_patterns_and_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("x/b.jsonl", "x/a.jsonl", "x/deep/c.jsonl", "x/.h.jsonl", "y[1].txt"):
        store(tmp_path, '{"text": "t"}' if "jsonl" in name else "t", name)
    monkeypatch.chdir(tmp_path)
    assert [name for name, _ in read("x/*.jsonl")] == ["a.jsonl:1", "b.jsonl:1"]
    assert [name for name, _ in read("x/**/c.jsonl")] == ["c.jsonl:1"]
    assert [name for name, _ in read("x/d*")] == ["c.jsonl:1"]
    assert [name for name, _ in read("y[1].txt")] == ["y[1].txt#1"]  # a file before a pattern
    parts: list[str | Path] = ["y[1].txt", Path("x/b.jsonl"), "x/*.jsonl"]  # b.jsonl is named twice
    names = [d.id for d in read_corpus(parts)]
    assert names == ["y[1].txt#1", "b.jsonl:1", "a.jsonl:1"]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("gone.txt", "gone.txt: no such file or folder"),
        ("x" * 300, "no such file or folder"),
        ("*.jsonl", "no file matches this pattern: '*.jsonl'"),
        ("empty", "empty: no corpus files in this folder (extensions: .pubtator.txt,"),
        (
            "data.bin",
            "data.bin: unknown file extension; name the format or use one of .pubtator.txt,",
        ),
        ([], "no corpus files are named"),
        (["data.txt", "gone.txt"], "gone.txt: no such file or folder"),
    ],
)
def test_no_files_are_a_clear_error_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | list[str], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store(tmp_path, "x", "data.bin")
    store(tmp_path, "x", "data.txt")
    store(tmp_path, "x", "empty/notes.doc")
    with pytest.raises(DataError) as caught:
        read_corpus(source, skipped=ErrorCounts())
    assert problem in str(caught.value)


def test_a_form_overrules_the_ending(tmp_path: Path) -> None:
    path = store(tmp_path, "a\n\nb\n", "data.bin")
    assert read(path, "text") == [("data.bin#1", "a"), ("data.bin#2", "b")]
    with pytest.raises(
        DataError, match=r"the corpus format must be one of text, lines, .*: 'prose'"
    ):
        read_corpus(path, format="prose")  # type: ignore[arg-type]


# --- Packed and damaged files -----------------------------------------------------------------


@pytest.mark.parametrize("ending", PACKINGS)
def test_files_of_several_members_are_read_whole(tmp_path: Path, ending: str) -> None:
    pack = PACKINGS[ending]
    path = store(tmp_path, pack(b"a\nb") + pack(b"") + pack(b"c\nd\n"), f"x.txt{ending}")
    assert read(path, "lines") == [("x.txt:1", "a"), ("x.txt:2", "bc"), ("x.txt:3", "d")]


@pytest.mark.parametrize(("ending", "kind"), [(".gz", "gzip"), (".bz2", "bzip2"), (".zst", "zstd")])
def test_what_comes_before_the_damage_is_read(tmp_path: Path, ending: str, kind: str) -> None:
    lines = [json.dumps({"text": os.urandom(50).hex()}) for _ in range(20_000)]
    content = PACKINGS[ending]("\n".join(lines).encode())
    store(tmp_path, content[: len(content) // 2], f"a.jsonl{ending}")
    store(tmp_path, '{"text": "last"}', "b.jsonl")
    skipped = ErrorCounts()
    texts = [d.text for d in read_corpus(tmp_path, skipped=skipped)]
    expected = [json.loads(line)["text"] for line in lines]
    assert 1000 < len(texts) < 15_000
    assert texts == [*expected[: len(texts) - 1], "last"]
    (error,) = skipped.examples[f"damaged {kind} file"]
    assert error.path == tmp_path / f"a.jsonl{ending}"
    stream = read_corpus(tmp_path)
    for text in texts[:-1]:
        assert next(stream).text == text
    with pytest.raises(DataError, match=rf"a\.jsonl{ending}: damaged {kind} file: "):
        next(stream)


def test_a_file_that_is_not_what_it_is_called_is_left_out(tmp_path: Path) -> None:
    store(tmp_path, b"no gzip", "a.txt.gz")
    store(tmp_path, "good", "b.txt")
    texts, errors = read_broken(tmp_path)
    assert texts == ["good"]
    hint = "if it is not compressed, remove .gz from its name"
    assert errors == [f"/a.txt.gz: damaged gzip file: \"Not a gzipped file (b'no')\"; {hint}"]


# --- Progress and memory ----------------------------------------------------------------------


@pytest.mark.parametrize("ending", PACKINGS)
def test_progress_counts_the_bytes_on_the_disk(tmp_path: Path, ending: str) -> None:
    text = "\n".join(os.urandom(500).hex() for _ in range(3000)).encode()
    for name in ("a", "b"):
        store(tmp_path, PACKINGS[ending](text), f"{name}.txt{ending}")
    told: list[tuple[int, int]] = []
    documents = read_corpus(
        tmp_path, format="lines", progress=lambda done, total: told.append((done, total))
    )
    assert told == []
    assert len(list(documents)) == 6000
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert {total for _, total in told} == {size}
    done = [0, *(done for done, _ in told)]
    assert done == sorted(done)
    assert done[-1] == size
    assert max(b - a for a, b in pairwise(done)) < 1.2 * 2**20


def test_progress_reaches_the_end_of_damaged_and_columnar_files(tmp_path: Path) -> None:
    store(tmp_path, gzip.compress(b"x" * 1000)[:-9], "a.txt.gz")
    table = pa.table({"text": [os.urandom(1000).hex() for _ in range(3000)]})
    pq.write_table(table, tmp_path / "b.parquet")
    told: list[tuple[int, int]] = []
    stream = read_corpus(
        tmp_path, skipped=ErrorCounts(), progress=lambda done, total: told.append((done, total))
    )
    assert len(list(stream)) == 3000
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert told[-1] == (size, size)
    assert len(told) > 2


def records(form: str, count: int) -> Iterator[bytes]:
    """A corpus of this form in pieces, each record of about a kilobyte."""
    text = "some words of text " * 50
    yield {"csv": b"id,text\n", "mediawiki": b"<mediawiki>"}.get(form, b"")
    for i in range(count):
        match form:
            case "text":
                yield f"{text}\n\n".encode()
            case "jsonl":
                yield f'{{"id": {i}, "text": "{text}"}}\n'.encode()
            case "csv":
                yield f'{i},"{text}"\n'.encode()
            case "pubtator":
                yield f"{i}|t|{text}\n{i}\t0\t4\tsome\tX\tD1\n\n".encode()
            case "mediawiki":
                inner = (
                    f"<title>{i}</title><id>{i}</id><revision><text>[[a]] {text}</text></revision>"
                )
                yield f"<page>{inner}</page>".encode()
    yield b"</mediawiki>" if form == "mediawiki" else b""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["text", "jsonl", "csv", "pubtator", "mediawiki"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, form: CorpusFormat) -> None:
    path = tmp_path / "corpus.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.writelines(records(form, 6000))
    list(read_corpus(path, format=form))  # imports and caches
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_corpus(path, format=form)) == 6000
        assert tracemalloc.get_traced_memory()[1] < 1_500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["text", "lines", "jsonl", "pubtator"])
def test_a_giant_line_is_passed_over_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: CorpusFormat
) -> None:
    monkeypatch.setattr("synsetmine.io.files.LONGEST", 100_000)
    record = {"jsonl": '{"text": "ok"}', "pubtator": "1|t|ok"}.get(form, "ok")
    content = f"{record}\n\n{'x' * 5_000_000}\n\n{record}\n".encode()
    path = store(tmp_path, gzip.compress(content), "x.txt.gz")
    skipped = ErrorCounts()
    tracemalloc.start()
    try:
        texts = [d.text for d in read_corpus(path, format=form, skipped=skipped) if d.text]
        assert tracemalloc.get_traced_memory()[1] < 1_500_000
    finally:
        tracemalloc.stop()
    assert texts == ["ok", "ok"]
    (error,) = skipped.examples["a line is longer than 64 MiB"]
    assert error.line == 3


def test_a_quote_that_is_never_closed_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synsetmine.io.tables.LONGEST", 10_000)
    content = 'id,text\n1,"open\n' + "2,lost\n" * 1429 + "3,good\n"
    texts, errors = read_broken(store(tmp_path, content, "x.csv"))
    assert texts == ["lost", "good"]
    assert errors == [":2: a record is longer than 64 MiB: b'2,lost\\n'"]
