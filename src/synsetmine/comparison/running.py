"""Runs methods on a plan: each with each seed in a process of its own, so that time and memory
are its own, and one that fails takes no other with it."""

from __future__ import annotations

import pickle
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from synsetmine.baselines.base import Labels
from synsetmine.baselines.registry import Entry
from synsetmine.comparison.memory import Memory
from synsetmine.comparison.plan import MEASURES, Plan, SeedResult
from synsetmine.comparison.tuning import choose
from synsetmine.devices import limit_threads
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.files import write_text
from synsetmine.metrics import evaluate
from synsetmine.types import SynonymSets, Term
from synsetmine.workers import cores, end_with_parent, fork_serving

Progress = Callable[[int, int, str], None]


def compare(
    plan: Plan,
    entries: Sequence[Entry],
    *,
    out: Path | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> dict[str, list[SeedResult]]:
    """The results of each method, seed by seed.

    With `out`, each is written there when it is done, and a broken comparison goes on with what
    is left. What failed before is tried again.
    """
    if out is not None:
        (out / "seeds").mkdir(parents=True, exist_ok=True)  # an unwritable place is told at once
    jobs = [(entry, seed) for seed in range(plan.seeds) for entry in entries]
    done = {} if out is None else _read_results(out, plan, jobs)
    waiting = [(entry, seed) for entry, seed in jobs if (entry.name, seed) not in done]
    if progress:
        progress(len(done), len(jobs), "")
    for result in _run(plan, waiting, workers):
        done[result.method, result.seed] = result
        if out is not None:
            write_text(_result_file(out, result.method, result.seed), result.to_json())
        if progress:
            progress(len(done), len(jobs), result.method)
    return {e.name: [done[e.name, seed] for seed in range(plan.seeds)] for e in entries}


def run_seed(plan: Plan, entry: Entry, seed: int) -> SeedResult:
    """One method with one seed: tune, learn, then cluster the test terms in each order."""
    lesson = plan.lesson(entry, seed)
    memory = Memory()
    started = time.perf_counter()
    chosen = choose(entry, lesson, samples=plan.samples, expect_size=plan.expect_size)
    tuned = time.perf_counter()
    method = entry.variants[chosen.variant]
    clusterer = method.learn(lesson)
    learned = time.perf_counter()
    seconds: list[float] = []
    reports: list[dict[str, float]] = []
    for order in range(plan.orders if entry.ordered else 1):
        problem = plan.problem(entry, seed, order)
        begun = time.perf_counter()
        (labels,) = clusterer.cluster(problem, [chosen.choice])
        seconds.append(time.perf_counter() - begun)
        report = evaluate(_sets(problem.terms, labels), plan.test)
        reports.append({measure: float(getattr(report, measure)) for measure in MEASURES})
    taken = memory.peak()
    return SeedResult(
        method=entry.name,
        seed=seed,
        digest=plan.digest(entry),
        reports=tuple(reports),
        variant=str(method),
        choice=chosen.choice,
        tuned_score=chosen.score,
        tuning_seconds=tuned - started,
        training_seconds=learned - tuned,
        prediction_seconds=statistics.median(seconds),
        memory=taken,
        without_view=len(plan.test.terms) - len(problem.terms),
        device=plan.device,
    )


def _sets(terms: Sequence[Term], labels: Labels) -> SynonymSets:
    if len(labels) != len(terms):
        raise SynsetmineError(f"{len(labels)} labels for {len(terms)} terms")
    return SynonymSets.from_labels(terms, labels.tolist())


def _run(plan: Plan, jobs: Iterable[tuple[Entry, int]], workers: int) -> Iterator[SeedResult]:
    """Results as they come; a thread waits for each process."""
    threads = max(cores() // workers, 1)
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(_in_process, plan, entry, seed, threads) for entry, seed in jobs]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _in_process(plan: Plan, entry: Entry, seed: int, threads: int) -> SeedResult:
    # One server imports what all methods need; each process is forked from it, fresh and quick.
    context = fork_serving()
    context.set_forkserver_preload(["synsetmine.baselines.registry", "torch"])
    with ProcessPoolExecutor(1, context, initializer=end_with_parent) as process:
        try:
            found = process.submit(_guarded, pickle.dumps((plan, entry, seed)), threads).result()
        except BrokenProcessPool:
            found = "its process died, perhaps for lack of memory"
    if isinstance(found, SeedResult):
        return found
    return SeedResult(method=entry.name, seed=seed, digest=plan.digest(entry), failure=found)


def _guarded(job: bytes, threads: int) -> SeedResult | str:
    """The result, or what went wrong in words: the other methods go on."""
    from threadpoolctl import threadpool_limits

    limit_threads(threads)
    try:
        # Unpacked here, so that a job that cannot be is told from one that died.
        plan, entry, seed = pickle.loads(job)  # noqa: S301
        with threadpool_limits(threads):
            return run_seed(plan, entry, seed)
    except Exception as error:
        return str(error) if isinstance(error, SynsetmineError) else repr(error)


def _result_file(out: Path, method: str, seed: int) -> Path:
    return out / "seeds" / f"{method}-{seed}.json"


def _read_results(
    out: Path, plan: Plan, jobs: Iterable[tuple[Entry, int]]
) -> dict[tuple[str, int], SeedResult]:
    found: dict[tuple[str, int], SeedResult] = {}
    for entry, seed in jobs:
        path = _result_file(out, entry.name, seed)
        if not path.exists():
            continue
        result = SeedResult.read(path)
        if result.failure is not None:
            continue
        if result.digest != plan.digest(entry):
            problem = "this result belongs to other data or settings; choose another folder"
            raise DataError(problem, path=path)
        found[entry.name, seed] = result
    return found
