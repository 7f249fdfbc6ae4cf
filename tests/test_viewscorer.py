"""The view scorer: its signals, its training, and what it finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from synsetmine.errors import DataError
from synsetmine.generation import generate_sets
from synsetmine.metrics import evaluate
from synsetmine.model import PreparedModel, probabilities, rank
from synsetmine.model.comparer import Floats
from synsetmine.model.scene import NEIGHBOURS, SIGNALS, Scene
from synsetmine.model.termmaps import LinearMap, NgramMap, ngrams_of
from synsetmine.model.viewscorer import HIGHEST, LOWEST, ViewScorer
from synsetmine.training.calibration import term_weights, weighted_f1, weighted_size
from synsetmine.training.contrastive import Numbers, contrast, learn_linear_map, learn_ngram_map
from synsetmine.training.viewtraining import TrainedViews, ViewSettings, train_views
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import StringView, TermVectors, TermViews, View, unit_rows
from synsetmine.views.storedstrings import compare_stored, ngram_dots, stored_strings
from synsetmine.workers import WorkerPool
from tests.viewworlds import name_world

SETS, VIEWS = name_world(160, seed=1)
TRAINING, HELD_OUT = SETS.split(0.3, seed=0)


@pytest.fixture(scope="module")
def trained() -> TrainedViews:
    return train_views(TRAINING, VIEWS, ViewSettings(views=("vectors", "strings")), size=100)


# --- Maps -------------------------------------------------------------------------------------


def test_ngrams_are_words_and_their_parts() -> None:
    assert ngrams_of("Ab c") == [" ab ", " a", "ab", "b ", " ab", "ab ", " c ", " c", "c "]
    assert ngrams_of("heart_failure") == ngrams_of("heart  failure")
    assert ngrams_of("") == []


def test_an_ngram_map_gives_unit_rows_or_zeros() -> None:
    learned = NgramMap((" ab ", "ab"), np.ones(2, np.float32), np.eye(2, dtype=np.float32))
    rows = learned(["ab", "zzz"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0], atol=1e-6)


def test_a_linear_map_leaves_unknown_terms_unknown() -> None:
    learned = LinearMap(np.ones(2, np.float32), np.eye(2, dtype=np.float32))
    np.testing.assert_array_equal(learned(np.zeros((1, 2), np.float32)), np.zeros((1, 2)))


def test_the_contrast_is_that_of_its_definition() -> None:
    rows = torch.nn.functional.normalize(torch.randn(7, 4, generator=torch.manual_seed(0)), dim=1)
    labels = torch.tensor([0, 0, 1, 1, 1, 2, 3])
    losses = []
    for i in range(5):  # the last two have no synonym
        others = [j for j in range(7) if j != i]
        share = {j: torch.exp(rows[i] @ rows[j] / 0.1) for j in others}
        own = [j for j in others if labels[j] == labels[i]]
        losses.append(-sum(torch.log(share[j] / sum(share.values())) for j in own) / len(own))
    assert float(contrast(rows, labels)) == pytest.approx(float(sum(losses)) / 5, rel=1e-4)


def test_a_linear_map_brings_synonyms_together() -> None:
    """Half of the dimensions are noise, which the map has to see through."""
    chance = np.random.default_rng(0)
    labels = np.arange(400) // 2
    signal = chance.normal(size=(200, 6))[labels] + 0.3 * chance.normal(size=(400, 6))
    rows = unit_rows(np.c_[signal, 2 * chance.normal(size=(400, 6))].astype(np.float32))

    learned = learn_linear_map(rows[:300], labels[:300], seed=0)
    before, after = (
        _partner_first(some, labels[300:]) for some in (rows[300:], learned(rows[300:]))
    )
    assert after > before + 0.1


def _partner_first(rows: Floats, labels: Numbers) -> float:
    """The share of terms whose nearest other term is a synonym."""
    alike = rows @ rows.T
    np.fill_diagonal(alike, -2)
    return float((labels[alike.argmax(axis=1)] == labels).mean())


def test_an_ngram_map_learns_what_strings_do_not_show() -> None:
    pairs = [(f"kidney {s}", f"renal {s}") for s in "abcdefghijklmnopqrst"]
    surfaces = [name for pair in pairs for name in pair]
    learned = learn_ngram_map(surfaces, np.arange(40) // 2, seed=0)
    kidney, renal, other = learned(["kidney zz", "renal zz", "heart qq"])
    assert kidney @ renal > 0.5 > kidney @ other


# --- Signals ----------------------------------------------------------------------------------


def scene(count: int = 30) -> Scene:
    chance = np.random.default_rng(0)
    unit = unit_rows(chance.normal(size=(count, 5)).astype(np.float32))
    unit[3] = 0  # a term without a vector
    strings = StringView([f"name {i % 7}" for i in range(count)])
    return Scene([unit], strings, count=count)


def test_signals_are_those_of_their_definition() -> None:
    seen = scene()
    numbers = torch.arange(30)
    signals = seen.block(numbers, numbers).numpy()
    assert signals.shape == (30, 30, seen.width)
    unit = seen.tables[0].numpy()
    cosine = unit @ unit.T
    known = np.arange(30) != 3
    for i, j in ((0, 1), (5, 20), (3, 7)):
        if not (known[i] and known[j]):
            np.testing.assert_array_equal(signals[i, j, :SIGNALS], 0)
            continue
        expected = [cosine[i, j]]
        for k in NEIGHBOURS:
            crowd = [
                np.sort([cosine[t, o] for o in range(30) if o != t and known[o]])[::-1][:k].mean()
                for t in (i, j)
            ]
            expected += [cosine[i, j] - max(crowd), cosine[i, j] - min(crowd)]
        np.testing.assert_allclose(signals[i, j, :SIGNALS], [*expected, 1], atol=1e-5)


def test_signals_of_a_pair_are_the_same_both_ways() -> None:
    seen = scene()
    numbers = torch.arange(30)
    signals = seen.block(numbers, numbers)
    torch.testing.assert_close(signals, signals.transpose(0, 1))


def test_a_small_vocabulary_has_every_pair_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synsetmine.model.scene.VALUES", {"cpu": 200})
    seen = scene()
    found: dict[tuple[int, int], torch.Tensor] = {}
    for left, right, signals in seen.pairs():
        found |= dict(zip(zip(left.tolist(), right.tolist(), strict=True), signals, strict=True))
    assert sorted(found) == [(a, b) for a in range(30) for b in range(a + 1, 30)]
    every = seen.block(torch.arange(30), torch.arange(30))
    for (a, b), signals in found.items():
        torch.testing.assert_close(signals, every[a, b])


def test_a_large_vocabulary_has_the_pairs_that_are_near_in_some_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With all signals as in a small one; acronyms are near too."""
    monkeypatch.setattr("synsetmine.model.scene.NEIGHBOURS", (1, 3))
    monkeypatch.setattr("synsetmine.model.scene.VALUES", {"cpu": 11})
    chance = np.random.default_rng(1)
    unit = unit_rows(chance.normal(size=(40, 6)).astype(np.float32))
    unit[5] = 0
    surfaces = [f"{a}{b} word" for a in "abcdefgh" for b in "klmno"]
    surfaces[7], surfaces[30] = "qx", "quite xeric"
    strings = StringView(surfaces)
    seen = Scene([unit], strings, count=40, exact=39)
    every = seen.block(torch.arange(40), torch.arange(40))
    found = [
        (int(a), int(b), signals)
        for left, right, part in seen.pairs()
        for a, b, signals in zip(left, right, part, strict=True)
    ]
    expected = {(7, 30)}
    known = np.arange(40) != 5
    everyone = np.full(40, True)
    ngrams = (strings.ngrams @ strings.ngrams.T).toarray()
    for alike, there in ((unit @ unit.T, known), (ngrams, everyone)):
        for term in np.flatnonzero(there).tolist():
            others = [o for o in np.flatnonzero(there).tolist() if o != term]
            near = sorted(others, key=lambda o: -alike[term, o])[:3]
            if sum(alike[term, o] == pytest.approx(alike[term, near[-1]]) for o in others) == 1:
                expected |= {(min(term, o), max(term, o)) for o in near}
    keys = [(a, b) for a, b, _ in found]
    assert len(set(keys)) == len(keys) < 40 * 39 / 2
    assert expected <= set(keys)
    for a, b, signals in found:
        torch.testing.assert_close(signals, every[a, b], atol=1e-6, rtol=0)


