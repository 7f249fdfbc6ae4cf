"""What Spark says when something is wrong, in one line for a person."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from synsetmine.errors import SynsetmineError, shorten

CAUSES = {
    "No space left on device": "the disk of a worker or of the driver is full (spark.local.dir)",
    "No module named": "the Python of the workers lacks a package that is installed here",
    "Cannot run program": "the workers have no such Python; PYSPARK_PYTHON names another",
    "Python in worker has different version": "the workers have another version of Python",
    "exited unexpectedly": "its worker process died time and again, perhaps for lack of memory",
    "ExecutorLostFailure": "its worker died time and again, perhaps for lack of memory",
    "OutOfMemoryError": "Spark lacks memory (spark.driver.memory, spark.executor.memory)",
    "maxResultSize": "the results are too large (spark.driver.maxResultSize)",
    "SparkContext was shut down": "the session of Spark ended; its master may have gone",
    "stopped SparkContext": "the session of Spark ended; its master may have gone",
    "Connection refused": "Java, in which Spark runs here, has ended",
    "Answer from Java side is empty": "Java, in which Spark runs here, has ended",
}
_TASK = re.compile(r"Task (\d+) in stage \S+ failed \d+ times")


@contextmanager
def raised_by_spark(name: Callable[[int], str] | None = None) -> Iterator[None]:
    """Errors of Spark and of its Java as ours; `name` says what a task of the job works on."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException, OSError, EOFError) as error:
        raise SynsetmineError(in_one_line(_text(error), name)) from error


def in_one_line(text: str, name: Callable[[int], str] | None = None) -> str:
    task = _TASK.search(text)
    where = f"{name(int(task[1]))}: " if task and name else ""
    for sign, cause in CAUSES.items():
        if sign in text:
            line = next((line for line in text.splitlines() if sign in line), "")
            return f"{where}Spark: {cause}: {shorten(line.strip())}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{where}Spark: {shorten(lines[0], 300) if lines else 'it ended without a word'}"


def _text(error: BaseException) -> str:
    try:
        cause = error.java_exception  # type: ignore[attr-defined]
        return str(cause.toString())
    except Exception:  # there is none, or no Java any more that could be asked
        return str(error)
