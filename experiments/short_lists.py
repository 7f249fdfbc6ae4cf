"""The general model on short lists written by hand, full of near misses.

    python -m experiments.short_lists [--encoder minilm]

Such lists are what people try first: related things with nearly the same names. Each line of
short_lists.txt is a set, its names separated by "|". The lists helped to choose the features of the
general model and are no source of it. Prints the precision and recall of pairs at each threshold.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from synsetmine.models.general import PRECISION, load_general
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews, encode_terms, find_encoder

LISTS = Path(__file__).with_suffix(".txt")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", help="sentence encoder as one more view: minilm")
    options = parser.parse_args()
    model = load_general(encoder=options.encoder is not None)
    lists = read_short_lists(LISTS.read_text(encoding="utf8"))
    print(f"{'list':<12}{'names':>6}" + "".join(f"{name:>24}" for name in PRECISION))
    counts = {name: np.zeros(3) for name in PRECISION}
    for title, gold in lists.items():
        vectors = (
            encode_terms(gold.terms, find_encoder(options.encoder)) if options.encoder else None
        )
        prepared = model.prepare(gold.terms, TermViews(encoder=vectors))
        cells = []
        for name, threshold in PRECISION.items():
            own = pair_counts(prepared.generate(threshold=threshold).sets, gold)
            counts[name] += own
            cells.append(_cell(*own))
        print(f"{title:<12}{len(gold.terms):>6}" + "".join(cells))
    print(f"{'all':<18}" + "".join(_cell(*total) for total in counts.values()))


def read_short_lists(text: str) -> dict[str, SynonymSets]:
    """The lists by their titles, which stand behind "#"."""
    groups: dict[str, list[list[Term]]] = {}
    for line in filter(None, text.splitlines()):
        if line.startswith("# "):
            groups[line[2:]] = own = []
        else:
            own.append([Term(name) for name in line.split(" | ")])
    return {title: SynonymSets.of(sets) for title, sets in groups.items()}


def pair_counts(sets: SynonymSets, gold: SynonymSets) -> tuple[int, int, int]:
    """How many pairs of one set are right, how many there are, and how many there should be."""
    mined, true = (
        {(a, b) for members in some for a in members for b in members if a < b}
        for some in (sets, gold)
    )
    return len(mined & true), len(mined), len(true)


def _cell(right: float, mined: float, true: float) -> str:
    precision, recall = 100 * right / max(mined, 1), 100 * right / max(true, 1)
    return f"{f'precision {precision:.0f}, recall {recall:.0f}':>24}"


if __name__ == "__main__":
    main()
