"""`synsetmine train`, `synsetmine tune` and `synsetmine finetune`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    AsJson,
    Device,
    Encoder,
    Reviews,
    SkipBad,
    Tables,
    TrainingSets,
    Vectors,
    add_reviews,
    is_trained,
    load_sets,
    load_vectors,
    load_views,
    read_held_out,
)
from synsetmine.cli.options import SettingOptions, option_of, out_folder
from synsetmine.devices import choose_device, require_torch
from synsetmine.errors import CheckpointError, DataError, SynsetmineError
from synsetmine.io.files import read_json, sha256
from synsetmine.models.paper.settings import PRESETS, TrainingSettings
from synsetmine.pipeline.settings import (
    CrossValidationSettings,
    EncoderSettings,
    ModelChoice,
    TuningSettings,
)
from synsetmine.schema import settings_in

if TYPE_CHECKING:
    from synsetmine.models import ModelSettings, TrainingResult, TrainingStep
    from synsetmine.models.paper.tune import TuningCandidate
    from synsetmine.types import SynonymSets
    from synsetmine.views import TermViews


S = TypeVar("S", bound="ModelSettings")
TRAINING = "Training"


def train(
    sets: TrainingSets,
    out: Annotated[Path, out_folder("Folder for the model.")],
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

    With --reviews, terms that reviewers judged correct and exact in one set join the training
    sets, and terms that they removed from a set are negatives. If they come from a run that holds
    sets out for its scores, the command also trains without them and reports F1 on those sets; it
    asks whether to keep decisions that lower it by 0.02 or more.

    Example: `synsetmine train train.set --vectors vectors.txt --out model`

    Example: `synsetmine train train.set --vectors vectors.txt --out model --preset paper`
    """
    if architecture is not None:
        options["architecture"] = architecture
    from synsetmine.models import DEFAULT_PRESET, settings_of
    from synsetmine.pipeline.model_stages import (
        CHECKPOINT,
        train_to_folder,
        train_with_reviews,
        without_terms,
    )

    of_paper = settings is not None and model.preset == DEFAULT_PRESET  # as `tune` writes them
    preset = settings_of("paper" if of_paper else model.preset)
    chosen = _changed_settings(preset, settings, options)
    chosen.check_inputs(tables=len(vectors or ()), encoder=encoder is not None)
    if chosen.uses_torch:
        require_torch("the paper's model")
    target = choose_device(device, uses_torch=chosen.uses_torch)
    inputs = _describe_inputs(sets, vectors or (), encoder, reviews, chosen, target)
    if not overwrite and is_trained(out, inputs):
        (out / CHECKPOINT).unlink(missing_ok=True)  # the process may have died between the two
        return
    known, held_out = load_sets(sets, skip_bad), read_held_out(reviews)
    training_sets = add_reviews(known, reviews, held_out)
    unseen = without_terms(held_out, known)
    tables = [load_vectors(path, skip_bad) for path in vectors or ()]
    terms = [*training_sets.terms, *unseen.terms]
    views = load_views(tables, encoder, terms, device=device)
    _report_missing(vectors or (), views, training_sets, chosen)
    if (out / CHECKPOINT).exists():
        console.say(f"found a checkpoint in {out}")

    def train_on(sets: SynonymSets, folder: Path) -> TrainingResult:
        curves = tensorboard if folder == out else None
        label = "training" if folder == out else "training without reviews"
        with console.progress_bar(label) as bar, _curves(curves) as draw:

            def on_step(step: TrainingStep) -> None:
                draw(step)
                validated = "validation/score" in step.values if step.values else None
                bar.update(step.done, step.total, step.note, line=validated)

            try:
                return train_to_folder(
                    chosen,
                    sets,
                    views,
                    folder,
                    encoder=encoder,
                    record={"inputs": inputs},
                    device=target,
                    replace_checkpoint=overwrite,
                    on_step=on_step,
                )
            except CheckpointError as error:
                raise CheckpointError(f"{error}; --overwrite starts anew") from error

    trained, effect = train_with_reviews(
        train_on, known, training_sets, out, reviews, unseen, views, device=target, ask=console.ask
    )
    if effect is not None and not effect.is_loss:
        console.say(str(effect))
    for warning in trained.warnings:
        console.warn(warning)
    for note in trained.notes:
        console.say(note)
    console.say(f"model in {out}")


