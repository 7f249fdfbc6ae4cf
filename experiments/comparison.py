"""Table 2: all methods by ARI, FMI and NMI, the paper's and those that people use today.

    python -m experiments.comparison --data DIR     # a folder with nyt/, pubmed/, wiki/

Every method runs on the same table of vectors. Those on strings and on a sentence encoder's
vectors look at the terms' surfaces instead, and pair classifiers at several views. The rows of
our own model are those of the trained scorers that other experiments use too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.benchmarkdata import (
    MADE,
    TITLES,
    Benchmark,
    available,
    benchmarks,
    encoder_vectors,
    load,
)
from experiments.figures import Bar, bar_chart
from experiments.options import Options, read_options
from experiments.pages import (
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
    honest_trainings,
    main_trainings,
    run_trainings,
    scores,
    seeds_of,
)
from synsetmine.rivals.comparison import ComparisonPlan, SeedResult, compare
from synsetmine.rivals.page import GROUPS, MethodRow, choices, notes, summarise
from synsetmine.rivals.registry import L2C, MethodEntry, methods
from synsetmine.views import TermViews

NAME = "comparison"
SHOWN = ("ari", "fmi", "nmi")
# Too slow for all orders and subsamples: they get two orders a seed, and one subsample to tune on.
SLOW = ("l2c",)
SLOW_ON_MANY = (*SLOW, "cop-kmeans", "svm", "pairs")  # beginnings of names, with many training sets
MANY = 5_000
LARGER = 3  # the second tuning is on sets of at least this many terms
INTRODUCTION = (
    "The paper compares six methods with its own; to these come methods that people use today. "
    "All get the same terms, vectors and training sets. Hyper-parameters are tuned on random "
    "subsamples of the training sets, of about as many terms as the vocabulary to be clustered; "
    "methods marked * are given the true number of sets. A method that does not depend on the "
    "order of the terms runs once a seed. Slow ones (L2C; on PubMed also COP-Kmeans, the SVMs and "
    "the pair classifiers) run in two orders a seed and are tuned on one subsample, not three. "
    "SynSetMine is not tuned: it has the settings of the authors' program for this data, and its "
    f"epoch is chosen on held-out training sets. Tables *tuned on sets of {LARGER} or more* "
    "presume that one knows the sets to be found are larger than most training sets."
)
Paper = Mapping[str, Mapping[str, tuple[float, float]]]


@dataclass(frozen=True)
class Part:
    """One table of the page: a plan and the methods to run on it."""

    key: str
    title: str
    benchmark: Benchmark
    plan: ComparisonPlan
    entries: tuple[MethodEntry, ...]
    paper: Paper  # what the paper states for this benchmark; empty for further tables


def run(options: Options) -> str:
    """Write a page for each benchmark; they may be of different runs."""
    outcomes = run_trainings(trainings(options), options)
    first, *others = parts(options)
    if options.quick:  # all methods once, then a few of them
        others = [replace(part, entries=part.entries[-2:]) for part in others]
    by_benchmark: dict[str, list[Part]] = {}
    for part in (first, *others):
        by_benchmark.setdefault(part.benchmark.name, []).append(part)
    return "\n".join(_write(b, found, outcomes, options) for b, found in by_benchmark.items())


def _write(
    benchmark: str, found: list[Part], outcomes: Mapping[Training, Outcome], options: Options
) -> str:
    pieces: list[str] = []
    figures: dict[str, Any] = {}
    for part in found:
        rows = rows_of(part, outcomes, options)
        stated = {row.title: part.paper[name]["ari"][0] for row, name in _rows_of_paper(part, rows)}
        bars = [
            Bar(row.title, *row.scores["ari"], GROUPS[row.origin], stated.get(row.title))
            for row in rows
            if row.scores
        ]
        drawing = bar_chart(part.title, bars, axis="ARI, %")
        pieces += [
            f"## {part.title}",
            _table(part, rows),
            "\n".join(f"- {note}" for note in notes(rows)),
            _authors(part, outcomes, options),
            write_plot(options.out, f"{NAME}-{part.key}", "ARI of each method", drawing),
            _choices(rows),
        ]
        figures[part.key] = [row.record() for row in rows]
    name = f"{NAME}-{benchmark}"
    title = f"# Table 2, {TITLES[benchmark]}: all methods side by side"
    page = [title, INTRODUCTION, protocol(options), *pieces, remarks(options, name)]
    return write_page(options.out, name, page, figures)


def trainings(options: Options) -> list[Training]:
    return main_trainings(options)


def parts(options: Options) -> list[Part]:
    """The tables of the page, each with its methods."""
    found: list[Part] = []
    known = [lighter(e, options) for e in methods().values() if e.name != "synsetmine"]
    tables: dict[str, list[Benchmark]] = {}
    for benchmark in benchmarks(options, made=MADE):
        tables.setdefault(benchmark.name, []).append(benchmark)
    for name, with_tables in tables.items():
        encoder = encoder_vectors(options, with_tables[0])
        for number, benchmark in enumerate(with_tables):
            plan = _plan(benchmark, TermViews((benchmark.vectors,), encoder), options)
            entries = [e for e in known if can_run(e, plan)]
            if number:  # strings and the encoder's vectors are those of the first table
                entries = [e for e in entries if "vectors" in e.needs]
            paper: Paper = {} if number else paper_values()["main"][name]
            key = f"{name}-{benchmark.vectors_name}"
            found.append(Part(key, benchmark.title, benchmark, plan, tuple(entries), paper))
        first = found[-len(with_tables)]
        plan = first.plan
        larger = replace(plan, expect_size=LARGER)
        tuned = [
            e for e in first.entries if not _is_slow(e, plan) and len(e.variants[0].choices) > 1
        ]
        title = f"{first.title}, tuned on sets of {LARGER} or more"
        found.append(Part(f"{first.key}-larger", title, first.benchmark, larger, tuple(tuned), {}))
        found += _all_tables(first, options)
    return found


def can_run(entry: MethodEntry, plan: ComparisonPlan) -> bool:
    """Whether a method has what it needs; L2C on many sets would take hours on a CPU."""
    endless = entry.name == "l2c" and len(plan.training) > MANY and plan.device == "cpu"
    return not entry.lacks(plan.views) and not endless


def paper_name(row: MethodRow) -> str:
    """What the paper calls this method, empty for one that it does not have."""
    theirs = row.origin != "today" and "unit" not in row.title
    return row.title.partition(",")[0] if theirs else ""


def lighter(entry: MethodEntry, options: Options) -> MethodEntry:
    """A smoke run trains the networks of L2C only for a moment."""
    if not options.quick or entry.name != "l2c":
        return entry
    return replace(entry, variants=(L2C(pair_steps=20, cluster_steps=10, restarts=1),))


def _all_tables(first: Part, options: Options) -> list[Part]:
    """What can look at several tables, over all of a benchmark at once."""
    name = first.benchmark.name
    tables = [load(options, n, key).vectors for n, key in available(options) if n == name]
    if len(tables) < 2:
        return []
    views = TermViews(tuple(tables), first.plan.views.encoder)
    several = [e for e in first.entries if e.name.startswith(("pairs-", "synsetmine-"))]
    several = [e for e in several if "vectors" in e.needs]
    tuned = [e for e in several if len(e.variants[0].choices) > 1]
    return [
        Part(
            f"{name}-all-{size}",
            f"{TITLES[name]}, {len(tables)} tables of vectors{said}",
            first.benchmark,
            replace(first.plan, views=views, expect_size=size),
            tuple(entries),
            {},
        )
        for size, said, entries in (
            (2, "", several),
            (LARGER, f", tuned on sets of {LARGER} or more", tuned),
        )
    ]


def _plan(benchmark: Benchmark, views: TermViews, options: Options) -> ComparisonPlan:
    return ComparisonPlan(
        training=benchmark.training,
        test=benchmark.test,
        views=views,
        seeds=options.seeds,
        orders=options.orders,
        samples=1 if options.quick else 3,
        device=options.device,
    )


def rows_of(part: Part, outcomes: Mapping[Training, Outcome], options: Options) -> list[MethodRow]:
    folder = options.work / "comparison" / part.key

    def say(done: int, total: int, method: str) -> None:
        print(f"{part.key} {done}/{total} {method}", flush=True)

    less = replace(part.plan, orders=min(2, part.plan.orders), samples=1)
    results: dict[str, list[SeedResult]] = {}
    for plan, slow in ((part.plan, False), (less, True)):
        entries = [e for e in part.entries if _is_slow(e, part.plan) is slow]
        results |= compare(plan, entries, out=folder, workers=options.workers, progress=say)
    entries = list(part.entries)
    if part.plan.expect_size == 2 and len(part.plan.views.vectors) == 1:
        ours = methods()["synsetmine"]
        chosen = [outcomes[t] for t in honest_trainings(part.benchmark, options)]
        results[ours.name] = [_as_result(seed, o) for seed, o in enumerate(chosen)]
        entries.append(ours)
    return summarise(entries, results)


def _is_slow(entry: MethodEntry, plan: ComparisonPlan) -> bool:
    return entry.name.startswith(SLOW_ON_MANY if len(plan.training) > MANY else SLOW)


def _as_result(seed: int, outcome: Outcome) -> SeedResult:
    """A trained scorer's test as a result of the comparison."""
    record = outcome.record
    return SeedResult(
        method="synsetmine",
        seed=seed,
        digest="",
        reports=tuple({m: v / 100 for m, v in report.items()} for report in outcome.reports),
        training_seconds=record["training_seconds"],
        prediction_seconds=record["mining_seconds"],
        device=record["device"],
    )


