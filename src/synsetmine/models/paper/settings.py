"""Hyper-parameters, with the paper's and the released program's values as presets.

torch is imported when training starts: project files have these settings, and reading one must
not take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from synsetmine.devices import require_torch
from synsetmine.errors import DataError
from synsetmine.models.base import TrainingResult, TrainingStep, with_changes
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews

Strategy = Literal["complete-random", "share-token", "mixture"]
Metric = Literal["ari", "fmi", "pair_f1"]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Hyper-parameters of the set-instance classifier and its training."""

    embed_sizes: tuple[int, ...] = (50, 250)  # hidden sizes of the embedding transformer
    post_sizes: tuple[int, ...] = (500, 250)  # hidden sizes of the post transformer
    dropout: float = 0.5
    learning_rate: float = 1e-3
    amsgrad: bool = False
    negatives: int = 20  # K, for each positive pair
    strategy: Strategy = "complete-random"
    batch_sets: int = 32  # training sets in a batch; each gives 1 + K pairs
    epochs: int = 500
    patience: int = 100  # epochs without a better validation score before training stops
    validate_every: int = 5  # epochs
    held_out: float = 0.1  # share of the training sets kept for validation
    validation_orders: int = 5  # random vocabulary orders a validation score is the mean of
    select_by: Metric = "fmi"
    threshold: float = 0.5  # θ of set generation
    train_vectors: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "validate_every", "batch_sets", "negatives"):
            _require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        _require(
            self.validation_orders >= 1, "validation_orders", "at least 1", self.validation_orders
        )
        # Otherwise training could stop before it has looked at a score.
        late = self.validate_every > self.patience
        _require(not late, "validate_every", "at most patience", self.validate_every)
        _require(0 <= self.dropout < 1, "dropout", "in [0, 1)", self.dropout)
        _require(0 < self.held_out < 1, "held_out", "between 0 and 1", self.held_out)
        _require(0 <= self.threshold <= 1, "threshold", "between 0 and 1", self.threshold)
        _require(0 < self.learning_rate < 1, "learning_rate", "in (0, 1)", self.learning_rate)
        for name in ("embed_sizes", "post_sizes"):
            sizes = getattr(self, name)
            _require(all(size >= 1 for size in sizes), name, "positive whole numbers", sizes)
        _require(0 <= self.seed < 2**32, "seed", "in [0, 2**32)", self.seed)
        _require(self.strategy in get_args(Strategy), "strategy", get_args(Strategy), self.strategy)
        _require(self.select_by in get_args(Metric), "select_by", get_args(Metric), self.select_by)

    @property
    def tunes_vectors(self) -> bool:
        return self.train_vectors

    @property
    def uses_torch(self) -> bool:
        return True

    def to_dict(self) -> dict[str, Any]:
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    def updated(self, changes: Mapping[str, Any]) -> TrainingSettings:
        """These settings with some values changed; `architecture` sets both sizes by name."""
        values = dict(changes)
        if "architecture" in values:
            values |= architecture(str(values.pop("architecture")))
        return with_changes(self, values)

    def check_inputs(self, *, tables: int, encoder: bool = False) -> None:
        """The paper's model takes one table of vectors and nothing else."""
        if encoder:
            raise DataError("the paper's model takes no encoder; choose another preset")
        if tables != 1:
            raise DataError("the paper's model takes one --vectors table, not", value=tables)

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        table = views.table("vectors")
        return [term for term in terms if term in table]

    def train(
        self,
        sets: SynonymSets,
        views: TermViews,
        *,
        hold_out: bool = True,
        device: str = "cpu",
        checkpoint: str | Path | None = None,
        replace_checkpoint: bool = False,
        on_step: Callable[[TrainingStep], None] | None = None,
    ) -> TrainingResult:
        if self.strategy != "complete-random" and not views.has("strings"):
            raise DataError(f"strategy {self.strategy!r} needs the terms' surfaces")
        require_torch("the paper's model")
        from synsetmine.models.paper.train import train_model

        return train_model(
            sets,
            views.table("vectors"),
            self,
            hold_out=hold_out,
            device=device,
            checkpoint=checkpoint,
            replace_checkpoint=replace_checkpoint,
            on_step=on_step,
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


def _require(holds: bool, name: str, allowed: object, value: object) -> None:
    if not holds:
        raise DataError(f"{name} must be {allowed}", value=value)


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
