"""Hyper-parameters by k-fold cross validation on the training sets, in parallel processes.

Each completed (candidate, fold) is one line in `results.jsonl`, so an interrupted run resumes.
"""

from __future__ import annotations

import itertools
import json
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from synsetmine.engines.workers import WorkerDiedError, WorkerPool
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.files import numbered_lines, write_text
from synsetmine.models.base import fingerprint
from synsetmine.models.paper.settings import TrainingSettings
from synsetmine.models.paper.train import Validation, train_scorer
from synsetmine.types import Progress, SynonymSets
from synsetmine.views import TermVectors

RESULTS = "results.jsonl"
BEST = "best.json"

Candidate = dict[str, Any]


@dataclass(frozen=True)
class TuningCandidate:
    """One candidate with its score on each fold."""

    changes: Candidate
    scores: tuple[float, ...]
    epochs: tuple[int, ...]
    failure: str | None = None  # why training failed on some fold; such a fold scores 0

    @property
    def mean(self) -> float:
        return statistics.fmean(self.scores)

    @property
    def deviation(self) -> float:
        return statistics.pstdev(self.scores)


def tune(
    sets: SynonymSets,
    vectors: TermVectors,
    base: TrainingSettings,
    candidates: Sequence[Candidate],
    *,
    out: Path,
    folds: int = 5,
    workers: int = 1,
    device: str = "cpu",
    progress: Progress | None = None,
) -> list[TuningCandidate]:
    """Score every candidate on every fold; best first. `best.json` holds the winner's settings.

    Folds are split by entity. The sets of a fold are held out, and a further share of the other
    sets chooses the epoch, so neither training nor selection uses the scored sets.
    """
    if not candidates:
        raise DataError("the grid has no settings to choose from")
    for changes in candidates:
        base.with_changes(changes)  # a wrong name or value is an error before anything runs
    usable = sets.restrict(term for term in sets.terms if term in vectors)
    split = usable.folds(folds, seed=base.seed)
    described = [base.to_dict(), folds, [[str(t) for t in members] for members in usable]]
    digest = fingerprint(described, [vectors.select(usable.terms)])
    done = _read_results(out / RESULTS, digest)
    jobs = [
        (_key(changes, fold), (base.with_changes(changes), *split[fold], vectors, base, device))
        for changes in candidates
        for fold in range(folds)
    ]
    waiting = [(key, job) for key, job in jobs if key not in done]
    if progress:
        progress(len(jobs) - len(waiting), len(jobs))
    for key, result in _run(waiting, workers):
        done[key] = result
        lines = (json.dumps({"run": digest, "key": key, **result}) for key, result in done.items())
        write_text(out / RESULTS, "".join(f"{line}\n" for line in lines))
        if progress:
            progress(sum(key in done for key, _ in jobs), len(jobs))
    results = [_gather(changes, done, folds) for changes in candidates]
    results.sort(key=lambda tuned: -tuned.mean)
    winner = base.with_changes(results[0].changes).to_dict()
    write_text(out / BEST, json.dumps(winner, indent=2) + "\n")
    return results


def grid(values: Mapping[str, Sequence[Any]]) -> list[Candidate]:
    """All combinations of the values."""
    return [
        dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())
    ]


def sample(candidates: Sequence[Candidate], count: int, *, seed: int) -> list[Candidate]:
    """A random sample of the candidates, without repetition, in their order."""
    if count >= len(candidates):
        return list(candidates)
    chosen = random.Random(seed).sample(range(len(candidates)), count)  # noqa: S311
    return [candidates[i] for i in sorted(chosen)]


def _run(
    jobs: Sequence[tuple[str, tuple[Any, ...]]], workers: int
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield results as they come. One worker runs here, several in processes of their own."""
    if workers <= 1:
        for key, job in jobs:
            yield key, _score_fold(*job)
        return
    threads = max(torch.get_num_threads() // workers, 1)
    try:
        with WorkerPool(workers, partial(torch.set_num_threads, threads)) as pool:
            key_of = {pool.submit(_score_fold, *job): key for key, job in jobs}
            for future in as_completed(key_of):
                yield key_of[future], future.result()
    except WorkerDiedError as error:
        problem = "a worker process died, perhaps for lack of memory; try fewer --workers"
        raise SynsetmineError(f"{problem}; run the same command again to continue") from error


def _score_fold(
    settings: TrainingSettings,
    training: SynonymSets,
    held_out: SynonymSets,
    vectors: TermVectors,
    base: TrainingSettings,
    device: str,
) -> dict[str, Any]:
    """Train on a fold and judge it, by the measure that all candidates are judged by."""
    try:
        trained = train_scorer(training, vectors, settings, device=device)
    except DataError as error:
        return {"score": 0.0, "epoch": 0, "failure": str(error)}
    judge = Validation.with_random_orders(
        held_out,
        orders=base.validation_orders,
        seed=base.seed + 1,
        metric=base.select_by,
        threshold=settings.threshold,
    )
    return {"score": judge.score(trained.scorer, vectors), "epoch": trained.best_epoch}


def _gather(changes: Candidate, done: Mapping[str, dict[str, Any]], folds: int) -> TuningCandidate:
    results = [done[_key(changes, fold)] for fold in range(folds)]
    return TuningCandidate(
        changes,
        tuple(float(result["score"]) for result in results),
        tuple(int(result["epoch"]) for result in results),
        next((str(r["failure"]) for r in results if "failure" in r), None),
    )


def _key(changes: Candidate, fold: int) -> str:
    return json.dumps([changes, fold], sort_keys=True)


def _read_results(path: Path, digest: str) -> dict[str, dict[str, Any]]:
    """What an earlier, broken run has finished."""
    if not path.exists():
        return {}
    results: dict[str, dict[str, Any]] = {}
    for number, line in numbered_lines(path):
        record: Any = None
        with suppress(ValueError, RecursionError):
            record = json.loads(line)
        if not isinstance(record, dict) or "key" not in record:
            raise DataError("not a result of tuning", path=path, line=number, value=line)
        if record.get("run") != digest:
            problem = "these results belong to other data or settings; choose another folder"
            raise DataError(problem, path=path, line=number)
        results[record.pop("key")] = {k: v for k, v in record.items() if k != "run"}
    return results
