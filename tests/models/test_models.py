"""What all models share: the interface, presets and kinds, folders of earlier versions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fuzz.runs import general_model
from synsetmine.errors import DataError, ModelError
from synsetmine.models import (
    SetModel,
    StoredModel,
    generate_sets,
    load_model,
    preset_names,
    probabilities,
    save_model,
    settings_of,
)
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.task import Outcome, Task
from synsetmine.types import SynonymSets, Term, order_terms
from synsetmine.views import TermVectors, TermViews, View
from tests.support.viewworlds import name_world
from tests.support.worlds import make_world

TERMS = tuple(Term(f"t{i}") for i in range(12))
MATRIX = np.random.default_rng(3).normal(size=(12, 2)).astype(np.float32)
VIEWS = TermViews((TermVectors(TERMS, MATRIX),))


def paper_model() -> SetModel:
    return SetScorer(dimension=2, embed_sizes=(8,), post_sizes=(8,), seed=1)


MODELS: dict[str, Callable[[], SetModel]] = {"paper": paper_model, "general": general_model}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> SetModel:
    return MODELS[request.param]()


def test_a_prepared_model_answers_as_the_functions_do(model: SetModel) -> None:
    prepared = model.prepare(TERMS, VIEWS)
    assert set(prepared.terms) == set(TERMS)
    expected = probabilities(model, VIEWS, TERMS[:2], TERMS)
    assert prepared.probabilities(TERMS[:2], TERMS) == pytest.approx(expected, abs=1e-5)
    best = prepared.rank(TERMS[:2], top=3)
    assert len(best) == 3
    assert not {term for term, _ in best} & set(TERMS[:2])
    assert prepared.generate() == generate_sets(model, VIEWS, TERMS)


def test_a_vocabulary_is_prepared_once_for_all_orders(model: SetModel) -> None:
    prepared = model.prepare(TERMS, VIEWS)
    for seed in range(3):
        order = order_terms(TERMS, "random", seed=seed)
        assert prepared.generate(order=order) == generate_sets(model, VIEWS, order)


def test_what_a_model_is_survives_storage(model: SetModel, tmp_path: Path) -> None:
    save_model(tmp_path, StoredModel(model, 0.4, {"seed": 1}))
    loaded = load_model(tmp_path)
    assert (loaded.kind, loaded.views) == (model.kind, model.views)
    assert json.loads((tmp_path / "config.json").read_text())["scorer"]["kind"] == model.kind
    assert generate_sets(loaded, VIEWS, TERMS) == generate_sets(model, VIEWS, TERMS)
    assert loaded.known([*TERMS, Term("new")], VIEWS) == model.known([*TERMS, Term("new")], VIEWS)


def test_tuned_vectors_replace_those_of_the_table() -> None:
    tuned = TermVectors(TERMS[:6], -MATRIX[:6])
    stored = StoredModel(paper_model(), 0.5, {}, tuned)
    replaced = TermVectors(TERMS, np.concatenate([-MATRIX[:6], MATRIX[6:]]))
    expected = generate_sets(paper_model(), replaced, TERMS)
    assert generate_sets(stored, VIEWS, TERMS) == expected


def test_a_config_without_a_kind_is_of_the_papers_model(tmp_path: Path) -> None:
    save_model(tmp_path, StoredModel(paper_model(), 0.5, {}))
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    del config["scorer"]["kind"]
    path.write_text(json.dumps(config))
    assert load_model(tmp_path).kind == "paper"
    config["scorer"]["kind"] = "other"
    path.write_text(json.dumps(config))
    with pytest.raises(ModelError, match="no such kind of model: 'other'; expected one of general"):
        load_model(tmp_path)


@pytest.mark.parametrize("preset", preset_names())
def test_a_preset_trains_a_model_that_mines(preset: str) -> None:
    """All presets take the same call; what differs is in their settings."""
    settings = settings_of(preset)
    assert settings.with_changes(settings.to_dict()) == settings
    if "epochs" in settings.to_dict():
        changes = {"epochs": 2, "validate_every": 1, "architecture": "both-8-8"}
        settings = settings.with_changes(changes)
    sets, views = name_world(30)
    steps: list[tuple[int, int]] = []
    result = settings.train(sets, views, on_step=lambda step: steps.append((step.done, step.total)))
    assert steps[-1][0] <= steps[-1][1]
    assert result.notes
    assert result.model.threshold == settings.threshold
    assert set(generate_sets(result.model, views, sets.terms).sets.terms) == set(sets.terms)


def test_without_sets_to_hold_out_the_model_is_chosen_on_all() -> None:
    sets, vectors = make_world(entities=6, dimension=4)
    for preset in ("general", "paper"):
        settings = settings_of(preset)
        if "epochs" in settings.to_dict():
            settings = settings.with_changes({"epochs": 2, "validate_every": 2})
        views = TermViews((vectors,), strings=False)
        model = settings.train(sets, views, hold_out=False).model
        assert model.views == ("vectors",)
        assert len(generate_sets(model, views, sets.terms).sets.terms) == len(sets.terms)


def test_wrong_settings_and_inputs_are_named() -> None:
    with pytest.raises(DataError, match=r"no such preset: 'x'; expected one of general, paper"):
        settings_of("x")
    with pytest.raises(DataError, match=r"no such setting: 'x'; expected one of seed, threshold"):
        settings_of("general").with_changes({"x": 1})
    paper = settings_of("paper")
    for inputs, message in (
        ({"tables": 2}, "needs one --vectors table; got: 2"),
        ({"tables": 1, "encoder": True}, "takes no encoder"),
    ):
        with pytest.raises(DataError, match=message):
            paper.check_inputs(**inputs)  # type: ignore[arg-type]
    sets, vectors = make_world()
    views = TermViews((vectors,), strings=False)
    with pytest.raises(DataError, match="strategy 'mixture' needs the terms' surfaces"):
        paper.with_changes({"strategy": "mixture"}).train(sets, views)
    with pytest.raises(DataError, match="the model needs one table of vectors; got 0"):
        paper_model().prepare(TERMS, TermViews())


def test_views_can_be_restricted() -> None:
    every = TermViews(VIEWS.vectors, VIEWS.vectors[0])
    choices: list[tuple[View, ...]] = [(), ("vectors",), ("strings", "encoder")]
    for chosen in choices:
        views = every.only(chosen)
        every_view: list[View] = ["vectors", "strings", "encoder"]
        assert {view for view in every_view if views.has(view)} == set(chosen)


def test_a_task_numbers_new_terms_first_and_gives_ids_that_are_free() -> None:
    a, b, c, d, unknown = map(Term, "abcdu")
    seeds = SynonymSets.of([[c], [unknown, d]], ["s0", "E"])
    pairs = [(a, unknown), (unknown, a), (a, a), (b, Term("nowhere"))]
    new = [a, c, Term("x"), b, a]
    task = Task.of(new, {a, b, c, d}, seeds=seeds, cannot_link=pairs, max_sets=3)
    assert task.vocabulary == (a, Term("x"), b)
    assert task.terms == (a, b, c, d)
    assert (task.count, task.seeds, task.max_sets) == (2, [[2], [3]], 3)
    assert task.cannot_link == ((0, 3),)  # d stands for the term that is not judged
    mined = task.collect(Outcome([[2, 0], [3], [1]], [(0, 3.0, "joined"), (-1, 0.0, "opened")]))
    assert mined.sets == SynonymSets.of(
        [[c, a], [unknown, d], [b], [Term("x")]], ["s0", "E", "s1", "s2"]
    )
    assert mined.without_vector == (Term("x"),)
    assert [decision.action for decision in mined.trace] == ["joined", "no vector", "opened"]


def test_the_interface_and_settings_load_without_torch() -> None:
    code = (
        "import sys, synsetmine.models, synsetmine.estimator, synsetmine.pipeline.settings; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
