"""The default model on the paper's test sets, untrained and trained, beside plain clustering.

    python -m experiments.test_sets --data DIR --encoder minilm     # a folder with nyt/ and pubmed/

Each seed trains on some of the training sets. The test sets serve for these figures alone: no
choice is made on them. Rivals take the threshold that is best on training sets.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.pages import mean_sd, table, write_page
from experiments.sources.measurement import LINKAGES, curve, rivals
from synsetmine.errors import DataError, SynsetmineError
from synsetmine.io.sets import read_sets
from synsetmine.metrics import evaluate
from synsetmine.models.general import GeneralModel, load_general
from synsetmine.models.general.settings import AdaptationSettings
from synsetmine.models.general.training import adapt
from synsetmine.types import SynonymSets
from synsetmine.views import TermVectors, TermViews, View, encode_terms, find_encoder, read_vectors

NAME = "test-sets"
OUT = Path(__file__).parents[1] / "docs" / "results"
BENCHMARKS = ("nyt", "pubmed")
VECTORS = "combined.embed"  # of NYT; PubMed has none
TRAINING_NAMES = 8_000  # of a seed: more take long to encode, and training looks at no more
RIVAL_NAMES = 1_500  # that rivals are tuned on
RIVALS = (*LINKAGES, "HDBSCAN")


@dataclass(frozen=True)
class Row:
    """A method and what it looks at, with the ARI of each seed."""

    method: str
    views: str
    aris: tuple[float, ...]


def measure(
    folder: Path, *, encoder: str | None, seeds: int, report: Callable[[str], None]
) -> list[Row]:
    """All rows of the benchmark in a folder: train-cold.set, test.set and perhaps vectors."""
    training, test = (read_sets(folder / name) for name in ("train-cold.set", "test.set"))
    vectors = (read_vectors(folder / VECTORS),) if (folder / VECTORS).exists() else ()
    drawn = [_some_sets(training, TRAINING_NAMES, seed) for seed in range(seeds)]
    encoded = None
    if encoder is not None:
        terms = sorted({term for sets in (*drawn, test) for term in sets.terms})
        report(f"{folder.name}: {encoder} encodes {len(terms):,} names")
        encoded = encode_terms(terms, find_encoder(encoder))
    rows = []
    for label, views in _views(vectors, encoded, encoder).items():
        if not views.vectors:
            model = load_general(encoder=views.encoder is not None)
            rows.append(Row("untrained", label, (_ari(model, test, views),)))
            report(f"{folder.name}: {rows[-1]}")
        adapted = (
            adapt(sets, views, AdaptationSettings(seed=seed)).model
            for seed, sets in enumerate(drawn)
        )
        aris = tuple(_ari(model, test, views) for model in adapted)
        rows.append(Row("trained", label, aris))
        report(f"{folder.name}: {rows[-1]}")
    tuning = [_some_sets(training, RIVAL_NAMES, seed) for seed in range(seeds)]
    rows += _rivals(tuning, test, encoded, encoder)
    return rows


def _views(
    vectors: tuple[TermVectors, ...], encoded: TermVectors | None, encoder: str | None
) -> dict[str, TermViews]:
    views = {"strings": TermViews()}
    if vectors:
        views["strings, vectors"] = TermViews(vectors)
    if encoded is not None:
        views[f"strings, {encoder}"] = TermViews((), encoded)
        if vectors:
            views[f"strings, vectors, {encoder}"] = TermViews(vectors, encoded)
    return views


def _some_sets(sets: SynonymSets, names: int, seed: int) -> SynonymSets:
    """Random sets of about as many names; all sets if they have no more."""
    order = np.random.default_rng(seed).permutation(len(sets))
    sizes = np.array(sets.sizes)[order]
    return sets.pick(sorted(order[: int(np.searchsorted(sizes.cumsum(), names)) + 1].tolist()))


def _ari(model: GeneralModel, test: SynonymSets, views: TermViews) -> float:
    prepared = model.prepare(test.terms, views)
    return evaluate(prepared.generate(threshold=AdaptationSettings().threshold).sets, test).ari


def _rivals(
    tuning: Sequence[SynonymSets],
    test: SynonymSets,
    encoded: TermVectors | None,
    encoder: str | None,
) -> Iterator[Row]:
    terms = tuple(sorted({term for sets in (*tuning, test) for term in sets.terms}))
    static = load_general().encoder
    table = TermVectors(terms, static.encode([t.surface.replace("_", " ") for t in terms]))
    columns: list[tuple[str, View, TermViews]] = [
        ("static vectors", "vectors", TermViews((table,)))
    ]
    if encoded is not None:
        columns.append((str(encoder), "encoder", TermViews((), encoded)))
    for label, view, views in columns:
        methods = rivals(view)
        for name in RIVALS:
            aris = tuple(
                curve(methods[name], sets, test, views, seed).ari
                for seed, sets in enumerate(tuning)
            )
            yield Row(name, label, aris)


def write(out: Path, rows: Mapping[str, Sequence[Row]], command: str) -> str:
    parts = [
        "# The default model on the paper's test sets",
        f"```sh\n{command}\n```",
        "ARI in percent; mean ± standard deviation over the seeds, each with other training sets "
        f"(about {TRAINING_NAMES:,} names where there are more). *Untrained* is the general model "
        "as it is, which no training set has touched. The threshold is the default one. Rivals "
        "see one table of vectors, and take the threshold with the best ARI on about "
        f"{RIVAL_NAMES:,} names of training sets. Entities that have a name in a test set were "
        "left out when the general model was learned.",
    ]
    for name, some in rows.items():
        lines = [[r.method, r.views, mean_sd([100 * ari for ari in r.aris])] for r in some]
        parts.append(f"## {name}\n\n{table(['method', 'looks at', 'ARI'], lines)}")
    figures = {name: [vars(row) for row in some] for name, some in rows.items()}
    return write_page(out, NAME, parts, figures)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with nyt/ and pubmed/")
    parser.add_argument("--encoder", help="sentence encoder: minilm")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    start = time.perf_counter()

    def report(line: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s  {line}", file=sys.stderr, flush=True)

    command = f"python -m experiments.test_sets --data DIR --seeds {options.seeds}"
    command += f" --encoder {options.encoder}" if options.encoder else ""
    try:
        folders = [options.data / name for name in BENCHMARKS if (options.data / name).is_dir()]
        if not folders:
            raise DataError(f"no folder {' or '.join(BENCHMARKS)} here", path=options.data)
        rows = {
            folder.name: measure(
                folder, encoder=options.encoder, seeds=options.seeds, report=report
            )
            for folder in folders
        }
        write(options.out, rows, command)
    except SynsetmineError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
