"""What tests of the paper's data share: its files, where they lie, and fetching them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from synsetmine.io.downloads import Dataset, fetch_dataset
from tests.support.paperserver import PaperServer

TRAIN, TEST, VECTORS = "train-cold.set", "test.set", "combined.embed"
BIG = random.Random(1).randbytes(300_000)  # several chunks
FILES = {VECTORS: BIG, TEST: b"{'a||1', 'b||1'}\n" * 20, TRAIN: b"{'c||2', 'd||2'}\n" * 50}
RAW = f"/raw/NYT/{VECTORS}"
LISTING = "/data/NYT"


def fetch(server: PaperServer, cache: Path, **options: Any) -> Dataset:
    settings: dict[str, Any] = {"home": server.home, "cache": cache, "pins": {}}
    settings |= {"backoff": 0.001, "timeout": 5}
    return fetch_dataset("nyt", **settings | options)


def assert_complete(dataset: Dataset) -> None:
    assert {p.name for p in dataset.folder.iterdir()} == {*FILES, "manifest.json"}
    for name, content in FILES.items():
        assert (dataset.folder / name).read_bytes() == content


def part_of(cache: Path, name: str = VECTORS) -> Path:
    return cache / "datasets" / "nyt" / f"{name}.part"
