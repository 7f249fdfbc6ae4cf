"""Reading records with named fields: JSONL, CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.corpus import (
    read_batches,
    read_corpus,
)
from synsetmine.errors import DataError, ErrorCounts
from tests.support.corpusfiles import read, read_broken, store

quick = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpus")


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
    path = store(tmp_path, content, "x.jsonl")
    ids = ["a", "12", "13", "x.jsonl:7", "x.jsonl:9", "x.jsonl:11"]
    both = ["T\none", "two", "T3", "four", "five", "six"]
    assert read(path, text_field="title, text") == list(zip(ids, both, strict=True))
    path = store(tmp_path, '{"body": "b", "doc": "d"}', "y.jsonl")
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
        (b'{"text": "a\\u0000b"}', "the text contains a NUL character: 'a\\x00b'"),
        (b'{"text": "a\\ud800b"}', "not valid Unicode: 'a\\ud800b'"),
        (b'{"text": "a\xff"}', 'not UTF-8: b\'{"text": "a\\xff"}\\n\''),
        (b'{"text": "a", "id": true}', "the id is neither a string nor a whole number: True"),
        (b'{"text": "a", "id": 1.5}', "the id is neither a string nor a whole number: 1.5"),
        (b'{"text": "a", "id": NaN}', "the id is neither a string nor a whole number: nan"),
        (b'{"text": "a", "id": {}}', "the id is neither a string nor a whole number: '{}'"),
        (b'{"text": "a", "id": "\\ud800"}', "not valid Unicode: '\\ud800'"),
    ],
)
def test_a_broken_record_is_reported_and_passed_over(
    tmp_path: Path, line: bytes, problem: str
) -> None:
    path = store(tmp_path, b'{"text": "a"}\n' + line + b'\n{"text": "z"}\n', "x.jsonl")
    texts, errors = read_broken(path)
    assert texts == ["a", "z"]
    assert len(errors) == 1
    assert errors[0].startswith(f":2: {problem}")
    assert "\n" not in errors[0]


def test_a_million_broken_records_cost_no_memory(tmp_path: Path) -> None:
    line = json.dumps({"text": ["x" * 10_000]})
    path = store(tmp_path, f"{line}\n" * 2000, "x.jsonl")
    skipped = ErrorCounts()
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
    store(folder, "\n".join(map(json.dumps, rows)), "r.jsonl")
    target = io.StringIO()
    writer = csv.DictWriter(target, ["x", "text", "id"])
    writer.writeheader()
    writer.writerows(rows)
    store(folder, target.getvalue(), "r.csv")
    pq.write_table(pa.Table.from_pylist(rows), folder / "r.parquet")
    for name in ("r.jsonl", "r.csv", "r.parquet"):
        assert read(folder / name) == expected


def test_csv_with_quoted_line_ends_knows_its_lines(tmp_path: Path) -> None:
    content = '\ufeffid,text\r\n1,"one, ""two""\r\n\r\nthree"\r\n\r\n,four\r\n'
    path = store(tmp_path, content, "x.csv")
    assert read(path) == [("1", 'one, "two"\r\n\r\nthree'), ("x.csv:6", "four")]


def test_a_long_csv_field_is_read_and_the_limit_of_others_stays(tmp_path: Path) -> None:
    path = store(tmp_path, f"text\n{'x' * 500_000}\nend\n", "x.csv")
    before = csv.field_size_limit(1000)
    try:
        stream = read_corpus(path)
        assert len(next(stream).text) == 500_000
        assert csv.field_size_limit() == 1000
        assert next(stream).text == "end"
    finally:
        csv.field_size_limit(before)


def test_broken_rows_are_reported_with_their_first_line(tmp_path: Path) -> None:
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
    texts, errors = read_broken(store(tmp_path, b"\n".join(rows), "x.csv"))
    assert texts == ["two\nlines", "good"]
    expected = "',' expected after '\"'"
    assert sorted(errors) == [
        ":11: malformed row: 'unexpected end of data'",
        ":4: number of columns differs from the header: 3",
        ":5: number of columns differs from the header: 1",
        f":6: malformed row: {expected!r}",
        ":7: not UTF-8: b'M\\xfcnchen'",
        ":8: the text contains a NUL character: 'nul\\x00'",
        ":9: the document is empty",
    ]


def test_tsv_knows_no_quotes(tmp_path: Path) -> None:
    path = store(tmp_path, 'text\tid\n"open, quote\t1\n"a" b\t2\n', "x.tsv")
    assert read(path) == [("1", '"open, quote'), ("2", '"a" b')]


def test_a_table_must_have_the_text_columns(tmp_path: Path) -> None:
    store(tmp_path, "id,body\n1,x\n", "x.csv")
    pq.write_table(pa.table({"id": [1], "body": ["x"]}), tmp_path / "x.parquet")
    for name in ("x.csv", "x.parquet"):
        texts, errors = read_broken(tmp_path / name)
        assert texts == []
        problem = ": a text column is missing: 'text is not among id, body'; name it with "
        assert errors == [problem + "--text-field, in a project as text_field of [corpus]"]
        assert read(tmp_path / name, text_field="body") == [("1", "x")]
    assert read(store(tmp_path, "", "empty.csv")) == []


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
    texts, errors = read_broken(path)
    assert texts == ["good", "end"]
    assert errors == [
        ":2: not valid Unicode: 'M\\udcfc'",
        ":3: the record has no text field: 'text'",
        ":4: the document is empty",
    ]
    skipped = ErrorCounts()
    both = list(read_corpus(path, text_field="title,text", skipped=skipped))
    assert [d.text for d in both] == ["a\ngood", "c", "d", "e\nend"]
    assert [d.id for d in both] == ["1", "3", "4", "x.parquet:5"]
    pq.write_table(pa.table({"text": [b"bytes"], "id": [1]}), path)
    assert read_broken(path)[1] == [":1: the text is not a string: \"b'bytes'\""]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all", b"PAR1" + bytes(40)])
def test_a_damaged_parquet_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = store(tmp_path, content, "x.parquet")
    texts, errors = read_broken(path)
    assert texts == []
    assert errors[0].startswith(": damaged Parquet file: ")
    with pytest.raises(DataError, match=r"x\.parquet: damaged Parquet file"):
        list(read_batches(path))
