"""What changes with the device: models and sets of a CPU against those of a GPU, by the same seed.

    python -m benchmarks.bench_devices                 # made-up vocabularies
    python -m benchmarks.bench_devices --data DIR      # NYT's training sets, split in two

For both scorers it prints what differs between two runs: whether the model files are the same
bytes, the largest difference of a probability in the trace, the pairs of terms that are together in
one result only, and the ARI between the two. Where there is no GPU, it compares one thread of the
CPU with two, says so and stops. Test sets are never read.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.synthetic import make_vocabulary
from synsetmine.errors import in_one_line
from synsetmine.io.sets import read_sets
from synsetmine.metrics import evaluate
from synsetmine.models import (
    DEFAULT_PRESET,
    MiningResult,
    ModelSettings,
    StoredModel,
    generate_sets,
    save_model,
    settings_of,
)
from synsetmine.models.paper.settings import TrainingSettings
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermViews, read_vectors

# A small network: the full one takes minutes for so many terms on a CPU.
PAPERS = TrainingSettings(
    embed_sizes=(50, 50),
    post_sizes=(100, 50),
    dropout=0.2,
    epochs=120,
    validate_every=20,
    validation_orders=2,
)
OWN = settings_of(DEFAULT_PRESET)


@dataclass(frozen=True)
class World:
    """Sets to learn from, and other terms to be mined."""

    training: SynonymSets
    training_views: TermViews
    terms: Sequence[Term]
    views: TermViews


@dataclass(frozen=True)
class Result:
    model: StoredModel
    weights: bytes  # the model's file
    mined: MiningResult


def main() -> None:
    options = _options()
    world = _made_up(options.train, options.mine) if options.data is None else _nyt(options.data)
    print(
        f"torch {torch.__version__}; {len(world.training.terms):,} terms to learn from, "
        f"{len(world.terms):,} to mine\n\n"
        "| scorer | compared | model | largest difference of a probability "
        "| pairs that changed | of pairs | ARI |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for own in (True, False):
        name = "general" if own else "paper's"
        on_cpu = _work(world, own, "cpu", threads=1)
        if not torch.cuda.is_available():
            _show(name, "CPU, 1 and 2 threads", on_cpu, _work(world, own, "cpu", threads=2))
            continue
        first, second = (_work(world, own, "cuda") for _ in range(2))
        _show(name, "GPU, twice", first, second)
        there = Result(on_cpu.model, on_cpu.weights, _mine(world, on_cpu.model, "cuda"))
        _show(name, "the CPU's model, mined on CPU and GPU", on_cpu, there)
        _show(name, "trained and mined on CPU, on GPU", on_cpu, first)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "there is no GPU here"
    print(f"\n{gpu}")


def _work(world: World, own: bool, device: str, *, threads: int = 1) -> Result:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    settings: ModelSettings = OWN if own else PAPERS
    model = settings.train(
        world.training,
        world.training_views.only(("vectors", "strings")),
        device=device,
    ).model
    mined = _mine(world, model, device)
    torch.set_num_threads(before)
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder, "model"), model)
        return Result(model, Path(folder, "model", "model.safetensors").read_bytes(), mined)


def _mine(world: World, model: StoredModel, device: str) -> MiningResult:
    return generate_sets(model, world.views, world.terms, device=device)


def _show(name: str, compared: str, one: Result, two: Result) -> None:
    model = "same bytes" if one.weights == two.weights else "other bytes"
    first, second = ({d.term: d.probability for d in r.mined.trace} for r in (one, two))
    largest = max(abs(first[term] - second[term]) for term in first)
    changed, pairs = _changed_pairs(one.mined.sets, two.mined.sets)
    ari = evaluate(two.mined.sets, one.mined.sets).ari
    cells = [name, compared, model, f"{largest:.1e}", f"{changed:,}", f"{pairs:,}", f"{ari:.6f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def _changed_pairs(one: SynonymSets, two: SynonymSets) -> tuple[int, int]:
    """Pairs that are together in one of two only, and those that are together in either."""
    both = Counter(zip(one.labels(one.terms), two.labels(one.terms), strict=True))
    shared = sum(math.comb(count, 2) for count in both.values())
    first, second = (sum(math.comb(size, 2) for size in sets.sizes) for sets in (one, two))
    return first + second - 2 * shared, first + second - shared


def _made_up(train: int, mine: int) -> World:
    known, new = make_vocabulary(train, seed=1), make_vocabulary(mine, seed=2)
    usable = known.sets.restrict(known.views.vectors[0].terms)
    return World(
        *(usable, TermViews(known.views.vectors)), *(new.terms, TermViews(new.views.vectors))
    )


def _nyt(folder: Path) -> World:
    """Two parts of the training sets: the one is learned from, the other mined."""
    views = TermViews((read_vectors(folder / "combined.embed"),))
    known, new = read_sets(folder / "train-cold.set").split(0.4, seed=0)
    return World(known, views, order_terms(new.terms, "random", seed=0), views)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the paper's NYT files")
    parser.add_argument("--train", type=int, default=600, help="made-up terms to learn from")
    parser.add_argument("--mine", type=int, default=4500, help="made-up terms to mine")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
