"""The paper's tables and figures: their arithmetic, and a smoke run of all pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments import architecture, examples, negatives, pages, set_or_pairs, threshold
from experiments.benchmarkdata import available, benchmarks
from experiments.options import Options, read_options
from experiments.paper import EXPERIMENTS, gather
from experiments.set_or_pairs import Question, average_pairs, pair_probabilities, questions
from experiments.trainings import Outcome, main_trainings
from synsetmine.errors import DataError
from synsetmine.io.downloads import VECTOR_FILES
from synsetmine.io.sets import write_sets
from synsetmine.models import StoredModel, probabilities, save_model
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.settings import Strategy
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, write_vectors
from tests.support.worlds import make_world

ROOT = Path(__file__).parents[2]
# The comparison starts a process for each method and seed: too slow for a smoke run here.
NAMES = [experiment.NAME for experiment in EXPERIMENTS]
PAGES = [f"{name}-nyt" if name in ("comparison", "efficiency") else name for name in NAMES]
quick = settings(max_examples=30, deadline=None)


def write_benchmark(folder: Path, *, tables: Sequence[str], british: bool = False) -> None:
    """A small benchmark in the paper's format; the second table lacks the first test term."""
    sets, vectors = make_world(entities=150, largest=5, dimension=10, seed=3)
    if british:
        sets, vectors = renamed(sets, vectors)
    folder.mkdir(parents=True)
    parts = {"train-cold.set": slice(0, 120), "test.set": slice(120, None)}
    for name, part in parts.items():
        write_sets(folder / name, SynonymSets.of(sets.sets[part], sets.ids[part]))
    for number, key in enumerate(tables):
        lost = sets.sets[120][0] if number else None
        kept = [term for term in vectors.terms if term != lost]
        table = TermVectors(tuple(kept), vectors.select(kept))
        write_vectors(folder / VECTOR_FILES[key], table)


def renamed(sets: SynonymSets, vectors: TermVectors) -> tuple[SynonymSets, TermVectors]:
    """The paper's ranking case: a test set with four British names, a training term in its way."""
    members = next(members for members in sets.sets[120:140] if len(members) >= 4)
    names = dict(zip(members, ["u.k.", "britain", "uk", "united_kingdom", "albion"], strict=False))
    names[sets.sets[0][0]] = "britain"
    new = {t: replace(t, surface=names.get(t, t.surface)) for t in sets.terms}
    return (
        SynonymSets.of([[new[t] for t in members] for members in sets], sets.ids),
        TermVectors(tuple(new[t] for t in vectors.terms), vectors.matrix),
    )


# --- Set-instance pairs -----------------------------------------------------------------------


@given(st.integers(0, 1000), st.integers(1, 4), st.sampled_from([(), (6, 9)]))
@quick
def test_averaged_pairs_are_those_of_a_plain_loop(
    seed: int, size: int, embed_sizes: tuple[int, ...]
) -> None:
    sets, vectors = make_world(entities=6, seed=seed)
    scorer = SetScorer(dimension=8, embed_sizes=embed_sizes, post_sizes=(7,), seed=seed)

    def f(members: list[Term], term: Term) -> float:
        return probabilities(scorer, vectors, members, [term])[0]

    chosen = np.random.default_rng(seed).permutation(len(sets.terms))
    terms = [sets.terms[i] for i in chosen]
    asked = [(terms[i : i + size], terms[-1]) for i in range(3)]
    naive = [fmean((f([a], t) + f([t], a)) / 2 for a in members) for members, t in asked]
    assert average_pairs(scorer, vectors, asked) == pytest.approx(naive, abs=1e-6)


def test_pairs_have_no_order_and_may_be_many(monkeypatch: pytest.MonkeyPatch) -> None:
    sets, vectors = make_world(entities=6)
    scorer = SetScorer(dimension=8, embed_sizes=(6, 9), post_sizes=(7,))
    there = list(pairwise(sets.terms))
    back = [(b, a) for a, b in there]
    whole = pair_probabilities(scorer, vectors, there)
    monkeypatch.setattr(set_or_pairs, "ROWS_AT_ONCE", 3)
    assert pair_probabilities(scorer, vectors, back) == pytest.approx(whole, abs=1e-6)


@given(st.integers(0, 1000), st.integers(1, 3))
@quick
def test_each_test_term_is_held_out_once_and_replaced_by_strangers(seed: int, draws: int) -> None:
    test, vectors = make_world(entities=5, seed=seed)
    asked = questions(test, vectors, draws=draws)
    assert [q.own for q in asked] == list(test.terms)
    for q in asked:
        own_set = test.set_of(q.own)
        assert {*q.rest, q.own} == set(own_set)
        assert len(q.rest) == len(own_set) - 1
        assert len(q.strangers) == draws
        assert not set(q.strangers) & set(own_set)
    fewer = questions(test, vectors, draws=1)
    assert [q.strangers[:1] for q in asked] == [q.strangers for q in fewer]


