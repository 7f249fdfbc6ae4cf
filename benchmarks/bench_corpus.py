"""The link stage on every engine: speed and memory, with corpora of growing size.

    python -m benchmarks.bench_corpus --data ../shared/data/medline
    python -m benchmarks.bench_corpus --data ../shared/data/medline --sizes 40 200 1000
    python -m benchmarks.bench_corpus --data ../shared/data/medline --quick

The folder holds `corpus.jsonl.gz` and `mesh.jsonl.gz`. Larger corpora are the same documents over
and over. Each row is a process of its own. `start` is what an engine takes until it has done one
batch, with Spark mostly that of Java; `link` is then the whole stage, on the wall clock, with the
start of worker processes and the reading and writing of Parquet; `CPU` are the seconds that all
processes together have computed for it. The memory is the most that the driver, the largest worker
process and the Java processes together had; `both` is that of the driver and all workers at one
time, where shared files count once. The ratio is to the first engine of the same size. All
engines must leave the same bytes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from benchmarks.processes import Watch
from synsetmine.corpus import read_batches, read_corpus, write_documents
from synsetmine.corpus.documents import texts_of
from synsetmine.engines import open_engine
from synsetmine.errors import in_one_line
from synsetmine.io.files import sha256
from synsetmine.kb import read_kb
from synsetmine.linking.linkers import DictionaryLinker
from synsetmine.linking.supervision import link_corpus
from synsetmine.types import Document

ENGINES = ("local:1", "local:2", "spark:local[1]", "spark:local[2]")
HEAD = (
    "engine",
    "MB",
    "start, s",
    "link, s",
    "MB/s",
    "ratio",
    "CPU, s",
    "driver",
    "worker",
    "both",
    "Java",
)


def main() -> None:
    options = _options()
    if options.quick:
        options.sizes = [4]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        kb = read_kb(options.data / "mesh.jsonl.gz")
        kb.save(folder / "knowledge.arrow")
        DictionaryLinker.open(folder / "knowledge.arrow", folder / "knowledge.matcher")
        print(
            f"{len(kb):,} entities, {kb.name_count:,} names, {os.cpu_count()} cores; memory in MB"
        )
        head = "{:16} {:>6} {:>8} {:>8} {:>6} {:>6} {:>8} {:>7} {:>7} {:>7} {:>7}"
        print(head.format(*HEAD), flush=True)
        warm = folder / "one.parquet"
        write_documents(warm, islice(_documents(options.data / "corpus.jsonl.gz", 1), 1000))
        for size in options.sizes:
            _compare(folder, options.data / "corpus.jsonl.gz", size, options.engines)


def _compare(folder: Path, corpus: Path, size: float, engines: list[str]) -> None:
    documents = folder / "documents.parquet"
    write_documents(documents, _documents(corpus, size))
    megabytes = (
        sum(len(text.encode()) for batch in read_batches(documents) for text in texts_of(batch))
        / 1e6
    )
    first = 0.0
    hashes = set()
    for engine in engines:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            done = pool.submit(_link, folder, engine).result()
        hashes.add(done.hash)
        speed = megabytes / done.seconds
        first = first or speed
        print(
            f"{engine:16} {megabytes:6.0f} {done.start:8.1f} {done.seconds:8.1f} {speed:6.1f} "
            f"{speed / first:5.2f}× {done.processor:8.1f} "
            f"{done.driver:7.0f} {done.worker:7.0f} {done.together:7.0f} {done.java:7.0f}",
            flush=True,
        )
    if len(hashes) > 1:
        raise SystemExit("the engines leave different bytes")


@dataclass(frozen=True)
class Done:
    start: float
    seconds: float
    processor: float
    driver: float
    worker: float
    together: float
    java: float
    hash: str


def _link(folder: Path, engine: str) -> Done:
    kind, _, where = engine.partition(":")
    linker = DictionaryLinker.open(folder / "knowledge.arrow", folder / "knowledge.matcher")
    out = folder / "mentions.parquet"
    with Watch() as memory:
        opened = (
            open_engine("spark", master=where)
            if kind == "spark"
            else open_engine("local", workers=int(where))
        )
        begin = time.perf_counter()
        with opened as chosen:
            link_corpus(folder / "one.parquet", linker, out, engine=chosen)
            started, used = time.perf_counter(), memory.processor()
            link_corpus(folder / "documents.parquet", linker, out, engine=chosen)
            done, used = time.perf_counter(), memory.processor() - used
    return Done(
        started - begin,
        done - started,
        used,
        memory.driver,
        max(memory.python.values(), default=0),
        memory.together,
        sum(memory.java.values()),
        sha256(out),
    )


def _documents(corpus: Path, megabytes: float) -> Iterator[Document]:
    """The documents of the corpus, over and over, until there is so much text."""
    size = 0
    for turn in range(10**6):
        for document in read_corpus(corpus):
            if size > megabytes * 1e6:
                return
            size += len(document.text)
            yield Document(f"{document.id}.{turn}", document.text)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of MEDLINE and MeSH")
    parser.add_argument("--sizes", type=float, nargs="+", default=[40, 200, 1000], help="in MB")
    parser.add_argument("--engines", nargs="+", default=[*ENGINES])
    parser.add_argument("--folder", type=Path, help="for the files in between; else the system's")
    parser.add_argument("--quick", action="store_true", help="4 MB")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
