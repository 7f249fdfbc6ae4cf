"""Lists of names in files of all formats, and pairs of names."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synsetmine.corpus.name_lists import read_names, read_pairs
from synsetmine.errors import DataError
from tests.support.strategies import PIECES

NAMES = ["heart failure", "Zürich", "漢字", '=cmd("x")', "a, b", "a; b"]
HOSTILE = st.lists(
    st.lists(st.sampled_from([p for p in PIECES if p != "\0"]), max_size=4).map("".join),
    min_size=1,
    max_size=6,
)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_text_has_a_name_a_line(tmp_path: Path) -> None:
    path = written(tmp_path / "names.txt", "\ufeff" + "\r\n".join([*NAMES, "", "last"]))
    assert read_names(path) == read_names(str(path)) == [*NAMES, "", "last"]
    packed = written(tmp_path / "names.txt.gz", gzip.compress(b"a\nb\tc\n"))
    assert read_names(packed) == ["a", "b\tc"]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(listed=HOSTILE)
def test_tables_hold_any_name(tmp_path: Path, listed: list[str]) -> None:
    """Files that others wrote: Python's csv and json modules, and pyarrow."""
    with (tmp_path / "x.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerows([["id", "name"], *(["1", name] for name in listed)])
    (tmp_path / "x.jsonl").write_bytes(
        "".join(json.dumps({"id": 1, "name": name}) + "\n" for name in listed).encode()
    )
    pq.write_table(pa.table({"id": [1] * len(listed), "name": listed}), tmp_path / "x.parquet")
    for ending in ("jsonl", "parquet", "csv"):
        assert read_names(tmp_path / f"x.{ending}") == listed


def test_the_column_is_named_or_plain(tmp_path: Path) -> None:
    chosen: list[str] = []
    table = written(tmp_path / "x.csv", "id,Label,title\n1,a,b\n2,c,d\n")
    assert read_names(table, on_column=chosen.append) == ["a", "c"]
    assert read_names(table, column="title", on_column=chosen.append) == ["b", "d"]
    assert chosen == ["Label", "title"]
    assert read_names(written(tmp_path / "y.csv", "anything\nx\n")) == ["x"]
    assert read_names(written(tmp_path / "y.tsv", 'id\tname\n1\t"x" y\n')) == ['"x" y']
    assert read_names(written(tmp_path / "z.csv", 'id;name\n1;"a; b"\n')) == ["a; b"]
    assert read_names(written(tmp_path / "z.data", "name\nx\n"), format="csv") == ["x"]


def test_missing_values_are_empty(tmp_path: Path) -> None:
    lines = '{"name": "a"}\n\n{"name": null}\n{"other": 1}\n"b"\nnull\n'
    assert read_names(written(tmp_path / "x.jsonl", lines)) == ["a", "", "", "b", ""]
    pq.write_table(pa.table({"name": ["a", None]}), tmp_path / "x.parquet")
    assert read_names(tmp_path / "x.parquet") == ["a", ""]
    assert read_names(written(tmp_path / "x.csv", "id,name\n1,\n")) == [""]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("x.txt", b"a\nZ\xfcr\n", {}, r"x.txt:2: not UTF-8"),
        ("x.txt", "a\n", {"column": "name"}, "plain text has no columns"),
        (
            "x.csv",
            "a,b\n1,2\n",
            {},
            r"x.csv:1: cannot tell which column has the names; name one of a, b",
        ),
        (
            "x.csv",
            "a,b\n1,2\n",
            {"column": "c"},
            "no column has this name; the columns are a, b: 'c'",
        ),
        (
            "x.csv",
            "a,a\n1,2\n",
            {"column": "a"},
            "2 columns have this name; the columns are a, a: 'a'",
        ),
        ("x.csv", "id,name\n1\n", {}, "x.csv:2: number of columns differs from the header: 1"),
        ("x.csv", 'id,name\n1,"a\n', {}, "x.csv:2: malformed row"),
        ("x.csv", b"id,name\n1,\xff\n", {}, "x.csv:2: not UTF-8"),
        ("x.jsonl", '{"name": 1}\n', {}, "x.jsonl:1: a name must be a string: 1"),
        ("x.jsonl", '"a"\n[1]\n', {}, r"x.jsonl:2: a name must be a string: \[1\]"),
        ("x.jsonl", '{"name": "\\ud800"}\n', {}, "x.jsonl:1: not valid Unicode"),
        ("x.jsonl", "{\n", {}, "x.jsonl:1: not JSON"),
        (
            "x.jsonl",
            '{"a": "x", "b": "y"}\n',
            {},
            "x.jsonl:1: cannot tell which column has the names",
        ),
        ("x.parquet", "PAR1", {}, "x.parquet: damaged Parquet file"),
        (
            "x.txt",
            "a\n",
            {"format": "xml"},
            "no such format: 'xml'; expected one of text, csv, tsv, xlsx, jsonl",
        ),
    ],
)
def test_bad_files(
    tmp_path: Path, name: str, content: str | bytes, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_names(written(tmp_path / name, content), **options)


def test_numbers_in_parquet_are_no_names(tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": [1, 2]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x.parquet:1: a name must be a string: 1"):
        read_names(tmp_path / "x.parquet")


def test_broken_lines_can_be_left_out(tmp_path: Path) -> None:
    skipped: list[DataError] = []
    path = written(tmp_path / "x.jsonl", '"a"\n{\n3\n"b"\n')
    assert read_names(path, skipped=skipped) == ["a", "b"]
    assert [error.line for error in skipped] == [2, 3]


def test_pairs_in_all_formats(tmp_path: Path) -> None:
    pairs = [("a", "b, c"), ("US", "India")]
    assert read_pairs(written(tmp_path / "x.txt", "a\tb, c\n\nUS\tIndia\n")) == pairs
    assert read_pairs(written(tmp_path / "x.csv", 'a,"b, c"\nUS,India\n')) == pairs
    assert read_pairs(str(written(tmp_path / "x.jsonl", '["a", "b, c"]\n["US", "India"]'))) == pairs
    header = "name,other,probability\n'=a,''b,0.5\n"
    assert read_pairs(written(tmp_path / "y.csv", header)) == [("=a", "'b")]
    assert read_pairs(written(tmp_path / "z.csv", "'=a,''b\n")) == [("'=a", "''b")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.tsv", "a\tb\nc\n", "x.tsv:2: number of columns differs from the header: 1"),
        ("x.tsv", "c\n", "x.tsv:1: expected two names: 'c'"),
        ("x.tsv", "a\t \n", "x.tsv:1: expected two names"),
        ("x.tsv", "US\tus\n", "x.tsv:1: two spellings of one name cannot be separated: 'US / us'"),
        ("x.jsonl", '["a"]\n', "x.jsonl:1: expected two names"),
        ("x.jsonl", '{"a": 1}\n', "x.jsonl:1: expected .*: '{\"a\": 1}'"),
        ("x.parquet", "", "expected pairs of names in .csv, .tsv, .xlsx, .txt or .jsonl"),
    ],
)
def test_bad_pairs(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_pairs(written(tmp_path / name, content))
