"""A session of Spark: whether one can be started, and its start without noise."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from synsetmine.engines.sparkerrors import in_one_line
from synsetmine.errors import SynsetmineError

JAVA = 17
ANSWER = 10.0  # seconds for a master to take a connection
TRIES = 3  # to end a session
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Half the time of a short task, where there is one; Spark before 4.1 does not know it.
    "spark.python.unix.domain.socket.enabled": "true",
}


def check_installed() -> None:
    """That there is PySpark, and a Java new enough for it."""
    if find_spec("pyspark") is None:
        raise SynsetmineError("the engine spark needs the extra: pip install 'synsetmine[spark]'")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    try:
        done = subprocess.run([java or "java", "-version"], capture_output=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError) as error:
        problem = f"the engine spark needs Java {JAVA}, and there is none"
        hint = f"in JAVA_HOME, {home}" if home else "on the PATH"
        raise SynsetmineError(f"{problem} {hint}") from error
    said = done.stderr.decode(errors="replace")
    found = re.search(r'version "(\d+)', said)
    if found and int(found[1]) < JAVA:
        raise SynsetmineError(f"the engine spark needs Java {JAVA}, but {java} is {found[1]}")


def start_session(master: str) -> tuple[Any, bool]:
    """A session at the master, and whether it is ours to end: one that is open already is not."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    _check_answers(master)
    if (open_already := _open_session()) is not None:
        where = open_already.sparkContext.master
        if where not in (master, _patient(master)):
            problem = f"this program has a session of Spark already, at {where}"
            raise SynsetmineError(f"{problem}; there can be no other at {master}")
        return open_already, False
    conf = (
        SparkConf().setAppName("synsetmine").setMaster(_patient(master)).setAll([*SETTINGS.items()])
    )
    if master.startswith("local"):  # 200 small parts, as on a cluster, take seconds
        conf.set("spark.sql.shuffle.partitions", "8")
    if _is_here(master):  # whatever the name of this machine may resolve to
        conf.set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
    with tempfile.TemporaryFile() as said, _own_python(), warnings.catch_warnings():
        # Spark warns of a pandas that it does not know; we use none.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        try:
            _launch(conf, said)
            return SparkSession(SparkContext.getOrCreate(conf)), True
        except Exception as error:
            said.seek(0)
            heard = f"{error}\n{said.read().decode(errors='replace')}"
            problem = f"no session of Spark at {master}; {in_one_line(heard)}"
            raise SynsetmineError(problem) from error


def end_session(session: Any) -> None:
    """End a session or its context; where Spark fails half-way, the next try goes on."""
    for _ in range(TRIES):
        with suppress(Exception), warnings.catch_warnings(action="ignore"):
            session.stop()
            return


def executors(context: Any) -> int:
    """How many processes work for us at the moment; the driver is one where it works itself."""
    infos = context._jsc.sc().statusTracker().getExecutorInfos()
    return len(infos) if context.master.startswith("local[") else len(infos) - 1


def _open_session() -> Any:
    """The session that this program has; one that has ended by itself is cleared away."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context: Any = SparkContext._active_spark_context
    if context is None:
        return None
    if context._jsc is None or context._jsc.sc().isStopped():
        end_session(context)
        return None
    return SparkSession.getActiveSession() or SparkSession(context)


def _launch(conf: Any, said: IO[bytes]) -> None:
    """Start Java with its messages in a file, unless it runs already."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        gateway = launch_gateway(conf, {"stderr": said, "stdout": said})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def _patient(master: str) -> str:
    """On this machine too, Spark is to do the task of a worker that died again."""
    if master == "local":
        master = "local[1]"
    found = re.fullmatch(r"local\[([^,\]]+)\]", master)
    return f"local[{found[1]},4]" if found else master


def _check_answers(master: str) -> None:
    """Spark asks a master for a minute; that nobody listens there shows at once."""
    hosts = re.findall(r"([^,/]+):(\d+)", master.removeprefix("spark://"))
    if not master.startswith("spark://") or not hosts:
        return
    for host, port in hosts:
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER).close()
        except OSError as error:
            last = error
        else:
            return
    raise SynsetmineError(f"no Spark master answers at {master}: {last}") from last


def _is_here(master: str) -> bool:
    return master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:"))


@contextmanager
def _own_python() -> Iterator[None]:
    """Workers run this Python, unless the environment names another."""
    named = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = named or sys.executable
    try:
        yield
    finally:
        if named is None:
            del os.environ["PYSPARK_PYTHON"]
