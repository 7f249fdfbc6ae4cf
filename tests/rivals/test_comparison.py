from __future__ import annotations

import hashlib
import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synsetmine.errors import DataError
from synsetmine.metrics import evaluate
from synsetmine.rivals.base import Choice, ClusteringTask, Labels, TrainingData
from synsetmine.rivals.comparison import (
    ComparisonPlan,
    SeedResult,
    choose,
    compare,
    run_seed,
    subsample,
)
from synsetmine.rivals.page import cells, notes, summarise, write_comparison
from synsetmine.rivals.registry import MethodEntry, methods, select
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews, View
from tests.support.worlds import make_world


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Sorts terms by their first coordinate, rounded: coarse or fine, as it is told."""

    choices: Sequence[Choice] = ({"digits": 0}, {"digits": 1}, {"digits": 4})
    needs: frozenset[View] = frozenset({"vectors"})
    needs_k: bool = False
    depends_on_order: bool = False
    failure: str = ""

    def fit(self, data: TrainingData) -> Grid:
        if self.failure == "exit":
            os._exit(3)
        if self.failure:
            raise DataError(self.failure, value=data.seed)
        return self

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        column = task.views.table("vectors").select(task.terms)[:, 0]
        for choice in choices:
            yield np.unique(column.round(choice["digits"]), return_inverse=True)[1]


def entry(method: Grid, name: str = "grid") -> MethodEntry:
    return MethodEntry(name, name.title(), "today", (method,))


def tenths() -> tuple[SynonymSets, TermVectors]:
    """Sets that rounding to one digit finds exactly."""
    sets = [[Term(f"{n}-{i}") for i in range(2 + n % 3)] for n in range(40)]
    rows = [[n / 10 + 0.001 * i, 1.0] for n in range(40) for i in range(2 + n % 3)]
    terms = tuple(term for members in sets for term in members)
    return SynonymSets.of(sets), TermVectors(terms, np.array(rows, dtype=np.float32))


def make_plan(**changes: int) -> ComparisonPlan:
    sets, vectors = tenths()
    training, test = sets.split(0.3, seed=1)
    plan = ComparisonPlan(
        training=training, test=test, views=TermViews((vectors,)), seeds=2, orders=3, samples=2
    )
    return replace(plan, **changes)  # type: ignore[arg-type]


@given(terms=st.integers(1, 60), seed=st.integers(0, 50), size=st.integers(1, 5))
def test_a_subsample_splits_by_entity_and_is_about_as_large_as_asked(
    terms: int, seed: int, size: int
) -> None:
    sets, _ = tenths()
    rest, held = subsample(sets, terms, seed=seed, expect_size=size)
    assert rest.partition | held.partition == sets.partition
    assert not rest.partition & held.partition
    assert len(held) <= len(sets) // 2
    assert len(held.terms) >= min(terms, 1)
    if len(held) < len(sets) // 2:
        assert terms <= len(held.terms) < terms + max(sets.sizes)
    small = [s for s in held.sizes if s < size]
    if small:  # all the larger ones are held out, or half of all sets are
        assert all(s < size for s in rest.sizes) or len(held) == len(sets) // 2


def test_a_subsample_of_one_set_is_an_error() -> None:
    with pytest.raises(DataError, match="at least two"):
        subsample(SynonymSets.of([[Term("a")]]), 1, seed=0)


def test_tuning_finds_the_choice_that_suits_the_training_sets() -> None:
    plan = make_plan()
    found = choose(entry(Grid()), plan.data(entry(Grid()), 0), samples=2, expect_size=2)
    assert found.choice == {"digits": 1}
    assert found.score == pytest.approx(1.0)


def test_tuning_compares_variants_and_takes_the_first_of_equals() -> None:
    plan = make_plan()
    coarse, fine = Grid(choices=({"digits": 0},)), Grid(choices=({"digits": 1}, {"digits": 1}))
    several = MethodEntry("g", "G", "today", (coarse, fine))
    found = choose(several, plan.data(several, 0), samples=1, expect_size=2)
    assert found.variant == 1
    assert found.choice is fine.choices[0]


def test_where_there_is_no_choice_nothing_is_learned() -> None:
    broken = entry(Grid(choices=({"digits": 1},), failure="must not be called"))
    found = choose(broken, make_plan().data(broken, 0), samples=2, expect_size=2)
    assert found.score is None


def test_a_seed_runs_orders_only_where_they_matter() -> None:
    plan = make_plan()
    once = run_seed(plan, entry(Grid()), 0)
    often = run_seed(plan, entry(Grid(depends_on_order=True)), 0)
    assert [len(once.reports), len(often.reports)] == [1, 3]
    assert once.reports[0]["ari"] == pytest.approx(1.0)
    assert once.choice == {"digits": 1}


@dataclass(frozen=True, kw_only=True)
class Spy(Grid):
    """Tells what it is shown, in labels that only it can have made."""

    needs_k: bool = True
    depends_on_order: bool = True
    choices: Sequence[Choice] = ({"digits": 1},)

    def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
        sets = task.required_k
        for _ in choices:
            random = np.random.default_rng(task.seed)
            yield random.integers(0, sets, len(task.terms))


def test_seeds_and_orders_both_matter_and_only_methods_that_need_k_get_it() -> None:
    plan = make_plan()
    first, second = (run_seed(plan, entry(Spy()), seed) for seed in (0, 1))
    scores = [report["ari"] for result in (first, second) for report in result.reports]
    assert len(set(scores)) == 6
    assert run_seed(plan, entry(Spy()), 1).reports == second.reports
    assert plan.task(entry(Grid()), 0, 0).k is None
    with pytest.raises(DataError, match="needs the true number of sets"):
        run_seed(plan, entry(Spy(needs_k=False)), 0)


def test_k_is_the_number_of_sets_among_the_terms_of_the_task() -> None:
    plan = make_plan()
    lost = plan.test.sets[0]
    table = plan.views.vectors[0]
    left = table.only(term for term in table.terms if term not in lost)
    partly = replace(plan, views=TermViews((left,)))
    assert partly.task(entry(Spy()), 0, 0).k == len(plan.test) - 1


def test_tuning_never_sees_a_test_term() -> None:
    plan = make_plan()
    shown: list[Term] = []

    @dataclass(frozen=True, kw_only=True)
    class Watch(Grid):
        def fit(self, data: TrainingData) -> Watch:
            shown.extend(data.training.terms)
            return self

        def cluster(self, task: ClusteringTask, choices: Sequence[Choice]) -> Iterator[Labels]:
            shown.extend(task.terms)
            return super().cluster(task, choices)

    watched = entry(Watch())
    choose(watched, plan.data(watched, 0), samples=2, expect_size=2)
    assert shown
    assert not set(shown) & set(plan.test.terms)


@dataclass(frozen=True, kw_only=True)
class Hungry(Grid):
    """Takes fifty megabytes for a moment."""

    choices: Sequence[Choice] = ({"digits": 1},)

    def fit(self, data: TrainingData) -> Hungry:
        assert np.ones(50_000_000, dtype=np.int8).sum() == 50_000_000
        return self


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_is_what_the_method_takes_whatever_the_data_took() -> None:
    plan = make_plan(seeds=1)
    rows = np.zeros((20_000, 500), dtype=np.float32)  # 40 MB, twice while it is handed over
    wide = TermVectors(tuple(Term(f"other {n}") for n in range(len(rows))), rows)
    large = replace(plan, views=TermViews((plan.views.vectors[0], wide)))
    for chosen in (plan, large):
        results = compare(chosen, [entry(Hungry(), "hungry"), entry(Grid())])
        taken = results["hungry"][0].memory
        assert taken is not None
        assert 45e6 < taken < 80e6


def test_terms_without_a_vector_stand_alone_and_are_counted() -> None:
    plan = make_plan()
    lost = plan.test.sets[0][0]
    table = plan.views.vectors[0]
    kept = tuple(term for term in table.terms if term != lost)
    partly = replace(plan, views=TermViews((TermVectors(kept, table.select(kept)),)))
    result = run_seed(partly, entry(Grid()), 0)
    alone = [m for m in [tuple(t for t in s if t != lost) for s in plan.test] if m]
    wanted = evaluate(SynonymSets.of([*alone, [lost]]), plan.test)
    assert result.reports[0]["ari"] == pytest.approx(wanted.ari)
    assert result.without_view == 1


def test_processes_give_the_same_and_a_broken_comparison_goes_on(tmp_path: Path) -> None:
    plan = make_plan()
    entries = [entry(Grid()), entry(Grid(depends_on_order=True), "other")]
    first = compare(plan, entries[:1], out=tmp_path)
    written = {p: p.stat().st_mtime_ns for p in (tmp_path / "seeds").iterdir()}
    assert len(written) == 2
    seen: list[tuple[int, int, str]] = []
    both = compare(
        plan, entries, out=tmp_path, workers=2, progress=lambda *state: seen.append(state)
    )
    assert seen[0] == (2, 4, "")
    assert seen[-1] == (4, 4, "other")
    assert both["grid"] == first["grid"]
    assert all(path.stat().st_mtime_ns == when for path, when in written.items())
    assert both["other"][1].reports == run_seed(plan, entries[1], 1).reports


def test_results_of_another_plan_are_not_mixed_in(tmp_path: Path) -> None:
    compare(make_plan(seeds=1), [entry(Grid())], out=tmp_path)
    other = entry(Grid(choices=({"digits": 1}, {"digits": 2})))
    for plan, method in ((make_plan(seeds=1, orders=4), entry(Grid())), (make_plan(), other)):
        with pytest.raises(DataError, match=r"grid-0\.json: this result belongs to other data"):
            compare(plan, [method], out=tmp_path)
    (tmp_path / "seeds" / "grid-0.json").write_text('{"method": 1}')
    with pytest.raises(DataError, match=r"grid-0\.json: not a result"):
        compare(make_plan(seeds=1), [entry(Grid())], out=tmp_path)


def test_a_method_that_fails_or_dies_takes_no_other_with_it(tmp_path: Path) -> None:
    plan = make_plan(seeds=1)
    only = ({"digits": 1},)
    entries = [
        entry(Grid(failure="exit", choices=only), "dead"),
        entry(Grid(failure="not today", choices=only), "sick"),
        entry(Grid()),
    ]
    results = compare(plan, entries, out=tmp_path)
    assert results["dead"][0].failure == "its process died, perhaps for lack of memory"
    assert results["sick"][0].failure == "not today: 0"
    rows = summarise(entries, results)
    assert rows[0].name == "grid"
    assert "failed" in cells(rows[1])
    assert any("Sick failed with 1 of 1 seeds: not today: 0" in note for note in notes(rows))
    again = compare(plan, [entry(Grid(), "sick")], out=tmp_path)  # tried anew
    assert again["sick"][0].failure is None


def test_rows_are_means_over_seeds_and_orders(tmp_path: Path) -> None:
    def result(seed: int, *aris: float) -> SeedResult:
        report = dict.fromkeys(("fmi", "nmi", "pair_precision", "pair_recall", "pair_f1"), 0.5)
        reports = tuple({"ari": ari, **report} for ari in aris)
        choice = {"digits": seed}
        return SeedResult(
            method="grid", seed=seed, digest="", reports=reports, choice=choice, tuned_score=0.1
        )

    told = entry(Grid(needs_k=True))
    rows = summarise([told], {"grid": [result(0, 0.2, 0.4), result(1, 0.6)]})
    assert rows[0].scores["ari"] == pytest.approx((40.0, np.std([20, 40, 60])))
    assert rows[0].choices == {"digits 0": 1, "digits 1": 1}
    assert cells(rows[0])[:2] == ["Grid*", "40.00 ± 16.33"]
    assert notes(rows) == ["* is given the true number of sets."]
    write_comparison(tmp_path, make_plan(), rows)
    page = (tmp_path / "comparison.md").read_text()
    assert "| Grid* | 40.00 ± 16.33 |" in page
    assert "digits 0 (1), digits 1 (1)" in page
    ET.fromstring((tmp_path / "comparison.svg").read_text())
    found = json.loads((tmp_path / "comparison.json").read_text())
    assert found["methods"][0]["scores"]["ari"][0] == pytest.approx(40.0)


def test_a_term_in_training_and_test_is_an_error() -> None:
    sets, vectors = tenths()
    with pytest.raises(DataError, match="also in a training set: '0-0'"):
        ComparisonPlan(training=sets, test=sets, views=TermViews((vectors,)))


def test_methods_are_chosen_by_name_and_group() -> None:
    known = methods()
    assert [e.name for e in select(["louvain", "kmeans"], known)] == ["kmeans", "louvain"]
    assert select(["all"], known) == list(known.values())
    assert {e.origin for e in select(["paper", "ours"], known)} == {"paper", "ours"}
    with pytest.raises(DataError, match=r"no such method; expected synsetmine, .*: 'louvian'"):
        select(["louvian"], known)


@pytest.mark.slow
def test_every_method_finds_an_easy_world() -> None:
    sets, vectors = make_world(entities=60, dimension=10, noise=0.05, seed=4)
    words = {t.sense: hashlib.sha256(t.sense.encode()).hexdigest()[:12] for t in sets.terms}
    renamed = {t: Term(f"{words[t.sense]} {t.surface[4]}", t.sense) for t in sets.terms}
    sets = SynonymSets.of([[renamed[t] for t in members] for members in sets])
    table = TermVectors(tuple(renamed[t] for t in vectors.terms), vectors.matrix)
    training, test = sets.split(0.4, seed=0)
    plan = ComparisonPlan(
        training=training,
        test=test,
        views=TermViews((table,), table),
        seeds=1,
        orders=1,
        samples=1,
    )
    weak = {"svm-linear", "svm-rbf"}
    for name, method in methods().items():
        if name not in ("synsetmine", "l2c"):  # these train long; their own tests do it
            ari = run_seed(plan, method, 0).reports[0]["ari"]
            assert ari > (0.3 if name in weak else 0.7), (name, ari)


@pytest.mark.slow
def test_no_method_reads_the_senses() -> None:
    """In the paper's files the sense is the label."""
    sets, vectors = make_world(entities=30, dimension=6, noise=0.3, seed=5)
    training, test = sets.split(0.4, seed=0)
    rows = dict(zip(vectors.terms, vectors.matrix, strict=True))
    found = []
    for kind in ("true", "none", "wrong"):
        named = _renamed(sets, kind)
        terms = tuple(named[term] for term in vectors.terms)
        table = TermVectors(terms, np.array([rows[t] for t in vectors.terms]))
        plan = ComparisonPlan(
            training=SynonymSets.of([[named[t] for t in members] for members in training]),
            test=SynonymSets.of([[named[t] for t in members] for members in test]),
            views=TermViews((table,), table),
            seeds=1,
            orders=1,
            samples=1,
        )
        found.append(
            {
                name: run_seed(plan, method, 0).reports
                for name, method in methods().items()
                if name not in ("synsetmine", "l2c")  # their own tests see to it
            }
        )
    assert found[0] == found[1] == found[2]


def _renamed(sets: SynonymSets, kind: str) -> dict[Term, Term]:
    terms = sets.terms
    if kind == "true":
        return {t: t for t in terms}
    if kind == "none":
        return {t: Term(t.surface) for t in terms}
    return {t: Term(t.surface, terms[-1 - n].sense) for n, t in enumerate(terms)}
