"""What every method of the comparison takes and gives: one protocol for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews, View

Floats: TypeAlias = npt.NDArray[np.float32]
Labels: TypeAlias = npt.NDArray[np.int64]  # (terms,): equal labels, one set
Choice: TypeAlias = Mapping[str, Any]  # hyper-parameters of `cluster`, as JSON would have them


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What a method may learn from."""

    training: SynonymSets  # every term has what the method needs
    views: TermViews
    size: int  # about how many terms will be clustered
    seed: int = 0
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Terms to group, in the order in which they are walked."""

    terms: tuple[Term, ...]  # every term has what the method needs
    views: TermViews
    sets: int | None = None  # the true number of sets, for methods that say `told` alone
    seed: int = 0

    @property
    def told_sets(self) -> int:
        """The true number of sets, for a method that must be told."""
        if self.sets is None:
            raise DataError("this method must be told the number of sets")
        return self.sets

    @cached_property
    def surfaces(self) -> list[str]:
        """The strings of the terms; never their senses, which are the answer."""
        return [term.surface for term in self.terms]


class Clusterer(Protocol):
    """A method that has learned what it can."""

    def cluster(self, problem: Problem, choices: Sequence[Choice]) -> Iterator[Labels]:
        """Labels of the problem's terms for each choice; what choices share is done once."""
        ...


class Method(Protocol):
    """A way to group terms, before it has seen data. Frozen dataclasses implement it."""

    @property
    def needs(self) -> frozenset[View]: ...

    @property
    def told(self) -> bool:
        """Whether it is given the true number of sets."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether the result depends on the order of the terms or on `Problem.seed`."""
        ...

    @property
    def choices(self) -> Sequence[Choice]:
        """The grid for `cluster`, tuned on training sets; at least one, the first the default."""
        ...

    def learn(self, lesson: Lesson) -> Clusterer: ...


def grid(name: str, values: Sequence[Any]) -> tuple[Choice, ...]:
    """One choice for each value of one hyper-parameter."""
    return tuple({name: value} for value in values)
