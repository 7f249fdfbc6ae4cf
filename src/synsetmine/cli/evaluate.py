"""`synsetmine evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import SkipBad, load_sets


def evaluate(
    predicted: Annotated[Path, typer.Argument(help="Mined sets.", show_default=False)],
    gold: Annotated[Path, typer.Argument(help="True sets.", show_default=False)],
    known: Annotated[
        Path | None,
        typer.Option(help="Known sets of other entities; a true term that joined one is an error."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, as fractions.")] = False,
    skip_bad: SkipBad = False,
) -> None:
    """Compare mined sets with true ones: ARI, FMI, NMI, pairs, B-cubed, whole sets.

    Terms of no true or known set are left out; true terms that were not mined count as alone.
    Both are counted.

    Example: `synsetmine evaluate mined.jsonl test.set`
    """
    from synsetmine.metrics import evaluate as compare

    report = compare(
        load_sets(predicted, skip_bad),
        load_sets(gold, skip_bad),
        known=None if known is None else load_sets(known, skip_bad),
    )
    if report.missing_terms:
        console.warn(f"{report.missing_terms} true terms were not mined and count as alone")
    values = report.to_dict()
    if as_json:
        console.show_json(values)
        return
    rows = [
        (name, f"{100 * value:.2f} %" if isinstance(value, float) else str(value))
        for name, value in values.items()
    ]
    console.show_table(("measure", "value"), rows)
