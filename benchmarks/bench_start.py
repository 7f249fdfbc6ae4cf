"""How long commands take to start, beside the libraries that they cannot do without.

    python -m benchmarks.bench_start

Each is a process of its own, in turn with the others, and each figure the median; the first turn,
which writes byte code, is left out.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from synsetmine.errors import in_one_line

NAMES = "Q fever\nq-fever\nMyocardial infarction\nheart attack\nAspirin\nacetylsalicylic acid\n"
NAMES += "United Kingdom\nUK\nBig Ben\nBig Bend\n"
PROGRAM = """
import typer, typer.rich_utils
app = typer.Typer()
app.callback()(lambda: None)
app.command("one")(lambda: None)
app(["--help"])
"""


def main() -> None:
    options = _options()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder, "names.txt")
        names.write_text(NAMES, encoding="utf-8")
        commands = {
            "Python alone": ["-c", "pass"],
            "`import synsetmine`": ["-c", "import synsetmine"],
            "a program of typer with one command, `--help`": ["-c", PROGRAM],
            "`synsetmine --version`": ["-m", "synsetmine", "--version"],
            "`synsetmine --help`": ["-m", "synsetmine", "--help"],
            "`synsetmine group --help`": ["-m", "synsetmine", "group", "--help"],
            "numpy, scipy.sparse and pyarrow": ["-c", "import numpy, scipy.sparse, pyarrow"],
            "`synsetmine group` of ten names": ["-m", "synsetmine", "group", str(names)],
        }
        turns = [
            {what: _start(arguments, environment) for what, arguments in commands.items()}
            for _ in range(options.times + 1)
        ][1:]
    print("| | seconds | CPU seconds |\n| --- | --- | --- |")
    for what in commands:
        seconds, processor = zip(*(turn[what] for turn in turns), strict=True)
        print(f"| {what} | {statistics.median(seconds):.3f} | {statistics.median(processor):.3f} |")


def _start(arguments: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"error: {' '.join(arguments)} ended with {status}")
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--times", type=int, default=15)
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
