"""Weights whose vectors and words have not seen the names that `bench_group` draws.

    python -m experiments.unseen_names --lists LISTS --out WEIGHTS --device cuda
    python -m benchmarks.bench_group --names LISTS --weights WEIGHTS --seeds 3 --sizes 10000

The packaged weights were learned from the same lists, which helps all methods that use the vectors,
and most those that use nothing else. Here the static encoder and the weights of words are learned
without the entities that share a name with one of the benchmark. The pair classifier and the set
function, some thousand numbers, are those of the package.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.names import listed_names
from experiments.general_model.lists import cap, read_lists, read_phrases, split
from experiments.general_model.minilm import MiniLM
from experiments.general_model.pair_classifier import KINDS
from experiments.general_model.settings import GeneralSettings
from experiments.general_model.training import Weights, check_folder, learn_tables, write_weights
from experiments.name_lists.heldout import held_out, name_hash, without_heldout
from synsetmine.models.general import load_general
from synsetmine.views.encoder import find_encoder

TRAINING_SEED = 1_000_000  # of the names by which `bench_group` chooses the others' parameters


def main() -> None:
    options = _options()
    check_folder(options.out)
    start, settings = time.perf_counter(), GeneralSettings()
    if options.steps is not None:
        settings = settings.with_steps(options.steps)
    lists = read_lists(options.lists, skipped=settings.skipped)
    drawn = _drawn_names(options)
    kept = {source: without_heldout(entities, drawn) for source, entities in lists.items()}
    lists = cap(kept, settings, options.seed)
    print(f"{len(drawn):,} names left out, {sum(map(len, lists.values())):,} entities stay")
    parts = split(lists, settings, options.seed)
    teacher = MiniLM.load(Path(find_encoder(options.teacher)), options.device, settings)
    tables = learn_tables(
        parts.encoder,
        [phrase for phrase in read_phrases(options.lists) if not held_out([phrase], drawn)],
        parts,
        teacher,
        settings,
        options.seed,
        options.device,
    )
    models = {kind: load_general(encoder=kind == "encoder") for kind in KINDS}
    learned = Weights(
        *tables,
        {kind: model.classifier for kind, model in models.items()},
        {kind: model.function for kind, model in models.items()},
        tuple(lists),
    )
    write_weights(learned, options.out)
    print(f"written to {options.out} after {time.perf_counter() - start:.0f} s")


def _drawn_names(options: argparse.Namespace) -> frozenset[str]:
    """The hashes of all names that the benchmark draws."""
    draws = [*((options.names, options.first_seed + n) for n in range(options.seeds))]
    draws.append((options.training, options.first_seed + TRAINING_SEED))
    return frozenset(
        name_hash(name)
        for count, seed in draws
        for name in listed_names(options.lists, count, seed).names
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--lists", type=Path, required=True, help="folder of experiments.name_lists")
    add("--out", type=Path, required=True, help="new folder for the weights")
    add("--names", type=int, default=10_000, help="names that the benchmark draws with a seed")
    add("--seeds", type=int, default=3, help="seeds that it draws with")
    add("--first-seed", type=int, default=0)
    add("--training", type=int, default=3_000, help="names to choose the others' parameters by")
    add("--teacher", default="minilm", help="sentence encoder: minilm or a folder")
    add("--device", default="cpu", help="cpu or cuda")
    add("--seed", type=int, default=0, help="of the training")
    add("--steps", type=int, help="of the static table; fewer for a quick try")
    return parser.parse_args()


if __name__ == "__main__":
    main()
