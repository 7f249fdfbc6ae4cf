"""A path may be a string wherever the public functions take one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import synsetmine
from synsetmine.export import FORMATS, About, lint_file, read_rules
from synsetmine.io.sets import Decision, read_trace, write_trace
from synsetmine.models import StoredModel
from synsetmine.models.paper.network import SetScorer
from synsetmine.types import Term
from tests.support.curationentries import infarction
from tests.support.worlds import make_world


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["x.set", "x.jsonl.gz"])
def test_sets(name: str) -> None:
    sets, _ = make_world(entities=3)
    synsetmine.write_sets(name, sets)
    assert synsetmine.read_sets(name) == sets


@pytest.mark.parametrize("name", ["x.txt", "x.bin", "x.safetensors"])
def test_vectors(name: str) -> None:
    _, vectors = make_world(entities=3)
    synsetmine.write_vectors(name, vectors)
    assert synsetmine.read_vectors(name).terms == vectors.terms


def test_models() -> None:
    torch.manual_seed(0)
    scorer = SetScorer(dimension=8, embed_sizes=(4,), post_sizes=(4,), dropout=0.0)
    synsetmine.save_model("model", StoredModel(scorer, 0.4, {}))
    assert synsetmine.load_model("model").threshold == 0.4


def test_lists_projects_and_traces() -> None:
    Path("x.txt").write_text("a\nb\n")
    assert synsetmine.read_vocabulary("x.txt").terms == (Term("a"), Term("b"))
    assert synsetmine.read_names("x.txt") == ["a", "b"]
    Path("synsetmine.toml").write_text('corpus.path = "corpus.jsonl"\nkb.path = "kb.jsonl"\n')
    assert synsetmine.read_project("synsetmine.toml").kb.path == "kb.jsonl"
    decision = Decision(Term("a"), "s0", 0.5, "joined")
    write_trace("trace.jsonl", [decision])
    assert list(read_trace("trace.jsonl")) == [decision]


def test_corpora_and_knowledge_bases() -> None:
    Path("kb.jsonl").write_text('{"id": "E1", "name": "aspirin"}\n')
    kb = synsetmine.read_kb("kb.jsonl")
    kb.save("kb.arrow")
    assert synsetmine.KnowledgeBase.load("kb.arrow").name("E1") == "aspirin"
    Path("corpus.txt").write_text("Nothing is said here.\n")
    assert len(list(synsetmine.read_corpus("corpus.txt"))) == 1


def test_exports() -> None:
    paths = FORMATS["solr"].write("synonyms.txt", [infarction()], About())
    assert [os.fspath(path) for path in paths] == ["synonyms.txt"]
    assert lint_file("synonyms.txt").rules == len(read_rules("synonyms.txt")) == 1


def test_checkpoints_and_caches(nyt: Path) -> None:
    sets, vectors = make_world(entities=20)
    settings = synsetmine.PRESETS["paper"].with_changes({"epochs": 1, "validate_every": 1})
    synsetmine.train_scorer(sets, vectors, settings, checkpoint="checkpoint.safetensors")
    assert Path("checkpoint.safetensors").exists()
    assert synsetmine.fetch_dataset("nyt", cache="cache", source=str(nyt)).folder.is_dir()
