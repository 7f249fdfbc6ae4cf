"""Work on Spark, on this machine: the same bytes as without it, and errors in one line."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from synsetmine.corpus import documents as store
from synsetmine.engines import Engine, LocalEngine, open_engine
from synsetmine.engines.spark import (
    SparkEngine,
    _result,
    _Work,
    check_installed,
    end_session,
    in_one_line,
    start_session,
)
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.pipeline.project import read_project
from synsetmine.pipeline.run import run_project
from synsetmine.runs.folder import Artefacts, RunFolder
from synsetmine.types import Term
from synsetmine.views.skipgram import train_skipgram
from tests.engines.test_engines import rows
from tests.pipeline.test_run import Watch
from tests.support import batchfunctions
from tests.support.batchfunctions import expected_rows, numbers
from tests.support.corpusfiles import store_texts
from tests.support.sparkparts import ROOT, skip_without_spark, workers_of_tests
from tests.support.worlds import write_text_world

pytestmark = pytest.mark.spark
NOWHERE = "spark://127.0.0.1:1"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkEngine]:
    skip_without_spark()
    with workers_of_tests(), SparkEngine("local[2]") as engine:
        yield engine


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return numbers(tmp_path / "numbers.parquet", 200)


@pytest.mark.slow
def test_results_come_in_order(spark: SparkEngine, source: Path) -> None:
    assert rows(spark.map_batches(batchfunctions.squares, source)) == expected_rows(200)


@pytest.mark.slow
@pytest.mark.parametrize("count", [0, 1, 6])
def test_short_files(spark: SparkEngine, tmp_path: Path, count: int) -> None:
    source = numbers(tmp_path / "short.parquet", count)
    assert rows(spark.map_batches(batchfunctions.squares, source)) == expected_rows(count)


@pytest.mark.slow
def test_only_a_part_is_in_the_works(spark: SparkEngine, tmp_path: Path) -> None:
    source = numbers(tmp_path / "many.parquet", 1000, size=1)
    notes = tmp_path / "notes.txt"
    results = spark.map_batches(batchfunctions.SlowSquares(notes), source)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(notes.read_text().splitlines()) < 100


def test_a_query_gives_the_table_that_duckdb_gives(spark: SparkEngine, tmp_path: Path) -> None:
    odd = numbers(tmp_path / "a [b] *{c}#%20.parquet", 50)
    query = """
        SELECT n % 7 AS part, count(*) AS many, max(id) AS last FROM t
        GROUP BY n % 7 ORDER BY many DESC, last
    """
    assert spark.sql(query, t=odd).equals(LocalEngine().sql(query, t=odd))


@pytest.mark.slow
def test_a_whole_run_leaves_the_same_bytes(
    spark: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BATCH_DOCUMENTS", 60)  # 24 batches
    found: list[dict[str, bytes]] = []
    engines: dict[str, Engine] = {"here": LocalEngine(1), "there": spark}
    for name, engine in engines.items():
        (tmp_path / name).mkdir()
        project = read_project(write_text_world(tmp_path / name))
        run_project(project, Watch(), engine=engine, until="vectors")
        at = Artefacts(Path(project.run))
        made = [path for path in vars(at).values() if isinstance(path, Path) and path.is_file()]
        made.remove(at.manifest)  # it has the times
        found.append({path.name: path.read_bytes() for path in made})
    here, there = found
    assert {"mentions.parquet", "links.tsv", "vocabulary.tsv", "vectors.safetensors"} <= {*here}
    assert {"evidence.parquet", "places.parquet", "runs.parquet", "words.parquet"} <= {*here}
    assert {name for name in here if here[name] != there[name]} == set()
    assert {*here} == {*there}
    # Either engine knows what the other has done.
    watch = Watch()
    project = read_project(tmp_path / "there" / "synsetmine.toml")
    run_project(project, watch, engine=LocalEngine(2), until="vectors")
    assert set(watch.skipped.values()) == {True}
    assert "vectors" in RunFolder(Path(project.run)).stages


@pytest.mark.slow
def test_skip_gram_vectors_are_the_same(spark: SparkEngine) -> None:
    pytest.importorskip("gensim")
    documents = store_texts([[f"a cat and a dog w{i % 3}" for i in range(20)]] * 4)
    terms = [Term("cat"), Term("a dog")]
    given: dict[str, Any] = {"dimension": 4, "epochs": 1}
    here = train_skipgram(documents, terms, **given)
    there = train_skipgram(documents, terms, **given, engine=spark)
    assert here.terms == there.terms
    assert here.matrix.tobytes() == there.matrix.tobytes()


# --- What goes wrong --------------------------------------------------------------------------


@pytest.mark.slow
def test_an_error_for_people_stays_as_it_is(spark: SparkEngine, source: Path) -> None:
    with pytest.raises(DataError, match=r"^numbers.txt:3: three: 3$"):
        list(spark.map_batches(batchfunctions.refuse_three, source))


@pytest.mark.slow
def test_a_poisoned_record_is_named(spark: SparkEngine, source: Path) -> None:
    message = rf"^{source}: document 33 \(id 'n33'\): ValueError: what is this\?$"
    with pytest.raises(SynsetmineError, match=message) as caught:
        list(spark.map_batches(batchfunctions.stumble_over_33, source))
    assert "stumble_over_33" in str(caught.value.__cause__)  # where, for `--debug`


@pytest.mark.slow
def test_a_function_that_cannot_be_unpacked_says_why(spark: SparkEngine, source: Path) -> None:
    with pytest.raises(DataError, match=r"knowledge\.arrow: No such file"):
        list(spark.map_batches(batchfunctions.Unloadable(), source))


@pytest.mark.slow
def test_a_killed_worker_is_survived(spark: SparkEngine, source: Path, tmp_path: Path) -> None:
    function = batchfunctions.DieOnce(tmp_path / "mark")
    assert rows(spark.map_batches(function, source)) == expected_rows(200)
    assert (tmp_path / "mark").exists()


@pytest.mark.slow
def test_a_batch_that_kills_its_workers_is_named(spark: SparkEngine, source: Path) -> None:
    message = rf"^{source}: batch \d+, documents \d+ to \d+: Spark: its worker process died"
    with pytest.raises(SynsetmineError, match=message) as caught:
        list(spark.map_batches(batchfunctions.die_at_33, source))
    assert "\n" not in str(caught.value)
    assert rows(spark.map_batches(batchfunctions.squares, source)) == expected_rows(200)


@pytest.mark.slow
def test_a_query_that_is_none_is_one_line(spark: SparkEngine, source: Path) -> None:
    with pytest.raises(SynsetmineError, match=r"^Spark: .*gone") as caught:
        spark.sql("SELECT * FROM gone")
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_file_that_a_worker_does_not_see(source: Path) -> None:
    sent = SimpleNamespace(value=pickle.dumps(batchfunctions.squares))
    (found,) = _Work("key", sent, source.with_name("gone.parquet"), 1)(iter([0]))
    with pytest.raises(SynsetmineError, match=r"gone\.parquet: No such file .* shared storage"):
        _result(found)


@pytest.mark.slow
def test_an_error_that_cannot_travel_is_reported(source: Path) -> None:
    def fail() -> bytes:
        raise batchfunctions.UnlikelyError("so ", "bad")

    sent: Any = type("Sent", (), {"value": property(lambda _: fail())})()
    (found,) = _Work("other", sent, source, 1)(iter([0]))
    with pytest.raises(SynsetmineError, match="UnlikelyError: so bad"):
        _result(found)


@pytest.mark.slow
def test_a_second_session_elsewhere_is_refused(spark: SparkEngine) -> None:
    spark.sql("SELECT 1")
    with pytest.raises(SynsetmineError, match=r"Spark session at local\[2,4\]"):
        start_session("local[1]")
    assert start_session("local[2]")[1] is False  # the same, and not to be ended


@pytest.mark.slow
def test_a_master_that_does_not_answer() -> None:
    skip_without_spark()
    with pytest.raises(SynsetmineError, match=f"no Spark master answers at {NOWHERE}: .*refused"):
        SparkEngine(NOWHERE).sql("SELECT 1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            "Job aborted: Task 1 in stage 3.0 failed 4 times\njava.io.IOException: No space left "
            "on device\n\tat org.x",
            "place 1: Spark: the disk of a worker or of the driver is full (spark.local.dir): "
            "java.io.IOException: No space left on device",
        ),
        ("\n\nfirst line\nsecond", "Spark: first line"),
        ("", "Spark: it ended without a message"),
    ],
)
def test_what_java_says_in_one_line(said: str, message: str) -> None:
    assert in_one_line(said, lambda task: f"place {task}") == message


@pytest.mark.slow
def test_a_missing_extra_java_or_account_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    with monkeypatch.context() as patch:
        patch.delenv("JAVA_HOME", raising=False)
        patch.setenv("PATH", str(tmp_path))
        with pytest.raises(SynsetmineError, match="needs Java 17, and there is none on the PATH"):
            check_installed()
        patch.setenv("JAVA_HOME", str(tmp_path))
        with pytest.raises(SynsetmineError, match=f"none in JAVA_HOME, {tmp_path}"):
            check_installed()
        old = tmp_path / "bin" / "java"
        old.parent.mkdir()
        old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
        old.chmod(0o755)
        with pytest.raises(SynsetmineError, match=f"needs Java 17, but {old} is 11"):
            check_installed()
    with monkeypatch.context() as patch:  # as in a container that runs under any number
        patch.setattr(os, "geteuid", lambda: 2**31)
        patch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stderr=b""))
        with pytest.raises(SynsetmineError, match=f"needs a user with an account; user {2**31}"):
            check_installed()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr("synsetmine.engines.spark.find_spec", lambda _name: None)
    message = r"pip install 'synsetmine\[spark\]'"
    with pytest.raises(SynsetmineError, match=message), open_engine("spark"):
        pass


# --- The command line -------------------------------------------------------------------------


def command(folder: Path, *arguments: str) -> tuple[int, str]:
    with workers_of_tests():
        done = subprocess.run(
            [sys.executable, "-m", "synsetmine", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    return done.returncode, done.stderr


@pytest.mark.slow
def test_the_command_says_nothing_of_spark(tmp_path: Path) -> None:
    skip_without_spark()
    project = write_text_world(tmp_path)
    here = ("run", project.name, "--until", "link")
    code, said = command(tmp_path, *here, "--engine", "spark", "--master", NOWHERE)
    assert code == 1
    last = said.splitlines()[-1]
    assert last.startswith(f"synsetmine: error: no Spark master answers at {NOWHERE}")
    code, said = command(tmp_path, *here, "--engine", "spark", "--master", "local[1]")
    assert code == 0
    assert "mentions" in said
    assert not [line for line in said.splitlines() if "WARN" in line or "park" in line]
    code, said = command(tmp_path, *here)
    assert "link (unchanged)" in said


@pytest.mark.slow
def test_a_full_disk_is_reported(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_spark()
    project = write_text_world(tmp_path)
    (small_disk / "rest").write_bytes(bytes(128 * 1024))
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(small_disk))
    spark = ("--engine", "spark", "--master", "local[1]")
    code, said = command(tmp_path, "run", project.name, "--until", "link", *spark)
    assert code == 1
    assert said.splitlines()[-1].startswith("synsetmine: error: Spark: the disk of a worker")
    assert not (tmp_path / "run" / "mentions.parquet").exists()


@pytest.mark.slow
def test_a_session_that_ends_badly_is_cleared() -> None:
    """What Spark leaves when it fails half-way would be in the way of the next session."""
    ended: list[str] = []

    class Session:
        def stop(self) -> None:
            ended.append("once more")
            if len(ended) == 1:
                raise RuntimeError("no one to end with")

    end_session(Session())
    assert len(ended) == 2


@pytest.mark.slow
def test_a_session_that_ended_by_itself_is_not_in_the_way(source: Path) -> None:
    """As when a master gives an application up: Java ends it, and Python is not told."""
    program = f"""
from pathlib import Path
from pyspark.sql import SparkSession
from synsetmine.engines.spark import SparkEngine
from tests.support import batchfunctions

first = SparkEngine("local[1]")
print(len(list(first.map_batches(batchfunctions.squares, Path({str(source)!r})))))
SparkSession.getActiveSession().sparkContext._jsc.sc().stop()
with SparkEngine("local[2]") as second:
    print(len(list(second.map_batches(batchfunctions.squares, Path({str(source)!r})))))
"""
    skip_without_spark()
    with workers_of_tests():
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT
        )
    assert done.stdout.split() == ["40", "40"], done.stderr
