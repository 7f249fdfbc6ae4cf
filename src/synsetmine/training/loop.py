"""Training of the set-instance classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from synsetmine.errors import DataError
from synsetmine.model.scorer import SetScorer
from synsetmine.model.threads import one_thread
from synsetmine.training.checkpoint import Checkpoint, fingerprint
from synsetmine.training.sampling import PairSampler
from synsetmine.training.settings import TrainingSettings
from synsetmine.training.steps import Steps
from synsetmine.training.validation import Validation
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors

VALIDATED = 2_000  # terms, at most, on which the epoch is chosen; more would tell hardly more


@dataclass(frozen=True)
class Epoch:
    """What is known after an epoch; `score` where it was validated."""

    number: int  # from 1
    loss: float
    score: float | None = None


@dataclass(frozen=True)
class Trained:
    """A trained scorer, of the epoch with the best validation score, and how it came about."""

    scorer: SetScorer
    settings: TrainingSettings
    history: tuple[Epoch, ...]
    best_epoch: int
    best_score: float
    fallback_share: float | None  # of share-token draws that had no partner
    without_vector: tuple[Term, ...]
    tuned_vectors: TermVectors | None = None

    def record(self) -> dict[str, Any]:
        """What a stored model says of its training."""
        return {
            "settings": self.settings.to_dict(),
            "best_epoch": self.best_epoch,
            "best_score": self.best_score,
            "epochs_run": len(self.history),
            "fallback_share": self.fallback_share,
            "terms_without_vector": len(self.without_vector),
            "history": [asdict(epoch) for epoch in self.history],
        }


@one_thread()
def train_scorer(
    sets: SynonymSets,
    vectors: TermVectors,
    settings: TrainingSettings,
    *,
    validation: Validation | None = None,
    device: torch.device | str = "cpu",
    checkpoint: Path | None = None,
    replace_checkpoint: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Trained:
    """Train on the sets' terms that have vectors.

    Without `validation`, a share of the sets (`settings.held_out`, split by entity) is held out
    and the epoch is chosen on it. With `checkpoint`, the state is written there at every
    validation; the same call finds it and goes on to the same result as an unbroken run. One of
    another run is an error, unless it may be replaced.

    On a CPU the result does not depend on the number of threads that torch may use.
    """
    missing = tuple(vectors.missing(sets.terms))
    usable = sets.restrict(term for term in sets.terms if term in vectors)
    if len(usable) < 2:
        raise DataError(f"of {len(sets)} training sets fewer than two have terms with vectors")
    if validation is None:
        share = min(settings.held_out, VALIDATED / len(usable.terms))
        usable, held_out = usable.split(share, seed=settings.seed)
        validation = Validation.with_random_orders(
            held_out,
            orders=settings.validation_orders,
            seed=settings.seed,
            metric=settings.select_by,
            threshold=settings.threshold,
        )
    run = _Run(usable, vectors, settings, torch.device(device))
    store = None
    if checkpoint is not None:
        store = Checkpoint(
            checkpoint, _identity(run, usable, validation, vectors), replace=replace_checkpoint
        )
        run.restore(store.load(run.device))
    run.train(validation, vectors, store, on_epoch)
    return run.result(missing)


def _identity(run: _Run, sets: SynonymSets, validation: Validation, vectors: TermVectors) -> str:
    """The fingerprint of a run: with the same one, a checkpoint leads to the same result."""
    judged = validation.gold.restrict(term for term in validation.gold.terms if term in vectors)
    described = [
        run.settings.to_dict(),
        run.device.type,
        [str(term) for term in run.sampler.terms],
        list(sets.sizes),
        [[str(term) for term in members] for members in validation.gold],
        [[str(term) for term in order] for order in validation.orders],
        [validation.metric, validation.threshold],
    ]
    table = run.table.detach().cpu().numpy()
    return fingerprint(described, [table, vectors.select(judged.terms)])


@dataclass
class _Progress:
    history: list[Epoch] = field(default_factory=list)
    best_epoch: int = 0
    best_score: float = -1.0
    improved_epoch: int = 0
    fallbacks: int = 0
    share_token_draws: int = 0


class _Run:
    """The mutable state of one training run."""

    def __init__(
        self,
        sets: SynonymSets,
        vectors: TermVectors,
        settings: TrainingSettings,
        device: torch.device,
    ) -> None:
        self.settings = settings
        self.device = device
        self.sampler = PairSampler(
            sets,
            negatives=settings.negatives,
            strategy=settings.strategy,
            device=device,
        )
        self.table = torch.from_numpy(vectors.select(self.sampler.terms)).to(device)
        self.table.requires_grad_(settings.train_vectors)
        self.scorer = SetScorer(
            dimension=vectors.dimension,
            embed_sizes=settings.embed_sizes,
            post_sizes=settings.post_sizes,
            dropout=settings.dropout,
            seed=settings.seed,
        ).to(device)
        self.steps = Steps(
            self.scorer,
            self.table,
            batch_sets=settings.batch_sets,
            learning_rate=settings.learning_rate,
            amsgrad=settings.amsgrad,
        )
        self.progress = _Progress()
        self.best = self._snapshot()

    def train(
        self,
        validation: Validation,
        vectors: TermVectors,
        store: Checkpoint | None,
        on_epoch: Callable[[Epoch], None] | None,
    ) -> None:
        settings = self.settings
        for number in range(len(self.progress.history) + 1, settings.epochs + 1):
            if number - 1 - self.progress.improved_epoch >= settings.patience:
                break
            loss = self._epoch(number)
            score = None
            if number % settings.validate_every == 0 or number == settings.epochs:
                score = validation.score(self.scorer, self._current(vectors))
                self._judge(number, score)
            epoch = Epoch(number, loss, score)
            self.progress.history.append(epoch)
            if store is not None and score is not None:
                store.save(self._state(), asdict(self.progress))
            if on_epoch:
                on_epoch(epoch)

    def _judge(self, number: int, score: float) -> None:
        """Keep the best epoch; of equals the last, which has learned the most."""
        if score < self.progress.best_score:
            return
        if score > self.progress.best_score:
            self.progress.improved_epoch = number
        self.progress.best_epoch, self.progress.best_score = number, score
        self.best = self._snapshot()

    def _epoch(self, number: int) -> float:
        # Each epoch has a seed of its own, so a resumed run draws what an unbroken one would.
        seed = int(np.random.SeedSequence([self.settings.seed, number]).generate_state(1)[0])
        pairs = self.sampler.draw(seed)
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(seed)  # for dropout
            loss = self.steps.run(pairs)
        self.progress.fallbacks += int(pairs.fallbacks)
        self.progress.share_token_draws += pairs.share_token_draws
        if not np.isfinite(loss):
            raise DataError(f"training diverged in epoch {number}: the loss is not finite")
        return loss

    def _current(self, vectors: TermVectors) -> TermVectors:
        return vectors.replaced(self._tuned()) if self.settings.train_vectors else vectors

    def _tuned(self, table: Tensor | None = None) -> TermVectors:
        rows = self.table if table is None else table
        return TermVectors(self.sampler.terms, rows.detach().cpu().numpy())

    def _snapshot(self) -> dict[str, Tensor]:
        snapshot = {name: t.detach().clone() for name, t in self.scorer.state_dict().items()}
        if self.settings.train_vectors:
            snapshot["table"] = self.table.detach().clone()
        return snapshot

    def _state(self) -> dict[str, Tensor]:
        state = {f"best/{name}": tensor for name, tensor in self.best.items()}
        state |= {f"now/{name}": tensor for name, tensor in self._snapshot().items()}
        for i, values in self.steps.optimizer.state_dict()["state"].items():
            state |= {f"adam/{i}/{name}": tensor for name, tensor in values.items()}
        return state

    def restore(self, saved: tuple[Mapping[str, Tensor], dict[str, Any]] | None) -> None:
        if saved is None:
            return
        state, progress = saved
        self.best = _under("best/", state)
        now = _under("now/", state)
        if "table" in now:
            with torch.no_grad():
                self.table.copy_(now.pop("table"))
        self.scorer.load_state_dict(now)
        adam: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("adam/", state).items():
            index, _, key = name.partition("/")
            adam.setdefault(int(index), {})[key] = tensor
        groups = self.steps.optimizer.state_dict()["param_groups"]
        self.steps.optimizer.load_state_dict({"state": adam, "param_groups": groups})
        history = [Epoch(**epoch) for epoch in progress.pop("history")]
        self.progress = _Progress(history=history, **progress)

    def result(self, missing: tuple[Term, ...]) -> Trained:
        best = dict(self.best)
        table = best.pop("table", None)
        self.scorer.load_state_dict(best)
        self.scorer.eval()
        progress = self.progress
        share = (
            progress.fallbacks / progress.share_token_draws if progress.share_token_draws else None
        )
        return Trained(
            scorer=self.scorer,
            settings=self.settings,
            history=tuple(progress.history),
            best_epoch=progress.best_epoch,
            best_score=progress.best_score,
            fallback_share=share,
            without_vector=missing,
            tuned_vectors=None if table is None else self._tuned(table),
        )


def _under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
