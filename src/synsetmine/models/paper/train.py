"""Training of the set-instance classifier; the epoch is chosen on held-out sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
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
from synsetmine.models.base import TrainingStep, fingerprint, generate_sets
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
    save: Callable[[], None] | None = None
    if checkpoint is not None:
        path, identity = Path(checkpoint), _identity(run, usable, validation, vectors)
        if path.exists():
            try:
                run.restore(*_read_checkpoint(path, identity, run.device))
            except CheckpointError:
                if not replace_checkpoint:
                    raise
        save = partial(run.save, path, identity)
    run.train(validation, vectors, save, on_epoch)
    return run.result(missing)


def epoch_reporter(on_step: Callable[[TrainingStep], None], epochs: int) -> Callable[[Epoch], None]:
    """What reports the epochs as steps of a training."""
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


CHECKPOINT_FORMAT = "synsetmine-checkpoint-1"


def _read_checkpoint(
    path: Path, fingerprint: str, device: torch.device
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the progress that `_Run.save` wrote for the run of this fingerprint."""
    try:
        with safe_open(path, framework="pt") as stored:
            meta = stored.metadata() or {}
            tensors = {name: stored.get_tensor(name).to(device) for name in stored.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged ({error})") from error
    if meta.get("format") != CHECKPOINT_FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of this version")
    if meta.get("fingerprint") != fingerprint:
        raise CheckpointError(f"{path} belongs to a run with other data or settings")
    try:
        return tensors, json.loads(meta["progress"])
    except (ValueError, KeyError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: it does not say how far it is") from error


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
            sets, negatives=settings.negatives, strategy=settings.strategy, device=device
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
        learned = [*self.scorer.parameters(), *([self.table] if settings.train_vectors else [])]
        self.optimizer = torch.optim.Adam(
            learned, lr=settings.learning_rate, amsgrad=settings.amsgrad, fused=True
        )
        self.progress = _Progress()
        self.best = self._snapshot()

    def train(
        self,
        validation: Validation,
        vectors: TermVectors,
        save: Callable[[], None] | None,
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
            if save is not None and score is not None:
                save()
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
            loss = self.learn(pairs)
        self.progress.fallbacks += int(pairs.fallbacks)
        self.progress.share_token_draws += pairs.share_token_draws
        if not np.isfinite(loss):
            raise DataError(f"training diverged in epoch {number}: the loss is not finite")
        return loss

    def learn(self, pairs: SetInstancePairs) -> float:
        """One step for each batch of an epoch; the mean loss."""
        self.scorer.train()
        total = torch.zeros((), device=self.device)
        batches = (
            torch.split(tensor, self.settings.batch_sets)
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

    def _current(self, vectors: TermVectors) -> TermVectors:
        if not self.settings.train_vectors:
            return vectors
        return vectors.with_vectors(self._tuned_vectors(self.table))

    def _tuned_vectors(self, table: Tensor) -> TermVectors:
        return TermVectors(self.sampler.terms, table.detach().cpu().numpy())

    def _snapshot(self) -> dict[str, Tensor]:
        snapshot = {name: t.detach().clone() for name, t in self.scorer.state_dict().items()}
        if self.settings.train_vectors:
            snapshot["table"] = self.table.detach().clone()
        return snapshot

    def save(self, path: Path, fingerprint: str) -> None:
        """Write a checkpoint that `_read_checkpoint` and `restore` take up again."""
        state = {f"best/{name}": tensor for name, tensor in self.best.items()}
        state |= {f"now/{name}": tensor for name, tensor in self._snapshot().items()}
        for i, values in self.optimizer.state_dict()["state"].items():
            state |= {f"adam/{i}/{name}": tensor for name, tensor in values.items()}
        meta = {
            "format": CHECKPOINT_FORMAT,
            "fingerprint": fingerprint,
            "progress": json.dumps(asdict(self.progress)),
        }
        with atomic_write(path) as temporary:
            save_file({k: v.cpu().contiguous() for k, v in state.items()}, temporary, meta)

    def restore(self, state: Mapping[str, Tensor], progress: dict[str, Any]) -> None:
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
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": adam, "param_groups": groups})
        history = [Epoch(**epoch) for epoch in progress.pop("history")]
        self.progress = _Progress(history=history, **progress)

    def result(self, missing: tuple[Term, ...]) -> TrainedScorer:
        best = dict(self.best)
        table = best.pop("table", None)
        self.scorer.load_state_dict(best)
        self.scorer.eval()
        progress, draws = self.progress, self.progress.share_token_draws
        return TrainedScorer(
            scorer=self.scorer,
            settings=self.settings,
            history=tuple(progress.history),
            best_epoch=progress.best_epoch,
            best_score=progress.best_score,
            fallback_share=progress.fallbacks / draws if draws else None,
            without_vector=missing,
            tuned_vectors=None if table is None else self._tuned_vectors(table),
        )


def _under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
