"""Reading a corpus of any form, and storing it."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import os
import sys
import tracemalloc
import unicodedata
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.corpus import (
    Form,
    batch_of,
    documents_of,
    read_batches,
    read_corpus,
    write_documents,
)
from synsetmine.errors import DataError, Skipped
from synsetmine.types import Document, Mention

quick = settings(max_examples=60, deadline=None)

NCBI = Path(__file__).parents[2] / "shared" / "data" / "ncbi-disease"


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpus")


def stored(folder: Path, content: str | bytes, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: str | Path, form: Form | None = None, **fields: str) -> list[tuple[str, str]]:
    return [(d.id, d.text) for d in read_corpus(path, form=form, **fields)]  # type: ignore[arg-type]


def refused(path: Path, form: Form | None = None) -> tuple[list[str], list[str]]:
    """(Texts that are read, errors that are kept); without `skipped` the first one is raised."""
    skipped = Skipped()
    texts = [d.text for d in read_corpus(path, form=form, skipped=skipped)]
    errors = [str(error) for kind in skipped.examples.values() for error in kind]
    with pytest.raises(DataError) as caught:
        list(read_corpus(path, form=form))
    assert str(caught.value) in errors
    return texts, [error.removeprefix(str(path)) for error in errors]


def wiki(text: str) -> str:
    revision = f"<revision><text>{text}</text></revision>"
    return f"<mediawiki><page><title>A</title><id>1</id>{revision}</page></mediawiki>"


# --- Which files ------------------------------------------------------------------------------

FORMS = {
    "a.txt": "one",
    "b.text.gz": "one",
    "c.md": "one",
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
    path = stored(tmp_path, pack(FORMS[name].encode()), name)
    assert [text for _, text in read(path)] == ["one"]


def test_a_folder_is_read_in_order_without_what_is_hidden_or_unknown(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "c.txt.gz"):
        pack = PACKINGS[".gz"] if name.endswith(".gz") else bytes
        stored(tmp_path, pack(name.encode()), name)
    for name in (".hidden.txt", ".git/x.txt", "a/.x/y.txt", "notes.pdf", "Makefile", "x.gz"):
        stored(tmp_path, "no", name)
    (tmp_path / "dangling.txt").symlink_to("nowhere")
    assert [text for _, text in read(tmp_path)] == ["a/b/c.txt", "a/z.txt", "b.txt", "c.txt.gz"]
    assert [name for name, _ in read(str(tmp_path))] == ["c.txt#1", "z.txt#1", "b.txt#1", "c.txt#1"]


def test_patterns_and_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("x/b.jsonl", "x/a.jsonl", "x/deep/c.jsonl", "x/.h.jsonl", "y[1].txt"):
        stored(tmp_path, '{"text": "t"}' if "jsonl" in name else "t", name)
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
        ("empty", "empty: no corpus files in this folder (known endings: .pubtator.txt,"),
        ("data.bin", "data.bin: the ending does not tell the form; known are .pubtator.txt,"),
        ([], "no corpus files are named"),
        (["data.txt", "gone.txt"], "gone.txt: no such file or folder"),
    ],
)
def test_no_files_are_a_clear_error_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | list[str], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, "x", "data.bin")
    stored(tmp_path, "x", "data.txt")
    stored(tmp_path, "x", "empty/notes.pdf")
    with pytest.raises(DataError) as caught:
        read_corpus(source, skipped=Skipped())
    assert problem in str(caught.value)


def test_a_form_overrules_the_ending(tmp_path: Path) -> None:
    path = stored(tmp_path, "a\n\nb\n", "data.bin")
    assert read(path, "text") == [("data.bin#1", "a"), ("data.bin#2", "b")]
    with pytest.raises(DataError, match=r"a corpus has the form text, lines, .*: 'prose'"):
        read_corpus(path, form="prose")  # type: ignore[arg-type]


# --- Packed and damaged files -----------------------------------------------------------------


@pytest.mark.parametrize("ending", PACKINGS)
def test_files_of_several_members_are_read_whole(tmp_path: Path, ending: str) -> None:
    pack = PACKINGS[ending]
    path = stored(tmp_path, pack(b"a\nb") + pack(b"") + pack(b"c\nd\n"), f"x.txt{ending}")
    assert read(path, "lines") == [("x.txt:1", "a"), ("x.txt:2", "bc"), ("x.txt:3", "d")]


@pytest.mark.parametrize(("ending", "kind"), [(".gz", "gzip"), (".bz2", "bzip2"), (".zst", "zstd")])
def test_what_comes_before_the_damage_is_read(tmp_path: Path, ending: str, kind: str) -> None:
    lines = [json.dumps({"text": os.urandom(50).hex()}) for _ in range(20_000)]
    content = PACKINGS[ending]("\n".join(lines).encode())
    stored(tmp_path, content[: len(content) // 2], f"a.jsonl{ending}")
    stored(tmp_path, '{"text": "last"}', "b.jsonl")
    skipped = Skipped()
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
    stored(tmp_path, b"no gzip", "a.txt.gz")
    stored(tmp_path, "good", "b.txt")
    texts, errors = refused(tmp_path)
    assert texts == ["good"]
    assert errors == ["/a.txt.gz: damaged gzip file: \"Not a gzipped file (b'no')\""]


# --- Progress and memory ----------------------------------------------------------------------


@pytest.mark.parametrize("ending", PACKINGS)
def test_progress_counts_the_bytes_on_the_disk(tmp_path: Path, ending: str) -> None:
    text = "\n".join(os.urandom(500).hex() for _ in range(3000)).encode()
    for name in ("a", "b"):
        stored(tmp_path, PACKINGS[ending](text), f"{name}.txt{ending}")
    told: list[tuple[int, int]] = []
    documents = read_corpus(
        tmp_path, form="lines", progress=lambda done, total: told.append((done, total))
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
    stored(tmp_path, gzip.compress(b"x" * 1000)[:-9], "a.txt.gz")
    table = pa.table({"text": [os.urandom(1000).hex() for _ in range(3000)]})
    pq.write_table(table, tmp_path / "b.parquet")
    told: list[tuple[int, int]] = []
    stream = read_corpus(
        tmp_path, skipped=Skipped(), progress=lambda done, total: told.append((done, total))
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


@pytest.mark.parametrize("form", ["text", "jsonl", "csv", "pubtator", "mediawiki"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, form: Form) -> None:
    path = tmp_path / "corpus.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.writelines(records(form, 6000))
    list(read_corpus(path, form=form))  # imports and caches
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_corpus(path, form=form)) == 6000
        assert tracemalloc.get_traced_memory()[1] < 1_500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["text", "lines", "jsonl", "pubtator"])
def test_a_giant_line_is_passed_over_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Form
) -> None:
    monkeypatch.setattr("synsetmine.files.LONGEST", 100_000)
    record = {"jsonl": '{"text": "ok"}', "pubtator": "1|t|ok"}.get(form, "ok")
    content = f"{record}\n\n{'x' * 5_000_000}\n\n{record}\n".encode()
    path = stored(tmp_path, gzip.compress(content), "x.txt.gz")
    skipped = Skipped()
    tracemalloc.start()
    try:
        texts = [d.text for d in read_corpus(path, form=form, skipped=skipped) if d.text]
        assert tracemalloc.get_traced_memory()[1] < 1_500_000
    finally:
        tracemalloc.stop()
    assert texts == ["ok", "ok"]
    (error,) = skipped.examples["a line is longer than 64 MiB"]
    assert error.line == 3


def test_a_quote_that_is_never_closed_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synsetmine.corpus.records.LONGEST", 10_000)
    content = 'id,text\n1,"open\n' + "2,lost\n" * 1429 + "3,good\n"
    texts, errors = refused(stored(tmp_path, content, "x.csv"))
    assert texts == ["lost", "good"]
    assert errors == [":2: a record is longer than 64 MiB: b'2,lost\\n'"]


# --- Plain text -------------------------------------------------------------------------------


def test_blank_lines_part_the_documents_of_a_text(tmp_path: Path) -> None:
    content = "\ufeff\n\nOne,\r\nstill one.\r\n \t\r\n\r\nTwo\n\n"
    path = stored(tmp_path, content, "notes.txt")
    assert read(path) == [("notes.txt#1", "One,\nstill one."), ("notes.txt#2", "Two")]


def test_a_text_without_blank_lines_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.corpus.plaintext.LONGEST_BLOCK", 20)
    path = stored(tmp_path, "one two\nthree\nfour\nfive\n" + "x" * 30 + "\n\nsix", "x.txt")
    texts = [text for _, text in read(path)]
    assert texts == ["one two\nthree\nfour", "five", "x" * 30, "six"]


def test_broken_lines_of_a_text_are_told(tmp_path: Path) -> None:
    content = b"good\n\nM\xfcnchen\nrest\n\nnul \0 byte\n\n  \nlast"
    path = stored(tmp_path, content, "x.txt")
    texts, errors = refused(path)
    assert texts == ["good", "rest", "last"]
    assert errors == [
        r":3: not UTF-8: b'M\xfcnchen\n'",
        r":6: the text holds a NUL character: 'nul \x00 byte'",
    ]
    texts, errors = refused(path, "lines")
    assert texts == ["good", "rest", "last"]
    assert errors[0] == ":2: the document is empty"
    assert read(stored(tmp_path, "a\r\n b \n", "y.txt"), "lines") == [
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
        assert [text for _, text in read(stored(tmp_path, content, name))] == [normal]
    pubtator = stored(tmp_path, f"1|t|{loose} x\n1\t6\t7\tx\tT\tD1\n", "a.pubtator")
    (document,) = read_corpus(pubtator)
    assert document == Document("1", f"{loose} x", (Mention(6, 7, "D1"),))


# --- Records ----------------------------------------------------------------------------------


def test_jsonl_fields_and_ids(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "text": "one", "title": "T"},
        {"id": 12, "text": "two", "title": None},
        {"id": 13.0, "text": None, "title": "T3"},
        {"id": None, "text": "four", "title": " "},
        {"id": "", "text": "five"},
        {"text": "six"},
    ]
    content = "\ufeff" + "\r\n\n".join(json.dumps(line) for line in lines)
    path = stored(tmp_path, content, "x.jsonl")
    ids = ["a", "12", "13", "x.jsonl:7", "x.jsonl:9", "x.jsonl:11"]
    both = ["T\none", "two", "T3", "four", "five", "six"]
    assert read(path, text_field="title, text") == list(zip(ids, both, strict=True))
    path = stored(tmp_path, '{"body": "b", "doc": "d"}', "y.jsonl")
    assert read(path, text_field="body", id_field="doc") == [("d", "b")]
    with pytest.raises(DataError, match=r"expected names of text fields, as in .*: 'a,,b'"):
        read_corpus(path, text_field="a,,b")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "not JSON: '{'"),
        (b"[" * 100_000, "not JSON: '[["),
        (b'{"text": "a"} x', 'not JSON: \'{"text": "a"} x\''),
        (b'["text"]', "expected a JSON object: '[\"text\"]'"),
        (b"{}", "the record has no text field: 'text'"),
        (b'{"text": null}', "the record has no text field: 'text'"),
        (b'{"text": ["a"]}', "the text is not a string: \"['a']\""),
        (b'{"text": 7}', "the text is not a string: 7"),
        (b'{"text": " \\n\\u3000"}', "the document is empty"),
        (b'{"text": ""}', "the document is empty"),
        (b'{"text": "a\\u0000b"}', "the text holds a NUL character: 'a\\x00b'"),
        (b'{"text": "a\\ud800b"}', "not valid Unicode: 'a\\ud800b'"),
        (b'{"text": "a\xff"}', 'not UTF-8: b\'{"text": "a\\xff"}\\n\''),
        (b'{"text": "a", "id": true}', "the id is neither a string nor a whole number: True"),
        (b'{"text": "a", "id": 1.5}', "the id is neither a string nor a whole number: 1.5"),
        (b'{"text": "a", "id": NaN}', "the id is neither a string nor a whole number: nan"),
        (b'{"text": "a", "id": {}}', "the id is neither a string nor a whole number: '{}'"),
        (b'{"text": "a", "id": "\\ud800"}', "not valid Unicode: '\\ud800'"),
    ],
)
def test_a_broken_record_is_told_and_passed_over(tmp_path: Path, line: bytes, problem: str) -> None:
    path = stored(tmp_path, b'{"text": "a"}\n' + line + b'\n{"text": "z"}\n', "x.jsonl")
    texts, errors = refused(path)
    assert texts == ["a", "z"]
    assert len(errors) == 1
    assert errors[0].startswith(f":2: {problem}")
    assert "\n" not in errors[0]


def test_a_million_broken_records_cost_no_memory(tmp_path: Path) -> None:
    line = json.dumps({"text": ["x" * 10_000]})
    path = stored(tmp_path, f"{line}\n" * 2000, "x.jsonl")
    skipped = Skipped()
    assert list(read_corpus(path, skipped=skipped)) == []
    assert skipped.counts == {"the text is not a string": 2000}
    assert all(sys.getsizeof(e.value) < 1000 for e in skipped.examples["the text is not a string"])


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1).filter(
    lambda text: bool(text.strip())
)


@given(st.lists(texts, min_size=1, max_size=5))
@quick
def test_every_record_form_reads_the_same(folder: Path, given_texts: list[str]) -> None:
    expected = [(f"i{k}", unicodedata.normalize("NFC", t)) for k, t in enumerate(given_texts)]
    rows = [{"id": f"i{k}", "x": "y", "text": text} for k, text in enumerate(given_texts)]
    stored(folder, "\n".join(map(json.dumps, rows)), "r.jsonl")
    target = io.StringIO()
    writer = csv.DictWriter(target, ["x", "text", "id"])
    writer.writeheader()
    writer.writerows(rows)
    stored(folder, target.getvalue(), "r.csv")
    pq.write_table(pa.Table.from_pylist(rows), folder / "r.parquet")
    for name in ("r.jsonl", "r.csv", "r.parquet"):
        assert read(folder / name) == expected


def test_csv_with_quoted_line_ends_knows_its_lines(tmp_path: Path) -> None:
    content = '\ufeffid,text\r\n1,"one, ""two""\r\n\r\nthree"\r\n\r\n,four\r\n'
    path = stored(tmp_path, content, "x.csv")
    assert read(path) == [("1", 'one, "two"\r\n\r\nthree'), ("x.csv:6", "four")]


def test_a_long_csv_field_is_read_and_the_limit_of_others_stays(tmp_path: Path) -> None:
    path = stored(tmp_path, f"text\n{'x' * 500_000}\nend\n", "x.csv")
    before = csv.field_size_limit(1000)
    try:
        stream = read_corpus(path)
        assert len(next(stream).text) == 500_000
        assert csv.field_size_limit() == 1000
        assert next(stream).text == "end"
    finally:
        csv.field_size_limit(before)


def test_broken_rows_are_told_with_their_first_line(tmp_path: Path) -> None:
    rows = [
        b"id,text",
        b'1,"two',
        b'lines"',
        b"2,too,many",
        b"few",
        b'3,"a" b',
        b"4,M\xfcnchen",
        b"5,nul\0",
        b"6,  ",
        b"7,good",
        b'8,"open',
    ]
    texts, errors = refused(stored(tmp_path, b"\n".join(rows), "x.csv"))
    assert texts == ["two\nlines", "good"]
    expected = "',' expected after '\"'"
    assert sorted(errors) == [
        ":11: a broken row: 'unexpected end of data'",
        ":4: another number of columns than in the header: 3",
        ":5: another number of columns than in the header: 1",
        f":6: a broken row: {expected!r}",
        ":7: not UTF-8: 'M\\udcfcnchen'",
        ":8: the text holds a NUL character: 'nul\\x00'",
        ":9: the document is empty",
    ]


def test_tsv_knows_no_quotes(tmp_path: Path) -> None:
    path = stored(tmp_path, 'text\tid\n"open, quote\t1\n"a" b\t2\n', "x.tsv")
    assert read(path) == [("1", '"open, quote'), ("2", '"a" b')]


def test_a_table_must_have_the_text_columns(tmp_path: Path) -> None:
    stored(tmp_path, "id,body\n1,x\n", "x.csv")
    pq.write_table(pa.table({"id": [1], "body": ["x"]}), tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        texts, errors = refused(tmp_path / name)
        assert texts == []
        assert errors == [": a text column is missing: 'text is not among id, body'"]
        assert read(tmp_path / name, text_field="body") == [("1", "x")]
    assert read(stored(tmp_path, "", "empty.csv")) == []


def test_parquet_reads_only_what_it_needs_and_tells_rows(tmp_path: Path) -> None:
    bad = pa.array([b"good", b"M\xfc", None, b" ", b"end"]).cast(pa.binary())
    columns = {
        "vector": pa.array([[1.0] * 10] * 5),
        "text": pa.StringArray.from_buffers(5, *bad.buffers()[1:], bad.buffers()[0]),
        "id": pa.array([1, 2, 3, 4, None]),
        "title": pa.array(["a", None, "c", "d", "e"]).dictionary_encode(),
    }
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2)
    texts, errors = refused(path)
    assert texts == ["good", "end"]
    assert errors == [
        ":2: not valid Unicode: 'M\\udcfc'",
        ":3: the record has no text field: 'text'",
        ":4: the document is empty",
    ]
    skipped = Skipped()
    both = list(read_corpus(path, text_field="title,text", skipped=skipped))
    assert [d.text for d in both] == ["a\ngood", "c", "d", "e\nend"]
    assert [d.id for d in both] == ["1", "3", "4", "x.parquet:5"]
    pq.write_table(pa.table({"text": [b"bytes"], "id": [1]}), path)
    assert refused(path)[1] == [":1: the text is not a string: \"b'bytes'\""]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all", b"PAR1" + bytes(40)])
def test_a_damaged_parquet_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = stored(tmp_path, content, "x.parquet")
    texts, errors = refused(path)
    assert texts == []
    assert errors[0].startswith(": damaged Parquet file: ")
    with pytest.raises(DataError, match=r"x\.parquet: damaged Parquet file"):
        list(read_batches(path))


# --- PubTator ---------------------------------------------------------------------------------

PUBTATOR = """\
1|t|Copper toxicosis | in dogs.
1|a|A disease of dogs.\tTab.
1\t0\t16\tCopper toxicosis\tDisease\tMESH:D001
1\t30\t37\tdisease\tDisease\tOMIM:12
1\t22\t26\tdogs\tSpecies\t9615\tmore
1\tCID\tD001\tD002
1\tAssociation\tD001\tD002\tNovel

