"""The weights of the general model, and training: sets and views of the user correct them.

Training is logistic regression with the general model's log-odds as an offset, on the candidate
pairs of the training sets' names. A ridge penalty draws all weights to zero. Its strength is
chosen by cross-validation over sets; an infinite penalty, which is the general model as it is, is
one of the choices, and a weaker one must be clearly better than a stronger one.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from synsetmine.errors import ModelError, quantity, shorten
from synsetmine.models.general.contexts import ContextClassifier
from synsetmine.models.general.features import Positions, WordWeights
from synsetmine.models.general.linkage import SetFunction
from synsetmine.models.general.model import GeneralModel
from synsetmine.models.general.neighbours import Floats
from synsetmine.models.general.pairs import Adaptation, PairClassifier, PairFeatures
from synsetmine.models.general.settings import AdaptationSettings
from synsetmine.models.known import Doubles, Truth
from synsetmine.types import Progress, SynonymSets
from synsetmine.views import TermViews
from synsetmine.views.strings import StaticEncoder

NEWTON_STEPS = 30  # at most
EASY = -4.0  # log-odds of pairs that the general model is sure of
LEAST_DEVIATION = 1e-4  # of a feature; below it the feature is constant


@dataclass(frozen=True)
class AdaptedModel:
    """An adapted model, and how it was chosen."""

    model: GeneralModel
    ridge: int | None  # None: infinite, the general model as it is
    losses: Mapping[int | None, float]  # mean loss of a held-out set by penalty; may be empty
    sets: int  # of two or more names
    names: int
    pairs: int
    fewest: int  # sets from which on the model is adapted

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the general model stays as it is, if it does."""
        if self.ridge is not None:
            return ()
        sets = f"{quantity(self.sets, 'training set')} of two or more names"
        if not self.losses:
            need = f"at least {self.fewest} needed to adapt the general model"
            return (f"too few sets: {self.sets:,}, {need}; it is used unchanged",)
        return (f"{sets} do not improve on the general model, which is used unchanged",)

    @property
    def notes(self) -> tuple[str, ...]:
        if self.ridge is None:
            return ()
        if not self.losses:
            return (f"learned from {self.names} names without held-out sets",)
        loss = f"loss of held-out sets {self.losses[self.ridge]:.3f}"
        return (f"{loss}, of the general model {self.losses[None]:.3f}",)

    def record(self, settings: AdaptationSettings) -> dict[str, Any]:
        """The part of a stored model that describes its training."""
        return {
            "settings": settings.to_dict(),
            "names": self.names,
            "pairs": self.pairs,
            "ridge": self.ridge,
            "losses": [[ridge, loss] for ridge, loss in self.losses.items()],
        }


@dataclass(frozen=True, eq=False)
class _Examples:
    """Pairs with what the general model says of them, and the truth."""

    features: Doubles  # (pairs, 1 + features): 1 for the bias, then standardised ones
    offsets: Doubles  # (pairs,), the general model's log-odds
    true: Truth  # (pairs,)
    weights: Doubles  # (pairs,), how many pairs each stands for
    sets: Positions  # (pairs,), the set that a pair belongs to in cross-validation

    def only(self, chosen: Truth) -> _Examples:
        return _Examples(
            self.features[chosen],
            self.offsets[chosen],
            self.true[chosen],
            self.weights[chosen],
            self.sets[chosen],
        )


def adapt(
    sets: SynonymSets,
    views: TermViews,
    settings: AdaptationSettings,
    *,
    base: GeneralModel | None = None,
    hold_out: bool = True,
    progress: Progress | None = None,
) -> AdaptedModel:
    """Adapt the general model, by default the packaged one, to sets and their views.

    Without `hold_out` the weakest penalty is taken.
    """
    base = base or load_general(
        encoder=views.strings and views.encoder is not None, folder=settings.weights or None
    )
    sets = SynonymSets.of(sorted(tuple(sorted(members)) for members in sets))
    several = sum(size > 1 for size in sets.sizes)
    if hold_out and several < settings.fewest_sets:
        return AdaptedModel(base, None, {}, several, len(sets.terms), 0, settings.fewest_sets)
    examples, scales = _examples(sets, views, base, settings)
    ridge: int | None = settings.ridges[-1]
    losses: Mapping[int | None, float] = {}
    if hold_out:
        ridge, losses = _choose_ridge(examples, len(sets), settings, progress)
    model = base
    if ridge is not None:
        model = replace(
            base,
            adaptation=Adaptation(
                views.strings,
                tuple(table.dimension for table in views.vectors),
                *scales,
                _fit(examples, ridge).astype(np.float32),
            ),
        )
    pairs, fewest = len(examples.true), settings.fewest_sets
    return AdaptedModel(model, ridge, losses, several, len(sets.terms), pairs, fewest)


