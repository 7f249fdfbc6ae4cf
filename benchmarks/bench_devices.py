"""What a GPU is good for: the results of both devices by the same seed, and their speed.

    python -m benchmarks.bench_devices                     # made-up terms, the packaged encoder
    python -m benchmarks.bench_devices --encoder FOLDER --names LISTS
    python -m benchmarks.bench_devices --names LISTS --sizes 1000000 --parts vectors
    python -m benchmarks.bench_devices --quick

First the paper's model, trained and mined on each device: whether the model files are the same
bytes, the largest difference of a probability in the trace, the pairs of terms that are together in
one result only, and the ARI between the two. Where there is no GPU, one thread of the CPU is
compared with two.

Then seconds of all work that a GPU can take, and of that which it cannot: the general model groups
names on the CPU. *All pairs* are the exact nearest neighbours of the names by their static vectors:
what a GPU could take off the general model, and no more. The CPU encodes and compares a part of the
names only, and its seconds are extrapolated.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks.names import listed_names, made_up_names
from benchmarks.synthetic import Floats, make_vocabulary
from synsetmine.errors import in_one_line
from synsetmine.metrics import evaluate
from synsetmine.models import MiningResult, StoredModel, generate_sets, save_model
from synsetmine.models.finetune import tune_encoder
from synsetmine.models.general import load_general
from synsetmine.models.paper.settings import PRESETS, TrainingSettings
from synsetmine.models.paper.train import _Run
from synsetmine.pipeline.grouping import group
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews
from synsetmine.views.encoder import MINILM, _encode, find_encoder, load_encoder

# A small network: the full one takes minutes for so many terms on a CPU.
PAPERS = TrainingSettings(
    embed_sizes=(50, 50),
    post_sizes=(100, 50),
    dropout=0.2,
    epochs=120,
    validate_every=20,
    validation_orders=2,
)
NEIGHBOURS, ROWS = 20, 1024  # of each name; names whose neighbours are looked for at a time
TUNED = 2_000  # sets that the encoder learns, half of them withheld
PARTS = ("learn", "group", "vectors", "compare")
FEW, WARM = 5_000, 500  # names for the CPU, and to load libraries and kernels


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
    if options.quick:
        options.train, options.mine, options.sizes = 200, 400, [2_000]
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    print(f"torch {torch.__version__}, {gpu}, {torch.get_num_threads()} threads\n", flush=True)
    print("| work | CPU, s | GPU, s | ratio |\n| --- | --- | --- | --- |", flush=True)
    if "learn" in options.parts:
        _learn(devices, options)
    for size in options.sizes:
        drawn = listed_names(options.names, size, 0) if options.names else made_up_names(size, 0)
        if "group" in options.parts:
            seconds = _seconds(partial(group, drawn.names))
            _print_times(f"`group` of {size:,} names", {"cpu": seconds})
        if "vectors" in options.parts:
            _encode_names(drawn.names, devices, options)
    if "compare" in options.parts:
        _compare(options)


# --- The same results? ---


def _compare(options: argparse.Namespace) -> None:
    world = _made_up(options.train, options.mine)
    print(
        f"\n{len(world.training.terms):,} terms to learn from, {len(world.terms):,} to mine\n\n"
        "| compared | model | largest difference of a probability "
        "| pairs that changed | of pairs | ARI |\n| --- | --- | --- | --- | --- | --- |"
    )
    on_cpu = _work(world, "cpu", threads=1)
    if not torch.cuda.is_available():
        _show("CPU, 1 and 2 threads", on_cpu, _work(world, "cpu", threads=2))
        return
    first, second = (_work(world, "cuda") for _ in range(2))
    _show("GPU, twice", first, second)
    there = Result(on_cpu.model, on_cpu.weights, _mine(world, on_cpu.model, "cuda"))
    _show("the CPU's model, mined on CPU and GPU", on_cpu, there)
    _show("trained and mined on CPU, on GPU", on_cpu, first)


def _work(world: World, device: str, *, threads: int = 1) -> Result:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    views = world.training_views.only(("vectors", "strings"))
    model = PAPERS.train(world.training, views, device=device).model
    mined = _mine(world, model, device)
    torch.set_num_threads(before)
    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder, "model"), model)
        return Result(model, Path(folder, "model", "model.safetensors").read_bytes(), mined)


def _mine(world: World, model: StoredModel, device: str) -> MiningResult:
    return generate_sets(model, world.views, world.terms, device=device)


def _show(compared: str, one: Result, two: Result) -> None:
    model = "same bytes" if one.weights == two.weights else "other bytes"
    first, second = ({d.term: d.probability for d in r.mined.trace} for r in (one, two))
    largest = max(abs(first[term] - second[term]) for term in first)
    changed, pairs = _changed_pairs(one.mined.sets, two.mined.sets)
    ari = evaluate(two.mined.sets, one.mined.sets).ari
    cells = [compared, model, f"{largest:.1e}", f"{changed:,}", f"{pairs:,}", f"{ari:.6f}"]
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


# --- How fast? ---


def _learn(devices: Sequence[str], options: argparse.Namespace) -> None:
    """A training epoch of the paper's model, and the tuning of an encoder."""
    for count in (options.train, 10 * options.train):
        made = make_vocabulary(count, seed=1)
        sets, table = made.sets, made.views.vectors[0]
        sets = sets.restrict(term for term in sets.terms if term in table)
        runs = {name: _Run(sets, table, PRESETS["paper"], torch.device(name)) for name in devices}

        def epoch(device: str, runs: dict[str, _Run] = runs) -> None:
            runs[device].learn(runs[device].sampler.draw(0))

        what = f"an epoch of the paper's model, {len(sets.terms):,} terms"
        for name in devices:
            epoch(name)
        _print_times(what, {name: _seconds(partial(epoch, name)) for name in devices})
    sets = make_vocabulary(4 * TUNED // (10 if options.quick else 1), seed=3).sets

    def tune(device: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "tuned")
            tune_encoder(sets, options.encoder, out, epochs=1, held_out=0.5, device=device)

    what = f"tuning the encoder, an epoch, half of {len(sets):,} sets"
    _print_times(what, {name: _seconds(partial(tune, name)) for name in devices})


def _encode_names(
    names: Sequence[str], devices: Sequence[str], options: argparse.Namespace
) -> None:
    """What of the general model, or beside it, a GPU takes."""
    size = len(names)
    encoders = {name: load_encoder(options.encoder, name) for name in devices}
    terms = [Term(name) for name in names]
    rows = np.ascontiguousarray(load_general().encoder.encode(names))
    works: dict[str, Callable[[str, int], object]] = {
        "vectors of {:,} names by the encoder": lambda device, count: _encode(
            encoders[device], terms[:count], 256, None
        ),
        "all pairs of {:,} names": lambda device, count: _neighbours(rows, count, device),
    }
    for what, work in works.items():
        times = {}
        for device in devices:
            work(device, WARM)
            count = min(FEW, size) if device == "cpu" else size
            times[device] = _seconds(partial(work, device, count)) * size / count
        _print_times(what.format(size), times)


def _neighbours(rows: Floats, count: int, device: str) -> None:
    """The nearest others of the first rows."""
    table = torch.from_numpy(rows).to(device)
    for start in range(0, count, ROWS):
        near = (table[start : min(start + ROWS, count)] @ table.T).topk(min(NEIGHBOURS, len(rows)))
        near.indices.cpu()


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started


def _print_times(what: str, times: dict[str, float]) -> None:
    cpu, gpu = times["cpu"], times.get("cuda")
    rest = "|" if gpu is None else f"{gpu:.2f} | {cpu / gpu:.1f}×"
    print(f"| {what} | {cpu:.2f} | {rest} |", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--encoder", type=find_encoder, default=MINILM, help="a folder")
    parser.add_argument("--names", type=Path, help="name lists, see names.py; else made up")
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[100_000, 1_000_000], help="names to group"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="work to measure")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--train", type=int, default=600, help="made-up terms to learn from")
    parser.add_argument("--mine", type=int, default=4500, help="made-up terms to mine")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
