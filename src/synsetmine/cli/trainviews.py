"""`synsetmine train --preset views`: our own model, from all that is known of terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synsetmine.cli import console
from synsetmine.cli.inputs import (
    add_reviews,
    already_trained,
    choose_device,
    describe_reviews,
    load_sets,
    load_vectors,
    load_views,
)
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.files import sha256

if TYPE_CHECKING:
    from synsetmine.training.viewtraining import ViewSettings
    from synsetmine.types import SynonymSets
    from synsetmine.views import TermViews, View

THRESHOLD = 0.5


def train_view_model(
    sets: Path,
    vectors: Sequence[Path],
    encoder: str | None,
    strings: bool,
    out: Path,
    *,
    reviews: Path | None,
    given: Mapping[str, Any],
    size: int | None,
    device: str,
    skip_bad: bool,
    overwrite: bool,
) -> None:
    """Train and save; the same command again finds its model and does nothing."""
    from synsetmine.model import StoredModel, save_model
    from synsetmine.training.viewtraining import ViewSettings, known_sets, train_views
    from synsetmine.views.encoder import kept_name

    for name, value in given.items():
        if value is not None and name not in ("seed", "threshold"):
            problem = "the preset views has no such setting; take another --preset"
            raise DataError(problem, value=name)
    settings = ViewSettings(
        views=_views(bool(vectors), strings, encoder is not None), seed=given["seed"] or 0
    )
    threshold = THRESHOLD if given["threshold"] is None else given["threshold"]
    if not 0 <= threshold <= 1:
        raise DataError("threshold must be between 0 and 1", value=threshold)
    inputs = _describe(sets, vectors, encoder, settings, threshold, size)
    inputs |= describe_reviews(reviews)
    if not overwrite and already_trained(out, inputs):
        return
    training_sets = add_reviews(load_sets(sets, skip_bad), reviews)
    tables = [load_vectors(path, skip_bad) for path in vectors]
    views = load_views(tables, encoder, training_sets.terms, device=device)
    _report_missing(vectors, views, training_sets.terms)
    with console.progress_bar("training") as bar:
        trained = train_views(
            known_sets(training_sets, views, settings),
            views,
            settings,
            size=size if size is not None else _to_be_mined(views, training_sets),
            device=choose_device(device),
            progress=bar.update,
        )
    kept = None if encoder is None else kept_name(encoder)
    record = {"inputs": inputs, "encoder": kept, **trained.record()}
    save_model(out, StoredModel(trained.scorer, threshold, record))
    console.say(
        f"on training sets that it had not seen: F1 of pairs {100 * trained.score:.2f}; "
        f"model in {out}"
    )


def _to_be_mined(views: TermViews, sets: SynonymSets) -> int | None:
    """How many other terms have vectors; None where no file tells."""
    return sum(term not in sets for term in views.vectors[0].terms) if views.vectors else None


def _views(vectors: bool, strings: bool, encoder: bool) -> tuple[View, ...]:
    there: dict[View, bool] = {"vectors": vectors, "strings": strings, "encoder": encoder}
    views = tuple(view for view, given in there.items() if given)
    if not views:
        raise SynsetmineError("nothing is known of terms: give --vectors, --strings or --encoder")
    return views


def _report_missing(paths: Sequence[Path], views: TermViews, terms: Sequence[Any]) -> None:
    for path, table in zip(paths, views.vectors, strict=True):
        missing = table.missing(terms)
        if len(missing) == len(terms):
            raise DataError("no term of the training sets has a vector", path=path)
        console.report_missing(missing, len(terms), f"in {path} are known by other views alone")


def _describe(
    sets: Path,
    vectors: Sequence[Path],
    encoder: str | None,
    settings: ViewSettings,
    threshold: float,
    size: int | None,
) -> dict[str, Any]:
    """What a model was made of, by content, so that the same command is known again."""
    from synsetmine.views.encoder import encoder_digest, find_encoder

    for path in (sets, *vectors):
        if not path.is_file():
            raise DataError("No such file or directory", path=path)
    return {
        "settings": settings.to_dict(),
        "threshold": threshold,
        "size": size,
        "encoder": None if encoder is None else encoder_digest(find_encoder(encoder)),
        "sets_sha256": sha256(sets),
        "vectors_sha256": [sha256(path) for path in vectors],
    }
