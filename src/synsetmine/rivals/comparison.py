"""A comparison of methods: what is run, on what, and the figures."""

from __future__ import annotations

import json
import pickle
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from synsetmine import __version__
from synsetmine.devices import limit_threads
from synsetmine.engines.workers import cores, end_with_parent, forkserver_context
from synsetmine.errors import DataError, SynsetmineError, require
from synsetmine.io.files import read_json, write_text
from synsetmine.metrics import compare_labels, evaluate
from synsetmine.models.base import fingerprint
from synsetmine.rivals.base import Choice, ClusteringTask, Labels, Method, TrainingData
from synsetmine.rivals.registry import MethodEntry
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermViews, View

MEASURES = ("ari", "fmi", "nmi", "pair_precision", "pair_recall", "pair_f1")


MEMORISED = 0.1  # share of the test terms; by chance some surfaces are those of training terms


@dataclass(frozen=True, kw_only=True)
class ComparisonPlan:
    """Data and protocol: the same for all methods."""

    training: SynonymSets
    test: SynonymSets
    views: TermViews
    seeds: int = 5
    orders: int = 20  # random vocabulary orders for each seed
    samples: int = 5  # subsamples of the training sets that hyper-parameters are tuned on
    expect_size: int = 2  # sets of at least this many terms come first in those subsamples
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("seeds", "orders", "samples", "expect_size"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1", getattr(self, name))
        shared = [term for term in self.test.terms if term in self.training]
        if shared:
            raise DataError("a test term is also in a training set", value=str(shared[0]))
        learned = [term for term in self.test.terms if term.surface in self.views.learned]
        if len(learned) > MEMORISED * len(self.test.terms):
            terms = f"{len(learned)} of {len(self.test.terms)} test terms"
            raise DataError(f"the encoder was tuned on {terms}, such as", value=str(learned[0]))

    @cached_property
    def _digest(self) -> str:
        tables = [*self.views.vectors, *filter(None, [self.views.encoder])]
        sets = [[[str(t) for t in members] for members in s] for s in (self.training, self.test)]
        protocol = [self.orders, self.samples, self.expect_size, self.device]
        known = [[str(term) for term in table.terms] for table in tables]
        shape = [len(self.views.vectors), self.views.encoder is not None]
        learned = sorted(self.views.learned)
        return fingerprint(
            [sets, protocol, known, shape, *learned], [table.matrix for table in tables]
        )

    def digest(self, entry: MethodEntry) -> str:
        """With the same digest, a method gives the same scores."""
        variants = [[str(method), *map(dict, method.choices)] for method in entry.variants]
        return fingerprint([self._digest, entry.name, variants, __version__], [])

    def data(self, entry: MethodEntry, seed: int) -> TrainingData:
        return TrainingData(
            training=self.training.restrict(self._terms_in_views(entry, self.training.terms)),
            views=self.views,
            size=len(self.test.terms),
            seed=seed,
            device=self.device,
        )

    def task(self, entry: MethodEntry, seed: int, order: int) -> ClusteringTask:
        """The test terms that have what the method needs, in a random order."""
        walk = order_terms(self._terms_in_views(entry, self.test.terms), "random", seed=order)
        k = len(self.test.restrict(walk)) if entry.needs_k else None
        return ClusteringTask(
            terms=tuple(walk), views=self.views, k=k, seed=seed * self.orders + order
        )

    def _terms_in_views(self, entry: MethodEntry, terms: tuple[Term, ...]) -> list[Term]:
        views: list[View] = [view for view in entry.needs if view != "strings"]
        tables = [self.views.table(view) for view in views]
        return [term for term in terms if all(term in table for table in tables)]


@dataclass(frozen=True, kw_only=True)
class SeedResult:
    """One method with one seed; scores are fractions, one report for each order."""

    method: str
    seed: int
    digest: str  # of the plan and the method
    reports: tuple[Mapping[str, float], ...] = ()
    variant: str = ""
    choice: Mapping[str, Any] | None = None
    tuned_score: float | None = None  # mean ARI on the subsamples
    tuning_seconds: float = 0.0
    training_seconds: float = 0.0
    prediction_seconds: float = 0.0  # the median over orders
    memory: int | None = None  # bytes at the peak beyond what was there before; None: not known
    without_view: int = 0  # test terms that lack what the method needs, and stand alone
    device: str = "cpu"
    failure: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> SeedResult:
        try:
            record = read_json(path)
            return replace(cls(**record), reports=tuple(record["reports"]))
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"not a result of a comparison ({error})", path=path) from error


class Memory:
    """Watches from when it is made how much more memory this process takes, at the peak."""

    def __init__(self) -> None:
        with suppress(OSError):  # Linux: the peak from now on, not of what was read before
            Path("/proc/self/clear_refs").write_text("5")
        self._before = _status("VmRSS") or _most()

    def peak(self) -> int:
        """Bytes at the peak beyond those at the start."""
        return max((_status("VmHWM") or _most()) - self._before, 0)


