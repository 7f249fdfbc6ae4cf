"""SynSetMiner keeps scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from synsetmine.estimator import SynSetMiner
from tests.support.viewworlds import name_world
from tests.support.worlds import make_world

# Checks that cannot hold here, each with its reason.
NOT_FOR_US = {
    "check_clustering": "clusters without a y; we learn from entities",
    "check_methods_subset_invariance": "a set depends on the other rows: that is its meaning",
    "check_methods_sample_order_invariance": "sets are numbered by their first row",
}


def small(**changes: Any) -> SynSetMiner:
    """The paper's model, with little to learn."""
    given = {
        "preset": "paper",
        "architecture": "both-16-32",
        "epochs": 10,
        "patience": 10,
        **changes,
    }
    return SynSetMiner(**given)


def data(seed: int = 0) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    sets, vectors = make_world(seed=seed)
    return vectors.matrix, np.array(sets.labels(vectors.terms))


@parametrize_with_checks(
    [SynSetMiner(), SynSetMiner(preset="paper", architecture="both-4-4", epochs=5, patience=5)],
    expected_failed_checks=lambda _: NOT_FOR_US,
    xfail_strict=False,  # with one set of all rows, their order does not show
)  # type: ignore[untyped-decorator]
def test_scikit_learns_own_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_fit_predict_and_labels_agree() -> None:
    X, y = data()
    labels = small().fit_predict(X, y)
    miner = small().fit(X, y)
    assert np.array_equal(labels, miner.labels_)
    assert np.array_equal(labels, miner.predict(X))
    assert labels[0] == 0
    assert set(labels) == set(range(labels.max() + 1))


def test_score_is_the_adjusted_rand_index() -> None:
    X, y = data()
    miner = small().fit(X, y)
    new, entities = data(seed=5)
    assert miner.score(new, entities) == pytest.approx(
        adjusted_rand_score(entities, miner.predict(new))
    )


def test_entities_may_be_strings() -> None:
    X, y = data()
    named = np.array([f"e{label}" for label in y])
    assert np.array_equal(small().fit(X, y).labels_, small().fit(X, named).labels_)


@pytest.mark.slow
def test_grid_search_with_grouped_folds() -> None:
    sets, vectors = make_world(entities=200, dimension=4, noise=0.1)
    X, y = vectors.matrix, np.array(sets.labels(vectors.terms))
    search = GridSearchCV(
        small(epochs=30, patience=30, architecture="both-100-200"),
        {"learning_rate": [3e-3, 1e-9]},
        cv=GroupKFold(2),
        error_score="raise",
    )
    search.fit(X, y, groups=y)
    assert search.best_params_ == {"learning_rate": 3e-3}
    assert search.predict(X).shape == y.shape


def test_clone_keeps_all_parameters() -> None:
    miner = small(threshold=0.7, negatives=3, random_state=4)
    assert clone(miner).get_params() == miner.get_params()


def test_numpy_numbers_and_random_states_are_welcome() -> None:
    X, y = data()
    miner = small(negatives=np.int64(5), patience=3, random_state=np.random.RandomState(3))
    again = small(negatives=5, patience=3, random_state=np.random.RandomState(3))
    assert np.array_equal(miner.fit(X, y).labels_, again.fit(X, y).labels_)
    assert small(random_state=None).fit(X, y).labels_.shape == y.shape


def test_share_token_needs_surfaces() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="needs the terms' surfaces"):
        small(strategy="mixture").fit(X, y)
    _, vectors = make_world()
    surfaces = np.array([term.surface for term in vectors.terms])
    assert small(strategy="mixture").fit(X, y, surfaces=surfaces).best_epoch_ >= 1
    with pytest.raises(ValueError, match="; got 1"):
        small().fit(X, y, surfaces=["one"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"preset": "none"}, "no such preset"), ({"dropout": 2.0}, "dropout must be")],
)
def test_bad_parameters_are_value_errors(changes: dict[str, Any], message: str) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=message):
        small(**changes).fit(X, y)


# --- Our own model, the default ---------------------------------------------------------------


