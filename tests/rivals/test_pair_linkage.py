"""The pair classifier: its signals, its weights, and the links by its scores."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.io.sets import read_sets
from synsetmine.metrics import compare_labels
from synsetmine.rivals.base import ClusteringTask, Labels, TrainingData
from synsetmine.rivals.pairs import LearnedPairs, PairLinkage, TableView, training_pairs
from synsetmine.types import SynonymSets, Term
from synsetmine.views import FEATURES, StringView, TermVectors, TermViews, read_vectors, unit_rows
from tests.support.pairworlds import easy_world, some_rows
from tests.support.worlds import make_world

quick = settings(max_examples=40, deadline=None)


@given(st.integers(1, 14), st.integers(0, 99), st.booleans())
@quick
def test_signals_of_a_table(count: int, seed: int, gaps: bool) -> None:
    chance = np.random.default_rng(seed)
    unit = some_rows(count, seed=seed)
    known = chance.random(count) < 0.7 if gaps else None
    if known is not None:
        unit[~known] = 0
    crowd = chance.random(count).astype(np.float32)
    view = TableView(unit, crowd, known)
    block = view.block(np.arange(count), np.arange(count))
    for i in range(count):
        for j in range(count):
            cosine = float(unit[i] @ unit[j])
            expected = [cosine, cosine - max(crowd[i], crowd[j]), cosine - min(crowd[i], crowd[j])]
            if known is not None:
                expected = [*expected, 1.0] if known[i] and known[j] else [0.0] * 4
            np.testing.assert_allclose(block[i, j], expected, atol=1e-6)
    left, right = np.divmod(np.arange(count**2), count)
    np.testing.assert_allclose(view.pairs(left, right).reshape(block.shape), block, atol=1e-6)


def test_scores_are_weighted_similarities(monkeypatch: pytest.MonkeyPatch) -> None:
    _, held, views = easy_world(1)
    terms = held.terms[:25]
    unit = unit_rows(views.table("vectors").select(terms))
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    crowd = np.sort(cosine, axis=1)[:, -10:].mean(axis=1)
    strings = StringView([term.surface for term in terms])
    weights = np.arange(1, 3 + len(FEATURES) + 1, dtype=np.float32)
    learned = LearnedPairs(
        needs=frozenset({"vectors", "strings"}),
        link="average",
        weights=(weights[:3], weights[3:]),
        bias=-0.5,
    )
    left, right = np.triu_indices(25, 1)
    above = cosine[left, right] - np.stack([crowd[left], crowd[right]])
    table = np.stack([cosine[left, right], above.min(axis=0), above.max(axis=0)], axis=1)
    expected = table @ weights[:3] + strings.pairs(left, right) @ weights[3:] - 0.5
    np.testing.assert_allclose(learned.scores(terms, views), expected, atol=1e-4)
    monkeypatch.setattr("synsetmine.rivals.pairs.LINKAGE_VALUES", 500)
    np.testing.assert_allclose(learned.scores(terms, views), expected, atol=1e-4)


def test_the_weights_are_those_of_a_logistic_regression_on_the_plain_features() -> None:
    """Standardising is folded into the weights: the scores are its log-odds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    sets = name_world(80, seed=0)
    strings = StringView([term.surface for term in sets.terms])
    drawn = training_pairs(sets, [strings.ngrams], seed=2)
    features = strings.pairs(drawn.left, drawn.right).astype(np.float64)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    pipeline.fit(features, drawn.same)
    learned = PairLinkage(views=("strings",)).fit(
        TrainingData(training=sets, views=TermViews(), size=100, seed=2)
    )
    left, right = np.triu_indices(len(sets.terms), 1)
    expected = pipeline.decision_function(strings.pairs(left, right))
    np.testing.assert_allclose(learned.scores(sets.terms, TermViews()), expected, atol=1e-3)


def test_the_average_link_joins_while_the_mean_score_is_high() -> None:
    sets, vectors = make_world(entities=12, noise=0.5, seed=3)
    views = TermViews(vectors=(vectors,))
    learned = PairLinkage().fit(TrainingData(training=sets, views=views, size=40))
    task = ClusteringTask(terms=sets.terms, views=views, k=1)
    scores = np.clip(learned.scores(sets.terms, views), -10, 10)
    square = np.zeros((len(sets.terms),) * 2)
    square[np.triu_indices(len(square), 1)] = scores
    square += square.T
    wanted = [{"score": score} for score in (-6.0, -2.5, 0.0, 2.0)]
    for choice, labels in zip(wanted, learned.cluster(task, wanted), strict=True):
        assert same_groups(labels, linked_by_hand(square, choice["score"]))


def linked_by_hand(scores: npt.NDArray[np.float64], bar: float) -> Labels:
    groups = [[row] for row in range(len(scores))]
    while len(groups) > 1:
        means = {
            (i, j): scores[np.ix_(groups[i], groups[j])].mean()
            for i, j in combinations(range(len(groups)), 2)
        }
        (i, j), best = max(means.items(), key=lambda item: item[1])
        if best < bar:
            break
        groups[i] += groups.pop(j)
    labels = np.empty(len(scores), np.int64)
    for label, members in enumerate(groups):
        labels[members] = label
    return labels


