"""Table 3: training and prediction time of all methods, in one run.

    python -m experiments.efficiency --data DIR --device cuda

One seed, one process, one method after the other. Networks (SynSetMine, L2C) use the device that
is given, all else the CPU, as in the paper. Loading of data and models is not counted.
"""

from __future__ import annotations

import platform
from dataclasses import asdict, replace
from typing import Any

from experiments.benchmarkdata import MADE, Benchmark, benchmarks, encoder_vectors
from experiments.comparison import can_run, lighter, paper_name
from experiments.options import Options, read_options
from experiments.pages import paper_values, remarks, table, write_page
from experiments.trainings import device_name
from synsetmine.baselines import TermViews
from synsetmine.baselines.registry import Entry, methods
from synsetmine.baselines.synsetmine import SynSetMine
from synsetmine.comparison import Plan, Row, compare, summarise
from synsetmine.comparison.page import notes
from synsetmine.engines.processes import cores

NAME = "efficiency"
ORDERS = 3
SECOND = ("fasttext-no-subword",)  # the same size as the first table: the same times


def run(options: Options) -> str:
    pieces: list[str] = []
    figures: dict[str, Any] = {"device": device_name(options.device)}
    for benchmark in benchmarks(options, made=MADE):
        if benchmark.vectors_name not in SECOND:
            rows = _rows(benchmark, options)
            said = "\n".join(f"- {note}" for note in notes(rows))
            pieces += [f"## {benchmark.title}", _table(benchmark, rows), said]
            figures[f"{benchmark.name}-{benchmark.vectors_name}"] = [asdict(row) for row in rows]
    smoke = "**A smoke run on few sets: its figures mean nothing.**" if options.quick else ""
    about = (
        f"Seconds on {platform.machine()} CPU with {cores()} cores and, for SynSetMine and L2C, "
        f"{device_name(options.device)}; one seed, one method after the other, each in a process "
        "of its own. *Tuning* is the search for hyper-parameters on subsamples of the training "
        "sets, *prediction* the median over orders, *memory* the peak of main memory beyond what "
        "the process held with the data and torch. The paper: one Quadro P4000 for SynSetMine and "
        "L2C, a CPU for the rest."
    )
    page = ["# Table 3: time of all methods", about, smoke, *pieces, remarks(options, NAME)]
    return write_page(options.out, NAME, page, figures)


def _rows(benchmark: Benchmark, options: Options) -> list[Row]:
    encoder = encoder_vectors(options, benchmark)
    plan = Plan(
        training=benchmark.training,
        test=benchmark.test,
        views=TermViews((benchmark.vectors,), encoder),
        seeds=1,
        orders=min(ORDERS, options.orders),
        samples=1 if options.quick else 2,
        device=options.device,
    )
    entries = [e for e in _entries(benchmark, options) if can_run(e, plan)]
    folder = options.work / NAME / f"{benchmark.name}-{benchmark.vectors_name}"

    def say(done: int, total: int, method: str) -> None:
        print(f"{NAME} {benchmark.name} {done}/{total} {method}", flush=True)

    return summarise(entries, compare(plan, entries, out=folder, progress=say))


def _entries(benchmark: Benchmark, options: Options) -> list[Entry]:
    """All methods, ours with the settings that the other experiments use."""
    settings = benchmark.settings(options).to_dict()
    ours = SynSetMine(preset="paper", changes=settings)
    known = methods()
    named = known["synsetmine"]
    others = [lighter(entry, options) for entry in known.values() if entry is not named]
    return [replace(named, variants=(ours,)), *others]


def _table(benchmark: Benchmark, rows: list[Row]) -> str:
    stated = paper_values()["seconds"]
    lines = []
    for row in rows:
        name = paper_name(row)
        paper = [stated[phase][benchmark.name].get(name) for phase in ("training", "prediction")]
        times = [row.tuning_seconds, row.training_seconds, row.prediction_seconds]
        ours = [*(f"{value:.3g}" for value in times), f"{row.memory_mb or 0:.0f}"]
        lines.append(
            [
                row.title,
                *(ours if row.scores else ["failed", "", "", ""]),
                *("" if value is None else f"{value:g}" for value in paper),
            ]
        )
    columns = ["method", "tuning", "training", "prediction", "memory, MB"]
    return table([*columns, "paper: training", "prediction"], lines)


if __name__ == "__main__":
    print(run(read_options(__doc__)))