def test_the_default_is_our_own_model() -> None:
    sets, views = name_world(120, noise=0.5)
    held, new = name_world(40, seed=9, noise=0.5)
    X, y = views.vectors[0].matrix, np.array(sets.labels(sets.terms))
    miner = SynSetMiner().fit(X, y)
    assert miner.score(new.vectors[0].matrix, np.array(held.labels(held.terms))) > 0.6
    with pytest.raises(ValueError, match="fitted without surfaces"):
        miner.predict(X, surfaces=["x"] * len(X))


def test_surfaces_are_one_more_view() -> None:
    sets, views = name_world(120, noise=1.5)
    held, new = name_world(40, seed=9, noise=1.5)
    X, y = views.vectors[0].matrix, np.array(sets.labels(sets.terms))
    other, gold = new.vectors[0].matrix, np.array(held.labels(held.terms))
    surfaces, others = ([term.surface for term in found.terms] for found in (sets, held))
    alone = SynSetMiner().fit(X, y).score(other, gold)
    miner = SynSetMiner().fit(X, y, surfaces=surfaces)
    assert miner.score(other, gold, surfaces=others) > alone + 0.1
    with pytest.raises(ValueError, match="fitted with surfaces"):
        miner.predict(other)
    with pytest.raises(ValueError, match="; got 1"):
        miner.predict(other, surfaces=["one"])


def test_the_paper_models_parameters_are_not_for_our_own() -> None:
    X, y = data()
    with pytest.raises(ValueError, match=r"no such setting: 'epochs'; expected one of "):
        SynSetMiner(epochs=5).fit(X, y)


@pytest.mark.parametrize("changes", [{"threshold": 2.0}, {"max_sets": 0}])
def test_bad_limits_are_reported_before_training(changes: dict[str, Any]) -> None:
    X, y = data()
    with pytest.raises(ValueError, match=next(iter(changes))):
        SynSetMiner(**changes).fit(X, y)


def test_nothing_is_left_of_an_earlier_fit() -> None:
    X, y = data()
    miner = small().fit(X, y)
    assert miner.n_iter_
    miner.set_params(preset="general", **dict.fromkeys(("architecture", "epochs", "patience")))
    assert not hasattr(miner.fit(X, y), "n_iter_")


def test_the_papers_model_takes_surfaces_and_does_not_look_at_them() -> None:
    X, y = data()
    surfaces = [f"word {i % 3}" for i in range(len(X))]
    miner = small(strategy="share-token").fit(X, y, surfaces=surfaces)
    assert np.array_equal(miner.predict(X), miner.predict(X, surfaces=surfaces))


# --- Names without entities -------------------------------------------------------------------

NAMES = ["heart failure", "lung", None, "failure, heart", "Lung"]


def test_names_without_y_are_grouped() -> None:
    labels = SynSetMiner().fit_predict(NAMES)
    assert labels.tolist() == [0, 1, -1, 0, 1]
    miner = SynSetMiner().fit(NAMES)
    assert np.array_equal(miner.labels_, labels)
    assert miner.predict(["lung", "LUNG"]).tolist() == [0, 0]
    assert SynSetMiner().fit_predict(np.array(["a", "A"])).tolist() == [0, 0]
    assert SynSetMiner(threshold=1).fit_predict(("lung", "heart")).tolist() == [0, 1]


def test_series_without_y_are_grouped() -> None:
    for library in ("pandas", "polars"):
        names = pytest.importorskip(library).Series(NAMES)
        assert SynSetMiner().fit_predict(names).tolist() == [0, 1, -1, 0, 1]


def test_vectors_without_y_and_bad_names_are_refused() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="requires y to be passed"):
        SynSetMiner().fit(X)
    with pytest.raises(ValueError, match="a name must be a string"):
        SynSetMiner().fit(["a", 3])
    with pytest.raises(ValueError, match="max_sets applies to trained models"):
        SynSetMiner(max_sets=3).fit(["a", "b"])
    with pytest.raises(NotFittedError):
        SynSetMiner().predict(["a"])
    miner = small().fit(X, y)
    assert miner.fit(["a", "b"]).predict(["a"]).tolist() == [0]  # the last fit counts