# --- Training and mining ----------------------------------------------------------------------


def test_it_finds_sets_that_it_has_not_seen(trained: TrainedViews) -> None:
    walk = order_terms(HELD_OUT.terms, "random", seed=3)
    mined = generate_sets(trained.scorer, VIEWS, walk)
    assert evaluate(mined.sets, HELD_OUT).ari > 0.8
    assert trained.score > 0.8


def test_the_same_seed_gives_the_same_model(trained: TrainedViews) -> None:
    again = train_views(TRAINING, VIEWS, trained.settings, size=100)
    terms = order_terms(HELD_OUT.terms, "random")
    first, second = (t.scorer.graph(terms, VIEWS) for t in (trained, again))
    np.testing.assert_array_equal(first.toarray(), second.toarray())
    assert again.scorer.bar == trained.scorer.bar


def test_the_entity_is_never_looked_at(trained: TrainedViews) -> None:
    terms = list(HELD_OUT.terms)
    renamed = {term: Term(term.surface, f"x{i}") for i, term in enumerate(terms)}
    table = VIEWS.vectors[0]
    views = TermViews((TermVectors(tuple(renamed.values()), table.select(terms)),))
    mine = generate_sets(trained.scorer, VIEWS, terms).sets.labels(terms)
    assert (
        generate_sets(trained.scorer, views, list(renamed.values())).sets.labels(
            [*renamed.values()]
        )
        == mine
    )


