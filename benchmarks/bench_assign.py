"""New names for known sets, of 168,000 to 5 million names, against look-ups of the same names.

    python -m benchmarks.bench_assign                         # made-up names
    python -m benchmarks.bench_assign --names LISTS           # of name lists, see names.py
    python -m benchmarks.bench_assign --kb mesh.jsonl.gz      # all names of a knowledge base

Of the names `--terms` are taken out of the known sets: for one half the other names of their sets
stay known, for the other half they are taken out too. `assign` of the general model then looks for
the sets of these terms, as `synsetmine run` and `synsetmine mine --seeds` do without a corpus.

Two plain programs do the same in the same process: a dictionary of equal bags of stems, and the
nearest name by rapidfuzz's edit similarity of sorted stems, compared with all names; the latter
for `--sample` terms, and its seconds are extrapolated to all of them.

Each size runs in a process of its own. Memory is the peak of the process up to the end of a step,
with the names and all libraries. "right" is the share of the terms with a known set that get it,
"wrong" the share of all terms that get another one.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.bench_scale import in_process
from benchmarks.names import LabelledNames, listed_names, made_up_names
from benchmarks.synthetic import Numbers
from synsetmine.engines.workers import cores
from synsetmine.errors import in_one_line
from synsetmine.kb import read_kb
from synsetmine.models.general import load_general
from synsetmine.models.general.assignment import assign
from synsetmine.models.general.candidate_sets import KnownNames
from synsetmine.models.general.name_table import stem_keys
from synsetmine.models.general.settings import AssignmentSettings
from synsetmine.models.known import KNOWN_THRESHOLD

Homes: TypeAlias = Numbers  # (terms,): the number of each one's known set, or -1

ROUNDS = AssignmentSettings().rounds
STEPS = (
    "words, stems",
    *(f"rehearsal: candidates, features of round {n + 1}" for n in range(ROUNDS)),
    "rehearsal: networks",
    "terms: candidates, features",
    "terms: probabilities",
)


def main() -> None:
    options = _options()
    os.environ["OMP_NUM_THREADS"] = str(options.workers)  # the processes below inherit it
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in [options.kb.stem] if options.kb else options.sizes:
            path = folder / f"{size}.txt"
            if not path.exists():
                in_process(_prepare, path, options)
            in_process(_measure, path, options)


def _prepare(path: Path, options: argparse.Namespace) -> None:
    if options.kb:
        entities = [kb.names(entity) for kb in [read_kb(options.kb)] for entity in kb]
        names = [name for entity in entities for name in entity]
        labels = np.repeat(np.arange(len(entities)), [len(entity) for entity in entities])
        LabelledNames(names, labels).save(path)
        return
    count = int(path.stem) + options.terms
    if options.names:
        listed_names(options.names, count, options.seed).save(path)
    else:
        made_up_names(count, options.seed).save(path)


@dataclass
class Clock:
    """Prints a line for each step: seconds, CPU seconds of all threads, and peak memory."""

    total: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _last: tuple[float, float] = field(default_factory=lambda: _now())

    def step(self, name: str) -> None:
        now = _now()
        spent = [after - before for after, before in zip(now, self._last, strict=True)]
        self.total = [total + part for total, part in zip(self.total, spent, strict=True)]
        self.line(name, spent)
        self._last = _now()

    def line(self, name: str, spent: Sequence[float]) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        print(f"| {name} | {spent[0]:.1f} | {spent[1]:.1f} | {peak:.2f} |", flush=True)


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _measure(path: Path, options: argparse.Namespace) -> None:
    sets, terms, homes = _split(LabelledNames.load(path), options)
    names = [name for members in sets for name in members]
    labels = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    print(f"\n{len(names):,} names in {len(sets):,} sets, {len(terms):,} new names\n")
    print("| step | seconds | CPU seconds | GB |\n| --- | --- | --- | --- |")
    clock = Clock()
    encoder = load_general().encoder
    known = KnownNames.of(sets)
    clock.step("differing words")
    result = assign(
        known,
        terms,
        lambda _names: [],
        encoder=encoder,
        threads=options.workers,
        progress=lambda done, _: clock.step(STEPS[done - 1]),
    )
    clock.line("ours", clock.total)
    if result is None:
        raise SystemExit("there are too few names to rehearse on")
    best = [next(result.of(number), (-1, 0.0, -1)) for number in range(len(terms))]
    chosen = np.array([label if p >= KNOWN_THRESHOLD else -1 for label, p, _ in best])
    del result, known
    equal = Clock()
    by_stems = _equal_bags(names, labels, terms)
    equal.step("equal bags of stems, by a dictionary")
    nearest = Clock()
    fuzzy = _nearest_bags(names, labels, terms[: options.sample], options.workers)
    nearest.step(f"nearest bag of stems (rapidfuzz), {options.sample} new names")
    factor = len(terms) / max(options.sample, 1)
    print("\n| method | seconds | CPU seconds | ours takes | right | wrong |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, spent, predicted in (
        ("ours", clock.total, chosen),
        ("equal bags of stems", equal.total, by_stems),
        ("nearest bag of stems", [factor * value for value in nearest.total], fuzzy),
    ):
        right, wrong = _shares(predicted, homes[: len(predicted)])
        ratio = f"{clock.total[1] / spent[1]:.2g}×"
        print(f"| {name} | {spent[0]:,.0f} | {spent[1]:,.0f} | {ratio} | {right} | {wrong} |")


def _split(
    names: LabelledNames, options: argparse.Namespace
) -> tuple[list[list[str]], list[str], Homes]:
    """The known sets, the terms and the set of each term."""
    rng = np.random.default_rng(options.seed)
    size = np.bincount(names.labels)
    order = rng.permutation(len(names.names))
    half = options.terms // 2
    several = order[size[names.labels[order]] > 1]
    _, first = np.unique(names.labels[several], return_index=True)  # one name of a set
    hidden = several[np.sort(first)][:half]
    is_hidden = np.zeros(len(size), np.bool_)
    is_hidden[names.labels[hidden]] = True
    removed = order[~is_hidden[names.labels[order]]][: options.terms - half]
    is_removed = np.zeros(len(size), np.bool_)
    is_removed[names.labels[removed]] = True
    is_known = ~is_removed[names.labels]
    is_known[hidden] = False
    kept = np.flatnonzero(is_known)
    kept = kept[np.argsort(names.labels[kept], kind="stable")]
    _, labels = np.unique(names.labels[kept], return_inverse=True)
    ends = np.flatnonzero(np.append(np.diff(labels), 1)) + 1
    sets = [[names.names[place] for place in members] for members in np.split(kept, ends[:-1])]
    number_of = dict(zip(names.labels[kept].tolist(), labels.tolist(), strict=True))
    terms = rng.permutation(np.concatenate([hidden, removed]))
    homes = [number_of.get(label, -1) for label in names.labels[terms].tolist()]
    return sets, [names.names[place] for place in terms], np.array(homes, np.int64)


def _equal_bags(names: Sequence[str], labels: Numbers, terms: Sequence[str]) -> Homes:
    label_of = dict(zip(stem_keys(names), labels.tolist(), strict=True))
    return np.array([label_of.get(key, -1) for key in stem_keys(terms)], np.int64)


def _nearest_bags(
    names: Sequence[str], labels: Numbers, terms: Sequence[str], workers: int
) -> Homes:
    from rapidfuzz import distance, process

    keys = stem_keys(names)
    scorer: Callable[..., float] = distance.Indel.normalized_similarity
    homes = []
    for key in stem_keys(terms):
        similarity = process.cdist([key], keys, scorer=scorer, dtype=np.float32, workers=workers)
        homes.append(labels[int(similarity[0].argmax())])
    return np.array(homes, np.int64)


def _shares(predicted: Homes, homes: Homes) -> tuple[str, str]:
    right = (predicted == homes) & (homes >= 0)
    wrong = (predicted != homes) & (predicted >= 0)
    return f"{100 * right.sum() / max((homes >= 0).sum(), 1):.0f} %", f"{100 * wrong.mean():.0f} %"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("--sizes", nargs="+", type=int, default=[168_000, 1_000_000, 5_000_000], help="names")
    add("--names", type=Path, help="name lists: a .jsonl or .jsonl.gz file, or a folder of them")
    add("--kb", type=Path, help="a knowledge base, with all its names; sizes are ignored")
    add("--terms", type=int, default=5_000, help="new names")
    add("--sample", type=int, default=50, help="new names that rapidfuzz compares")
    add("--workers", type=int, default=cores(), help="threads")
    add("--seed", type=int, default=0)
    add("--folder", type=Path, help="keeps the names for further runs")
    return parser.parse_args()


if __name__ == "__main__":
    with in_one_line():
        main()
