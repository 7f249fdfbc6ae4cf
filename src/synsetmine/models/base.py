"""One interface for all models: f(S, t), the probability that term t belongs to set S.

The probability of a term depends on the other terms of the vocabulary, so a model is first
prepared over a vocabulary. The `PreparedModel` then gives probabilities, rankings and sets.
`generate_sets`, `probabilities` and `rank` do both steps in one call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from synsetmine.errors import DataError
from synsetmine.models.known import KNOWN_THRESHOLD, KnownSets
from synsetmine.models.task import MiningResult
from synsetmine.notebook import ShowProgress, open_progress
from synsetmine.types import Progress, SetsLike, SynonymSets, Term, TermLike, terms_of
from synsetmine.views import TermVectors, TermViews, View

Arrays: TypeAlias = dict[str, np.ndarray[Any, Any]]


class SetModel(Protocol):
    """A trained model. `storage` saves its `kind` and `state`, and loads it again."""

    @property
    def kind(self) -> str:
        """The name of the implementation, which `config.json` holds."""
        ...

    @property
    def uses_torch(self) -> bool:
        """Whether the model computes with torch, on a device; others use the CPU."""
        ...

    @property
    def views(self) -> tuple[View, ...]:
        """The views of a term that the model takes into account."""
        ...

    def check(self, views: TermViews) -> None:
        """Raise a DataError if the model cannot work with these views."""
        ...

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        """The terms that the model can judge."""
        ...

    def assign(
        self,
        terms: Sequence[Term],
        sets: SynonymSets,
        views: TermViews,
        *,
        held_out: Container[str] = (),
        progress: Progress | None = None,
    ) -> KnownSets | None:
        """Assign new terms to known sets, after training on these sets if there are enough.

        None if the model takes known sets for seeds. Sets with the ids in `held_out` teach
        nothing, and the result says too what it would be without them.
        """
        ...

    def prepare(
        self,
        vocabulary: Sequence[Term],
        views: TermViews,
        *,
        known: KnownSets | None = None,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> PreparedModel:
        """The model over a vocabulary, which may have terms that the model cannot judge.

        `known` is the result of `assign` for the new terms; the vocabulary then need not have the
        known names. `device` is the device of the computation, by default that of the weights.
        A model ignores options that it does not need.
        """
        ...

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """A description for JSON, and the weights; `from_state` of the class restores the model."""
        ...


class PreparedModel(Protocol):
    """A model over a vocabulary."""

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the vocabulary that the model can judge."""
        ...

    def probabilities(self, members: Iterable[TermLike], terms: Iterable[TermLike]) -> list[float]:
        """f(S, t) of each term t, for the set S of these members."""
        ...

    def rank(self, members: Iterable[TermLike], *, top: int = 10) -> list[tuple[Term, float]]:
        """The terms with the highest f(S, t), best first, without the members of S."""
        ...

    def generate(
        self,
        *,
        threshold: float = 0.5,
        known_threshold: float = KNOWN_THRESHOLD,
        seeds: SetsLike | None = None,
        cannot_link: Iterable[tuple[TermLike, TermLike]] = (),
        max_sets: int | None = None,
        order: Iterable[TermLike] | None = None,
        progress: Progress | None = None,
    ) -> MiningResult:
        """Group the vocabulary into sets; see `generate_sets` for the arguments.

        Terms of seeds count only if the vocabulary has them. `order` has the terms of the
        vocabulary in another order, for models whose result depends on it.
        """
        ...