def test_a_graph_is_symmetric_and_bounded(trained: TrainedViews) -> None:
    graph = trained.scorer.graph(list(HELD_OUT.terms), VIEWS)
    assert abs(graph - graph.T).max() == 0
    assert graph.diagonal().max() == 0
    assert graph.data.max() <= np.exp(HIGHEST) * (1 + 1e-6)
    assert graph.data.min() > np.exp(LOWEST)


def test_the_order_of_the_vocabulary_changes_no_odds(trained: TrainedViews) -> None:
    terms = list(HELD_OUT.terms)
    order = np.random.default_rng(0).permutation(len(terms))
    graph = trained.scorer.graph(terms, VIEWS).toarray()
    other = trained.scorer.graph([terms[i] for i in order], VIEWS).toarray()
    np.testing.assert_allclose(other, graph[np.ix_(order, order)], rtol=1e-3, atol=1e-3)


def test_a_term_without_a_vector_is_judged_by_its_string(trained: TrainedViews) -> None:
    terms = HELD_OUT.terms
    table = VIEWS.vectors[0]
    views = TermViews((table.only(term for i, term in enumerate(table.terms) if i % 4),))
    mined = generate_sets(trained.scorer, views, terms)
    assert mined.without_vector == ()
    assert evaluate(mined.sets, HELD_OUT).ari > 0.6


def test_without_strings_such_a_term_stands_alone() -> None:
    table = VIEWS.vectors[0]
    scorer = train_views(TRAINING, VIEWS, ViewSettings(views=("vectors",)), size=100).scorer
    stranger = Term("nobody knows")
    mined = generate_sets(scorer, table, [*HELD_OUT.terms, stranger])
    assert mined.without_vector == (stranger,)
    assert mined.trace[-1].action == "no vector"


def test_known_sets_gain_new_terms(trained: TrainedViews) -> None:
    halves = [members for members in HELD_OUT if len(members) > 1]
    seeds = SynonymSets.of([members[:1] for members in halves])
    new = [term for members in halves for term in members[1:]]
    mined = generate_sets(trained.scorer, VIEWS, new, seeds=seeds)
    assert mined.sets.ids[: len(seeds)] == seeds.ids
    joined = sum(set(found) == set(gold) for found, gold in zip(mined.sets, halves, strict=False))
    assert joined > 0.7 * len(halves)


def test_a_model_that_was_prepared_says_the_same(trained: TrainedViews) -> None:
    terms = VIEWS.vectors[0].terms
    model = PreparedModel(trained.scorer, VIEWS, terms)
    for members in (HELD_OUT.sets[0], HELD_OUT.sets[5][:1]):
        expected = probabilities(trained.scorer, VIEWS, members, terms)
        assert model.probabilities(members, terms) == pytest.approx(expected, abs=1e-4)
        best = rank(trained.scorer, VIEWS, members, terms, top=3)
        assert [term for term, _ in model.rank(members, top=3)] == [term for term, _ in best]


def test_the_trace_tells_of_every_term(trained: TrainedViews) -> None:
    mined = generate_sets(trained.scorer, VIEWS, HELD_OUT.terms)
    size_of = {t: len(members) for members in mined.sets for t in members}
    assert [decision.term for decision in mined.trace] == list(HELD_OUT.terms)
    for decision in mined.trace:
        assert decision.action == ("joined" if size_of[decision.term] > 1 else "opened")
        assert (decision.probability > 0.5) == (decision.action == "joined")


@pytest.mark.parametrize("views", [("vectors",), ("strings",), ("encoder",)])
def test_each_view_works_alone(views: tuple[View, ...]) -> None:
    known = replace(VIEWS, encoder=VIEWS.vectors[0])
    scorer = train_views(TRAINING, known, ViewSettings(views=views), size=100).scorer
    mined = generate_sets(scorer, known, HELD_OUT.terms)
    assert evaluate(mined.sets, HELD_OUT).ari > 0.3


def test_other_tables_than_in_training_are_an_error(trained: TrainedViews) -> None:
    table = VIEWS.vectors[0]
    with pytest.raises(DataError, match="trained with 1 tables"):
        trained.scorer.graph(HELD_OUT.terms, TermViews((table, table)))
    wide = TermVectors(table.terms, np.c_[table.matrix, table.matrix])
    with pytest.raises(DataError, match="trained on vectors of 12 dimensions"):
        trained.scorer.graph(HELD_OUT.terms, TermViews((wide,)))