def test_a_term_without_vector_is_not_asked_about() -> None:
    a, b, c, d, e = (Term(letter) for letter in "abcde")
    test = SynonymSets.of([[a, b], [c, d], [e]])
    table = np.eye(4, dtype=np.float32)
    asked = questions(test, TermVectors((b, c, d, e), table), draws=20)
    assert [(q.rest, q.own) for q in asked] == [((d,), c), ((c,), d)]
    assert {stranger for q in asked for stranger in q.strangers} == {b, e}


def test_both_ways_answer_the_same_questions() -> None:
    test, vectors = make_world(entities=6)
    scorer = SetScorer(dimension=8, embed_sizes=(6, 9), post_sizes=(7,))
    asked = questions(test, vectors, draws=2)
    whole = set_or_pairs.by_set(scorer, vectors, asked)
    pairs = set_or_pairs.by_pairs(scorer, vectors, asked)
    assert whole.shape == pairs.shape == (len(asked), 3)
    last = asked[-1]
    only = average_pairs(scorer, vectors, [(last.rest, last.strangers[1])])
    assert pairs[-1, 2] == pytest.approx(only[0], abs=1e-6)
    alone = probabilities(scorer, vectors, last.rest, [last.own])
    assert [whole[-1, 0]] == pytest.approx(alone, abs=1e-6)


def test_a_set_of_two_is_judged_as_its_pair() -> None:
    """Where S has one term, g is the mean of both directions and f is one of them."""
    sets, vectors = make_world(entities=4)
    scorer = SetScorer(dimension=8, embed_sizes=(6, 9), post_sizes=(7,))
    a, b, c, *_ = sets.terms
    q = [Question((a,), b, (c,))]
    one = set_or_pairs.by_set(scorer, vectors, q)[0]
    back = [probabilities(scorer, vectors, [t], [a])[0] for t in (b, c)]
    assert set_or_pairs.by_pairs(scorer, vectors, q)[0] == pytest.approx((one + back) / 2, abs=1e-6)


def test_reports_count_own_terms_and_strangers() -> None:
    scored = np.array([[0.9, 0.2, 0.1], [0.4, 0.6, 0.3]])
    first, second = set_or_pairs.reports_of(scored)
    assert [first[measure] for measure in ("precision", "recall", "f1")] == [0.5, 0.5, 0.5]
    assert (first["accuracy"], first["auc"]) == (0.5, 0.75)
    assert (second["precision"], second["recall"], second["auc"]) == (1.0, 0.5, 1.0)


# --- Claims -----------------------------------------------------------------------------------


def test_the_papers_order_is_counted_in_pairs() -> None:
    stated = {"a": 1.0, "b": 2.0, "c": 3.0}
    assert architecture.papers_order({"a": 5.0, "b": 6.0, "c": 7.0}, stated) == (3, 3)
    assert architecture.papers_order({"a": 6.0, "b": 5.0, "c": 7.0}, stated) == (2, 3)
    assert architecture.papers_order({"a": 7.0, "b": 6.0, "c": 5.0}, stated) == (0, 3)


def test_claims_about_negatives_are_judged_by_the_figures() -> None:
    level: dict[Strategy, float] = {"complete-random": 40.0, "share-token": 30.0, "mixture": 41.0}
    ari = {(s, k): [level[s] + k / 10, level[s]] for s in level for k in negatives.COUNTS}
    assert "Claim 1 holds: " in negatives.first_claim(ari)
    assert "K = 20: +10.00 ± 0.00" in negatives.first_claim(ari)
    assert "Claim 2 holds: the best is mixture with K = 50 (43.50)" in negatives.second_claim(ari)
    ari["share-token", 10] = [90.0, 90.0]
    assert "Claim 1 holds in part: " in negatives.first_claim(ari)
    assert "at 2 of 3 K" in negatives.first_claim(ari)
    assert "Claim 2 does not hold: the best is share-token with K = 10" in (
        negatives.second_claim(ari)
    )


@pytest.mark.parametrize(
    ("ari_of", "said"),
    [
        ({0.4: 49.0, 0.5: 50.0, 0.6: 49.5}, "at θ = 0.5. Mean ARI moves by 20.00 points"),
        ({0.4: 49.0, 0.5: 50.0, 0.6: 49.5}, "Good are 0.4, 0.5, 0.6, so the advice holds."),
        ({0.4: 49.0, 0.5: 50.0, 0.6: 45.0}, "Good are 0.4, 0.5, so the advice holds in part."),
        ({0.7: 50.0}, "at θ = 0.7; θ = 0.5 is 20.00 points below"),
        ({0.7: 50.0}, "by 0.00 from 0.4 to 0.6. Good are 0.7, so the advice fails."),
    ],
)
def test_the_advice_on_thresholds_is_judged_by_the_figures(
    ari_of: dict[float, float], said: str
) -> None:
    means = dict.fromkeys(threshold.THRESHOLDS, 30.0) | ari_of
    assert said in threshold.finding({t: {"ari": [m - 1, m + 1]} for t, m in means.items()})