2|t|Title only
2|a|
2\t0\t5\tTitle\tDisease\tD1
3|t|No blank line before
"""


def test_pubtator_articles_and_mentions(tmp_path: Path) -> None:
    expected = [
        Document(
            "1",
            "Copper toxicosis | in dogs.\nA disease of dogs.\tTab.",
            (Mention(0, 16, "D001"), Mention(30, 37, "OMIM:12"), Mention(22, 26, "9615")),
        ),
        Document("2", "Title only", (Mention(0, 5, "D1"),)),
        Document("3", "No blank line before"),
    ]
    assert list(read_corpus(stored(tmp_path, PUBTATOR, "a.pubtator"))) == expected
    foreign = PUBTATOR.replace("\n", "\r\n")
    assert list(read_corpus(stored(tmp_path, foreign, "b.PubTator"))) == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1\t1\t5\tword\tT\tD1", "the offsets do not lead to the surface: '1\\t1\\t5\\tword"),
        ("1\t-4\t-1\tord\tT\tD1", "the offsets do not lead to the surface"),
        ("1\t4\t4\t\tT\tD1", "the offsets do not lead to the surface"),
        ("1\t0\t999\tword text\tT\tD1", "the offsets do not lead to the surface"),
        ("2\t0\t4\tword\tT\tD1", "the mention belongs to another article: '2'"),
        ("1\t0\t4", "neither a mention nor a relation: '1\\t0\\t4'"),
        ("some words", "neither a mention nor a relation: 'some words'"),
    ],
)
def test_a_broken_mention_leaves_the_article(tmp_path: Path, line: str, problem: str) -> None:
    path = stored(tmp_path, f"1|t|word\n1|a|text\n{line}\n1\t5\t9\ttext\tT\tD2\n", "x.pubtator")
    texts, errors = refused(path)
    assert texts == ["word\ntext"]
    assert len(errors) == 1
    assert errors[0].startswith(f":3: {problem}")
    (document,) = read_corpus(path, skipped=Skipped())
    assert document.mentions == (Mention(5, 9, "D2"),)


@pytest.mark.parametrize("entity", ["D1|D2", "D1+D2", "D1,D2", "D1;D2", "", "-1", "-", None])
def test_mentions_of_no_or_several_entities_are_counted_but_no_error(
    tmp_path: Path, entity: str | None
) -> None:
    tail = "" if entity is None else f"\t{entity}"
    path = stored(tmp_path, f"1|t|word\n1\t0\t4\tword\tT{tail}\n", "x.pubtator")
    assert list(read_corpus(path)) == [Document("1", "word")]
    skipped = Skipped()
    assert list(read_corpus(path, skipped=skipped)) == [Document("1", "word")]
    kind = "several entities" if entity and len(entity) > 2 else "without an entity"
    assert [kind in problem for problem in skipped.counts] == [True]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("1|a|no title\n", "1: expected a title: `id|t|text`: '1|a|no title'"),
        ("1\t0\t4\tword\tT\tD1\n", "1: expected a title: `id|t|text`: "),
        ("1|t|a\n2|a|b\n", "1: title and abstract have different ids: '2'"),
        ("\n1|t| \n1|a|\n", "2: the document is empty"),
    ],
)
def test_an_article_of_another_form_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = stored(tmp_path, f"{content}\n9|t|good\n", "x.pubtator")
    texts, errors = refused(path)
    assert texts == ["good"]
    assert errors[0].startswith(f":{problem}")


def test_the_ncbi_disease_corpus() -> None:
    if not NCBI.is_dir():
        pytest.skip("the NCBI disease corpus is not at hand")
    skipped = Skipped()
    documents = list(read_corpus(NCBI, skipped=skipped))
    mentions = [(d, m) for d in documents for m in d.mentions]
    assert (len(documents), len(mentions)) == (793, 6732)
    assert skipped.counts == {
        "a mention of several entities": 159,
        "the offsets do not lead to the surface": 1,
    }
    lines = [line for path in NCBI.iterdir() for line in path.read_text().splitlines()]
    assert sum(line.count("\t") == 5 for line in lines) == len(mentions) + len(skipped)
    assert not any(":" in m.entity and not m.entity.startswith("OMIM:") for _, m in mentions)


# --- The stored corpus ------------------------------------------------------------------------


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(st.text(st.characters(codec="utf-8"), max_size=30))
    spans = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)), st.text("aé😀"))
    return Document(
        draw(st.text("ab\n\0é", max_size=5)),
        text,
        tuple(Mention(*m) for m in draw(st.lists(spans))),
    )


@given(st.lists(documents(), max_size=8), st.data())
@quick
def test_what_is_stored_is_read_back(
    folder: Path, corpus: list[Document], data: st.DataObject
) -> None:
    path = folder / "corpus.parquet"
    assert write_documents(path, iter(corpus)) == len(corpus)
    assert [d for batch in read_batches(path) for d in documents_of(batch)] == corpus
    batch = batch_of(corpus)
    assert documents_of(batch) == corpus
    start = data.draw(st.integers(0, len(corpus)))
    stop = data.draw(st.integers(start, len(corpus)))
    assert documents_of(batch.slice(start, stop - start)) == corpus[start:stop]


def test_batches_are_bounded_in_documents_and_size(tmp_path: Path) -> None:
    short = [Document(str(i), "x", (Mention(0, 1, "e"),)) for i in range(2500)]
    long = [Document(str(i), "x" * 1_500_000) for i in range(7)]
    write_documents(tmp_path / "c.parquet", (d for d in [*short, *long]))
    sizes = [len(batch) for batch in read_batches(tmp_path / "c.parquet")]
    assert sizes == [1000, 1000, 503, 3, 1]
    file = pq.ParquetFile(tmp_path / "c.parquet")
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    # Any other reader sees plain columns.
    rows = pq.read_table(tmp_path / "c.parquet").slice(0, 1).to_pylist()
    mentions = [{"start": 0, "end": 1, "entity": "e"}]
    assert rows == [{"id": "0", "text": "x", "mentions": mentions}]


def test_a_broken_stream_leaves_no_half_of_a_corpus(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        yield Document("1", "text")
        raise DataError("bad")

    with pytest.raises(DataError, match="bad"):
        write_documents(tmp_path / "c.parquet", broken())
    assert list(tmp_path.iterdir()) == []


def test_another_parquet_file_is_no_stored_corpus(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["1"], "text": ["x"]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x\.parquet: not a stored corpus; .*: 'id, text'"):
        list(read_batches(tmp_path / "x.parquet"))
    with pytest.raises(DataError, match=r"gone\.parquet: No such file"):
        list(read_batches(tmp_path / "gone.parquet"))
