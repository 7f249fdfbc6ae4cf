"""The view scorer: f(S, t) over several views of a term.

Three steps, each learned: *maps* take a term, view by view, to where synonyms lie close; the
*comparer* takes how alike two terms are, in all views and relative to the vocabulary, to the odds
that they are synonyms; a term's place in a set is the mean of its odds with the members. That is
a function of the set as a whole, independent of the order of its terms, and a sum over members is
all that has to be kept to extend it: f(S, t) = sigmoid(log(mean of odds(s, t) over S) - bar).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from synsetmine.errors import DataError
from synsetmine.model.comparer import Comparer, Floats
from synsetmine.model.scene import EXACT, Scene
from synsetmine.model.termmaps import LinearMap, NgramMap
from synsetmine.types import Progress, Term
from synsetmine.views import StringView, TermVectors, TermViews, View, unit_rows
from synsetmine.workers import WorkerPool

HIGHEST = 3.0  # log-odds above this count as this: one sure pair should not decide for a set
LOWEST = -6.0  # pairs below this count as odds 0
LOWER = 3.0  # that the bar moves down at most
HIGHER = 0.5  # and up: it must not climb, as sets grow fewer, until none are left


@dataclass(frozen=True)
class Bar:
    """The log mean odds that a term needs to join a set, which depends on how large sets are.

    Training sets are mostly pairs, and where real sets are larger, a bar that is right for pairs
    tears them apart: more terms have a partner, and the partners of one term differ more from each
    other. `at` was found on held-out training sets, where the sets found had `size` terms on
    average; elsewhere the bar is lower where sets turn out larger, and higher where they are
    smaller.
    """

    at: float
    size: float
    slope: float  # how far it moves with the log of the mean size, less one

    def for_size(self, size: float) -> float:
        """The bar for a vocabulary whose sets have `size` terms on average."""
        least = 1.05  # hardly any synonyms at all
        ratio = (max(size, least) - 1) / (max(self.size, least) - 1)
        move = self.slope * math.log(ratio)
        return self.at - min(max(move, -HIGHER), LOWER)


@dataclass(frozen=True, eq=False)
class ViewScorer:
    """What was learned; it needs the same views and number of vector tables as in training."""

    views: tuple[View, ...]
    maps: tuple[LinearMap, ...]  # of each vector table, then of the encoder's
    ngrams: NgramMap | None  # with the view `strings`
    comparer: Comparer
    bar: Bar

    def check(self, views: TermViews) -> None:
        """Whether these are the views of training; what differs is an error."""
        for view in self.views:
            if not views.has(view):
                raise DataError(
                    "the model was trained with this view, which is missing", value=view
                )
        tables = chosen_tables(self.views, views)
        if len(tables) != len(self.maps):
            problem = f"the model was trained with {len(self.maps)} tables of vectors, here are"
            raise DataError(problem, value=len(tables))
        for table, learned in zip(tables, self.maps, strict=True):
            if table.dimension != len(learned.matrix):
                problem = f"the model was trained on vectors of {len(learned.matrix)} dimensions"
                raise DataError(f"{problem}, these have", path=table.source, value=table.dimension)

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        """Those of the terms that some view knows."""
        return seen_terms(terms, self.views, views)

    def scene(
        self,
        terms: Sequence[Term],
        views: TermViews,
        *,
        exact: int = EXACT,
        device: torch.device | str = "cpu",
        pool: WorkerPool | None = None,
    ) -> Scene:
        self.check(views)
        own = self.views, self.maps, self.ngrams
        return make_scene(terms, views, *own, exact=exact, device=device, pool=pool)

    def log_mean_odds(
        self,
        members: Sequence[Term],
        terms: Sequence[Term],
        views: TermViews,
        *,
        vocabulary: Sequence[Term] = (),
    ) -> Floats:
        """How well each term fits a set of members, among the terms of a vocabulary: (terms,)."""
        everyone = list(dict.fromkeys((*members, *terms, *vocabulary)))
        number_of = {term: number for number, term in enumerate(everyone)}
        rows = torch.tensor([number_of[term] for term in members])
        columns = torch.tensor([number_of[term] for term in terms], dtype=torch.int64)
        return self.fit(self.scene(everyone, views), rows, columns)

    def fit(self, scene: Scene, members: Tensor, terms: Tensor) -> Floats:
        """How well each term fits a set of members, all numbers of a scene: (terms,)."""
        odds = self.comparer.log_odds(scene.block(members, terms)).clamp(max=HIGHEST).exp()
        found: Floats = odds.mean(dim=0).log().numpy()
        return found

    def graph(
        self,
        terms: Sequence[Term],
        views: TermViews,
        *,
        exact: int = EXACT,
        device: torch.device | str = "cpu",
        pool: WorkerPool | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """The odds of all pairs that count, a scipy.sparse.csr_array: (terms, terms)."""
        with self.scene(terms, views, exact=exact, device=device, pool=pool) as scene:
            return odds_graph(self.comparer, scene, progress=progress)


def seen_terms(terms: Sequence[Term], chosen: Sequence[View], views: TermViews) -> list[Term]:
    """Those of the terms that some of the chosen views knows; strings know all."""
    if "strings" in chosen:
        return list(terms)
    tables = chosen_tables(chosen, views)
    return [term for term in terms if any(term in table for table in tables)]


def chosen_tables(chosen: Sequence[View], views: TermViews) -> list[TermVectors]:
    """The tables of the chosen views: the vector tables, then the encoder's."""
    tables: list[TermVectors] = []
    if "vectors" in chosen:
        tables += views.vectors or (views.table("vectors"),)  # the latter tells what is missing
    if "encoder" in chosen:
        tables.append(views.table("encoder"))
    return tables


