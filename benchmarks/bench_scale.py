"""Set generation on large vocabularies, against what one would run instead, in the same run.

    python -m benchmarks.bench_scale                          # 10k, 100k and 1M made-up terms
    python -m benchmarks.bench_scale --sizes 3000 10000 --exact

The vocabularies are those of `benchmarks/synthetic.py`. A further one, of other entities, is the
training set: our model is trained on it, and every other method's parameters are those of a grid
that give it the highest ARI there. All get the same three views. Ours takes them as they are; the
others take one row a term: the corpus vector and the encoder's, each less the mean of the training
vectors, and the string's 2- to 4-grams of characters, hashed, weighed by tf-idf and reduced to
64 dimensions by an SVD of the training terms. Each part has length one (zeros where a term has no
vector) and a weight, which is one of the parameters.

Each method and size runs in a process of its own. The clock runs from rows and terms in memory to
sets; training, tuning and the making of the rows for the others are left out. Memory is the peak of
the process with all that was loaded. A term that a method leaves over is a set of one. Seconds
depend on the machine, ratios and growth less so.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.methods import METHODS, SQUARES, Choice, ours
from benchmarks.synthetic import Floats, Numbers, Synthetic, make_vocabulary
from synsetmine.engines.workers import cores
from synsetmine.errors import in_one_line
from synsetmine.metrics import compare_labels
from synsetmine.models import DEFAULT_PRESET, load_model, save_model, settings_of
from synsetmine.views import unit_rows

Weights: TypeAlias = tuple[float, float, float]  # of corpus vectors, encoder vectors, strings
WEIGHTS: tuple[Weights, ...] = ((1, 0, 0), (1, 0.5, 0), (1, 0.5, 0.25), (1, 1, 0.5))
STRINGS = 64  # dimensions
FEW = 50  # terms


def main() -> None:
    options = _options()
    os.environ["OMP_NUM_THREADS"] = str(options.workers)  # the processes below inherit it
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        names = [name for name in METHODS if name in options.methods]
        in_process(_prepare, folder, options, names)
        results: list[Result] = []
        for size in options.sizes:
            for name in names:
                results.append(measure(_work, name, size, folder, options, results))
                print(results[-1], flush=True)
    print(f"\n{options.workers} threads, {options.device}, seed {options.seed}\n")
    print("\n".join(_table(results)))


# --- What they are given ---


def _prepare(folder: Path, options: argparse.Namespace, names: Sequence[str]) -> None:
    """Vocabularies, rows for the others, our model and their parameters; kept ones stay."""
    seeds = {f"{size}": options.seed for size in options.sizes}
    for name, seed in {"training": options.seed + 1_000_000, **seeds}.items():
        if not (folder / name / "strings.npy").exists():
            started = time.perf_counter()
            count = options.training if name == "training" else int(name)
            vocabulary = make_vocabulary(count, seed)
            vocabulary.save(folder / name)
            seconds = time.perf_counter() - started
            several = np.bincount(vocabulary.labels)
            print(
                f"{name}: {count:,} terms in {len(several):,} sets, made in {seconds:.1f} s",
                flush=True,
            )
            np.save(folder / name / "strings.npy", _strings(vocabulary, folder))
    training = Synthetic.load(folder / "training")
    if any(name.startswith("ours") for name in names) and not (folder / "model").exists():
        started = time.perf_counter()
        settings = settings_of(DEFAULT_PRESET).with_changes({"seed": options.seed})
        trained = settings.train(training.sets, training.views, device=options.device)
        save_model(folder / "model", trained.model)
        print(f"ours: trained in {time.perf_counter() - started:.1f} s", flush=True)
    for name in names:
        chosen = folder / f"{name}.json"
        if name in METHODS and METHODS[name][1] and not chosen.exists():
            started = time.perf_counter()
            ari, weights, choice = max(_tries(name, training, folder), key=lambda found: found[0])
            chosen.write_text(json.dumps([weights, choice]))
            print(
                f"{name}: {choice}, weights {weights}, ARI {100 * ari:.1f} on the training sets, "
                f"tuned in {time.perf_counter() - started:.1f} s",
                flush=True,
            )


def _tries(name: str, training: Synthetic, folder: Path) -> Iterator[tuple[float, Weights, Choice]]:
    method, choices = METHODS[name]
    for weights in WEIGHTS:
        rows = _rows("training", folder, weights)
        for choice in choices:
            yield compare_labels(method(rows, **choice), training.labels).ari, weights, choice


def _strings(vocabulary: Synthetic, folder: Path) -> Floats:
    """The strings as rows of length one: (terms, STRINGS); the SVD is the training terms'."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
    from sklearn.pipeline import make_pipeline

    features = make_pipeline(
        HashingVectorizer(
            analyzer="char_wb", ngram_range=(2, 4), n_features=1 << 18, dtype=np.float32
        ),
        TfidfTransformer(),
        TruncatedSVD(STRINGS, random_state=0),
    )
    training = (folder / "training" / "surfaces.txt").read_text(encoding="utf-8").split("\n")
    features.fit(training)
    return unit_rows(features.transform([t.surface for t in vocabulary.terms]).astype(np.float32))


def _rows(name: str, folder: Path, weights: Weights) -> Floats:
    """One row a term, of length one: the parts that weigh something, side by side."""
    parts: list[Floats] = []
    for part, weight in zip(("corpus", "encoder", "strings"), weights, strict=True):
        if weight:
            table = np.load(folder / name / f"{part}.npy")
            if part != "strings":
                training = np.load(folder / "training" / f"{part}.npy")
                mean = training[training.any(axis=1)].mean(axis=0)
                table = unit_rows((table - mean) * table.any(axis=1, keepdims=True))
            parts.append(np.float32(weight) * table)
    return unit_rows(np.hstack(parts))


