"""SynSetMiner: the set-instance classifier and set generation with scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from synsetmine.errors import DataError
from synsetmine.generation import generate_sets
from synsetmine.model.scorer import SetScorer
from synsetmine.model.viewscorer import ViewScorer
from synsetmine.training import PRESETS, TrainingSettings, Validation, train_scorer
from synsetmine.training.viewtraining import FEWEST, ViewSettings, train_views
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermVectors, TermViews

Surfaces = Sequence[str] | npt.NDArray[np.str_]

SETTINGS = (
    "architecture",
    "learning_rate",
    "dropout",
    "negatives",
    "strategy",
    "batch_sets",
    "epochs",
    "patience",
)


class SynSetMiner(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Learns from labelled terms how synonym sets look; groups new terms into sets.

    `fit(X, y)` takes term vectors and the entity each term names; `predict(X)` gives each row of X
    the number of its set. With `surfaces`, the terms' strings, the model looks at those too, and
    then `predict` needs them as well. Training and prediction vocabularies are usually disjoint.
    Cross-validate with folds that keep an entity together (`GroupKFold`, groups=y).

    `preset` is "views", our own model, or one of the paper's model, which walks the rows once in
    random order. The parameters from `architecture` to `patience` are the paper's model's; None
    keeps the value of the preset.
    """

    def __init__(
        self,
        *,
        preset: str = "views",
        architecture: str | None = None,
        learning_rate: float | None = None,
        dropout: float | None = None,
        negatives: int | None = None,
        strategy: str | None = None,
        batch_sets: int | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        threshold: float = 0.5,
        max_sets: int | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.preset = preset
        self.architecture = architecture
        self.learning_rate = learning_rate
        self.dropout = dropout
        self.negatives = negatives
        self.strategy = strategy
        self.batch_sets = batch_sets
        self.epochs = epochs
        self.patience = patience
        self.threshold = threshold
        self.max_sets = max_sets
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, surfaces: Surfaces | None = None) -> Self:
        """Train on vectors X (terms, dimension) of entities y (terms,).

        `surfaces` are the terms' strings: one more view, and for some strategies of the paper's
        model what they draw by.
        """
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must lie between 0 and 1, not {self.threshold}")
        if self.max_sets is not None and self.max_sets < 1:
            raise ValueError(f"max_sets must be at least 1, not {self.max_sets}")
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        # One number for training and for all later walks.
        given = self.random_state
        self.seed_ = (
            int(given)
            if isinstance(given, Integral)
            else int(check_random_state(given).randint(2**31))
        )
        self.classes_, labels = np.unique(y, return_inverse=True)
        terms = _terms(len(X), surfaces)
        sets = SynonymSets.from_labels(terms, labels.tolist())
        if max(sets.sizes) < 2 or len(sets) < 2:
            raise ValueError(
                f"fit needs two or more classes, one with two or more terms; there are "
                f"{len(sets)} class(es), the largest with {max(sets.sizes)}"
            )
        vectors = TermVectors(tuple(terms), X)
        try:
            if self.preset == "views":
                self._fit_views(sets, vectors, strings=surfaces is not None)
            else:
                self._fit_paper(sets, vectors, strings=surfaces is not None)
        except DataError as error:
            raise ValueError(str(error)) from error
        self.labels_ = self._generate(vectors)
        return self

    def _fit_views(self, sets: SynonymSets, vectors: TermVectors, *, strings: bool) -> None:
        wrong = [name for name in SETTINGS if getattr(self, name) is not None]
        if wrong:
            raise ValueError(f"the preset 'views' has no parameter {wrong[0]!r}")
        several = sum(size > 1 for size in sets.sizes)
        trained = train_views(
            sets,
            TermViews((vectors,)),
            ViewSettings(
                views=("vectors", "strings") if strings else ("vectors",), seed=self.seed_
            ),
            # Too few entities to hold some out: the bar is then found on what was learned.
            hold_out=several >= FEWEST,
            device=self.device,
        )
        self.scorer_: SetScorer | ViewScorer = trained.scorer
        for of_paper in ("best_epoch_", "n_iter_"):  # from an earlier fit
            self.__dict__.pop(of_paper, None)

    def _fit_paper(self, sets: SynonymSets, vectors: TermVectors, *, strings: bool) -> None:
        settings = self._settings()
        if not strings and settings.strategy != "complete-random":
            raise ValueError(f"strategy {settings.strategy!r} needs the terms' surfaces")
        # Too few entities to hold some out: the epoch is then chosen on the training sets.
        several = [members for members in sets if len(members) > 1]
        validation = None
        if len(several) < FEWEST:
            walk = order_terms(sets.terms, "random", seed=settings.seed)
            validation = Validation(sets, [walk], settings.select_by, settings.threshold)
        trained = train_scorer(sets, vectors, settings, validation=validation, device=self.device)
        self.scorer_ = trained.scorer
        self.best_epoch_ = trained.best_epoch
        self.n_iter_ = len(trained.history)

    def predict(self, X: Any, *, surfaces: Surfaces | None = None) -> npt.NDArray[np.int64]:
        """The number of each row's set; sets are numbered by their first row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        if isinstance(self.scorer_, ViewScorer):  # the paper's model does not look at them here
            strings = "strings" in self.scorer_.views
            if strings != (surfaces is not None):
                had = "with" if strings else "without"
                raise ValueError(f"it was fitted {had} surfaces, so it predicts {had} them")
        return self._generate(TermVectors(tuple(_terms(len(X), surfaces)), X))

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.int64]:
        """Train on X and y, then group the rows of X itself."""
        return self.fit(X, y, **fit_params).labels_

    def score(self, X: Any, y: Any, *, surfaces: Surfaces | None = None) -> float:
        """The adjusted Rand index of `predict(X)` against the entities y."""
        from synsetmine.metrics import compare_labels

        _, gold = np.unique(y, return_inverse=True)
        return compare_labels(self.predict(X, surfaces=surfaces), gold).ari

    def _settings(self) -> TrainingSettings:
        if self.preset not in PRESETS:
            known = ", ".join(("views", *PRESETS))
            raise ValueError(f"no such preset {self.preset!r}; there are {known}")
        given = {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}
        preset = PRESETS[self.preset]
        # A short patience asks for looking more often.
        often = min(preset.validate_every, self.patience or preset.patience)
        changes = {"validate_every": often, "threshold": self.threshold, "seed": self.seed_}
        return preset.updated({**given, **changes})

    def _generate(self, vectors: TermVectors) -> npt.NDArray[np.int64]:
        mined = generate_sets(
            self.scorer_,
            vectors,
            order_terms(vectors.terms, "random", seed=self.seed_),
            threshold=self.threshold,
            max_sets=self.max_sets,
            device=self.device,
        )
        labels = np.array(mined.sets.labels(vectors.terms), dtype=np.int64)
        _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
        renumbered: npt.NDArray[np.int64] = np.argsort(np.argsort(first))[numbers]
        return renumbered

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _terms(count: int, surfaces: Surfaces | None) -> list[Term]:
    if surfaces is not None and len(surfaces) != count:
        raise ValueError(f"{len(surfaces)} surfaces for {count} rows")
    # The row number as the sense keeps equal surfaces apart.
    return [Term("row" if surfaces is None else str(surfaces[i]), str(i)) for i in range(count)]
