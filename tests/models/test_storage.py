"""Model folders: whole round trips, and every kind of damage told."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from synsetmine.cli.inputs import choose_encoder
from synsetmine.errors import DataError, ModelError, SynsetmineError
from synsetmine.models import StoredModel, load_model, probabilities, save_model, storage
from synsetmine.models.paper.network import ARCHITECTURE, SetScorer
from synsetmine.types import Term
from synsetmine.views import TermVectors, TermViews
from tests.support.worlds import make_world

SETS, VECTORS = make_world(entities=6, dimension=4)
TRAINING = {"seed": 3, "data": "naïve/東京.set", "loss": [0.5, 0.25], "nested": {"a": None}}


def make_model(
    *, tuned: bool = False, embed: tuple[int, ...] = (5, 6), seed: int = 1
) -> StoredModel:
    scorer = SetScorer(dimension=4, embed_sizes=embed, post_sizes=(7, 6), dropout=0.25, seed=seed)
    own = TermVectors(SETS.sets[0], np.full((len(SETS.sets[0]), 4), 0.5, np.float32))
    return StoredModel(scorer, 0.375, TRAINING, own if tuned else None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a good model."""
    save_model(tmp_path / "model", make_model(tuned=True))
    return tmp_path / "model"


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def assert_refused(folder: Path, problem: str) -> None:
    with pytest.raises(ModelError, match=problem) as caught:
        load_model(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


# --- Round trips ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("embed", "post"), [((5, 6), (7, 6)), ((), (3,)), ((5,), ()), ((), ()), ((3, 3, 3), (2, 2, 2))]
)
def test_a_loaded_model_answers_as_the_saved_one(
    tmp_path: Path, embed: tuple[int, ...], post: tuple[int, ...]
) -> None:
    scorer = SetScorer(dimension=4, embed_sizes=embed, post_sizes=post, dropout=0.25, seed=9)
    save_model(tmp_path / "deep" / "model", StoredModel(scorer, 0.375, TRAINING))
    found = load_model(tmp_path / "deep" / "model")
    assert isinstance(found.model, SetScorer)
    assert not found.model.training
    assert found.threshold == 0.375
    assert found.training == TRAINING
    assert found.tuned_vectors is None
    for name in ARCHITECTURE:
        assert getattr(found.model, name) == getattr(scorer, name)
    state = found.model.state_dict()
    assert list(state) == list(scorer.state_dict())
    assert all(torch.equal(state[name], tensor) for name, tensor in scorer.state_dict().items())
    asked = (VECTORS, SETS.sets[0], VECTORS.terms)
    assert probabilities(found, *asked) == probabilities(scorer, *asked)


def test_tuned_vectors_travel(folder: Path) -> None:
    found, saved = load_model(folder), make_model(tuned=True)
    assert found.tuned_vectors is not None
    assert saved.tuned_vectors is not None
    assert found.tuned_vectors.terms == saved.tuned_vectors.terms
    assert np.array_equal(found.tuned_vectors.matrix, saved.tuned_vectors.matrix)
    used = found.apply_to(VECTORS)
    assert used.terms == VECTORS.terms
    assert (used.select(SETS.sets[0]) == 0.5).all()
    others = [term for term in VECTORS.terms if term not in SETS.sets[0]]
    assert np.array_equal(used.select(others), VECTORS.select(others))


def test_a_model_without_tuned_vectors_uses_those_it_is_given(tmp_path: Path) -> None:
    assert make_model().apply_to(VECTORS) is VECTORS


@pytest.mark.parametrize("tuned", [False, True])
def test_vectors_of_another_dimension_are_refused(tuned: bool) -> None:
    other = TermVectors((Term("a"),), np.zeros((1, 9), np.float32))
    with pytest.raises(DataError, match="vectors of 4 dimensions, these have: 9"):
        make_model(tuned=tuned).prepare(other.terms, TermViews((other,)))


def test_a_model_is_saved_over_another(folder: Path) -> None:
    save_model(folder, make_model(embed=(3, 3)))
    found = load_model(folder)
    assert isinstance(found.model, SetScorer)
    assert found.model.embed_sizes == (3, 3)
    assert found.tuned_vectors is None


