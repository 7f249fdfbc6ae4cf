"""What is lost and gained where only near pairs are compared, on the paper's training sets.

    python -m benchmarks.bench_candidates --data DIR     # DIR holds the folders nyt and pubmed

Some sets are held out, a view scorer is trained on the others, and the terms held out are mined
twice: with all pairs compared, and with those only that are near in some view. Test sets are not
looked at.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from synsetmine.errors import in_one_line
from synsetmine.generation import generate_sets
from synsetmine.metrics import evaluate
from synsetmine.setfiles import read_sets
from synsetmine.training.viewtraining import ViewSettings, train_views
from synsetmine.types import SynonymSets, order_terms
from synsetmine.views import TermViews, View, read_vectors


@dataclass(frozen=True)
class Task:
    name: str
    training: SynonymSets
    held_out: SynonymSets
    views: TermViews
    chosen: tuple[View, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 2500, 5000, 10_000])
    options = parser.parse_args()
    print("| task | terms | all pairs: ARI | s | near pairs: ARI | s | differ by |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for task in _tasks(options.data, options.splits, options.sizes):
        settings = ViewSettings(views=task.chosen)
        size = len(task.held_out.terms)
        scorer = train_views(task.training, task.views, settings, size=size).scorer
        terms = order_terms(task.held_out.terms, "random")
        found = []
        for exact in (size, 0):
            began = time.perf_counter()
            sets = generate_sets(scorer, task.views, terms, exact=exact).sets
            took = time.perf_counter() - began
            found.append((100 * evaluate(sets, task.held_out).ari, took))
        (every, slow), (near, fast) = found
        cells = f"{every:.2f} | {slow:.1f} | {near:.2f} | {fast:.1f} | {near - every:+.2f}"
        print(f"| {task.name} | {size:,} | {cells} |", flush=True)


def _tasks(data: Path, splits: int, sizes: list[int]) -> Iterator[Task]:
    nyt = read_sets(data / "nyt" / "train-cold.set")
    vectors = read_vectors(data / "nyt" / "combined.embed")
    known = nyt.restrict(term for term in nyt.terms if term in vectors)
    for seed in range(splits):
        name = f"NYT, word2vec + strings, split {seed + 1}"
        yield Task(
            name, *known.split(0.3, seed=seed), TermViews((vectors,)), ("vectors", "strings")
        )
    pubmed = read_sets(data / "pubmed" / "train-cold.set")
    for size in sizes:
        order = np.random.default_rng(size).permutation(len(pubmed)).tolist()
        most = np.searchsorted(np.cumsum([pubmed.sizes[n] for n in order]), size)
        held_out, training = order[: int(most)], order[int(most) :][:4000]
        parts = pubmed.pick(sorted(training)), pubmed.pick(sorted(held_out))
        yield Task("PubMed, strings", *parts, TermViews(), ("strings",))


if __name__ == "__main__":
    with in_one_line():
        main()
