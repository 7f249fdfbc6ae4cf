"""The methods by name: what `synsetmine compare` can run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, TypeAlias, get_args

from synsetmine.errors import DataError
from synsetmine.rivals.base import Method
from synsetmine.rivals.communities import (
    ChineseWhispers,
    CommunityDetection,
    Louvain,
    SetExpanLouvain,
)
from synsetmine.rivals.kmeans import CopKMeans, KMeans
from synsetmine.rivals.l2c import L2C
from synsetmine.rivals.linkage import Agglomerative, Hdbscan, Link, Scorer
from synsetmine.rivals.pairs import PairLinkage, SvmLouvain
from synsetmine.rivals.synsetmine import DefaultSynSetMine, SynSetMine
from synsetmine.views import TermViews, View

Origin: TypeAlias = Literal["ours", "paper", "today"]
COSTS = (0.1, 1.0, 10.0)  # C of the SVMs


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
    def ordered(self) -> bool:
        return self.variants[0].ordered

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
        _ours("vectors"),
        _ours("strings"),
        _ours("vectors", "strings"),
        _ours("strings", "encoder"),
        _ours("vectors", "strings", "encoder"),
        MethodEntry("kmeans", "Kmeans", "paper", (KMeans(),)),
        MethodEntry("kmeans-unit", "Kmeans, unit length", "paper", (KMeans(unit=True),)),
        MethodEntry("louvain", "Louvain", "paper", (Louvain(),), "networkx"),
        MethodEntry(
            "setexpan-louvain", "SetExpan+Louvain", "paper", (SetExpanLouvain(),), "networkx"
        ),
        MethodEntry("cop-kmeans", "COP-Kmeans", "paper", _cop_kmeans(unit=False)),
        MethodEntry("cop-kmeans-unit", "COP-Kmeans, unit length", "paper", _cop_kmeans(unit=True)),
        MethodEntry(
            "svm-linear",
            "SVM+Louvain, linear",
            "paper",
            tuple(SvmLouvain(kernel="linear", C=cost) for cost in COSTS),
            "networkx",
        ),
        MethodEntry(
            "svm-rbf",
            "SVM+Louvain, RBF",
            "paper",
            tuple(SvmLouvain(kernel="rbf", C=cost) for cost in COSTS),
            "networkx",
        ),
        MethodEntry("l2c", "L2C", "paper", (L2C(),), "torch"),
        *_on("vectors"),
        *_on("encoder"),
        *_agglomerative("strings"),
        _pairs("vectors"),
        _pairs("strings"),
        _pairs("vectors", "strings"),
        _pairs("strings", "encoder"),
        _pairs("vectors", "strings", "encoder"),
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


def _cop_kmeans(*, unit: bool) -> tuple[Method, ...]:
    return CopKMeans(unit=unit, start="sets"), CopKMeans(unit=unit, start="points")


def _on(view: View) -> list[MethodEntry]:
    """What people use now, on a table of vectors."""
    return [
        *_agglomerative(view),
        MethodEntry(f"hdbscan-{view}", f"HDBSCAN, {view}", "today", (Hdbscan(view=view),)),
        MethodEntry(
            f"communities-{view}",
            f"community detection, {view}",
            "today",
            (CommunityDetection(view=view),),
        ),
        MethodEntry(
            f"whispers-{view}", f"Chinese Whispers, {view}", "today", (ChineseWhispers(view=view),)
        ),
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


def _ours(*views: View) -> MethodEntry:
    return MethodEntry(
        f"synsetmine-{'-'.join(views)}",
        f"SynSetMine views, {' + '.join(views)}",
        "ours",
        (DefaultSynSetMine(views=views),),
    )


def _pairs(*views: View) -> MethodEntry:
    return MethodEntry(
        f"pairs-{'-'.join(views)}",
        f"pair classifier, {' + '.join(views)}",
        "today",
        (PairLinkage(views=views),),
    )