def _changed_settings(settings: S, path: Path | None, options: dict[str, Any]) -> S:
    """The settings, changed by a file such as `tune` writes, changed by options."""
    changes = {} if path is None else read_json(path)
    if not isinstance(changes, dict):
        raise DataError("expected a JSON object of settings", path=path, value=changes)
    return settings.with_changes(changes).with_changes(options)


def _describe_inputs(
    sets: Path,
    vectors: Sequence[Path],
    encoder: str | None,
    reviews: Path | None,
    settings: ModelSettings,
    device: str,
) -> dict[str, Any]:
    """What a model is trained on, by content, so that the same command is recognised."""
    from synsetmine.review.decisions import digest
    from synsetmine.review.feedback import find_decisions
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
    } | ({} if reviews is None else {"reviews_sha256": digest(find_decisions(reviews))})


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
        console.report_missing(elsewhere, len(sets.terms), f"are compared without {path}")
    unknown = [term for term in sets.terms if term not in known]
    console.report_missing(unknown, len(sets.terms), "are left out of training")


@contextmanager
def _curves(folder: Path | None) -> Iterator[Callable[[TrainingStep], None]]:
    """Draws training curves for TensorBoard, if there is a folder for them."""
    if folder is None:
        yield lambda _: None
        return
    try:
        from tensorboard.summary import Writer
    except ImportError as error:
        extra = "pip install 'synsetmine[tensorboard]'"
        raise SynsetmineError(f"--tensorboard needs the extra: {extra}") from error
    with closing(Writer(str(folder))) as writer:

        def draw(step: TrainingStep) -> None:
            for name, value in step.values.items():
                writer.add_scalar(name, value, step.done)

        yield draw


def finetune(
    sets: TrainingSets,
    out: Annotated[Path, out_folder("Folder for the tuned encoder.")],
    encoder: Annotated[str, option_of(settings_in(EncoderSettings)["model"])] = "minilm",
    *,
    settings: Annotated[TuningSettings, SettingOptions(checked=False)],
    device: Device = "auto",
    skip_bad: SkipBad = False,
) -> None:
    """Tune a sentence encoder on synonym sets, so that synonyms get similar embeddings.

    It needs thousands of training sets. Pass the folder to `train` with `--encoder`, together
    with the same sets. It lists the sets that it was tuned on, and `train` uses the other sets
    only.

    Example: `synsetmine finetune train.set --out tuned` (extra `encoder`)

    Example: `synsetmine train train.set --encoder tuned --out model`
    """
    require_torch("fine-tuning", extra="encoder")
    from synsetmine.models.finetune import check_free, tune_encoder
    from synsetmine.views import find_encoder

    check_free(out)
    known = load_sets(sets, skip_bad)
    with console.progress_bar("tuning") as bar:
        learned = tune_encoder(
            known,
            find_encoder(encoder),
            out,
            epochs=settings.epochs,
            held_out=settings.held_out,
            seed=settings.seed,
            device=choose_device(device),
            progress=bar.update,
        )
    console.say(
        f"tuned on {len(learned):,} sets, {len(known) - len(learned):,} withheld from it; "
        f"encoder in {out}"
    )


def tune(
    sets: TrainingSets,
    vectors: Vectors,
    out: Annotated[Path, out_folder("Folder for results.jsonl and best.json.")],
    grid: Annotated[
        list[str],
        typer.Option(
            "--grid",
            "-g",
            help="A setting and its values, such as learning_rate=0.001,0.0001; repeat it for "
            "each setting. `architecture` takes names such as both-250-500.",
        ),
    ],
    *,
    validation: Annotated[CrossValidationSettings, SettingOptions()],
    settings: Annotated[
        Path | None, typer.Option(help="JSON file of settings that override the preset.")
    ] = None,
    options: Annotated[
        dict[str, Any],
        SettingOptions(changes=TrainingSettings, only=("epochs", "seed"), checked=False),
    ],
    as_json: AsJson = False,
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

    base = _changed_settings(PRESETS[validation.preset], settings, options)
    candidates = combinations(parse_grid(grid))
    if validation.sample is not None:
        candidates = pick(candidates, validation.sample, seed=base.seed)
    training_sets, table = load_sets(sets, skip_bad), load_vectors(vectors, skip_bad)
    missing = table.missing(training_sets.terms)
    console.report_missing(missing, len(training_sets.terms), "are left out")
    with console.progress_bar("tuning") as bar:
        results = cross_validate(
            training_sets,
            table,
            base,
            candidates,
            out=out,
            folds=validation.folds,
            workers=validation.workers,
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
            raise DataError("this setting already has a --grid", value=axis)
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
