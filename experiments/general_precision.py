"""How precise the general model is on names that it has not learned, at each threshold.

Vocabularies are drawn from training sets of the paper's benchmarks, which are no source of the
general model. Half of the names in a vocabulary stand alone. Writes the figures that
`synsetmine group --help` shows: `python -m experiments.general_precision nyt.set pubmed.set`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean

import numpy as np

from experiments.calibration import half_alone, mining_decisions
from experiments.short_lists import LISTS, pair_counts, read_short_lists
from synsetmine import evaluate, read_sets
from synsetmine.models.general import PRECISION, load_general
from synsetmine.views import TermViews

NAMES = 1000  # of a vocabulary
SEEDS = 5
OUT = Path("src/synsetmine/pipeline/precision.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path, help="files of synonym sets, none learned")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in PRECISION}
    for path in arguments.sets:
        for gold in half_alone(read_sets(path), names=NAMES, seeds=SEEDS):
            prepared = load_general().prepare(gold.terms, TermViews())
            for name, threshold in PRECISION.items():
                scores = evaluate(prepared.generate(threshold=threshold).sets, gold)
                rows[name].append((scores.pair_precision, scores.pair_recall, scores.ari))
            print(f"{path}: {len(gold.terms)} names, calibration error", end=" ")
            print(f"{mining_decisions(prepared, gold).error():.3f}")
    figures = {
        "benchmarks": {name: _figures(*np.mean(r, 0)[:2].tolist()) for name, r in rows.items()},
        "short lists": {name: _of_short_lists(value) for name, value in PRECISION.items()},
    }
    arguments.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf8")
    for name, values in rows.items():
        columns = [fmean(column) for column in zip(*values, strict=True)]
        print(f"{name}: precision {columns[0]:.3f}, recall {columns[1]:.3f}, ARI {columns[2]:.3f}")


def _of_short_lists(threshold: float) -> dict[str, float]:
    counts = np.zeros(3)
    for gold in read_short_lists(LISTS.read_text(encoding="utf8")).values():
        prepared = load_general().prepare(gold.terms, TermViews())
        counts += pair_counts(prepared.generate(threshold=threshold).sets, gold)
    right, mined, true = counts.tolist()
    return _figures(right / mined, right / true)


def _figures(precision: float, recall: float) -> dict[str, float]:
    return {"precision": round(precision, 4), "recall": round(recall, 4)}


if __name__ == "__main__":
    main()
