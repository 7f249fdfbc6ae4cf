"""The training of the general model: its parts, and the whole on lists of a few dozen entities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.general_model.encoder import Floats, ListPairs, NameRows, info_nce, quantize
from experiments.general_model.lists import (
    Lists,
    cap,
    deal,
    forms_of,
    leave_out,
    read_lists,
    split,
)
from experiments.general_model.pair_classifier import logistic_regression
from experiments.general_model.settings import GeneralSettings
from experiments.general_model.training import ListScore, learn
from experiments.general_model.vocabularies import (
    NearNames,
    Vocabulary,
    sample_vocabulary,
    with_near_misses,
)
from experiments.name_lists import NameList, name_hash, write_name_lists
from experiments.name_lists.base import Names
from synsetmine.errors import DataError
from synsetmine.models.general import load_general
from synsetmine.models.general.features import MUTUAL_FEATURES, TABLE_FEATURES
from synsetmine.types import Term
from synsetmine.views import TermViews, unit_rows
from synsetmine.views.strings import StaticEncoder, word_rows

PLACES = ("lima", "oslo", "cairo", "delhi", "quito", "tunis", "sofia", "hanoi", "accra", "dakar")
KINDS = ("university", "airport", "harbour", "museum", "orchestra", "library")
ORGANS = ("liver", "kidney", "spleen", "retina", "tongue", "muscle", "tendon", "marrow")
SICKNESSES = ("cancer", "infection", "atrophy", "trauma", "fibrosis", "edema")
SECRET = "Oslo Harbour"

SETTINGS = GeneralSettings(
    folds=2,
    test_parts=3,
    least_sets=5,
    groups=2,
    dimension=16,
    buckets=512,
    steps=30,
    warmup=5,
    rate=0.02,
    batch=32,
    distilled=32,
    distilled_phrases=8,
    name_rows=48,
    word_buckets=256,
    mixed_names=(40,),
    mixed_shares=(0.5,),
    group_mixed_names=40,
    least_names=6,
    dense_seeds=(4,),
    group_dense_seeds=(3,),
    full_names=20,
    full_dense_names=20,
    hidden=(8,),
    epochs=30,
    classifier_batch=1024,
)


@dataclass
class StandIn:
    """Random vectors of character n-grams in place of a sentence encoder; it remembers names."""

    pieces: tuple[str, ...] = (*PLACES, *KINDS, *ORGANS, *SICKNESSES, "##s", "of")
    seen: set[str] = field(default_factory=set)

    def __call__(self, names: Sequence[str]) -> Floats:
        self.seen.update(names)
        table = np.random.default_rng(0).standard_normal((512, 32), np.float32)
        bags = word_rows([name.casefold() for name in names], {}, 512)
        return unit_rows(np.asarray(bags @ table, np.float32) + np.float32(1e-3))


def _entities() -> Lists:
    places: list[Names] = [
        (f"{place.title()} {kind.title()}", f"{kind} of {place}", f"{place} {kind}s")
        for place, kind in product(PLACES, KINDS)
    ]
    medicine: list[Names] = [
        (f"{organ} {sickness}", f"{sickness} of the {organ}", f"{organ} {sickness}s")
        for organ, sickness in product(ORGANS, SICKNESSES)
    ]
    return {"medicine": medicine + [(organ,) for organ in ORGANS], "places": places}


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Lists:
    """The lists as `experiments.name_lists` writes them, without the entity of a secret name."""
    folder = tmp_path_factory.mktemp("lists")
    heldout = folder / "heldout.txt"
    heldout.write_text(name_hash(SECRET) + "\n")
    for name, entities in _entities().items():
        made_up = NameList(name, name, "", "CC0-1.0", "", partial(list, entities))
        write_name_lists(folder, heldout, lists=[made_up])
    return read_lists(folder)


@pytest.fixture(scope="module")
def learned(
    lists: Lists, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, StandIn, list[ListScore]]:
    out = tmp_path_factory.mktemp("learned") / "weights"
    teacher = StandIn()
    return out, teacher, learn(lists, out, teacher, settings=SETTINGS)


@pytest.mark.slow
def test_the_weights_of_a_group_were_learned_without_it(lists: Lists, tmp_path: Path) -> None:
    left_out = tmp_path / "left-out"
    learn(lists, tmp_path / "all", StandIn(), left_out=left_out, settings=SETTINGS)
    folders = [tmp_path / "all", *sorted(left_out.iterdir())]
    learned_from = [
        json.loads((folder / "config.json").read_text("utf8"))["lists"] for folder in folders
    ]
    assert learned_from == [["medicine", "places"], ["medicine"], ["places"]]
    tables = [load_general(folder=folder).encoder.table for folder in folders]
    assert not np.array_equal(tables[1], tables[2])


@pytest.mark.slow
def test_the_weights_group_obvious_names(learned: tuple[Path, StandIn, list[ListScore]]) -> None:
    names = ["Quito Museum", "museum of quito", "retina edema", "edema of the retina", "sofia"]
    terms = [Term(name) for name in names]
    mined = load_general(folder=learned[0]).prepare(terms, TermViews()).generate()
    sets = {frozenset(term.surface for term in members) for members in mined.sets}
    assert sets == {frozenset(names[:2]), frozenset(names[2:4]), frozenset(names[4:])}


def test_both_models_are_written(learned: tuple[Path, StandIn, list[ListScore]]) -> None:
    models = [load_general(folder=learned[0], encoder=encoder) for encoder in (False, True)]
    assert [model.uses_encoder for model in models] == [False, True]
    assert models[1].classifier.width == models[0].classifier.width + 2 * (
        len(TABLE_FEATURES) + len(MUTUAL_FEATURES)
    )
    assert models[0].encoder.table.shape == (len(StandIn().pieces) + 512, 16)


def test_scores_are_of_lists_that_were_tested(
    learned: tuple[Path, StandIn, list[ListScore]],
) -> None:
    assert [score.source for score in learned[2]] == ["medicine", "places"]
    assert all(score.strings > 0.3 and score.encoder > 0.3 for score in learned[2])


def test_a_held_out_entity_reaches_no_stage(
    lists: Lists, learned: tuple[Path, StandIn, list[ListScore]]
) -> None:
    hidden = next(names for names in _entities()["places"] if SECRET in names)
    known = {name for entities in lists.values() for names in entities for name in names}
    assert known.isdisjoint(hidden)
    assert len(known & learned[1].seen) > len(known) / 2
    assert learned[1].seen <= known | set(StandIn.pieces) | {"s"}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(
    lists: Lists, learned: tuple[Path, StandIn, list[ListScore]], tmp_path: Path
) -> None:
    learn(lists, tmp_path / "again", StandIn(), settings=SETTINGS)
    learn(lists, tmp_path / "other", StandIn(), settings=SETTINGS, seed=1)
    for path in sorted(learned[0].iterdir()):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()
    files = [folder / "encoder.safetensors" for folder in (learned[0], tmp_path / "other")]
    assert files[0].read_bytes() != files[1].read_bytes()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_a_list_left_out_is_never_learned(lists: Lists, tmp_path: Path) -> None:
    further: Lists = {
        **lists,
        "anatomy": [(f"{a} {b}", f"{b} in the {a}") for a, b in product(ORGANS, PLACES)],
        "mixed": [("liver cancer", "hepatoma"), ("lima airport", "LIM airport")],
    }
    teacher = StandIn()
    scores = learn(further, tmp_path / "w", teacher, settings=SETTINGS, without=["medicine"])
    assert [score.source for score in scores if score.left_out] == ["medicine"]
    assert "hepatoma" not in teacher.seen


def test_errors_come_before_the_work(lists: Lists, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    teacher = StandIn()
    with pytest.raises(DataError, match="exists already"):
        learn(lists, tmp_path / "full", teacher, settings=SETTINGS)
    with pytest.raises(DataError, match="no list to leave out"):
        learn(lists, tmp_path / "new", teacher, settings=SETTINGS, without=["plants"])
    with pytest.raises(DataError, match="no name list"):
        read_lists(tmp_path)
    assert not teacher.seen


def test_parts_share_no_name() -> None:
    lists: Lists = {
        "one": [(f"entity {n:05}", f"thing {n:05}") for n in range(200)],
        "two": [(f"Thing-{n:05}", f"object {n}") for n in range(200)],
    }
    parts = split(lists, GeneralSettings(), seed=0)
    forms = [forms_of(names for e in part.values() for names in e) for part in vars(parts).values()]
    assert not any(one & other for one, other in combinations(forms, 2))
    assert [len(part["one"]) for part in vars(parts).values()] == pytest.approx(
        [150, 40, 10], abs=20
    )
    moved = split({**lists, "two": lists["two"][:100]}, GeneralSettings(), seed=0)
    assert set(moved.encoder["one"][:80]) == set(parts.encoder["one"][:80])


def test_lists_are_capped_dealt_and_left_out() -> None:
    lists: Lists = {
        "large": [(f"a{n}", f"b{n}") for n in range(9)] + [("alone",)] * 3,
        "middle": [("zebra", "quagga"), ("b1", "other")],
        "small": [("zebra", "horse")],
    }
    settings = replace(SETTINGS, list_sets=4, list_singles=1)
    assert [len(names) for names in cap(lists, settings, 0)["large"]] == [2, 2, 2, 2, 1]
    assert deal(lists, 2) == [("large", "small"), ("middle",)]
    rest = leave_out(lists, ["small"], lists, least_letters=4)
    assert rest == {"large": lists["large"], "middle": lists["middle"][1:]}


def test_drawn_pairs_are_two_names_of_one_entity() -> None:
    entities: Lists = {"one": [("a", "b", "c"), ("d",)], "two": [("e", "f"), ("g", "h")]}
    draws = ListPairs(entities, ["p", "q", "a"], SETTINGS)
    rng = np.random.default_rng(0)
    drawn = set()
    for one_list in (0.0, 1.0):
        counts = draws.counts(rng, 200, one_list)
        assert counts.sum() == 200
        assert (counts.max() == 200) == bool(one_list)
        first, second = draws.pairs(rng, counts)
        drawn |= {draws.names[a] + draws.names[b] for a, b in zip(first, second, strict=True)}
        distilled = [draws.names[place] for place in draws.draw_names(rng, counts, 50)]
        assert len(distilled) == 250
        assert set(distilled[200:]) == {"p", "q", "a"}
        of_lists = [set("abcd"), set("efgh")]
        expected = {name for names, n in zip(of_lists, counts, strict=True) for name in names if n}
        assert set(distilled[:200]) == expected
    assert drawn == {"ab", "ac", "ba", "bc", "ca", "cb", "ef", "fe", "gh", "hg"}


def test_info_nce_is_the_mean_cross_entropy_of_both_directions() -> None:
    one, other = torch.nn.functional.normalize(
        torch.randn(2, 5, 8, generator=torch.manual_seed(0)), dim=2
    )
    places = np.arange(5), np.arange(5, 10)
    scores, truth = one @ other.T / 0.1, torch.arange(5)
    losses = [torch.nn.functional.cross_entropy(s, truth) for s in (scores, scores.T)]
    assert float(info_nce(one, other, *places, 0.1)) == pytest.approx(float(sum(losses)) / 2)
    copies = np.array([0, 1, 2, 3, 0]), np.arange(5, 10)  # the first name twice: no negative
    scores[0, 4] = scores[4, 0] = -1e4
    losses = [torch.nn.functional.cross_entropy(s, truth) for s in (scores, scores.T)]
    assert float(info_nce(one, other, *copies, 0.1)) == pytest.approx(float(sum(losses)) / 2)


def test_rows_of_a_name_give_the_vector_of_the_encoder() -> None:
    rng = np.random.default_rng(0)
    pieces = ("heart", "##s", "attack")
    table = rng.standard_normal((3 + 64, 8)).astype(np.float32)
    encoder = StaticEncoder(pieces, *quantize(table))
    names = ["Hearts attack", "–", "heart"]
    rows = NameRows(names, pieces, replace(SETTINGS, buckets=64))
    some, starts = rows.of(np.array([2, 1, 0, 2]))
    parts = np.split(encoder.table[some] * encoder.scales[some, None], starts[1:])
    sums = np.stack([part.sum(axis=0) for part in parts])
    expected = encoder.encode([names[place] for place in (2, 1, 0, 2)])
    assert unit_rows(sums) == pytest.approx(expected, abs=1e-5)
    assert encoder.table * encoder.scales[:, None] == pytest.approx(table, abs=0.02)


def test_logistic_regression_equals_that_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    features = np.concatenate([np.ones((400, 1)), rng.standard_normal((400, 3))], axis=1)
    true = rng.random(400) < 1 / (1 + np.exp(-features @ [0.5, 2, -1, 0]))
    weights = rng.random(400)
    values = logistic_regression(features, true, weights, 1e-9)
    model = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000)
    model.fit(features[:, 1:], true, sample_weight=weights)
    assert values == pytest.approx([*model.intercept_, *model.coef_[0]], abs=1e-4)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8])
def test_sampled_vocabularies_have_their_share_of_single_names(share: float) -> None:
    entities = [tuple(f"n{n} {'abcd'[k]}" for k in range(1 + n % 4)) for n in range(400)]
    drawn = sample_vocabulary("s", entities, 200, share, SETTINGS, np.random.default_rng(0))
    sizes = np.bincount(drawn.entities)
    assert (sizes == 1).sum() / len(drawn.names) == pytest.approx(share, abs=0.01)
    assert len(set(drawn.names)) == len(drawn.names)
    assert 200 <= len(drawn.names) <= 200 + 3 / (1 - share)  # the last set may be too large
    assert all(name in entities[n] for name, n in zip(drawn.names, drawn.entities, strict=True))


def test_near_misses_are_names_of_other_entities() -> None:
    entities: list[Names] = [
        *[("apple", "malus"), ("apple pie", "pie of apples"), ("apple tree",)],
        *[("pear", "pyrus"), ("pear tree", "tree of pears"), ("oak",)],
    ]
    pieces = StandIn().pieces
    table = np.ones((len(pieces) + 64, 8), np.int8)
    encoder = StaticEncoder(pieces, table, np.ones(len(table), np.float32))
    near = NearNames(entities, encoder, SETTINGS)
    listed = [near.names[place] for place in near.by_words("apple")]
    assert listed == ["apple", "apple pie", "apple tree"]
    assert len(near.by_vectors("apple")) == len(near.names)
    before = Vocabulary("fruit", ("apple", "malus", "pear", "pyrus"), np.array([0, 0, 3, 3]))
    rng = np.random.default_rng(0)
    settings = replace(SETTINGS, near_miss_shares=(1.0,))
    after = with_near_misses(before, near, near.by_words, settings, rng)
    assert after.dense
    added = set(zip(after.names, after.entities.tolist(), strict=True)) - set(
        zip(before.names, before.entities.tolist(), strict=True)
    )
    assert added in ({("apple pie", 1), ("pear tree", 4)}, {("apple tree", 2), ("pear tree", 4)})
