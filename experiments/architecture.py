"""Table 4: the set scorer without one of its transformers, and with other sizes.

python -m experiments.architecture --data DIR
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, pstdev
from typing import Any

from experiments.benchmarkdata import Benchmark, benchmarks
from experiments.figures import Bar, bar_chart
from experiments.options import Options, read_options
from experiments.pages import (
    gap,
    mean_sd,
    paper_values,
    protocol,
    remarks,
    table,
    write_page,
    write_plot,
)
from experiments.trainings import (
    Outcome,
    Training,
    run_trainings,
    scores,
    seed_scores,
    variants_outcomes,
    variants_trainings,
)

NAME = "architecture"
SIZES = (
    "both-100-200",
    "both-150-300",
    "both-200-400",
    "both-250-500",
    "both-300-600",
    "both-350-600",
)
ARCHITECTURES = ("no-et", "no-pt", *SIZES)
VARIANTS = {name: {"architecture": name} for name in ARCHITECTURES}
PAPERS_BEST = "both-250-500"
SHOWN = {"ari": "ARI", "fmi": "FMI", "nmi": "NMI"}
Outcomes = Mapping[str, Sequence[Outcome]]  # of each architecture, one for each seed


def trainings(options: Options) -> list[Training]:
    return variants_trainings(VARIANTS, options)


def run(options: Options) -> str:
    done = run_trainings(trainings(options), options)
    parts = [
        "# Table 4: architectures of the set scorer",
        "The paper leaves out the embedding transformer (no-et) or the post transformer (no-pt), "
        "and tries six sizes: both-X-Y has an embedding transformer of hidden sizes 50 and X and "
        "a post transformer of X, Y and X. We train each with the released program's other "
        "settings. The first table of vectors is the word2vec file of the paper's data; the "
        "second has no counterpart in the paper.",
        protocol(options),
    ]
    findings: list[str] = []
    figures: dict[str, Any] = {}
    for benchmark in benchmarks(options):
        outcomes = variants_outcomes(done, benchmark, VARIANTS, options)
        stated = _paper_figures(benchmark)
        parts += [
            f"## {benchmark.title}",
            _table(outcomes, stated),
            _plot(options, benchmark, outcomes, stated),
            _sizes_in_words(outcomes),
        ]
        findings.append(_finding(benchmark, outcomes, stated))
        figures[f"{benchmark.name} {benchmark.vectors_name}"] = {
            name: [outcome.record for outcome in of_one] for name, of_one in outcomes.items()
        }
    always = (
        "The paper's column is of runs whose epoch the test sets chose, ours is not: compare "
        "differences between rows rather than the rows themselves."
    )
    parts.append(remarks(options, NAME, always, findings))
    return write_page(options.out, NAME, parts, figures)


def papers_order(ours: Mapping[str, float], stated: Mapping[str, float]) -> tuple[int, int]:
    """How many pairs of names stand in the paper's order in ours, and how many pairs there are."""
    pairs = list(combinations(stated, 2))
    kept = sum((ours[a] < ours[b]) == (stated[a] < stated[b]) for a, b in pairs)
    return kept, len(pairs)


def _paper_figures(benchmark: Benchmark) -> dict[str, dict[str, float]]:
    """The paper's figures, where it used these vectors."""
    values: dict[str, dict[str, dict[str, float]]] = paper_values()["architecture"]
    return values.get(benchmark.name, {}) if benchmark.vectors_name == "word2vec" else {}


def _table(outcomes: Outcomes, stated: Mapping[str, Mapping[str, float]]) -> str:
    columns = [
        f"{title}, {whose}" if stated else title
        for title in SHOWN.values()
        for whose in (("paper", "ours") if stated else ("ours",))
    ]
    rows = []
    for name, of_one in outcomes.items():
        row = [name]
        for measure in SHOWN:
            row += [f"{stated[name][measure]:.2f}"] if stated else []
            row.append(mean_sd(scores(of_one, measure)))
        rows.append(row)
    return table(["architecture", *columns], rows)


def _plot(
    options: Options,
    benchmark: Benchmark,
    outcomes: Outcomes,
    stated: Mapping[str, Mapping[str, float]],
) -> str:
    title = f"ARI by architecture, {benchmark.title}"
    bars = []
    for name, of_one in outcomes.items():
        ours = scores(of_one, "ari")
        reference = stated[name]["ari"] if stated else None
        bars.append(Bar(name, fmean(ours), pstdev(ours), reference=reference))
    name = f"{NAME}-{benchmark.name}-{benchmark.vectors_name}"
    return write_plot(options.out, name, title, bar_chart(title, bars, axis="ARI, %"))


def _sizes_in_words(outcomes: Outcomes) -> str:
    ari = {name: seed_scores(of_one, "ari") for name, of_one in outcomes.items()}
    means = {name: fmean(values) for name, values in ari.items()}
    best = max(means, key=means.__getitem__)
    against = dict.fromkeys(["no-et", "no-pt", best])
    against.pop(PAPERS_BEST, None)
    lost = ", ".join(f"{name} {gap(ari[name], ari[PAPERS_BEST])}" for name in against)
    return (
        f"The best ARI is that of {best} ({means[best]:.2f}). Against {PAPERS_BEST}, the paper's "
        f"best, in points over the seeds: {lost}. Among the sizes, mean ARI lies between "
        f"{min(means[n] for n in SIZES):.2f} and {max(means[n] for n in SIZES):.2f}."
    )


def _finding(
    benchmark: Benchmark, outcomes: Outcomes, stated: Mapping[str, Mapping[str, float]]
) -> str:
    if not stated:
        return ""
    means = {name: fmean(scores(of_one, "ari")) for name, of_one in outcomes.items()}
    theirs = {name: values["ari"] for name, values in stated.items()}
    best = max(SIZES, key=means.__getitem__)
    at_end = best in (SIZES[0], SIZES[-1])
    kept, pairs = papers_order(means, theirs)
    return (
        f"{benchmark.title}: of the {pairs} pairs of rows, {kept} stand in the paper's order of "
        f"ARI. Without a transformer the paper loses "
        f"{theirs[PAPERS_BEST] - theirs['no-et']:.2f} points (no-et) and "
        f"{theirs[PAPERS_BEST] - theirs['no-pt']:.2f} (no-pt), we "
        f"{means[PAPERS_BEST] - means['no-et']:.2f} and {means[PAPERS_BEST] - means['no-pt']:.2f}. "
        f"Among the sizes the paper's ARI grows up to {PAPERS_BEST} and then falls a little; our "
        f"best is {best}, {'at an end of' if at_end else 'inside'} the range."
    )


if __name__ == "__main__":
    print(run(read_options(__doc__)))