def same_groups(a: Labels, b: Labels) -> bool:
    return bool(((a[:, None] == a) == (b[:, None] == b)).all())


def name_world(entities: int, *, seed: int) -> SynonymSets:
    """Sets of names that share their first word, and sometimes an acronym."""
    chance = np.random.default_rng(seed)
    letters = [chr(97 + i) for i in range(26)]
    words = ["".join(chance.choice(letters, 7)) for _ in range(entities + 20)]
    return SynonymSets.of(
        [
            Term(f"{words[i]} {words[entities + i % 20]}", f"e{i}"),
            Term(f"{words[i]}", f"e{i}"),
            Term(f"The_{words[entities + i % 20]}_{words[i]}", f"e{i}"),
        ]
        for i in range(entities)
    )


def test_strings_alone_find_easy_names() -> None:
    training, held = name_world(120, seed=1).split(0.4, seed=0)
    method = PairLinkage(views=("strings",))
    learned = method.fit(TrainingData(training=training, views=TermViews(), size=len(held.terms)))
    task = ClusteringTask(terms=held.terms, views=TermViews(), k=1)
    gold = np.array(held.labels(held.terms))
    scores = [compare_labels(found, gold).ari for found in learned.cluster(task, method.choices)]
    assert max(scores) > 0.95


@given(st.integers(0, 20))
@settings(max_examples=8, deadline=None)
def test_the_order_of_the_terms_does_not_matter(seed: int) -> None:
    sets = name_world(60, seed=2)
    rows = np.random.default_rng(0).integers(-2, 3, (len(sets.terms), 4)).astype(np.float32)
    views = TermViews(vectors=(TermVectors(sets.terms, rows),))  # many ties
    method = PairLinkage(views=("vectors", "strings"))
    assert not method.depends_on_order
    training, held = sets.split(0.4, seed=1)
    learned = method.fit(TrainingData(training=training, views=views, size=50))
    order = np.random.default_rng(seed).permutation(len(held.terms))
    shuffled = tuple(held.terms[i] for i in order)
    given_order = learned.cluster(
        ClusteringTask(terms=held.terms, views=views, k=1), method.choices
    )
    other = learned.cluster(
        ClusteringTask(terms=shuffled, views=views, k=1, seed=9), method.choices
    )
    for a, b in zip(given_order, other, strict=True):
        assert same_groups(a[order], b)


def test_a_second_table_helps_and_may_lack_terms() -> None:
    sets, vectors = make_world(entities=120, dimension=6, noise=0.6, seed=0)
    _, others = make_world(entities=120, dimension=6, noise=0.1, seed=0)
    known = [term for i, term in enumerate(others.terms) if i % 4]
    second = TermVectors(tuple(known), others.select(known))
    training, held = sets.split(0.3, seed=0)
    gold = np.array(held.labels(held.terms))
    best = []
    for tables in ((vectors,), (vectors, second)):
        views = TermViews(vectors=tables)
        method = PairLinkage()
        learned = method.fit(TrainingData(training=training, views=views, size=100))
        task = ClusteringTask(terms=held.terms, views=views, k=1)
        best.append(max(compare_labels(f, gold).ari for f in learned.cluster(task, method.choices)))
    assert best[1] > best[0] + 0.1
    task = ClusteringTask(terms=held.terms, views=TermViews(vectors=(vectors,)), k=1)
    with pytest.raises(DataError, match="learned from 2 tables and strings"):
        next(learned.cluster(task, method.choices))


def test_missing_views_are_reported() -> None:
    training, _, views = easy_world(0)
    data = TrainingData(training=training, views=TermViews(vectors=views.vectors), size=10)
    with pytest.raises(DataError, match="no vector table for this view: 'encoder'"):
        PairLinkage(views=("encoder",)).fit(data)
    assert PairLinkage(views=("strings", "encoder")).needs == {"strings", "encoder"}


def test_on_the_papers_training_sets(nyt: Path) -> None:
    sets = read_sets(nyt / "train-cold.set")
    training, held = sets.split(0.15, seed=0)
    views = TermViews(vectors=(read_vectors(nyt / "combined.embed"),))
    gold = np.array(held.labels(held.terms))
    found = {}
    for method in (PairLinkage(), PairLinkage(views=("vectors", "strings"))):
        learned = method.fit(TrainingData(training=training, views=views, size=len(held.terms)))
        task = ClusteringTask(terms=held.terms, views=views, k=len(held))
        labels = next(learned.cluster(task, method.choices[:1]))  # the default is a good one
        found[method.views] = compare_labels(labels, gold).ari
    assert found["vectors",] > 0.4
    assert found["vectors", "strings"] > 0.77
