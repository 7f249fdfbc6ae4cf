"""Training with several seeds on the artefacts of a MEDLINE run, scored on entities kept aside.

    python -m experiments.medline_seeds --run medline-runs/run --device cuda --workers 5

Needs `training.jsonl`, `alone.jsonl`, `test.jsonl`, `vocabulary.tsv` and `vectors.safetensors` of
a run folder, so that it can be carried out where a GPU is. `experiments/medline_mesh.py` puts the
figures on its page.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.medline_vectors import is_kept_aside
from synsetmine.errors import in_one_line
from synsetmine.io.files import write_text
from synsetmine.io.sets import read_sets, read_vocabulary
from synsetmine.metrics import evaluate
from synsetmine.models import generate_sets
from synsetmine.models.paper.settings import PRESETS
from synsetmine.models.paper.train import train_scorer
from synsetmine.types import SynonymSets, order_terms
from synsetmine.views import read_vectors

MEASURES = ("ari", "fmi", "pair_f1", "pair_precision", "pair_recall", "nmi")
ORDERS = 20


def main() -> None:
    options = _options()
    job = partial(carry_out, options.run, options.device, options.epochs)
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        for seed, figures in enumerate(pool.map(job, range(options.seeds))):
            write_text(options.out / f"seed-{seed}.json", json.dumps(figures, indent=1) + "\n")
            print(seed, figures, flush=True)


def carry_out(run: Path, device: str, epochs: int | None, seed: int) -> dict[str, Any]:
    """Train with one seed; the scores among all terms and on their own."""
    training, vectors = read_sets(run / "training.jsonl"), read_vectors(run / "vectors.safetensors")
    gold = kept_aside(read_sets(run / "test.jsonl"))
    settings = replace(PRESETS["project"], seed=seed)
    if epochs is not None:
        settings = replace(settings, epochs=epochs)
    begin = time.monotonic()
    trained = train_scorer(training, vectors, settings, device=device)
    seconds = time.monotonic() - begin
    known = SynonymSets.union([training, read_sets(run / "alone.jsonl")])
    rare = order_terms(gold.terms, "random")
    walk = [*read_vocabulary(run / "vocabulary.tsv").terms, *rare]
    mined = generate_sets(trained.scorer, vectors, walk, seeds=known)
    among = evaluate(mined.sets, gold, known=known)
    alone = [
        evaluate(generate_sets(trained.scorer, vectors, order).sets, gold)
        for order in (order_terms(gold.terms, "random", seed=i) for i in range(ORDERS))
    ]
    return {
        "device": device,
        "epochs": len(trained.history),
        "best epoch": trained.best_epoch,
        "validation ARI": trained.best_score,
        "seconds of training": round(seconds, 1),
        "test sets": len(gold),
        "test terms": len(gold.terms),
        "among all terms": {m: getattr(among, m) for m in MEASURES},
        "on their own": {m: fmean(getattr(one, m) for one in alone) for m in MEASURES},
    }


def kept_aside(sets: SynonymSets) -> SynonymSets:
    """The sets of the entities that no choice of settings has looked at."""
    kept = [i for i, entity in enumerate(sets.ids) if is_kept_aside(entity)]
    return SynonymSets.of([sets.sets[i] for i in kept], [sets.ids[i] for i in kept])


def _options() -> argparse.Namespace:
    results = Path(__file__).parents[1] / "docs" / "results"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=results / "medline-mesh")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--workers", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
