"""What a comparison is made on, and what came of each method."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from synsetmine import __version__
from synsetmine.baselines.base import Lesson, Method, Problem
from synsetmine.baselines.registry import Entry
from synsetmine.errors import DataError
from synsetmine.files import read_json
from synsetmine.models.base import fingerprint
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermViews, View

MEASURES = ("ari", "fmi", "nmi", "pair_precision", "pair_recall", "pair_f1")


MEMORISED = 0.1  # share of the test terms; by chance some surfaces are those of training terms


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Data and protocol: the same for all methods."""

    training: SynonymSets
    test: SynonymSets
    views: TermViews
    seeds: int = 5
    orders: int = 20  # random vocabulary orders for each seed
    samples: int = 5  # subsamples of the training sets that hyper-parameters are tuned on
    expect_size: int = 2  # sets of at least this many terms come first in those subsamples
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("seeds", "orders", "samples", "expect_size"):
            if getattr(self, name) < 1:
                raise DataError(f"{name} must be at least 1", value=getattr(self, name))
        shared = [term for term in self.test.terms if term in self.training]
        if shared:
            raise DataError("a test term is also in a training set", value=str(shared[0]))
        learned = [term for term in self.test.terms if term.surface in self.views.learned]
        if len(learned) > MEMORISED * len(self.test.terms):
            problem = (
                f"the encoder was tuned on {len(learned)} of {len(self.test.terms)} test terms"
            )
            raise DataError(f"{problem}, such as", value=str(learned[0]))

    @cached_property
    def _digest(self) -> str:
        tables = [*self.views.vectors, *filter(None, [self.views.encoder])]
        sets = [[[str(t) for t in members] for members in s] for s in (self.training, self.test)]
        protocol = [self.orders, self.samples, self.expect_size, self.device]
        known = [[str(term) for term in table.terms] for table in tables]
        shape = [len(self.views.vectors), self.views.encoder is not None]
        learned = sorted(self.views.learned)
        return fingerprint(
            [sets, protocol, known, shape, *learned], [table.matrix for table in tables]
        )

    def digest(self, entry: Entry) -> str:
        """With the same digest, a method gives the same scores."""
        variants = [_described(method) for method in entry.variants]
        return fingerprint([self._digest, entry.name, variants, __version__], [])

    def lesson(self, entry: Entry, seed: int) -> Lesson:
        return Lesson(
            training=self.training.restrict(self._known(entry, self.training.terms)),
            views=self.views,
            size=len(self.test.terms),
            seed=seed,
            device=self.device,
        )

    def problem(self, entry: Entry, seed: int, order: int) -> Problem:
        """The test terms that have what the method needs, in a random order."""
        walk = order_terms(self._known(entry, self.test.terms), "random", seed=order)
        sets = len(self.test.restrict(walk)) if entry.told else None
        return Problem(
            terms=tuple(walk), views=self.views, sets=sets, seed=seed * self.orders + order
        )

    def _known(self, entry: Entry, terms: tuple[Term, ...]) -> list[Term]:
        views: list[View] = [view for view in entry.needs if view != "strings"]
        tables = [self.views.table(view) for view in views]
        return [term for term in terms if all(term in table for table in tables)]


def _described(method: Method) -> list[Any]:
    """A method with its settings and grid; the order of a set differs from run to run."""
    values = {
        field.name: sorted(value) if isinstance(value, frozenset) else str(value)
        for field in fields(cast("Any", method))
        for value in [getattr(method, field.name)]
    }
    return [type(method).__name__, values, [dict(choice) for choice in method.choices]]


@dataclass(frozen=True, kw_only=True)
class SeedResult:
    """One method with one seed; scores are fractions, one report for each order."""

    method: str
    seed: int
    digest: str  # of the plan and the method
    reports: tuple[Mapping[str, float], ...] = ()
    variant: str = ""
    choice: Mapping[str, Any] | None = None
    tuned_score: float | None = None  # mean ARI on the subsamples
    tuning_seconds: float = 0.0
    training_seconds: float = 0.0
    prediction_seconds: float = 0.0  # the median over orders
    memory: int | None = None  # bytes at the peak beyond what was there before; None: not known
    without_view: int = 0  # test terms that lack what the method needs, and stand alone
    device: str = "cpu"
    failure: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> SeedResult:
        try:
            record = read_json(path)
            return replace(cls(**record), reports=tuple(record["reports"]))
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"not a result of a comparison ({error})", path=path) from error
