"""Training of the set-instance classifier; the epoch is chosen on held-out sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from synsetmine.errors import DataError
from synsetmine.metrics import compare_labels, evaluate
from synsetmine.models.base import (
    StoredModel,
    TrainingResult,
    TrainingStep,
    fingerprint,
    generate_sets,
)
from synsetmine.models.paper.generate import generate_orders
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.pairs import PairSampler
from synsetmine.models.paper.settings import Metric, TrainingSettings
from synsetmine.models.paper.steps import Checkpoint, Steps
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermVectors

VALIDATED = 2_000  # terms, at most, on which the epoch is chosen; more would change little


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for each operation on the CPU.

    Threads that share a sum add its parts in another order for each number of threads. The last
    bits that differ then grow over the steps of a training until other sets are mined.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Epoch:
    """An epoch's training loss, and its score if it was validated."""

    number: int  # from 1
    loss: float
    score: float | None = None


@dataclass(frozen=True)
class TrainedScorer:
    """The scorer of the epoch with the best validation score, and the history of its training."""

    scorer: SetScorer
    settings: TrainingSettings
    history: tuple[Epoch, ...]
    best_epoch: int
    best_score: float
    fallback_share: float | None  # of share-token draws that had no partner
    without_vector: tuple[Term, ...]
    tuned_vectors: TermVectors | None = None

    def record(self) -> dict[str, Any]:
        """The training record of a stored model."""
        return {
            "settings": self.settings.to_dict(),
            "best_epoch": self.best_epoch,
            "best_score": self.best_score,
            "epochs_run": len(self.history),
            "fallback_share": self.fallback_share,
            "terms_without_vector": len(self.without_vector),
            "history": [asdict(epoch) for epoch in self.history],
        }


@dataclass(frozen=True)
class Validation:
    """Known sets, and the vocabulary orders in which to mine their terms; the score is the mean."""

    gold: SynonymSets
    orders: Sequence[Sequence[Term]]
    metric: Metric = "fmi"
    threshold: float = 0.5

    @classmethod
    def with_random_orders(
        cls, gold: SynonymSets, *, orders: int, seed: int, metric: Metric, threshold: float
    ) -> Validation:
        # Never the order of the sets themselves: synonyms side by side would leak.
        drawn = [order_terms(gold.terms, "random", seed=seed + i) for i in range(orders)]
        return cls(gold, drawn, metric, threshold)

    def score(self, scorer: SetScorer, vectors: TermVectors) -> float:
        if scorer.device.type == "cuda":
            return self._score_on_gpu(scorer, vectors)
        total = 0.0
        for order in self.orders:
            mined = generate_sets(scorer, vectors, order, threshold=self.threshold)
            total += float(getattr(evaluate(mined.sets, self.gold), self.metric))
        return total / len(self.orders)

    def _score_on_gpu(self, scorer: SetScorer, vectors: TermVectors) -> float:
        """All orders at once: one after the other, a GPU would wait most of the time."""
        device = scorer.device
        terms = [term for term in self.gold.terms if term in vectors]
        number_of = {term: number for number, term in enumerate(terms)}
        orders = [[number_of[term] for term in order if term in number_of] for order in self.orders]
        table = torch.from_numpy(vectors.select(terms)).to(device)
        labels_of = generate_orders(
            scorer, table, torch.tensor(orders, device=device), threshold=self.threshold
        )
        # Terms without a vector are sets of one, here as in `generate_sets`.
        others = [term for term in self.gold.terms if term not in number_of]
        gold = np.array(self.gold.labels([*terms, *others]), np.int64)
        alone = len(terms) + np.arange(len(others))
        scores = [
            getattr(compare_labels(np.concatenate([labels, alone]), gold), self.metric)
            for labels in labels_of.cpu().numpy()
        ]
        return float(np.mean(scores))