def test_the_same_model_makes_the_same_files(folder: Path, tmp_path: Path) -> None:
    save_model(tmp_path / "again", make_model(tuned=True))
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


# --- Damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b"null",
        b'"synsetmine-model"',
        b"{}",
        b'{"format": "other", "version": 1}',
    ],
)
def test_a_config_that_is_none_is_refused(folder: Path, content: bytes) -> None:
    (folder / "config.json").write_bytes(content)
    assert_refused(folder, r"config\.json (cannot be read|is not the config of a synsetmine model)")


@pytest.mark.parametrize("version", [0, 2, "1", None, [1]])
def test_another_version_is_named(folder: Path, version: object) -> None:
    change_config(folder, version=version)
    with pytest.raises(ModelError) as caught:
        load_model(folder)
    assert f"has version {version!r}; this synsetmine reads 1" in str(caught.value)


@pytest.mark.parametrize("name", ["scorer", "threshold", "training", "sha256"])
@pytest.mark.parametrize("value", [None, "x", ["model.safetensors"]])
def test_an_entry_of_the_wrong_kind_is_named(folder: Path, name: str, value: object) -> None:
    change_config(folder, **{name: value})
    assert_refused(folder, f"damaged: '{name}' is missing or has the wrong type")
    config = json.loads((folder / "config.json").read_text())
    del config[name]
    (folder / "config.json").write_text(json.dumps(config))
    assert_refused(folder, f"damaged: '{name}' is missing")


def test_a_folder_without_a_config_holds_no_model(folder: Path, tmp_path: Path) -> None:
    (folder / "config.json").unlink()
    assert not storage.is_model(folder)
    assert_refused(folder, r"contains no finished model: config\.json is missing")
    assert_refused(tmp_path / "gone", "no such folder; name a model")
    (tmp_path / "file").write_text("x")
    assert_refused(tmp_path / "file", ": not a folder")


