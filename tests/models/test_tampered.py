"""Model folders that somebody tampered with: an error of one line, or a model that works."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from synsetmine.errors import SynsetmineError
from synsetmine.io.files import sha256
from synsetmine.models import StoredModel, load_model, save_model
from synsetmine.models.general import load_general, pairs
from synsetmine.models.general.pairs import Adaptation, PairClassifier
from synsetmine.models.paper.network import SetScorer
from synsetmine.models.paper.settings import WIDEST as WIDEST_LAYER
from synsetmine.types import Term
from synsetmine.views import TermVectors, TermViews
from synsetmine.views.strings import WIDEST, StaticEncoder

TERMS = [Term(name) for name in ("heart attack", "heart attacks", "cardiac arrest", "fever", "ibm")]
ROWS = np.random.default_rng(0).normal(size=(len(TERMS), 4)).astype(np.float32)
VIEWS = TermViews((TermVectors(tuple(TERMS), ROWS),))
VALUES: tuple[Any, ...] = (
    *(None, True, "", "x", [], {}, [[]], {"a": 1}, -1, 0, 1, 0.5, 1e308, float("nan")),
    *(float("inf"), 10**9, 10**30, -(10**30), "é" * 1000, [10**9, 1], [0], [1, -1], ["1"]),
)


def paper() -> StoredModel:
    scorer = SetScorer(dimension=4, embed_sizes=(5,), post_sizes=(3,), dropout=0.25, seed=1)
    return StoredModel(scorer, 0.5, {"seed": 1}, VIEWS.vectors[0])


def general() -> StoredModel:
    """The general model with a small table, adapted to one more table of vectors."""
    model = load_general()
    encoder = StaticEncoder(("heart", "##s"), model.encoder.table[:80], model.encoder.scales[:80])
    words = replace(model.word_weights, values=model.word_weights.values[:64])
    model = replace(model, encoder=encoder, word_weights=words, contexts=None)
    width = model.pairs(TERMS, VIEWS, tables=VIEWS.vectors, strings=True).width
    zeros, ones = np.zeros(width, np.float32), np.ones(width, np.float32)
    weights = np.zeros(1 + width, np.float32)
    adaptation = Adaptation(True, (4,), zeros, ones, weights)
    return StoredModel(replace(model, adaptation=adaptation), 0.5, {})


def use(folder: Path) -> None:
    model = load_model(folder)
    prepared = model.prepare(TERMS, VIEWS)
    prepared.probabilities(TERMS[:2], TERMS[2:])
    prepared.generate(threshold=model.threshold)


def problem_of(folder: Path) -> str:
    """The error for a folder; empty if the model works."""
    try:
        use(folder)
    except SynsetmineError as error:
        return str(error)
    return ""


def seal(folder: Path, config: dict[str, Any]) -> None:
    """Write the config, with the right checksums of files that are there."""
    sums = config.get("sha256")
    if isinstance(sums, dict):
        here = [name for name in sums if (folder / name).is_file()]
        sums.update({name: sha256(folder / name) for name in here})
    (folder / "config.json").write_text(json.dumps(config))


def places(value: Any) -> list[tuple[Any, Any]]:
    """All containers in a JSON value with their keys."""
    keys: list[Any] = list(value) if isinstance(value, dict) else []
    if isinstance(value, list):
        keys = list(range(len(value)))
    return [(value, key) for key in keys] + [p for key in keys for p in places(value[key])]


def change_config(folder: Path, chance: random.Random) -> None:
    config = json.loads((folder / "config.json").read_text())
    container, key = chance.choice([p for p in places(config) if p[0] is not config["sha256"]])
    if chance.random() < 0.2:
        del container[key]
    else:
        container[key] = chance.choice(VALUES)
    seal(folder, config)


def change_tensor(folder: Path, chance: random.Random) -> None:
    name = chance.choice([path.name for path in folder.glob("*.safetensors")])
    arrays = load_file(folder / name)
    key = chance.choice(sorted(arrays))
    array = arrays[key]
    changes: list[Callable[[], Any]] = [
        lambda: array[:0],
        lambda: array[:-1],
        lambda: array[:1],
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: array.T,
        lambda: np.concatenate([array, array]),
        lambda: np.zeros((0, 10**9), array.dtype),
        lambda: np.zeros((), array.dtype),
        lambda: np.full_like(array, np.nan if array.dtype.kind == "f" else 127),
        lambda: np.full_like(array, 3e38 if array.dtype.kind == "f" else 0),
        lambda: np.zeros_like(array),
        lambda: array.astype(np.float64),
        lambda: array.astype(np.float16),
        lambda: array.astype(np.int64),
        lambda: array.astype(np.bool_),
    ]
    if chance.random() < 0.1:
        del arrays[key]
    else:
        with np.errstate(all="ignore"):
            arrays[key] = np.ascontiguousarray(chance.choice(changes)())
    metadata = {"format": "synsetmine-vectors 1"} if name.startswith("vectors") else None
    save_file(arrays, folder / name, metadata)
    seal(folder, json.loads((folder / "config.json").read_text()))


def change_bytes(folder: Path, chance: random.Random) -> None:
    path = chance.choice(sorted(folder.iterdir()))
    content = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little") if path.suffix == ".safetensors" else 10**9
    place = chance.randrange(min(len(content), 2 * header))
    if chance.random() < 0.3:
        del content[place:]
    else:
        content[place] = chance.randrange(256)
    path.write_bytes(content)
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except ValueError:
        return
    if isinstance(config, dict):
        seal(folder, config)


@pytest.fixture(scope="module", params=[paper, general], ids=["paper", "general"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    save_model(folder, request.param())
    use(folder)
    return folder


@pytest.mark.parametrize("change", [change_config, change_tensor, change_bytes])
def test_a_model_that_was_changed_is_refused_or_works(
    sound: Path, tmp_path: Path, change: Callable[[Path, random.Random], None]
) -> None:
    for seed in range(100):
        folder = tmp_path / str(seed)
        shutil.copytree(sound, folder)
        change(folder, random.Random(seed))
        problem = problem_of(folder)
        assert "\n" not in problem, seed
        assert len(problem) < 1000, seed
        shutil.rmtree(folder)


def test_a_small_model_that_takes_much_memory_for_each_name_is_refused(tmp_path: Path) -> None:
    """45 kB of wide vectors or layers took gigabytes for some thousand names."""
    packaged = load_general()
    wide = StaticEncoder.__new__(StaticEncoder)  # as a file may describe it
    for name, value in {
        "pieces": ("a",),
        "table": np.ones((2, WIDEST + 1), np.int8),
        "scales": np.ones(2, np.float32),
    }.items():
        object.__setattr__(wide, name, value)
    words = replace(packaged.word_weights, values=packaged.word_weights.values[:1])
    save_model(tmp_path, StoredModel(replace(packaged, encoder=wide, word_weights=words), 0.5, {}))
    with pytest.raises(SynsetmineError, match="the static encoder has 1025 dimensions of int8"):
        load_model(tmp_path)
    wide_layer = (1, WIDEST_LAYER + 1)
    for embed, post in ((wide_layer, ()), ((), wide_layer)):
        scorer = SetScorer(dimension=1, embed_sizes=embed, post_sizes=post)
        save_model(tmp_path, StoredModel(scorer, 0.5, {}))
        with pytest.raises(SynsetmineError, match="a layer of more than 2048 units"):
            load_model(tmp_path)


def test_the_types_of_weights_are_checked(tmp_path: Path) -> None:
    save_model(tmp_path, general())
    arrays = load_file(tmp_path / "model.safetensors")
    for name, kind, problem in (
        ("table", np.float32, "dimensions of float32; expected at most 1024 of int8"),
        ("scales", np.complex64, "'scales' contains values of the type complex64"),
    ):
        save_file(arrays | {name: arrays[name].astype(kind)}, tmp_path / "model.safetensors")
        seal(tmp_path, json.loads((tmp_path / "config.json").read_text()))
        with pytest.raises(SynsetmineError, match=problem):
            load_model(tmp_path)


def test_a_classifier_of_other_features_is_refused() -> None:
    model, width = load_general(), 3
    layers = (np.zeros((width, 1), np.float32),), (np.zeros(1, np.float32),)
    classifier = PairClassifier(np.zeros(width, np.float32), np.ones(width, np.float32), *layers)
    with pytest.raises(SynsetmineError, match="takes 3 features of a pair; the names have 44"):
        replace(model, classifier=classifier).prepare(TERMS, TermViews())


def test_a_wide_layer_is_computed_for_few_pairs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(0)
    weights = [chance.normal(size=shape).astype(np.float32) for shape in ((3, 999), (999, 1))]
    biases = [np.zeros(999, np.float32), np.zeros(1, np.float32)]
    ends = np.zeros(3, np.float32), np.ones(3, np.float32)
    classifier = PairClassifier(*ends, tuple(weights), tuple(biases))
    features = chance.normal(size=(200, 3)).astype(np.float32)
    expected = np.maximum(features @ weights[0], 0) @ weights[1]
    monkeypatch.setattr(pairs, "COMPARED_AT_ONCE", 100)
    largest: list[int] = []
    maximum = np.maximum

    def measured(*arrays: Any, **more: Any) -> Any:
        largest.append(arrays[0].size)
        return maximum(*arrays, **more)

    monkeypatch.setattr(np, "maximum", measured)
    assert np.allclose(classifier.log_odds(features), expected[:, 0], rtol=1e-4, atol=1e-4)
    assert max(largest) <= 100 * pairs.WIDTH