# --- Time and memory, each in a process of its own ---


@dataclass(frozen=True)
class Result:
    """What came of one method at one size; without seconds `problem` says why."""

    method: str
    size: int
    seconds: float = math.nan
    processor: float = math.nan  # seconds of all cores
    loaded: float = math.nan  # GB in memory before the clock
    peak: float = math.nan  # GB
    ari: float = math.nan
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return f"{self.method}, {self.size:,} terms: {self.problem}"
        return (
            f"{self.method}, {self.size:,} terms: {self.seconds:.1f} s, {self.peak:.2f} GB "
            f"({self.loaded:.2f} before), ARI {100 * self.ari:.1f}"
        )


def measure(
    work: Callable[..., None],
    name: str,
    size: int,
    folder: Path,
    options: argparse.Namespace,
    earlier: Sequence[Result],
) -> Result:
    """Do the work, which ends in `run_timed`, in a process with limits on time and memory."""
    needs = SQUARES.get(name, 0.0) * size**2 / 1e9
    if needs > options.memory:
        return Result(name, size, problem=f"needs {needs:,.3g} GB")
    for result in earlier:  # the first one to fail says why
        if result.method == name and result.size < size and result.problem:
            return Result(name, size, problem=f"not tried: {result.problem} at {result.size:,}")
    ours_end, its_end = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=work, args=(its_end, name, size, folder, options))
    process.start()
    its_end.close()
    try:
        loaded = ours_end.recv()
        if not ours_end.poll(options.timeout):
            return Result(name, size, problem=f"over {options.timeout:,.0f} s")
        seconds, processor, peak, ari, problem = ours_end.recv()
        process.join()
        return Result(name, size, seconds, processor, loaded, peak, ari, problem)
    except EOFError:  # it was killed, for memory most likely
        return Result(name, size, problem="ended without a result")
    finally:
        process.kill()
        process.join()


def _work(
    results: Connection, name: str, size: int, folder: Path, options: argparse.Namespace
) -> None:
    vocabulary = Synthetic.load(folder / str(size))
    run = _ready(name, vocabulary, folder, options)
    if options.device == "cpu":
        limit_memory(options)
    run_timed(results, run, lambda predicted: compare_labels(predicted, vocabulary.labels).ari)


def limit_memory(options: argparse.Namespace) -> None:
    limit = int(options.memory * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def run_timed(
    results: Connection, run: Callable[[], Numbers], score: Callable[[Numbers], float]
) -> None:
    """Send the memory before, then time, memory and the score of the labels that `run` returns."""
    results.send(_memory("VmRSS"))
    started, processor = time.perf_counter(), time.process_time()
    try:
        predicted = run()
    except (MemoryError, RuntimeError) as error:  # torch says the latter
        results.send((*[math.nan] * 4, f"failed: {str(error)[:80]}"))
        return
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    peak = _memory("VmHWM")
    results.send((seconds, processor, peak, score(predicted), ""))


def _ready(
    name: str, vocabulary: Synthetic, folder: Path, options: argparse.Namespace
) -> Callable[[], Numbers]:
    """The method with all that it takes in memory; a few terms first, which loads libraries."""
    if name.startswith("ours"):
        model = load_model(folder / "model")
        ours(model, vocabulary.first(FEW), options.device)
        model.check(vocabulary.views)  # which are made now, before the clock
        return lambda: ours(model, vocabulary, options.device)
    weights, choice = json.loads((folder / f"{name}.json").read_text())
    rows = _rows(str(len(vocabulary)), folder, weights)
    METHODS[name][0](rows[:FEW], **choice)
    return lambda: METHODS[name][0](rows, **choice)


def _memory(field: str) -> float:
    """GB of this process now (VmRSS) or at its peak (VmHWM), which on other systems is both."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9


def in_process(work: Callable[..., None], *arguments: Any) -> None:
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{work.__name__} ended with {process.exitcode}")


# --- The table ---


def _table(results: Sequence[Result]) -> Iterator[str]:
    """Markdown: a line for each method and size, ratios to ours, growth since the size before."""
    own = {result.size: result for result in results if result.method == "ours"}
    yield "| terms | method | seconds | ours is faster by | GB | of it inputs | ARI | growth |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for result in results:
        start = f"| {result.size:,} | {result.method} |"
        if result.problem:
            yield f"{start} {result.problem} | | | | | |"
            continue
        ratio = result.seconds / own[result.size].seconds if result.size in own else math.nan
        faster = f"{ratio:.1f}×" if result.method != "ours" and math.isfinite(ratio) else ""
        yield (
            f"{start} {result.seconds:.1f} | {faster} | {result.peak:.2f} | {result.loaded:.2f} | "
            f"{100 * result.ari:.1f} | {_growth(result, results)} |"
        )


def _growth(result: Result, results: Sequence[Result]) -> str:
    """The power of the number of terms with which seconds grew from the size before."""
    same = [r for r in results if r.method == result.method and not r.problem]
    for before, after in pairwise(sorted(same, key=lambda r: r.size)):
        if after is result and after.size > before.size:
            power = math.log(after.seconds / before.seconds) / math.log(after.size / before.size)
            return f"n^{power:.2f}"
    return ""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    all_memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    add = parser.add_argument
    add("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000], help="terms")
    add("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    add("--training", type=int, default=10_000, help="terms of the training sets")
    add("--workers", type=int, default=cores(), help="threads")
    add("--device", default="cpu", help="of ours")
    add("--seed", type=int, default=0)
    add("--timeout", type=float, default=1200, help="seconds for each method and size")
    add("--memory", type=float, default=0.9 * all_memory, help="GB for each")
    add("--folder", type=Path, help="keeps vocabularies, model and parameters for further runs")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
