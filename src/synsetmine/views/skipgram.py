"""Skip-gram vectors as in the paper, trained by gensim (extra `skipgram`)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from synsetmine.corpus.documents import batch_sizes
from synsetmine.engines import Engine
from synsetmine.errors import import_extra, require
from synsetmine.io.files import disk_errors
from synsetmine.text.counters import TextBatch, count_together
from synsetmine.text.matcher import NameMatcher
from synsetmine.text.vocabulary import (
    UnitCounter,
    count_forms,
    frequent_units,
    term_forms,
    units_of,
)
from synsetmine.types import Progress, Term
from synsetmine.views.vectors import TermVectors, vectors_of_forms

LONGEST_LINE = 10_000  # gensim leaves out what a line holds beyond


def train_skipgram(
    documents: Path,
    terms: Sequence[Term],
    *,
    dimension: int = 50,
    window: int = 5,
    epochs: int = 15,
    negative: int = 5,
    smoothing: float = 0.75,
    sample: float = 1e-3,
    min_count: int = 5,
    threads: int = 1,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> TermVectors:
    """A vector for each term that occurs in a stored corpus at least `min_count` times.

    The corpus is read twice, and its units wait in a temporary file. `smoothing` is the power of
    a unit's count by which the `negative` others are drawn; units of a larger share than
    `sample` are left out at random.
    One thread gives the same vectors for the same seed; several are faster but do not.

    `progress` gets what is done of how much.
    """
    for value in (dimension, window, epochs, min_count, threads):
        require(value >= 1, "expected a number of 1 or more", value)
    gensim = import_extra("gensim", "skip-gram vectors", "skipgram")
    tell = progress or (lambda _done, _whole: None)
    size, steps = sum(batch_sizes(documents)), 2 + epochs
    forms = term_forms(terms)
    matcher = NameMatcher.build(forms)
    counts = count_forms(
        documents,
        UnitCounter(forms),
        matcher=matcher,
        engine=engine,
        progress=lambda done: tell(done, steps * size),
    )
    number_of = {form: number for number, form in enumerate(frequent_units(counts, min_count))}
    if not number_of:
        return TermVectors((), np.zeros((0, dimension), np.float32))
    with TemporaryDirectory(prefix="synsetmine-") as folder:
        path = Path(folder, "units.txt")
        with disk_errors(path), path.open("w", encoding="ascii") as stream:
            for batch in count_together(
                documents,
                {"lines": _LineWriter(forms, number_of)},
                matcher=matcher,
                engine=engine,
                progress=lambda done: tell(size + done, steps * size),
            ):
                lines = batch.tables["lines"].column("line").to_pylist()
                stream.writelines(f"{line}\n" for line in lines)
        model = gensim.models.Word2Vec(
            corpus_file=str(path),
            sg=1,
            vector_size=dimension,
            window=window,
            epochs=epochs,
            negative=negative,
            ns_exponent=smoothing,
            sample=sample,
            min_count=1,
            workers=threads,
            seed=seed,
            hashfxn=_stable_hash,
            callbacks=[_epoch_reporter(gensim, tell, size, steps)],
        )
    rows = [model.wv.key_to_index[str(number)] for number in number_of.values()]
    return vectors_of_forms(terms, number_of, model.wv.vectors[rows])


@dataclass(frozen=True)
class _LineWriter:
    """The units of texts by their numbers, a text a line; rare units are left out."""

    forms: Sequence[str]  # of the matcher
    number_of: Mapping[str, int]

    def __call__(self, batch: TextBatch) -> pa.RecordBatch:
        units = units_of(batch.texts, batch.matches, self.forms)
        number_of = np.array([self.number_of.get(form, -1) for form in units.forms], np.int64)
        unit, position = number_of[units.unit], units.text
        unit, position = unit[unit >= 0], position[unit >= 0]
        names = [*map(str, unit.tolist())]
        borders = np.flatnonzero(np.diff(position, prepend=-1, append=-1)).tolist()
        lines = [
            " ".join(names[start : min(start + LONGEST_LINE, end)])
            for begin, end in pairwise(borders)
            for start in range(begin, end, LONGEST_LINE)
        ]
        return pa.record_batch({"line": pa.array(lines, pa.string())})


def _stable_hash(text: str) -> int:
    """Python's own hash of a text differs from run to run."""
    return zlib.crc32(text.encode())


def _epoch_reporter(gensim: Any, tell: Progress, size: int, steps: int) -> Any:
    """A callback of gensim; made here, since its class needs gensim."""

    class EpochReporter(gensim.models.callbacks.CallbackAny2Vec):  # type: ignore[misc]
        epochs = 0

        def on_epoch_end(self, _model: Any) -> None:
            self.epochs += 1
            tell((2 + self.epochs) * size, steps * size)

    return EpochReporter()
