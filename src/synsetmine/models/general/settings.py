"""Settings of the general model's training, which adapts it to sets and views of the user."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from synsetmine.errors import DataError, require
from synsetmine.models.base import StoredModel, TrainingResult, TrainingStep
from synsetmine.schema import Settings, seed_setting, setting
from synsetmine.types import SetsLike, SynonymSets, Term
from synsetmine.views import TermVectors, TermViews

# Thresholds of f by the name of a precision.
PRECISION: Mapping[str, float] = {"cautious": 0.9, "balanced": 0.3, "bold": 0.15}


@dataclass(frozen=True, kw_only=True)
class AdaptationSettings(Settings):
    """`[train]`: training of the model.

    `docs/decisions/0018-adaptation.md` has the measurements.
    """

    seed: int = seed_setting("seed of the sample and the folds")
    threshold: float = setting(
        PRECISION["balanced"],
        ge=0,
        le=1,
        help="threshold θ of set generation, stored with the model",
    )
    ridges: tuple[int, ...] = setting(
        (3000, 1000, 300, 100, 30, 10, 3, 1),
        ge=1,
        help="penalties to choose from, besides infinity; descending",
    )
    folds: int = setting(5, ge=2, help="folds of the cross-validation that chooses the penalty")
    margin: float = setting(
        2.0, ge=0, help="standard errors by which a weaker penalty must be better"
    )
    vocabulary_names: tuple[int, ...] = setting(
        (150, 500, 1500, 5000),
        ge=10,
        help="sizes of the vocabularies for training; ascending",
    )
    names: int = setting(
        3000,
        ge=100,
        help="approximate number of names in all vocabularies of one size; sets stay whole",
    )
    easy_share: float = setting(  # these pairs teach little
        0.2, gt=0, le=1, help="share of the pairs that are clearly not synonyms, in (0, 1]"
    )
    fewest_sets: int = setting(
        10,
        ge=2,
        help="minimum sets of two or more names; with fewer the general model stays as it is",
    )
    weights: str = setting(
        "", help="folder with other weights of the general model; those of the package by default"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        descending = sorted(self.ridges, reverse=True)
        problem = "ridges must be one or more penalties in descending order"
        require(list(self.ridges) == descending != [], problem, self.ridges)
        ascending = sorted(self.vocabulary_names)
        problem = "vocabulary_names must be one or more sizes in ascending order"
        require(list(self.vocabulary_names) == ascending != [], problem, self.vocabulary_names)

    @property
    def tunes_vectors(self) -> bool:
        return False

    @property
    def uses_torch(self) -> bool:
        return False

    def check_inputs(self, *, tables: int, encoder: bool = False) -> None:
        """Any number of tables, with or without an encoder."""

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        """All terms where models may look at their strings, else those with a vector."""
        if views.strings:
            return list(terms)
        return [term for term in terms if any(term in table for table in views.vectors)]

    def train(
        self,
        sets: SetsLike,
        views: TermVectors | TermViews,
        *,
        hold_out: bool = True,
        device: str = "cpu",  # noqa: ARG002
        checkpoint: str | Path | None = None,  # noqa: ARG002
        replace_checkpoint: bool = False,  # noqa: ARG002
        on_step: Callable[[TrainingStep], None] | None = None,
    ) -> TrainingResult:
        from threadpoolctl import threadpool_limits

        from synsetmine.models.general.training import adapt

        def progress(done: int, total: int) -> None:
            if on_step:
                on_step(TrainingStep(done, total))

        sets, views = SynonymSets.of(sets), TermViews.of(views)
        usable = self._usable(sets.restrict(self.known(sets.terms, views)), views, hold_out)
        with threadpool_limits(1, "blas"):  # sums of several threads differ in their last digits
            adapted = adapt(usable, views, self, hold_out=hold_out, progress=progress)
        if adapted.model.adaptation is None and not views.strings:
            problem = "these vectors alone do not show which terms are synonyms; give more sets, or"
            raise DataError(f"{problem} the strings of the terms too")
        figures: dict[str, float] = {"names": adapted.names, "pairs": adapted.pairs}
        if adapted.losses:
            figures["held-out loss"] = round(adapted.losses[adapted.ridge], 4)
            figures["held-out loss of the general model"] = round(adapted.losses[None], 4)
        return TrainingResult(
            StoredModel(adapted.model, self.threshold, adapted.record(self)),
            figures=figures,
            notes=adapted.notes,
            warnings=adapted.warnings,
        )

    def _usable(self, sets: SynonymSets, views: TermViews, hold_out: bool) -> SynonymSets:
        """The sets that a tuned encoder was not trained on."""
        new = [
            number
            for number, members in enumerate(sets)
            if views.learned.isdisjoint(term.surface for term in members)
        ]
        several = sum(sets.sizes[number] > 1 for number in new)
        if hold_out and several < self.fewest_sets and (views.learned or not views.strings):
            problem = f"training needs at least {self.fewest_sets} sets of two or more terms"
            if views.learned:
                problem += " that the encoder was not tuned on"
            raise DataError(f"{problem}; got", value=several)
        return sets.pick(new)


@dataclass(frozen=True, kw_only=True)
class WordTuningSettings:
    """The numbers that shape the vectors of words tuned to known sets."""

    seed: int = 0
    steps: int = 400  # at most; more gain nothing and take longer
    batch: int = 1024  # pairs of names of a step; the others of a batch are what a pair is not
    pairs_of_set: int = 16  # drawn for a set, at most: few sets are not learned by heart
    least_sets: int = 32  # of several names; fewer say nothing of other names
    temperature: float = 0.06  # of InfoNCE, as for the static encoder
    rate: float = 0.006  # of Adam, in units of the mean length of a word's vector


@dataclass(frozen=True, kw_only=True)
class AssignmentSettings:
    """The numbers that shape the assignment; docs/decisions/0020-assignment.md has the reasons."""

    seed: int = 0
    rounds: int = 3  # of the rehearsal: few names of a knowledge base stand in a corpus
    neighbours: int = 10  # candidates of a name in each representation
    hidden_share: float = 0.3  # of the names beside the first of a set, the preferred one
    removed_share: float = 0.1  # of the sets
    seen_queries: int = 12_000  # hidden names that the corpus has, at most; as many of removed sets
    unseen_queries: int = 8000  # hidden names that it has not, at most; all in all rounds together
    unseen_removed: int = 3000  # the same of removed sets
    seen_weight: float = 10.0  # of names that the corpus has: new names are such
    unknown_share: float = 0.7  # of candidates that belong to no known set, in the calibration
    hidden_layers: tuple[int, ...] = (64, 32)
    epochs: int = 12
    penalties: tuple[float, ...] = (10.0, 30.0, 100.0, 300.0)  # of the regression, to choose from
    fewest_queries: int = 300  # hidden names; with fewer the general model judges new names
    batch_pairs: int = 512  # of a step of the network
    learning_rate: float = 2e-3  # of the network
    clip: float = 6.0  # standard deviations of a feature: outliers should not decide
    least_probability: float = 1e-4  # of the network, and 1 minus it the largest
    doubtful: float = -5.0  # log-odds of sets that need no look at what the corpus means
    same_meaning: float = 0.6  # similarity of an abbreviation's definition and a name of its set
    short_form: int = 10  # letters, at most, of a name that may abbreviate another one
    tuning: WordTuningSettings = field(default_factory=WordTuningSettings)
    # Words by which names differ
    smoothing: float = 0.5  # observations for either side, before any are counted
    taught_set_names: int = 12  # of a set that are compared; large sets would outweigh the others
    taught_sets: int = 40_000  # whose names are compared, at most
    taught_names: int = 15_000  # whose near names of other sets are compared, at most
    taught_neighbours: int = 6  # near names in each representation
    taught_stems: int = 3  # by which a pair differs, at most; more say little about each
    # Words that replace each other
    replaced_stems: int = 4  # on either side, at most
    query_stems: int = 8  # of a new name in which stems are replaced, at most
    replacements: int = 30  # of the same stems that are tried, those of most sets first
    replaced_names: int = 4  # with the same stems; more are other orders of the same words

    @property
    def limit(self) -> float:
        """The largest log-odds of the network."""
        return math.log((1 - self.least_probability) / self.least_probability)
