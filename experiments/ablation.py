"""What each part of our own model is worth: trained again without it.

    python -m experiments.ablation --data DIR     # a folder with nyt/ and pubmed/

Everything happens on training sets. Of NYT, half of the sets of three or more terms and 60 pairs
are kept aside and mined; of PubMed, 110 sets of three or more and 60 of six or more, and 1,500
others are learned from. Three random splits each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from statistics import fmean, pstdev
from typing import Any
from unittest.mock import patch

import numpy as np

from experiments.benchmarkdata import data_folder
from experiments.options import Options, read_options
from experiments.pages import table, write_page
from synsetmine.datasets import VECTOR_FILES
from synsetmine.errors import DataError
from synsetmine.generation import generate_sets
from synsetmine.metrics import evaluate
from synsetmine.model import scene
from synsetmine.setfiles import read_sets
from synsetmine.training.viewtraining import ViewSettings, train_views
from synsetmine.types import SynonymSets, order_terms
from synsetmine.views import TermViews, View, read_vectors

NAME = "ablation"
SPLITS = 3
TITLES = {
    "nyt": "NYT, word2vec + strings",
    "pubmed-3": "PubMed, strings, sets of 3 or more",
    "pubmed-6": "PubMed, strings, sets of 6 or more",
}


neighbourhood = scene.Neighbourhood.of


def _no_crowds(*table: Any) -> Any:
    found = neighbourhood(*table)
    return replace(found, crowds=0 * found.crowds)


Patches = Mapping[str, Any]
MODEL, TRAINING, GENERATION = (
    f"synsetmine.{room}" for room in ("model", "training", "generation.graphsets")
)
PARTS: dict[str, Patches] = {
    "all parts": {},
    "no signals relative to the vocabulary": {f"{MODEL}.scene.Neighbourhood.of": _no_crowds},
    "vectors as they are, no learned map": {f"{TRAINING}.contrastive.LINEAR_STEPS": 0},
    "n-grams not learned": {f"{TRAINING}.contrastive.NGRAM_EPOCHS": 0},
    "comparer without hidden units": {f"{TRAINING}.comparing.HIDDEN": 0},
    "comparer of one fit instead of three": {f"{TRAINING}.comparing.MEMBERS": 1},
    "larger sets weigh no more when the bar is found": {
        f"{TRAINING}.viewtraining.enough_larger": lambda _sizes: False
    },
    "the bar does not follow the size of sets": {f"{TRAINING}.calibration.SLOPE": 0.0},
    "two sets merge as easily as a term joins": {f"{GENERATION}.RELUCTANCE": 0.0},
    "no moves after merging": {f"{GENERATION}.GraphSets.move": lambda _self: 0},
}


def run(options: Options) -> str:
    names = [n for n in ("nyt", "pubmed") if data_folder(options, n) is not None]
    if not names:
        raise DataError("neither nyt nor pubmed is here", path=options.data)
    jobs = [(name, part, split) for name in names for part in PARTS for split in range(SPLITS)]
    if options.quick:
        jobs = [(names[0], part, 0) for part in list(PARTS)[:2]]
    found: dict[str, dict[str, list[float]]] = {}
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        done = pool.map(partial(_job, options), jobs)
        for number, (job, scores) in enumerate(zip(jobs, done, strict=True), 1):
            for column, score in scores.items():
                found.setdefault(column, {}).setdefault(job[1], []).append(score)
            print(f"{number}/{len(jobs)} {job} {scores}", flush=True)
    return write_page(options.out, NAME, _page(found), found)


def _job(options: Options, job: tuple[str, str, int]) -> dict[str, float]:
    """The ARI of what was kept aside, for each vocabulary of a benchmark."""
    name, part, split = job
    training, held_out, views = _data(options, name, split)
    chosen: tuple[View, ...] = ("vectors", "strings") if views.vectors else ("strings",)
    with ExitStack() as stack:
        for target, value in PARTS[part].items():
            stack.enter_context(patch(target, value))
        size = max(len(sets.terms) for sets in held_out.values())
        settings = ViewSettings(views=chosen, seed=split)
        scorer = train_views(training, views, settings, size=size).scorer
        return {
            column: evaluate(
                generate_sets(scorer, views, order_terms(sets.terms, "random", seed=split)).sets,
                sets,
            ).ari
            for column, sets in held_out.items()
        }


def _data(
    options: Options, name: str, split: int
) -> tuple[SynonymSets, dict[str, SynonymSets], TermViews]:
    folder = data_folder(options, name)
    if folder is None:
        raise DataError("this benchmark is not at hand", value=name)
    sets = read_sets(folder / "train-cold.set")
    chance = np.random.default_rng(split)
    sizes = np.array(sets.sizes)

    def drawn(wanted: Callable[[Any], Any]) -> list[int]:
        return [int(n) for n in chance.permutation(np.flatnonzero(wanted(sizes)))]

    pairs, larger, six = (
        drawn(lambda s: s == 2), drawn(lambda s: s >= 3), drawn(lambda s: s >= 6)
    )  # fmt: skip
    if name == "nyt":
        kept = {"nyt": larger[: len(larger) // 2] + pairs[:60]}
        views = TermViews((read_vectors(folder / VECTOR_FILES["word2vec"]),))
    else:
        kept = {"pubmed-6": six[:60]}
        kept["pubmed-3"] = [n for n in larger if n not in set(six[:60])][:110]
        views = TermViews()
    used = {n for numbers in kept.values() for n in numbers}
    rest = [int(n) for n in chance.permutation(len(sets)) if n not in used]
    learned = rest if name == "nyt" else rest[:1500]
    if options.quick:
        learned = learned[:80]
    held_out = {column: sets.pick(sorted(numbers)) for column, numbers in kept.items()}
    return sets.pick(sorted(learned)), held_out, views


def _page(found: Mapping[str, Mapping[str, Sequence[float]]]) -> list[str]:
    columns = [column for column in TITLES if column in found]
    rows = [
        [part, *(_mean_sd(found[column][part]) for column in columns)]
        for part in PARTS
        if part in found[columns[0]]
    ]
    said = (__doc__ or "").partition("\n\n")[2].partition("\n\n")[2].strip().replace("\n", " ")
    return [
        "# What each part of our own model is worth",
        f"`python -m experiments.ablation`. {said} ARI in percent, mean ± standard deviation; "
        "differences below two points mean little.",
        table(["", *(TITLES[column] for column in columns)], rows),
    ]


def _mean_sd(scores: Sequence[float]) -> str:
    return f"{100 * fmean(scores):.1f} ± {100 * pstdev(scores):.1f}"


if __name__ == "__main__":
    print(run(read_options(__doc__)))
