"""L2C: learn which pairs are synonyms, then train a network to sort new terms by such pairs.

Hsu, Lv and Kira, "Learning to cluster in order to transfer across domains and tasks" (2018), with
the loss of Hsu et al., "Multi-class classification without multi-class labels" (2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from synsetmine.devices import require_torch
from synsetmine.errors import DataError
from synsetmine.rivals.base import Choice, TrainingData, grid
from synsetmine.views import View

if TYPE_CHECKING:
    from synsetmine.rivals.l2c_networks import TrainedL2C


@dataclass(frozen=True, kw_only=True)
class L2C:
    """Two networks: g judges pairs of terms, f sorts a vocabulary into a *given* number of sets.

    g learns from all pairs within batches of whole training sets. Small batches are how the few
    positives come to count: one pair in seventy of a batch is positive, one in several hundred of
    a vocabulary. That is put right when g is used: its log odds are moved from the odds of a pair
    in a batch to those in the vocabulary, which follow from the numbers of terms and sets.

    f is trained on the vocabulary itself, as no label is needed: its clusters are to agree with
    g's probabilities. On random vocabularies of training sets probabilities did better than
    yes-or-no at any bar tried. f depends on its start: of some starts the lowest loss is kept.

    The choice `weight` is how much g's yes counts against its no. More than 1 joined too many.
    """

    embed_size: int = 64  # g: of a term
    pair_size: int = 64  # g: of a pair
    dropout: float = 0.25  # g
    pair_rate: float = 2e-3  # g: learning rate
    batch_sets: int = 32  # g
    pair_steps: int = 10_000  # g: at most
    check_every: int = 150  # g: steps
    patience: int = 5  # g: checks without a better one before training stops
    held_out: float = 0.1  # g: share of the training sets, at most
    cluster_size: int = 128  # f: hidden size
    cluster_rate: float = 3e-3  # f: learning rate
    cluster_steps: int = 400  # f
    restarts: int = 3  # f
    needs: ClassVar[frozenset[View]] = frozenset({"vectors"})
    needs_k: ClassVar[bool] = True
    ordered: ClassVar[bool] = True
    choices: ClassVar[Sequence[Choice]] = grid("weight", [1.0, 0.5, 0.25, 0.1])

    def fit(self, data: TrainingData) -> TrainedL2C:
        """Train g; the step is chosen on held-out sets, by the average precision of their pairs."""
        if len(data.training.terms) < 2:
            raise DataError("pairs cannot be learned from fewer than two terms")
        require_torch("L2C")
        from synsetmine.rivals.l2c_networks import train_pairs

        return train_pairs(self, data)
