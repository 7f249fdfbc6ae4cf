"""SynSetMine, the paper's model and the project's own, as methods of the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synsetmine.baselines.base import Choice, Labels, Lesson, Problem, grid
from synsetmine.errors import DataError
from synsetmine.generation import generate_sets
from synsetmine.generation.bysize import mine_by_size
from synsetmine.training import PRESETS, Trained, TrainingSettings, train_scorer
from synsetmine.training.viewtraining import TrainedViews, ViewSettings, train_views
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
    needs: frozenset[View] = field(default=frozenset({"vectors"}), init=False)
    told: bool = field(default=False, init=False)
    ordered: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise DataError(f"no such preset; there are {', '.join(PRESETS)}", value=self.preset)
        _ = self.settings  # a wrong change is told here, not after an hour of other methods

    @property
    def settings(self) -> TrainingSettings:
        """Those of the preset with the changes; the seed will be the lesson's."""
        return PRESETS[self.preset].updated(self.changes)

    @property
    def choices(self) -> tuple[Choice, ...]:
        return grid("threshold", [self.settings.threshold])

    def learn(self, lesson: Lesson) -> TrainedSynSetMine:
        """Train on the sets; the epoch is chosen on some that are held out."""
        settings = fit_held_out(self.settings, lesson.training, lesson.size)
        settings = settings.updated({"seed": lesson.seed})
        table = lesson.views.table("vectors")
        trained = train_scorer(lesson.training, table, settings, device=lesson.device)
        return TrainedSynSetMine(trained)


@dataclass(frozen=True)
class TrainedSynSetMine:
    """A trained scorer that walks the terms in the problem's order."""

    trained: Trained

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        table = problem.views.table("vectors")
        for choice in choices:
            mined = generate_sets(
                self.trained.scorer, table, problem.terms, threshold=choice["threshold"]
            )
            yield np.array(mined.sets.labels(problem.terms), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class ViewSynSetMine:
    """The view scorer: sets by everything that the views know of a term.

    Nothing is tuned here: its bar is found in training.
    """

    views: tuple[View, ...] = ("vectors",)
    told: bool = field(default=False, init=False)
    ordered: bool = field(default=True, init=False)

    @property
    def needs(self) -> frozenset[View]:
        return frozenset(self.views)

    @property
    def choices(self) -> tuple[Choice, ...]:
        return grid("threshold", [0.5])

    def learn(self, lesson: Lesson) -> TrainedViewSynSetMine:
        settings = ViewSettings(views=self.views, seed=lesson.seed)
        trained = train_views(
            lesson.training, lesson.views, settings, size=lesson.size, device=lesson.device
        )
        return TrainedViewSynSetMine(trained, lesson.device)


@dataclass
class TrainedViewSynSetMine:
    """A trained view scorer; the graph of a vocabulary is made once for all of its orders."""

    trained: TrainedViews
    device: str
    _seen: tuple[tuple[Term, ...], TermViews, Any] | None = field(default=None, init=False)

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        graph = self._graph(problem)
        bar = self.trained.scorer.bar
        for choice in choices:
            found = mine_by_size(graph, len(problem.terms), bar, threshold=choice["threshold"])
            labels = np.empty(len(problem.terms), np.int64)
            for number, members in enumerate(found.members):
                labels[members] = number
            yield labels

    def _graph(self, problem: Problem) -> Any:
        """The odds of all pairs, in the problem's order."""
        terms, views = tuple(sorted(problem.terms)), problem.views
        if self._seen is None or self._seen[0] != terms or self._seen[1] is not views:
            graph = self.trained.scorer.graph(terms, views, device=self.device)
            self._seen = terms, views, graph
        row_of = {term: row for row, term in enumerate(terms)}
        order = np.array([row_of[term] for term in problem.terms], np.int64)
        return self._seen[2][order][:, order]


def fit_held_out(settings: TrainingSettings, sets: SynonymSets, size: int) -> TrainingSettings:
    """Hold out no more than makes a vocabulary of `size` terms, as many as will be clustered.

    More would only cost training sets and time; fewer than 100 would leave the choice to chance.
    """
    share = max(size, 100) / max(len(sets.terms), 1)
    return settings.updated({"held_out": min(settings.held_out, share)})
