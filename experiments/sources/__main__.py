"""The general model, its adaptations and rivals on many sources, on one page with plots.

    python -m experiments.sources --sets nyt=nyt/train-cold.set --lists LISTS \\
        --only mesh cities --encoder minilm

`--lists` is a folder of `python -m experiments.name_lists`. The packaged weights were learned from
these lists. `--left-out FOLDER` is that of `python -m experiments.general_model --left-out FOLDER`:
each list is then judged by weights that were learned without it. Same seeds, same numbers.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from experiments.sources.measurement import measure
from experiments.sources.page import NAME, SEEDS, write
from experiments.sources.source import read_sources
from synsetmine.errors import DataError, SynsetmineError

OUT = Path(__file__).parents[2] / "docs" / "results"


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    start = time.perf_counter()

    def report(line: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {line}", file=sys.stderr, flush=True)

    try:
        weights = sorted(options.left_out.iterdir()) if options.left_out else ()
        sources = read_sources(_paths_by_name(options.sets), options.lists, options.only, weights)
        measured = [
            measure(
                source,
                encoder=options.encoder,
                names=options.names,
                seeds=options.seeds,
                first_seed=options.first_seed,
                report=report,
            )
            for source in sources
        ]
        write(
            options.out,
            measured,
            command=_command(options),
            encoder=options.encoder,
            names=options.names,
        )
    except SynsetmineError as error:
        sys.exit(f"error: {error}")
    report(f"wrote {options.out / NAME}.md")


def _paths_by_name(pairs: Sequence[str]) -> dict[str, Path]:
    """NAME=PATH, each of which must exist."""
    paths: dict[str, Path] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise DataError("expected NAME=PATH", value=pair)
        if name in paths:
            raise DataError("this name is given twice", value=name)
        if not Path(path).exists():
            raise DataError("no such file or folder", path=path)
        paths[name] = Path(path)
    return paths


def _command(options: argparse.Namespace) -> str:
    """The command as it goes on the page, without the folders of one machine."""
    parts = ["python -m experiments.sources"]
    if options.sets:
        parts += ["--sets", *map(_without_folders, options.sets)]
    if options.lists:
        parts += ["--lists LISTS"]
        parts += ["--only", *options.only] if options.only else []
        parts += ["--left-out WEIGHTS"] if options.left_out else []
    if options.encoder:
        parts += [f"--encoder {Path(options.encoder).name}"]
    if options.first_seed:
        parts += [f"--first-seed {options.first_seed}"]
    return " ".join([*parts, f"--seeds {options.seeds} --names {options.names}"])


def _without_folders(pair: str) -> str:
    name, path = pair.split("=", 1)
    return f"{name}={'/'.join(Path(path).parts[-2:])}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.sources",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--sets", nargs="+", default=[], metavar="NAME=FILE", help="files of synonym sets"
    )
    parser.add_argument("--lists", type=Path, help="folder of public name lists")
    parser.add_argument("--only", nargs="+", metavar="LIST", help="these lists; by default all")
    parser.add_argument(
        "--left-out", type=Path, help="folder of weights, each learned without some lists"
    )
    parser.add_argument("--encoder", help="sentence encoder for the second column: minilm")
    parser.add_argument("--seeds", type=_positive, default=SEEDS)
    parser.add_argument(
        "--first-seed", type=_positive, default=0, help="of the halves; 0 to 4 chose settings"
    )
    parser.add_argument("--names", type=_positive, default=1500, help="of each half, at most")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the page and its plots")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more; got {text!r}")
    return int(text)


if __name__ == "__main__":
    main()
