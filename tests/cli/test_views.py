"""The commands with the default model: several views of a term, or strings alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from synsetmine.io.sets import read_sets, write_sets
from synsetmine.metrics import evaluate
from synsetmine.models import load_model, settings_of
from synsetmine.views import write_vectors
from tests.cli.test_cli import synsetmine
from tests.support.viewworlds import name_world

SETS, VIEWS = name_world(120, seed=4)
TRAINING, HELD_OUT = SETS.split(0.25, seed=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    write_sets(folder / "train.set", TRAINING)
    write_sets(folder / "test.set", HELD_OUT)
    write_vectors(folder / "vectors.safetensors", VIEWS.vectors[0])
    synsetmine("train", "train.set", "-v", "vectors.safetensors", "-o", "model", cwd=folder)
    synsetmine("train", "train.set", "-o", "strings", cwd=folder)
    return folder


@pytest.mark.parametrize(
    ("model", "vectors"), [("model", ["-v", "vectors.safetensors"]), ("strings", [])]
)
def test_train_and_mine(folder: Path, model: str, vectors: list[str]) -> None:
    arguments = ["mine", model, *vectors, "--vocabulary", "test.set", "-o", f"{model}.jsonl"]
    said = synsetmine(*arguments, "--trace", "trace.jsonl", cwd=folder).stderr
    assert f"{len(HELD_OUT.terms)} terms" in said
    assert evaluate(read_sets(folder / f"{model}.jsonl"), HELD_OUT).ari > 0.6
    assert len((folder / "trace.jsonl").read_text().splitlines()) == len(HELD_OUT.terms)


def test_the_order_does_not_matter(folder: Path) -> None:
    found = []
    for seed in ("1", "2"):
        order = ["--order", "random", "--seed", seed, "-o", f"order{seed}.jsonl"]
        synsetmine(
            "mine",
            "model",
            "-v",
            "vectors.safetensors",
            "--vocabulary",
            "test.set",
            *order,
            cwd=folder,
        )
        found.append(read_sets(folder / f"order{seed}.jsonl").partition)
    assert found[0] == found[1]


def test_a_finished_model_is_known_again(folder: Path) -> None:
    before = (folder / "strings" / "model.safetensors").read_bytes()
    said = synsetmine("train", "train.set", "-o", "strings", cwd=folder).stderr
    assert "already contains this model" in said
    other = synsetmine("train", "train.set", "-o", "strings", "--seed", "1", cwd=folder, code=1)
    assert "contains another finished model; --overwrite replaces it" in other.stderr
    synsetmine("train", "train.set", "-o", "strings", "--overwrite", cwd=folder)
    assert (folder / "strings" / "model.safetensors").read_bytes() == before


def test_a_stored_model_is_the_same(folder: Path) -> None:
    stored = load_model(folder / "model")
    assert stored.views == ("vectors", "strings")
    assert stored.threshold == settings_of().threshold
    config = json.loads((folder / "model" / "config.json").read_text())
    assert config["scorer"]["kind"] == "general"


def test_score_and_rank_take_any_string(folder: Path) -> None:
    one, two = (str(term) for term in next(m for m in HELD_OUT if len(m) > 1)[:2])
    asked = ["score", "strings", two, "quite another", "--set", one, "--json"]
    scores = json.loads(synsetmine(*asked, cwd=folder).stdout)
    assert scores[0]["probability"] > scores[1]["probability"]
    ranked = ["rank", "model", "-v", "vectors.safetensors", "--set", one, "--json", "--top", "3"]
    assert json.loads(synsetmine(*ranked, cwd=folder).stdout)[0]["term"] == two


def test_a_term_without_vector_is_reported(folder: Path) -> None:
    """It may be a typing error."""
    one = str(HELD_OUT.terms[0])
    tables = ["-v", "vectors.safetensors", "--set"]
    told = "have no vector and are compared by their strings alone: nonesuch"
    assert told in synsetmine("rank", "model", *tables, "nonesuch", cwd=folder).stderr
    assert told in synsetmine("score", "model", "nonesuch", *tables, one, cwd=folder).stderr
    assert "warning" not in synsetmine("rank", "model", *tables, one, cwd=folder).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "train.set", "--epochs", "3", "-o", "x"], "no such setting"),
        (["train", "train.set", "--threshold", "2", "-o", "x"], "between 0 and 1"),
        (["train", "none.set", "-o", "x"], "none.set: No such file"),
        (["train", "train.set", "--preset", "paper", "-o", "x"], "needs one --vectors"),
        (["mine", "model", "--vocabulary", "test.set", "-o", "x.jsonl"], "view, which is missing"),
        (["mine", "strings", "-o", "x.jsonl"], "give --vocabulary or --vectors"),
        (["train", "train.set", "--encoder", "nowhere/at/all", "-o", "x"], "nowhere/at/all"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    folder: Path, arguments: list[str], message: str
) -> None:
    said = synsetmine(*arguments, cwd=folder, code=1).stderr
    assert message in said
    assert "Traceback" not in said
    assert not (folder / "x").exists()
    assert not (folder / "x.jsonl").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"uses_encoder": 1}, "must be true or false"),
        ({"adaptation": {}}, "strings"),
        ({"set_function": {}}, "bias"),
    ],
)
def test_a_damaged_config_is_reported(
    folder: Path, change: dict[str, object], message: str
) -> None:
    path = folder / "model" / "config.json"
    text = path.read_text()
    config = json.loads(text)
    config["scorer"] |= change
    try:
        path.write_text(json.dumps(config))
        asked = ["mine", "model", "-v", "vectors.safetensors", "-o", "x.jsonl"]
        assert message in synsetmine(*asked, cwd=folder, code=1).stderr
    finally:
        path.write_text(text)