@one_thread()
def train_scorer(
    sets: SynonymSets,
    vectors: TermVectors,
    settings: TrainingSettings,
    *,
    validation: Validation | None = None,
    device: torch.device | str = "cpu",
    checkpoint: str | Path | None = None,
    replace_checkpoint: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> TrainedScorer:
    """Train on the terms of the sets that have vectors.

    Without `validation`, a share of the sets (`settings.held_out`, split by entity) is held out
    to choose the epoch. With `checkpoint`, each validation writes the state there; the same call
    resumes from it, with the same result as an uninterrupted run. A checkpoint of another run is
    an error, unless it may be replaced.

    On a CPU the result does not depend on the number of torch's threads.
    """
    missing = tuple(vectors.missing(sets.terms))
    usable = sets.restrict(term for term in sets.terms if term in vectors)
    if len(usable) < 2:
        problem = f"of {len(sets)} training sets, fewer than two have terms with vectors: too few "
        raise DataError(f"{problem}for the paper's model; preset `general` works without any")
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
            Path(checkpoint),
            _identity(run, usable, validation, vectors),
            replace=replace_checkpoint,
        )
        run.restore(store.load(run.device))
    run.train(validation, vectors, store, on_epoch)
    return run.result(missing)


def train_model(
    sets: SynonymSets,
    vectors: TermVectors,
    settings: TrainingSettings,
    *,
    hold_out: bool,
    device: str,
    checkpoint: str | Path | None,
    replace_checkpoint: bool,
    on_step: Callable[[TrainingStep], None] | None,
) -> TrainingResult:
    """`train_scorer` as `ModelSettings.train` asks for it."""
    validation = None
    if not hold_out:
        order = order_terms(sets.terms, "random", seed=settings.seed)
        validation = Validation(sets, [order], settings.select_by, settings.threshold)
    trained = train_scorer(
        sets,
        vectors,
        settings,
        validation=validation,
        device=device,
        checkpoint=checkpoint,
        replace_checkpoint=replace_checkpoint,
        on_epoch=None if on_step is None else _epoch_reporter(on_step, settings.epochs),
    )
    best, measure = trained.best_score, settings.select_by
    notes = []
    if trained.fallback_share is not None:
        share = f"{100 * trained.fallback_share:.1f} % of share-token draws had no partner"
        notes.append(f"{share} and were drawn at random")
    epoch = f"best epoch {trained.best_epoch} of {len(trained.history)}"
    notes.append(f"{epoch}: validation {measure} {100 * best:.2f}")
    never_joined = (
        "no synonyms of the held-out sets were joined in any epoch: train longer (--epochs, "
        "--patience), or on more sets, or lower --threshold"
    )
    return TrainingResult(
        StoredModel(trained.scorer, settings.threshold, trained.record(), trained.tuned_vectors),
        figures={
            "epochs": len(trained.history),
            "best epoch": trained.best_epoch,
            f"validation {measure}": round(best, 4),
        },
        notes=tuple(notes),
        warnings=(never_joined,) if best == 0 else (),
    )


def _epoch_reporter(
    on_step: Callable[[TrainingStep], None], epochs: int
) -> Callable[[Epoch], None]:
    last = ""

    def report(epoch: Epoch) -> None:
        nonlocal last
        values = {"training/loss": epoch.loss}
        if epoch.score is not None:
            values["validation/score"] = epoch.score
            last = f" validation {100 * epoch.score:.2f}"
        on_step(TrainingStep(epoch.number, epochs, f"loss {epoch.loss:.4f}{last}", values))

    return report


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
        return vectors.replaced(self._tuned_vectors()) if self.settings.train_vectors else vectors

    def _tuned_vectors(self, table: Tensor | None = None) -> TermVectors:
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

    def result(self, missing: tuple[Term, ...]) -> TrainedScorer:
        best = dict(self.best)
        table = best.pop("table", None)
        self.scorer.load_state_dict(best)
        self.scorer.eval()
        progress = self.progress
        share = (
            progress.fallbacks / progress.share_token_draws if progress.share_token_draws else None
        )
        return TrainedScorer(
            scorer=self.scorer,
            settings=self.settings,
            history=tuple(progress.history),
            best_epoch=progress.best_epoch,
            best_score=progress.best_score,
            fallback_share=share,
            without_vector=missing,
            tuned_vectors=None if table is None else self._tuned_vectors(table),
        )


def _under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