def _status(name: str) -> int | None:
    """A value of Linux's record of this process, in bytes."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return None


def _most() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


SMALLEST = 100  # terms of a subsample: with fewer, chance would choose


@dataclass(frozen=True)
class BestVariant:
    """The best variant and choice of a method, with its mean ARI on the subsamples."""

    variant: int
    choice: Choice
    score: float | None  # None where there was nothing to choose from


def choose(
    entry: MethodEntry, data: TrainingData, *, samples: int, expect_size: int
) -> BestVariant:
    """The variant and choice with the best mean ARI over subsamples; of equals the first."""
    candidates = [(v, c) for v, m in enumerate(entry.variants) for c in range(len(m.choices))]
    if len(candidates) == 1:
        return BestVariant(0, entry.variants[0].choices[0], None)
    scores: dict[tuple[int, int], list[float]] = {candidate: [] for candidate in candidates}
    for sample in range(samples):
        seed = data.seed * samples + sample
        size = max(data.size, SMALLEST)
        rest, held = subsample(data.training, size, seed=seed, expect_size=expect_size)
        for number, method in enumerate(entry.variants):
            ari = _score(method, replace(data, training=rest), held, seed)
            for choice, score in enumerate(ari):
                scores[number, choice].append(score)
    means = {candidate: statistics.fmean(values) for candidate, values in scores.items()}
    variant, choice = max(candidates, key=lambda candidate: means[candidate])
    return BestVariant(variant, entry.variants[variant].choices[choice], means[variant, choice])


def subsample(
    sets: SynonymSets, terms: int, *, seed: int, expect_size: int = 2
) -> tuple[SynonymSets, SynonymSets]:
    """Split into (rest, held out): sets in random order until about `terms` terms are held out.

    Sets of at least `expect_size` terms come first: training sets are mostly pairs, and where the
    sets to be found are larger, a threshold from pairs would tear them apart. At most half of the
    sets are held out.
    """
    require(len(sets) >= 2, "tuning needs at least two training sets", len(sets))
    order = list(range(len(sets)))
    random.Random(seed).shuffle(order)  # noqa: S311
    order.sort(key=lambda number: sets.sizes[number] < expect_size)
    held: set[int] = set()
    size = 0
    for number in order[: max(len(sets) // 2, 1)]:
        if size >= terms:
            break
        held.add(number)
        size += sets.sizes[number]
    return sets.pick(n for n in range(len(sets)) if n not in held), sets.pick(sorted(held))


def _score(method: Method, data: TrainingData, held: SynonymSets, seed: int) -> list[float]:
    """The ARI of each choice on the held-out sets."""
    clusterer = method.fit(data)
    walk = tuple(order_terms(held.terms, "random", seed=seed))
    k = len(held) if method.needs_k else None
    task = ClusteringTask(terms=walk, views=data.views, k=k, seed=seed)
    gold = held.labels(walk)
    return [compare_labels(labels, gold).ari for labels in clusterer.cluster(task, method.choices)]


Progress = Callable[[int, int, str], None]


def compare(
    plan: ComparisonPlan,
    entries: Sequence[MethodEntry],
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
        # Fails before any work if it is not writable.
        (out / "seeds").mkdir(parents=True, exist_ok=True)
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


def run_seed(plan: ComparisonPlan, entry: MethodEntry, seed: int) -> SeedResult:
    """One method with one seed: tune, learn, then cluster the test terms in each order."""
    data = plan.data(entry, seed)
    memory = Memory()
    started = time.perf_counter()
    chosen = choose(entry, data, samples=plan.samples, expect_size=plan.expect_size)
    tuned = time.perf_counter()
    method = entry.variants[chosen.variant]
    clusterer = method.fit(data)
    learned = time.perf_counter()
    seconds: list[float] = []
    reports: list[dict[str, float]] = []
    for order in range(plan.orders if entry.depends_on_order else 1):
        task = plan.task(entry, seed, order)
        begun = time.perf_counter()
        (labels,) = clusterer.cluster(task, [chosen.choice])
        seconds.append(time.perf_counter() - begun)
        report = evaluate(_sets(task.terms, labels), plan.test)
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
        without_view=len(plan.test.terms) - len(task.terms),
        device=plan.device,
    )


def _sets(terms: Sequence[Term], labels: Labels) -> SynonymSets:
    if len(labels) != len(terms):
        raise SynsetmineError(f"{len(labels)} labels for {len(terms)} terms")
    return SynonymSets.from_labels(terms, labels.tolist())


def _run(
    plan: ComparisonPlan, jobs: Iterable[tuple[MethodEntry, int]], workers: int
) -> Iterator[SeedResult]:
    """Results as they come; a thread waits for each process."""
    threads = max(cores() // workers, 1)
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(_in_process, plan, entry, seed, threads) for entry, seed in jobs]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _in_process(plan: ComparisonPlan, entry: MethodEntry, seed: int, threads: int) -> SeedResult:
    # One server imports what all methods need; each process is forked from it, fresh and quick.
    context = forkserver_context()
    context.set_forkserver_preload(["synsetmine.rivals.registry", "torch"])
    with ProcessPoolExecutor(1, context, initializer=end_with_parent) as process:
        try:
            outcome = process.submit(
                _run_or_explain, pickle.dumps((plan, entry, seed)), threads
            ).result()
        except BrokenProcessPool:
            outcome = "its process died, perhaps for lack of memory"
    if isinstance(outcome, SeedResult):
        return outcome
    return SeedResult(method=entry.name, seed=seed, digest=plan.digest(entry), failure=outcome)


def _run_or_explain(job: bytes, threads: int) -> SeedResult | str:
    """The result, or what went wrong in words: the other methods go on."""
    from threadpoolctl import threadpool_limits

    limit_threads(threads)
    try:
        # Unpickled here: a job that cannot be unpickled is an error of its own, not a dead process.
        plan, entry, seed = pickle.loads(job)  # noqa: S301
        with threadpool_limits(threads):
            return run_seed(plan, entry, seed)
    except Exception as error:
        return str(error) if isinstance(error, SynsetmineError) else repr(error)


def _result_file(out: Path, method: str, seed: int) -> Path:
    return out / "seeds" / f"{method}-{seed}.json"


def _read_results(
    out: Path, plan: ComparisonPlan, jobs: Iterable[tuple[MethodEntry, int]]
) -> dict[tuple[str, int], SeedResult]:
    results: dict[tuple[str, int], SeedResult] = {}
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
        results[entry.name, seed] = result
    return results
