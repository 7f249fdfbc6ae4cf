"""Work on the cores of this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synsetmine.corpus import write_documents
from synsetmine.engines import LocalEngine, open_engine
from synsetmine.engines.base import FEW
from synsetmine.engines.workers import AHEAD
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.files import write_text
from synsetmine.linking import MarkedLinker
from synsetmine.linking.supervision import count_links, link_corpus
from synsetmine.types import Document, Link, Mention
from tests.support import batchfunctions
from tests.support.batchfunctions import expected_rows, numbers

ENOUGH = 5 * FEW  # numbers, for as many batches as need worker processes


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return numbers(tmp_path / "numbers.parquet", 60)


def rows(batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(source: Path, workers: int) -> None:
    engine = LocalEngine(workers)
    assert rows(engine.map_batches(batchfunctions.squares, source)) == expected_rows(60)
    assert [len(batch) for batch in engine.map_batches(batchfunctions.squares, source)] == [5] * 12


def test_several_workers_are_other_processes(tmp_path: Path) -> None:
    source = numbers(tmp_path / "enough.parquet", ENOUGH)
    found = rows(LocalEngine(2).map_batches(batchfunctions.process, source))
    assert os.getpid() not in {row["pid"] for row in found}


def test_a_short_file_starts_no_processes(tmp_path: Path) -> None:
    source = numbers(tmp_path / "few.parquet", ENOUGH - 5)
    found = rows(LocalEngine(2).map_batches(batchfunctions.process, source))
    assert {row["pid"] for row in found} == {os.getpid()}


def test_an_empty_file_gives_nothing(tmp_path: Path) -> None:
    source = numbers(tmp_path / "none.parquet", 0)
    assert rows(LocalEngine(2).map_batches(batchfunctions.squares, source)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_only_a_few_batches_are_held(tmp_path: Path, workers: int) -> None:
    source = numbers(tmp_path / "many.parquet", 500)
    notes = tmp_path / "notes.txt"
    results = LocalEngine(workers).map_batches(batchfunctions.SlowSquares(notes), source)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(notes.read_text().splitlines()) <= (AHEAD * workers if workers > 1 else 1)


def test_a_file_that_was_replaced_is_read_anew(source: Path) -> None:
    engine = LocalEngine(1)
    assert len(rows(engine.map_batches(batchfunctions.squares, source))) == 60
    numbers(source, 7)
    assert rows(engine.map_batches(batchfunctions.squares, source)) == expected_rows(7)


# --- What goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_for_people_stays_as_it_is(source: Path, workers: int) -> None:
    with pytest.raises(DataError, match=r"^numbers.txt:3: three: 3$"):
        list(LocalEngine(workers).map_batches(batchfunctions.refuse_three, source))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_poisoned_record_is_named(source: Path, workers: int) -> None:
    message = rf"^{source}: document 33 \(id 'n33'\): ValueError: what is this\?$"
    engine = LocalEngine(workers)
    with pytest.raises(SynsetmineError, match=message):
        list(engine.map_batches(batchfunctions.stumble_over_33, source))


def test_where_no_record_is_to_blame_the_batch_is_named(source: Path) -> None:
    with pytest.raises(SynsetmineError, match="batch 0, documents 0 to 4: ValueError: too many"):
        list(LocalEngine(1).map_batches(batchfunctions.stumble_over_many, source))


def test_a_killed_worker_is_survived(source: Path, tmp_path: Path) -> None:
    function = batchfunctions.DieOnce(tmp_path / "mark")
    assert rows(LocalEngine(2).map_batches(function, source)) == expected_rows(60)
    assert (tmp_path / "mark").exists()


def test_a_batch_that_kills_its_worker_again_is_named(source: Path) -> None:
    message = rf"^{source}: batch 6, documents 30 to 34: its worker process died twice"
    results = LocalEngine(2).map_batches(batchfunctions.die_at_33, source)
    good = [next(results) for _ in range(6)]
    assert sum(map(len, good)) == 30
    with pytest.raises(SynsetmineError, match=message):
        list(results)


def test_a_function_that_cannot_be_unpacked_says_why(source: Path) -> None:
    with pytest.raises(DataError, match=r"knowledge\.arrow: No such file"):
        list(LocalEngine(2).map_batches(batchfunctions.Unloadable(), source))


def test_a_file_that_is_not_there_or_no_parquet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.parquet: No such file"):
        list(LocalEngine(1).map_batches(batchfunctions.squares, tmp_path / "gone.parquet"))
    (tmp_path / "x.parquet").write_text("no such thing")
    with pytest.raises(DataError, match=r"x\.parquet: damaged Parquet file"):
        list(LocalEngine(1).map_batches(batchfunctions.squares, tmp_path / "x.parquet"))


def test_a_full_disk_is_reported_and_nothing_is_left(small_disk: Path, tmp_path: Path) -> None:
    marked = (
        Document(f"d{n}", f"name {n * n}", (Mention(0, len(f"name {n * n}"), f"e{n}"),))
        for n in range(30_000)
    )
    documents = tmp_path / "documents.parquet"
    write_documents(documents, marked)
    out = small_disk / "mentions.parquet"
    message = rf"^{out}: the disk is full; nothing was written$"
    with pytest.raises(SynsetmineError, match=message):
        link_corpus(documents, MarkedLinker(), out, engine=LocalEngine(2))
    with pytest.raises(SynsetmineError, match=r"links\.tsv: the disk is full"):
        write_text(small_disk / "links.tsv", "x" * 200_000)
    assert list(small_disk.iterdir()) == []


def test_workers_end_with_their_parent(source: Path) -> None:
    """`kill -9` on a run leaves no processes behind."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.support.batchfunctions import process\n"
        "from synsetmine.engines import LocalEngine\n"
        "if __name__ == '__main__':\n"
        "    for batch in LocalEngine(2).map_batches(process, Path(sys.argv[1])):\n"
        "        print(batch.column('pid')[0], flush=True)\n"
        "        sys.stdin.readline()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(source)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()  # returns when no worker holds the pipe any more
    assert not Path(f"/proc/{worker}").exists() or "Z" in Path(f"/proc/{worker}/stat").read_text()


