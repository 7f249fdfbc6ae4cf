"""One pass over the corpus for several counts, on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from synsetmine.engines import Engine, LocalEngine
from synsetmine.engines.base import FEW
from synsetmine.errors import SynsetmineError
from synsetmine.runs.results import PlaceCounter
from synsetmine.text.counters import BatchCounter, TextBatch, count_together
from synsetmine.text.evidence import ConnectionCounter, DefinitionCounter
from synsetmine.text.matcher import Matches, NameMatcher
from synsetmine.text.phrases import RunCounter
from synsetmine.text.vocabulary import TermCounter, WordCounter
from synsetmine.views.cooccurrence import NeighbourCounter
from tests.support.corpusfiles import store_texts

FORMS = ["heart attack", "MI", "stroke"]
TEXTS = [f"A heart attack (MI) {i}, or stroke. Cardiac output (CO)." for i in range(3 * FEW)]


def every_counter() -> dict[str, BatchCounter]:
    return {
        "words": WordCounter(),
        "runs": RunCounter(),
        "definitions": DefinitionCounter(),
        "terms": TermCounter(),
        "connections": ConnectionCounter(FORMS),
        "places": PlaceCounter(),
        "neighbours": NeighbourCounter(FORMS, [*FORMS, "cardiac", "a"]),
    }


def corpus() -> Path:
    return store_texts([TEXTS[i : i + 3] for i in range(0, len(TEXTS), 3)])


def tables(engine: Engine | None = None) -> list[tuple[int, int, dict[str, pa.RecordBatch]]]:
    found = count_together(
        corpus(), every_counter(), matcher=NameMatcher.build(FORMS), engine=engine
    )
    return [(counted.first, counted.size, dict(counted.tables)) for counted in found]


def test_counters_give_the_same_together_as_alone() -> None:
    together = tables()
    assert [(first, size) for first, size, _ in together] == [(i, 3) for i in range(0, 3 * FEW, 3)]
    for name, counter in every_counter().items():
        alone = count_together(corpus(), {name: counter}, matcher=NameMatcher.build(FORMS))
        for (_, _, found), counted in zip(together, alone, strict=True):
            assert found[name].equals(counted.tables[name]), name
            assert len(found[name]), name


def test_worker_processes_count_the_same() -> None:
    assert tables(LocalEngine(2)) == tables()


def test_names_are_matched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    find = NameMatcher.find

    def noted(self: NameMatcher, texts: Sequence[str]) -> Matches:
        found.append(len(texts))
        return find(self, texts)

    monkeypatch.setattr(NameMatcher, "find", noted)
    tables()
    assert found == [3] * FEW


def test_progress_and_empty_batches() -> None:
    read: list[int] = []
    documents = store_texts([["!", ""], ["x"]])
    counters = every_counter()
    matcher = NameMatcher.build(FORMS)
    for counted in count_together(documents, counters, matcher=matcher, progress=read.append):
        assert set(counted.tables) == set(counters)
    assert read == [2, 3]
    assert [*count_together(store_texts([]), counters)] == []


@dataclass(frozen=True)
class Stumbling:
    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        if any("7," in text for text in batch.texts):
            raise IndexError("no such entry")
        return pa.record_batch({"ids": batch.ids})


def test_an_error_names_its_document() -> None:
    with pytest.raises(SynsetmineError, match=r"document 7 \(id 'd7'\): IndexError"):
        list(count_together(corpus(), {"ids": Stumbling()}))
