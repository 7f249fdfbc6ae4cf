"""Settings of the general model's training, which adapts it to sets and views of the user."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from synsetmine.errors import DataError, require
from synsetmine.models.base import StoredModel, TrainingResult, TrainingStep, with_changes
from synsetmine.models.general.pretrained import PRECISION
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews


@dataclass(frozen=True, kw_only=True)
class AdaptationSettings:
    """Settings of training; `docs/decisions/0018-adaptation.md` has the measurements."""

    seed: int = 0
    threshold: float = PRECISION["balanced"]  # θ of set generation, as in `group`
    # Penalties to choose from, beside infinity.
    ridges: tuple[int, ...] = (3000, 1000, 300, 100, 30, 10, 3, 1)
    folds: int = 5  # of the cross-validation that chooses the penalty
    margin: float = 2.0  # standard errors by which a weaker penalty must be better
    vocabulary_names: tuple[int, ...] = (150, 500, 1500, 5000)  # sizes of vocabularies
    names: int = 3000  # of whole sets, about, in the vocabularies of each size
    easy_share: float = 0.2  # of the pairs that are clearly no synonyms; they teach little
    fewest_sets: int = 10  # of two or more names; with fewer the general model stays as it is
    weights: str = ""  # folder of other weights of the general model; empty: the package's

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**32, "seed must be in [0, 2**32)", self.seed)
        require(0 <= self.threshold <= 1, "threshold must lie between 0 and 1", self.threshold)
        ridges = [ridge for ridge in self.ridges if ridge > 0]
        require(
            len(ridges) == len(self.ridges) > 0 and ridges == sorted(ridges, reverse=True),
            "ridges must be positive and descending",
            self.ridges,
        )
        sizes = self.vocabulary_names
        require(
            bool(sizes) and min(sizes) >= 10 and list(sizes) == sorted(sizes),
            "vocabulary_names must be 10 or more and ascending",
            sizes,
        )
        require(self.folds >= 2, "folds must be 2 or more", self.folds)
        require(0 <= self.margin < math.inf, "margin must be 0 or more", self.margin)
        require(self.names >= 100, "names must be 100 or more", self.names)
        require(0 < self.easy_share <= 1, "easy_share must be above 0, at most 1", self.easy_share)
        require(self.fewest_sets >= 2, "fewest_sets must be 2 or more", self.fewest_sets)

    @property
    def tunes_vectors(self) -> bool:
        return False

    @property
    def uses_torch(self) -> bool:
        return False

    def to_dict(self) -> dict[str, Any]:
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def updated(self, changes: Mapping[str, Any]) -> Self:
        return with_changes(self, changes)

    def check_inputs(self, *, tables: int, encoder: bool = False) -> None:
        """Any number of tables, with or without an encoder."""

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        """All terms where models may look at their strings, else those with a vector."""
        if views.strings:
            return list(terms)
        return [term for term in terms if any(term in table for table in views.vectors)]

    def train(
        self,
        sets: SynonymSets,
        views: TermViews,
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

        usable = self._usable(sets.restrict(self.known(sets.terms, views)), views, hold_out)
        with threadpool_limits(1, "blas"):  # sums of several threads differ in their last digits
            adapted = adapt(usable, views, self, hold_out=hold_out, progress=progress)
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
            problem = f"training needs {self.fewest_sets} or more sets of two or more terms"
            if views.learned:
                problem += " that the encoder was not tuned on"
            raise DataError(f"{problem}, not", value=several)
        return sets.pick(new)
