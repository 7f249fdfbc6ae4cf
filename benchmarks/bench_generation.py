"""Set generation and a training epoch, against plain programs in the same run.

    python -m benchmarks.bench_generation --data DIR       # DIR holds the paper's NYT files
    python -m benchmarks.bench_generation                  # takes them from the cache
    python -m benchmarks.bench_generation --data DIR --larger 6400 --every 16

NYT has some 2,700 training terms with vectors; larger vocabularies have each of them several times,
with noise on its vector. There the plain program makes one step in `--every` only, from the
sets that ours has before it, and its seconds are multiplied: each step must lead to our result.

All seconds are those of the processor, with one thread, so that other work on the machine counts
less; ratios depend on it least.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from benchmarks.plain import count_wrong_steps, plain_epoch, plain_generation
from synsetmine.errors import in_one_line
from synsetmine.io.downloads import fetch_dataset
from synsetmine.io.sets import read_sets
from synsetmine.models import generate_sets
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.settings import PRESETS
from synsetmine.models.paper.train import _Run, train_scorer
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, read_vectors

T = TypeVar("T")

NOISE = 0.3  # of a vector, in standard deviations of all entries


def main() -> None:
    options = _options()
    data = options.data or fetch_dataset("nyt").folder
    sets, vectors = read_sets(data / "train-cold.set"), read_vectors(data / "combined.embed")
    torch.set_num_threads(1)
    _training_epoch(sets, vectors)
    for preset in options.preset:
        settings = replace(PRESETS[preset], epochs=options.epochs)
        scorer = train_scorer(sets, vectors, settings).scorer
        print(f"\nset generation, NYT training terms, preset {preset}, {options.epochs} epochs")
        _generation(scorer, sets, vectors, options.terms)
        if options.larger:
            _larger_generation(scorer, sets, vectors, options)


def _generation(
    scorer: SetScorer, sets: SynonymSets, vectors: TermVectors, counts: list[int]
) -> None:
    print(f"{'terms':>6} {'sets':>6} {'largest':>8} {'plain, s':>9} {'ours, s':>8} {'ratio':>7}")
    times: list[tuple[int, float, float]] = []
    for count in counts:
        terms = [term for term in vectors.terms if term in sets][:count]
        ours, mined = _best_of(3, partial(generate_sets, scorer, vectors, terms))
        plain, expected = _best_of(1, partial(plain_generation, scorer, vectors.select(terms)))
        if mined.sets.partition != frozenset(frozenset(terms[i] for i in m) for m in expected):
            raise SystemExit("the two results differ")
        times.append((count, plain, ours))
        largest = max(mined.sets.sizes)
        print(
            f"{count:6} {len(mined.sets):6} {largest:8} {plain:9.2f} {ours:8.3f} "
            f"{plain / ours:6.0f}×",
            flush=True,
        )
    (few, plain_few, ours_few), (many, plain_many, ours_many) = times[0], times[-1]
    if many > few:
        scale = math.log(many / few)
        plain_power = math.log(plain_many / plain_few) / scale
        our_power = math.log(ours_many / ours_few) / scale
        print(f"growth, {few} to {many} terms: plain n^{plain_power:.2f}, ours n^{our_power:.2f}")


def _larger_generation(
    scorer: SetScorer, sets: SynonymSets, vectors: TermVectors, options: argparse.Namespace
) -> None:
    """The same terms several times, each time with other noise on their vectors."""
    print(f"\nthe same with noise; one step in {options.every} of the plain program")
    print(f"{'terms':>6} {'sets':>6} {'largest':>8} {'plain, s':>9} {'ours, s':>8} {'ratio':>7}")
    known = [term for term in vectors.terms if term in sets]
    for count in options.larger:
        rng = np.random.default_rng(count)
        drawn = rng.permutation(np.arange(count) % len(known))
        rows = vectors.matrix[vectors.rows(known)][drawn]
        rows = rows + NOISE * rows.std() * rng.standard_normal(rows.shape, np.float32)
        terms = [Term(known[row].surface, str(place)) for place, row in enumerate(drawn.tolist())]
        noisy = TermVectors(tuple(terms), rows.astype(np.float32))
        ours, mined = _best_of(1, partial(generate_sets, scorer, noisy, terms))
        place = {term: number for number, term in enumerate(terms)}
        result = [[place[term] for term in members] for members in mined.sets]
        plain, wrong = _best_of(
            1, partial(count_wrong_steps, scorer, noisy.matrix, result, options.every)
        )
        if wrong:
            raise SystemExit(f"{wrong} steps of the plain program lead elsewhere")
        plain *= options.every
        print(
            f"{len(terms):6} {len(mined.sets):6} {max(mined.sets.sizes):8} {plain:9.2f} "
            f"{ours:8.3f} {plain / ours:6.0f}×",
            flush=True,
        )


def _training_epoch(sets: SynonymSets, vectors: TermVectors) -> None:
    settings = PRESETS["released-nyt"]
    run = _Run(sets, vectors, settings, torch.device("cpu"))
    ours, _ = _best_of(5, lambda: run.learn(run.sampler.draw(0)))
    numbered = [[int(row) + 1 for row in vectors.rows(members)] for members in sets]
    plain, _ = _best_of(
        2,
        lambda: plain_epoch(
            SetScorer(dimension=vectors.dimension),
            vectors.matrix,
            numbered,
            negatives=settings.negatives,
            batch_sets=settings.batch_sets,
        ),
    )
    print(f"training epoch, K = {settings.negatives}, {settings.batch_sets} sets a batch: ", end="")
    print(f"plain {plain:.2f} s, ours {ours:.3f} s, ratio {plain / ours:.1f}×")


def _best_of(times: int, work: Callable[[], T]) -> tuple[float, T]:
    best = math.inf
    for _ in range(times):
        started = time.process_time()
        result = work()
        best = min(best, time.process_time() - started)
    return best, result


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with train-cold.set and combined.embed")
    parser.add_argument("--preset", nargs="+", default=["paper", "released-nyt"])
    parser.add_argument("--epochs", type=int, default=40, help="of the model to generate with")
    parser.add_argument("--larger", nargs="+", type=int, default=[], help="terms with noise")
    parser.add_argument("--every", type=int, default=16, help="steps of which one is compared")
    parser.add_argument("--terms", nargs="+", type=int, default=[400, 800, 1600, 2600])
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
