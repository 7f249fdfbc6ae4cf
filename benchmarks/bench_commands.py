"""What each command takes, on three sizes of data: seconds, CPU seconds and memory.

    python -m benchmarks.bench_commands --data ../shared/data/medline
    python -m benchmarks.bench_commands --data ../shared/data/medline --names LISTS --quick

The folder holds `corpus.jsonl.gz` and `mesh.jsonl.gz`; a corpus is the first documents. Names are
those of lists (see names.py), or made up. Each command runs as a user runs it, in a process of its
own; memory is that of its largest process. `run` has the seconds of its stages too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.names import listed_names, made_up_names
from synsetmine.errors import in_one_line

NAMES, DOCUMENTS = (1_000, 10_000, 100_000), (1_000, 5_000, 33_277)
QUICK = (200, 400, 800)


class Bill(NamedTuple):
    command: str
    size: str
    seconds: float
    processor: float = 0.0  # seconds
    memory: float | None = None  # GB; None for a stage of `run`


def main() -> None:
    options = _options()
    print("| command | data | seconds | CPU seconds | GB |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary:
        for bill in _bills(options, Path(temporary)):
            rest = "|" if bill.memory is None else f"{bill.processor:.1f} | {bill.memory:.2f}"
            print(f"| {bill.command} | {bill.size} | {bill.seconds:.1f} | {rest} |", flush=True)


def _bills(options: argparse.Namespace, folder: Path) -> Iterator[Bill]:
    for count in QUICK if options.quick else NAMES:
        drawn = listed_names(options.names, count, 0) if options.names else made_up_names(count, 0)
        (folder / "names.txt").write_text("\n".join(drawn.texts) + "\n", encoding="utf-8")
        yield _bill(folder, "group", f"{count:,} names", ["names.txt", "-o", "sets.jsonl"])
    for count in QUICK if options.quick else DOCUMENTS:
        size = f"{count:,} abstracts, MeSH"
        corpus = folder / "corpus.jsonl"
        with gzip.open(options.data / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            corpus.write_text("".join(islice(lines, count)), encoding="utf-8")
        (folder / "synsetmine.toml").write_text(
            f'run = "run-{count}"\n[corpus]\npath = "corpus.jsonl"\n'
            f"[kb]\npath = {json.dumps(str((options.data / 'mesh.jsonl.gz').absolute()))}\n"
        )
        run = f"run-{count}"
        yield _bill(folder, "abbreviations", size, ["corpus.jsonl", "-o", "abbreviations.tsv"])
        yield _bill(folder, "run", size, [])
        manifest = json.loads((folder / run / "manifest.json").read_text(encoding="utf-8"))
        for stage, record in manifest["stages"].items():
            yield Bill(f"its stage {stage}", size, record["seconds"])
        yield _bill(folder, "export", size, [run, "--format", "solr", "--out", "synonyms.txt"])
        yield _bill(folder, "report", size, [run])


def _bill(folder: Path, command: str, size: str, arguments: Sequence[str]) -> Bill:
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "synsetmine", command, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        sys.exit(f"error: {command} {' '.join(arguments)} ended with {status}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9
    return Bill(f"`{command}`", size, seconds, usage.ru_utime + usage.ru_stime, peak)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--names", type=Path, help="name lists; made-up names by default")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
