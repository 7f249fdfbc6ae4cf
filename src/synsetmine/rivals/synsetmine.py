"""SynSetMine, the paper's model and the project's default, as methods of the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from synsetmine.errors import DataError
from synsetmine.models import DEFAULT_PRESET, PreparedModel, StoredModel, settings_of
from synsetmine.models.paper.settings import PRESETS, TrainingSettings
from synsetmine.rivals.base import Choice, Labels, Task, TrainingData, grid
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews, View


@dataclass(frozen=True, kw_only=True)
class SynSetMine:
    """The set-instance classifier and the one pass over the vocabulary with it.

    `changes` are settings that differ from the preset's: `{"epochs": 100}`. The threshold θ is
    not tuned: the paper fixes it.
    """

    preset: str = "paper"
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: ClassVar[frozenset[View]] = frozenset({"vectors"})
    needs_k: ClassVar[bool] = False
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            problem = f"no such preset; expected one of {', '.join(PRESETS)}"
            raise DataError(problem, value=self.preset)
        _ = self.settings  # raises now for a wrong change, not after hours of other methods

    @property
    def settings(self) -> TrainingSettings:
        """Those of the preset with the changes; the seed will be the data's."""
        return PRESETS[self.preset].updated(self.changes)

    @property
    def choices(self) -> tuple[Choice, ...]:
        return grid("threshold", [self.settings.threshold])

    def fit(self, data: TrainingData) -> TrainedSynSetMine:
        """Train on the sets; the epoch is chosen on some that are held out."""
        settings = fit_held_out(self.settings, data.training, data.size)
        settings = settings.updated({"seed": data.seed})
        trained = settings.train(data.training, data.views, device=data.device)
        return TrainedSynSetMine(trained.model, tables=1)


@dataclass(frozen=True, kw_only=True)
class DefaultSynSetMine:
    """The default model on some views of a term.

    Nothing is tuned here: training finds its threshold.
    """

    views: tuple[View, ...] = ("vectors",)
    needs_k: ClassVar[bool] = False
    ordered: ClassVar[bool] = True

    @property
    def needs(self) -> frozenset[View]:
        return frozenset(self.views)

    @property
    def choices(self) -> tuple[Choice, ...]:
        return grid("threshold", [0.5])

    def fit(self, data: TrainingData) -> TrainedSynSetMine:
        settings = settings_of(DEFAULT_PRESET).updated({"seed": data.seed})
        views = data.views.only(self.views)
        trained = settings.train(data.training, views, device=data.device)
        return TrainedSynSetMine(trained.model, device=data.device)


@dataclass
class TrainedSynSetMine:
    """A trained model; a vocabulary is prepared once for all of its orders."""

    model: StoredModel
    device: str | None = None
    tables: int | None = None  # the first so many vector tables; None: all
    _prepared: tuple[tuple[Term, ...], TermViews, PreparedModel] | None = field(
        default=None, init=False
    )

    def cluster(self, task: Task, choices: Sequence[Choice]) -> Iterator[Labels]:
        prepared = self._prepare(task)
        for choice in choices:
            mined = prepared.generate(order=task.terms, threshold=choice["threshold"])
            yield np.array(mined.sets.labels(task.terms), dtype=np.int64)

    def _prepare(self, task: Task) -> PreparedModel:
        terms, views = tuple(sorted(task.terms)), task.views
        if self._prepared is None or self._prepared[0] != terms or self._prepared[1] is not views:
            seen = replace(views, vectors=views.vectors[: self.tables])
            prepared = self.model.prepare(terms, seen, device=self.device)
            self._prepared = terms, views, prepared
        return self._prepared[2]


def fit_held_out(settings: TrainingSettings, sets: SynonymSets, size: int) -> TrainingSettings:
    """Hold out no more than makes a vocabulary of `size` terms, as many as will be clustered.

    More would only cost training sets and time; fewer than 100 would leave the choice to chance.
    """
    share = max(size, 100) / max(len(sets.terms), 1)
    return settings.updated({"held_out": min(settings.held_out, share)})
