"""All tables and figures of the paper, one page each, in the paper's order.

    python -m experiments.paper --data DIR
    python -m experiments.paper --data DIR --trainings-only --device cuda --workers 16
    python -m experiments.paper --data DIR --only architecture --only threshold

Trainings and what is found with them lie in the work folder, so a run that broke off goes on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Protocol

from experiments import (
    architecture,
    comparison,
    data_statistics,
    efficiency,
    examples,
    negatives,
    set_or_pairs,
    threshold,
)
from experiments.benchmarkdata import load
from experiments.options import Options, add_options, to_options
from experiments.pages import paper_values, table
from experiments.trainings import Training, run_trainings
from synsetmine.errors import in_one_line
from synsetmine.io.files import write_text


class Experiment(Protocol):
    """A module of this folder; one that trains scorers has `trainings(options)` too."""

    NAME: str
    __doc__: str | None

    def run(self, options: Options) -> str: ...


EXPERIMENTS: Sequence[Experiment] = (
    data_statistics,
    comparison,
    efficiency,
    architecture,
    set_or_pairs,
    negatives,
    threshold,
    examples,
)


def main() -> None:
    given = _parser().parse_args()
    options = to_options(given)
    chosen = [e for e in EXPERIMENTS if not given.only or e.NAME in given.only]
    run_trainings(gather(chosen, options), options)
    if given.trainings_only:
        return
    for number, experiment in enumerate(chosen, 1):
        started = time.monotonic()
        experiment.run(options)
        seconds = time.monotonic() - started
        print(f"page {number}/{len(chosen)}: {experiment.NAME}, {seconds:.0f} s", flush=True)
        write_index(options)


def gather(chosen: Sequence[Experiment], options: Options) -> list[Training]:
    """The trainings of all experiments, so that one pool does them side by side.

    The longest come first: none should be left running alone at the end.
    """
    found: list[Training] = []
    for experiment in chosen:
        trainings = getattr(experiment, "trainings", None)
        found += trainings(options) if trainings is not None else []
    return sorted(dict.fromkeys(found), key=lambda training: -_pairs(training, options))


def _pairs(training: Training, options: Options) -> int:
    """How many set-instance pairs a training looks at, if it does not stop early."""
    sets = load(options, training.benchmark, training.vectors).training
    return len(sets) * training.settings.epochs * (1 + training.settings.negatives)


def write_index(options: Options) -> None:
    """README.md: the pages that are there, with a line each."""
    rows = [
        [
            f"[{page.stem}]({page.name})",
            (experiment.__doc__ or "").partition("\n")[0],
            f"`python -m {getattr(experiment, '__name__', '')}`",
        ]
        for experiment in EXPERIMENTS
        for page in sorted(options.out.glob(f"{experiment.NAME}*.md"))
    ]
    said = (
        f"# The paper's tables and figures\n\n{paper_values()['source']}. `make paper` makes all "
        "pages, each command below makes one. All figures lie beside a page in the JSON file of "
        "its name.\n\n"
    )
    write_text(options.out / "README.md", f"{said}{table(['page', 'what', 'command'], rows)}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_options(parser)
    names = [experiment.NAME for experiment in EXPERIMENTS]
    parser.add_argument("--only", action="append", choices=names, help="this page; may be repeated")
    parser.add_argument("--trainings-only", action="store_true", help="train, but write no pages")
    return parser


if __name__ == "__main__":
    with in_one_line():
        main()
