"""`synsetmine train`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synsetmine.cli import console
from synsetmine.cli.console import output_folder
from synsetmine.cli.inputs import (
    Device,
    Encoder,
    Reviews,
    SkipBad,
    Tables,
    add_reviews,
    already_trained,
    describe_reviews,
    load_sets,
    load_vectors,
    load_views,
)
from synsetmine.cli.options import SettingOptions, with_settings
from synsetmine.devices import choose_device, require_torch
from synsetmine.errors import CheckpointError, DataError, SynsetmineError
from synsetmine.io.files import read_json, sha256
from synsetmine.io.temporary import check_model_folder
from synsetmine.models.paper.settings import PRESETS, TrainingSettings
from synsetmine.pipeline.settings import ModelChoice

if TYPE_CHECKING:
    from synsetmine.models import ModelSettings, TrainingStep
    from synsetmine.types import SynonymSets
    from synsetmine.views import TermViews

TRAINING = "Training"


@with_settings
def train(
    sets: Annotated[
        Path, typer.Argument(help="Training sets, .set or .jsonl.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=output_folder, help="Folder for the model.")
    ],
    vectors: Tables = None,
    encoder: Encoder = None,
    reviews: Reviews = None,
    *,
    model: Annotated[ModelChoice, SettingOptions()],
    settings: Annotated[
        Path | None, typer.Option(help="JSON file of settings, such as `tune` writes.")
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(
            help="both-X-Y (such as both-250-500), no-et, no-pt.", rich_help_panel=TRAINING
        ),
    ] = None,
    options: Annotated[
        dict[str, Any],
        SettingOptions(
            changes=TrainingSettings,
            leave_out=("embed_sizes", "post_sizes"),
            panel=TRAINING,
            checked=False,  # the settings of the preset do that
        ),
    ],
    device: Device = "auto",
    tensorboard: Annotated[
        Path | None, typer.Option(help="Folder for TensorBoard curves (extra `tensorboard`).")
    ] = None,
    skip_bad: SkipBad = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a model or checkpoint in the folder.")
    ] = False,
) -> None:
    """Train a set-instance classifier on synonym sets and the views of their terms.

    The default adapts the general model, which looks at strings, to the sets, to any number of
    vector tables and to an encoder; few or noisy sets change it little. The paper's model takes
    one table of vectors and chooses its epoch on held-out training sets; run the same command
    again to resume an interrupted training.

    With --reviews, terms that reviewers called correct and exact in one set join the training
    sets, and terms that they removed from a set are negatives.

    Example: `synsetmine train train.set --vectors vectors.txt --out model`

    Example: `synsetmine train train.set --vectors vectors.txt --out model --preset paper`
    """
    if architecture is not None:
        options["architecture"] = architecture
    from synsetmine.pipeline.model_stages import CHECKPOINT, train_to_folder

    check_model_folder(out)
    chosen = _resolve(model.preset, settings, options)
    chosen.check_inputs(tables=len(vectors or ()), encoder=encoder is not None)
    if chosen.uses_torch:
        require_torch("the paper's model")
    target = choose_device(device, uses_torch=chosen.uses_torch)
    inputs = _describe_inputs(sets, vectors or (), encoder, chosen, target)
    inputs |= describe_reviews(reviews)
    if not overwrite and already_trained(out, inputs):
        (out / CHECKPOINT).unlink(missing_ok=True)  # the process may have died between the two
        return
    training_sets = add_reviews(load_sets(sets, skip_bad), reviews)
    tables = [load_vectors(path, skip_bad) for path in vectors or ()]
    views = load_views(tables, encoder, training_sets.terms, device=device)
    _report_missing(vectors or (), views, training_sets, chosen)
    if (out / CHECKPOINT).exists():
        console.say(f"there is a checkpoint in {out}")
    with console.progress_bar("training") as bar, _curves(tensorboard) as draw:

        def on_step(step: TrainingStep) -> None:
            draw(step)
            validated = "validation/score" in step.values if step.values else None
            bar.update(step.done, step.total, step.note, line=validated)

        try:
            trained = train_to_folder(
                chosen,
                training_sets,
                views,
                out,
                encoder=encoder,
                record={"inputs": inputs},
                device=target,
                replace_checkpoint=overwrite,
                on_step=on_step,
            )
        except CheckpointError as error:
            raise CheckpointError(f"{error}; --overwrite starts anew") from error
    for warning in trained.warnings:
        console.warn(warning)
    for note in trained.notes:
        console.say(note)
    console.say(f"model in {out}")


def _resolve(preset: str, path: Path | None, options: dict[str, Any]) -> ModelSettings:
    """The preset, changed by a file of settings, changed by options."""
    from synsetmine.models import DEFAULT_PRESET, settings_of

    if path is not None:  # such as `tune` writes, for the paper's model
        return resolve_settings("paper" if preset == DEFAULT_PRESET else preset, path, options)
    return settings_of(preset).updated(options)


def resolve_settings(preset: str, path: Path | None, options: dict[str, Any]) -> TrainingSettings:
    """Settings of the paper's model: the preset, changed by a file, changed by options."""
    changes = {} if path is None else read_json(path)
    if not isinstance(changes, dict):
        raise DataError("expected a JSON object of settings", path=path, value=changes)
    return PRESETS[preset].updated(changes).updated(options)


def _describe_inputs(
    sets: Path,
    vectors: Sequence[Path],
    encoder: str | None,
    settings: ModelSettings,
    device: str,
) -> dict[str, Any]:
    """What a model is trained on, by content, so that the same command is recognised."""
    from synsetmine.views.encoder import encoder_digest, find_encoder

    for path in (sets, *vectors):
        if not path.is_file():
            raise DataError("No such file or directory", path=path)
    return {
        "settings": settings.to_dict(),
        "device": device,
        "encoder": None if encoder is None else encoder_digest(find_encoder(encoder)),
        "sets_sha256": sha256(sets),
        "vectors_sha256": [sha256(path) for path in vectors],
    }


def _report_missing(
    paths: Sequence[Path], views: TermViews, sets: SynonymSets, settings: ModelSettings
) -> None:
    """Report the training terms that some table or every view lacks."""
    known = set(settings.known(sets.terms, views))
    for path, table in zip(paths, views.vectors, strict=True):
        missing = table.missing(sets.terms)
        if len(missing) == len(sets.terms):
            raise DataError("no term of the training sets has a vector", path=path)
        elsewhere = [term for term in missing if term in known]
        console.report_missing(
            elsewhere, len(sets.terms), f"in {path} are known by other views alone"
        )
    unknown = [term for term in sets.terms if term not in known]
    console.report_missing(unknown, len(sets.terms), "are not trained on")


@contextmanager
def _curves(folder: Path | None) -> Iterator[Callable[[TrainingStep], None]]:
    """Draws training curves for TensorBoard, if there is a folder for them."""
    if folder is None:
        yield lambda _: None
        return
    try:
        from tensorboard.summary import Writer
    except ImportError as error:
        raise SynsetmineError(
            "--tensorboard needs the extra: pip install 'synsetmine[tensorboard]'"
        ) from error
    with closing(Writer(str(folder))) as writer:

        def draw(step: TrainingStep) -> None:
            for name, value in step.values.items():
                writer.add_scalar(name, value, step.done)

        yield draw
