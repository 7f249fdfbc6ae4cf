"""Adapting the general model to known sets, against a plain regression in the same run.

    python -m benchmarks.bench_adaptation --kb mesh.jsonl.gz
    python -m benchmarks.bench_adaptation --kb mesh.jsonl.gz --sizes 500 --vectors 0

Sets are drawn from the entities of a knowledge base with two names or more, and adapted to as
`synsetmine train` does; each name has a made-up corpus vector of `--vectors` dimensions. The plain
program takes as many pairs of their names, five similarities of rapidfuzz for each, and
scikit-learn's logistic regression with as many penalties and folds. Each row is a process of its
own. The ratio is of CPU seconds, of ours to the plain program's.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from synsetmine.errors import in_one_line
from synsetmine.kb import read_kb
from synsetmine.models.general.settings import AdaptationSettings
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews


class Row(NamedTuple):
    sets: int
    names: int  # of all sets
    pairs: int
    seconds: float
    processor: float
    plain: float  # CPU seconds of the plain program


def main() -> None:
    options = _options()
    print("| sets | names | pairs | seconds | CPU seconds | plain, CPU seconds | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for size in options.sizes:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            row = pool.submit(_measure, options.kb, size, options.vectors, options.seed).result()
        print(
            f"| {row.sets:,} | {row.names:,} | {row.pairs:,} | {row.seconds:.1f} "
            f"| {row.processor:.1f} | {row.plain:.1f} | {row.processor / row.plain:.2f}× |",
            flush=True,
        )


def _measure(kb: Path, size: int, dimension: int, seed: int) -> Row:
    sets = _drawn_sets(kb, size, seed)
    rng = np.random.default_rng(seed)
    views = TermViews()
    if dimension:
        terms = sets.terms
        rows = rng.standard_normal((len(terms), dimension)).astype(np.float32)
        views = TermViews((TermVectors(terms, rows),))
    settings = AdaptationSettings()
    settings.train(sets.pick(range(50)), views)  # loads libraries
    clock, processor = time.perf_counter(), time.process_time()
    trained = settings.train(sets, views)
    seconds, spent = time.perf_counter() - clock, time.process_time() - processor
    pairs = int(trained.figures["pairs"])
    processor = time.process_time()
    _plain_regression(sets, pairs, settings, rng)
    plain = time.process_time() - processor
    return Row(len(sets), len(sets.terms), pairs, seconds, spent, plain)


def _drawn_sets(kb: Path, size: int, seed: int) -> SynonymSets:
    base = read_kb(kb)
    members = [[*map(Term, base.names(entity))] for entity in base]
    several = [names for names in members if len(names) > 1]
    order = np.random.default_rng(seed).permutation(len(several))[:size].tolist()
    taken: set[Term] = set()
    drawn = []
    for number in order:
        own = [term for term in dict.fromkeys(several[number]) if term not in taken]
        taken.update(own)
        if len(own) > 1:
            drawn.append(own)
    return SynonymSets.of(drawn)


def _plain_regression(
    sets: SynonymSets, pairs: int, settings: AdaptationSettings, rng: np.random.Generator
) -> None:
    from rapidfuzz import distance, fuzz, process
    from sklearn.linear_model import LogisticRegressionCV

    names = [term.surface for term in sets.terms]
    labels = np.array(sets.labels(sets.terms))
    within = [(n - 1, n) for n in range(1, len(names)) if labels[n - 1] == labels[n]]
    left, right = rng.integers(len(names), size=(2, max(pairs - len(within), 1)))
    left, right = np.concatenate([np.array(within).T, [left, right]], axis=1)
    scorers = (
        *(fuzz.ratio, fuzz.token_sort_ratio, fuzz.token_set_ratio),
        *(distance.JaroWinkler.similarity, distance.Indel.normalized_similarity),
    )
    sides = [names[n] for n in left], [names[n] for n in right]
    columns = [process.cpdist(*sides, scorer=scorer, workers=1) for scorer in scorers]
    features = np.stack(columns, axis=1)
    fitted = LogisticRegressionCV(Cs=len(settings.ridges), cv=settings.folds, max_iter=500)
    fitted.fit(features, labels[left] == labels[right])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--kb", type=Path, required=True, help="knowledge base of any form that synsetmine reads")
    add("--sizes", nargs="+", type=int, default=[2_000, 15_000, 30_000], help="sets")
    add("--vectors", type=int, default=100, help="dimensions of made-up corpus vectors; 0: none")
    add("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
