"""The experiment with hidden names: its parts against naive computations, and the whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from experiments.hidden_names.__main__ import main
from experiments.hidden_names.hiding import (
    ALTOGETHER,
    HiddenName,
    half_of,
    has_other_meaning,
    hide,
    left_names,
    name_group,
    stem_bag,
    write_reduced,
)
from experiments.hidden_names.measurement import PHRASES, MethodAnswers
from experiments.hidden_names.ncbi_disease import Point, points, score
from experiments.hidden_names.ontologies import write_ontology
from experiments.hidden_names.page import write
from experiments.hidden_names.ranking import Answer, Ranking, joined_share
from experiments.hidden_names.rivals import fuzzy_stems, same_stems
from synsetmine.io.sets import write_sets
from synsetmine.kb import Entity, KnowledgeBase, read_kb
from synsetmine.types import SynonymSets, Term
from tests.support.worlds import write_text_world

KNOWN = SynonymSets.of(
    [
        [Term("heart failure"), Term("cardiac failure")],
        [Term("heart attack"), Term("myocardial infarction")],
        [Term("failure of hearts"), Term("asystole")],
    ],
    ["D1", "D2", "D3"],
)


def base(names: int = 6, entities: int = 200) -> KnowledgeBase:
    return KnowledgeBase.of(
        Entity(f"E{i}", f"name {i}", (*(f"name {i} no {j}" for j in range(names - 1)), "shared"))
        for i in range(entities)
    )


def test_preferred_and_ambiguous_names_are_not_hidden() -> None:
    kb = base()
    hidden = hide(kb)
    assert all(kb.name(entity) not in names for entity, names in hidden.items())
    assert all("shared" not in names for names in hidden.values())
    share = sum(map(len, hidden.values())) / (5 * len(kb))
    assert 0.25 < share < 0.35


def test_entities_of_two_names_keep_both() -> None:
    assert hide(KnowledgeBase.of(Entity(f"E{i}", f"a {i}", (f"b {i}",)) for i in range(200))) == {}


def test_other_entities_do_not_change_what_is_hidden() -> None:
    few, many = hide(base(entities=50)), hide(base(entities=100))
    assert few == {entity: names for entity, names in many.items() if int(entity[1:]) < 50}


def test_reduced_knowledge_base_has_all_other_names(tmp_path: Path) -> None:
    kb = base()
    hidden = hide(kb)
    write_reduced(tmp_path / "reduced.jsonl", kb, hidden)
    reduced = read_kb(tmp_path / "reduced.jsonl")
    assert list(reduced) == list(kb)
    for entity in kb:
        assert reduced.name(entity) == kb.name(entity)
        assert reduced.names(entity) == left_names(kb, hidden, entity)
        assert {*reduced.names(entity), *hidden.get(entity, ())} == {*kb.names(entity)}


def test_an_ontology_is_a_knowledge_base(tmp_path: Path) -> None:
    path = tmp_path / "cl.jsonl.gz"
    write_ontology(path, {"CL:1": ["eosinophil", "eosinocyte", "eosinophil"], "CL:2": []})
    kb = read_kb(path)
    assert {entity: kb.names(entity) for entity in kb} == {"CL:1": ("eosinophil", "eosinocyte")}


def test_halves_are_of_about_one_size() -> None:
    count = sum(half_of(f"D{number:06}") == "develop" for number in range(2000))
    assert 900 < count < 1100


def test_groups_of_names() -> None:
    others = ["Heart Failure", "Failure, Heart"]
    assert name_group("heart failures", others) == "inflection"
    assert name_group("HF", others) == "abbreviation"
    assert name_group("failing of the heart", others) == "other-words"
    assert name_group("cardiac insufficiency", others) == ALTOGETHER


def test_abbreviation_that_the_corpus_defines_otherwise() -> None:
    names = ["polyarteritis nodosa", "PAN", "panarteritis"]
    assert has_other_meaning("PAN", names, ["polyacrylonitrile"])
    assert not has_other_meaning("PAN", names, ["polyacrylonitrile", "polyarteritis, nodose"])
    assert not has_other_meaning("PAN", names, [])


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    rows = draw(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.4, 0.6, 1.0]), st.booleans())))
    names = [HiddenName(f"n{i}", f"E{i}", "spelling", True, True) for i in range(len(rows))]
    answers = {
        f"n{i}": Answer(f"E{i}" if right else "other", value)
        for i, (value, right) in enumerate(rows)
        if value
    }
    return Ranking(names, answers)


@given(rankings(), st.sampled_from([0.5, 0.8, 0.9, 1.0]))
def test_level_of_a_precision_against_all_cuts(ranking: Ranking, precision: float) -> None:
    answers = [(name, ranking.answers.get(name.form)) for name in ranking.names]
    recalls = []
    for cut in (0.1, 0.4, 0.6, 1.0):
        chosen = [(name, answer) for name, answer in answers if answer and answer.score >= cut]
        right = sum(answer.entity == name.entity for name, answer in chosen)
        if chosen and right / len(chosen) >= precision:
            recalls.append(right / len(answers))
    level = ranking.with_precision(precision)
    assert (level is None) == (not recalls)
    if level is not None:
        assert level.recall == max(recalls)
        assert level.precision >= precision


@given(rankings())
def test_wrong_share_and_level_add_up(ranking: Ranking) -> None:
    level = ranking.at(0.4)
    wrong = ranking.wrong_share(0.4) * len(ranking.names)
    assert level.right + wrong == pytest.approx(level.assigned)
    forms = [name.form for name in ranking.names]
    assert joined_share(forms, ranking.answers, 0.4) * len(forms) == pytest.approx(level.assigned)


def test_a_second_knowledge_base_is_weighted_by_the_kinds_of_the_first(tmp_path: Path) -> None:
    def measured(kinds: dict[str, tuple[int, int]]) -> MethodAnswers:
        """All names of a kind, and how many of them have an answer, which is right."""
        names = [
            HiddenName(f"{kind} {i}", f"{kind} {i}", kind, True, True)
            for kind, (count, _) in kinds.items()
            for i in range(count)
        ]
        answers = {
            f"{kind} {i}".replace("-", " "): Answer(f"{kind} {i}", 0.9)
            for kind, (_, right) in kinds.items()
            for i in range(right)
        }
        return MethodAnswers("ours", answers, names, {PHRASES: []}, is_probability=True)

    first = measured({"inflection": (8, 8), "spelling": (1, 1), "other-words": (1, 0)})
    second = measured({"inflection": (2, 1), "other-words": (6, 3)})
    page = write(
        tmp_path,
        {"one": {"report": [first]}, "two": {"report": [second]}},
        command="",
        linked=None,
    )
    assert "| two | report | 50.0 | 50.0 |" in page
    assert "| one | report | 90.0 | 90.0 |" in page
    third = measured({"inflection": (2, 2), "other-words": (6, 0)})
    page = write(
        tmp_path,
        {"one": {"report": [first]}, "two": {"report": [third]}},
        command="",
        linked=None,
    )
    assert f"| two | report | 25.0 | {100 * 8 / 9:.1f} |" in page


def test_equal_bags_of_stems() -> None:
    answers = same_stems(["Attacks, Heart", "Failure, Heart", "stroke"], KNOWN)
    assert answers == {
        "attacks heart": Answer("D2", 1.0, "heart attack"),
        "failure heart": Answer("D1", 1.0, "heart failure"),
    }
    twice = SynonymSets.of([[Term("heart failure")], [Term("heart failures")]], ["A", "B"])
    assert same_stems(["Failure, Hearts"], twice)["failure hearts"].score == 0.5


def test_nearest_bag_of_stems_against_all_pairs() -> None:
    names = ["Failures, Heart", "myocardial infarct", "asystolia", "lung"]
    answers = fuzzy_stems(names, KNOWN)
    for name, answer in zip(names, answers.values(), strict=True):
        best = max(
            fuzz.ratio(" ".join(stem_bag(name)), " ".join(stem_bag(term.surface)))
            for term in KNOWN.terms
        )
        assert answer.score == pytest.approx(best / 100, abs=1e-5)
        assert answer.entity == KNOWN.ids[KNOWN.label_of(Term(answer.nearest))]


PUBTATOR = """\
1|t|Tumours and tumor
1|a|APC.
1\t0\t7\tTumours\tDisease\tD009369
1\t12\t17\ttumor\tDisease\tMESH:D009369
1\t18\t21\tAPC\tDisease\tD011125
1\t12\t21\ttumor APC\tDisease\tD009369|D011125
1\t18\t21\tAPC\tDisease\tOMIM:175100
"""


def test_mentions_of_one_concept_and_their_score(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.PubTator"
    corpus.write_text(PUBTATOR)
    kb = KnowledgeBase.of(
        [
            Entity("D009369", "Neoplasms", ("tumor",)),
            Entity("D011125", "Adenomatous Polyposis Coli"),
        ]
    )
    mentions = list(points(corpus, kb))
    assert mentions == [
        Point("tumours", "D009369", False),
        Point("tumor", "D009369", True),
        Point("APC", "D011125", False),
    ]
    sets = SynonymSets.of([[Term("tumor"), Term("tumours")], [Term("APC")]], ["D009369", "new"])
    write_sets(tmp_path / "mined.jsonl", sets)
    figures = score(tmp_path / "mined.jsonl", mentions)
    assert figures["ARI"] == 1.0
    assert figures["of these joined to the right concept"] == 1
    apart = SynonymSets.of([[Term("tumor")], [Term("tumours"), Term("APC")]], ["D009369", "new"])
    write_sets(tmp_path / "apart.jsonl", apart)
    assert score(tmp_path / "apart.jsonl", mentions)["ARI"] < 0.5


@pytest.mark.slow
def test_page_of_a_small_world(tmp_path: Path) -> None:
    write_text_world(tmp_path, entities=1000, mentions=6)
    out = tmp_path / "out"
    places = ["--corpus", tmp_path / "corpus.jsonl", "--kb", tmp_path / "kb.jsonl"]
    places += ["--work", tmp_path / "work", "--out", out]
    main([*map(str, places), "--half", "develop", "report"])
    figures = json.loads((out / "hidden-names.json").read_text())["kb"]
    page = (out / "hidden-names.md").read_text()
    listed = (tmp_path / "work" / "kb" / "hidden.txt").read_text().splitlines()
    assert sum(half["shipped model"]["hidden names"] for half in figures.values()) == len(listed)
    assert all(half["shipped model"]["levels"][0]["right"] > 0 for half in figures.values())
    reduced = read_kb(tmp_path / "work" / "kb" / "reduced.jsonl")
    assert not any(reduced.entities_named(name) for name in listed)
    assert "## kb, half *report*" in page
    assert str(tmp_path) not in page


def test_variants_join_an_entity_with_their_stems_or_another() -> None:
    answers = {"hearts": Answer("D1", 0.9), "lungs": Answer("D1", 0.6), "brains": Answer("D2", 0.2)}
    entities = {"hearts": {"D1", "D3"}, "lungs": {"D2"}, "brains": {"D2"}, "livers": {"D4"}}
    variants = {form: frozenset(ids) for form, ids in entities.items()}
    measured = MethodAnswers("ours", answers, [], {PHRASES: []}, variants)
    assert measured.variant_share(0.5, right=True) == 0.25
    assert measured.variant_share(0.5, right=False) == 0.25
    assert measured.variant_share(0.1, right=True) == 0.5
