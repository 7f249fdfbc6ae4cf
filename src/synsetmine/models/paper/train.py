"""Training of the set-instance classifier; the epoch is chosen on held-out sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from synsetmine.errors import CheckpointError, DataError, require_type
from synsetmine.io.files import atomic_write
from synsetmine.metrics import evaluate
from synsetmine.models.base import (
    StoredModel,
    TrainingResult,
    TrainingStep,
    fingerprint,
    generate_sets,
)
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.pairs import PairSampler, SetInstancePairs
from synsetmine.models.paper.settings import Metric, TrainingSettings
from synsetmine.types import SetsLike, SynonymSets, Term, order_terms, terms_of
from synsetmine.views import TermVectors, TermViews

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


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        measure = f"{self.settings.select_by}={self.best_score:.3f}"
        epochs = f"best_epoch={self.best_epoch} of {len(self.history)}"
        return f"TrainedScorer({epochs}, {measure}, {self.scorer!r})"

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "gold", SynonymSets.of(self.gold))
        object.__setattr__(self, "orders", [terms_of(order) for order in self.orders])

    @classmethod
    def with_random_orders(
        cls, gold: SynonymSets, *, orders: int, seed: int, metric: Metric, threshold: float
    ) -> Validation:
        # Never the order of the sets themselves: synonyms side by side would leak.
        drawn = [order_terms(gold.terms, "random", seed=seed + i) for i in range(orders)]
        return cls(gold, drawn, metric, threshold)

    def score(self, scorer: SetScorer, vectors: TermVectors) -> float:
        total = 0.0
        for order in self.orders:
            mined = generate_sets(scorer, vectors, order, threshold=self.threshold)
            total += float(getattr(evaluate(mined.sets, self.gold), self.metric))
        return total / len(self.orders)


@one_thread()
def train_scorer(
    sets: SetsLike,
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
    sets, vectors = SynonymSets.of(sets), TermViews.of(vectors).table("vectors")
    require_type(settings, TrainingSettings, "expected settings, such as PRESETS['paper']")
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


class Steps:
    """Adam steps on batches of `batch_sets` sets; `table` (terms, dimension) holds the vectors."""

    def __init__(
        self,
        scorer: SetScorer,
        table: Tensor,
        *,
        batch_sets: int,
        learning_rate: float,
        amsgrad: bool,
    ) -> None:
        self.scorer = scorer
        self.table = table
        self.batch_sets = batch_sets
        learned = [*scorer.parameters(), *([table] if table.requires_grad else [])]
        self.optimizer = torch.optim.Adam(learned, lr=learning_rate, amsgrad=amsgrad, fused=True)

    def run(self, pairs: SetInstancePairs) -> float:
        """One step for each batch of an epoch; the mean loss."""
        self.scorer.train()
        total = torch.zeros((), device=self.table.device)
        batches = (
            torch.split(tensor, self.batch_sets)
            for tensor in (pairs.members, pairs.mask, pairs.candidates)
        )
        for members, mask, candidates in zip(*batches, strict=True):
            self.optimizer.zero_grad()
            loss = self._loss(members, mask, candidates)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            total += loss.detach() * len(members)
        return float(total) / len(pairs)

    def _loss(self, members: Tensor, mask: Tensor, candidates: Tensor) -> Tensor:
        """The mean binary log loss of a batch's set-instance pairs."""
        # Members and candidates go through one embedding, S and S ∪ {t} through one scoring.
        embedded = self.scorer.embed(self.table[torch.cat([members, candidates], dim=1)])
        of_set, of_term = embedded.split([members.shape[1], candidates.shape[1]], dim=1)
        sums = self.scorer.pool(of_set, mask).unsqueeze(1)  # (sets, 1, hidden)
        scores = self.scorer.score(torch.cat([sums, sums + of_term], dim=1))  # (sets, 2 + K)
        logits = scores[:, 1:] - scores[:, :1]  # (sets, 1 + K)
        labels = torch.zeros_like(logits)
        labels[:, 0] = 1
        return binary_cross_entropy_with_logits(logits, labels)


FORMAT = "synsetmine-checkpoint-1"


class Checkpoint:
    """A checkpoint file that belongs to one run, known by its fingerprint.

    One of another run is an error, or, with `replace`, ignored.
    """

    def __init__(self, path: Path, fingerprint: str, *, replace: bool = False) -> None:
        self.path = path
        self.fingerprint = fingerprint
        self.replace = replace

    def save(self, tensors: Mapping[str, Tensor], progress: Mapping[str, Any]) -> None:
        meta = {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "progress": json.dumps(progress),
        }
        with atomic_write(self.path) as temporary:
            save_file({k: v.cpu().contiguous() for k, v in tensors.items()}, temporary, meta)

    def load(self, device: torch.device) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """(tensors, progress) of this run, or None where there is no checkpoint yet."""
        if not self.path.exists():
            return None
        try:
            tensors, meta = self._read(device)
        except CheckpointError:
            if self.replace:
                return None
            raise
        return tensors, json.loads(meta["progress"])

    def _read(self, device: torch.device) -> tuple[dict[str, Tensor], dict[str, str]]:
        try:
            with safe_open(self.path, framework="pt") as stored:
                meta = stored.metadata() or {}
                names = stored.keys()
                tensors = {name: stored.get_tensor(name).to(device) for name in names}
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{self.path} is damaged ({error})") from error
        if meta.get("format") != FORMAT:
            raise CheckpointError(f"{self.path} is not a checkpoint of this version")
        if meta.get("fingerprint") != self.fingerprint:
            raise CheckpointError(f"{self.path} belongs to a run with other data or settings")
        return tensors, meta


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
