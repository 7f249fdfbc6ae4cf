"""The protocol of all methods of the comparison: their inputs and their labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews, View

Floats: TypeAlias = npt.NDArray[np.float32]
Labels: TypeAlias = npt.NDArray[np.int64]  # (terms,): equal labels, one set
Choice: TypeAlias = Mapping[str, Any]  # hyper-parameters of `cluster`, JSON values


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """The training sets of a method, and the views of their terms."""

    training: SynonymSets  # every term is in all views that the method needs
    views: TermViews
    size: int  # about how many terms will be clustered
    seed: int = 0
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True)
class ClusteringTask:
    """The terms to group, in vocabulary order."""

    terms: tuple[Term, ...]  # every term is in all views that the method needs
    views: TermViews
    k: int | None = None  # the true number of sets, only for methods with `needs_k`
    seed: int = 0

    @property
    def required_k(self) -> int:
        """The true number of sets, for a method that needs it."""
        if self.k is None:
            raise DataError("this method needs the true number of sets")
        return self.k


class Clusterer(Protocol):
    """A fitted method."""

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        """Yields the labels of the task's terms for each choice; shared work is done once."""
        ...


class Method(Protocol):
    """A method before it is fitted. Frozen dataclasses implement it."""

    @property
    def needs(self) -> frozenset[View]: ...

    @property
    def needs_k(self) -> bool:
        """Whether it gets the true number of sets."""
        ...

    @property
    def depends_on_order(self) -> bool:
        """Whether the result depends on the order of the terms or on `Task.seed`."""
        ...

    @property
    def choices(self) -> Sequence[Choice]:
        """The grid for `cluster`, tuned on training sets; at least one, the first the default."""
        ...

    def fit(self, data: TrainingData) -> Clusterer: ...


@dataclass(frozen=True, kw_only=True)
class Unsupervised:
    """What methods that learn nothing from training sets have in common."""

    view: View = "vectors"
    needs_k: ClassVar[bool] = False
    depends_on_order: ClassVar[bool] = True

    @property
    def needs(self) -> frozenset[View]:
        return frozenset({self.view})

    def fit(self, data: TrainingData) -> Self:  # noqa: ARG002
        return self


def grid(name: str, values: Sequence[Any], *, default: Any = None) -> tuple[Choice, ...]:
    """One choice for each value of one hyper-parameter; the default, if given, comes first."""
    if default is not None:
        values = [default, *(value for value in values if value != default)]
    return tuple({name: value} for value in values)
