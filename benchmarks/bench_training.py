"""Training of the paper's model: how long it takes, where the time goes, how near the floor it is.

    python -m benchmarks.bench_training SETS VECTORS --preset released-nyt
    python -m benchmarks.bench_training SETS VECTORS --preset released-pubmed --device cuda

The floor is what the products of a step would take at the speed that a large product reaches on the
same device in the same run, and what reading and writing the weights, gradients and Adam's state
would take at the speed of a large copy. All else is the launching and reading of small kernels.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from synsetmine.errors import in_one_line
from synsetmine.io.sets import read_sets
from synsetmine.models.paper.settings import PRESETS, TrainingSettings
from synsetmine.models.paper.train import Validation, _Run, train_scorer
from synsetmine.views import read_vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("sets", type=Path)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--preset", choices=sorted(PRESETS), default="released-nyt")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=None, help="at most; default: the preset's")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("there is no CUDA device here")
    settings = PRESETS[options.preset]
    if options.epochs:
        settings = settings.with_changes({"epochs": options.epochs})
    sets, vectors = read_sets(options.sets), read_vectors(options.vectors)
    print(f"{len(sets):,} sets, {len(sets.terms):,} terms, preset {options.preset}")
    spent = _watch(Validation, "score")
    began = time.perf_counter()
    trained = train_scorer(sets, vectors, settings, device=options.device)
    took = time.perf_counter() - began
    epochs = len(trained.history)
    print(
        f"trained in {took:.1f} s: {epochs} epochs, best {trained.best_epoch} "
        f"({settings.select_by} {100 * trained.best_score:.2f}); validation {spent[0]:.1f} s"
    )
    usable = sets.restrict(term for term in sets.terms if term in vectors)
    _floor(_Run(usable, vectors, settings, torch.device(options.device)), settings)


def _floor(run: Any, settings: TrainingSettings) -> None:
    """An epoch's draw and steps, against what their products and bytes would take alone."""
    run._epoch(1)
    draw = _shortest_time(lambda: run.sampler.draw(1), run.device)
    pairs = run.sampler.draw(1)
    steps = -(-len(pairs) // settings.batch_sets)
    epoch = _shortest_time(lambda: run.learn(pairs), run.device)
    flops = _flops(run, pairs) / steps
    parameters = sum(p.numel() for p in run.scorer.parameters())
    moved = (
        4 * parameters * (8 + 2 * settings.amsgrad)
    )  # weight, gradient, two moments, there and back
    speed, copy = _speed(run.device), _copy(run.device)
    floor = flops / speed + moved / copy
    print(
        f"an epoch: {steps} steps, draw {1e3 * draw:.1f} ms, steps {1e3 * epoch:.0f} ms\n"
        f"a step: {1e6 * epoch / steps:.0f} µs; {flops / 1e9:.2f} GFLOP at {speed / 1e12:.1f} "
        f"TFLOP/s are {1e6 * flops / speed:.0f} µs, {moved / 1e6:.1f} MB at {copy / 1e9:.0f} GB/s "
        f"are {1e6 * moved / copy:.0f} µs: {epoch / steps / floor:.1f} times the floor"
    )


def _flops(run: Any, pairs: Any) -> float:
    """Multiplications and additions of an epoch, three times those of the forward pass."""
    embedded = pairs.members.numel() + pairs.candidates.numel()
    scored = pairs.candidates.numel() + len(pairs)  # q(S ∪ {t}) and q(S)
    layers = (_products(part) for part in (run.scorer.embed, run.scorer.post))
    in_embed, in_post = layers
    return 3 * 2 * float(embedded * in_embed + scored * in_post)


def _products(part: torch.nn.Module) -> int:
    return sum(p.numel() for p in part.parameters() if p.dim() == 2)


def _speed(device: torch.device) -> float:
    """FLOP/s of a large product, with the precision that torch is set to."""
    side = 4096 if device.type == "cuda" else 2048
    a = torch.rand(side, side, device=device)
    return 2 * side**3 / _shortest_time(lambda: a @ a, device)


def _copy(device: torch.device) -> float:
    """Bytes that are read or written in a second."""
    a = torch.rand(1 << 26, device=device)
    b = torch.empty_like(a)
    return 2 * a.nbytes / _shortest_time(lambda: b.copy_(a), device)


def _shortest_time(function: Callable[[], Any], device: torch.device, times: int = 5) -> float:
    """The shortest of some times, in seconds."""
    found = []
    for _ in range(times):
        _wait(device)
        began = time.perf_counter()
        function()
        _wait(device)
        found.append(time.perf_counter() - began)
    return min(found)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _watch(owner: Any, name: str) -> list[float]:
    """The seconds spent in a method, in a list of one."""
    spent, method = [0.0], getattr(owner, name)

    def watch(*values: Any, **named: Any) -> Any:
        began = time.perf_counter()
        result = method(*values, **named)
        spent[0] += time.perf_counter() - began
        return result

    setattr(owner, name, watch)
    return spent


if __name__ == "__main__":
    with in_one_line():
        main()
