"""SynSetMiner: the set-instance classifier and set generation with scikit-learn's conventions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from synsetmine.corpus.name_lists import names_in
from synsetmine.errors import DataError
from synsetmine.models import (
    DEFAULT_PRESET,
    ModelSettings,
    StoredModel,
    generate_sets,
    preset_names,
    settings_of,
)
from synsetmine.notebook import ShowProgress, open_progress
from synsetmine.pipeline.grouping import group
from synsetmine.pipeline.settings import GroupSettings, MineSettings, SetLimits
from synsetmine.schema import settings_in
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermVectors, TermViews

Surfaces = Sequence[str] | npt.NDArray[np.str_]

FEWEST = 10  # entities of two or more terms, to hold some out


# The settings of all models that are parameters, in their order
_SETTINGS = {
    name: definition
    for kind in {type(settings_of(preset)): None for preset in preset_names()}
    for name, definition in settings_in(kind).items()
    if name not in ("embed_sizes", "post_sizes", "train_vectors", "seed")
}
_DEFAULTS = {
    "preset": DEFAULT_PRESET,
    "architecture": None,
    **dict.fromkeys(_SETTINGS),
    "max_sets": settings_in(SetLimits)["max_sets"].default,
    "device": "cpu",
    "random_state": 0,
    "progress": None,
}


class SynSetMiner(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator: learns from labelled terms, groups new terms into synonym sets.

    `fit(X, y)` takes term vectors and the entity of each term; `predict(X)` returns the number of
    the set of each row of X. With `surfaces`, the terms' strings, the model uses those too, and
    `predict` needs them as well. Training and prediction vocabularies are usually disjoint.
    Cross-validate with folds that do not split an entity (`GroupKFold`, groups=y).

    Without y, X is a list or a Series of names: there is no training, and the general model groups
    them like `synsetmine.group`. A missing name has the label -1.

    `preset` is "general", the default model, or a preset of the paper's model, which walks the rows
    once in random order. Each setting of these models is a parameter, `architecture` in place of
    two sizes and `random_state` of the seed; None keeps the value of the preset, and a setting
    of the other model is an error. docs/reference/settings.md explains the settings, and so does
    `help(SynSetMiner)`. `progress` is True for a progress bar, or a function that is called with
    what is done, of how much.
    """

    preset: str
    patience: int | None
    threshold: float | None
    max_sets: int | None
    device: str
    random_state: int | np.random.RandomState | None
    progress: ShowProgress

    def __init__(self, **parameters: Any) -> None:
        bound = inspect.signature(type(self)).bind(**parameters)
        bound.apply_defaults()
        self.__dict__.update(bound.arguments)

    def fit(self, X: Any, y: Any = None, *, surfaces: Surfaces | None = None) -> Self:
        """Train on vectors X (terms, dimension) of entities y (terms,), or group names X.

        `surfaces` are the terms' strings: a further view, and the tokens for some sampling
        strategies of the paper's model.
        """
        with _value_errors():
            settings_in(MineSettings)["threshold"].check(self.threshold)
            settings_in(SetLimits)["max_sets"].check(self.max_sets)
        self.grouped_ = y is None and _are_names(X)
        if self.grouped_:
            self.labels_ = self._group(X)
            return self
        if _are_names(X):
            raise ValueError("X must be vectors if there is a y; pass the names as surfaces=")
        surfaces = _names_of(surfaces)
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        # One number for training and for all later walks.
        state = self.random_state
        drawn = state if isinstance(state, Integral) else check_random_state(state).randint(2**31)
        self.seed_ = int(drawn)
        self.classes_, labels = np.unique(y, return_inverse=True)
        terms = _terms(len(X), surfaces)
        sets = SynonymSets.from_labels(terms, labels.tolist())
        if max(sets.sizes) < 2 or len(sets) < 2:
            raise ValueError(
                f"fit needs two or more classes, one with two or more terms; there are "
                f"{len(sets)} class(es), the largest with {max(sets.sizes)}"
            )
        vectors = TermVectors(tuple(terms), X)
        with _value_errors():
            self._train(sets, TermViews((vectors,), strings=surfaces is not None))
        self.surfaces_ = surfaces is not None
        self.labels_ = self._generate(vectors, strings=self.surfaces_)
        return self

    def _train(self, sets: SynonymSets, views: TermViews) -> None:
        settings = self._settings()
        settings.check_inputs(tables=len(views.vectors))
        # With too few entities to hold some out, the model is chosen on the sets it learns from.
        several = sum(size > 1 for size in sets.sizes)
        with open_progress(self.progress, "training") as report:
            trained = settings.train(
                sets,
                views,
                hold_out=several >= FEWEST,
                device=self.device,
                on_step=None if report is None else lambda step: report(step.done, step.total),
            )
        self.model_: StoredModel = trained.model
        for attribute, name in (("best_epoch_", "best_epoch"), ("n_iter_", "epochs_run")):
            self.__dict__.pop(attribute, None)  # from an earlier fit
            if name in trained.model.training:
                setattr(self, attribute, trained.model.training[name])

    def predict(self, X: Any, *, surfaces: Surfaces | None = None) -> npt.NDArray[np.int64]:
        """The number of each row's set; sets are numbered by their first row."""
        check_is_fitted(self)
        if self.grouped_:
            return self._group(X)
        surfaces = _names_of(surfaces)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        if surfaces is None and "strings" in self.model_.views:
            raise ValueError("the estimator was fitted with surfaces; pass them to predict too")
        if surfaces is not None and not self.surfaces_:
            raise ValueError(
                "the estimator was fitted without surfaces; do not pass them to predict"
            )
        vectors = TermVectors(tuple(_terms(len(X), surfaces)), X)
        return self._generate(vectors, strings=surfaces is not None)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.int64]:
        """Train on X and y, then group the rows of X itself; without y group the names X."""
        return self.fit(X, y, **fit_params).labels_

    def score(self, X: Any, y: Any, *, surfaces: Surfaces | None = None) -> float:
        """The adjusted Rand index of `predict(X)` against the entities y."""
        from synsetmine.metrics import compare_labels

        _, gold = np.unique(y, return_inverse=True)
        return compare_labels(self.predict(X, surfaces=surfaces), gold).ari

    def _settings(self) -> ModelSettings:
        preset = settings_of(self.preset)
        own = {"architecture", *_SETTINGS}
        changes = {n: v for n, v in self.get_params().items() if n in own and v is not None}
        if self.patience is not None:  # a short patience asks for frequent validation
            often = preset.to_dict().get("validate_every", self.patience)
            changes.setdefault("validate_every", min(often, self.patience))
        return preset.with_changes({**changes, "seed": self.seed_})

    def _generate(self, vectors: TermVectors, *, strings: bool) -> npt.NDArray[np.int64]:
        mined = generate_sets(
            self.model_,
            TermViews((vectors,), strings=strings),
            order_terms(vectors.terms, "random", seed=self.seed_),
            threshold=self.model_.threshold,
            max_sets=self.max_sets,
            device=self.device,
            progress=self.progress,
        )
        labels = np.array(mined.sets.labels(vectors.terms), dtype=np.int64)
        _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
        renumbered: npt.NDArray[np.int64] = np.argsort(np.argsort(first))[numbers]
        return renumbered

    def _group(self, names: Any) -> npt.NDArray[np.int64]:
        """The number of each name's set; sets are numbered by their first name."""
        if self.max_sets is not None:
            raise ValueError("max_sets applies to trained models, not to the general model")
        precision = GroupSettings().precision if self.threshold is None else self.threshold
        with _value_errors():
            listed = list(names_in(names))
            grouping = group(listed, precision=precision, unsure=0, progress=self.progress)
            canonical = grouping.mapping
        numbers: dict[str, int] = {}
        labels = [
            numbers.setdefault(canonical[name], len(numbers)) if name in canonical else -1
            for name in listed
        ]
        return np.array(labels, dtype=np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


_INIT = SynSetMiner.__init__
_INIT.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default in _DEFAULTS.items()
        ),
    ]
)
_INIT.__doc__ = "\n".join(f"{each.name}: {each.explanation}" for each in _SETTINGS.values())


@contextmanager
def _value_errors() -> Iterator[None]:
    """Turns our errors into those that scikit-learn's conventions ask for."""
    try:
        yield
    except DataError as error:
        raise ValueError(str(error)) from error


def _are_names(X: Any) -> bool:
    """Whether X is a column of strings, some of which may be missing."""
    if isinstance(X, str):  # one name is refused later
        return True
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__"):
        return False
    return any(isinstance(value, str) for value in X)


def _names_of(surfaces: Surfaces | None) -> list[str] | None:
    """The surfaces of a list, an array or a Series."""
    if surfaces is None:
        return None
    with _value_errors():
        names = list(names_in(surfaces))
    if not all(names):
        raise ValueError(f"surfaces must be strings; one is missing (item {names.index('')})")
    return names


def _terms(count: int, surfaces: Surfaces | None) -> list[Term]:
    if surfaces is not None and len(surfaces) != count:
        raise ValueError(f"expected a surface for each of the {count} rows; got {len(surfaces)}")
    # The row number as the sense keeps equal surfaces apart.
    return [Term("row" if surfaces is None else str(surfaces[i]), str(i)) for i in range(count)]
