"""Table 1: how many terms and synonym sets the benchmarks have, and how large the sets are.

python -m experiments.data_statistics --data DIR
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from experiments.benchmarkdata import MADE, TITLES, VECTOR_TITLES, available, data_folder, load
from experiments.figures import Bar, bar_chart
from experiments.options import Options, read_options
from experiments.pages import paper_values, remarks, table, write_page, write_plot
from synsetmine.io.downloads import TEST_SETS, TRAINING_SETS
from synsetmine.io.sets import read_sets
from synsetmine.types import SynonymSets

NAME = "data-statistics"
COUNTED = {
    "train_terms": "terms in training sets",
    "train_sets": "training sets",
    "test_terms": "terms in test sets",
    "test_sets": "test sets",
}
STATED = {"documents": "documents", "sentences": "sentences"}  # the corpora are not public
LARGE = 10  # sets of so many terms and more stand in one row


@dataclass(frozen=True)
class Files:
    """The set files of one benchmark, whole even in a smoke run."""

    name: str
    training: SynonymSets
    test: SynonymSets

    @property
    def counts(self) -> dict[str, int]:
        return {
            "train_terms": len(self.training.terms),
            "train_sets": len(self.training),
            "test_terms": len(self.test.terms),
            "test_sets": len(self.test),
        }

    @property
    def sizes(self) -> dict[str, Counter[int]]:
        return {"training": Counter(self.training.sizes), "test": Counter(self.test.sizes)}


def run(options: Options) -> str:
    found = [files for name in TITLES if (files := _files(options, name)) is not None]
    coverage = _coverage(options, found)
    parts = [
        "# Table 1: the benchmarks",
        "The paper lists the size of its corpora, training sets and test sets. We count terms and "
        "sets in the released files; the corpora are not among them, so their documents and "
        "sentences are the paper's word alone. Nothing is trained here.",
        _counts_table(found),
        "## How large the sets are",
        "The number of sets of each size.",
        _sizes_table(found),
        *(_sizes_plot(options, files) for files in found),
        "## Which terms have a vector",
        _coverage_table(coverage),
        remarks(options, NAME, "The counts, one by one:", _findings(found)),
    ]
    figures = {
        "counts": {files.name: files.counts for files in found},
        "sizes": {
            files.name: {part: dict(sorted(sizes.items())) for part, sizes in files.sizes.items()}
            for files in found
        },
        "coverage": coverage,
    }
    return write_page(options.out, NAME, parts, figures)


def _files(options: Options, name: str) -> Files | None:
    folder = data_folder(options, name)
    if folder is None:
        return None
    return Files(name, read_sets(folder / TRAINING_SETS), read_sets(folder / TEST_SETS))


def _counts_table(found: list[Files]) -> str:
    stated = paper_values()["statistics"]
    ours = {files.name: files.counts for files in found}
    columns = [f"{TITLES[name]}, {whose}" for name in TITLES for whose in ("paper", "ours")]
    rows = [
        [
            title,
            *(
                cell
                for name in TITLES
                for cell in (f"{stated[name][key]:,}", _number(ours.get(name, {}).get(key)))
            ),
        ]
        for key, title in (STATED | COUNTED).items()
    ]
    return table(["", *columns], rows)


def _sizes_table(found: list[Files]) -> str:
    columns = [f"{TITLES[files.name]}, {part}" for files in found for part in files.sizes]
    distributions = [sizes for files in found for sizes in files.sizes.values()]
    rows = []
    for size in range(1, LARGE + 1):
        counts = [
            sum(n for s, n in sizes.items() if (s >= LARGE if size == LARGE else s == size))
            for sizes in distributions
        ]
        if any(counts):
            terms = f"{size} or more terms" if size == LARGE else _terms(size)
            rows.append([terms, *(_number(count) for count in counts)])
    means = [fmean(sizes.elements()) for sizes in distributions]
    rows.append(["mean size", *(f"{mean:.2f}" for mean in means)])
    return table(["", *columns], rows)


def _sizes_plot(options: Options, files: Files) -> str:
    title = f"Sizes of the sets, {TITLES[files.name]}"
    bars = [
        Bar(_terms(size), 100 * count / sizes.total(), group=f"{part} sets")
        for part, sizes in files.sizes.items()
        for size, count in sorted(sizes.items())
    ]
    drawing = bar_chart(title, bars, axis="share of the sets, %")
    return write_plot(options.out, f"{NAME}-{files.name}", title, drawing)


def _coverage(options: Options, found: list[Files]) -> list[dict[str, Any]]:
    sets_of = {files.name: files for files in found}
    rows: list[dict[str, Any]] = []
    for name, key in available(options):
        row: dict[str, Any] = {"benchmark": name, "vectors": key, "made": key in MADE}
        if not row["made"]:
            vectors, files = load(options, name, key).vectors, sets_of[name]
            row["dimension"] = vectors.dimension
            for part, sets in (("training", files.training), ("test", files.test)):
                row[part] = 1 - len(vectors.missing(sets.terms)) / len(sets.terms)
        rows.append(row)
    return rows


def _coverage_table(coverage: list[dict[str, Any]]) -> str:
    rows = []
    for row in coverage:
        head = [TITLES[row["benchmark"]], VECTOR_TITLES[row["vectors"]]]
        if row["made"]:  # from the strings themselves, so no term lacks one
            rows.append([*head, "made by us", "all", "all"])
        else:
            shares = [f"{100 * row[part]:.1f} %" for part in ("training", "test")]
            rows.append([*head, f"the authors' file, {row['dimension']}-d", *shares])
    return table(["benchmark", "vectors", "from", "training terms", "test terms"], rows)


def _findings(found: list[Files]) -> list[str]:
    stated = paper_values()["statistics"]
    said = []
    for files in found:
        counts, smallest = files.counts, min(files.test.sizes)
        off = [
            f"{COUNTED[key]} {counts[key]:,} instead of {stated[files.name][key]:,}"
            for key in COUNTED
            if counts[key] != stated[files.name][key]
        ]
        agreed = f"not the paper's: {', '.join(off)}" if off else "all four are the paper's"
        as_large = sum(size >= smallest for size in files.training.sizes) / len(files.training)
        said.append(
            f"{TITLES[files.name]}: {agreed}. Its smallest test set has {_terms(smallest)}; "
            f"{100 * as_large:.1f} % of its training sets are as large."
        )
    absent = [TITLES[name] for name in TITLES if name not in {files.name for files in found}]
    return [*said, f"Not at hand, so not counted: {', '.join(absent)}."] if absent else said


def _terms(size: int) -> str:
    return "1 term" if size == 1 else f"{size} terms"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


if __name__ == "__main__":
    print(run(read_options(__doc__)))
