"""A small world to spoil: sets, vectors, models, a corpus with its knowledge base, a project."""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from synsetmine.corpus.documents import write_documents
from synsetmine.io.sets import write_sets
from synsetmine.kb import read_kb
from synsetmine.models import StoredModel, save_model
from synsetmine.models.paper.network import SetScorer
from synsetmine.types import Document, Term
from synsetmine.views import TermVectors, write_vectors
from tests.support.worlds import make_world

PORT = 48765
PROJECT = 'corpus.path = "corpus.jsonl"\nkb.path = "kb.jsonl"\n'
RUNNING = {"format": "synsetmine-run 1", "versions": {}, "stages": {}, "files": {}}


def world(folder: Path) -> None:
    """Everything, copied from a folder that is made once."""
    shutil.copytree(_world(), folder, dirs_exist_ok=True)


def fifo_too(folder: Path) -> None:
    world(folder)
    os.mkfifo(folder / "pipe.jsonl")


def link_too(folder: Path) -> None:
    world(folder)
    (folder / "link.jsonl").symlink_to("new.jsonl")


def loop_too(folder: Path) -> None:
    world(folder)
    (folder / "loop").symlink_to("loop")


def begun_run(folder: Path) -> None:
    """A run that has not done anything yet."""
    world(folder)
    _write(folder / "run" / "manifest.json", json.dumps(RUNNING))


def newer_run(folder: Path) -> None:
    world(folder)
    _write(folder / "run" / "manifest.json", json.dumps(RUNNING | {"format": "synsetmine-run 2"}))


def damaged_run(folder: Path) -> None:
    world(folder)
    _write(folder / "run" / "manifest.json", '{"format": "synsetmine-run 1", "stages')


def strange_folder(folder: Path) -> None:
    world(folder)
    _write(folder / "run" / "holiday.jpg", "")


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Another process is at work in the run folder."""
    (folder / "run").mkdir(exist_ok=True)
    with (folder / "run" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def taken_port(_: Path) -> Iterator[None]:
    with socket.socket() as taken, suppress(OSError):  # all the better if somebody else has it
        taken.bind(("127.0.0.1", PORT))
        taken.listen()
        yield


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """`disk` is full, but for an old file."""
    with _mount(folder, "size=8k"):
        (folder / "disk" / "old.jsonl").write_text("{}\n")
        with suppress(OSError):
            (folder / "disk" / "ballast").write_bytes(bytes(2**20))
        yield


@contextmanager
def read_only_disk(folder: Path) -> Iterator[None]:
    with _mount(folder, "ro"):
        yield


@contextmanager
def _mount(folder: Path, options: str) -> Iterator[None]:
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a file system of its own cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@cache
def _world() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="badinput-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sets, vectors = make_world(entities=20)
    training, new = sets.split(0.3, seed=0)
    write_sets(folder / "train.set", training)
    write_sets(folder / "new.jsonl", new)
    write_vectors(folder / "vectors.txt", vectors)
    fruits = (Term("apple"), Term("pear"))
    write_vectors(folder / "other.txt", TermVectors(fruits, np.eye(2, 8, dtype=np.float32)))
    write_vectors(folder / "three.txt", TermVectors(vectors.terms, vectors.matrix[:, :3]))
    torch.manual_seed(0)
    scorer = SetScorer(dimension=8, embed_sizes=(4,), post_sizes=(4,), dropout=0.0)
    save_model(folder / "model", StoredModel(scorer, 0.5, {}))
    _write(folder / "synsetmine.toml", PROJECT)
    texts = [f"Nothing is said here, {n} times." for n in range(30)]
    records = [json.dumps({"id": f"d{n}", "text": text}) for n, text in enumerate(texts)]
    _write(folder / "corpus.jsonl", "\n".join(records))
    entity = {"id": "E1", "name": "acetylsalicylic acid", "synonyms": ["aspirin"]}
    _write(folder / "kb.jsonl", json.dumps(entity))
    write_documents(
        folder / "documents.parquet", [Document(f"d{n}", text) for n, text in enumerate(texts)]
    )
    read_kb(folder / "kb.jsonl").save(folder / "knowledge.arrow")
    _write(folder / "links.tsv", "surface\tentity\tcount\naspirin\tE1\t7\n")
    _write(folder / "twice.set", "c1 {'a||1', 'b||1'}\nc2 {'b||1', 'c||1'}\n")
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
