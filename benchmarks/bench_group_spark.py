"""Grouping on Spark: a plan for ten million names, and what each of its stages costs.

    python -m benchmarks.bench_group_spark --names LISTS --sizes 100000 --whole
    python -m benchmarks.bench_group_spark --names LISTS --sizes 10000000 --cells 12

`synsetmine group` works on one machine. These are its parts on Spark, with the functions of the
general model:

1. *names*: read the list, bring names to one form, keep each form once.
2. *cells*: the static vector of each name; the names of the `--around` nearest centres of k-means
   are a cell, so that near names share one.
3. *pairs*: each cell on its own, the probabilities of its near pairs (`GeneralModel.pairs`). A pair
   of two cells has the mean.
4. *sets*: merge by the probabilities of all pairs, on the driver: `Linkage`.

Names without words have no vector and are left out. With `--cells` stages 3 and 4 take so many
cells only, drawn at random; what all would take is extrapolated. `--whole` groups the names with
`generate_sets` too, and compares the sets.

Larger lists are made up of the names of the lists, as in `bench_group`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from benchmarks.names import LabelledNames, listed_names, made_up_names
from benchmarks.processes import Watch
from benchmarks.synthetic import Floats, Numbers
from synsetmine.engines.spark import end_session, start_session
from synsetmine.errors import in_one_line
from synsetmine.metrics import compare_labels
from synsetmine.models import generate_sets
from synsetmine.models.general import PRECISION, load_general
from synsetmine.models.general.linkage import LEAST, MOST, Linkage, pair_graph
from synsetmine.models.general.neighbours import _centres, _largest
from synsetmine.models.general.pair_evidence import rule_out_opposites
from synsetmine.models.task import log_odds
from synsetmine.normalization import name_key
from synsetmine.types import Term
from synsetmine.views import TermViews

ROWS = 1 << 14  # names whose cells are looked for at a time
NAMES = "key string, name string"
CELLS = "cell int, key string, name string"
PAIRS = "one string, other string, probability float"


def main() -> None:
    options = _options()
    os.environ["OMP_NUM_THREADS"] = "1"  # the workers inherit it: each has one core
    # Spark warns of a pandas that it does not know; we use none.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    print(f"{options.master}, cells of {options.cell:,} names, seed {options.seed}\n")
    for size in options.sizes:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            _measure(size, Path(folder), options)


def _measure(size: int, folder: Path, options: argparse.Namespace) -> None:
    draw = partial(listed_names, options.names) if options.names else made_up_names
    drawn = draw(size, options.seed)
    drawn.save(folder / "names.txt")
    if not options.whole:
        del drawn
    with Watch() as watch:
        session, _ = start_session(options.master)
        session.conf.set("spark.sql.shuffle.partitions", str(options.partitions))
        stages = _Stages(session, watch, folder)
        print("| stage | rows | seconds | CPU seconds |\n| --- | --- | --- | --- |", flush=True)
        names = stages.run("names", _distinct_names(session, folder / "names.txt", options))
        centres = stages.time("centres", lambda: _draw_centres(names, options))
        find = partial(_find_cells, centres=centres, around=options.around)
        stages.run("cells", session.read.parquet(str(names)).mapInArrow(find, CELLS))
        chosen = np.arange(len(centres))
        if options.cells:
            rng = np.random.default_rng(options.seed)
            chosen = rng.permutation(chosen)[: options.cells]
        cells = session.read.parquet(str(folder / "cells"))
        some = cells.where(cells.cell.isin(chosen.tolist()))
        share = some.count() / cells.count()
        stages.run("pairs", some.groupBy("cell").applyInArrow(_pairs_of_cell, PAIRS))
        labels = stages.time("sets", lambda: _merge(folder))
        end_session(session)
    print(f"\n{len(centres):,} cells; {share:.1%} of the names of cells in the last two stages")
    parts = f"driver {watch.driver:,.0f}, largest worker {max(watch.python.values()):,.0f}"
    print(f"memory in MB: {parts}, Java {sum(watch.java.values()):,.0f}\n")
    if options.whole:
        _compare(drawn, labels)


@dataclass(frozen=True)
class _Stages:
    session: Any
    watch: Watch
    folder: Path

    def run(self, name: str, rows: Any) -> Path:
        """Write the rows of a stage; the folder with them."""
        path = self.folder / name
        self.time(name, lambda: rows.write.parquet(str(path)))
        return path

    def time(self, name: str, work: Any) -> Any:
        begin, used = time.perf_counter(), self.watch.processor()
        result = work()
        seconds, used = time.perf_counter() - begin, self.watch.processor() - used
        path = self.folder / name
        rows = pq.ParquetDataset(path).read(columns=[]).num_rows if path.exists() else len(result)
        print(f"| {name} | {rows:,} | {seconds:.1f} | {used:.1f} |", flush=True)
        return result


def _distinct_names(session: Any, path: Path, options: argparse.Namespace) -> Any:
    lines = session.read.text(str(path)).repartition(options.partitions)
    return lines.mapInArrow(_keys, NAMES).dropDuplicates(["key"])


def _keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The names with the form that spellings of one name share."""
    for batch in batches:
        names = batch.column(0).to_pylist()
        yield pa.RecordBatch.from_pydict({"key": [*map(name_key, names)], "name": names})


