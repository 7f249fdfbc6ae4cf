"""`synsetmine group` on many names, against clustering of the same static vectors, in one run.

    python -m benchmarks.bench_group                          # 10k, 100k and 1M made-up names
    python -m benchmarks.bench_group --names LISTS            # of name lists, see names.py
    python -m benchmarks.bench_group --names LISTS --seeds 3 --weights WEIGHTS
    python -m benchmarks.bench_group --contexts FOLDER        # of MEDLINE, with their sentences

Ours is the command from its start to the file with the sets. The others get the vectors that the
general model's static encoder gives to the names, and nothing else; their clock runs from names in
memory to sets, with all libraries loaded. The parameters of each are those of a grid that give the
highest ARI on `--training` other names. Average linkage needs memory for a square of the names,
community detection and the neighbours of Louvain need time for it, so each stops at some size.

With contexts the others get the vectors of "name: context". The ARI is that of the names that MeSH
has; FOLDER has `corpus.jsonl.gz` and `mesh.jsonl.gz`.

The packaged weights were learned from the lists. WEIGHTS are those of `experiments.unseen_names`,
which have not seen the names. Several seeds draw several lists; the figures are their means.

Each method and size runs in a process of its own. A name that a method leaves over is a set of
one. Seconds depend on the machine and on other work there, CPU seconds and ratios less so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from benchmarks.bench_scale import (
    FEW,
    Result,
    in_process,
    limit_memory,
    measure,
    run_timed,
)
from benchmarks.methods import METHODS
from benchmarks.names import LabelledNames, listed_names, made_up_names, phrases_in_context
from benchmarks.synthetic import Numbers
from synsetmine.engines.workers import cores
from synsetmine.errors import in_one_line
from synsetmine.models.general import load_general
from synsetmine.normalization import name_key

RIVALS = ("agglomerative", "hdbscan", "communities", "duplicates", "louvain")


def main() -> None:
    options = _options()
    os.environ["OMP_NUM_THREADS"] = str(options.workers)  # the processes below inherit it
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        in_process(_prepare, folder, options)
        results: list[_Results] = []
        for size in options.sizes:
            for name in ("ours", *options.methods):
                done = [
                    _measure_command(size, seed, folder, options)
                    if name == "ours"
                    else measure(partial(_work, seed), name, size, folder, options, _first(results))
                    for seed in _seeds(options)
                ]
                print(*done, sep="\n", flush=True)
                results.append(_Results(done))
    source = options.names or options.contexts or "made up"
    seeds = ", ".join(map(str, _seeds(options)))
    print(f"\n{options.workers} threads, seed {seeds}, names: {source}\n")
    print("\n".join(_table(results)))


def _prepare(folder: Path, options: argparse.Namespace) -> None:
    """Names and the parameters of the others; those that the folder has stay."""
    draws = {"training": (options.training, options.seed + 1_000_000)}
    draws |= {f"{size}-{seed}": (size, seed) for size in options.sizes for seed in _seeds(options)}
    for name, (count, seed) in draws.items():
        path = folder / f"{name}.txt"
        if not path.exists():
            _names(options, count, seed).save(path)
    training = LabelledNames.load(folder / "training.txt")
    rows = load_general(folder=options.weights).encoder.encode(training.texts)
    for name in options.methods:
        chosen = folder / f"{name}.json"
        if not chosen.exists():
            method, choices = METHODS[name]
            scores = [training.ari(method(rows, **choice)) for choice in choices]
            best = int(np.argmax(scores))
            chosen.write_text(json.dumps(choices[best]))
            print(f"{name}: {choices[best]}, ARI {100 * scores[best]:.1f} on the training names")


def _names(options: argparse.Namespace, count: int, seed: int) -> LabelledNames:
    if options.contexts:
        return phrases_in_context(options.contexts, count, seed)
    return listed_names(options.names, count, seed) if options.names else made_up_names(count, seed)


def _work(
    seed: int,
    results: Connection,
    name: str,
    size: int,
    folder: Path,
    options: argparse.Namespace,
) -> None:
    names = LabelledNames.load(folder / f"{size}-{seed}.txt")
    choice = json.loads((folder / f"{name}.json").read_text())
    encoder = load_general(folder=options.weights).encoder
    method = METHODS[name][0]
    texts = names.texts
    method(encoder.encode(texts[:FEW]), **choice)  # loads libraries
    limit_memory(options)
    run_timed(results, lambda: method(encoder.encode(texts), **choice), names.ari)


# `group` with other weights, for which the command has no option.
WITH_WEIGHTS = """
import sys
from synsetmine import group
from synsetmine.models.general import load_general
names, out, weights = sys.argv[1:]
with open(names, encoding="utf-8") as lines:
    texts = lines.read().split("\\n")[:-1]
