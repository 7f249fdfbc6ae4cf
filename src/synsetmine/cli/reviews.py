"""`synsetmine export-reviews` and `synsetmine import-reviews`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.places import a_file

Run = Annotated[
    Path, typer.Argument(help="Folder of a run that has mined sets.", show_default=False)
]


def export_reviews(
    run: Run,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=a_file, help="TSV file for the decisions.")
    ],
) -> None:
    """Write what people decided to a TSV file, to be kept under git and read on other runs.

    The same decisions always give the same bytes; new ones are new lines.

    Example: `synsetmine export-reviews run --out reviews.tsv`
    """
    from synsetmine.review.feedback import find_decisions
    from synsetmine.review.tsv import write_decisions

    decisions = find_decisions(run)
    write_decisions(out, decisions)
    console.say(f"{len(decisions)} decisions written to {out}")


def import_reviews(
    run: Run,
    file: Annotated[Path, typer.Argument(help="TSV file of `export-reviews`.", show_default=False)],
) -> None:
    """Take decisions in that were made elsewhere or on an earlier run, each one once.

    They are carried out on the sets of this run as far as their terms are there.

    Example: `synsetmine import-reviews run reviews.tsv`
    """
    from synsetmine.results import read_results
    from synsetmine.review import ReviewState, ReviewStore
    from synsetmine.review.tsv import read_decisions
    from synsetmine.runfolder import Artefacts

    mined = read_results(run)
    given = read_decisions(file)
    with ReviewStore(Artefacts(run).reviews) as store:
        new = store.take_in(given)
        state = ReviewState(mined, store.decisions())
    console.say(f"{len(given)} decisions in {file}, {new} of them new to {run}")
    extents = Counter(state.extents.values())
    console.say(
        f"{len(state.extents)} stand: {extents['whole']} hold for these sets as a whole, "
        f"{extents['part']} in part, {extents['none']} not at all"
    )
