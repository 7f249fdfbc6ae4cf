"""Training adapts the general model: it learns from good evidence, and stays without it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from synsetmine.errors import DataError, ModelError
from synsetmine.metrics import evaluate
from synsetmine.models import StoredModel, generate_sets, load_model, save_model, settings_of
from synsetmine.models.general import GeneralModel, load_general
from synsetmine.models.general.settings import AdaptationSettings
from synsetmine.models.general.training import adapt
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermVectors, TermViews
from tests.support.viewworlds import name_world
from tests.support.worlds import make_world

SETTINGS = AdaptationSettings()
SETS, VIEWS = name_world(160, seed=4, sizes=(2, 3, 5))
TRAINING, HELD_OUT = SETS.split(0.3, seed=0)


def random_names(sets: int) -> SynonymSets:
    """Pairs of names that nothing but vectors could tell to be synonyms."""
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abdeiklmnorstu"), (sets, 2, 8))
    return SynonymSets.of([[Term("".join(name)) for name in pair] for pair in letters])


def ari(model: GeneralModel, views: TermViews, sets: SynonymSets = HELD_OUT) -> float:
    return evaluate(generate_sets(model, views, sets.terms).sets, sets).ari


@cache
def adapted_to_vectors() -> GeneralModel:
    """One model for several tests; none can change it."""
    return adapt(TRAINING, VIEWS, SETTINGS).model


def vectors_of(sets: SynonymSets, noise: float = 0.3) -> TermVectors:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(len(sets), 20))[sets.labels(sets.terms)]
    rows = rows + noise * rng.normal(size=rows.shape)
    return TermVectors(sets.terms, rows.astype(np.float32))


def same_weights(one: GeneralModel, other: GeneralModel) -> bool:
    (described, arrays), (also_described, also_arrays) = one.state(), other.state()
    return described == also_described and all(
        np.array_equal(arrays[name], also_arrays[name]) for name in arrays
    )


def test_too_few_sets_leave_the_general_model_as_it_is() -> None:
    for count in (0, 1, 9):
        adapted = adapt(TRAINING.pick(range(count)), TermViews(), SETTINGS)
        assert adapted.ridge is None
        assert same_weights(adapted.model, load_general())
    trained = settings_of().train(TRAINING.pick(range(3)), VIEWS)
    few = "too few sets: 3, at least 10 needed to adapt the general model"
    assert trained.warnings == (f"{few}; it is used unchanged",)
    assert trained.notes == ()
    assert trained.model.views == ("strings",)  # the vectors are not needed


def test_a_dozen_sets_move_it_little() -> None:
    adapted = adapt(TRAINING.pick(range(12)), TermViews(), SETTINGS).model
    assert ari(adapted, TermViews()) >= ari(load_general(), TermViews()) - 0.03


def test_a_few_noisy_sets_do_not_hurt_much() -> None:
    rng = np.random.default_rng(0)
    terms = list(TRAINING.terms)
    swapped = rng.choice(len(terms), len(terms) // 10, replace=False)
    for one, other in zip(swapped[::2], swapped[1::2], strict=False):
        terms[one], terms[other] = terms[other], terms[one]
    ends = np.cumsum(TRAINING.sizes)
    noisy = [terms[end - size : end] for end, size in zip(ends, TRAINING.sizes, strict=True)]
    adapted = adapt(SynonymSets.of(noisy), TermViews(), SETTINGS).model
    assert ari(adapted, TermViews()) >= ari(load_general(), TermViews()) - 0.05


def test_pairs_do_not_teach_that_sets_have_two_names() -> None:
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(len(members))[:2] for members in TRAINING]
    pairs = SynonymSets.of(
        [[members[i] for i in two] for members, two in zip(TRAINING, drawn, strict=True)]
    )
    adapted = adapt(pairs, TermViews(), SETTINGS).model
    assert ari(adapted, TermViews()) >= ari(load_general(), TermViews()) - 0.02


def test_an_informative_table_of_vectors_is_learned() -> None:
    sets = random_names(120)
    views = TermViews((vectors_of(sets),))
    training, held_out = sets.split(0.3, seed=0)
    adapted = adapt(training, views, SETTINGS).model
    assert adapted.views == ("vectors", "strings")
    assert ari(load_general(), TermViews(), held_out) < 0.2
    assert ari(adapted, views, held_out) > 0.8


def test_vectors_alone_are_enough() -> None:
    sets, vectors = make_world(entities=80)
    views = TermViews((vectors,), strings=False)
    training, held_out = sets.split(0.3, seed=0)
    adapted = adapt(training, views, SETTINGS).model
    assert adapted.views == ("vectors",)
    assert ari(adapted, views, held_out) > 0.7
    with pytest.raises(DataError, match=r"training needs at least 10 sets .*; got: 3"):
        settings_of().train(sets.pick(range(3)), views)


def test_a_term_without_vector_is_judged_by_its_strings() -> None:
    half = [members[0] for members in SETS if len(members) > 2]
    vectors = VIEWS.vectors[0].only(term for term in SETS.terms if term not in set(half))
    views = TermViews((vectors,))
    adapted = adapt(TRAINING, views, SETTINGS).model
    mined = generate_sets(adapted, views, HELD_OUT.terms)
    assert mined.without_vector == ()
    assert evaluate(mined.sets, HELD_OUT).ari > 0.6
    lone = [term for term in half if term in HELD_OUT]
    joined = sum(len(mined.sets.set_of(term)) > 1 for term in lone)
    assert joined > len(lone) / 2


def test_views_other_than_those_of_training_are_refused() -> None:
    adapted = adapted_to_vectors()
    with pytest.raises(DataError, match="this view, which is missing: 'vectors'"):
        adapted.prepare(HELD_OUT.terms, TermViews())
    with pytest.raises(DataError, match="trained with 1 tables of vectors; got: 2"):
        adapted.prepare(HELD_OUT.terms, TermViews(VIEWS.vectors * 2))
    narrow = TermVectors(SETS.terms, VIEWS.vectors[0].matrix[:, :3])
    with pytest.raises(DataError, match="trained on vectors of 12 dimensions, these have: 3"):
        adapted.prepare(HELD_OUT.terms, TermViews((narrow,)))


def test_storage_is_exact(tmp_path: Path) -> None:
    adapted = adapted_to_vectors()
    save_model(tmp_path, StoredModel(adapted, 0.5, {}))
    stored = load_model(tmp_path).model
    assert isinstance(stored, GeneralModel)
    assert same_weights(stored, adapted)
    assert generate_sets(stored, VIEWS, HELD_OUT.terms) == generate_sets(
        adapted, VIEWS, HELD_OUT.terms
    )


def test_an_adaptation_must_fit_the_features() -> None:
    adapted = adapted_to_vectors()
    description, arrays = adapted.state()
    cut = {
        name: array[:-1] if name.startswith("adaptation.") else array
        for name, array in arrays.items()
    }
    broken = GeneralModel.from_state(description, cut)
    with pytest.raises(ModelError, match=r"the adaptation takes \d+ features of a pair"):
        broken.prepare(HELD_OUT.terms, VIEWS)


def test_the_order_of_sets_terms_and_vocabulary_makes_no_difference() -> None:
    adapted = adapted_to_vectors()
    turned = SynonymSets.of([members[::-1] for members in reversed(TRAINING.sets)])
    assert same_weights(adapt(turned, VIEWS, SETTINGS).model, adapted)

    def decided(vocabulary: Sequence[Term]) -> tuple[object, dict[Term, float]]:
        mined = generate_sets(adapted, VIEWS, vocabulary)
        return mined.sets.partition, {d.term: d.probability for d in mined.trace}

    terms = HELD_OUT.terms
    assert decided(terms) == decided(terms[::-1])


def test_more_sets_than_are_needed_are_sampled_whole() -> None:
    few = SETTINGS.with_changes({"names": 100, "vocabulary_names": [50, 100]})
    adapted = adapt(TRAINING, TermViews(), few)
    assert adapted.pairs < adapt(TRAINING, TermViews(), SETTINGS).pairs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ridges": []}, "ridges must be"),
        ({"ridges": [1, 3]}, "ridges must be"),
        ({"folds": 1}, "folds must be at least 2"),
        ({"margin": -1.0}, "margin must be at least 0"),
        ({"vocabulary_names": [5]}, "vocabulary_names must be"),
        ({"names": 1}, "names must be at least 100"),
        ({"easy_share": 0.0}, "easy_share must be in"),
        ({"fewest_sets": 1}, "fewest_sets must be at least 2"),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        SETTINGS.with_changes(changes)


def packaged_weights(folder: Path) -> Path:
    copied = folder / "weights"
    shutil.copytree(str(resources.files("synsetmine.models.general") / "weights"), copied)
    return copied


def test_other_weights_of_the_general_model_are_taken(tmp_path: Path) -> None:
    folder = packaged_weights(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config["set_function"]["strings"]["bias"] += 1.5
    (folder / "config.json").write_text(json.dumps(config))
    few = TRAINING.pick(range(3))
    model = settings_of().with_changes({"weights": str(folder)}).train(few, TermViews()).model.model
    assert isinstance(model, GeneralModel)
    assert model.function.bias == load_general().function.bias + 1.5
    adapted = (
        settings_of()
        .with_changes({"weights": str(folder)})
        .train(TRAINING, TermViews())
        .model.model
    )
    assert isinstance(adapted, GeneralModel)
    assert adapted.function.bias == load_general().function.bias + 1.5
    default = settings_of().train(few, TermViews()).model.model
    assert isinstance(default, GeneralModel)
    assert same_weights(default, load_general())


@pytest.mark.parametrize(
    "name", ["config.json", "encoder.safetensors", "comparer-strings.safetensors"]
)
@pytest.mark.parametrize("damage", ["missing", "cut", "other"])
def test_a_folder_without_sound_weights_is_named(tmp_path: Path, name: str, damage: str) -> None:
    folder = packaged_weights(tmp_path)
    path = folder / name
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        path.write_text("{}")
    with pytest.raises(ModelError, match=f"{folder} does not hold weights of a general model"):
        load_general(folder=folder)
