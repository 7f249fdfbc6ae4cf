"""What every experiment takes: where data, work and results lie, and how much to run."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from synsetmine.io.downloads import DATASETS

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results" / "paper"
WORK = HERE.parent / ".paper"


@dataclass(frozen=True, kw_only=True)
class Options:
    data: Path | None = None  # a folder with nyt/, pubmed/, wiki/; without it they are fetched
    benchmarks: tuple[str, ...] = ()  # only these; all at hand if empty
    work: Path = WORK  # trained scorers and vectors, so that a broken run goes on
    out: Path = RESULTS  # the pages, with their JSON and plots
    device: str = "cpu"
    workers: int = 1
    seeds: int = 5
    orders: int = 20
    quick: bool = False  # a smoke run: few sets, few epochs, one seed


def read_options(description: str | None, arguments: list[str] | None = None) -> Options:
    """The options of the command line; `--quick` writes to folders of its own by default."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    add_options(parser)
    return to_options(parser.parse_args(arguments))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, help="folder with nyt/, pubmed/, wiki/")
    parser.add_argument(
        "--benchmark",
        action="append",
        choices=[*DATASETS],
        help="only this one; may be repeated",
    )
    parser.add_argument("--work", type=Path, help="folder for models and vectors (.paper)")
    parser.add_argument("--out", type=Path, help="folder for pages (docs/results/paper)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="a smoke run in seconds")


def to_options(given: argparse.Namespace) -> Options:
    quick: bool = given.quick
    return Options(
        data=given.data,
        benchmarks=tuple(given.benchmark or ()),
        work=given.work or (WORK / "quick" if quick else WORK),
        out=given.out or (WORK / "quick" / "pages" if quick else RESULTS),
        device=given.device,
        workers=given.workers,
        seeds=1 if quick else given.seeds,
        orders=2 if quick else given.orders,
        quick=quick,
    )
