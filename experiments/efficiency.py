"""Table 3: training and prediction time of all methods, in one run.

    python -m experiments.efficiency --data DIR

The times are those of the runs behind Table 2 (`experiments.comparison`), one method in a process
of its own; they are true if these ran with `--workers 1`. Loading of data is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.comparison import Part, paper_name, parts, rows_of, trainings
from experiments.options import Options, read_options
from experiments.pages import paper_values, remarks, table, write_page
from experiments.trainings import Outcome, Training, honest_trainings, run_trainings
from synsetmine.engines.workers import cores
from synsetmine.rivals.page import MethodRow, format_seconds, notes

NAME = "efficiency"


ABOUT = (
    "Seconds, mean over the seeds. *Tuning* is the search for hyper-parameters on subsamples of "
    "the training sets, *prediction* the median over orders, *memory* the peak of main memory "
    "beyond what the process held with the data and torch. The paper: one Quadro P4000 for "
    "SynSetMine and L2C, a CPU for the rest."
)


def run(options: Options) -> str:
    """Write a page for each benchmark, of its first table of vectors."""
    outcomes = run_trainings(trainings(options), options)
    firsts = [part for part in parts(options) if part.paper]
    return "\n".join(_write(part, outcomes, options) for part in firsts)


def _write(part: Part, outcomes: Mapping[Training, Outcome], options: Options) -> str:
    name = f"{NAME}-{part.benchmark.name}"
    rows = rows_of(part, outcomes, options)
    ours = [outcomes[t] for t in honest_trainings(part.benchmark, options)]
    said = [_where(ours, options), *notes(rows)]
    smoke = "**A smoke run on few sets: its figures mean nothing.**" if options.quick else ""
    page = [
        f"# Table 3: time of all methods, {part.title}",
        ABOUT,
        smoke,
        _table(part, rows),
        "\n".join(f"- {note}" for note in said),
        remarks(options, name),
    ]
    return write_page(options.out, name, page, {part.key: [row.record() for row in rows]})


def _where(ours: Sequence[Outcome], options: Options) -> str:
    """What ran on what, and how many side by side."""
    record = ours[0].record
    return (
        f"SynSetMine was trained on {record['device']}, {record['side_by_side']} side by side; the "
        f"other methods ran {options.workers} side by side on {cores()} cores, "
        f"{'L2C on ' + options.device if options.device != 'cpu' else 'L2C too'}."
    )


def _table(part: Part, rows: Sequence[MethodRow]) -> str:
    stated = paper_values()["seconds"]
    lines = []
    for row in rows:
        name = paper_name(row)
        paper = [
            stated[phase][part.benchmark.name].get(name) for phase in ("training", "prediction")
        ]
        times = [row.tuning_seconds, row.training_seconds, row.prediction_seconds]
        memory = "" if row.memory_mb is None else f"{row.memory_mb:.0f}"
        lines.append(
            [
                row.title,
                *(map(format_seconds, times) if row.scores else ["failed", "", ""]),
                memory,
                *("" if value is None else f"{value:g}" for value in paper),
            ]
        )
    columns = ["method", "tuning", "training", "prediction", "memory, MB"]
    return table([*columns, "paper: training", "prediction"], lines)


if __name__ == "__main__":
    print(run(read_options(__doc__)))
