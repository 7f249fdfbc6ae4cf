"""The paper's model on its NYT data with word2vec vectors, under two protocols.

authors: all training sets, the vocabulary in file order, the epoch chosen by the score on the
         *test* sets, as the authors' released program does. For comparison with the paper only.
honest:  the epoch chosen on held-out training sets; the test sets are looked at once, in random
         vocabulary orders.

    python experiments/nyt_core.py --data DIR --workers 2      # DIR holds the NYT files
    python experiments/nyt_core.py                             # takes them from the cache

A seed that is done is not done again: its figures lie beside the page, in a folder of its name.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from synsetmine.datasets import fetch_dataset
from synsetmine.files import write_text
from synsetmine.generation import generate_sets
from synsetmine.metrics import evaluate
from synsetmine.setfiles import read_sets
from synsetmine.training import PRESETS, Trained, Validation, train_scorer
from synsetmine.types import SynonymSets, order_terms
from synsetmine.views import TermVectors, read_vectors

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
MEASURES = ("ari", "fmi", "nmi", "pair_f1")
PRESET = "released-nyt"


@dataclass(frozen=True)
class Job:
    protocol: str
    seed: int
    data: Path
    device: str
    epochs: int
    orders: int
    threads: int


def main() -> None:
    options = _options()
    data = options.data or fetch_dataset("nyt").folder
    epochs, seeds, orders = (5, 1, 2) if options.quick else (500, options.seeds, options.orders)
    name = f"nyt-core-{options.device}{'-quick' if options.quick else ''}"
    folder: Path = options.out / name
    jobs = [
        Job(protocol, seed, data, options.device, epochs, orders, options.threads)
        for seed in range(seeds)
        for protocol in ("authors", "honest")
    ]
    waiting = [job for job in jobs if not _is_done(folder, job)]
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(run, job): job for job in waiting}
        for future in as_completed(running):
            job, result = running[future], future.result()
            write_text(_result_file(folder, job), json.dumps(result, indent=1) + "\n")
            print(job.protocol, job.seed, result["best_epoch"], result["mean"], flush=True)
    results = [json.loads(_result_file(folder, job).read_text()) for job in jobs]
    page = _page(results, options.device, epochs, orders)
    write_text(options.out / f"{name}.md", page)
    print(page)


def run(job: Job) -> dict[str, Any]:
    """One protocol with one seed."""
    torch.set_num_threads(job.threads)
    training = read_sets(job.data / "train-cold.set")
    test = read_sets(job.data / "test.set")
    vectors = read_vectors(job.data / "combined.embed")
    in_file_order = [term for term in vectors.terms if term in test]
    settings = replace(PRESETS[PRESET], seed=job.seed, epochs=job.epochs)
    by_test = Validation(test, [in_file_order], "fmi", settings.threshold)
    started = time.perf_counter()
    trained = train_scorer(
        training,
        vectors,
        settings,
        validation=by_test if job.protocol == "authors" else None,
        device=job.device,
    )
    seconds = time.perf_counter() - started
    walks = (
        [in_file_order]
        if job.protocol == "authors"
        else [order_terms(in_file_order, "random", seed=i) for i in range(job.orders)]
    )
    reports = [_test(trained, vectors, walk, test) for walk in walks]
    return {
        "protocol": job.protocol,
        "seed": job.seed,
        "preset": PRESET,
        "most_epochs": job.epochs,
        "best_epoch": trained.best_epoch,
        "epochs_run": len(trained.history),
        "validation_score": trained.best_score,
        "training_seconds": round(seconds, 1),
        "reports": reports,
        "mean": {m: statistics.fmean(r[m] for r in reports) for m in MEASURES},
    }


def _test(
    trained: Trained, vectors: TermVectors, walk: list[Any], test: SynonymSets
) -> dict[str, float]:
    report = evaluate(generate_sets(trained.scorer, vectors, walk).sets, test)
    return {measure: 100 * float(getattr(report, measure)) for measure in MEASURES}


def _page(results: list[dict[str, Any]], device: str, epochs: int, orders: int) -> str:
    paper = json.loads((HERE / "paper.json").read_text())["main"]["nyt"]["SynSetMine"]
    rows = [
        "| protocol | ARI | FMI | NMI | pair F1 | training, s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    stated = " | ".join(f"{paper[m][0]:.2f} ± {paper[m][1]:.2f}" for m in ("ari", "fmi", "nmi"))
    rows.append(f"| paper | {stated} | | 390 (its GPU) |")
    for protocol in ("authors", "honest"):
        chosen = [r for r in results if r["protocol"] == protocol]
        cells = [_mean_sd([rep[m] for r in chosen for rep in r["reports"]]) for m in MEASURES]
        seconds = _mean_sd([r["training_seconds"] for r in chosen])
        rows.append(f"| {protocol} | {' | '.join(cells)} | {seconds} |")
    seeds = len({r["seed"] for r in results})
    name = (
        torch.cuda.get_device_name() if device.startswith("cuda") else f"{platform.machine()} CPU"
    )
    return "\n".join(
        [
            f"# The paper's model on NYT, word2vec vectors ({name})",
            "",
            f"`python experiments/nyt_core.py --device {device}`: preset `{PRESET}`, at most "
            f"{epochs} epochs, {seeds} seeds; mean ± standard deviation, in percent.",
            "",
            *rows,
            "",
            "*authors*: all training sets, file order, epoch chosen by FMI on the **test** sets, "
            "as the released program does; for comparison with the paper only.",
            f"*honest*: epoch chosen by FMI on 10 % of the training sets; {orders} random "
            "vocabulary orders a seed; the deviation is over seeds and orders.",
            "Training seconds are those of several runs side by side (`--workers`), validation",
            "included.",
            "",
        ]
    )


def _mean_sd(values: list[float]) -> str:
    return f"{statistics.fmean(values):.2f} ± {statistics.pstdev(values):.2f}"


def _is_done(folder: Path, job: Job) -> bool:
    path = _result_file(folder, job)
    if not path.exists():
        return False
    result = json.loads(path.read_text())
    orders = 1 if job.protocol == "authors" else job.orders
    found = (result["preset"], result["most_epochs"], len(result["reports"]))
    return bool(found == (PRESET, job.epochs, orders))


def _result_file(folder: Path, job: Job) -> Path:
    return folder / f"{job.protocol}-{job.seed}.json"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="folder with train-cold.set, test.set, combined.embed"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each worker")
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few epochs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
