"""Tuning of a sentence encoder; the encoder is a real one, though a tiny one without training."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from synsetmine.cli.app import app
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.sets import read_sets, write_sets
from synsetmine.models import load_model, settings_of
from synsetmine.models.finetune import tune_encoder
from synsetmine.pipeline.settings import TuningSettings
from synsetmine.rivals.comparison import ComparisonPlan
from synsetmine.types import SynonymSets, Term
from synsetmine.views import TermViews, encode_terms, learned_surfaces
from synsetmine.views.encoder import quiet

pytest.importorskip("sentence_transformers")

WRONG: tuple[dict[str, Any], ...] = ({"epochs": 0}, {"held_out": 1.0}, {"seed": -1})
COLOURS = ("red", "blue", "green", "black", "white", "grey")
THINGS = ("house", "tree", "river", "stone", "bird", "cloud", "boat", "lamp", "road", "wall")
OTHER = {"house": "home", "tree": "oak", "river": "stream", "stone": "rock", "bird": "fowl"}
OTHER |= {"cloud": "haze", "boat": "ship", "lamp": "light", "road": "street", "wall": "fence"}
SETS = SynonymSets.of(
    [
        [Term(f"{colour} {thing}"), Term(f"{OTHER[thing]} {colour}")]
        for colour in COLOURS
        for thing in THINGS
    ]
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two small layers that knows the words above and nothing of them."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("tiny")
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *COLOURS, *THINGS, *OTHER.values())
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=40,
    )  # fmt: skip
    model: Any = BertModel
    model(config).save_pretrained(folder / "bert")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    with quiet():
        encoder = SentenceTransformer(str(folder / "bert"), device="cpu")  # with mean pooling
        encoder.save(str(folder / "encoder"), create_model_card=False)
    return folder / "encoder"


def partner_first(model: Path, sets: SynonymSets) -> float:
    """The share of terms whose nearest other term is a synonym."""
    rows = encode_terms(sets.terms, str(model)).matrix
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    alike = rows @ rows.T
    np.fill_diagonal(alike, -2)
    labels = np.array(sets.labels(sets.terms))
    return float((labels[alike.argmax(axis=1)] == labels).mean())


def test_a_tuned_encoder_finds_synonyms_that_it_has_not_seen(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synsetmine.models.finetune.RATE", 3e-3)  # it has all to learn
    told: list[tuple[int, int]] = []
    learned = tune_encoder(
        SETS,
        str(tiny),
        tmp_path / "tuned",
        **asdict(TuningSettings(epochs=30)),
        progress=lambda done, of: told.append((done, of)),
    )
    assert len(learned) == 48
    assert told[-1] == (30, 30)
    seen = set(learned.terms)
    new = SynonymSets.of([members for members in SETS if not seen & set(members)])
    assert len(new) == 12
    assert partner_first(tmp_path / "tuned", new) > partner_first(tiny, new) + 0.2
    assert read_sets(tmp_path / "tuned" / "learned.jsonl").partition == learned.partition
    assert learned_surfaces(str(tmp_path / "tuned")) == {term.surface for term in learned.terms}
    assert learned_surfaces(str(tiny)) == frozenset()


def test_the_same_seed_tunes_the_same_encoder(tiny: Path, tmp_path: Path) -> None:
    settings = asdict(TuningSettings(epochs=2, seed=5))
    for name in "ab":
        tune_encoder(SETS, str(tiny), tmp_path / name, **settings)
    files = [sorted(p.relative_to(tmp_path / n) for p in (tmp_path / n).rglob("*")) for n in "ab"]
    assert files[0] == files[1]
    one, other = (encode_terms(SETS.terms, str(tmp_path / n)).matrix for n in "ab")
    np.testing.assert_array_equal(one, other)


def test_training_compares_only_terms_that_the_encoder_has_not_learned(
    tiny: Path, tmp_path: Path
) -> None:
    learned = tune_encoder(
        SETS, str(tiny), tmp_path / "t", **asdict(TuningSettings(epochs=1, held_out=0.4))
    )
    views = TermViews((), encode_terms(SETS.terms, str(tmp_path / "t")), surfaces(learned))
    settings = settings_of()
    new = SETS.pick(n for n, m in enumerate(SETS) if not surfaces(learned) & surfaces_of(m))
    one, other = (settings.train(sets, views).model.state() for sets in (SETS, new))
    assert one[0] == other[0]
    assert all(np.array_equal(one[1][name], other[1][name]) for name in one[1])
    everything = TermViews((), views.encoder, surfaces(SETS))
    with pytest.raises(DataError, match="that the encoder was not tuned on; got: 0"):
        settings.train(SETS, everything)


def surfaces_of(terms: Sequence[Term]) -> frozenset[str]:
    return frozenset(term.surface for term in terms)


def surfaces(sets: SynonymSets) -> frozenset[str]:
    return frozenset(term.surface for term in sets.terms)


def test_nothing_is_left_of_a_tuning_that_fails(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("synsetmine.models.finetune.write_sets", broken)
    with pytest.raises(OSError, match="disk full"):
        tune_encoder(SETS, str(tiny), tmp_path / "tuned", **asdict(TuningSettings(epochs=1)))
    assert list(tmp_path.iterdir()) == []


def test_a_tuned_encoder_is_not_tuned_again(tiny: Path, tmp_path: Path) -> None:
    """What it has learned first would be forgotten."""
    tune_encoder(SETS, str(tiny), tmp_path / "tuned", **asdict(TuningSettings(epochs=1)))
    with pytest.raises(SynsetmineError, match="is already tuned"):
        tune_encoder(
            SETS, str(tmp_path / "tuned"), tmp_path / "again", **asdict(TuningSettings(epochs=1))
        )


def test_one_that_has_learned_the_test_sets_is_no_judge(tiny: Path, tmp_path: Path) -> None:
    learned = tune_encoder(SETS, str(tiny), tmp_path / "tuned", **asdict(TuningSettings(epochs=1)))
    encoded = encode_terms(SETS.terms, str(tmp_path / "tuned"))
    views = TermViews((), encoded, surfaces(learned))
    seen = set(learned.terms)
    new = SynonymSets.of([members for members in SETS if not seen & set(members)])
    ComparisonPlan(training=learned, test=new, views=views)
    with pytest.raises(DataError, match="tuned on 96 of 96 test terms"):
        ComparisonPlan(training=new, test=learned, views=views)


def test_bad_wishes_are_reported(tiny: Path, tmp_path: Path) -> None:
    few = SETS.pick(range(5))
    with pytest.raises(
        DataError, match="too few sets to tune on 4 and withhold 1, at least 10 each"
    ):
        tune_encoder(few, str(tiny), tmp_path / "tuned", **asdict(TuningSettings()))
    with pytest.raises(DataError, match="tune on 0 and withhold 60"):
        tune_encoder(SETS, str(tiny), tmp_path / "tuned", **asdict(TuningSettings(held_out=0.995)))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(SynsetmineError, match="exists already"):
        tune_encoder(SETS, str(tiny), tmp_path / "full", **asdict(TuningSettings()))
    for wrong in WRONG:
        with pytest.raises(DataError):
            TuningSettings(**wrong)


def test_the_command_and_train_after_it(tiny: Path, tmp_path: Path) -> None:
    write_sets(tmp_path / "train.jsonl", SETS)
    runner = CliRunner(env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    tuned, model = tmp_path / "tuned", tmp_path / "model"
    wish = ["finetune", str(tmp_path / "train.jsonl"), "--encoder", str(tiny), "-o", str(tuned)]
    result = runner.invoke(app, [*wish, "--epochs", "1", "--held-out", "0.4"])
    assert result.exit_code == 0, result.output
    assert "tuned on 36 sets, 24 withheld from it" in result.output
    result = runner.invoke(
        app,
        ["train", str(tmp_path / "train.jsonl"), "--encoder", str(tuned), "-o", str(model)],
    )
    assert result.exit_code == 0, result.output
    assert runner.invoke(app, wish).exit_code == 1  # the folder exists already
    kept = load_model(model).training
    assert kept["encoder"] == str(tuned.resolve())  # so that it is found from elsewhere
    shutil.rmtree(tuned)
    shutil.copytree(tiny, tuned)  # another encoder by the same name
    again = runner.invoke(
        app, ["train", str(tmp_path / "train.jsonl"), "--encoder", str(tuned), "-o", str(model)]
    )
    assert "another finished model" in str(again.exception)
    shutil.rmtree(tuned)
    wish = ["mine", str(model), "--vocabulary", str(tmp_path / "train.jsonl")]
    gone = runner.invoke(app, [*wish, "-o", str(tmp_path / "mined.jsonl")])
    assert "the model was trained with an encoder that is not a folder on this machine" in str(
        gone.exception
    )
