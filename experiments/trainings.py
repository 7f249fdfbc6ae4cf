"""Trained scorers that several experiments share, each trained once and kept in the work folder.

authors: all training sets, the vocabulary in file order, the epoch chosen by the score on the
         *test* sets, as the authors' released program does. For comparison with the paper only.
honest:  the epoch chosen on held-out training sets; the test sets are looked at once, in random
         vocabulary orders.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypeVar

import torch

from experiments.benchmarkdata import MADE, Benchmark, benchmarks, load
from experiments.options import Options
from synsetmine.engines.workers import end_with_parent
from synsetmine.errors import DataError
from synsetmine.io.files import sha256, write_text
from synsetmine.metrics import evaluate
from synsetmine.models import StoredModel, generate_sets, load_model, save_model
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.settings import TrainingSettings
from synsetmine.models.paper.train import Validation, train_scorer
from synsetmine.models.storage import WEIGHTS
from synsetmine.rivals.comparison import MEASURES
from synsetmine.types import Term, order_terms

Protocol = Literal["honest", "authors"]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Training:
    """One training: on what, how, under which protocol; the seed is in the settings."""

    benchmark: str
    vectors: str
    settings: TrainingSettings
    protocol: Protocol = "honest"
    data: str = ""  # the digest of the benchmark

    @property
    def key(self) -> str:
        described = json.dumps([self.settings.to_dict(), self.protocol, self.data], sort_keys=True)
        digest = hashlib.sha256(described.encode()).hexdigest()[:16]
        return f"{self.benchmark}-{self.vectors}-{digest}"


@dataclass(frozen=True)
class Outcome:
    """A training that is done: its record, and the folder of its model."""

    record: dict[str, Any]
    folder: Path

    @property
    def reports(self) -> list[dict[str, float]]:
        """The scores on the test sets, one for each order, in percent."""
        reports: list[dict[str, float]] = self.record["reports"]
        return reports

    def scorer(self) -> SetScorer:
        scorer = load_model(self.folder / "model").model
        if not isinstance(scorer, SetScorer):
            raise DataError("not a model of the paper's kind", path=self.folder)
        return scorer

    def compute_once(self, name: str, asked: Any, compute: Callable[[], Any]) -> Any:
        """What was found with this model before, if the same was asked; else computed and kept."""
        path = self.folder / f"{name}.json"
        about = {"asked": asked, "model": sha256(self.folder / "model" / WEIGHTS)}
        if path.exists():
            known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if known["about"] == about:
                return known["found"]
        found = compute()
        write_text(path, json.dumps({"about": about, "found": found}) + "\n")
        return found


def scores(outcomes: Sequence[Outcome], measure: str) -> list[float]:
    """A measure in percent for all seeds and orders."""
    return [report[measure] for outcome in outcomes for report in outcome.reports]


def seed_scores(outcomes: Sequence[Outcome], measure: str) -> list[float]:
    """A measure in percent for each seed: the mean over its orders."""
    return [fmean(report[measure] for report in outcome.reports) for outcome in outcomes]


def main_trainings(options: Options) -> list[Training]:
    """What most experiments share: honest on every table, the authors' on the paper's own."""
    found: list[Training] = []
    for benchmark in benchmarks(options, made=MADE):
        settings = benchmark.settings(options)
        found += seeds_of(benchmark, settings, options)
        if benchmark.vectors_name == "word2vec":
            found += seeds_of(benchmark, settings, options, "authors")
    return found


def honest_trainings(benchmark: Benchmark, options: Options) -> list[Training]:
    """The main trainings of one benchmark whose test sets have had no say."""
    return seeds_of(benchmark, benchmark.settings(options), options)


def honest_trainings_of(found: Sequence[Benchmark], options: Options) -> list[Training]:
    return [training for benchmark in found for training in honest_trainings(benchmark, options)]


def variants_of(
    benchmark: Benchmark, variants: Mapping[Key, Mapping[str, Any]], options: Options
) -> dict[Key, list[Training]]:
    """Trainings with changed settings, each with all seeds."""
    settings = benchmark.settings(options)
    return {
        key: seeds_of(benchmark, settings.with_changes(changes), options)
        for key, changes in variants.items()
    }


def variants_trainings(
    variants: Mapping[Key, Mapping[str, Any]], options: Options
) -> list[Training]:
    """All variants on every benchmark."""
    return [
        training
        for benchmark in benchmarks(options)
        for of_one in variants_of(benchmark, variants, options).values()
        for training in of_one
    ]


def variants_outcomes(
    done: Mapping[Training, Outcome],
    benchmark: Benchmark,
    variants: Mapping[Key, Mapping[str, Any]],
    options: Options,
) -> dict[Key, list[Outcome]]:
    """Of each variant on one benchmark, one outcome for each seed."""
    return {
        key: [done[training] for training in of_one]
        for key, of_one in variants_of(benchmark, variants, options).items()
    }


def seeds_of(
    benchmark: Benchmark,
    settings: TrainingSettings,
    options: Options,
    protocol: Protocol = "honest",
) -> list[Training]:
    """The same training with each seed."""
    return [
        Training(
            benchmark.name,
            benchmark.vectors_name,
            replace(settings, seed=seed),
            protocol,
            benchmark.digest,
        )
        for seed in range(options.seeds)
    ]


def run_trainings(trainings: Sequence[Training], options: Options) -> dict[Training, Outcome]:
    """Train what is not trained yet, several side by side; the rest is read."""
    distinct = list(dict.fromkeys(trainings))
    waiting = [t for t in distinct if not _is_done(_folder(t, options), options)]
    print(f"{len(distinct)} trainings, {len(waiting)} of them to do", flush=True)
    if options.workers <= 1:
        for number, training in enumerate(waiting, 1):
            _say(number, len(waiting), training, train(training, options))
    else:
        spawn = get_context("spawn")
        pool = ProcessPoolExecutor(options.workers, spawn, initializer=end_with_parent)
        try:
            running = {pool.submit(train, training, options): training for training in waiting}
            for number, future in enumerate(as_completed(running), 1):
                _say(number, len(waiting), running[future], future.result())
        finally:
            pool.shutdown(cancel_futures=True)
    return {t: _outcome(_folder(t, options), options) for t in distinct}


def train(training: Training, options: Options) -> float:
    """One training with its test; returns the mean ARI in percent."""
    if options.workers > 1:
        torch.set_num_threads(1)
    benchmark = load(options, training.benchmark, training.vectors)
    walk, settings = benchmark.walk, training.settings
    by_test = Validation(benchmark.test, [walk], "fmi", settings.threshold)
    started = time.perf_counter()
    trained = train_scorer(
        benchmark.training,
        benchmark.vectors,
        settings,
        validation=by_test if training.protocol == "authors" else None,
        device=options.device,
    )
    seconds = time.perf_counter() - started
    orders = [walk] if training.protocol == "authors" else random_orders(walk, options.orders)
    started = time.perf_counter()
    mined = [
        generate_sets(trained.scorer, benchmark.vectors, order, threshold=settings.threshold).sets
        for order in orders
    ]
    mining = (time.perf_counter() - started) / len(orders)
    scored = [evaluate(sets, benchmark.test) for sets in mined]
    reports = [{m: 100 * float(getattr(report, m)) for m in MEASURES} for report in scored]
    record = {
        "benchmark": training.benchmark,
        "vectors": training.vectors,
        "protocol": training.protocol,
        "settings": settings.to_dict(),
        "best_epoch": trained.best_epoch,
        "epochs_run": len(trained.history),
        "validation_score": trained.best_score,
        "fallback_share": trained.fallback_share,
        "training_seconds": round(seconds, 2),
        "mining_seconds": round(mining, 4),
        "device": device_name(options.device),
        "side_by_side": options.workers,
        "reports": reports,
    }
    folder = _folder(training, options)
    save_model(folder / "model", StoredModel(trained.scorer, settings.threshold, trained.record()))
    write_text(folder / "record.json", json.dumps(record, indent=1) + "\n")
    return sum(report["ari"] for report in reports) / len(reports)


def random_orders(walk: Sequence[Term], count: int) -> list[list[Term]]:
    return [order_terms(walk, "random", seed=i) for i in range(count)]


def device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else "CPU"


def _folder(training: Training, options: Options) -> Path:
    return options.work / "trainings" / training.key


def _is_done(folder: Path, options: Options) -> bool:
    record = folder / "record.json"
    if not record.exists():
        return False
    found = json.loads(record.read_text())
    return found["protocol"] == "authors" or len(found["reports"]) >= options.orders


def _outcome(folder: Path, options: Options) -> Outcome:
    record = json.loads((folder / "record.json").read_text())
    # A longer run may have tried more orders; the first ones are the same.
    return Outcome(record | {"reports": record["reports"][: options.orders]}, folder)


def _say(number: int, total: int, training: Training, ari: float) -> None:
    print(f"{number}/{total} {training.key} {training.protocol} ARI {ari:.2f}", flush=True)