@dataclass(frozen=True, repr=False)
class StoredModel:
    """A model with its threshold, the record of its training, and the vectors that it tuned.

    It is a `SetModel` too, and replaces vectors of a table by the tuned ones.
    """

    model: SetModel
    threshold: float
    training: Mapping[str, Any]
    tuned_vectors: TermVectors | None = None

    def __repr__(self) -> str:
        views = ", ".join(self.views)
        return f"StoredModel({self.kind!r}, threshold={self.threshold:.2f}, views: {views})"

    @property
    def kind(self) -> str:
        return self.model.kind

    @property
    def uses_torch(self) -> bool:
        return self.model.uses_torch

    @property
    def views(self) -> tuple[View, ...]:
        return self.model.views

    def check(self, views: TermViews) -> None:
        self.model.check(views)

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        return self.model.known(terms, views)

    def assign(
        self,
        terms: Sequence[Term],
        sets: SynonymSets,
        views: TermViews,
        *,
        held_out: Container[str] = (),
        progress: Progress | None = None,
    ) -> KnownSets | None:
        return self.model.assign(terms, sets, views, held_out=held_out, progress=progress)

    def prepare(
        self,
        vocabulary: Iterable[TermLike],
        views: TermVectors | TermViews,
        *,
        known: KnownSets | None = None,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> PreparedModel:
        vocabulary, views = terms_of(vocabulary), TermViews.of(views)
        self.check(views)
        if self.tuned_vectors is not None:
            views = replace(views, vectors=(self.apply_to(views.table("vectors")),))
        return self.model.prepare(vocabulary, views, known=known, device=device, progress=progress)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return self.model.state()

    def apply_to(self, vectors: TermVectors) -> TermVectors:
        """The table with tuned vectors in place of its own, where the model has any."""
        return vectors if self.tuned_vectors is None else vectors.with_vectors(self.tuned_vectors)


@dataclass(frozen=True)
class TrainingStep:
    """A completed step of training, with its measured values."""

    done: int
    total: int
    note: str = ""
    values: Mapping[str, float] = field(default_factory=dict)  # such as "training/loss"


@dataclass(frozen=True, repr=False)
class TrainingResult:
    """A trained model with the figures, notes and warnings of its training."""

    model: StoredModel
    figures: Mapping[str, float]  # by name, such as "best epoch"
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        figures = "".join(f", {name}: {value}" for name, value in self.figures.items())
        return f"TrainingResult({self.model!r}{figures})"


class ModelSettings(Protocol):
    """The hyper-parameters of one kind of model, and how to train a model with them."""

    @property
    def seed(self) -> int: ...

    @property
    def threshold(self) -> float:
        """The default threshold of set generation, kept with the model."""
        ...

    @property
    def tunes_vectors(self) -> bool:
        """Whether the trained model has vectors of its own."""
        ...

    @property
    def uses_torch(self) -> bool:
        """Whether training needs torch."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """All values, as JSON has them."""
        ...

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """These settings with some values changed; raises a DataError for an unknown one."""
        ...

    def check_inputs(self, *, tables: int, encoder: bool = False) -> None:
        """Raise a DataError if a model cannot use this number of vector tables, or an encoder."""
        ...

    def known(self, terms: Sequence[Term], views: TermViews) -> list[Term]:
        """The terms that a model with these settings can learn from."""
        ...

    def train(
        self,
        sets: SetsLike,
        views: TermVectors | TermViews,
        *,
        hold_out: bool = True,
        device: str = "cpu",
        checkpoint: str | Path | None = None,
        replace_checkpoint: bool = False,
        on_step: Callable[[TrainingStep], None] | None = None,
    ) -> TrainingResult:
        """Train on the sets' terms that the model can judge.

        Without `hold_out` the same sets train and select the model, for when there are too few to
        hold some out. Training that writes a `checkpoint` resumes from it when it is called again.
        """
        ...


def fingerprint(described: object, arrays: Iterable[npt.NDArray[np.float32]]) -> str:
    """A digest of the inputs of a training run: plain values and vectors."""
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def generate_sets(
    model: SetModel,
    views: TermVectors | TermViews,
    vocabulary: Iterable[TermLike],
    *,
    threshold: float = 0.5,
    known_threshold: float = KNOWN_THRESHOLD,
    max_sets: int | None = None,
    seeds: SetsLike | None = None,
    held_out: Container[str] = (),
    cannot_link: Iterable[tuple[TermLike, TermLike]] = (),
    device: str | None = None,
    progress: ShowProgress = None,
) -> MiningResult:
    """Group the terms of a vocabulary, terms or strings: each joins its best set, or opens one.

    A set is extended while its probability is above `threshold`. `seeds` are known sets that terms
    may join; they keep their ids and terms. With the general model a term joins one of them if its
    probability is at least `known_threshold`, and the other terms are grouped among themselves.
    Seeds with the ids in `held_out` teach nothing. `KnownSets` of an earlier result are seeds whose
    new terms are assigned already, whatever `held_out` says. `max_sets` limits the number of sets,
    including seeds. A term that the model cannot judge is a set of its own, beyond that limit, and
    is listed. `cannot_link` pairs never share a set, even if that exceeds `max_sets`, unless a seed
    has both terms.

    The paper's model takes the terms in the order of the vocabulary, and its result depends on
    that order. `device` is that of `SetModel.prepare`. `progress` is True for a progress bar, or a
    function that is called with what is done, of how much.
    """
    _check_model(model)
    known = seeds if isinstance(seeds, KnownSets) else None
    seeds = SynonymSets.of(() if seeds is None else seeds)
    new = dict.fromkeys(term for term in terms_of(vocabulary) if term not in seeds)
    views = TermViews.of(views)
    with open_progress(progress, "mining") as report:
        if seeds and known is None:
            known = model.assign([*new], seeds, views, held_out=held_out, progress=report)
        prepared = model.prepare(
            [*new] if known else [*new, *seeds.terms],
            views,
            known=known,
            device=device,
            progress=report,
        )
        return prepared.generate(
            threshold=threshold,
            known_threshold=known_threshold,
            seeds=seeds,
            cannot_link=cannot_link,
            max_sets=max_sets,
            progress=report,
        )


def probabilities(
    model: SetModel,
    views: TermVectors | TermViews,
    members: Iterable[TermLike],
    terms: Iterable[TermLike],
    *,
    vocabulary: Iterable[TermLike] | None = None,
    device: str | None = None,
) -> list[float]:
    """f(S, t) of each term t, for the set S of these members.

    f depends on the vocabulary, since a term may fit other sets better: the vocabulary of mining
    gives the values of mining. The default is all terms of the first table of vectors. For many
    queries prepare the model once.
    """
    _check_model(model)
    views, members, terms = TermViews.of(views), terms_of(members), terms_of(terms)
    if vocabulary is None:
        vocabulary = views.vectors[0].terms if views.vectors else ()
    everyone = list(dict.fromkeys((*terms_of(vocabulary), *members, *terms)))
    return model.prepare(everyone, views, device=device).probabilities(members, terms)


def rank(
    model: SetModel,
    views: TermVectors | TermViews,
    members: Iterable[TermLike],
    vocabulary: Iterable[TermLike],
    *,
    top: int = 10,
    device: str | None = None,
) -> list[tuple[Term, float]]:
    """The best terms of a vocabulary for a set, best first, without the members of the set."""
    _check_model(model)
    members = terms_of(members)
    everyone = list(dict.fromkeys((*terms_of(vocabulary), *members)))
    return model.prepare(everyone, TermViews.of(views), device=device).rank(members, top=top)


def _check_model(model: object) -> None:
    if not hasattr(model, "prepare"):
        hint = "pass its .model" if hasattr(model, "model") else "load_model(folder) reads one"
        raise DataError(f"expected a model; {hint}", value=model)
