"""The project's own model under the comparison's protocol: the same sets as called by hand."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from synsetmine.errors import DataError
from synsetmine.metrics import compare_labels
from synsetmine.models import generate_sets
from synsetmine.models.paper.train import train_scorer
from synsetmine.rivals.base import ClusteringTask, Method, TrainingData
from synsetmine.rivals.registry import (
    DefaultSynSetMine,
    SynSetMine,
    TrainedSynSetMine,
    fit_held_out,
)
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermVectors, TermViews
from tests.support.viewworlds import name_world
from tests.support.worlds import make_world

CHANGES: dict[str, Any] = {
    "architecture": "both-100-200",
    "dropout": 0.2,
    "learning_rate": 3e-3,
    "epochs": 20,
    "negatives": 10,
    "batch_sets": 8,
}
METHOD = SynSetMine(changes=CHANGES)
SHORT = SynSetMine(changes={**CHANGES, "architecture": "both-8-16", "epochs": 5})


def data(sets: SynonymSets, vectors: TermVectors, **values: Any) -> TrainingData:
    return TrainingData(training=sets, views=TermViews((vectors,)), **{"size": 1000, **values})


def task(sets: SynonymSets, vectors: TermVectors, seed: int = 0) -> ClusteringTask:
    walk = tuple(order_terms(sets.terms, "random", seed=seed))
    return ClusteringTask(terms=walk, views=TermViews((vectors,)), k=len(sets), seed=seed)


@pytest.fixture(scope="module")
def learned() -> TrainedSynSetMine:
    training = make_world(entities=200, dimension=4, noise=0.1, seed=1)
    return METHOD.fit(data(*training, seed=3))


@pytest.fixture
def easy() -> ClusteringTask:
    return task(*make_world(entities=30, dimension=4, noise=0.1, seed=2))


def test_what_it_says_of_itself() -> None:
    method: Method = SynSetMine()
    assert method.needs == {"vectors"}
    assert not method.needs_k
    assert method.depends_on_order
    assert list(method.choices) == [{"threshold": 0.5}]
    assert SynSetMine(changes={"threshold": 0.7}).choices == ({"threshold": 0.7},)


def test_it_learns(learned: TrainedSynSetMine, easy: ClusteringTask) -> None:
    gold, _ = make_world(entities=30, dimension=4, noise=0.1, seed=2)
    [labels] = learned.cluster(easy, METHOD.choices)
    assert labels.dtype == np.int64
    assert compare_labels(labels, gold.labels(easy.terms)).ari > 0.4


def test_it_trains_as_the_project_does() -> None:
    sets, vectors = make_world(seed=1)
    by_hand = train_scorer(sets, vectors, SHORT.settings.with_changes({"seed": 3}))
    record = SHORT.fit(data(sets, vectors, seed=3)).model.training
    assert record == by_hand.record()
    other = SHORT.fit(data(sets, vectors, seed=4)).model.training
    assert other["history"] != record["history"]


def test_it_walks_the_terms_in_the_problems_order(learned: TrainedSynSetMine) -> None:
    sets, vectors = make_world(entities=30, dimension=4, noise=0.1, seed=2)
    found = []
    for seed in range(3):
        given = task(sets, vectors, seed)
        bars = (0.5, 0.2, 0.9)
        choices = [{"threshold": bar} for bar in bars]
        for bar, labels in zip(bars, learned.cluster(given, choices), strict=True):
            mined = generate_sets(learned.model, vectors, given.terms, threshold=bar).sets
            assert SynonymSets.from_labels(given.terms, labels.tolist()).sets == mined.sets
            found.append(mined.partition)
    assert len(set(found)) == 9


@pytest.mark.parametrize(("size", "terms"), [(10_000, None), (150, 150), (5, 100), (0, 100)])
def test_no_more_is_held_out_than_will_be_clustered(size: int, terms: int | None) -> None:
    """But at least a hundred terms, where the preset's share has as many."""
    sets, _ = make_world(entities=600)
    share = SHORT.settings.held_out if terms is None else terms / len(sets.terms)
    assert share <= SHORT.settings.held_out
    assert fit_held_out(SHORT.settings, sets, size).held_out == share


def test_the_share_fits_the_lesson() -> None:
    sets, vectors = make_world()
    record = SHORT.fit(data(sets, vectors, size=5)).model.training
    fitted = fit_held_out(SHORT.settings, sets, 5)
    assert record["settings"] == fitted.with_changes({"seed": 0}).to_dict()


def test_a_lower_share_of_the_preset_stays() -> None:
    sets, vectors = make_world()
    method = SynSetMine(changes={**SHORT.changes, "held_out": 0.04})
    record = method.fit(data(sets, vectors)).model.training
    assert record["settings"]["held_out"] == 0.04


def test_methods_clusterers_and_labels_pickle(
    learned: TrainedSynSetMine, easy: ClusteringTask
) -> None:
    assert pickle.loads(pickle.dumps(METHOD)) == METHOD
    copied = pickle.loads(pickle.dumps(learned))
    [labels] = learned.cluster(easy, METHOD.choices)
    assert np.array_equal(labels, next(copied.cluster(easy, METHOD.choices)))


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("scale", [0, 1])
def test_tiny_vocabularies_and_vectors_of_zeros(
    learned: TrainedSynSetMine, count: int, scale: int
) -> None:
    terms = tuple(Term(f"t{i}") for i in range(count))
    vectors = TermVectors(terms, np.full((count, 4), scale, dtype=np.float32))
    given = ClusteringTask(terms=terms, views=TermViews((vectors,)), k=1)
    [labels] = learned.cluster(given, METHOD.choices)
    assert labels.shape == (count,)


def test_labels_do_not_depend_on_senses(learned: TrainedSynSetMine, easy: ClusteringTask) -> None:
    vectors = easy.views.table("vectors")
    bare = TermVectors(tuple(Term(term.surface) for term in vectors.terms), vectors.matrix)
    terms = tuple(Term(term.surface) for term in easy.terms)
    plain = replace(easy, terms=terms, views=TermViews((bare,)))
    [labels] = learned.cluster(easy, METHOD.choices)
    assert np.array_equal(labels, next(learned.cluster(plain, METHOD.choices)))


def test_wrong_settings_are_reported_before_anything_runs() -> None:
    with pytest.raises(DataError, match=r"no such preset: 'papers'; did you mean 'paper'?"):
        SynSetMine(preset="papers")
    with pytest.raises(DataError, match=r"no such setting: 'epoch'; did you mean 'epochs'"):
        SynSetMine(changes={"epoch": 3})


# --- Our own model ----------------------------------------------------------------------------


def test_our_own_model_groups_as_mining_does_in_any_order() -> None:
    sets, views = name_world(60)
    held, new = name_world(30, seed=7)
    data_ = TrainingData(training=sets, views=views, size=100)
    learned = DefaultSynSetMine(views=("vectors", "strings")).fit(data_)
    for seed in range(3):
        terms = tuple(order_terms(held.terms, "random", seed=seed))
        (labels,) = learned.cluster(ClusteringTask(terms=terms, views=new), [{"threshold": 0.5}])
        mined = generate_sets(learned.model, new, terms).sets
        assert SynonymSets.from_labels(terms, labels.tolist()).partition == mined.partition
