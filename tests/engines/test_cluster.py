"""Work on a real cluster of Spark: a master and two workers, one of which is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from synsetmine.engines import LocalEngine
from synsetmine.engines.spark import SparkEngine
from synsetmine.errors import SynsetmineError
from synsetmine.kb import Entity, KnowledgeBase
from synsetmine.linking import DictionaryLinker
from synsetmine.linking.supervision import count_links, link_corpus
from tests.engines.test_engines import rows
from tests.support import batchfunctions
from tests.support.batchfunctions import expected_rows, numbers
from tests.support.corpusfiles import store_texts
from tests.support.sparkparts import Cluster, cluster, skip_without_spark, workers_of_tests

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    skip_without_spark()
    with workers_of_tests(), cluster(tmp_path_factory.mktemp("cluster"), 2) as started:
        yield started


@pytest.fixture(scope="module")
def spark(two_workers: Cluster) -> Iterator[SparkEngine]:
    from pyspark.sql import SparkSession

    with SparkEngine(two_workers.url) as engine:
        yield engine
    assert SparkSession.getActiveSession() is None


@pytest.fixture(scope="module")
def documents() -> Path:
    texts = [f"Japan and New York {n}, the Big Apple, not Nippon {n}." for n in range(400)]
    return store_texts([texts[start : start + 10] for start in range(0, 400, 10)])


@pytest.fixture
def linker(tmp_path: Path) -> DictionaryLinker:
    KnowledgeBase.of(
        [Entity("JP", "Japan", ("Nippon",)), Entity("NY", "New York", ("Big Apple",))]
    ).save(tmp_path / "kb.arrow")
    return DictionaryLinker.open(tmp_path / "kb.arrow", tmp_path / "kb.matcher")


@pytest.mark.slow
def test_the_link_stage_leaves_the_same_bytes(
    spark: SparkEngine, documents: Path, linker: DictionaryLinker, tmp_path: Path
) -> None:
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    assert link_corpus(documents, linker, here, engine=LocalEngine(1)) == 1600
    assert link_corpus(documents, linker, there, engine=spark) == 1600
    assert there.read_bytes() == here.read_bytes()
    assert count_links(there, engine=spark) == count_links(here)


@pytest.mark.slow
def test_an_executor_lost_while_linking_changes_no_byte(
    spark: SparkEngine,
    two_workers: Cluster,
    documents: Path,
    linker: DictionaryLinker,
    tmp_path: Path,
) -> None:
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    link_corpus(documents, linker, here, engine=LocalEngine(1))
    link_corpus(documents, linker, there, engine=spark)  # executors come with the first work
    there.unlink()
    before = two_workers.executors()
    killing = batchfunctions.KillingLinker(linker, "Nippon 177", tmp_path / "mark")
    assert link_corpus(documents, killing, there, engine=spark) == 1600
    assert int((tmp_path / "mark").read_text()) in before
    assert there.read_bytes() == here.read_bytes()


@pytest.mark.slow
def test_a_killed_executor_is_survived(
    spark: SparkEngine, two_workers: Cluster, tmp_path: Path
) -> None:
    source = numbers(tmp_path / "numbers.parquet", 300)
    rows(spark.map_batches(batchfunctions.squares, source))  # executors come with the first work
    before = two_workers.executors()
    function = batchfunctions.KillExecutorOnce(tmp_path / "mark")
    assert rows(spark.map_batches(function, source)) == expected_rows(300)
    assert int((tmp_path / "mark").read_text()) in before


@pytest.mark.slow
def test_a_master_without_workers_is_reported(
    spark: SparkEngine, two_workers: Cluster, tmp_path: Path
) -> None:
    """The last test here: it kills the workers, and Spark would wait for others for ever."""
    for worker in two_workers.workers:
        executors = two_workers.executors()
        worker.kill()
        worker.wait()
        for executor in executors:
            os.kill(executor, signal.SIGKILL)
    source = numbers(tmp_path / "numbers.parquet", 50)
    hurried = SparkEngine(two_workers.url, patience=6)
    with pytest.raises(SynsetmineError, match="has provided no worker for 6 s"):
        list(hurried.map_batches(batchfunctions.squares, source))
    with pytest.raises(SynsetmineError, match="has provided no worker for 6 s"):
        hurried.sql("SELECT count(*) AS n FROM t ORDER BY n", t=source)