def test_too_few_sets_are_an_error() -> None:
    with pytest.raises(DataError, match="10 or more sets"):
        train_views(SETS.pick(range(5)), VIEWS, ViewSettings(views=("strings",)))


def test_progress_reaches_its_end() -> None:
    seen: list[tuple[int, int]] = []
    train_views(
        TRAINING,
        VIEWS,
        ViewSettings(views=("vectors",)),
        size=100,
        progress=lambda *n: seen.append(n),
    )
    assert seen[-1][0] == seen[-1][1]
    assert seen == sorted(seen)


def test_a_scorer_knows_all_terms_by_their_strings(trained: TrainedViews) -> None:
    scorer: ViewScorer = trained.scorer
    assert scorer.known([Term("x")], TermViews()) == [Term("x")]


# --- Calibration ------------------------------------------------------------------------------


def test_equal_weights_give_the_f1_of_pairs() -> None:
    chance = np.random.default_rng(0)
    found, gold = chance.integers(0, 9, 60), chance.integers(0, 9, 60)
    together = evaluate(
        SynonymSets.from_labels([Term(str(i)) for i in range(60)], found.tolist()),
        SynonymSets.from_labels([Term(str(i)) for i in range(60)], gold.tolist()),
    )
    weights = term_weights(gold, larger=False)
    assert weighted_f1(found, gold, weights) == pytest.approx(together.pair_f1)
    assert weighted_size(found, weights) == pytest.approx(60 / len(np.unique(found)))


def test_larger_sets_have_half_of_the_weight() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
    weights = term_weights(labels, larger=True)
    assert weights[labels == 3].sum() == pytest.approx(0.5)
    assert weights.sum() == pytest.approx(1)
    assert (term_weights(labels[:6], larger=True) == 1 / 6).all()


def test_sets_larger_than_a_vocabulary_can_be_learned() -> None:
    sets = SynonymSets.of([[Term(f"name {i} of {k}") for i in range(120)] for k in range(10)])
    trained = train_views(sets, TermViews(), ViewSettings(views=("strings",)), size=100)
    assert trained.vocabularies == 10


def test_processes_change_nothing_in_a_large_vocabulary(
    trained: TrainedViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With strings that are shared by files, and parts of the graph that travel."""
    monkeypatch.setattr("synsetmine.model.neighbours.BRUTE", {"cpu": 50})
    monkeypatch.setattr("synsetmine.model.neighbours.PIECE", 16)
    monkeypatch.setattr("synsetmine.model.scene.SHARED", 0)
    monkeypatch.setattr("synsetmine.generation.parts.EDGES", 40)
    terms = order_terms(HELD_OUT.terms, "random", seed=5)
    alone = generate_sets(trained.scorer, VIEWS, terms, exact=10)
    several = generate_sets(trained.scorer, VIEWS, terms, exact=10, workers=2)
    assert several == alone
    assert evaluate(alone.sets, HELD_OUT).ari > 0.8


def test_strings_that_processes_share() -> None:
    surfaces = ["Alpha beta", "AB", "alpha-beta 2", "", "gamma\tdelta", "straße", "a " * 40]
    view = StringView(surfaces)
    left, right = (side.reshape(-1) for side in np.meshgrid(np.arange(7), np.arange(7)))
    with stored_strings(view) as folder, WorkerPool(2) as pool:
        found = pool.call(compare_stored, folder, left, right)
        dots = pool.call(ngram_dots, folder, left, right)
    np.testing.assert_array_equal(found, view.pairs(left, right))
    np.testing.assert_allclose(dots, found[:, 0], atol=1e-6)
    assert not folder.exists()


def test_pairs_that_are_not_worth_the_slow_signals_would_not_count(trained: TrainedViews) -> None:
    """The bound holds for every pair, leaves out most, and the graph is the same without it."""
    terms = order_terms(HELD_OUT.terms, "random", seed=2)
    comparer = trained.scorer.comparer
    scene = trained.scorer.scene(terms, VIEWS)
    rows = torch.arange(len(terms))
    every, fast = scene.block(rows, rows), scene.block(rows, rows, slow=False)
    bound = comparer.highest(fast, scene.slow)
    assert (comparer.log_odds(every) <= bound + 1e-4).all()
    assert (bound <= LOWEST).float().mean() > 0.5
    plain = {}
    for left, right, signals in scene.pairs():
        odds = comparer.log_odds(signals)
        for a, b, value in zip(left.tolist(), right.tolist(), odds.tolist(), strict=True):
            if value > LOWEST:
                plain[a, b] = np.exp(min(value, HIGHEST))
    graph = trained.scorer.graph(terms, VIEWS)
    assert graph.nnz == 2 * len(plain)
    for (a, b), value in plain.items():
        assert graph[a, b] == pytest.approx(value, rel=1e-4)
