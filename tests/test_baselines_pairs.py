"""Methods that learn from pairs of terms: how pairs are drawn, SVM+Louvain, the pair classifier."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from synsetmine.baselines import pairs as pairs_module
from synsetmine.baselines import svm as svm_module
from synsetmine.baselines.base import Floats, Labels, Lesson, Method, Problem, TermViews, unit_rows
from synsetmine.baselines.pairclassifier import LearnedPairs, PairClassifier, TableView
from synsetmine.baselines.pairs import nearest_in, training_pairs
from synsetmine.baselines.svm import LearnedSvm, SvmLouvain, pair_features
from synsetmine.errors import DataError
from synsetmine.metrics import compare_labels
from synsetmine.setfiles import read_sets
from synsetmine.types import SynonymSets, Term
from synsetmine.views import FEATURES, StringView, TermVectors, read_vectors
from tests.worlds import make_world

quick = settings(max_examples=40, deadline=None)

METHODS: tuple[Method, ...] = (
    SvmLouvain(),
    SvmLouvain(kernel="rbf"),
    PairClassifier(),
    PairClassifier(link="complete"),
    PairClassifier(views=("vectors", "strings")),
    PairClassifier(views=("encoder",)),
)


def name_of(method: Method) -> str:
    return f"{type(method).__name__}-{'-'.join(sorted(method.needs))}"


def sets_of(sizes: Sequence[int]) -> SynonymSets:
    return SynonymSets.of(
        [Term(f"name {i} of {number}") for i in range(size)] for number, size in enumerate(sizes)
    )


def some_rows(count: int, dimension: int = 5, seed: int = 0) -> Floats:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32))


# --- Pairs to learn from ----------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=12).filter(lambda sizes: max(sizes) > 1),
    st.integers(1, 7),
    st.integers(1, 30),
    st.integers(0, 2),
    st.integers(0, 5),
)
@quick
def test_positives_are_in_one_set_and_negatives_never(
    sizes: list[int], negatives: int, most: int, tables: int, seed: int
) -> None:
    training = sets_of(sizes)
    labels = np.array(training.labels(training.terms))
    views = [some_rows(len(labels), seed=table) for table in range(tables)]
    drawn = training_pairs(training, views, negatives=negatives, most=most, seed=seed)
    np.testing.assert_array_equal(labels[drawn.left] == labels[drawn.right], drawn.same)
    assert (drawn.left != drawn.right).all()
    whole = sum(size * (size - 1) // 2 for size in sizes)
    positives = list(zip(drawn.left[drawn.same], drawn.right[drawn.same], strict=True))
    assert len(positives) == min(whole, most) == len(set(positives))
    assert len(drawn) == len(positives) * (1 + negatives)
    # One term of a positive pair is the left one of its negatives.
    anchors = drawn.left[~drawn.same].reshape(len(positives), negatives)
    assert (anchors == anchors[:, :1]).all()
    assert all(
        anchor in pair for anchor, pair in zip(anchors[:, 0].tolist(), positives, strict=True)
    )
    again = training_pairs(training, views, negatives=negatives, most=most, seed=seed)
    np.testing.assert_array_equal(again.right, drawn.right)


def test_without_a_limit_all_pairs_of_the_sets_are_there() -> None:
    training = sets_of([3, 1, 5, 2, 4])
    drawn = training_pairs(training, negatives=1)
    found = set(zip(drawn.left[drawn.same].tolist(), drawn.right[drawn.same].tolist(), strict=True))
    rows = {term: row for row, term in enumerate(training.terms)}
    assert found == {
        (rows[a], rows[b]) for members in training for a, b in combinations(members, 2)
    }


def test_a_limit_draws_evenly_from_all_sets() -> None:
    training = sets_of([2] * 50 + [100])  # 50 pairs and 4,950
    large = [
        np.mean(drawn.left[drawn.same] >= 100)
        for drawn in (training_pairs(training, negatives=1, most=300, seed=s) for s in range(10))
    ]
    assert np.mean(large) == pytest.approx(0.99, abs=0.01)


def test_half_the_negatives_are_hard() -> None:
    sets, vectors = make_world(entities=60, noise=0.1, seed=3)
    unit = unit_rows(vectors.select(sets.terms))
    labels = np.array(sets.labels(sets.terms))
    drawn = training_pairs(sets, [unit], negatives=20, seed=1)
    anchors = drawn.left[~drawn.same].reshape(-1, 20)
    others = drawn.right[~drawn.same].reshape(-1, 20)
    cosine = unit @ unit.T
    cosine[labels[:, None] == labels] = -np.inf
    rank = (cosine[:, None, :] > cosine[:, :, None]).sum(axis=2)  # (term, other): how many nearer
    ranks = rank[anchors, others]
    positive = cosine[anchors[:, :10], others[:, :10]] > 0
    assert (ranks[:, :10][positive] < 20).all()
    assert positive.mean() > 0.9
    for row, good in zip(others[:, :10], positive, strict=True):
        assert len(set(row[good])) == good.sum()
    away = rank.shape[1] / 2
    assert ranks[:, 10:].mean() == pytest.approx(away, rel=0.1)


def test_tables_take_turns_and_may_be_sparse() -> None:
    sets, vectors = make_world(entities=30, seed=4)
    unit = unit_rows(vectors.select(sets.terms))
    other = some_rows(len(unit), seed=9)
    both = training_pairs(sets, [unit, other], seed=2)
    cosine = np.stack([unit @ unit.T, other @ other.T])
    left, right = both.left[~both.same].reshape(-1, 20), both.right[~both.same].reshape(-1, 20)
    likeness = cosine[:, left, right].mean(axis=1)  # (tables, negatives)
    assert (likeness[0, :10:2] > likeness[0, 10:].max()).all()
    assert (likeness[1, 1:10:2] > likeness[1, 10:].max()).all()
    thin = training_pairs(sets, [sparse.csr_array(unit), sparse.csr_array(other)], seed=2)
    np.testing.assert_array_equal(thin.right, both.right)


def test_terms_without_vectors_have_random_negatives() -> None:
    training = sets_of([2] * 30)
    drawn = training_pairs(training, [np.zeros((60, 4), np.float32)], seed=0)
    plain = training_pairs(training, seed=0)
    others = drawn.right[~drawn.same]
    assert len(set(others.tolist())) == len(set(plain.right[~plain.same].tolist())) == 60


def test_in_large_training_data_neighbours_come_from_a_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pairs_module, "POOL", 25)
    sets, vectors = make_world(entities=100, seed=5)
    unit = unit_rows(vectors.select(sets.terms))
    drawn = training_pairs(sets, [unit], seed=0)
    labels = np.array(sets.labels(sets.terms))
    assert (labels[drawn.left[~drawn.same]] != labels[drawn.right[~drawn.same]]).all()
    cosine = (unit[drawn.left] * unit[drawn.right]).sum(axis=1)[~drawn.same].reshape(-1, 20)
    hard = drawn.right[~drawn.same].reshape(-1, 20)[:, :10][cosine[:, :10] > 0.5]
    assert len(set(hard.tolist())) <= 25 + 100  # hardly any but the pool, and some by chance
    assert cosine[:, :10].mean() > cosine[:, 10:].mean() + 0.1


@pytest.mark.parametrize("sizes", [[], [3], [1, 1, 1]])
def test_what_gives_no_pairs_is_told(sizes: list[int]) -> None:
    with pytest.raises(DataError, match="two training sets and two terms in one of them"):
        training_pairs(sets_of(sizes))


def test_numbers_are_checked() -> None:
    for negatives, most in ((0, 1), (1, 0)):
        with pytest.raises(DataError, match="expected a number from 1 on: 0"):
            training_pairs(sets_of([2, 2]), negatives=negatives, most=most)


@given(st.integers(1, 15), st.integers(0, 12), st.integers(1, 6), st.integers(0, 99))
@quick
def test_nearest_in_a_pool(queries: int, pool: int, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    ours, theirs = chance.integers(0, 3, queries), chance.integers(0, 3, pool)
    some, others = some_rows(queries, seed=seed), some_rows(pool, seed=seed + 100)
    index, cosine = nearest_in(others, some, count, groups=(ours, theirs))
    assert index.shape == cosine.shape == (queries, min(count, pool))
    for row in range(queries):
        known = [
            float(some[row] @ o) for o, g in zip(others, theirs, strict=True) if g != ours[row]
        ]
        expected = [*sorted(known, reverse=True), *[-np.inf] * pool][: min(count, pool)]
        np.testing.assert_allclose(cosine[row], expected, atol=1e-6)
        for place, value in zip(index[row], cosine[row], strict=True):
            if np.isfinite(value):
                assert float(some[row] @ others[place]) == pytest.approx(float(value), abs=1e-6)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows(40)
    groups = (np.arange(40), np.arange(40))
    whole = nearest_in(rows, rows, 5, groups=groups)
    monkeypatch.setattr(pairs_module.blocks, "__kwdefaults__", {"most": 100})
    parts = nearest_in(rows, rows, 5, groups=groups)
    np.testing.assert_array_equal(parts[0], whole[0])


# --- All learned methods ----------------------------------------------------------------------


def world_views(vectors: TermVectors) -> TermViews:
    return TermViews(vectors=(vectors,), encoder=vectors)


def easy_world(seed: int) -> tuple[SynonymSets, SynonymSets, TermViews]:
    sets, vectors = make_world(entities=120, dimension=12, noise=0.1, seed=seed)
    training, held = sets.split(0.3, seed=seed)
    return training, held, world_views(vectors)


def best_ari(method: Method, seed: int) -> float:
    training, held, views = easy_world(seed)
    lesson = Lesson(training=training, views=views, size=len(held.terms), seed=seed)
    problem = Problem(terms=held.terms, views=views, sets=len(held), seed=seed)
    found = method.learn(lesson).cluster(problem, method.choices)
    gold = np.array(held.labels(held.terms))
    return max(compare_labels(labels, gold).ari for labels in found)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_easy_worlds_are_found(method: Method) -> None:
    assert min(best_ari(method, seed) for seed in (0, 1)) > 0.95


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_the_same_seed_gives_the_same_labels_also_in_another_process(method: Method) -> None:
    training, held, views = easy_world(7)
    lesson = Lesson(training=training, views=views, size=50, seed=3)
    problem = Problem(terms=held.terms, views=views, sets=1, seed=4)
    assert pickle.loads(pickle.dumps(method)) == method
    learned = method.learn(lesson)
    moved = pickle.loads(pickle.dumps(learned))
    once = list(learned.cluster(problem, method.choices))
    for again in (method.learn(lesson), moved):
        for a, b in zip(once, again.cluster(problem, method.choices), strict=True):
            np.testing.assert_array_equal(a, b)
    for labels in once:
        assert labels.dtype == np.int64
        assert labels.shape == (len(held.terms),)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_each_choice_stands_alone(method: Method) -> None:
    training, held, views = easy_world(8)
    learned = method.learn(Lesson(training=training, views=views, size=50))
    problem = Problem(terms=held.terms, views=views, sets=1)
    for choice, labels in zip(
        method.choices, learned.cluster(problem, method.choices), strict=True
    ):
        (alone,) = learned.cluster(problem, [choice])
        np.testing.assert_array_equal(alone, labels)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_small_vocabularies(method: Method, count: int) -> None:
    training, held, views = easy_world(2)
    learned = method.learn(Lesson(training=training, views=views, size=count))
    problem = Problem(terms=held.terms[:count], views=views, sets=1)
    found = list(learned.cluster(problem, method.choices))
    assert [labels.shape for labels in found] == [(count,)] * len(method.choices)


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_little_to_learn_from(method: Method) -> None:
    _, _, views = easy_world(2)
    assert views.encoder is not None
    a, b, c = views.encoder.terms[:3]
    training = SynonymSets.of([[a, b], [c]])
    learned = method.learn(Lesson(training=training, views=views, size=1000))
    problem = Problem(terms=(a, b, c), views=views, sets=1)
    assert len(list(learned.cluster(problem, method.choices[:2]))) == 2
    with pytest.raises(DataError, match="learning needs two training sets"):
        method.learn(Lesson(training=SynonymSets.of([[a, b]]), views=views, size=10))


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_vectors_may_be_all_zero(method: Method) -> None:
    training, held, views = easy_world(2)
    assert views.encoder is not None
    table = TermVectors(views.encoder.terms, np.zeros_like(views.encoder.matrix))
    for seen in (views, world_views(table)):
        learned = method.learn(Lesson(training=training, views=seen, size=50))
        problem = Problem(terms=held.terms[:20], views=world_views(table), sets=1)
        assert len(list(learned.cluster(problem, method.choices[:2]))) == 2


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_senses_are_never_read(method: Method) -> None:
    training, held, views = easy_world(6)
    assert views.encoder is not None

    def renamed(terms: Sequence[Term]) -> list[Term]:
        """Other senses, whose order is another one too."""
        return [Term(t.surface, f"x{t.surface[::-1]}") for t in terms]

    table = TermVectors(tuple(renamed(views.encoder.terms)), views.encoder.matrix)
    found = []
    for seen, some, terms in (
        (views, training, held.terms),
        (world_views(table), SynonymSets.of(map(renamed, training)), tuple(renamed(held.terms))),
    ):
        learned = method.learn(Lesson(training=some, views=seen, size=50))
        found.append(
            list(learned.cluster(Problem(terms=terms, views=seen, sets=1), method.choices))
        )
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


# --- SVM+Louvain ------------------------------------------------------------------------------


def test_pair_features() -> None:
    left, right = some_rows(6, 3, 0), some_rows(6, 3, 1)
    features = pair_features(left, right)
    for a, b, row in zip(left, right, features, strict=True):
        np.testing.assert_allclose(row, [*abs(a - b), *(a * b), a @ b], atol=1e-6)
    np.testing.assert_array_equal(
        pair_features(left[0], right)[1], pair_features(left[:1], right)[1]
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_distances_are_those_of_scikit_learn(kernel: str) -> None:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    training, _, views = easy_world(0)
    learned = SvmLouvain(kernel=kernel, C=0.1).learn(  # type: ignore[arg-type]
        Lesson(training=training, views=views, size=50, seed=5)
    )
    unit = unit_rows(views.table("vectors").select(training.terms))
    drawn = training_pairs(training, [unit], seed=5)
    features = pair_features(unit[drawn.left], unit[drawn.right])
    scaled = StandardScaler().fit_transform(features)
    if kernel == "rbf":
        centres = Nystroem(n_components=300, random_state=5).fit(np.unique(scaled, axis=0))
        scaled = centres.transform(scaled)
    svm = LinearSVC(C=0.1, dual=False).fit(scaled, drawn.same)
    expected = svm.decision_function(scaled)
    np.testing.assert_allclose(learned.distance(features), expected, atol=1e-4)


@pytest.mark.parametrize("values", [1 << 22, 300])
def test_edges_are_the_pairs_above_the_bar(values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm_module, "VALUES", values)
    monkeypatch.setattr(svm_module, "BATCH", 7)
    learned, unit = cosine_svm(30)
    edges, margins = learned.edges(unit, 0.3)
    expected = {
        (i, j): float(unit[i] @ unit[j])
        for i, j in combinations(range(30), 2)
        if unit[i] @ unit[j] > 0.3
    }
    assert list(map(tuple, edges.tolist())) == sorted(expected)
    np.testing.assert_allclose(margins, [expected[key] for key in sorted(expected)], atol=1e-5)
    assert edges.dtype == np.int64


def test_of_too_many_edges_the_most_certain_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm_module, "EDGES", 2)
    monkeypatch.setattr(svm_module, "BATCH", 3)
    learned, unit = cosine_svm(30)
    edges, margins = learned.edges(unit, -1.0)
    assert len(edges) == 60
    cosines = (unit @ unit.T)[np.triu_indices(30, 1)]
    np.testing.assert_allclose(np.sort(margins), np.sort(cosines)[-60:], atol=1e-5)


def cosine_svm(count: int) -> tuple[LearnedSvm, Floats]:
    """One whose distance is the cosine."""
    weights = np.zeros(11, np.float32)
    weights[-1] = 1
    nothing, ones = np.zeros(11, np.float32), np.ones(11, np.float32)
    learned = LearnedSvm(mean=nothing, scale=ones, weights=weights, bias=np.float32(0))
    return learned, some_rows(count)


def test_svm_settings_are_checked() -> None:
    with pytest.raises(DataError, match="linear or rbf: 'poly'"):
        SvmLouvain(kernel="poly")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"C must be positive: 0"):
        SvmLouvain(C=0)
    assert SvmLouvain().choices[0] == {"bar": 0.0}


# --- The pair classifier ----------------------------------------------------------------------


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
    monkeypatch.setattr("synsetmine.baselines.pairclassifier.VALUES", 500)
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
    learned = PairClassifier(views=("strings",)).learn(
        Lesson(training=sets, views=TermViews(), size=100, seed=2)
    )
    left, right = np.triu_indices(len(sets.terms), 1)
    expected = pipeline.decision_function(strings.pairs(left, right))
    np.testing.assert_allclose(learned.scores(sets.terms, TermViews()), expected, atol=1e-3)


def test_the_average_link_joins_while_the_mean_score_is_high() -> None:
    sets, vectors = make_world(entities=12, noise=0.5, seed=3)
    views = TermViews(vectors=(vectors,))
    learned = PairClassifier().learn(Lesson(training=sets, views=views, size=40))
    problem = Problem(terms=sets.terms, views=views, sets=1)
    scores = np.clip(learned.scores(sets.terms, views), -10, 10)
    square = np.zeros((len(sets.terms),) * 2)
    square[np.triu_indices(len(square), 1)] = scores
    square += square.T
    wanted = [{"score": score} for score in (-6.0, -2.5, 0.0, 2.0)]
    for choice, labels in zip(wanted, learned.cluster(problem, wanted), strict=True):
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
    method = PairClassifier(views=("strings",))
    learned = method.learn(Lesson(training=training, views=TermViews(), size=len(held.terms)))
    problem = Problem(terms=held.terms, views=TermViews(), sets=1)
    gold = np.array(held.labels(held.terms))
    scores = [compare_labels(found, gold).ari for found in learned.cluster(problem, method.choices)]
    assert max(scores) > 0.95


@given(st.integers(0, 20))
@settings(max_examples=8, deadline=None)
def test_the_order_of_the_terms_does_not_matter(seed: int) -> None:
    sets = name_world(60, seed=2)
    rows = np.random.default_rng(0).integers(-2, 3, (len(sets.terms), 4)).astype(np.float32)
    views = TermViews(vectors=(TermVectors(sets.terms, rows),))  # many ties
    method = PairClassifier(views=("vectors", "strings"))
    assert not method.ordered
    training, held = sets.split(0.4, seed=1)
    learned = method.learn(Lesson(training=training, views=views, size=50))
    order = np.random.default_rng(seed).permutation(len(held.terms))
    shuffled = tuple(held.terms[i] for i in order)
    given_order = learned.cluster(Problem(terms=held.terms, views=views, sets=1), method.choices)
    other = learned.cluster(Problem(terms=shuffled, views=views, sets=1, seed=9), method.choices)
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
        method = PairClassifier()
        learned = method.learn(Lesson(training=training, views=views, size=100))
        problem = Problem(terms=held.terms, views=views, sets=1)
        best.append(
            max(compare_labels(f, gold).ari for f in learned.cluster(problem, method.choices))
        )
    assert best[1] > best[0] + 0.1
    problem = Problem(terms=held.terms, views=TermViews(vectors=(vectors,)), sets=1)
    with pytest.raises(DataError, match="learned from 2 tables and strings"):
        next(learned.cluster(problem, method.choices))


def test_missing_views_are_told() -> None:
    for wrong in ((), ("letters",)):
        with pytest.raises(DataError, match="views are some of vectors, strings, encoder"):
            PairClassifier(views=wrong)  # type: ignore[arg-type]
    training, _, views = easy_world(0)
    lesson = Lesson(training=training, views=TermViews(vectors=views.vectors), size=10)
    with pytest.raises(DataError, match="no table of this view: 'encoder'"):
        PairClassifier(views=("encoder",)).learn(lesson)
    assert PairClassifier(views=("strings", "encoder")).needs == {"strings", "encoder"}


def test_on_the_papers_training_sets(nyt: Path) -> None:
    sets = read_sets(nyt / "train-cold.set")
    training, held = sets.split(0.15, seed=0)
    views = TermViews(vectors=(read_vectors(nyt / "combined.embed"),))
    gold = np.array(held.labels(held.terms))
    found = {}
    for method in (PairClassifier(), PairClassifier(views=("vectors", "strings"))):
        learned = method.learn(Lesson(training=training, views=views, size=len(held.terms)))
        problem = Problem(terms=held.terms, views=views, sets=len(held))
        labels = next(learned.cluster(problem, method.choices[:1]))  # the default is a good one
        found[method.views] = compare_labels(labels, gold).ari
    assert found["vectors",] > 0.4
    assert found["vectors", "strings"] > 0.77
