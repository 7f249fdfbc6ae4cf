"""What each command takes, on three sizes of data: seconds, CPU seconds and memory.

    python -m benchmarks.bench_commands --data ../shared/data/medline
    python -m benchmarks.bench_commands --data ../shared/data/medline --names LISTS --quick

The folder holds `corpus.jsonl.gz` and `mesh.jsonl.gz`; a corpus is the first documents. Names are
those of lists (see names.py), or made up. Each command runs as a user runs it, in a process of its
own; memory is that of its largest process. `run` has the seconds of its stages too. *Announced* is
what the command says before it starts.

The second table is for the cost of other data: from the two larger sizes, what each takes at least,
and what each further thousand names or MB of text adds. A run's knowledge base is the same for all
sizes, so that its names are part of the first.
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
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.names import listed_names, made_up_names
from synsetmine.errors import in_one_line
from synsetmine.pipeline.cost import Cost

NAMES, DOCUMENTS = (1_000, 10_000, 100_000), (1_000, 5_000, 33_277)
QUICK = (200, 400, 800)


class Size(NamedTuple):
    amount: float
    unit: str
    words: str

    @classmethod
    def of_names(cls, count: int) -> Size:
        return cls(count / 1000, "1,000 names", f"{count:,} names")

    @classmethod
    def of_text(cls, abstracts: int, path: Path) -> Size:
        megabytes = path.stat().st_size / 1e6
        return cls(megabytes, "MB of text", f"{abstracts:,} abstracts, {megabytes:.1f} MB; MeSH")


class Bill(NamedTuple):
    command: str
    size: Size
    seconds: float
    processor: float | None = None  # seconds; None for a stage of `run`
    memory: float | None = None  # GB
    announced: Cost | None = None


def main() -> None:
    options = _options()
    print("| command | data | seconds | CPU seconds | GB | announced |")
    print("| --- | --- | --- | --- | --- | --- |")
    bills: dict[str, list[Bill]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as temporary:
        for bill in _bills(options, Path(temporary)):
            numbers = f"{bill.seconds:.1f} | {_shown(bill.processor, 1)} | {_shown(bill.memory, 2)}"
            announced = str(bill.announced or "").removesuffix(" of memory")
            print(f"| {bill.command} | {bill.size.words} | {numbers} | {announced} |", flush=True)
            bills[bill.command].append(bill)
    print("\n| command | seconds | CPU seconds | GB |\n| --- | --- | --- | --- |")
    for command, own in bills.items():
        print(f"| {command} | {' | '.join(_arithmetic(own))} |")


def _arithmetic(bills: Sequence[Bill]) -> Iterator[str]:
    """`a + b a unit` of the seconds, the CPU seconds and the memory."""
    few, many = bills[-2:]
    for before, after, digits in (
        (few.seconds, many.seconds, 2),
        (few.processor, many.processor, 2),
        (few.memory, many.memory, 4),
    ):
        if before is None or after is None:
            yield ""
            continue
        slope = max((after - before) / (many.size.amount - few.size.amount), 0)
        least = max(after - slope * many.size.amount, 0)
        yield f"{least:.1f} + {slope:.{digits}f} per {many.size.unit}"


def _shown(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _bills(options: argparse.Namespace, folder: Path) -> Iterator[Bill]:
    for count in QUICK if options.quick else NAMES:
        drawn = listed_names(options.names, count, 0) if options.names else made_up_names(count, 0)
        (folder / "names.txt").write_text("\n".join(drawn.texts) + "\n", encoding="utf-8")
        size = Size.of_names(count)
        bill = _bill(folder, "group", size, ["names.txt", "-o", "sets.jsonl"])
        yield bill._replace(announced=Cost.of_group(count))
        planned = ["names.txt", "--plan", "plan.jsonl"]
        yield _bill(folder, "group", size, planned)._replace(command="`group --plan`")
    kb = (options.data / "mesh.jsonl.gz").absolute()
    for count in QUICK if options.quick else DOCUMENTS:
        corpus = folder / "corpus.jsonl"
        with gzip.open(options.data / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            corpus.write_text("".join(islice(lines, count)), encoding="utf-8")
        (folder / "synsetmine.toml").write_text(
            f'run = "run-{count}"\n[corpus]\npath = "corpus.jsonl"\n'
            f"[kb]\npath = {json.dumps(str(kb))}\n"
        )
        size, run = Size.of_text(count, corpus), f"run-{count}"
        yield _bill(folder, "abbreviations", size, ["corpus.jsonl", "-o", "abbreviations.tsv"])
        bill = _bill(folder, "run", size, [])
        yield bill._replace(announced=Cost.of_run([corpus], kb))
        manifest = json.loads((folder / run / "manifest.json").read_text(encoding="utf-8"))
        for stage, record in manifest["stages"].items():
            yield Bill(f"its stage {stage}", size, record["seconds"])
        yield _bill(folder, "export", size, [run, "--format", "solr", "--out", "synonyms.txt"])
        yield _bill(folder, "report", size, [run])


def _bill(folder: Path, command: str, size: Size, arguments: Sequence[str]) -> Bill:
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
