"""Hyper-parameters, with the paper's and the released program's values as presets.

Project files and the command line use these settings, so this module does not import torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from synsetmine.devices import require_torch
from synsetmine.errors import DataError, require
from synsetmine.schema import Settings, seed_setting, setting

if TYPE_CHECKING:
    from synsetmine.models.base import TrainingResult, TrainingStep
    from synsetmine.types import SetsLike, Term
    from synsetmine.views import TermVectors, TermViews

Strategy = Literal["complete-random", "share-token", "mixture"]
Metric = Literal["fmi", "ari", "pair_f1"]
WIDEST = 2048  # units of a layer: generation takes memory for each of them and each term
PresetName = Literal["paper", "released-nyt", "released-wiki", "released-pubmed", "project"]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """Hyper-parameters of the set-instance classifier and its training."""

    embed_sizes: tuple[int, ...] = setting(
        (50, 250),
        ge=1,
        le=WIDEST,
        help="hidden sizes of the embedding transformer; empty leaves it out",
    )
    post_sizes: tuple[int, ...] = setting(
        (500, 250),
        ge=1,
        le=WIDEST,
        help="hidden sizes of the post transformer; empty leaves it out",
    )
    dropout: float = setting(0.5, ge=0, lt=1, help="dropout before the last layer, in [0, 1)")
    learning_rate: float = setting(
        1e-3, gt=0, lt=1, help="learning rate of Adam", option="--learning-rate,--lr"
    )
    amsgrad: bool = setting(False, help="use Adam's AMSGrad variant")
    negatives: int = setting(20, ge=1, help="K, negatives for each positive pair")
    strategy: Strategy = setting("complete-random", help="how the negatives are drawn")
    batch_sets: int = setting(32, ge=1, help="sets in a batch, each with 1 + K pairs")
    epochs: int = setting(500, ge=1, help="maximum number of epochs")
    patience: int = setting(
        100, ge=1, help="epochs without a better validation score before training stops"
    )
    validate_every: int = setting(5, ge=1, help="epochs between validations; at most `patience`")
    held_out: float = setting(
        0.1, gt=0, lt=1, help="share of the sets held out for validation, at most 2,000 terms"
    )
    validation_orders: int = setting(
        5, ge=1, help="random orders over which a validation score is averaged"
    )
    select_by: Metric = setting("fmi", help="the measure that chooses the epoch")
    threshold: float = setting(
        0.5, ge=0, le=1, help="threshold θ of set generation, stored with the model"
    )
    train_vectors: bool = setting(
        False,
        help="tune the vectors of the training terms too",
        option="--train-vectors/--freeze-vectors",
    )
    seed: int = seed_setting("seed of weights, split, pairs and dropout")

    def __post_init__(self) -> None:
        super().__post_init__()
        # Otherwise training could stop before it has looked at a score.
        late = self.validate_every > self.patience
        require(not late, "validate_every must be at most patience", self.validate_every)

    @property
    def tunes_vectors(self) -> bool:
        return self.train_vectors

    @property
    def uses_torch(self) -> bool:
        return True

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """These settings with some values changed; `architecture` sets both sizes by name."""
        values = dict(changes)
        if "architecture" in values:
            values |= architecture(str(values.pop("architecture")))
        return super().with_changes(values)

    def check_inputs(self, *, tables: int, encoder: bool = False) -> None:
        """The paper's model takes one table of vectors and nothing else."""
        if encoder:
            raise DataError("the paper's model takes no encoder; choose another preset")
        require(tables == 1, "the paper's model needs one --vectors table; got", tables)

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        table = views.table("vectors")
        return [term for term in terms if term in table]

    def train(
        self,
        sets: SetsLike,
        views: TermVectors | TermViews,
        *,
        hold_out: bool = True,
        device: str = "cpu",
        checkpoint: str | Path | None = None,
        replace_checkpoint: bool = False,
        on_step: Callable[[TrainingStep], None] | None = None,
    ) -> TrainingResult:
        from synsetmine.models.base import StoredModel, TrainingResult
        from synsetmine.types import SynonymSets, order_terms
        from synsetmine.views import TermViews

        sets, views = SynonymSets.of(sets), TermViews.of(views)
        if self.strategy != "complete-random" and not views.has("strings"):
            raise DataError(f"strategy {self.strategy!r} needs the terms' surfaces")
        require_torch("the paper's model")
        from synsetmine.models.paper.train import Validation, epoch_reporter, train_scorer

        validation = None
        if not hold_out:
            order = order_terms(sets.terms, "random", seed=self.seed)
            validation = Validation(sets, [order], self.select_by, self.threshold)
        trained = train_scorer(
            sets,
            views.table("vectors"),
            self,
            validation=validation,
            device=device,
            checkpoint=checkpoint,
            replace_checkpoint=replace_checkpoint,
            on_epoch=None if on_step is None else epoch_reporter(on_step, self.epochs),
        )
        best = trained.best_score
        notes = []
        if trained.fallback_share is not None:
            share = f"{100 * trained.fallback_share:.1f} % of share-token draws had no partner"
            notes.append(f"{share} and were drawn at random")
        epoch = f"best epoch {trained.best_epoch} of {len(trained.history)}"
        notes.append(f"{epoch}: validation {self.select_by} {100 * best:.2f}")
        never_joined = (
            "no synonyms of the held-out sets were joined in any epoch: train longer (--epochs, "
            "--patience), or on more sets, or lower --threshold"
        )
        return TrainingResult(
            StoredModel(trained.scorer, self.threshold, trained.record(), trained.tuned_vectors),
            figures={
                "epochs": len(trained.history),
                "best epoch": trained.best_epoch,
                f"validation {self.select_by}": round(best, 4),
            },
            notes=tuple(notes),
            warnings=(never_joined,) if best == 0 else (),
        )


def architecture(name: str) -> dict[str, tuple[int, ...]]:
    """The sizes of `both-X-Y`, `no-et` or `no-pt`, the names of the paper's architecture table."""
    if name.lower() == "no-et":
        return {"embed_sizes": (), "post_sizes": (500, 250)}
    if name.lower() == "no-pt":
        return {"embed_sizes": (50, 250), "post_sizes": ()}
    if sizes := re.fullmatch(r"both-(\d{1,5})-(\d{1,5})", name.lower()):
        x, y = int(sizes[1]), int(sizes[2])
        return {"embed_sizes": (50, x), "post_sizes": (y, x)}
    raise DataError("expected both-X-Y (such as both-250-500), no-et or no-pt", value=name)


RELEASED = TrainingSettings(learning_rate=1e-4, dropout=0.3, amsgrad=True, patience=200)

PRESETS: Mapping[str, TrainingSettings] = {
    # The values the paper states; where it is silent (K, batch, epochs), the released program's.
    "paper": TrainingSettings(),
    # The values of the authors' released program for each of their three data sets.
    "released-nyt": RELEASED,
    "released-wiki": replace(RELEASED, dropout=0.4, negatives=50, batch_sets=64, epochs=800),
    "released-pubmed": replace(RELEASED, learning_rate=3e-4, negatives=50),
    # For sets and vectors of one's own corpus; chosen on held-out training sets of MEDLINE.
    "project": TrainingSettings(
        learning_rate=3e-4,
        dropout=0.3,
        negatives=50,
        epochs=100,
        patience=30,
        held_out=0.2,
        validation_orders=2,
        select_by="ari",
    ),
}