def _rows_of_paper(part: Part, rows: Sequence[MethodRow]) -> list[tuple[MethodRow, str]]:
    """The rows that the paper has too, with their names there."""
    return [(row, paper_name(row)) for row in rows if paper_name(row) in part.paper]


def _table(part: Part, rows: Sequence[MethodRow]) -> str:
    stated = {row.title: part.paper[name] for row, name in _rows_of_paper(part, rows)}
    lines = []
    for row in rows:
        ours = [_pair(row.scores[m]) if row.scores else "failed" for m in SHOWN]
        paper = [_pair(stated[row.title][m]) if row.title in stated else "" for m in SHOWN]
        name = f"{row.title}{'*' if row.needs_k else ''}"
        lines.append([f"**{name}**" if row.origin == "ours" else name, *ours, *paper])
    if not part.paper:
        return table(["method", "ARI", "FMI", "NMI"], [line[:4] for line in lines])
    own = part.benchmark.vectors_name != "word2vec"
    theirs = "paper, with its own vectors: ARI" if own else "paper: ARI"
    return table(["method", "ARI", "FMI", "NMI", theirs, "FMI", "NMI"], lines)


def _pair(score: Sequence[float]) -> str:
    return f"{score[0]:.2f} ± {score[1]:.2f}"


def _authors(part: Part, outcomes: Mapping[Training, Outcome], options: Options) -> str:
    """Our model under the protocol of the authors' program, where it was run."""
    settings = part.benchmark.settings(options)
    chosen = seeds_of(part.benchmark, settings, options, "authors")
    found = [outcomes[t] for t in chosen if t in outcomes]
    if not found or part.plan.expect_size != 2 or len(part.plan.views.vectors) > 1:
        return ""
    ours = "/".join(mean_sd(scores(found, m)) for m in SHOWN)
    theirs = "/".join(_pair(part.paper["SynSetMine"][m]) for m in SHOWN)
    return (
        "Under the protocol of the authors' program (vocabulary in file order, epoch chosen by "
        f"FMI on the **test** sets) SynSetMine gets ARI/FMI/NMI {ours}; the paper states {theirs}."
    )


def _choices(rows: Sequence[MethodRow]) -> str:
    """What tuning chose, folded away."""
    lines = choices(rows)
    if not lines:
        return ""
    summary = "<summary>What tuning chose, and with how many seeds</summary>"
    return "\n\n".join(["<details>" + summary, "\n".join(lines), "</details>"])


if __name__ == "__main__":
    print(run(read_options(__doc__)))