@pytest.mark.parametrize("name", ["model.safetensors", "vectors.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert_refused(folder, f"'{name}' is missing")


@pytest.mark.parametrize("name", ["model.safetensors", "vectors.safetensors"])
@pytest.mark.parametrize("place", [0, 8, 100, -1])
def test_a_flipped_bit_is_noticed(folder: Path, name: str, place: int) -> None:
    content = bytearray((folder / name).read_bytes())
    content[place] ^= 1
    (folder / name).write_bytes(content)
    assert_refused(folder, f"{name} is damaged: its checksum differs")


@pytest.mark.parametrize("name", ["model.safetensors", "vectors.safetensors"])
@pytest.mark.parametrize("size", [0, 7, 200])
def test_a_cut_file_is_noticed(folder: Path, name: str, size: int) -> None:
    (folder / name).write_bytes((folder / name).read_bytes()[:size])
    assert_refused(folder, f"{name} is damaged: its checksum differs")


@pytest.mark.parametrize("name", ["../x", "/etc/hostname", "config.json", "", "x.py", "."])
def test_a_config_cannot_name_other_files(folder: Path, name: str) -> None:
    (folder.parent / "x").write_text("secret")
    sums = json.loads((folder / "config.json").read_text())["sha256"]
    change_config(folder, sha256={**sums, name: hashlib.sha256(b"secret").hexdigest()})
    assert_refused(folder, f"names '{name}', which is not a model file")


def test_a_config_must_name_the_weights(folder: Path) -> None:
    change_config(folder, sha256={})
    assert_refused(folder, r"damaged: 'model\.safetensors' is missing")


def put_weights(folder: Path, content: bytes) -> None:
    """Other weights under a checksum that is right."""
    (folder / "model.safetensors").write_bytes(content)
    change_config(folder, sha256={"model.safetensors": hashlib.sha256(content).hexdigest()})


def test_weights_of_another_architecture_are_refused(folder: Path, tmp_path: Path) -> None:
    for embed in ((9, 6), (5, 5, 6), ()):
        save_model(tmp_path / "other", make_model(embed=embed))
        put_weights(folder, (tmp_path / "other" / "model.safetensors").read_bytes())
        assert_refused(folder, r"the weights do not fit config\.json")


@pytest.mark.parametrize("content", [b"", b"no safetensors", b"\x02" + bytes(7) + b"{}"])
def test_weights_that_are_none_are_refused(folder: Path, content: bytes) -> None:
    put_weights(folder, content)
    assert_refused(folder, r"the weights do not fit config\.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"dimension": 5},
        {"dimension": -1},
        {"dimension": "4"},
        {"dimension": None},
        {"dimension": 4.5},
        {"dimension": 10**30},
        {"embed_sizes": [5]},
        {"embed_sizes": 5},
        {"embed_sizes": "56"},
        {"post_sizes": [7, 7]},
        {"dropout": 2},
        {"dropout": "half"},
    ],
    ids=str,
)
def test_an_architecture_that_does_not_fit_is_refused(
    folder: Path, changes: dict[str, object]
) -> None:
    scorer = json.loads((folder / "config.json").read_text())["scorer"]
    change_config(folder, scorer=scorer | changes)
    assert_refused(folder, r"the weights do not fit config\.json")


@pytest.mark.parametrize("name", ARCHITECTURE)
def test_an_architecture_with_a_gap_is_refused(folder: Path, name: str) -> None:
    scorer = json.loads((folder / "config.json").read_text())["scorer"]
    del scorer[name]
    change_config(folder, scorer=scorer)
    assert_refused(folder, f"do not fit .*{name}")


# --- Interrupted saves ------------------------------------------------------------------------


def interrupt(*args: object, **options: object) -> None:
    """Write half of a file, then break off."""
    for path in args:
        if isinstance(path, Path):
            path.write_bytes(b"half")
    raise KeyboardInterrupt


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("step", ["save_file", "write_vectors", "sha256", "json.dumps"])
def test_an_interrupted_save_leaves_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, existing: bool
) -> None:
    if existing:
        save_model(tmp_path, make_model(tuned=True, seed=2))
    with monkeypatch.context() as patch:
        patch.setattr(f"synsetmine.models.storage.{step}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save_model(tmp_path, make_model(tuned=True))
    assert not storage.is_model(tmp_path)
    assert_refused(tmp_path, "contains no finished model")
    assert list(tmp_path.glob(".*")) == []
    save_model(tmp_path, make_model(tuned=True))
    assert load_model(tmp_path).threshold == 0.375


def test_a_record_that_json_cannot_hold_leaves_no_model(tmp_path: Path) -> None:
    model = StoredModel(make_model().model, 0.5, {"bad": object()})
    with pytest.raises(TypeError):
        save_model(tmp_path, model)
    assert not storage.is_model(tmp_path)


# --- Models of strangers ----------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, value: float) -> None:
    model = make_model()
    assert isinstance(model.model, SetScorer)
    with torch.no_grad():
        model.model.get_parameter("post.0.weight")[0, 0] = value
    save_model(tmp_path / "model", model)
    assert_refused(tmp_path / "model", r"'post\.0\.weight' contains a value that is not a number")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_threshold_that_is_no_number_is_refused(folder: Path, value: float) -> None:
    change_config(folder, threshold=value)
    assert_refused(folder, "the threshold is not a probability")


@pytest.mark.parametrize("named", ["evil/encoder", "/nowhere/encoder", 7, ["a"], {"a": 1}], ids=str)
def test_a_model_cannot_have_an_encoder_fetched(named: object) -> None:
    stored = StoredModel(make_model().model, 0.5, {"encoder": named})
    with pytest.raises(
        SynsetmineError, match="not a folder on this machine; if you trust it, give --encoder"
    ):
        choose_encoder(None, stored)
    assert choose_encoder("mine/own", stored) == "mine/own"


def test_a_model_may_name_what_is_on_this_machine(tmp_path: Path) -> None:
    scorer = make_model().model
    (tmp_path / "modules.json").write_text("[]")
    for named in (None, "minilm", str(tmp_path)):
        assert choose_encoder(None, StoredModel(scorer, 0.5, {"encoder": named})) == named
