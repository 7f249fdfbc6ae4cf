"""Write the name lists, and phrases of general English, for the general model.

    python -m experiments.name_lists --out FOLDER --heldout ../shared/data/heldout-names.txt

`--only` writes some of them. Data packages that are missing are named with the command that
installs them; npm packages are looked up in NODE_PATH and ./node_modules.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments.name_lists import NAME_LISTS, ListCounts, MissingDataError, write_name_lists
from experiments.name_lists.phrases import write_phrases


def main() -> None:
    options = _options()
    lists = [one for one in NAME_LISTS if not options.only or one.name in options.only]
    print(_row("source", "entities", "≥2 names", "names", "left out"))
    missing = False
    for name_list in lists:
        try:
            (counts,) = write_name_lists(options.out, options.heldout, lists=[name_list])
        except MissingDataError as error:
            print(f"{name_list.name}: {error}", file=sys.stderr)
            missing = True
        else:
            print(_in_row(counts), flush=True)
    if not options.only:
        try:
            print(_row("phrases", "", "", f"{write_phrases(options.out, options.heldout):,}", ""))
        except MissingDataError as error:
            print(f"phrases: {error}", file=sys.stderr)
            missing = True
    sys.exit(1 if missing else 0)


def _in_row(counts: ListCounts) -> str:
    numbers = (counts.entities, counts.synonym_sets, counts.names, counts.left_out)
    return _row(counts.name, *(f"{number:,}" for number in numbers))


def _row(name: str, *cells: str) -> str:
    return f"{name:<20}" + "".join(f"{cell:>12}" for cell in cells)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the lists")
    parser.add_argument("--heldout", type=Path, help="file of hashes of held-out names")
    parser.add_argument(
        "--only", nargs="+", choices=[one.name for one in NAME_LISTS], help="names of lists"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