def _examples(
    sets: SynonymSets, views: TermViews, base: GeneralModel, settings: AdaptationSettings
) -> tuple[_Examples, tuple[Floats, Floats]]:
    """The pairs of several vocabularies; means and deviations of their features."""
    rng = np.random.default_rng(settings.seed)
    by_size = _vocabularies(sets.sizes, settings, rng)
    parts = []
    for numbers in itertools.chain(*by_size):
        part = sets.pick(numbers)
        pairs = base.pairs(part.terms, views, tables=views.vectors, strings=views.strings)
        parts.append(_pairs_of(part, np.array(numbers), pairs, settings, rng))
    features = np.concatenate([part.features for part in parts])
    weights = np.concatenate([part.weights for part in parts]) / len(by_size)
    means = np.average(features, axis=0, weights=weights)
    deviations = np.sqrt(np.average((features - means) ** 2, axis=0, weights=weights))
    constant = deviations < LEAST_DEVIATION
    deviations[constant] = 1
    standard = (features - means) / deviations
    examples = _Examples(
        np.concatenate([np.ones((len(standard), 1)), standard], axis=1),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate([part.true for part in parts]),
        weights,
        np.concatenate([part.sets for part in parts]),
    )
    return examples, (means.astype(np.float32), deviations.astype(np.float32))