group(texts, model=load_general(folder=weights)).write(out)
"""


def _measure_command(size: int, seed: int, folder: Path, options: argparse.Namespace) -> Result:
    """`synsetmine group` as a user runs it; with other weights its function."""
    path = folder / f"{size}-{seed}.txt"
    names = LabelledNames.load(path)
    out = folder / f"{size}-{seed}-sets.jsonl"
    command = ["-m", "synsetmine", "group", "-o", str(out)]
    if options.weights:
        command = ["-c", WITH_WEIGHTS, str(path), str(out), str(options.weights)]
    elif names.contexts:
        command += [str(path.with_suffix(".jsonl")), "--context-column", "context"]
    else:
        command.append(str(path))
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, *command], stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        return Result("ours", size, problem=f"ended with {os.waitstatus_to_exitcode(status)}")
    ari = names.ari(_labels(out, names.names))
    processor = usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9
    return Result("ours", size, seconds, processor, 0.0, peak, ari)


def _labels(sets: Path, names: Sequence[str]) -> Numbers:
    """The number of each name's set; a name of no set has one of its own."""
    with sets.open(encoding="utf-8") as lines:
        set_of = {
            name_key(name): number
            for number, line in enumerate(lines)
            for name in json.loads(line)["terms"]
        }
    single = len(set_of)
    return np.array([set_of.get(name_key(n), single + i) for i, n in enumerate(names)], np.int64)


def _seeds(options: argparse.Namespace) -> range:
    return range(options.seed, options.seed + options.seeds)


@dataclass(frozen=True)
class _Results:
    """Of one method and size, with several seeds."""

    each: Sequence[Result]

    @property
    def first(self) -> Result:
        """The first that failed, or else the first."""
        return next((result for result in self.each if result.problem), self.each[0])

    def mean(self, name: str) -> float:
        return fmean(getattr(result, name) for result in self.each)

    @property
    def ari(self) -> str:
        values = [100 * result.ari for result in self.each]
        return f"{fmean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def _first(results: Sequence[_Results]) -> list[Result]:
    return [result.first for result in results]


def _table(results: Sequence[_Results]) -> Iterator[str]:
    """Markdown: a line for each method and size, with ratios to ours."""
    own = {result.first.size: result for result in results if result.first.method == "ours"}
    yield "| names | method | seconds | ratio | CPU seconds | ratio | GB | ratio | ARI |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for result in results:
        first = result.first
        start = f"| {first.size:,} | {first.method} |"
        if first.problem:
            yield f"{start} {first.problem} | | | | | | |"
            continue
        columns = []
        for name, digits in (("seconds", 1), ("processor", 1), ("peak", 2)):
            value, reference = result.mean(name), own[first.size].mean(name)
            columns.append(f"{value:.{digits}f} | {value / reference:.2f}×")
        yield f"{start} {' | '.join(columns)} | {result.ari} |"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    all_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    add = parser.add_argument
    add("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000], help="names")
    source = parser.add_mutually_exclusive_group()
    lists = "name lists: a .jsonl or .jsonl.gz file, or a folder of them"
    source.add_argument("--names", type=Path, help=lists)
    source.add_argument("--contexts", type=Path, help="folder of MEDLINE abstracts and MeSH")
    add("--methods", nargs="*", choices=RIVALS, default=list(RIVALS), help="beside ours")
    add("--training", type=int, default=3_000, help="names to choose the others' parameters by")
    add("--workers", type=int, default=cores(), help="threads")
    add("--seed", type=int, default=0)
    add("--seeds", type=int, default=1, help="lists of each size, drawn with seeds from --seed on")
    add("--weights", type=Path, help="weights of the general model; by default the package's")
    add("--timeout", type=float, default=1200, help="seconds for each of the others and size")
    add("--memory", type=float, default=0.9 * all_memory, help="GB for each of the others")
    add("--folder", type=Path, help="keeps names and parameters for further runs")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