def test_found_sets_are_sorted_by_how_right_they_are() -> None:
    a, b, c, d, e, f = (Term(letter) for letter in "abcdef")
    test = SynonymSets.of([[a, b], [c, d, e], [f]])
    kinds = examples.sort_out(SynonymSets.of([[b, a], [c, d], [e], [f]]), test)
    assert kinds == {
        "right": [(b, a)],
        "partly right": [(c, d)],
        "wrong": [],
        "alone": [(e,), (f,)],
    }
    kinds = examples.sort_out(SynonymSets.of([[a, c], [b, d, e, f]]), test)
    assert kinds["wrong"] == [(a, c)]
    assert kinds["partly right"] == [(b, d, e, f)]


# --- Pages and what is kept -------------------------------------------------------------------


def test_remarks_of_a_person_end_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "REMARKS", tmp_path)
    assert pages.remarks(Options(), "x") == ""
    (tmp_path / "x.md").write_text("Less, since we look once.\n")
    written = pages.remarks(Options(), "x", "Claims.", ["one", "", "two"])
    heading = "## Where ours and the paper differ"
    assert written == f"{heading}\n\nClaims.\n\n- one\n- two\n\nLess, since we look once."
    assert pages.remarks(Options(quick=True), "x", "Claims.") == f"{heading}\n\nClaims."


def test_what_is_found_with_a_model_is_kept_until_the_model_changes(tmp_path: Path) -> None:
    def store(seed: int) -> None:
        scorer = SetScorer(dimension=2, embed_sizes=(2,), post_sizes=(), seed=seed)
        save_model(tmp_path / "model", StoredModel(scorer, 0.5, {}))

    outcome, calls = Outcome({}, tmp_path), []

    def compute() -> dict[str, list[int]]:
        calls.append(1)
        return {"found": [len(calls)]}

    store(seed=0)
    assert outcome.compute_once("x", {"orders": 2}, compute) == {"found": [1]}
    assert outcome.compute_once("x", {"orders": 2}, compute) == {"found": [1]}
    assert outcome.compute_once("x", {"orders": 3}, compute) == {"found": [2]}
    store(seed=1)
    assert outcome.compute_once("x", {"orders": 3}, compute) == {"found": [3]}


def test_experiments_share_their_trainings(tmp_path: Path) -> None:
    write_benchmark(tmp_path / "nyt", tables=["word2vec", "fasttext-no-subword"])
    options = Options(data=tmp_path, seeds=2)
    assert available(options) == [("nyt", "word2vec"), ("nyt", "fasttext-no-subword")]
    main = main_trainings(options)
    assert [(t.vectors, t.protocol, t.settings.seed) for t in main] == [
        ("word2vec", "honest", 0),
        ("word2vec", "honest", 1),
        ("word2vec", "authors", 0),
        ("word2vec", "authors", 1),
        ("fasttext-no-subword", "honest", 0),
        ("fasttext-no-subword", "honest", 1),
    ]
    honest = {training for training in main if training.protocol == "honest"}
    for module in (architecture, set_or_pairs, negatives, threshold, examples):
        assert honest <= set(module.trainings(options))
    gathered = gather([architecture, negatives], options)
    assert len(gathered) == len({training.key for training in gathered})
    # Both tables and seeds; the paper's own sizes and K = 20 at random are the same training.
    assert len(gathered) == 2 * 2 * (8 + 3 * 3 - 1)
    assert gathered[0].settings.negatives == 50
    assert gathered[-1].settings.negatives == 10


def test_benchmarks_are_those_at_hand_or_those_asked_for(tmp_path: Path) -> None:
    for name in ("nyt", "wiki"):
        write_benchmark(tmp_path / name, tables=["word2vec"])
    data = f"--data={tmp_path}"
    assert available(read_options("", [data])) == [("nyt", "word2vec"), ("wiki", "word2vec")]
    only = read_options("", [data, "--benchmark", "wiki"])
    assert [benchmark.title for benchmark in benchmarks(only)] == ["Wiki, word2vec"]
    assert main_trainings(only)[0].settings.negatives == 50  # as in the released program
    with pytest.raises(DataError, match="no benchmark with vectors here"):
        available(read_options("", [data, "--benchmark", "pubmed"]))
