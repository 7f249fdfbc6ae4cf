"""The methods by name: what `synsetmine compare` can run; SynSetMine itself as methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from synsetmine.devices import require_torch
from synsetmine.errors import DataError, choose_among
from synsetmine.models import DEFAULT_PRESET, PreparedModel, StoredModel, settings_of
from synsetmine.models.paper.settings import PRESETS, TrainingSettings
from synsetmine.rivals.base import Choice, ClusteringTask, Labels, Method, TrainingData, grid
from synsetmine.rivals.communities import (
    ChineseWhispers,
    CommunityDetection,
    Louvain,
    SetExpanLouvain,
)
from synsetmine.rivals.linkage import Agglomerative, CopKMeans, Hdbscan, KMeans, Link, Scorer
from synsetmine.rivals.pairs import Kernel, PairLinkage, SvmLouvain
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews, View

if TYPE_CHECKING:
    from synsetmine.rivals.l2c import TrainedL2C


@dataclass(frozen=True, kw_only=True)
class SynSetMine:
    """The set-instance classifier and the one pass over the vocabulary with it.

    `changes` are settings that differ from the preset's: `{"epochs": 100}`. The threshold θ is
    not tuned: the paper fixes it.
    """

    preset: str = "paper"
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    needs: ClassVar[frozenset[View]] = frozenset({"vectors"})
    needs_k: ClassVar[bool] = False
    depends_on_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            hint = choose_among(self.preset, PRESETS)
            raise DataError("no such preset", value=self.preset, hint=hint)
        _ = self.settings  # raises now for a wrong change, not after hours of other methods

    @property
    def settings(self) -> TrainingSettings:
        """Those of the preset with the changes; the seed will be the data's."""
        return PRESETS[self.preset].with_changes(self.changes)

    @property
    def choices(self) -> tuple[Choice, ...]:
        return grid("threshold", [self.settings.threshold])

    def fit(self, data: TrainingData) -> TrainedSynSetMine:
        """Train on the sets; the epoch is chosen on some that are held out."""
        settings = fit_held_out(self.settings, data.training, data.size)
        settings = settings.with_changes({"seed": data.seed})
        trained = settings.train(data.training, data.views, device=data.device)
        return TrainedSynSetMine(trained.model, tables=1)


@dataclass(frozen=True, kw_only=True)
class DefaultSynSetMine:
    """The default model on some views of a term.

    Nothing is tuned here: training finds its threshold.
    """

    views: tuple[View, ...] = ("vectors",)
    needs_k: ClassVar[bool] = False
    depends_on_order: ClassVar[bool] = True

    @property
    def needs(self) -> frozenset[View]:
        return frozenset(self.views)

    @property
    def choices(self) -> tuple[Choice, ...]:
        return grid("threshold", [0.5])

    def fit(self, data: TrainingData) -> TrainedSynSetMine:
        settings = settings_of(DEFAULT_PRESET).with_changes({"seed": data.seed})
        views = data.views.only(self.views)
        trained = settings.train(data.training, views, device=data.device)
        return TrainedSynSetMine(trained.model, device=data.device)


@dataclass
class TrainedSynSetMine:
    """A trained model; a vocabulary is prepared once for all of its orders."""

    model: StoredModel
    device: str | None = None
    tables: int | None = None  # the first so many vector tables; None: all
    _prepared: tuple[tuple[Term, ...], TermViews, PreparedModel] | None = field(
        default=None, init=False
    )

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        prepared = self._prepare(task)
        for choice in choices:
            mined = prepared.generate(order=task.terms, threshold=choice["threshold"])
            yield np.array(mined.sets.labels(task.terms), dtype=np.int64)

    def _prepare(self, task: ClusteringTask) -> PreparedModel:
        terms, views = tuple(sorted(task.terms)), task.views
        if self._prepared is None or self._prepared[0] != terms or self._prepared[1] is not views:
            seen = replace(views, vectors=views.vectors[: self.tables])
            prepared = self.model.prepare(terms, seen, device=self.device)
            self._prepared = terms, views, prepared
        return self._prepared[2]


def fit_held_out(settings: TrainingSettings, sets: SynonymSets, size: int) -> TrainingSettings:
    """Hold out no more than makes a vocabulary of `size` terms, as many as will be clustered.

    More would only cost training sets and time; fewer than 100 would leave the choice to chance.
    """
    share = max(size, 100) / max(len(sets.terms), 1)
    return settings.with_changes({"held_out": min(settings.held_out, share)})


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
    depends_on_order: ClassVar[bool] = True
    choices: ClassVar[Sequence[Choice]] = grid("weight", [1.0, 0.5, 0.25, 0.1])

    def fit(self, data: TrainingData) -> TrainedL2C:
        """Train g; the step is chosen on held-out sets, by the average precision of their pairs."""
        if len(data.training.terms) < 2:
            raise DataError("pairs cannot be learned from fewer than two terms")
        require_torch("L2C")
        from synsetmine.rivals.l2c import train_pairs

        return train_pairs(self, data)


