"""MB of text a second of each stage that reads the corpus, beside what one would write by hand.

    python -m benchmarks.bench_stages --data ../shared/data/medline
    python -m benchmarks.bench_stages --data ../shared/data/medline --documents 5000

The folder holds `corpus.jsonl.gz` and `mesh.jsonl.gz`. Ours are commands with one process, from
their start to their files. The others begin with their libraries loaded, and with texts in memory,
tokens ready, from `link` on:

- read: `json` of each line, and Parquet by pyarrow.
- link: the names in the texts by ahocorasick_rs. Ours splits into tokens, folds, counts, and
  writes each mention.
- vocabulary: all runs of up to three words by scikit-learn's `CountVectorizer`. Ours counts names,
  phrases, abbreviations, evidence for pairs, and the neighbours of each term for the vectors.
- vectors: gensim's skip-gram, five epochs. Ours factors the counts that `vocabulary` has made.

Seconds are those of the processor, of all threads.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from synsetmine.errors import in_one_line
from synsetmine.kb import read_kb
from synsetmine.normalization import fold, token_spans

VECTORS = "vectors.safetensors"
DIMENSION = 100  # as the setting's default
STAGES: dict[str, list[str]] = {
    "read": ["read", "corpus.jsonl.gz", "-o", "documents.parquet"],
    "link": ["link", "documents.parquet", "knowledge.arrow", "-o", "links.tsv", "--workers", "1"],
    "vocabulary": [
        *("vocabulary", "documents.parquet", "--sets", "sets", "--links", "links.tsv"),
        *("--details", ".", "-o", "vocabulary.tsv", "--workers", "1"),
    ],
    "vectors": [
        *("vectors", "documents.parquet", "--counts", "cooccurrence.safetensors"),
        *("--terms", "vocabulary.tsv", "-o", VECTORS, "--workers", "1"),
    ],
}
BETWEEN: dict[str, list[list[str]]] = {
    "link": [["knowledge", "mesh.jsonl.gz", "-o", "knowledge.arrow"]],
    "vocabulary": [["supervise", "links.tsv", "knowledge.arrow", "-o", "sets"]],
}


def main() -> None:
    options = _options()
    os.environ["OMP_NUM_THREADS"] = "1"  # the processes below inherit it
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            gzip.open(options.data / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines,
            gzip.open(folder / "corpus.jsonl.gz", "wt", encoding="utf-8") as out,
        ):
            out.writelines(islice(lines, options.documents))
        (folder / "mesh.jsonl.gz").symlink_to((options.data / "mesh.jsonl.gz").absolute())
        megabytes = sum(len(text.encode()) for text in _texts(folder)) / 1e6
        print(f"{megabytes:.1f} MB of text\n")
        print("| stage | CPU seconds | MB/s | the other | CPU seconds | MB/s | ratio |")
        print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
        for stage, command in STAGES.items():
            for before in BETWEEN.get(stage, ()):
                _run(folder, before)
            own = _run(folder, command)
            what, other = OTHERS[stage]
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                seconds = pool.submit(other, folder).result()
            print(
                f"| {stage} | {own:.1f} | {megabytes / own:.1f} | {what} | {seconds:.1f} "
                f"| {megabytes / seconds:.1f} | {seconds / own:.2f}× |",
                flush=True,
            )


def _run(folder: Path, command: Sequence[str]) -> float:
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "synsetmine", *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"error: {' '.join(command)} ended with {status}")
    return usage.ru_utime + usage.ru_stime


# --- The others ---


def _read(folder: Path) -> float:
    import pyarrow as pa
    import pyarrow.parquet as pq

    started = time.process_time()
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    table = pa.table({name: [row[name] for row in rows] for name in ("id", "text")})
    pq.write_table(table, folder / "plain.parquet")
    return time.process_time() - started


def _link(folder: Path) -> float:
    from ahocorasick_rs import MATCHKIND_LEFTMOST_LONGEST, AhoCorasick

    names = [f" {_joined(name)} " for name in read_kb(folder / "mesh.jsonl.gz").forms.to_pylist()]
    texts = [f" {_joined(text)} " for text in _texts(folder)]
    automaton = AhoCorasick(sorted({*names}), matchkind=MATCHKIND_LEFTMOST_LONGEST)
    return _time(lambda: [automaton.find_matches_as_indexes(text) for text in texts])


def _vocabulary(folder: Path) -> float:
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(ngram_range=(1, 3), min_df=5)
    texts = _texts(folder)
    return _time(lambda: counter.fit_transform(texts))


def _vectors(folder: Path) -> float:
    from gensim.models import Word2Vec

    sentences = [_joined(text).split() for text in _texts(folder)]
    return _time(lambda: Word2Vec(sentences, vector_size=DIMENSION, sg=1, epochs=5, workers=1))


OTHERS: dict[str, tuple[str, Callable[[Path], float]]] = {
    "read": ("json, pyarrow", _read),
    "link": ("ahocorasick_rs", _link),
    "vocabulary": ("CountVectorizer", _vocabulary),
    "vectors": ("gensim, skip-gram", _vectors),
}


def _time(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _texts(folder: Path) -> list[str]:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def _joined(text: str) -> str:
    return " ".join(fold(text[start:end]) for start, end in token_spans(text))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of MEDLINE and MeSH")
    parser.add_argument("--documents", type=int, help="the first ones; default: all")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
