"""`synsetmine train`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    Device,
    Encoder,
    Reviews,
    SkipBad,
    Tables,
    add_reviews,
    already_trained,
    choose_device,
    describe_reviews,
    load_sets,
    load_vectors,
)
from synsetmine.cli.places import a_folder
from synsetmine.cli.trainviews import train_view_model
from synsetmine.errors import CheckpointError, DataError, SynsetmineError
from synsetmine.files import read_json, sha256

if TYPE_CHECKING:
    from synsetmine.training import Epoch, Trained, TrainingSettings
    from synsetmine.types import SynonymSets
    from synsetmine.views import TermVectors

PaperPreset = Literal["paper", "released-nyt", "released-wiki", "released-pubmed", "project"]
Preset = Literal["views", PaperPreset]

CHECKPOINT = "checkpoint.safetensors"
TRAINING = "Training"


def train(
    sets: Annotated[
        Path, typer.Argument(help="Training sets, .set or .jsonl.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=a_folder, help="Folder for the model.")
    ],
    vectors: Tables = None,
    encoder: Encoder = None,
    reviews: Reviews = None,
    strings: Annotated[
        bool, typer.Option("--strings/--no-strings", help="Look at the terms' strings too.")
    ] = True,
    size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="For the preset views: how many terms will be mined at a time, about; in a "
            "crowd fewer neighbours are synonyms. Default: those of the first --vectors that are "
            "in no training set.",
        ),
    ] = None,
    preset: Annotated[
        Preset,
        typer.Option(
            help="views, our own model; or the paper's, with the settings of paper, released-nyt, "
            "released-wiki, released-pubmed or project."
        ),
    ] = "views",
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
        Literal["complete-random", "share-token", "mixture"] | None,
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
        Literal["fmi", "ari", "pair_f1"] | None,
        typer.Option(help="fmi, ari or pair_f1 chooses the epoch.", rich_help_panel=TRAINING),
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
    """Train a set-instance classifier on synonym sets and what is known of their terms.

    The default model looks at strings, at any number of vector tables and at an encoder. The
    paper's model takes one table of vectors; it chooses its epoch on training sets that are held
    out, and a broken run goes on where it stopped when the same command is given again.

    With --reviews, terms that people called correct and exact in one set join the training sets,
    and terms that had to leave a set are negatives.

    Example: `synsetmine train train.set --vectors vectors.txt --out model`

    Example: `synsetmine train train.set --vectors vectors.txt --out model --preset paper`
    """
    given = {
        "learning_rate": learning_rate,
        "dropout": dropout,
        "negatives": negatives,
        "strategy": strategy,
        "architecture": architecture,
        "batch_sets": batch_sets,
        "epochs": epochs,
        "patience": patience,
        "validate_every": validate_every,
        "held_out": held_out,
        "validation_orders": validation_orders,
        "select_by": select_by,
        "threshold": threshold,
        "amsgrad": amsgrad,
        "train_vectors": train_vectors,
        "seed": seed,
    }
    if preset == "views" and settings is None:
        train_view_model(
            sets,
            vectors or [],
            encoder,
            strings,
            out,
            reviews=reviews,
            given={**given, "tensorboard": tensorboard},
            size=size,
            device=device,
            skip_bad=skip_bad,
            overwrite=overwrite,
        )
        return
    if size is not None:
        raise DataError("only the preset views takes --size", value=size)
    chosen = resolve_settings(preset, settings, given)
    place = choose_device(device)
    only = only_table(vectors, encoder)
    inputs = _describe_inputs(sets, only, chosen, place) | describe_reviews(reviews)
    if not overwrite and already_trained(out, inputs):
        (out / CHECKPOINT).unlink(missing_ok=True)  # a kill may have come between the two
        return
    table = load_vectors(only, skip_bad)
    training_sets = add_reviews(load_sets(sets, skip_bad), reviews)
    missing = table.missing(training_sets.terms)
    console.report_missing(missing, len(training_sets.terms), "are not trained on")
    if (out / CHECKPOINT).exists():
        console.say(f"there is a checkpoint in {out}")
    trained = _train(training_sets, table, chosen, place, out, overwrite, tensorboard)
    _save(out, trained, inputs)
    _report(trained, out)


def only_table(vectors: Sequence[Path] | None, encoder: str | None) -> Path:
    """The one table of vectors that the paper's model takes."""
    if encoder is not None:
        raise DataError("the paper's model takes no encoder; leave out --preset", value=encoder)
    if not vectors or len(vectors) != 1:
        raise DataError("the paper's model takes one --vectors", value=len(vectors or []))
    return vectors[0]


def _train(
    sets: SynonymSets,
    vectors: TermVectors,
    settings: TrainingSettings,
    device: str,
    out: Path,
    overwrite: bool,
    tensorboard: Path | None,
) -> Trained:
    from synsetmine.training import train_scorer

    with console.progress_bar("training") as bar, _Curves(tensorboard) as curves:
        last = ""

        def on_epoch(epoch: Epoch) -> None:
            nonlocal last
            curves.add(epoch)
            if epoch.score is not None:
                last = f" validation {100 * epoch.score:.2f}"
            note = f"loss {epoch.loss:.4f}{last}"
            bar.update(epoch.number, settings.epochs, note, line=epoch.score is not None)

        try:
            return train_scorer(
                sets,
                vectors,
                settings,
                device=device,
                checkpoint=out / CHECKPOINT,
                replace_checkpoint=overwrite,
                on_epoch=on_epoch,
            )
        except CheckpointError as error:
            raise CheckpointError(f"{error}; --overwrite starts anew") from error


def _describe_inputs(
    sets: Path, vectors: Path, settings: TrainingSettings, device: str
) -> dict[str, Any]:
    """What a model was made of, by content, so that the same command is known again."""
    for path in (sets, vectors):
        if not path.is_file():
            raise DataError("No such file or directory", path=path)
    return {
        "settings": settings.to_dict(),
        "device": device,
        "sets_sha256": sha256(sets),
        "vectors_sha256": sha256(vectors),
    }


def _save(out: Path, trained: Trained, inputs: dict[str, Any]) -> None:
    from synsetmine.model import StoredModel, save_model

    record = {"inputs": inputs, **trained.record()}
    threshold = trained.settings.threshold
    save_model(out, StoredModel(trained.scorer, threshold, record, trained.tuned_vectors))
    (out / CHECKPOINT).unlink(missing_ok=True)


def resolve_settings(preset: Preset, path: Path | None, given: dict[str, Any]) -> TrainingSettings:
    """The preset, changed by a file of settings, changed by the options given."""
    from synsetmine.training import PRESETS

    # A file of settings, such as `tune` writes, is one of the paper's model.
    chosen = PRESETS["paper" if preset == "views" else preset]
    if path is not None:
        changes = read_json(path)
        if not isinstance(changes, dict):
            raise DataError("expected a JSON object of settings", path=path, value=changes)
        chosen = chosen.updated(changes)
    return chosen.updated({name: value for name, value in given.items() if value is not None})


def _report(trained: Trained, out: Path) -> None:
    if trained.fallback_share is not None:
        console.say(
            f"{100 * trained.fallback_share:.1f} % of share-token draws had no partner "
            "and were drawn at random"
        )
    if trained.best_score == 0:
        console.warn(
            "no synonyms of the held-out sets were joined at any epoch: train longer (--epochs, "
            "--patience), or on more sets, or lower --threshold"
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