def rows_of(table: TermVectors, terms: Sequence[Term]) -> Floats:
    """Unit rows of the terms; zeros where the table does not know one."""
    there = np.array([term in table for term in terms], np.bool_)
    rows = np.zeros((len(terms), table.dimension), np.float32)
    rows[there] = unit_rows(
        table.select([t for t, known in zip(terms, there, strict=True) if known])
    )
    return rows


def make_scene(
    terms: Sequence[Term],
    views: TermViews,
    chosen: Sequence[View],
    maps: Sequence[LinearMap],
    ngrams: NgramMap | None,
    *,
    exact: int = EXACT,
    device: torch.device | str = "cpu",
    pool: WorkerPool | None = None,
) -> Scene:
    """The terms in each table as it is and as it is mapped; the entity id is never looked at."""
    seen: list[Floats] = []
    for table, learned in zip(chosen_tables(chosen, views), maps, strict=True):
        unit = rows_of(table, terms)
        seen += [unit, learned(unit)]
    strings = None
    if ngrams is not None:
        surfaces = [term.surface for term in terms]
        strings = StringView(surfaces, pool)
        seen.append(ngrams(surfaces, pool))
    return Scene(seen, strings, count=len(terms), exact=exact, device=device, pool=pool)


def odds_graph(comparer: Comparer, scene: Scene, *, progress: Progress | None = None) -> Any:
    """The odds of all pairs that count; the others are not stored."""
    from scipy import sparse

    none = np.zeros(0, np.int32)
    parts = [(none, none, np.zeros(0, np.float32))]

    def worth(signals: Tensor) -> Tensor:
        return comparer.highest(signals, scene.slow) > LOWEST

    for left, right, signals in scene.pairs(worth=worth, progress=progress):
        log_odds = comparer.log_odds(signals)
        counts = log_odds > LOWEST
        odds = log_odds[counts].clamp(max=HIGHEST).exp()
        ends = left[counts].int().cpu().numpy(), right[counts].int().cpu().numpy()
        parts.append((*ends, odds.cpu().numpy()))
    firsts, seconds, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    upper = sparse.csr_array((values, (firsts, seconds)), shape=(scene.count, scene.count))
    return sparse.csr_array(upper + upper.T)