# --- Queries ----------------------------------------------------------------------------------


def test_a_query_over_files(tmp_path: Path) -> None:
    odd = numbers(tmp_path / "a [b] *{c}#%20.parquet", 10)
    numbers(tmp_path / "a b *{c}#%20.parquet", 3)  # what a pattern would find
    query = "SELECT a.n, b.id FROM a JOIN b ON a.n = b.n WHERE a.n < 2 ORDER BY a.n"
    found = LocalEngine().sql(query, a=odd, b=odd)
    assert found.to_pylist() == [{"n": 0, "id": "n0"}, {"n": 1, "id": "n1"}]


def test_a_query_that_is_none_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SynsetmineError, match=r"^DuckDB: .*gone") as caught:
        LocalEngine().sql("SELECT * FROM gone")
    assert "\n" not in str(caught.value)
    with pytest.raises(SynsetmineError, match=r"^DuckDB: .*gone\.parquet"):
        LocalEngine().sql("SELECT * FROM t", t=tmp_path / "gone.parquet")


def test_links_are_counted(tmp_path: Path) -> None:
    table = pa.table({"surface": ["a", "B", "a", "é", "b"], "entity": ["y", "x", "x", "x", "x"]})
    path = tmp_path / "mentions.parquet"
    pq.write_table(table, path)
    pairs = [("B", "x"), ("a", "x"), ("a", "y"), ("b", "x"), ("é", "x")]
    assert count_links(path) == [Link(surface, entity, 1) for surface, entity in pairs]


# --- By name ----------------------------------------------------------------------------------


def test_all_cores_by_default() -> None:
    assert LocalEngine().workers == len(os.sched_getaffinity(0))
    with open_engine("local", workers=3) as engine:
        assert isinstance(engine, LocalEngine)
        assert engine.workers == 3


def test_options_of_the_other_engine_are_refused() -> None:
    with (
        pytest.raises(SynsetmineError, match="--engine spark --master"),
        open_engine("local", master="local[2]"),
    ):
        pass
    with pytest.raises(SynsetmineError, match=r"as in local\[4\]"), open_engine("spark", workers=2):
        pass
