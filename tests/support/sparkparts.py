"""What tests of Spark share: whether it can be started, and a small cluster of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from synsetmine.engines.spark import check_installed
from synsetmine.errors import SynsetmineError
from tests.support.batchfunctions import parent_of

ROOT = Path(__file__).parents[2]
EXECUTOR = b"CoarseGrainedExecutorBackend"


def skip_without_spark() -> None:
    try:
        check_installed()
    except SynsetmineError as error:
        pytest.skip(str(error))


@contextmanager
def workers_of_tests() -> Iterator[None]:
    """Worker processes that find this package, and Java that is soon there rather than fast."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)  # what tests add to `sys.path` does not reach workers
        patch.setenv("JAVA_TOOL_OPTIONS", quick)
        yield


@dataclass(frozen=True)
class Cluster:
    """A standalone master and its workers, each a process with one core."""

    url: str
    workers: list[subprocess.Popen[bytes]]

    def executors(self) -> list[int]:
        """The processes that the workers have started for an application."""
        return [pid for worker in self.workers for pid in _children(worker.pid)]


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    import pyspark

    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    place = ["--host", "127.0.0.1", "--webui-port", "0"]
    master = ["org.apache.spark.deploy.master.Master", *place, "--port", str(port)]
    worker = ["org.apache.spark.deploy.worker.Worker", *place, "-c", "1", "-m", "1g"]
    with ExitStack() as stack:
        stack.enter_context(_process([str(spark_class), *master], folder / "master.log"))
        _wait_for(port)
        started = [
            stack.enter_context(
                _process(
                    [str(spark_class), *worker, "-d", str(folder / f"worker{n}"), url],
                    folder / f"worker{n}.log",
                )
            )
            for n in range(workers)
        ]
        yield Cluster(url, started)
        for process in started:
            for pid in _children(process.pid):
                os.kill(pid, signal.SIGKILL)
    for n in range(workers):
        shutil.rmtree(folder / f"worker{n}", ignore_errors=True)


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(log.parent),  # the killed cannot clean up
    }
    with log.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 0.1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the master of Spark does not listen")


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_child = parent_of(int(folder.name)) == parent
            if is_child and EXECUTOR in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has just ended
            continue
    return found