Origin: TypeAlias = Literal["ours", "paper", "today"]
COSTS = (0.1, 1.0, 10.0)  # C of the SVMs
KERNELS: Mapping[Kernel, str] = {"linear": "linear", "rbf": "RBF"}
VIEWS: Sequence[tuple[View, ...]] = (
    ("vectors",),
    ("strings",),
    ("vectors", "strings"),
    ("strings", "encoder"),
    ("vectors", "strings", "encoder"),
)


@dataclass(frozen=True)
class MethodEntry:
    """A line of the comparison; its variants are tuned against each other."""

    name: str
    title: str
    origin: Origin  # our model, one of the paper's comparison, or what people use now
    variants: tuple[Method, ...]
    package: str = ""  # beyond the core, which it imports

    @property
    def needs(self) -> frozenset[View]:
        return self.variants[0].needs

    @property
    def needs_k(self) -> bool:
        return self.variants[0].needs_k

    @property
    def depends_on_order(self) -> bool:
        return self.variants[0].depends_on_order

    def lacks(self, views: TermViews) -> list[View]:
        """Which of the views that it needs are not there."""
        return sorted(view for view in self.needs if not views.has(view))

    @property
    def is_installed(self) -> bool:
        return not self.package or find_spec(self.package) is not None


def methods(*, preset: str = "paper") -> Mapping[str, MethodEntry]:
    """All methods; `preset` is that of our own model."""
    entries = [
        MethodEntry("synsetmine", "SynSetMine", "ours", (SynSetMine(preset=preset),), "torch"),
        *(
            MethodEntry(
                f"synsetmine-{'-'.join(views)}",
                f"SynSetMine views, {' + '.join(views)}",
                "ours",
                (DefaultSynSetMine(views=views),),
            )
            for views in VIEWS
        ),
        MethodEntry("kmeans", "Kmeans", "paper", (KMeans(),)),
        MethodEntry("kmeans-unit", "Kmeans, unit length", "paper", (KMeans(unit=True),)),
        MethodEntry("louvain", "Louvain", "paper", (Louvain(),), "networkx"),
        MethodEntry(
            "setexpan-louvain", "SetExpan+Louvain", "paper", (SetExpanLouvain(),), "networkx"
        ),
        *(
            MethodEntry(
                f"cop-kmeans{name}",
                f"COP-Kmeans{title}",
                "paper",
                (CopKMeans(unit=unit, start="sets"), CopKMeans(unit=unit, start="points")),
            )
            for unit, name, title in ((False, "", ""), (True, "-unit", ", unit length"))
        ),
        *(
            MethodEntry(
                f"svm-{kernel}",
                f"SVM+Louvain, {title}",
                "paper",
                tuple(SvmLouvain(kernel=kernel, C=cost) for cost in COSTS),
                "networkx",
            )
            for kernel, title in KERNELS.items()
        ),
        MethodEntry("l2c", "L2C", "paper", (L2C(),), "torch"),
        *_on("vectors"),
        *_on("encoder"),
        *_agglomerative("strings"),
        *(
            MethodEntry(
                f"pairs-{'-'.join(views)}",
                f"pair classifier, {' + '.join(views)}",
                "today",
                (PairLinkage(views=views),),
            )
            for views in VIEWS
        ),
    ]
    return {entry.name: entry for entry in entries}


def select(names: Iterable[str], known: Mapping[str, MethodEntry]) -> list[MethodEntry]:
    """The methods of these names; `ours`, `paper`, `today` and `all` name several."""
    chosen: dict[str, MethodEntry] = {}
    for name in names:
        if name != "all" and name not in get_args(Origin) and name not in known:
            problem = f"no such method; expected {', '.join(known)}, or ours, paper, today, all"
            raise DataError(problem, value=name)
        chosen |= {e.name: e for e in known.values() if name in (e.name, e.origin, "all")}
    return [entry for entry in known.values() if entry.name in chosen]


def _on(view: View) -> list[MethodEntry]:
    """What people use now, on a table of vectors."""
    others: tuple[tuple[str, str, Method], ...] = (
        ("hdbscan", "HDBSCAN", Hdbscan(view=view)),
        ("communities", "community detection", CommunityDetection(view=view)),
        ("whispers", "Chinese Whispers", ChineseWhispers(view=view)),
    )
    return [
        *_agglomerative(view),
        *(MethodEntry(f"{n}-{view}", f"{title}, {view}", "today", (m,)) for n, title, m in others),
    ]


def _agglomerative(view: View) -> list[MethodEntry]:
    scorers = get_args(Scorer) if view == "strings" else ("ratio",)
    return [
        MethodEntry(
            f"{link}-{view}",
            f"{link} link, {view}",
            "today",
            tuple(Agglomerative(view=view, link=link, scorer=scorer) for scorer in scorers),
        )
        for link in get_args(Link)
    ]
