"""Parquet files: small ones that grow are refused before memory is taken; others read the same."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synsetmine.errors import DataError
from synsetmine.io.parquet import ParquetReader, parquet_errors

LONG = "x" * 10_000_000
GROWS = "grows to more than 1 GiB and 100 times its size"


def repeated(rows: int) -> pa.Table:
    numbers = pa.array([0] * rows, pa.int32())
    return pa.table({"name": pa.DictionaryArray.from_arrays(numbers, [LONG])})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.parquet"


def read(path: Path) -> pa.Table:
    with parquet_errors(path), ParquetReader(path) as file:
        return file.table()


@pytest.mark.parametrize("command", ["group", "read", "apply-plan"])
def test_a_small_file_that_grows_is_refused_in_little_memory(path: Path, command: str) -> None:
    pq.write_table(repeated(1000), path, compression="zstd")
    assert path.stat().st_size < 10_000
    (path.parent / "plan.jsonl").write_text("")
    arguments = {
        "group": ["group", path.name],
        "read": ["read", path.name, "--text-field", "name", "--out", "out.parquet"],
        "apply-plan": ["apply-plan", "plan.jsonl", "--entities", path.name, "--out-dir", "out"],
    }[command]
    done = subprocess.run(
        [sys.executable, "-m", "synsetmine", *arguments],
        cwd=path.parent,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (2**31, 2**31)),
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 1, done.stderr
    assert GROWS in done.stderr.splitlines()[-1]


def test_a_million_rows_of_nothing_are_few_and_a_billion_too_many(path: Path) -> None:
    pq.write_table(pa.table({"name": pa.nulls(1_000_000, pa.string())}), path)
    assert len(read(path)) == 1_000_000
    pq.write_table(pa.table({"name": pa.nulls(20_000_000, pa.string())}), path)
    with pytest.raises(DataError, match=GROWS):
        read(path)


def test_text_in_lists_is_counted_too(path: Path) -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 500, 1000]), repeated(1000)["name"].chunk(0))
    pq.write_table(pa.table({"names": lists}), path)
    with pytest.raises(DataError, match=GROWS):
        read(path)


def test_a_row_group_and_batches_are_bounded(path: Path) -> None:
    pq.write_table(repeated(200), path)
    with parquet_errors(path), ParquetReader(path) as file:
        file._limit = 10**9
        with pytest.raises(DataError, match=GROWS):
            file.row_group(0)
        with pytest.raises(DataError, match=GROWS):
            list(file.batches(10, ["name"]))


def test_a_pipe_is_refused(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(DataError, match="not a regular file"):
        read(path)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x", None, "é"]),
        pa.array(["x", None, "é"], pa.large_string()),
        pa.array(["x", None, "x"]).dictionary_encode(),
        pa.array([b"x", None, b"\xff"]),
        pa.array([["q", None], None, []]),
        pa.array([["q"], None, []], pa.large_list(pa.large_string())),
        pa.array([{"q": "w"}, None, {"q": None}]),
        pa.array([[("k", "v")], None, []], pa.map_(pa.string(), pa.string())),
        pa.array([1, None, 3]),
        pa.nulls(3),
    ],
    ids=lambda column: str(column.type),
)
def test_values_are_those_of_the_library(path: Path, column: pa.Array) -> None:
    pq.write_table(pa.table({"a": column}), path)
    expected = pq.read_table(path)
    table = read(path)
    assert table.equals(expected)
    assert table.schema.equals(expected.schema, check_metadata=True)
    with parquet_errors(path), ParquetReader(path) as file:
        batches = list(file.batches(2, ["a"]))
    assert [value for batch in batches for value in batch["a"]] == expected["a"].to_pylist()


def test_views_of_strings_become_strings(path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array(["x", None], pa.string_view())}), path)
    assert read(path).equals(pa.table({"a": ["x", None]}))


def test_files_of_other_libraries(path: Path) -> None:
    rows = [{"a": "x", "l": ["b"]}, {"a": None, "l": []}]
    pl.DataFrame(rows).write_parquet(path)
    assert read(path).to_pylist() == rows
    pd.DataFrame(rows).to_parquet(path)
    assert read(path).to_pylist() == rows
