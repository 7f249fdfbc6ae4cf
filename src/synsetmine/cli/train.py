"""`synsetmine train`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    Device,
    SkipBad,
    Vectors,
    choose_device,
    load_sets,
    load_vectors,
)
from synsetmine.errors import CheckpointError, DataError, SynsetmineError

if TYPE_CHECKING:
    from synsetmine.training import Epoch, Trained, TrainingSettings

CHECKPOINT = "checkpoint.safetensors"
TRAINING = "Training"


def train(
    sets: Annotated[
        Path, typer.Argument(help="Training sets, .set or .jsonl.", show_default=False)
    ],
    vectors: Vectors,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the model.")],
    preset: Annotated[
        str,
        typer.Option(help="paper, released-nyt, released-wiki or released-pubmed."),
    ] = "paper",
    settings: Annotated[
        Path | None, typer.Option(help="JSON file of settings, such as `tune` writes.")
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option("--learning-rate", "--lr", help="Of Adam.", rich_help_panel=TRAINING),
    ] = None,
    dropout: Annotated[
        float | None,
        typer.Option(help="Before the last layer, in [0, 1).", rich_help_panel=TRAINING),
    ] = None,
    negatives: Annotated[
        int | None, typer.Option(help="K, negatives for each positive.", rich_help_panel=TRAINING)
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="complete-random, share-token or mixture.", rich_help_panel=TRAINING),
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(
            help="both-X-Y (such as both-250-500), no-et, no-pt.", rich_help_panel=TRAINING
        ),
    ] = None,
    batch_sets: Annotated[
        int | None, typer.Option(help="Sets in a batch.", rich_help_panel=TRAINING)
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="At most so many epochs.", rich_help_panel=TRAINING)
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(help="Epochs without improvement before stopping.", rich_help_panel=TRAINING),
    ] = None,
    validate_every: Annotated[
        int | None, typer.Option(help="Epochs between validations.", rich_help_panel=TRAINING)
    ] = None,
    held_out: Annotated[
        float | None,
        typer.Option(help="Share of sets kept for validation.", rich_help_panel=TRAINING),
    ] = None,
    validation_orders: Annotated[
        int | None,
        typer.Option(help="Random orders a validation score averages.", rich_help_panel=TRAINING),
    ] = None,
    select_by: Annotated[
        str | None,
        typer.Option(help="Choose the epoch by fmi, ari or pair_f1.", rich_help_panel=TRAINING),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="θ of set generation, kept with the model.", rich_help_panel=TRAINING),
    ] = None,
    amsgrad: Annotated[
        bool | None,
        typer.Option(
            "--amsgrad/--no-amsgrad", help="Adam's AMSGrad variant.", rich_help_panel=TRAINING
        ),
    ] = None,
    train_vectors: Annotated[
        bool | None,
        typer.Option(
            "--train-vectors/--freeze-vectors",
            help="Tune the vectors too (default: frozen).",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Of weights, split, pairs and dropout.", rich_help_panel=TRAINING),
    ] = None,
    device: Device = "auto",
    tensorboard: Annotated[
        Path | None, typer.Option(help="Folder for TensorBoard curves (extra `tensorboard`).")
    ] = None,
    skip_bad: SkipBad = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a model or checkpoint in the folder.")
    ] = False,
) -> None:
    """Train a set-instance classifier on synonym sets and term vectors.

    The epoch is chosen on training sets that are held out. A broken run goes on where it stopped
    when the same command is given again.

    Example: `synsetmine train train.set --vectors vectors.txt --out model --preset paper`
    """
    given = {
        name: value
        for name, value in locals().items()
        if name not in ("sets", "vectors", "out", "preset", "settings", "device", "tensorboard")
        and name not in ("skip_bad", "overwrite")
        and value is not None
    }
    from synsetmine.model import StoredModel, save_model
    from synsetmine.training import train_scorer

    _clear_way(out, overwrite)
    chosen = resolve_settings(preset, settings, given)
    table = load_vectors(vectors, skip_bad)
    training_sets = load_sets(sets, skip_bad)
    with console.progress_bar("training") as bar, _Curves(tensorboard) as curves:

        def on_epoch(epoch: Epoch) -> None:
            curves.add(epoch)
            bar.update(epoch.number, chosen.epochs, _note(epoch), line=epoch.score is not None)

        try:
            trained = train_scorer(
                training_sets,
                table,
                chosen,
                device=choose_device(device),
                checkpoint=out / CHECKPOINT,
                on_epoch=on_epoch,
            )
        except CheckpointError as error:
            raise CheckpointError(f"{error}; --overwrite starts anew") from error
    save_model(
        out, StoredModel(trained.scorer, chosen.threshold, trained.record(), trained.tuned_vectors)
    )
    (out / CHECKPOINT).unlink(missing_ok=True)
    _report(trained, len(training_sets.terms), out)


def resolve_settings(preset: str, path: Path | None, given: dict[str, Any]) -> TrainingSettings:
    """The preset, changed by a file of settings, changed by the options given."""
    from synsetmine.training import PRESETS

    if preset not in PRESETS:
        raise DataError(f"no such preset; there are {', '.join(PRESETS)}", value=preset)
    chosen = PRESETS[preset]
    if path is not None:
        try:
            changes = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"not a file of settings ({error})", path=path) from error
        if not isinstance(changes, dict):
            raise DataError("expected a JSON object of settings", path=path, value=changes)
        chosen = chosen.updated(changes)
    return chosen.updated(given)


def _clear_way(out: Path, overwrite: bool) -> None:
    from synsetmine.model.storage import CONFIG, is_model

    if overwrite:
        (out / CONFIG).unlink(missing_ok=True)
        (out / CHECKPOINT).unlink(missing_ok=True)
    elif is_model(out):
        raise SynsetmineError(f"{out} holds a finished model; --overwrite replaces it")


def _note(epoch: Epoch) -> str:
    score = "" if epoch.score is None else f" validation {100 * epoch.score:.2f}"
    return f"loss {epoch.loss:.4f}{score}"


def _report(trained: Trained, terms: int, out: Path) -> None:
    console.report_missing(trained.without_vector, terms, "were not trained on")
    if trained.fallback_share is not None:
        console.say(
            f"{100 * trained.fallback_share:.1f} % of share-token draws had no partner "
            "and were drawn at random"
        )
    console.say(
        f"best epoch {trained.best_epoch} of {len(trained.history)}: "
        f"validation {trained.settings.select_by} {100 * trained.best_score:.2f}; model in {out}"
    )


class _Curves:
    """Training curves for TensorBoard, if a folder is given."""

    def __init__(self, folder: Path | None) -> None:
        self._writer: Any = None
        if folder is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise SynsetmineError(
                "--tensorboard needs the extra: pip install 'synsetmine[tensorboard]'"
            ) from error
        self._writer = SummaryWriter(str(folder))

    def __enter__(self) -> _Curves:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def add(self, epoch: Epoch) -> None:
        if self._writer is None:
            return
        self._writer.add_scalar("training/loss", epoch.loss, epoch.number)
        if epoch.score is not None:
            self._writer.add_scalar("validation/score", epoch.score, epoch.number)
