"""SetExpan + Louvain against the ensemble in plain words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.rivals.base import ClusteringTask, Floats
from synsetmine.rivals.communities import SetExpanLouvain, expand, random_features
from synsetmine.types import SynonymSets
from synsetmine.views import TermViews, unit_rows
from tests.support.graphworlds import cluster, whole_matrices
from tests.support.worlds import make_world

quick = settings(max_examples=60, deadline=None)


def naive_expansion(
    matrix: Floats, features: Sequence[npt.NDArray[np.int64]], k: int, depth: int
) -> list[list[int]]:
    """The ensemble in plain words; the same cosines, as ranks can hang on their last bit."""
    count = len(matrix)
    units = [unit_rows(matrix[:, columns]) for columns in features]
    tables = [unit @ unit.T for unit in units]
    named = []
    for i in range(count):
        score = dict.fromkeys((j for j in range(count) if j != i), 0.0)
        for cosines in tables:
            ranking = sorted(score, key=lambda j: (-cosines[i, j], j))
            for rank, j in enumerate(ranking[:depth], start=1):
                if cosines[i, j] > 0:
                    score[j] += 1 / rank
        mean = {j: total / len(tables) for j, total in score.items() if total > 0}
        best = sorted(mean, key=lambda j: (-mean[j], j))
        named.append((best + [-1] * k)[:k])
    return named


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 20), st.booleans())
@quick
def test_expansion_equals_the_naive_ensemble(
    seed: int, k: int, depth: int, with_zeros: bool
) -> None:
    _, vectors = make_world(entities=4, dimension=5, noise=0.5, seed=seed)
    matrix = vectors.matrix.copy()
    if with_zeros:
        matrix[::3] = 0
    features = random_features(5, 4, 0.6, seed=seed)
    found = expand(matrix, features, k, depth=depth)
    assert found.tolist() == naive_expansion(matrix, features, k, depth)


@given(whole_matrices(), st.integers(1, 4), st.integers(1, 5))
@quick
def test_expansion_is_the_same_in_blocks(matrix: Floats, k: int, block: int) -> None:
    # Rows of one feature that is not zero: cosines are exactly -1, 0 and 1.
    rows = np.where(
        np.arange(matrix.shape[1]) == np.argmax(abs(matrix), axis=1)[:, None], matrix, 0
    )
    features = random_features(rows.shape[1], 3, 0.7, seed=k)
    whole = expand(rows, features, k)
    np.testing.assert_array_equal(expand(rows, features, k, block=block), whole)
    assert whole.tolist() == naive_expansion(rows, features, k, 100)


@given(st.integers(1, 60), st.integers(1, 8), st.floats(0.01, 1), st.integers(0, 99))
@quick
def test_each_pass_draws_its_share_of_the_features(
    dimension: int, passes: int, share: float, seed: int
) -> None:
    features = random_features(dimension, passes, share, seed=seed)
    assert len(features) == passes
    for columns in features:
        assert len(set(columns.tolist())) == len(columns) == max(1, round(share * dimension))
        assert columns.min() >= 0
        assert columns.max() < dimension


def test_passes_draw_other_features_and_seeds_too() -> None:
    first, second = (random_features(50, 30, 0.6, seed=seed) for seed in (0, 1))
    assert len({tuple(columns) for columns in (*first, *second)}) == 60


def test_the_sets_of_an_easy_world_are_found_by_mutual_neighbours() -> None:
    sets, vectors = make_world(entities=30, largest=2, dimension=20, noise=0.05)
    task = ClusteringTask(terms=vectors.terms, views=TermViews(vectors=(vectors,)), k=30)
    (labels,) = cluster(SetExpanLouvain(), task, [{"k": 1, "kind": "mutual"}])
    assert SynonymSets.from_labels(vectors.terms, labels.tolist()).partition == sets.partition


def test_choices_of_set_expansion_are_all_k_of_both_kinds() -> None:
    choices = SetExpanLouvain().choices
    assert choices[0] == {"k": 2, "kind": "mutual"}
    assert {(choice["k"], choice["kind"]) for choice in choices} == {
        (k, kind) for k in (1, 2, 3, 4, 5, 8, 10) for kind in ("union", "mutual")
    }