def _vocabularies(
    sizes: Sequence[int], settings: AdaptationSettings, rng: np.random.Generator
) -> list[list[list[int]]]:
    """The numbers of the sets of each vocabulary, by the size of vocabularies.

    Similarities to neighbours depend on how large a vocabulary is, so there are several sizes.
    """
    by_size = []
    for names in settings.vocabulary_names:
        order = rng.permutation(len(sizes))
        ends = np.cumsum([sizes[number] for number in order])
        count = min(max(settings.names // names, 1), max(round(ends[-1] / names), 1))
        part = np.minimum((ends - 1) // names, count)
        vocabularies = [np.sort(order[part == i]).tolist() for i in range(count)]
        by_size.append([numbers for numbers in vocabularies if numbers])
        if ends[-1] <= names:
            break
    return by_size


def _pairs_of(
    sets: SynonymSets,
    numbers: Positions,  # of the sets, among all training sets
    pairs: PairFeatures,
    settings: AdaptationSettings,
    rng: np.random.Generator,
) -> _Examples:
    """All pairs of a vocabulary but easy ones, of which some stand for all.

    In cross-validation a pair of two sets belongs to either, so that training and held-out pairs
    have the same share of true ones.
    """
    labels = np.array(sets.labels(sets.terms), np.int64)
    left, right = pairs.candidates()
    log_odds = pairs.base(left, right)
    true = labels[left] == labels[right]
    easy = ~true & (log_odds < EASY)
    kept = ~easy | (rng.random(len(left)) < settings.easy_share)
    weights = np.where(easy, 1 / settings.easy_share, 1.0)[kept]
    left, right, true = left[kept], right[kept], true[kept]
    log_odds, features = pairs.features(left, right)
    return _Examples(
        features.astype(np.float64),
        log_odds.astype(np.float64),
        true,
        weights,
        numbers[np.where(rng.random(len(left)) < 0.5, labels[left], labels[right])],
    )


def _choose_ridge(
    examples: _Examples, sets: int, settings: AdaptationSettings, progress: Progress | None
) -> tuple[int | None, dict[int | None, float]]:
    """The strongest penalty whose held-out loss is within the margin of the lowest one."""
    ridges = (None, *settings.ridges)
    folds = np.random.default_rng(settings.seed).permutation(sets) % settings.folds
    fold_of_pair = folds[examples.sets]
    losses = np.zeros((len(ridges), sets))
    for fold in range(settings.folds):
        held_out = examples.only(fold_of_pair == fold)
        learned = examples.only(fold_of_pair != fold)
        weights = np.zeros(learned.features.shape[1])
        for row, ridge in enumerate(ridges):
            weights = weights if ridge is None else _fit(learned, ridge, weights)
            loss = held_out.weights * _losses(held_out, weights)
            losses[row] += np.bincount(held_out.sets, loss, minlength=sets)
        if progress:
            progress(fold + 1, settings.folds)
    losses = losses[:, np.unique(examples.sets)]
    above = losses - losses[losses.mean(axis=1).argmin()]
    errors = above.std(axis=1) / math.sqrt(losses.shape[1])
    is_close = above.mean(axis=1) <= settings.margin * errors
    chosen = ridges[int(is_close.argmax())]
    return chosen, dict(zip(ridges, losses.mean(axis=1).tolist(), strict=True))


def _fit(examples: _Examples, ridge: int, start: Doubles | None = None) -> Doubles:
    """The weights of the lowest penalised loss, by Newton's method: (features,)"""
    width = examples.features.shape[1]
    weights = np.zeros(width) if start is None else start
    loss = _penalised_loss(examples, weights, ridge)
    for _ in range(NEWTON_STEPS):
        share = 1 / (1 + np.exp(-np.clip(_logits(examples, weights), -500, 500)))
        gradient = examples.features.T @ (examples.weights * (share - examples.true))
        curvature = examples.weights * share * (1 - share)
        hessian = examples.features.T @ (examples.features * curvature[:, None])
        step = np.linalg.solve(hessian + ridge * np.eye(width), gradient + ridge * weights)
        while (new_loss := _penalised_loss(examples, weights - step, ridge)) > loss:
            step /= 2
            if np.abs(step).max() < 1e-6:
                return weights
        weights, gain, loss = weights - step, loss - new_loss, new_loss
        if gain < 1e-6 * loss:
            break
    return weights


def _penalised_loss(examples: _Examples, weights: Doubles, ridge: int) -> float:
    loss = examples.weights @ _losses(examples, weights)
    return float(loss + ridge * (weights @ weights) / 2)


def _losses(examples: _Examples, weights: Doubles) -> Doubles:
    """The logistic loss of each pair: (pairs,)"""
    logits = _logits(examples, weights)
    losses: Doubles = np.logaddexp(0, np.where(examples.true, -logits, logits))
    return losses


def _logits(examples: _Examples, weights: Doubles) -> Doubles:
    logits: Doubles = examples.offsets + examples.features @ weights
    return logits


_MISFITS = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError),
    *(SafetensorError, ModelError),
)


def load_general(*, encoder: bool = False, folder: str | Path | None = None) -> GeneralModel:
    """The general model; with `encoder` the one that takes a sentence encoder's view too.

    `folder` holds other weights, written by `python -m experiments.general_model`.
    """
    if folder is None:
        return _read_packaged(encoder)
    try:
        return _read(Path(folder), encoder)
    except _MISFITS as error:
        reason = shorten(" ".join(str(error).split()))
        raise ModelError(f"{folder} does not hold weights of a general model ({reason})") from error


@cache
def _read_packaged(encoder: bool) -> GeneralModel:
    return _read(Path(str(resources.files("synsetmine.models.general") / "weights")), encoder)


def _read(folder: Path, encoder: bool) -> GeneralModel:
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf8"))
    pieces = (folder / "pieces.txt").read_text(encoding="utf8").splitlines()
    static = load_file(folder / "encoder.safetensors")
    kind = "encoder" if encoder else "strings"
    contexts = folder / f"contexts-{kind}.safetensors"  # not in folders of earlier versions
    return GeneralModel(
        StaticEncoder(tuple(pieces), static["table"], static["scales"].astype(np.float32)),
        WordWeights(static["word_weights"].astype(np.float32)),
        PairClassifier.from_arrays(load_file(folder / f"comparer-{kind}.safetensors")),
        SetFunction(**config["set_function"][kind]),
        uses_encoder=encoder,
        contexts=ContextClassifier.from_arrays(load_file(contexts)) if contexts.exists() else None,
    )
