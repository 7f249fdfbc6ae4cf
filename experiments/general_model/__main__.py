"""Learn the weights of the general model from public name lists.

    python -m experiments.name_lists --out LISTS --heldout ../shared/data/heldout-names.txt
    python -m experiments.general_model --lists LISTS --out WEIGHTS --device cuda

Prints the ARI of each list on entities that were kept from all stages. The same seed gives the same
weights on one machine. `load_general(folder=WEIGHTS)` reads them; the package's own are in
src/synsetmine/models/general/weights. `--without` leaves lists out, to see how well names of
another kind are grouped. `--left-out` writes weights that have not learned from some lists, for
`python -m experiments.sources`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import fmean

from experiments.general_model.lists import read_lists, read_phrases
from experiments.general_model.minilm import MiniLM
from experiments.general_model.settings import GeneralSettings
from experiments.general_model.training import ListScore, check_folder, learn
from synsetmine.views.encoder import find_encoder


def main() -> None:
    options = _options()
    settings = GeneralSettings()
    if options.steps is not None:
        settings = settings.with_steps(options.steps)
    check_folder(options.out)
    start = time.perf_counter()
    scores = learn(
        read_lists(options.lists, skipped=settings.skipped),
        options.out,
        MiniLM.load(Path(find_encoder(options.teacher)), options.device, settings),
        phrases=read_phrases(options.lists),
        left_out=options.left_out,
        settings=settings,
        without=options.without,
        seed=options.seed,
        device=options.device,
        report=lambda line: print(f"{time.perf_counter() - start:6.0f} s  {line}", flush=True),
    )
    print_table(scores)


def print_table(scores: list[ListScore]) -> None:
    """ARI in percent, without and with a sentence encoder; lists left out are marked."""
    print(f"{'list':<24}{'names':>8}{'strings':>10}{'encoder':>10}")
    for score in scores:
        name = f"{score.source}{' (left out)' if score.left_out else ''}"
        print(f"{name:<24}{score.names:>8,}{_percent(score.strings)}{_percent(score.encoder)}")
    if scores:
        means = fmean(s.strings for s in scores), fmean(s.encoder for s in scores)
        print(f"{'mean':<32}{_percent(means[0])}{_percent(means[1])}")


def _percent(ari: float) -> str:
    return f"{100 * ari:>10.1f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--lists", type=Path, required=True, help="folder of experiments.name_lists"
    )
    parser.add_argument("--out", type=Path, required=True, help="new folder for the weights")
    parser.add_argument(
        "--left-out", type=Path, help="new folder for weights without each group of lists"
    )
    parser.add_argument("--teacher", default="minilm", help="sentence encoder: minilm or a folder")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="of the static table; fewer for a quick try")
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="SOURCE", help="lists that are left out"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
