"""What a Python shell passes and sees: strings for terms, short reprs, frames, progress, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import synsetmine
from synsetmine import (
    DataError,
    Entity,
    KnowledgeBase,
    Link,
    StoredModel,
    SynonymSets,
    Term,
    TermVectors,
    TermViews,
    TrainingSettings,
    evaluate,
    generate_sets,
    group,
    order_terms,
    probabilities,
    rank,
    read_sets,
    settings_of,
    split_entities,
    supervise,
    train_scorer,
    write_sets,
)
from synsetmine.models.general import load_general
from synsetmine.notebook import open_progress
from synsetmine.types import pairs_of, terms_of
from tests.models.paper.test_classifier import make_scorer

NAMES = ["IBM", "I.B.M.", "International Business Machines", "Apple||fruit", "apple"]
TERMS = [Term("IBM"), Term("I.B.M."), Term("International Business Machines")]
TERMS += [Term("Apple", "fruit"), Term("apple")]
VECTORS = TermVectors.of(NAMES, np.random.default_rng(0).normal(size=(5, 3)))
SETS = SynonymSets.of([NAMES[:3], NAMES[3:]])
GENERAL = StoredModel(load_general(), 0.3, {})
S: Any = synsetmine  # wrong types on purpose
TABLE = pd.DataFrame({"name": NAMES})
PLAN = synsetmine.Plan(())
COLLECTIONS: list[Callable[[list[str]], Iterable[Any]]] = [
    *(list, tuple, iter, np.array, pd.Series, pl.Series, lambda names: map(Term.parse, names)),
]


@pytest.mark.parametrize("collect", COLLECTIONS)
def test_terms_may_be_strings_of_any_collection(
    collect: Callable[[list[str]], Iterable[Any]],
) -> None:
    def names() -> Iterable[Any]:
        return collect(NAMES)

    assert terms_of(names()) == TERMS
    assert {type(term.surface) for term in terms_of(names())} == {str}
    assert order_terms(names()) == TERMS
    assert SynonymSets.of([names()]) == SynonymSets.of([TERMS])
    assert SETS.labels(names()) == SETS.labels(TERMS)
    assert SETS.restrict(names()) == SETS
    assert VECTORS.rows(names()).tolist() == [0, 1, 2, 3, 4]
    assert VECTORS.only(names()).terms == tuple(TERMS)
    assert generate_sets(GENERAL, VECTORS, names()).sets == (
        generate_sets(GENERAL, TermViews((VECTORS,)), TERMS).sets
    )


@pytest.mark.parametrize("model", [GENERAL, make_scorer()])
def test_questions_to_a_model_may_be_strings(model: Any) -> None:
    ones, others = NAMES[:1], NAMES[1:]
    expected = probabilities(model, VECTORS, TERMS[:1], TERMS[1:])
    assert probabilities(model, VECTORS, ones, others) == expected
    assert rank(model, VECTORS, ones, others) == rank(model, VECTORS, TERMS[:1], TERMS[1:])
    prepared = model.prepare(NAMES, VECTORS)
    assert set(prepared.terms) == set(TERMS)
    assert prepared.probabilities(ones, others) == expected
    assert prepared.rank(ones, top=1) == prepared.rank(TERMS[:1], top=1)
    told = generate_sets(
        model, VECTORS, TERMS, seeds=SETS.pick([1]), cannot_link=[(TERMS[0], TERMS[1])]
    )
    seeds, never = {SETS.ids[1]: NAMES[3:]}, [(NAMES[0], NAMES[1])]
    assert generate_sets(model, VECTORS, NAMES, seeds=seeds, cannot_link=never) == told
    mined = prepared.generate(seeds=seeds, cannot_link=never, order=NAMES)
    assert mined.sets.set_of("apple")[:2] == tuple(TERMS[3:])


def test_single_terms_may_be_strings() -> None:
    assert "Apple||fruit" in SETS
    assert "Apple" not in SETS
    assert "" not in SETS
    assert "IBM" in VECTORS
    assert SETS.set_of("apple") == tuple(TERMS[3:])
    assert SETS.label_of("apple") == 1
    assert VECTORS.missing(["IBM", "none"]) == [Term("none")]
    assert order_terms(["a", "b"], "frequent", counts={"b": 2})[0] == Term("b")
    assert pairs_of([("a", "b")]) == [(Term("a"), Term("b"))]


def test_sets_may_be_lists_mappings_and_results(tmp_path: Any) -> None:
    mined = generate_sets(GENERAL, TermViews(), NAMES)
    for sets in ([NAMES[:3], NAMES[3:]], {"c0": NAMES[:3], "c1": pd.Series(NAMES[3:])}, SETS):
        assert SynonymSets.of(sets) == SETS
        assert evaluate(sets, SETS) == evaluate(SETS, sets)
        assert evaluate(sets, SETS, known=[["other"]]).ari == 1
        write_sets(str(tmp_path / "sets.jsonl"), sets)
        assert read_sets(str(tmp_path / "sets.jsonl")) == SETS
    assert SynonymSets.of(mined) is mined.sets
    assert evaluate(mined, SETS) == evaluate(mined.sets, SETS)
    many = [[f"a{i}", f"b{i}"] for i in range(12)]
    assert split_entities(many, 0.3, seed=0) == split_entities(SynonymSets.of(many), 0.3, seed=0)
    few = settings_of("general").train([NAMES[:3], NAMES[3:]], VECTORS, hold_out=False)
    assert few.model.kind == "general"
    table = TermVectors.of([n for s in many for n in s], np.eye(24))
    settings = settings_of("paper").with_changes({"epochs": 1})
    assert isinstance(settings, TrainingSettings)
    assert train_scorer(many, table, settings).best_epoch == 1


def test_a_grouping_is_sets_too() -> None:
    grouping = group([*NAMES[:3], *["Paris"] * 3], types=[*[""] * 3, "c", "c", "p"])
    sets = grouping.synonym_sets
    assert sets.ids == tuple(one.id for one in grouping.every_set)
    assert {t.surface for t in sets.terms} == {*NAMES[:3], "Paris"}
    assert len([term for term in sets.terms if term.surface == "Paris"]) == 2
    assert evaluate(grouping, [NAMES[:3]]).pair_f1 == 1


def test_links_may_be_tuples() -> None:
    kb = KnowledgeBase.of([Entity("Q1", "IBM", ("I.B.M.",))])
    rows = [("IBM", "Q1", 9), ("I.B.M.", "Q1", 9)]
    assert supervise(rows, kb) == supervise([Link(*row) for row in rows], kb)


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: S.Term(1), "must be strings"),
    (lambda: S.SynonymSets([["a"]]), "1 sets but 0 ids; SynonymSets.of makes ids"),
    (lambda: S.SynonymSets((("a",),), ("x",)), "SynonymSets.of takes strings"),
    (
        lambda: S.SynonymSets.of(["ab", "c"]),
        "several terms, such as a list of strings: 'ab'",
    ),
    (lambda: S.SynonymSets.of("sets.jsonl"), r"read_sets\(path\) reads a file: 'sets.jsonl'"),
    (lambda: S.SynonymSets.of([["a", None]]), r"a term or a string \(item 1\): 'None'"),
    (lambda: SETS.labels("apple"), "expected several terms"),
    (
        lambda: S.order_terms(pd.DataFrame({"name": ["a"]})),
        r"one column, not a table",
    ),
    (lambda: S.TermVectors(["a"], [[1.0]]), r"TermVectors.of\(terms, matrix\) converts"),
    (lambda: S.TermVectors(("a",), np.eye(1, dtype=np.float32)), "TermVectors.of"),
    (lambda: S.TermVectors.of(["a"], [["x"]]), "vectors must be numbers"),
    (lambda: S.TermViews("v.vec"), r"read_vectors\(path\) reads a file"),
    (lambda: S.generate_sets("model", VECTORS, NAMES), r"load_model\(folder\) reads one: 'model'"),
    (lambda: S.generate_sets(GENERAL, "v.vec", NAMES), r"read_vectors\(path\)"),
    (lambda: S.generate_sets(GENERAL, VECTORS, "IBM"), "expected several terms"),
    (
        lambda: S.generate_sets(GENERAL, VECTORS, NAMES, cannot_link=["ab"]),
        "expected pairs of terms",
    ),
    (lambda: S.probabilities(GENERAL, VECTORS, "IBM", NAMES), "expected several terms"),
    (lambda: S.rank(GENERAL, VECTORS, ["IBM"], "IBM"), "expected several terms"),
    (lambda: S.save_model("m", GENERAL.model), "expected a StoredModel"),
    (lambda: S.train_scorer([["a", "b"]], VECTORS, "paper"), r"such as PRESETS\['paper'\]"),
    (lambda: S.supervise(["IBM"], S.KnowledgeBase.of([])), r"Link\(surface, entity, count\)"),
    (lambda: S.supervise([], "kb.jsonl"), r"read_kb\(path\) reads one: 'kb.jsonl'"),
    (lambda: S.KnowledgeBase.of([("Q1", "IBM")]), r"Entity\(id, name, names\)"),
    (lambda: S.group(NAMES, model="model"), "None is the general model: 'model'"),
    (lambda: S.group(NAMES, progress="yes"), "progress must be True, False, or a function"),
    (lambda: S.group(NAMES, known="none.jsonl"), "none.jsonl: No such file"),
    (lambda: S.group(NAMES, never="none.csv"), "none.csv: No such file"),
    (
        lambda: S.group(NAMES, contexts=dict.fromkeys(NAMES, "a firm")),
        r"pass \[contexts.get\(name\) for name in names\]",
    ),
    (lambda: S.group(NAMES, types={*NAMES}), "names and types as lists in one order"),
    (lambda: S.group({*NAMES}, types=NAMES), "names and types as lists in one order"),
    (lambda: S.group(NAMES, contexts=[b"a"] * 5), "a string or a list of strings .item 0.: b'a'"),
    (lambda: S.group(NAMES, contexts=[{"a": "b"}] * 5), "must be a string or a list of strings"),
    (lambda: S.group(NAMES, judge={"url": "x"}), "the address of a judge, or JudgeSettings"),
    (lambda: S.explain("IBM", "GM", types="firm"), "expected two types, one for each name: 'firm'"),
    (lambda: S.explain("IBM", "GM", model="model"), "None is the general model: 'model'"),
    (lambda: S.group(NAMES).plan(ids="id"), "expected ids as a list, one for each row: 'id'"),
    (
        lambda: S.apply_plan(S.group(NAMES), TABLE),
        "as `Grouping.plan` makes it, or its path: 'Grouping'",
    ),
    (lambda: S.undo_plan([], TABLE), "as `Grouping.plan` makes it, or its path: 'list'"),
    (lambda: S.apply_plan(PLAN, TABLE, columns={"name": "a"}), "expected GraphColumns: {"),
    (lambda: S.apply_plan(PLAN, "e.csv"), "`synsetmine apply-plan` reads files: 'str'"),
    (lambda: S.apply_plan(PLAN, pl.LazyFrame({"name": NAMES})), r"pass .collect\(\)"),
    (lambda: S.undo_plan(PLAN), "expected a table of entities, of relations, or both"),
    (lambda: S.GraphColumns(sum="degree"), "sum must be a list of columns: 'degree'"),
    (lambda: S.GraphColumns(refer_to="row"), "refer_to must be one of name, id: 'row'"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_an_error_says_what_to_pass_instead(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_reprs_fit_on_a_line() -> None:
    scorer = make_scorer()
    big = SynonymSets.of([[f"name {i}", f"other name {i}"] for i in range(1000)])
    mined = generate_sets(GENERAL, TermViews(), NAMES)
    kb = KnowledgeBase.of([Entity("Q1", "IBM", ("I.B.M.",))])
    shown = {
        "SynonymSets(1,000 sets with 2,000 terms: {name 0, other name 0}, {name 1, other name 1}, "
        "{name 2, other name 2}, …)": big,
        "SynonymSets(0 sets with 0 terms)": SynonymSets.of([]),
        "Term('a')": Term("a"),
        "Term('a', 'b')": Term("a", "b"),
        "MiningResult(5 terms: 2 sets of several; 0 alone)": mined,
        "StoredModel('general', threshold=0.30, views: strings)": GENERAL,
        "GeneralModel(views: strings)": GENERAL.model,
        "PreparedNames(5 terms)": GENERAL.prepare(NAMES, TermViews()),
        "TermVectors(5 terms, 3 dimensions)": VECTORS,
        "TermViews(TermVectors(5 terms, 3 dimensions), strings)": TermViews.of(VECTORS),
        "KnowledgeBase(1 entity, 2 names)": kb,
        "SetScorer(dimension=3, embed_sizes=(4, 6), post_sizes=(8, 6))": scorer,
        "ClusterReport(ari=1.000, fmi=1.000, pair_f1=1.000, terms=5, …)": evaluate(SETS, SETS),
        "Member('a', count=1)": group(["a"]).alone[0],
        "Plan(1 merge)": group(["IBM", "I.B.M."]).plan(),
        "Registry(1 entity, 1 cannot-link pair)": synsetmine.Registry().grown(
            group(["a"]), never=[("a", "b")]
        ),
    }
    for text, value in shown.items():
        assert repr(value) == text
    for value in (supervise([("IBM", "Q1", 9)], kb), settings_of("general").train(SETS, VECTORS)):
        assert len(repr(value)) < 200
        assert "\n" not in repr(value)


def test_sets_as_frames() -> None:
    for library in ("pandas", "polars"):
        frame = SETS.to_frame(library)
        assert list(frame["set_id"]) == ["c0"] * 3 + ["c1"] * 2
        assert list(frame["term"]) == [*NAMES[:3], "Apple", "apple"]
        assert list(frame["sense"]) == ["", "", "", "fruit", ""]
    mined = generate_sets(GENERAL, TermViews(), NAMES[:4], seeds=[["apple"]])
    frame = mined.to_frame().set_index("term")
    assert pd.isna(frame["probability"]["apple"])
    decisions = {decision.term.surface: decision for decision in mined.trace}
    assert {name: frame["probability"][name] for name in decisions} == {
        name: decision.probability for name, decision in decisions.items()
    }
    assert frame["action"]["IBM"] == decisions["IBM"].action
    with pytest.raises(DataError, match="'pandas' or 'polars': 'arrow'"):
        S.SynonymSets.to_frame(SETS, "arrow")


def test_notebooks_show_the_first_sets_escaped() -> None:
    sets = SynonymSets.of([["<script>", f"n{i}"] if not i else [f"n{i}"] for i in range(30)])
    html = sets._repr_html_()
    assert "&lt;script&gt;, n0" in html
    assert "<script>" not in html
    assert html.count("<tr>") == 21
    assert "… and 10 more" in html
    assert generate_sets(GENERAL, TermViews(), NAMES)._repr_html_().startswith("<table>")
    shown = group([*NAMES[:3], "<b>IBM</b>"])._repr_html_()
    assert "International Business Machines" in shown
    assert "<b>" not in shown


def test_progress_is_a_function_or_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[int, int]] = []
    group(NAMES, progress=lambda done, total: calls.append((done, total)))
    assert calls
    assert calls[-1][0] == calls[-1][1]
    calls.clear()
    generate_sets(GENERAL, TermViews(), NAMES, progress=lambda *call: calls.append(call))
    assert calls
    assert capsys.readouterr() == ("", "")
    group(NAMES, progress=False)
    assert capsys.readouterr() == ("", "")
    group(NAMES, progress=True)
    printed = capsys.readouterr()
    assert "grouping" in printed.err
    assert printed.out == ""
    with open_progress(None, "label") as report:
        assert report is None


def test_the_estimator_takes_progress_and_a_series_of_surfaces() -> None:
    calls: list[tuple[int, int]] = []

    def report(done: int, total: int) -> None:
        calls.append((done, total))

    miner = synsetmine.SynSetMiner(progress=report)
    assert miner.fit_predict(NAMES[:3]).tolist() == [0, 0, 0]
    assert calls
    X, y = np.random.default_rng(0).normal(size=(6, 3)), [0, 0, 0, 1, 1, 1]
    surfaces = pd.Series([*NAMES[:3], "heart attack", "heart attacks", "attack, heart"])
    surfaces.index = surfaces.index + 5
    assert miner.fit(X, y, surfaces=surfaces).labels_.shape == (6,)
    with pytest.raises(ValueError, match="pass the names as surfaces="):
        miner.fit(list(surfaces), y)
    with pytest.raises(ValueError, match=r"one is missing \(item 1\)"):
        miner.fit(X, y, surfaces=["a", "", *"bcde"])
    with pytest.raises(ValueError, match="expected several names, not one string"):
        miner.fit_predict("IBM")