def _draw_centres(names: Path, options: argparse.Namespace) -> Floats:
    """The centres of the cells, from a sample of the names."""
    table = pq.ParquetDataset(names).read(columns=["name"]).column("name")
    rng = np.random.default_rng(options.seed)
    count = max(1, len(table) // options.cell)
    rows = np.sort(rng.permutation(len(table))[: max(100 * count, 1000)])
    vectors = load_general().encoder.encode(table.take(rows).to_pylist())
    known = np.flatnonzero(vectors.any(axis=1))
    return _centres(vectors, known, count, threads=os.cpu_count() or 1)


def _find_cells(
    batches: Iterator[pa.RecordBatch], centres: Floats, around: int
) -> Iterator[pa.RecordBatch]:
    """Each name once for each of its cells."""
    encoder = load_general().encoder
    for batch in batches:
        rows = encoder.encode(batch.column("name").to_pylist())
        near, cosines = _largest(rows @ centres.T, min(around, len(centres)))
        kept = cosines > 0
        cells = pa.array(near[kept].astype(np.int32))
        owner = pa.array(np.nonzero(kept)[0])
        columns = [batch.column(name).take(owner) for name in ("key", "name")]
        yield pa.RecordBatch.from_arrays([cells, *columns], ["cell", "key", "name"])


def _pairs_of_cell(cell: pa.Table) -> pa.Table:
    """The probabilities of the near pairs of a cell."""
    keys = sorted(zip(*(cell.column(name).to_pylist() for name in ("key", "name")), strict=True))
    model = load_general()
    pairs = model.pairs([Term(name) for _, name in keys], TermViews(), tables=())
    judge = partial(rule_out_opposites, [name for _, name in keys])
    compare = partial(model._compare, pairs, judge)
    graph = sparse.triu(pair_graph(pairs.count, *pairs.candidates(), compare)).tocoo()
    ends = ([keys[row][0] for row in side.tolist()] for side in (graph.row, graph.col))
    return pa.table([*map(pa.array, ends), pa.array(graph.data)], ["one", "other", "probability"])


def _merge(folder: Path) -> dict[str, int]:
    """The number of each name's set, by the pairs of all cells."""
    pairs = pq.ParquetDataset(folder / "pairs").read()
    ends = pa.chunked_array([*pairs.column("one").chunks, *pairs.column("other").chunks])
    encoded = ends.combine_chunks().dictionary_encode()
    keys, places = encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
    one, other = np.sort(places.reshape(2, -1), axis=0)
    codes, first = np.unique(one * len(keys) + other, return_inverse=True)
    values = pairs.column("probability").to_numpy()
    means = np.bincount(first, values) / np.maximum(np.bincount(first), 1)
    kept = means >= LEAST
    cells = np.divmod(codes[kept], max(len(keys), 1))
    values = np.minimum(means[kept], MOST).astype(np.float32)
    upper = sparse.csr_array((values, cells), shape=(len(keys),) * 2)
    linkage = Linkage(sparse.csr_array(upper + upper.T), load_general().function)
    linkage.merge(log_odds(PRECISION["balanced"]))
    return dict(zip(keys, linkage.set_of.tolist(), strict=True))


def _compare(drawn: LabelledNames, label_of: dict[str, int]) -> None:
    """The sets of the plan, and those of all names at once."""
    terms = [Term(name) for name in drawn.names]
    mined = generate_sets(load_general(), TermViews(), terms, threshold=PRECISION["balanced"])
    whole: Numbers = np.array(mined.sets.labels(terms))
    alone = len(label_of)
    keys = map(name_key, drawn.names)
    plan: Numbers = np.array([label_of.get(key, alone + i) for i, key in enumerate(keys)])
    print(f"ARI: plan {100 * drawn.ari(plan):.1f}, whole {100 * drawn.ari(whole):.1f}")
    print(f"ARI of the plan with the whole: {100 * compare_labels(plan, whole).ari:.1f}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--names", type=Path, help="name lists, see names.py; else made up")
    add("--sizes", type=int, nargs="+", default=[100_000], help="names")
    add("--cell", type=int, default=20_000, help="names of a cell, on average")
    add("--around", type=int, default=2, help="cells of a name")
    add("--cells", type=int, help="cells whose pairs are compared; by default all")
    add("--whole", action="store_true", help="compare with grouping all names at once")
    add("--master", default="local[2]", help="Spark's master")
    add("--partitions", type=int, default=64, help="parts of the names")
    add("--folder", type=Path, help="for the files in between; else the system's")
    add("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
